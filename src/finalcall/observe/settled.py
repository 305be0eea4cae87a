"""What is kept of a settled call and of a correction: facts, and text without sensitive values.

The text as it came is read here and nowhere kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from finalcall.accumulator import Buffer
from finalcall.ending import TurnVerdict
from finalcall.events import CallKind
from finalcall.observe.redaction import MASK, redact
from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome, Reason, SchemaError
from finalcall.strict import encodable
from finalcall.tools import ToolSet

RAW_BYTES: Final = 4096
"""How much of a call's text is kept, in bytes of UTF-8: whole arguments of nearly every call."""

OutcomeName: TypeAlias = Literal["dispatchable", "schema_error", "failed"]
"""How a call settled: the type of its outcome."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCall:
    """What is kept of one call, the same for records, metrics and observers.

    Attributes:
        key: Unique in the turn.
        call_id: The provider's id, or `None`.
        tool: The name that the model used, or `None` where none arrived.
        offered: Whether a tool of that name was offered; without a tool set, whether there is a
            name. Metrics must not take names that a model made up for their own.
        provider: The provider's name.
        outcome: `"dispatchable"`, `"schema_error"` or `"failed"`.
        reason: Of a failed call, else `None`.
        cause: Of a failed call, else `None`.
        violations: Of an invalid call, the keywords that failed, most relevant first.
        size: Bytes of the text in UTF-8, as far as `Limits.arguments` let it in.
        fragments: Pieces that the text came in.
        largest_gap: The longest wait while the call was open, in seconds, the one that ended the
            turn included; 0 where each was below a millisecond, `None` where no time was told.
        duration: Seconds from announcement to settling; `None` where no time was told.
        raw: The text with sensitive values masked, cut at 4 KiB. Not shown by `repr`.
    """

    key: str
    call_id: str | None
    tool: str | None
    offered: bool
    provider: str | None
    outcome: OutcomeName
    reason: Reason | None
    cause: Cause | None
    violations: tuple[str, ...]
    size: int
    fragments: int
    largest_gap: float | None
    duration: float | None
    raw: str = field(repr=False)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What came of telling a model of its invalid calls, once the message that answered is settled.

    Attributes:
        provider: The provider's name.
        attempt: The number of the message that answered, from 2: all messages of the run count.
        round: The number of the correction in the run, from 1.
        tools: The tools that were called with invalid arguments, in order, each once.
        violations: The keywords that had failed, in order, each once.
        verdict: That of the message that answered: `"correct"` where calls of it are invalid again,
            `"fail"` where it failed otherwise; anything else is a recovery.
    """

    provider: str | None
    attempt: int
    round: int
    tools: tuple[str | None, ...]
    violations: tuple[str, ...]
    verdict: TurnVerdict

    @property
    def recovered(self) -> bool:
        """Whether no call was invalid, or lost, any more."""
        return self.verdict not in ("correct", "fail")


def settled_call(
    outcome: Outcome,
    buffer: Buffer,
    *,
    tools: ToolSet | None,
    provider: str | None,
    largest_gap: float | None,
    duration: float | None,
) -> SettledCall:
    """Put together what is kept of a call.

    Args:
        outcome: What it settled as.
        buffer: Its text.
        tools: What was offered: it says which values are sensitive.
        provider: The provider's name.
        largest_gap: See `SettledCall`.
        duration: See `SettledCall`.
    """
    text = encodable(buffer.arguments)
    encoded = text.encode()
    sensitive = sensitive_paths(tools, outcome.name)
    failed = outcome if isinstance(outcome, Failed) else None
    return SettledCall(
        key=outcome.key,
        call_id=outcome.call_id,
        tool=outcome.name,
        offered=is_offered(tools, outcome.name),
        provider=provider,
        outcome=outcome_name(outcome),
        reason=None if failed is None else failed.reason,
        cause=None if failed is None else failed.cause,
        violations=keywords([outcome]),
        size=len(encoded),
        fragments=buffer.fragments,
        largest_gap=largest_gap,
        duration=duration,
        raw=_kept(cut(encoded), sensitive, buffer.kind),
    )


def outcome_name(outcome: Outcome) -> OutcomeName:
    """How a call settled, in a word."""
    if isinstance(outcome, Dispatchable):
        return "dispatchable"
    return "schema_error" if isinstance(outcome, SchemaError) else "failed"


def is_offered(tools: ToolSet | None, name: str | None) -> bool:
    """Whether a name is one that a metric may have: the caller's own, not a model's."""
    return name is not None and (tools is None or tools.get(name) is not None)


def keywords(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The keywords that invalid calls failed, in order, each once."""
    invalid = (outcome for outcome in outcomes if isinstance(outcome, SchemaError))
    return tuple(dict.fromkeys(error.keyword for one in invalid for error in one.errors))


def sensitive_paths(tools: ToolSet | None, name: str | None) -> frozenset[tuple[str, ...]]:
    """Which values of a call are sensitive; see `ToolSet.sensitive`. Without tools, none is."""
    return frozenset() if tools is None else tools.sensitive(name)


def cut(encoded: bytes) -> str:
    """As much of a text as is kept, cut between two characters."""
    return encoded[:RAW_BYTES].decode(errors="ignore")


def _kept(text: str, sensitive: Collection[tuple[str, ...]], kind: CallKind) -> str:
    """The text with sensitive values masked: it is cut before, so that masking costs little."""
    if kind is CallKind.CUSTOM:
        # Free text is one value: no place in it could be named.
        return MASK if sensitive and text else text
    return cut(redact(text, sensitive).encode())
