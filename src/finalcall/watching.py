"""Watches the deadlines of a turn whose own thread is blocked in a read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, final

from finalcall.clock import is_moved_by_hand, watch
from finalcall.waiting import Waiting


@final
class Watch:
    """A thread that looks at the turn's clocks; where they are moved by hand, whoever moves them.

    Nothing is told to it for an event: it looks by itself, at the deadline that it knows of and at
    least as often as the shortest limit.

    Args:
        waiting: The turn's clocks.
        wake: Ends the read that the turn is blocked in; `None` where no read blocks.

    Attributes:
        over: A hard deadline passed, and the read was ended for good.
    """

    def __init__(self, waiting: Waiting, wake: Callable[[], None] | None) -> None:
        self.over: bool = False
        self._waiting: Final = waiting
        self._wake = wake
        self._closed = False
        self._changed = threading.Condition()
        self._unwatch: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        clock = self._waiting.clock
        if is_moved_by_hand(clock):
            self._unwatch = watch(clock, self._look)
        elif self._wake is not None:
            self._thread = threading.Thread(
                target=self._run, name="finalcall-idle-limit", daemon=True
            )
            self._thread.start()

    def look_again(self) -> None:
        """A deadline may have come nearer than the shortest limit."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """End the thread and wait for it."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._unwatch is not None:
            self._unwatch()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        if self._waiting.left(hard=True) <= 0:
            self.over = True
            if self._wake is not None:
                self._wake()

    def _run(self) -> None:
        clocks = self._waiting.clocks
        with self._changed:
            while not self._closed:
                self._look()
                if self.over:
                    return
                left = self._waiting.left(hard=True)
                self._changed.wait(max(0.0, min(left, clocks.shortest)))
