"""What a settler tells of its turn, to whoever listens. Where nobody does, it loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from finalcall.events import CallAnnounced, CallCompleted, CallWithdrawn, Event
from finalcall.gaps import Gaps
from finalcall.idle import Clocks
from finalcall.known import Known
from finalcall.listeners import is_logging, listeners
from finalcall.message import Message
from finalcall.outcomes import Outcome
from finalcall.timeline import Timeline

if TYPE_CHECKING:
    from finalcall.observe.telling import Telling

BORDERS: Final = frozenset({CallAnnounced, CallCompleted, CallWithdrawn})
"""Events at which a call begins or ends."""


@final
class Observation:
    """Who listens to one turn, and what they are to be told of time.

    Args:
        turn: The turn, which begins with this.
        clocks: Its clocks.
        gaps: Where it counts how long it waited.

    Attributes:
        timeline: Its calls in time.
    """

    __slots__ = ("_telling", "timeline")

    def __init__(self, turn: Known, clocks: Clocks, gaps: Gaps) -> None:
        self.timeline: Timeline = Timeline(clocks, gaps)
        self._telling: Telling | None = None
        told = listeners()
        if told:
            from finalcall.observe.telling import Telling  # most programs have no observer

            self._telling = Telling(told)
            self._telling.begun(turn)

    def border(self, turn: Known, event: Event) -> None:
        """Be told of an event at which a call begins or ends."""
        if not isinstance(event, CallAnnounced):
            assert isinstance(event, CallCompleted | CallWithdrawn)
            self.timeline.completed(event.call.key)
        elif self.timeline.announced(event.call.key) and self._telling is not None:
            self._telling.announced(turn, event.call)

    def end(self, turn: Known, message: Message, outcomes: Sequence[Outcome]) -> None:
        """Be told that the turn is over, and its calls have settled."""
        if self._telling is None and not is_logging():
            return
        try:
            from finalcall.observe.telling import Telling
        except ImportError:  # an interpreter that shuts down imports nothing any more
            return
        buffers = [message.buffer(outcome.key) for outcome in outcomes]
        telling = self._telling or Telling(())
        telling.ended(turn, zip(outcomes, buffers, strict=True), self.timeline)
