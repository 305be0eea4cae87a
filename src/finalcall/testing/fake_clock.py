"""A clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import final


@final
class FakeClock:
    """The time as a test tells it: give it to a turn as `clock=`.

    A move passes at once whatever falls into it: the hardest limit that it passes is the one that
    the turn acts on. A stream under test may move it from inside, between two of its events.

    Args:
        now: The time to begin with, in seconds.
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._watchers: list[Callable[[], None]] = []

    def __call__(self) -> float:
        """The time, in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the time on, and tell every turn that waits by this clock.

        Args:
            seconds: How far; 0 or more.

        Raises:
            ValueError: The time would go back.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: got {seconds!r} s, expected 0 or more")
        self._now += seconds
        for moved in list(self._watchers):
            moved()

    def watch(self, moved: Callable[[], None]) -> Callable[[], None]:
        """Call `moved` each time the clock was moved.

        Args:
            moved: Called in the thread that moved the clock, after it was moved.

        Returns:
            What ends the watch; may be called twice.
        """
        self._watchers.append(moved)

        def unwatch() -> None:
            if moved in self._watchers:
                self._watchers.remove(moved)

        return unwatch
