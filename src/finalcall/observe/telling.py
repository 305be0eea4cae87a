"""Tells whoever listens to a turn, each thing once, and lets no failure of theirs back in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import final

from finalcall.accumulator import Buffer
from finalcall.events import Call
from finalcall.known import Known
from finalcall.listeners import Listener, is_logging, listeners
from finalcall.observe.observer import Observer
from finalcall.observe.records import log_call, log_correction
from finalcall.observe.settled import Correction, SettledCall, settled_call
from finalcall.outcomes import Outcome
from finalcall.timeline import Timeline


@final
class Telling:
    """Who listens to one turn.

    Args:
        told: The listeners, from the turn's beginning to its end.
    """

    def __init__(self, told: Sequence[Listener]) -> None:
        self._listeners = told

    def begun(self, turn: Known) -> None:
        """The turn begins."""
        self._tell(lambda observer: observer.turn_begun(turn))

    def announced(self, turn: Known, call: Call) -> None:
        """A call was announced."""
        self._tell(lambda observer: observer.call_announced(turn, call))

    def ended(
        self, turn: Known, calls: Iterable[tuple[Outcome, Buffer | None]], timeline: Timeline
    ) -> None:
        """The turn is over, and its calls have settled."""
        for outcome, buffer in calls:
            assert buffer is not None
            settled = settled_call(
                outcome,
                buffer,
                tools=turn.tools,
                provider=turn.provider,
                largest_gap=timeline.largest_gap(outcome.key),
                duration=timeline.duration(outcome.key),
            )
            self._settled(turn, settled)
            if is_logging():
                log_call(settled)
        self._tell(lambda observer: observer.turn_ended(turn))

    def _settled(self, turn: Known, settled: SettledCall) -> None:
        self._tell(lambda observer: observer.call_settled(turn, settled))

    def corrected(self, correction: Correction) -> None:
        """A correction was answered."""
        self._tell(lambda observer: observer.correction_settled(correction))
        if is_logging():
            log_correction(correction)

    def _tell(self, tell: Callable[[Observer], object]) -> None:
        for listener in self._listeners:
            try:
                tell(listener.observer)
            except Exception as error:  # an observer must not break what it watches
                listener.failures.note(error)


def tell_correction(correction: Correction) -> None:
    """Tell everybody who listens now of a correction that was answered."""
    Telling(listeners()).corrected(correction)
