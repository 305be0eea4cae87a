"""What came of a run: one value that knows everything that happened."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, final

from finalcall.correction.budget import Corrections
from finalcall.ending import TurnVerdict
from finalcall.outcomes import Outcome
from finalcall.turn import SettledTurn


@final
class RunEnding(enum.StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    """No invalid call remains: the last message can be acted upon."""
    FAILED = "failed"
    """The last message failed, and was not to be asked for again."""
    PAUSED = "paused"
    """The provider paused the message more often than it is sent back."""
    ROUNDS = "rounds"
    """Calls are still invalid, and all corrections of the budget were used."""
    KIND = "kind"
    """Calls are still invalid in a way that may not be corrected so often."""
    REPEATED = "repeated"
    """The model made the same mistake again, in this message or in an earlier one of the budget."""
    DEADLINE = "deadline"
    """Calls are still invalid, or a correction failed, and the time for corrections is over."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunResult:
    """What came of a run.

    Attributes:
        ending: Why it ended.
        turns: Every message of the model, in order; the last is the one that counts.
        messages: The conversation to go on with; the provider accepts it after a failure too.
            Where the calls of the last message are yours to run, it ends before that message: run
            them, and append `result.turn.history(results)`.
        results: What `dispatch` returned for the last message's calls, by their keys.
        dispatched: Keys of the calls that `dispatch` was given to run, over all messages.
        corrections: The budget, with its counts.
    """

    ending: RunEnding
    turns: tuple[SettledTurn, ...]
    messages: list[Any]
    results: dict[Any, Any]
    dispatched: tuple[str, ...]
    corrections: Corrections

    @property
    def turn(self) -> SettledTurn:
        """The last message of the model."""
        return self.turns[-1]

    @property
    def verdict(self) -> TurnVerdict:
        """`"done"`, `"dispatch"` or `"fail"`: no call is left to be corrected."""
        return self.turn.verdict if self.ending is RunEnding.COMPLETE else "fail"

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes of the last message."""
        return self.turn.outcomes

    def __repr__(self) -> str:
        return (
            f"RunResult(ending={self.ending.value!r}, verdict={self.verdict!r}, "
            f"attempts={len(self.turns)})"
        )
