"""What an observer is told: five moments of a turn, each exactly once.

An observer watches and never decides: what it returns is ignored, what it raises is counted.
"""
# ruff: noqa: ARG002 - what is told is for those who derive

from __future__ import annotations

from typing import Protocol

from finalcall.events import Call
from finalcall.known import Known
from finalcall.observe.settled import Correction, SettledCall


class Observer(Protocol):
    """Is told of turns, for metrics and records. Derive from it to leave methods out.

    `turn` is what is known of the message at that moment: `provider`, `stop_reason`, `ending`,
    `usage`, `stats`, `anomalies`. It is one object a turn, and may be the key of a
    `WeakKeyDictionary`. The methods are called in the thread that drives the turn, also while it
    is being cancelled or thrown away, so they must not block.
    """

    # A body that is no mere docstring: else a type checker wants every method of who derives.

    def turn_begun(self, turn: Known) -> None:
        """A turn was made; its stream may not have been opened yet."""
        return

    def call_announced(self, turn: Known, call: Call) -> None:
        """A call exists. Its name may still be missing, or be a part of the name."""
        return

    def call_settled(self, turn: Known, settled: SettledCall) -> None:
        """A call has its outcome. Once a call, whatever ended the turn."""
        return

    def turn_ended(self, turn: Known) -> None:
        """The turn is over: every call of it has settled. Never, where nobody ended the turn."""
        return

    def correction_settled(self, correction: Correction) -> None:
        """The message that answered a correction is settled. `run_turn` and `arun_turn` tell it."""
        return
