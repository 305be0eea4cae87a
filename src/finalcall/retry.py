"""What asking a failed turn again would have to change, and what is known to have happened.

A table by cause. Nothing here asks: the caller decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

from finalcall.ending import Ending, TurnVerdict
from finalcall.events import ExternalCall
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

_MOST: Final[tuple[Change, ...]] = ("none", "larger budget", "same request")


@final
@dataclass(frozen=True, slots=True)
class Retry:
    """What is known about asking a turn again.

    Attributes:
        change: What would have to change. `"none"` also where the turn did not fail.
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
    return Retry(change, tuple(dict.fromkeys(causes)), dispatchable, tuple(external))
