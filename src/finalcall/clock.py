"""What tells a turn the time: any monotonic clock, or one that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeGuard

Clock: TypeAlias = Callable[[], float]
"""Gives the time in seconds, on a scale that never goes back."""


class MovedClock(Protocol):
    """A clock that somebody moves by hand: whoever waits must be told when to look again."""

    def __call__(self) -> float:
        """The time, in seconds."""
        ...

    def watch(self, moved: Callable[[], None]) -> Callable[[], None]:
        """Call `moved` each time the clock was moved.

        Args:
            moved: Called in the thread that moved the clock, after it was moved.

        Returns:
            What ends the watch.
        """
        ...


def is_moved_by_hand(clock: Clock) -> TypeGuard[MovedClock]:
    """Whether it tells of its moves: asked in every turn, so not by way of the protocol."""
    return hasattr(clock, "watch")


def watch(clock: Clock, moved: Callable[[], None]) -> Callable[[], None]:
    """Be told when a clock was moved by hand; a clock that runs by itself never tells.

    Args:
        clock: The turn's clock.
        moved: What to call each time.

    Returns:
        What ends the watch.
    """
    return clock.watch(moved) if is_moved_by_hand(clock) else _nothing


def read(clock: Clock) -> float | None:
    """The time, or `None` where the clock has stopped: that of an event loop does with its loop.

    Args:
        clock: The turn's clock.
    """
    try:
        return clock()
    except Exception:  # whatever it raises: the turn is being thrown away, and only this is lost
        return None


def _nothing() -> None:
    return None
