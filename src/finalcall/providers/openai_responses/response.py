"""What a response says of itself: its ids, its limit, its usage, and how it ended.

Tables and one decision; nothing here knows items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from finalcall.outcomes import Cause
from finalcall.providers.native import read, read_count, read_text
from finalcall.providers.reported import error_beside, error_code
from finalcall.stop_reasons import Verdict
from finalcall.usage import Usage

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "completed": Verdict.COMPLETE,
    "incomplete": Verdict.TRUNCATED,
    "max_output_tokens": Verdict.TRUNCATED,
    "max_messages": Verdict.TRUNCATED,
    "content_filter": Verdict.FILTERED,
    "refusal": Verdict.FILTERED,
    "steered": Verdict.PAUSED,
    "failed": Verdict.ERROR,
    "cancelled": Verdict.ERROR,
    "queued": Verdict.UNKNOWN,
    "in_progress": Verdict.UNKNOWN,
}
"""Every `ResponseStatus` and `IncompleteDetails.reason` of the SDK, and a refusal in the text."""

TERMINALS: Final[Mapping[str, str]] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "response.done": "",
}
"""The events that end a response, with the status that each claims; the last leaves it to the
response."""

_FAULT_CAUSES: Final[Mapping[str, Cause]] = {
    "bio_policy": Cause.SAFETY,
    "cancelled": Cause.CANCELLED,
    "image_content_policy_violation": Cause.SAFETY,
    "misalignment_policy_violation": Cause.SAFETY,
}
"""Error codes that say something else than that the provider failed."""

_FAULTS: Final = ("failed", "cancelled")
_GOING_ON: Final = frozenset({"queued", "in_progress"})


def fault_of(kind: str, response: Any) -> Any:
    """The error of a response that failed or was cancelled, or that states one; else `None`.

    Args:
        kind: The event's type.
        response: The response in it.
    """
    for status in _FAULTS:
        if status in (TERMINALS.get(kind), read_text(response, "status")):
            return read(response, "error") or {"code": status}
    return error_beside(response)


def fault_cause(error: Any) -> tuple[Cause, str]:
    """The cause and the code of an error."""
    code = error_code(error)
    return _FAULT_CAUSES.get(code, Cause.PROVIDER_ERROR), code


@final
@dataclass(slots=True, eq=False)
class Response:
    """One response, as far as its events have told.

    Attributes:
        started: Its first event was seen.
        response_id: Its id, `""` where there is none.
        continues_id: The response that it continues, `""` where it continues none.
        stored: The service keeps it, as far as it says.
        ceiling: The output token limit that it states, or `None`.
        refused: Its message holds a refusal.
        spliced: Another response stood in its stream.
    """

    started: bool = False
    response_id: str = ""
    continues_id: str = ""
    stored: bool = True
    ceiling: int | None = None
    refused: bool = False
    spliced: bool = False

    def read(self, response: Any, usage: Usage) -> None:
        """Take what an event's response states. A field that it leaves out stays as it was."""
        self.response_id = read_text(response, "id") or self.response_id
        self.continues_id = read_text(response, "previous_response_id") or self.continues_id
        self.stored = self.stored and read(response, "store") is not False
        self.ceiling = read_count(response, "max_output_tokens") or self.ceiling
        counts = read(response, "usage")
        for name in ("input_tokens", "output_tokens"):
            count = read_count(counts, name)
            if count is not None:
                setattr(usage, name, count)

    def stated(self, usage: Usage) -> dict[str, Any]:
        """The event that says what the response has said of itself so far.

        Args:
            usage: The tokens so far.
        """
        counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        response = {
            "id": self.response_id,
            "previous_response_id": self.continues_id,
            "store": self.stored,
            "max_output_tokens": self.ceiling,
            "usage": counts,
        }
        kind = "response.created" if self.started else "response.in_progress"
        return {"type": kind, "response": response}

    def reasons(self, kind: str, response: Any, usage: Usage) -> list[str]:
        """The reasons of a response that did not fail: event and response may disagree.

        Args:
            kind: The terminal event's type.
            response: The response in it.
            usage: The tokens of the response.

        Returns:
            None where the response only claims to be going on.
        """
        claims = [claim for claim in (TERMINALS[kind], read_text(response, "status")) if claim]
        detail = read_text(read(response, "incomplete_details"), "reason")
        if detail and "incomplete" not in claims:
            claims.append("incomplete")
        if _GOING_ON.issuperset(claims):
            return []
        names = {"incomplete": detail or "incomplete"}
        if self.ceiling is not None and self.ceiling == usage.output_tokens:
            # Some services say "completed" of what they cut. The limit must be met exactly:
            # one service counts reasoning, which its limit leaves out.
            names["completed"] = "max_output_tokens"
        elif self.refused:
            names["completed"] = "refusal"
        return list(dict.fromkeys(names.get(claim, claim) for claim in claims))
