"""The same as `turn`, for asyncio and trio: iterates, waits and closes around a `Settler`.

The source is read by a task of the turn's own, a bounded number of events ahead. So a limit that
passes ends that task and never touches the caller's, and a cancellation that arrives is always the
caller's: every call is settled, then it goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from types import AsyncGeneratorType, TracebackType
from typing import Any, Self, Unpack, cast, final

from finalcall.checkpoints import provider_to_resume, replay
from finalcall.clock import Clock, read
from finalcall.events import Event
from finalcall.faults import cause_of
from finalcall.outcomes import Cause
from finalcall.pacing import Pacing
from finalcall.settler import Settler
from finalcall.sources.closing import close_without_waiting
from finalcall.sources.opening import Opening, request_options
from finalcall.sources.reader import Reader
from finalcall.sources.waiting import Exhausted, Overdue, Waiting
from finalcall.tools import ToolsLike
from finalcall.turn import REST, SettledTurn, TurnOptions, leaves_rest


@final
class AsyncTurn(SettledTurn):
    """One message of a model, read from an asynchronous (or a synchronous) stream.

    Iterate it for events; every call settles in a `CallSettled` before the iteration ends or
    raises. Leaving its `async with` block settles what is open and closes the stream. A loop that
    is left by `break` without that block leaves both to the event loop, which does it once the
    turn is garbage (trio with a `ResourceWarning`) and at the latest at its own end.

    It runs under asyncio and under trio, whichever runs the task that iterates it. Give it
    `clock=trio.current_time` where a test's `MockClock` moves the time of trio.

    Args:
        stream: An SDK's async stream, an awaitable or async context manager of one, an async
            iterable of native events, dicts or bytes; or a synchronous stream, which is read in
            a thread.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        options: See `Settler` and `TurnOptions`.

    Raises:
        TypeError: An option is unknown or of the wrong type; the text says what was expected.
        ValueError: An option is nothing that there is, or a tool's schema is bad.
        RefusedStream: The stream's calls are run by an SDK; the message says what to wrap.

    Nothing can be awaited where one of these is raised: a synchronous stream is closed then, and so
    is a request that nobody has awaited, but a stream that is closed by awaiting stays open. Close
    it yourself, as by an `async with` of its own around the turn; `open()` makes no request before
    the options are found right, and `asettle` closes what it was given.

    Iterating raises what iterating a `Turn` raises; `CancelledError` (trio's `Cancelled`) always
    propagates, and every call has settled before.
    """

    def __init__(
        self, stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]
    ) -> None:
        try:
            super().__init__(tools=tools, **options)
            self._refuse(stream)
        except BaseException:
            close_without_waiting(stream)
            raise
        self._reader = Reader(stream, Waiting(self._settler.clocks, self._clock))
        self._iteration: AsyncGeneratorType[Any, None] | None = None

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

    @classmethod
    def resume(
        cls,
        checkpoint: Mapping[str, Any],
        stream: Any,
        *,
        tools: ToolsLike | None,
        **options: Unpack[TurnOptions],
    ) -> AsyncTurn:
        """Go on with a message that stopped in the middle, as `Turn.resume` does.

        Args:
            checkpoint: What `checkpoint()` gave.
            stream: The rest of the message.
            tools: What was offered.
            options: Those of the first turn.

        Raises:
            ValueError: The checkpoint is of another version or provider, or is damaged.
        """
        try:
            options["provider"] = provider_to_resume(checkpoint, options.get("provider"))
            turn = cls(stream, tools=tools, **options)
            turn._told = replay(checkpoint, turn._settler)
        except BaseException:
            close_without_waiting(stream)
            raise
        return turn

    @property
    def pacing(self) -> Pacing | None:
        """How the turn waits, and what it hears; `None` before iteration."""
        return self._reader.pacing if self._reader.started else None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._iterate(self._events())

    def native_events(self) -> AsyncIterator[Any]:
        """Iterate the provider's own events, each once and unchanged, and settle beside them."""
        return self._iterate(_natives(self._events()))

    def _events(self) -> AsyncGenerator[Event, None]:
        self._begin()
        # It must not hold the turn: who drops the turn without closing it has it end.
        return _events(
            self._settler, self._reader, self._clock, told=self._told, raises=self._raises
        )

    def _iterate(self, iteration: AsyncGenerator[Any, None]) -> AsyncIterator[Any]:
        self._iteration = cast("AsyncGeneratorType[Any, None]", iteration)
        return iteration

    async def aclose(self) -> None:
        """Settle every open call (cause `CANCELLED`) and close the stream. May be called twice."""
        iteration = self._iteration
        self._iterated = True
        # In another task the iteration may be running: it ends when its source is closed.
        if iteration is not None and not iteration.ag_running:
            await iteration.aclose()
        _settle_open(self._settler, self._clock, None)
        self._reader.tell(self._settler)
        await self._reader.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


async def _events(
    settler: Settler, reader: Reader, clock: Clock, *, told: list[Event], raises: bool
) -> AsyncGenerator[Event, None]:
    try:
        for event in told:
            yield event
        ending = settler.ending
        unread: Iterator[Any] = iter(())
        while ending is None:
            try:
                natives = await reader.take()
            except Exhausted:
                events = settler.end(now=clock())
            except Overdue:
                events = _told_late(settler, clock())
            except Exception as error:
                events = settler.end(cause_of(error), error, clock())
            else:
                unread = iter(natives)
                for event in settler.feed_all(unread, clock):
                    yield event
                ending = settler.ending
                if ending is None:
                    natives.clear()  # nothing that was read is kept while the turn waits for more
                continue
            for event in events:
                yield event
            ending = settler.ending
        if leaves_rest(settler, clock):
            await _read_rest(settler, reader, clock, unread)
    except GeneratorExit:
        _settle_open(settler, clock, None)
        raise
    except BaseException as error:
        _settle_open(settler, clock, error)
        raise
    finally:
        reader.tell(settler)
        await reader.close()
    if raises and settler.error is not None:
        raise settler.error


async def _read_rest(settler: Settler, reader: Reader, clock: Clock, unread: Iterator[Any]) -> None:
    """Read what follows the message, for a moment, so that its connection can be used again."""
    settler.clocks.wait_last(clock())
    with contextlib.suppress(Exception):  # however it ends, the message was over before
        for _ in range(REST):
            for native in unread:
                settler.feed(native)
            unread = iter(await reader.take())


def _told_late(settler: Settler, now: float) -> list[Event]:
    """Act on a deadline; a silence that a limit ends at once is told before."""
    events = settler.tick(settler.clocks.moment(now))
    return events + settler.tick(now)


async def _natives(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Any, None]:
    async with contextlib.aclosing(events):
        async for event in events:
            if event.native is not None:
                yield event.native


def _settle_open(settler: Settler, clock: Clock, error: BaseException | None) -> None:
    if settler.ending is None:
        settler.end(Cause.CANCELLED, error, read(clock))
