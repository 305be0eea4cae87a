"""What asking a failed turn again would have to change, and what is known to have happened.

A table by cause. Nothing here asks: the caller decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from finalcall.ending import Ending, TurnVerdict
from finalcall.events import ExternalCall
from finalcall.narrow import is_mapping
from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome
from finalcall.stop_reasons import CAUSES, StopReason

Change: TypeAlias = Literal["larger budget", "same request", "none"]
"""What has to change for another request to have a chance. `"none"`: no change by itself helps."""

CHANGES: Final[Mapping[Cause, Change]] = {
    Cause.TOKEN_CEILING: "larger budget",
    Cause.SAFETY: "none",
    Cause.PAUSED: "same request",
    Cause.PROVIDER_ERROR: "same request",
    Cause.UNKNOWN_STOP: "none",
    Cause.ENDED_EARLY: "same request",
    Cause.DISCONNECTED: "same request",
    Cause.IDLE: "same request",
    Cause.STALLED: "same request",
    Cause.CANCELLED: "none",
    Cause.MALFORMED: "same request",
    Cause.LIMIT: "none",
}
"""By cause. A turn that failed for several causes takes the most that one of them asks for."""

PASSING_STATUSES: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 that the same request may overcome; of those from 500 up every one."""

PERMANENT_CODES: Final = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_prompt",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
        "validationException",
        # of gRPC
        "FAILED_PRECONDITION",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "OUT_OF_RANGE",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "UNIMPLEMENTED",
    }
)
"""Words of services for errors that the same request meets again, where they give no status."""

PASSING_EXCEPTIONS: Final = frozenset(
    {
        # a connection that broke or could not be made, and time that ran out
        "APIConnectionError",
        "ClientConnectionError",
        "ClientPayloadError",
        "ConnectionError",
        "EOFError",
        "HTTPClientError",
        "HTTPException",
        "IncompleteReadError",
        "NoResponseError",
        "OSError",
        "ProtocolError",
        "TimeoutError",
        "TimeoutException",
        "TransportError",
        # what a service said in the stream; its status or code, if any, is looked at first
        "APIError",
        "ApiError",
        "EventStreamError",
        "MidStreamFallbackError",
        "ResponseError",
        "RpcError",
        "SDKError",
        # an event that an SDK could not read
        "JSONDecodeError",
        "UnicodeDecodeError",
    }
)
"""Names of exceptions that the same request may overcome, looked for among a class and its bases.
Every other exception is the request's own fault, or the code's, and comes again."""

_MOST: Final[tuple[Change, ...]] = ("none", "larger budget", "same request")


@final
@dataclass(frozen=True, slots=True)
class Retry:
    """What is known about asking a turn again.

    Attributes:
        change: What would have to change. `"none"` also where the turn did not fail, and where the
            provider or the request's exception says that the same request would fail again.
        causes: Why it failed, each once, in order; empty where it did not.
        dispatchable: The keys of its calls that were proved whole: if you ran one, another
            request may bring it again.
        external: Its calls that somebody else runs: what they did has been done, or may have been.
    """

    change: Change
    causes: tuple[Cause, ...] = ()
    dispatchable: tuple[str, ...] = ()
    external: tuple[ExternalCall, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether nothing of the turn can have had an effect, so that nothing can happen twice."""
        return not self.dispatchable and not self.external


def retry_of(
    verdict: TurnVerdict,
    outcomes: Sequence[Outcome],
    ending: Ending,
    stop_reason: StopReason | None,
    external: Sequence[ExternalCall],
) -> Retry:
    """Read the table for a settled turn.

    Args:
        verdict: The turn's.
        outcomes: Its outcomes.
        ending: How its stream ended.
        stop_reason: Its worst stop reason, or `None`.
        external: Its external calls.
    """
    dispatchable = tuple(one.key for one in outcomes if isinstance(one, Dispatchable))
    if verdict != "fail":
        return Retry("none", (), dispatchable, tuple(external))
    causes = [one.cause for one in outcomes if isinstance(one, Failed)]
    if ending.cause is not None:
        causes.append(ending.cause)
    if not causes and stop_reason is not None and stop_reason.verdict in CAUSES:
        causes.append(CAUSES[stop_reason.verdict])
    changes: list[Change] = [CHANGES[cause] for cause in causes]
    change: Change = min(changes, key=_MOST.index) if changes else "none"
    if change == "same request" and not _may_pass(ending):
        change = "none"
    return Retry(change, tuple(dict.fromkeys(causes)), dispatchable, tuple(external))


def _may_pass(ending: Ending) -> bool:
    """Whether the error that a stream ended with, if any, is one that can pass."""
    error = ending.exception
    names = {cls.__name__ for cls in type(error).__mro__}
    words = [ending.code, *_words_of(error, names)]
    statuses = [status for status in map(_status_in, words) if status]
    if statuses:
        return statuses[0] >= 500 or statuses[0] in PASSING_STATUSES
    if not PERMANENT_CODES.isdisjoint(words):
        return False
    return error is None or not names.isdisjoint(PASSING_EXCEPTIONS)


def _words_of(error: BaseException | None, names: Collection[str]) -> list[str]:
    """What an SDK's exception tells of its reason: HTTP statuses first, then codes."""
    response: Any = getattr(error, "response", None)
    told: Any = response.get("ResponseMetadata") if is_mapping(response) else None
    code: Any = getattr(error, "code", None)
    found: list[Any] = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        told.get("HTTPStatusCode") if is_mapping(told) else None,
        getattr(code(), "name", None) if "RpcError" in names and callable(code) else code,
        getattr(error, "type", None),
    ]
    return [str(word) for word in found if isinstance(word, int | str)]


def _status_in(word: str) -> int:
    """An HTTP status of an error, 0 for any other word."""
    number = int(word) if len(word) == 3 and word.isascii() and word.isdigit() else 0
    return number if number >= 400 else 0
