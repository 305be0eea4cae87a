"""Reads a stream in the caller's own thread: no hand-over, no cost worth measuring.

A hard deadline shuts the stream's connection down, which ends the read. A soft one cannot be told
while a read is blocked: the clocks keep it until something comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

from finalcall.pacing import Pacing
from finalcall.transport import Connection, tap
from finalcall.waiting import Broken, Exhausted, Overdue, Waiting
from finalcall.watching import Watch


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
        self._watch = Watch(waiting, None if connection is None else connection.shut_down)
        self._advance: Callable[[], Any] = self._begin
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
        by_events = not self._hears_bytes
        while self._failure is None:
            if by_events:
                self._wait()
            try:
                native = self._advance()
            except StopIteration:
                self._failure = Exhausted()
            except Exception as error:
                self._failure = error
            else:
                if by_events and not self._in_time():
                    self._failure = Exhausted()
                else:
                    yield native
        if self._waiting.left(hard=self._told) <= 0:
            self._told = True  # a silence, which is told once, and a limit each time
            raise Overdue
        if not isinstance(self._failure, Exhausted):
            raise Broken(self._failure)

    def _begin(self) -> Any:
        self._advance = iter(self._iterate()).__next__
        self._watch.start()
        return self._advance()

    def _in_time(self) -> bool:
        """Whether an event came before the turn was over; the wait for it ends.

        One that slips in just as the connection is shut down is in time: the stream is broken
        then, but was not silent.
        """
        if self._watch.over and self._waiting.left(hard=True) <= 0:
            return False
        self._pause()
        return True

    def _wait(self) -> None:
        clocks = self._clocks
        clocks.wait(self._clock())
        if clocks.unproductive > clocks.slack:
            self._watch.look_again()

    def _pause(self) -> None:
        self._clocks.pause(self._clock())

    def _message_ended(self) -> None:
        """The bytes that are read just now end the message: only a moment is left for the rest."""
        self._clocks.wait_last(self._clock())
        self._watch.look_again()

    def close(self) -> None:
        """End the watch, wake a read in another thread, then close the stream."""
        self._watch.close()
        if self._connection is not None and self._clocks.waiting:
            self._connection.shut_down()
        self._close()
