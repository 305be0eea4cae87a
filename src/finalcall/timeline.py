"""When each call was announced and how long the longest wait inside of it was. Told the time.

It is told what happens to calls, never what pieces they are made of: a piece costs nothing here.
"""

from __future__ import annotations

from typing import final

from finalcall.gaps import Gaps
from finalcall.idle import Clocks, Phase


@final
class Span:
    """From when to when a call was open. Stretches are counted from the start of the turn."""

    __slots__ = ("announced_at", "completed", "first", "last")

    def __init__(self, announced_at: float | None) -> None:
        self.announced_at: float | None = announced_at
        self.completed: bool = False
        self.first: int | None = None  # the first stretch that it was open in
        self.last: int | None = None  # the first that it was not


@final
class Timeline:
    """The calls of one message in time, which is cut into stretches where a call begins or ends.

    Args:
        clocks: Those of the turn: they know since when it waits.
        gaps: Where it counts how long it waited.

    Attributes:
        now: The time that was told last; `None` where none ever was.
        moved: The calls that began or ended in the present stretch, which `mark()` closes. A list,
            since to ask it for its truth costs the least.
    """

    __slots__ = ("_clocks", "_gaps", "_spans", "_stretches", "moved", "now")

    def __init__(self, clocks: Clocks, gaps: Gaps) -> None:
        self.now: float | None = None
        self._clocks = clocks
        self._gaps = gaps
        self._spans: dict[str, Span] = {}
        self.moved: list[Span] = []
        self._stretches: list[float] = []

    def announced(self, key: str) -> bool:
        """A call was announced.

        Returns:
            Whether it is new: a call may be announced again.
        """
        if key in self._spans:
            return False
        span = self._spans[key] = Span(self.now)
        self.moved.append(span)
        return True

    def completed(self, key: str) -> None:
        """A call got its own end; a second one, or that of an unknown call, changes nothing."""
        span = self._spans.get(key)
        if span is not None and not span.completed:
            span.completed = True
            self.moved.append(span)

    def mark(self) -> None:
        """The wait for the event that moved calls was measured: a new stretch begins."""
        self._stretches.append(self._gaps.of("in_call").mark())
        count = len(self._stretches)
        for span in self.moved:
            span.first = count if span.first is None else span.first
            span.last = count if span.completed else None
        self.moved.clear()

    def duration(self, key: str) -> float | None:
        """Seconds from a call's announcement until now; `None` where no time was told."""
        span = self._spans[key]
        if self.now is None or span.announced_at is None:
            return None
        return self.now - span.announced_at

    def largest_gap(self, key: str) -> float | None:
        """The longest wait while a call was open, the one that goes on now included.

        Returns:
            Seconds, 0 where each was below a millisecond; `None` where no time was told.
        """
        span = self._spans[key]
        if span.announced_at is None:
            return None
        if span.first is None:
            return 0.0  # the event that announced it was the last
        longest = max(self._stretches[span.first : span.last], default=0.0)
        if span.last is None:
            longest = max(longest, self._gaps.of("in_call").longest, self._waited())
        return longest

    def _waited(self) -> float:
        """Seconds that the turn has been waiting for an event of a call."""
        if self.now is None or self._clocks.phase is not Phase.IN_CALL:
            return 0.0
        return self._clocks.gap(self.now)
