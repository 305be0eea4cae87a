"""Asynchronous turns under trio, and what they promise under every event loop alike."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from finalcall import (
    AsyncTurn,
    CallAnnounced,
    CallSettled,
    Cause,
    Dispatchable,
    Event,
    Failed,
    Idle,
    StreamIdle,
    StreamQuiet,
    asettle,
)
from tests.loops import CANCELLATIONS, LOOPS, run
from tests.messages import CLEAN, TOOLS, call, message_start

SHORT = Idle(first=0.2, between=0.2, in_call=0.2, quiet=None)
OPEN_CALL = [message_start(), *call(0, stop=False)]


class Source:
    """A stream that blocks after so many events, and notes how it was closed."""

    def __init__(self, events: int, *, block: bool = True) -> None:
        self.reached = anyio.Event()
        self.closed: list[str] = []
        self._events = events
        self._block = block

    async def generator(self) -> AsyncIterator[Any]:
        try:
            for native in CLEAN[: self._events]:
                yield native
            if self._block:
                self.reached.set()
                await anyio.sleep_forever()
        finally:
            self.closed.append("generator")

    def iterator(self) -> AsyncIterator[Any]:
        return _Iterator(self)

    @asynccontextmanager
    async def manager(self) -> AsyncIterator[Any]:
        try:
            yield self.iterator()
        finally:
            self.closed.append("manager")


class _Iterator:
    """An SDK's stream: an object with `aclose`, which waits before it has closed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._generator = source.generator()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._generator)

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        await self._generator.aclose()
        self._source.closed.append("iterator")


FORMS: dict[str, tuple[Callable[[Source], Any], list[str]]] = {
    "generator": (Source.generator, ["generator"]),
    "iterator": (Source.iterator, ["generator", "iterator"]),
    "manager": (Source.manager, ["generator", "iterator", "manager"]),
}
"""By what the caller holds: how it is made, and what must have been closed, in order."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", CANCELLATIONS)
def test_a_cancellation_while_the_turn_waits_settles_every_call_and_goes_on(
    way: str, form: str
) -> None:
    """Before the first event, and after each: one outcome a call, the source closed."""
    loop, cancel = CANCELLATIONS[way]
    make, expected = FORMS[form]

    async def main() -> None:
        for events in range(len(CLEAN)):
            source = Source(events)
            await _cancelled(cancel, source.reached, AsyncTurn(make(source), tools=TOOLS), None)
            assert source.closed == expected

    run(loop, main)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", CANCELLATIONS)
def test_a_cancellation_between_two_events_settles_every_call_and_goes_on(
    way: str, form: str
) -> None:
    """While the caller does something else with an event in hand."""
    loop, cancel = CANCELLATIONS[way]
    make, expected = FORMS[form]

    async def main() -> None:
        for events in range(1, len(CLEAN)):
            source = Source(len(CLEAN), block=False)
            turn = AsyncTurn(make(source), tools=TOOLS)
            await _cancelled(cancel, source.reached, turn, events, source.reached.set)
            assert source.closed == expected

    run(loop, main)


async def _cancelled(
    cancel: Callable[..., Any],
    when: anyio.Event,
    turn: AsyncTurn,
    pause_at: int | None,
    pausing: Callable[[], object] = lambda: None,
) -> None:
    """Cancel who reads a turn; look at what was reported, raised and settled."""
    raised: list[BaseException] = []
    settled: list[CallSettled] = []
    turn._settler._on_settled = settled.append

    async def read() -> None:
        seen = 0
        try:
            async with turn:
                async for _ in turn:
                    seen += 1
                    if seen == pause_at:
                        pausing()
                        await anyio.sleep_forever()
        except BaseException as error:
            raised.append(error)
            assert turn.ending is not None  # settled before it propagates
            raise

    await cancel(read, when)
    (error,) = raised
    assert isinstance(error, anyio.get_cancelled_exc_class())
    announced = turn.stats.announced
    assert len(settled) == len(turn.outcomes) == announced
    assert turn.ending is not None
    assert turn.ending.cause is Cause.CANCELLED
    for outcome in turn.outcomes:
        if turn.stop_reason is None:
            assert isinstance(outcome, Failed)
            assert outcome.cause is Cause.CANCELLED
        else:  # it was proved whole before the cancellation came
            assert isinstance(outcome, Dispatchable)


# Limits, and what is not one


@pytest.mark.parametrize("loop", LOOPS)
def test_a_limit_never_touches_who_waits(loop: str) -> None:
    """It raises there, and cancels no scope of the caller's."""

    async def main() -> None:
        with anyio.move_on_after(60) as scope, pytest.raises(StreamIdle):
            await asettle(Source(6).generator(), tools=TOOLS, idle_timeout=SHORT)
        assert not scope.cancel_called
        await anyio.lowlevel.checkpoint()

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_deadline_of_the_callers_stays_the_callers(loop: str) -> None:
    """Its own exception, and calls that were cancelled."""

    async def main() -> None:
        turn = AsyncTurn(Source(6).generator(), tools=TOOLS)
        with pytest.raises(TimeoutError) as caught:
            with anyio.fail_after(0.1):
                async with turn:
                    async for _ in turn:
                        pass
        assert not isinstance(caught.value, StreamIdle)
        with anyio.move_on_after(0.1) as scope:
            await asettle(Source(6).generator(), tools=TOOLS)
        assert scope.cancelled_caught
        (outcome,) = turn.outcomes
        assert isinstance(outcome, Failed)
        assert outcome.cause is Cause.CANCELLED

    run(loop, main)


