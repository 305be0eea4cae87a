"""The same as `turn`, for asyncio: iterates, waits and closes around a `Settler`.

The source is read by a task of the turn's own, a bounded number of events ahead. So a limit that
passes ends that task and never touches the caller's, and a cancellation that arrives is always the
caller's: every call is settled, then it goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import math
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, Unpack, cast, final

from finalcall.events import Event
from finalcall.faults import cause_of
from finalcall.opening import Opening, request_options
from finalcall.outcomes import Cause
from finalcall.sources import Clock, Exhausted, Overdue, open_source
from finalcall.tools import ToolsLike
from finalcall.turn import SettledTurn, TurnOptions

_QUEUED_EVENTS: Final = 64
"""Native events read ahead by the reading task: enough to hide hand-over, little to hold."""


@final
class AsyncTurn(SettledTurn):
    """One message of a model, read from an asynchronous (or a synchronous) stream.

    Iterate it for events; every call settles in a `CallSettled` before the iteration ends or
    raises. Leaving its `async with` block settles what is open and closes the stream.

    Args:
        stream: An SDK's async stream, an awaitable or async context manager of one, an async
            iterable of native events, dicts or bytes; or a synchronous stream, which is read in
            a thread.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        options: See `Settler` and `TurnOptions`.

    Attributes:
        pacing: How the wait is bounded: `"task"`, the turn's own reading task is cancelled.

    Raises:
        ValueError: An option or a tool's schema is bad.

    Iterating raises what iterating a `Turn` raises; `CancelledError` always propagates.
    """

    pacing: Final = "task"

    def __init__(
        self, stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]
    ) -> None:
        super().__init__(tools=tools, **options)
        self._reader = _Reader(stream, self._clock)
        self._pending: deque[Event] = deque()

    @classmethod
    def open(
        cls,
        create: Callable[..., Any],
        /,
        *arguments: Any,
        turn_options: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> AsyncTurn:
        """Make the request itself, when iteration begins, so that the clock covers its headers.

        Args:
            create: The client's method, for example `client.messages.create`.
            arguments: Positional arguments for it.
            turn_options: Keyword arguments for the turn. `tools` and `ceiling` are read from the
                request's parameters unless given here.
            parameters: The request's parameters, `stream=True` included where `create` needs it.
        """
        options = request_options(parameters) | dict(turn_options or {})
        return cls(Opening(create, arguments, parameters), **options)

    def __aiter__(self) -> Self:
        self._begin()
        return self

    async def __anext__(self) -> Event:
        while not self._pending:
            if self._settler.ending is not None:
                await self._reader.close()
                if self._raises and self._settler.error is not None:
                    error, self._raises = self._settler.error, False
                    raise error
                raise StopAsyncIteration
            self._pending.extend(await self._advance())
        return self._pending.popleft()

    async def _advance(self) -> list[Event]:
        settler, reader, clock = self._settler, self._reader, self._clock
        try:
            try:
                native = await reader.get(settler.deadline(clock()))
            except Exhausted:
                return settler.end()
            except Overdue:
                return settler.tick(clock())
            except Exception as error:
                return settler.end(cause_of(error), error)
            return settler.feed(native, clock())
        except BaseException as error:
            self._settle_open(error)
            await self._reader.close()
            raise

    async def native_events(self) -> AsyncIterator[Any]:
        """Iterate the provider's own events, each once and unchanged, and settle beside them."""
        async for event in self:
            if event.native is not None:
                yield event.native

    async def aclose(self) -> None:
        """Settle every open call (cause `CANCELLED`) and close the stream. May be called twice."""
        self._iterated = True
        self._settle_open(None)
        await self._reader.close()

    def _settle_open(self, error: BaseException | None) -> None:
        if self._settler.ending is None:
            self._pending.clear()
            self._settler.end(Cause.CANCELLED, error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


@final
class _Reader:
    """Reads a stream in a task of its own and hands its events over, until a deadline."""

    def __init__(self, stream: Any, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._arrived: deque[tuple[Any, BaseException | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf
        self._due = math.inf
        self._closed = False

    async def get(self, deadline: float) -> Any:
        """The next native event.

        Args:
            deadline: When to stop waiting; waiting can go on afterwards.

        Raises:
            Overdue: The deadline passed.
            Exhausted: There is nothing more.
        """
        if not self._arrived:
            await self._wait(deadline)
        native, error = self._arrived.popleft()
        if len(self._arrived) < _QUEUED_EVENTS:
            self._room.set()
        if error is not None:
            raise error
        return native

    async def _wait(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = loop.create_task(self._run(), name="finalcall-reader")
        self._due = deadline
        if deadline < self._timer_due:
            self._arm(loop, deadline)
        self._waiting = loop.create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None
        if not self._arrived:
            raise Overdue

    def _arm(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        """One timer a turn: it is left alone while events arrive, and looks again when it fires."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = loop.call_later(max(0.0, due - self._clock()), self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._timer_due = None, math.inf
        if self._waiting is None or self._due == math.inf:
            return
        if self._clock() < self._due:
            self._arm(loop, self._due)
        else:
            self._notify()

    def _notify(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _put(self, native: Any, error: BaseException | None) -> None:
        self._arrived.append((native, error))
        self._notify()

    async def _run(self) -> None:
        try:
            async with contextlib.aclosing(_natives(self._stream, self._clock)) as natives:
                async for native in natives:
                    self._put(native, None)
                    if len(self._arrived) >= _QUEUED_EVENTS:
                        self._room.clear()
                        await self._room.wait()
            self._put(None, Exhausted())
        except BaseException as error:
            self._put(None, error)
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


async def _natives(stream: Any, clock: Clock) -> AsyncGenerator[Any, None]:
    """The native events of whatever a caller holds; closes all it opened."""
    if isinstance(stream, Opening):
        stream = stream()
    if inspect.isawaitable(stream):
        stream = await stream
    if not hasattr(stream, "__aiter__") and hasattr(stream, "__aenter__"):
        async with stream as inner, contextlib.aclosing(_natives(inner, clock)) as natives:
            async for native in natives:
                yield native
        return
    iterate = getattr(stream, "aiter_bytes", None) or getattr(stream, "__aiter__", None)
    if iterate is None:
        iterate = functools.partial(_from_thread, stream, clock)
    iterator = cast("AsyncIterator[Any]", iterate())
    try:
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


async def _from_thread(stream: Any, clock: Clock) -> AsyncGenerator[Any, None]:
    """Read a synchronous stream in a thread, a bounded number of events ahead."""
    loop = asyncio.get_running_loop()
    source = open_source(stream, clock)
    arrived: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()
    room = threading.Semaphore(_QUEUED_EVENTS)
    closed = threading.Event()

    def read() -> None:
        error: BaseException | None = None
        while error is None and room.acquire() and not closed.is_set():
            native: Any = None
            try:
                native = source.get(math.inf, math.inf)
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
