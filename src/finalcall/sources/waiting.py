"""What the sources of a turn share: what they know of time, and how a wait can end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, final

from finalcall.clock import Clock
from finalcall.idle import Clocks
from finalcall.pacing import Pacing


@final
class Overdue(Exception):  # noqa: N818 - a signal between two modules, not an error
    """A deadline passed, and it is time to act on it; waiting can go on where it was soft."""


@final
class Exhausted(Exception):  # noqa: N818 - StopIteration cannot pass through a generator
    """The source is at its end."""


@final
class Broken(Exception):  # noqa: N818 - a signal between two modules, not an error
    """The source raised something of its own.

    Attributes:
        error: What it raised.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Source(Protocol):
    """Where native events come from."""

    @property
    def pacing(self) -> Pacing:
        """How the source waits."""
        ...

    def natives(self) -> Iterator[Any]:
        """The native events that are left. It keeps the turn's clocks while it waits for them.

        Raises:
            Overdue: While iterating: a deadline of the clocks passed. It may be asked for again.
            Broken: The same for what the stream raised.
        """
        ...

    def close(self) -> None:
        """Release the stream and everything made to read it. May be called twice."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    """What a source must know of time.

    Attributes:
        clocks: The turn's idle clocks.
        clock: The time, in seconds.
    """

    clocks: Clocks
    clock: Clock

    def left(self, *, hard: bool = False) -> float:
        """Seconds until the next deadline; infinity where nothing is expected."""
        # The time is read first: an event that comes in between leaves more time, never less.
        now = self.clock()
        return self.clocks.deadline(hard=hard) - now

    def timeout(self) -> float | None:
        """The same for a lock: `None` for ever, and never below zero."""
        left = self.left()
        return None if left == math.inf else max(0.0, left)

    def hearing(self) -> Callable[[], None]:
        """What to call for each chunk of bytes: it notes the time, and costs next to nothing."""
        clocks, clock = self.clocks, self.clock

        def heard() -> None:
            clocks.heard_at = clock()

        return heard
