"""Reads a synchronous stream in a thread, for a task that must not be blocked."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol, Self, final

from finalcall.iterating import iterate_of, whole
from finalcall.sources.closing import close_quietly
from finalcall.sources.connection import Connection, connection_of
from finalcall.sources.waiting import Exhausted


class Signal(Protocol):
    """What asyncio and trio both call an event: it is set once, and waited for."""

    def set(self) -> object:
        """Let whoever waits go on."""
        ...

    async def wait(self) -> object:
        """Wait until it is set."""
        ...


@final
class ThreadedStream:
    """The events of a synchronous stream, read a bounded number ahead.

    Closing wakes a read where the stream's connection is known; any other thread ends with its
    read, and closes the stream then.

    Args:
        stream: An SDK stream, a context manager of one, an open HTTP response, or an iterable of
            native events, dicts or bytes.
        ahead: How many events may lie ready.
        signal: Makes something to wait for.
        call_soon: Has the event loop call something, from any thread.
    """

    def __init__(
        self,
        stream: Any,
        ahead: int,
        signal: Callable[[], Signal],
        call_soon: Callable[[Callable[[], object]], None],
    ) -> None:
        self._stream = stream
        self._signal = signal
        self._call_soon = call_soon
        self._arrived: deque[Any] = deque()
        self._arrival: Signal | None = None
        self._ended: BaseException | None = None
        self._room = threading.Semaphore(ahead - 1)
        self._taken = False
        self._lock = threading.Lock()
        self._blocked = True
        self._connection: Connection | None = None
        self._closed = False
        threading.Thread(target=self._run, name="finalcall-reader", daemon=True).start()

    # The task's side

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._taken:
            self._taken = False
            self._room.release()
        while True:
            ended = self._ended  # first, as the thread sets it after its last event
            if self._arrived:
                self._taken = True
                return self._arrived.popleft()
            if isinstance(ended, Exhausted):
                raise StopAsyncIteration
            if ended is not None:
                raise ended
            await self._wait()

    async def _wait(self) -> None:
        self._arrival = arrival = self._signal()
        await arrival.wait()

    def _notify(self) -> None:
        arrival, self._arrival = self._arrival, None
        if arrival is not None:
            arrival.set()

    async def aclose(self) -> None:
        """Stop the thread, and wait for its end unless nothing can wake it."""
        with self._lock:
            self._closed = True
            ends = not self._blocked or self._connection is not None
            if self._connection is not None:
                self._connection.shut_down()
        self._room.release()
        while ends and self._ended is None:
            await self._wait()

    # The thread's side

    def _run(self) -> None:
        ended: BaseException = Exhausted()
        try:
            with ExitStack() as opened:
                for native in self._open(opened):
                    if not self._put(native):
                        break
        except BaseException as error:
            ended = error
        self._ended = ended
        self._call_soon(self._notify)

    def _put(self, native: Any) -> bool:
        """Hand an event over, and pause where enough lie ready; whether to read on."""
        with self._lock:
            self._blocked = False
        self._arrived.append(native)
        self._call_soon(self._notify)
        self._room.acquire()
        with self._lock:
            self._blocked = not self._closed
            return self._blocked

    def _open(self, opened: ExitStack) -> Iterator[Any]:
        """Iterate whatever the stream is; all that this opens is closed with `opened`."""
        stream: Any = self._stream
        if not hasattr(stream, "__iter__") and hasattr(stream, "__enter__"):
            stream = opened.enter_context(stream)
        else:
            opened.callback(close_quietly, stream)
        stream = whole(stream)
        iterator = iter(iterate_of(stream)())
        opened.callback(close_quietly, iterator)
        with self._lock:
            self._connection = connection_of(stream)
            return iter(()) if self._closed else iterator
