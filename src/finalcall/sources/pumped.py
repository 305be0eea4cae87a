"""Reads a stream in a thread of its own, a bounded number of events ahead.

For iterators that nothing else can interrupt, and for callers that want to hear of a silence
while it lasts. Where the connection is known, closing wakes the thread; else it ends with its read.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, final

from finalcall.pacing import Pacing
from finalcall.sources.closing import close_quietly
from finalcall.sources.connection import Connection, connection_of
from finalcall.sources.handover import Handover
from finalcall.sources.hooks import listen
from finalcall.sources.transport import tap
from finalcall.sources.waiting import Broken, Exhausted, Overdue, Waiting

_PARTING: Final = 2.0
"""Seconds to wait for a thread that was woken; one that does not end by then is let go."""


@final
class PumpedSource:
    """A source that a thread of the turn's own reads.

    Args:
        iterate: Makes the iterator of native events.
        close: Closes the stream.
        waiting: What the source must know of time.
        connection: The connection that a read may be blocked on, where it is known already.
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
        self._connection = connection
        self._waiting = waiting
        self._heard = waiting.hearing()
        self._handover = Handover(waiting)
        self._lock = threading.Lock()
        self._closed = False
        self._over = False
        self._thread: threading.Thread | None = None

    @property
    def pacing(self) -> Pacing:
        """How the source waits."""
        return Pacing("thread", "bytes" if self._hears_bytes else "events")

    def natives(self) -> Iterator[Any]:
        """The events that are left; any deadline ends a wait, and waiting can go on."""
        clocks, clock, get = self._waiting.clocks, self._waiting.clock, self._handover.get
        while True:
            clocks.wait(clock())
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="finalcall-reader", daemon=True
                )
                self._thread.start()
            try:
                native = get()
            except Exhausted:
                return
            except Overdue:
                raise
            except Exception as error:
                raise Broken(error) from None
            clocks.pause(clock())
            yield native

    def listen_to(self, stream: Any) -> None:
        """Hear the bytes of a stream, where they can be heard.

        Args:
            stream: What the events are read from, before it is begun.
        """
        self._hears_bytes = tap(stream, self._heard)

    def _found(self, response: Any) -> None:
        """A hook shows the response that the stream is read from."""
        self.listen_to(response)
        with self._lock:
            self._connection = connection_of(response)
            closed = self._closed
        if closed:
            self._wake()

    def _wake(self) -> None:
        if self._connection is not None:
            self._connection.shut_down()

    def _run(self) -> None:
        listen(self._found)
        error: BaseException = Exhausted()
        try:
            iterator = self._iterate()
            try:
                for native in iterator:
                    if not self._handover.put(native):
                        break
            finally:
                # A generator can only be closed by the thread that runs it.
                close_quietly(iterator)
        except BaseException as raised:
            error = raised
        self._handover.end(error=error)
        with self._lock:
            self._over = True
            closed = self._closed
        if closed:
            with contextlib.suppress(Exception):  # nobody is left to tell
                self._close()

    def close(self) -> None:
        """Stop the thread; the stream is closed now, or by the thread as it ends.

        Some streams hold a lock while they are read: to close them here would wait for the read.
        """
        with self._lock:
            closing = not self._closed and (self._thread is None or self._over)
            self._closed = True
        paused = self._handover.paused
        self._handover.close()
        if closing:
            self._close()
        elif self._thread is not None and not self._over:
            self._wake()
            if paused or self._connection is not None:
                self._thread.join(_PARTING)
