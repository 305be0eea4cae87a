"""Reads a stream in the caller's own thread: no hand-over, no cost worth measuring.

A hard deadline shuts the stream's connection down, which ends the read. A soft one cannot be told
while a read is blocked: it is told before what ended the wait.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, final

from finalcall.pacing import Pacing
from finalcall.transport import Connection
from finalcall.waiting import Exhausted, Overdue, Waiting
from finalcall.watching import Watch


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
        self.hears_bytes = False
        self._iterate = iterate
        self._close = close
        self._waiting = waiting
        self._clocks = waiting.clocks
        self._connection = connection
        self._watch = Watch(waiting, None if connection is None else connection.shut_down)
        self._advance: Callable[[], Any] = self._begin

    @property
    def pacing(self) -> Pacing:
        """How the source waits."""
        return Pacing(
            "memory" if self._connection is None else "transport",
            "bytes" if self.hears_bytes else "events",
        )

    def get(self) -> Any:
        """The next native event; only a hard deadline ends the wait."""
        clocks = self._clocks
        if clocks.unproductive > clocks.slack:
            self._watch.look_again()
        failure: Exception
        try:
            native = self._advance()
        except StopIteration:
            failure = Exhausted()
        except Exception as error:
            failure = error
        else:
            if self._watch.passed:
                self._act_on_deadline(native, None)
            return native
        if self._watch.passed:
            self._act_on_deadline(None, failure)
        raise failure

    def message_ended(self) -> None:
        """The bytes that are read just now end the message: only a moment is left for the rest."""
        self._clocks.wait_last(self._waiting.clock())
        self._watch.look_again()

    def _begin(self) -> Any:
        self._advance = iter(self._iterate()).__next__
        self._watch.start()
        return self._advance()

    def _act_on_deadline(self, native: Any, failure: Exception | None) -> None:
        """A deadline passed during the wait that has just ended: the turn hears of it first.

        Nothing to do where an event slipped in just as the connection was shut down: the stream is
        broken then, but was not silent.
        """
        if not self._watch.over:
            self._watch.passed = False
            self._advance = functools.partial(self._hand_over, native, failure, self._advance)
            raise Overdue
        if self._waiting.left(hard=True) <= 0:
            self._advance = _stop
            raise Overdue

    def _hand_over(self, native: Any, failure: Exception | None, advance: Callable[[], Any]) -> Any:
        """What ended a quiet wait, once the turn has said that it was quiet."""
        self._advance = advance
        if failure is not None:
            raise failure
        return native

    def close(self) -> None:
        """End the watch, wake a read in another thread, then close the stream."""
        self._watch.close()
        if self._connection is not None and self._clocks.waiting:
            self._connection.shut_down()
        self._close()


def _stop() -> NoReturn:
    raise StopIteration
