"""Hands things from a thread that reads to the one that waits, until a deadline of the clocks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, final

from finalcall.clock import is_moved_by_hand, watch
from finalcall.sources.waiting import Exhausted, Overdue, Waiting

_AHEAD: Final = 64
"""Things that may lie ready: enough to hide the hand-over, little to hold."""

_PATIENCE: Final = 5.0
"""Seconds that whoever moves a clock by hand gives the taker to act: more than it ever needs."""


@final
class Handover:
    """What one thread has read, in order, for one other thread.

    The reader goes ahead of the taker, by a bounded number; then it pauses until all is taken. A
    clock that is moved by hand stands for a stream in lockstep with its turn: there the reader
    begins nothing before the turn waits for it.

    Args:
        waiting: The clocks that the taker waits by.

    Attributes:
        paused: The reader pauses until more is wanted.
    """

    def __init__(self, waiting: Waiting) -> None:
        self.paused: bool = False
        self._waiting = waiting
        self._by_hand = is_moved_by_hand(waiting.clock)
        self._ahead = 1 if self._by_hand else _AHEAD
        self._ready: deque[tuple[Any, BaseException | None]] = deque()
        self._changed = threading.Condition()
        self._wanted = False
        self._closed = False
        self._moved = False
        self._blocked = False
        self._unwatch: Callable[[], None] = watch(waiting.clock, self._clock_moved)

    # The reader's side

    def put(self, thing: Any) -> bool:
        """Hand a thing over, and pause where enough lies ready.

        Returns:
            Whether to go on; not once the taker has closed.
        """
        with self._changed:
            self._add(thing, None)
            if len(self._ready) >= self._ahead:
                self.paused = True
                self._changed.wait_for(lambda: self._wanted or self._closed)
                self.paused = False
            return not self._closed

    def end(self, thing: Any = None, error: BaseException | None = None) -> bool:
        """Hand the last thing over, or what ended the reading.

        Returns:
            Whether somebody may still take it.
        """
        with self._changed:
            self._add(thing, error)
            return not self._closed

    def _add(self, thing: Any, error: BaseException | None) -> None:
        self._ready.append((thing, error))
        self._wanted = False
        self._changed.notify_all()

    # The taker's side

    def get(self) -> Any:
        """The next thing.

        Raises:
            Overdue: A deadline passed before it came; waiting can go on.
            Exhausted: The taker was closed, by another thread perhaps.
            BaseException: What ended the reading.
        """
        if not self._ready or self._moved:
            with self._changed:
                self._wait()
        thing, error = self._ready.popleft()
        if error is not None:
            raise error
        return thing

    def _wait(self) -> None:
        if not self._ready:
            self._wanted = True
            self._changed.notify_all()
        while not self._closed:
            if (self._moved or not self._ready) and self._waiting.left() <= 0:
                raise Overdue
            if self._moved:
                self._moved = False
                self._changed.notify_all()
            if self._ready:
                return
            self._blocked = True
            self._changed.wait(None if self._by_hand else self._waiting.timeout())
            self._blocked = False
        raise Exhausted

    def _clock_moved(self) -> None:
        with self._changed:
            self._moved = True
            self._changed.notify_all()
            if self._blocked:
                # The taker acts on this move before there is another one, or anything to take.
                self._changed.wait_for(lambda: self._closed or not self._moved, _PATIENCE)

    def close(self) -> list[Any]:
        """Take nothing more, and tell the reader to stop.

        Returns:
            What nobody has taken.
        """
        self._unwatch()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            untaken = [thing for thing, _ in self._ready]
            self._ready.clear()
            return untaken
