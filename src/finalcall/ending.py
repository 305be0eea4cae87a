"""How a turn ended, and what its caller can do next: both read from tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome, SchemaError
from finalcall.stop_reasons import StopReason, Verdict

TurnVerdict: TypeAlias = Literal["done", "dispatch", "correct", "resume", "fail"]
"""What to do next: nothing, run the calls, answer the invalid ones, send the message back
unchanged, or give the turn up."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Ending:
    """How the stream of a turn ended. Its `repr` tells no more of the exception than its type.

    Attributes:
        cause: Why it ended uncleanly; `None` for a proper end, a token ceiling included.
        marker: The message's own end marker (`message_stop`, `[DONE]`, …) was seen.
        exception: What the source raised, or `None`.
        code: The provider's error code where it reported one in the stream, or our word for what
            was wrong with the stream; where the source raised what means that the provider failed
            or that an event could not be read, the name of the exception's type. Else `""`.
    """

    cause: Cause | None
    marker: bool = False
    exception: BaseException | None = None
    code: str = ""

    @property
    def clean(self) -> bool:
        """Whether the stream came to a proper end."""
        return self.cause is None

    def __repr__(self) -> str:
        # An SDK's exception may quote the text of a call that it could not parse.
        raised = None if self.exception is None else type(self.exception).__name__
        return (
            f"Ending(cause={self.cause!r}, marker={self.marker!r}, exception={raised}, "
            f"code={self.code!r})"
        )


_DROPS: Final = frozenset({Cause.DISCONNECTED, Cause.IDLE, Cause.STALLED})
"""Endings that do no harm once a stop reason has come: the message was whole."""


def cause_of_end(cause: Cause | None, *, stopped: bool) -> Cause | None:
    """Why a stream that reported no fault ended uncleanly; `None` for a proper end.

    Args:
        cause: What cut it, `None` where nothing did.
        stopped: The stop reason had come, of every choice that is settled.
    """
    if stopped:
        return None if cause in _DROPS else cause
    return cause or Cause.ENDED_EARLY


def judge(outcomes: Sequence[Outcome], stop_reason: StopReason | None) -> TurnVerdict:
    """Read the turn's verdict off the first row that holds."""
    verdict = None if stop_reason is None else stop_reason.verdict
    rows: tuple[tuple[bool, TurnVerdict], ...] = (
        (any(isinstance(outcome, Failed) for outcome in outcomes), "fail"),
        (any(isinstance(outcome, SchemaError) for outcome in outcomes), "correct"),
        (verdict is Verdict.PAUSED, "resume"),
        (any(isinstance(outcome, Dispatchable) for outcome in outcomes), "dispatch"),
        (verdict is Verdict.COMPLETE, "done"),
    )
    for holds, answer in rows:
        if holds:
            return answer
    return "fail"
