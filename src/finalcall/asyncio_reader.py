"""Reads a stream in an asyncio task of its own and hands its events over, until a deadline.

Imported when an asynchronous turn begins, so that synchronous programs never load asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, cast, final

from finalcall.idle import Clocks
from finalcall.opening import Opening
from finalcall.sources import Exhausted, Overdue, Waiting, open_source

_QUEUED_EVENTS: Final = 64
"""Native events read ahead by the reading task: enough to hide hand-over, little to hold."""


@final
class AsyncioReader:
    """The source of one asynchronous turn.

    Args:
        stream: Whatever the caller holds.
        waiting: What the source must know of time.
    """

    def __init__(self, stream: Any, waiting: Waiting) -> None:
        self._stream = stream
        self._time = waiting
        self._arrived: deque[tuple[Any, BaseException | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def get(self) -> Any:
        """The next native event.

        Raises:
            Overdue: A deadline of the turn's clocks passed; waiting can go on.
            Exhausted: There is nothing more.
        """
        if not self._arrived:
            await self._wait()
        native, error = self._arrived.popleft()
        self._room.set()
        if error is not None:
            raise error
        return native

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = loop.create_task(self._run(), name="finalcall-reader")
        self._waiting = loop.create_future()
        if self._timer is None or self._time.clocks.unproductive:
            self._arm(loop)
        try:
            await self._waiting
        finally:
            self._waiting = None
        if not self._arrived:
            raise Overdue

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """One timer a turn: it is left alone while events arrive, and looks again when it fires."""
        if self._timer is not None:
            self._timer.cancel()
        due = min(self._time.left(), self._time.clocks.shortest)
        self._timer = loop.call_later(max(0.0, due), self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._time.left() <= 0:
            self._notify()
        else:
            self._arm(loop)

    def _notify(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _put(self, native: Any, error: BaseException | None) -> None:
        self._arrived.append((native, error))
        self._notify()

    async def _run(self) -> None:
        try:
            async with contextlib.aclosing(_natives(self._stream, self._time)) as natives:
                async for native in natives:
                    self._put(native, None)
                    if len(self._arrived) >= _QUEUED_EVENTS:
                        self._room.clear()
                        await self._room.wait()
            self._put(None, Exhausted())
        except BaseException as error:
            self._put(None, Exhausted() if self._closed else error)
            if isinstance(error, asyncio.CancelledError) and self._closed:
                raise

    async def close(self) -> None:
        """End the task, the timer and the stream. May be called twice."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is None:
            await _close(self._stream)
        else:
            self._task.cancel()
            await asyncio.wait([self._task])


async def _natives(stream: Any, waiting: Waiting) -> AsyncGenerator[Any, None]:
    """The native events of whatever a caller holds; closes all it opened."""
    if isinstance(stream, Opening):
        stream = stream()
    if inspect.isawaitable(stream):
        stream = await stream
    if not hasattr(stream, "__aiter__") and hasattr(stream, "__aenter__"):
        async with stream as inner, contextlib.aclosing(_natives(inner, waiting)) as natives:
            async for native in natives:
                yield native
        return
    iterate = getattr(stream, "aiter_bytes", None) or getattr(stream, "__aiter__", None)
    if iterate is None:
        async with contextlib.aclosing(_from_thread(stream, waiting)) as natives:
            async for native in natives:
                yield native
        return
    iterator: Any = stream
    try:
        iterator = cast("AsyncIterator[Any]", iterate())
        async for native in iterator:
            yield native
    finally:
        await _close(iterator)
        if iterator is not stream:
            await _close(stream)


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if callable(close):
        # A stream that cannot be closed is gone already; its error must not mask the caller's.
        with contextlib.suppress(Exception):
            closing = close()
            if inspect.isawaitable(closing):
                await closing


async def _from_thread(stream: Any, waiting: Waiting) -> AsyncGenerator[Any, None]:
    """Read a synchronous stream in a thread, a bounded number of events ahead."""
    loop = asyncio.get_running_loop()
    # The turn's own clocks are watched out here: those inside never run.
    source = open_source(stream, Waiting(Clocks(), waiting.clock))
    arrived: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()
    room = threading.Semaphore(_QUEUED_EVENTS)
    closed = threading.Event()

    def read() -> None:
        error: BaseException | None = None
        while error is None and room.acquire() and not closed.is_set():
            native: Any = None
            try:
                native = source.get()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
                loop.call_soon_threadsafe(arrived.put_nowait, (native, error))

    threading.Thread(target=read, name="finalcall-reader", daemon=True).start()
    try:
        while True:
            native, error = await arrived.get()
            room.release()
            if isinstance(error, Exhausted):
                return
            if error is not None:
                raise error
            yield native
    finally:
        closed.set()
        room.release()
        source.close()
