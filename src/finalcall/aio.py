"""The same as `turn`, for asyncio: iterates, waits and closes around a `Settler`.

The source is read by a task of the turn's own, a bounded number of events ahead. So a limit that
passes ends that task and never touches the caller's, and a cancellation that arrives is always the
caller's: every call is settled, then it goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, final

from finalcall.events import Event
from finalcall.faults import cause_of
from finalcall.opening import Opening, request_options
from finalcall.outcomes import Cause
from finalcall.sources import Exhausted, Overdue, Waiting
from finalcall.tools import ToolsLike
from finalcall.turn import SettledTurn, TurnOptions

if TYPE_CHECKING:
    from finalcall.asyncio_reader import AsyncioReader


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
        RefusedStream: The stream's calls are run by an SDK; the message says what to wrap.

    Iterating raises what iterating a `Turn` raises; `CancelledError` always propagates.
    """

    pacing: Final = "task"

    def __init__(
        self, stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]
    ) -> None:
        super().__init__(tools=tools, **options)
        self._refuse(stream)
        self._stream = stream
        self._opened: AsyncioReader | None = None
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

    @property
    def _reader(self) -> AsyncioReader:
        if self._opened is None:
            from finalcall.asyncio_reader import AsyncioReader

            self._opened = AsyncioReader(self._stream, Waiting(self._settler.clocks, self._clock))
        return self._opened

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
                settler.clocks.wait(clock())
                native = await reader.get()
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