@pytest.mark.parametrize(
    "error", [ValueError("bad"), ExceptionGroup("two", [OSError(), OSError()]), KeyboardInterrupt()]
)
@pytest.mark.parametrize("loop", LOOPS)
def test_what_the_stream_raises_is_raised_unchanged(loop: str, error: BaseException) -> None:
    """The very same object, wherever it was read."""

    async def stream() -> AsyncIterator[Any]:
        yield message_start()
        raise error

    async def main() -> None:
        with pytest.raises(type(error)) as caught:
            await asettle(stream(), tools=None)
        assert caught.value is error

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_stream_sees_the_context_variables_of_who_iterates(loop: str) -> None:
    """As if it were read in the caller's own task."""
    variable = ContextVar("variable", default="unset")

    async def stream() -> AsyncIterator[Any]:
        seen.append(variable.get())
        for native in CLEAN:
            yield native

    async def main() -> None:
        variable.set("set")
        await asettle(stream(), tools=TOOLS)

    seen: list[str] = []
    run(loop, main)
    assert seen == ["set"]


# Closing


@pytest.mark.parametrize("loop", LOOPS)
def test_a_turn_that_is_closed_from_another_task_ends_its_iteration(loop: str) -> None:
    """Whoever waits sees the end of the iteration, with every call settled; any may close."""

    async def main() -> None:
        source = Source(6)
        turn = AsyncTurn(source.generator(), tools=TOOLS)
        ended = anyio.Event()

        async def read() -> None:
            async for _ in turn:
                pass
            ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await source.reached.wait()
            await anyio.wait_all_tasks_blocked()
            group.start_soon(turn.aclose)
            await turn.aclose()
            assert source.closed == ["generator"]
            await ended.wait()
        assert turn.verdict == "fail"

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_turn_that_was_never_read_closes_its_stream(loop: str) -> None:
    """Even where the caller is being cancelled; and an iteration that was not begun is over."""

    async def main() -> None:
        source = Source(6)
        turn = AsyncTurn(source.iterator(), tools=TOOLS)
        iteration = aiter(turn)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await turn.aclose()
        await turn.aclose()
        assert [event async for event in iteration] == []
        assert loop == "asyncio" or source.closed == ["iterator"]

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stream_that_is_left_between_events_has_time_to_clean_up(loop: str) -> None:
    """Its `finally` may wait; nothing is cancelled in it. It keeps its own cancel scope, too."""
    closed: list[bool] = []

    async def stream() -> AsyncIterator[Any]:
        with anyio.move_on_after(60):
            try:
                for native in [*CLEAN[:5], *[{"type": "ping"}] * 1000]:
                    yield native
            finally:
                await anyio.sleep(0.01)
                closed.append(True)

    async def main() -> None:
        async with AsyncTurn(stream(), tools=TOOLS) as turn:
            async for event in turn:
                if isinstance(event, CallAnnounced):
                    break
        assert closed == [True]

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stream_that_swallows_its_cancellation_is_stopped_at_its_next_event(loop: str) -> None:
    """It is asked once; then nobody takes what it gives."""
    given: list[int] = []

    async def stream() -> AsyncIterator[Any]:
        yield message_start()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            pass
        for number in range(5):
            given.append(number)
            yield {"type": "ping"}

    async def main() -> None:
        with pytest.raises(StreamIdle):
            await asettle(stream(), tools=None, idle_timeout=SHORT)

    run(loop, main)
    assert given == [0]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.filterwarnings("ignore:Async generator 'finalcall:ResourceWarning")
def test_a_loop_that_is_left_without_its_block_ends_with_the_turn(loop: str) -> None:
    """Once the turn is garbage the event loop settles its calls and closes its stream."""

    async def main() -> None:
        source = Source(6)
        settled: list[CallSettled] = []
        turn = AsyncTurn(source.generator(), tools=TOOLS, on_settled=settled.append)
        async for event in turn:
            if isinstance(event, CallAnnounced):
                break
        assert settled == []
        del turn
        gc.collect()
        await anyio.wait_all_tasks_blocked()
        assert len(settled) == 1
        assert source.closed == ["generator"]

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_turn_that_is_left_open_ends_with_the_loop(loop: str) -> None:
    """Then its calls settle and its stream is closed, whoever still holds it."""
    kept: list[AsyncTurn] = []
    source: list[Source] = []

    async def main() -> None:
        source.append(Source(6))
        kept.append(AsyncTurn(source[0].generator(), tools=TOOLS))
        async for event in kept[0]:
            if isinstance(event, CallAnnounced):
                break

    anyio.run(main, backend=loop)
    assert source[0].closed == ["generator"]
    (outcome,) = kept[0].outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CANCELLED


# Which loop


def test_a_turn_without_a_loop_says_so() -> None:
    """A coroutine that nobody runs has no loop to read in."""
    closing = AsyncTurn(CLEAN, tools=None).aclose()
    with pytest.raises(RuntimeError):
        closing.send(None)


def test_a_mock_clock_of_trios_moves_every_limit() -> None:
    """Told to the turn as its clock, it passes each silence at once, in order."""

    async def main() -> list[Event]:
        turn = AsyncTurn(Source(0).generator(), tools=None, clock=trio.current_time, raises=False)
        async with turn:
            return [event async for event in turn]

    events = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    told = [round(event.seconds) for event in events if isinstance(event, StreamQuiet)]
    assert told == list(range(10, 120, 10))
