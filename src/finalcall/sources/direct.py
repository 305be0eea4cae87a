"""Reads a stream in the caller's own thread: no hand-over, no cost worth measuring.

A hard deadline is the time that each read of the stream's connection is given. A soft one cannot be
told while a read is blocked: the clocks keep it until something comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, final

from finalcall.clock import is_moved_by_hand
from finalcall.pacing import Pacing
from finalcall.sources.connection import Connection
from finalcall.sources.transport import tap
from finalcall.sources.waiting import Broken, Exhausted, Overdue, Waiting

_END: Final = object()


@final
class MemorySource:
    """A source that never waits: a list of native events.

    Args:
        natives: The events.
    """

    pacing: Pacing = Pacing("memory", "events")

    def __init__(self, natives: Iterator[Any]) -> None:
        self._natives = natives

    def natives(self) -> Iterator[Any]:
        """The events that are left."""
        return self._natives

    def close(self) -> None:
        """Nothing is open."""


@final
class DirectSource:
    """A source that the caller's thread reads.

    Args:
        iterate: Makes the iterator of native events.
        close: Closes the stream.
        waiting: What the source must know of time.
        connection: The connection that a read may be blocked on; `None` where no read blocks.
    """

    def __init__(
        self,
        iterate: Callable[[], Iterator[Any]],
        close: Callable[[], None],
        waiting: Waiting,
        *,
        connection: Connection | None = None,
    ) -> None:
        self._hears_bytes = False
        self._iterate = iterate
        self._close = close
        self._waiting = waiting
        self._clocks = waiting.clocks
        self._clock = waiting.clock
        self._connection = connection
        self._unwatch: Callable[[], None] | None = None
        self._overdue = False
        self._reading: Iterator[Any] | None = None
        self._failure: Exception | None = None
        self._told = False

    def listen_to(self, stream: Any, *, rest: bool) -> None:
        """Keep the clocks by the bytes of a stream where they can be heard, not by its events.

        Args:
            stream: What the events are read from, before it is begun.
            rest: Read what follows the end of the message, for a moment.
        """
        ended = self._message_ended if rest else None
        self._hears_bytes = tap(stream, self._pause, waits=self._wait, ended=ended)

    @property
    def pacing(self) -> Pacing:
        """How the source waits."""
        return Pacing(
            "memory" if self._connection is None else "transport",
            "bytes" if self._hears_bytes else "events",
        )

    def natives(self) -> Iterator[Any]:
        """The events that are left; only a hard deadline ends a wait."""
        if self._failure is None:
            try:
                reading = self._reading or self._begin()
                # `yield from` would close what is read, and its rest is still to be.
                for native in reading if self._hears_bytes else self._by_events(reading):  # noqa: UP028
                    yield native
            except Exception as error:
                self._failure = error
            else:
                self._failure = Exhausted()
        if self._waiting.left(hard=self._told) <= 0:
            self._told = True  # a silence, which is told once, and a limit each time
            raise Overdue
        if not isinstance(self._failure, Exhausted):
            raise Broken(self._failure)

    def _begin(self) -> Iterator[Any]:
        if is_moved_by_hand(self._clock):
            self._unwatch = self._clock.watch(self._clock_moved)
        elif self._connection is not None:
            self._connection.limit_reads(self._left)
        self._reading = reading = iter(self._iterate())
        return reading

    def _by_events(self, reading: Iterator[Any]) -> Iterator[Any]:
        """Keep the clocks where no bytes are heard: each event ends a wait."""
        while True:
            self._wait()
            native = next(reading, _END)
            if native is _END or not self._in_time():
                return
            yield native

    def _left(self) -> float:
        """Seconds until the next hard deadline."""
        return self._waiting.left(hard=True)

    def _clock_moved(self) -> None:
        """The time that a read was given has passed by hand: nothing else would end it."""
        if self._left() <= 0:
            self._overdue = True
            if self._connection is not None:
                self._connection.shut_down()

    def _in_time(self) -> bool:
        """Whether an event came before the turn was over; the wait for it ends.

        One that slips in just as the connection is shut down is in time: the stream is broken
        then, but was not silent.
        """
        if self._overdue and self._left() <= 0:
            return False
        self._pause()
        return True

    def _wait(self) -> None:
        self._clocks.wait(self._clock())

    def _pause(self) -> None:
        self._clocks.pause(self._clock())

    def _message_ended(self) -> None:
        """The bytes that are read just now end the message: only a moment is left for the rest."""
        self._clocks.wait_last(self._clock())

    def close(self) -> None:
        """Let go of the clock and the connection, wake a read in another thread, close."""
        if self._unwatch is not None:
            self._unwatch()
        if self._connection is not None:
            if self._clocks.waiting:
                self._connection.shut_down()
            self._connection.release()
        self._close()
