"""Asynchronous turns and time, under asyncio and trio: each limit fires when it should."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest

from finalcall import (
    AsyncTurn,
    CallSettled,
    Cause,
    Event,
    Failed,
    Idle,
    StreamIdle,
    StreamQuiet,
)
from finalcall.testing import FakeClock
from tests.loops import LOOPS, run
from tests.messages import CLEAN, call, message_start, stopped

PING = {"type": "ping"}
START = message_start()
OPEN = call(0, stop=False)
REST = [*call(0)[-1:], *stopped()]
LIMITS = Idle(first=120, between=60, in_call=360, progress=500, quiet=None)


async def in_task(script: Sequence[Any], clock: FakeClock) -> AsyncIterator[Any]:
    """The events of a script, in which a number moves the clock by so many seconds."""
    for step in script:
        if isinstance(step, int | float):
            clock.advance(step)
        else:
            yield step


def in_thread(script: Sequence[Any], clock: FakeClock) -> Iterator[Any]:
    """The same as a synchronous stream, which a turn reads in a thread."""
    for step in script:
        if isinstance(step, int | float):
            clock.advance(step)
        else:
            yield step


FORMS: dict[str, Callable[..., Any]] = {"task": in_task, "thread": in_thread}

PASSED: dict[str, tuple[list[Any], Cause, float, int]] = {
    "silence before the first event": ([121, START, *OPEN, *REST], Cause.IDLE, 121, 0),
    "silence between events": ([START, 61, *OPEN, *REST], Cause.IDLE, 61, 1),
    "silence inside a call": ([START, *OPEN, 361, *REST], Cause.IDLE, 361, 5),
    "no progress": ([START, *OPEN, 300, PING, 201, *REST], Cause.STALLED, 501, 6),
    "no progress outside a call": ([START, *[50, PING] * 9, 51, *REST], Cause.STALLED, 501, 10),
}
"""What passes, then: the stream, the cause, the seconds waited, the events that came before."""

KEPT: dict[str, list[Any]] = {
    "silence": [119, START, 59, *OPEN[:1], 359, *OPEN[1:], 359, *REST],
    "progress": [START, *OPEN[:-1], 300, PING, 199, *OPEN[-1:], 300, PING, 199, *REST],
    "silence after the stop reason": [START, *OPEN, *REST[:-1], 2],
}
"""Streams that keep within their limits, to the second."""


async def settle(stream: Any, clock: FakeClock, **options: Any) -> AsyncTurn:
    async with AsyncTurn(stream, tools=None, clock=clock, raises=False, **options) as turn:
        async for _ in turn:
            pass
    return turn


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", PASSED)
def test_a_limit_that_passes_ends_the_turn_before_the_next_event(
    name: str, loop: str, form: str
) -> None:
    """`StreamIdle` says which clock it was, after how long, at which event, in which calls."""
    script, cause, seconds, events = PASSED[name]

    async def main() -> None:
        clock = FakeClock()
        turn = AsyncTurn(FORMS[form](script, clock), tools=None, idle_timeout=LIMITS, clock=clock)
        with pytest.raises(StreamIdle) as caught:
            async with turn:
                async for _ in turn:
                    pass
        raised = caught.value
        assert (raised.cause, raised.seconds, raised.events) == (cause, seconds, events)
        assert turn.stats.events == events
        assert raised.open_calls == tuple(outcome.key for outcome in turn.outcomes)
        assert all(isinstance(one, Failed) and one.cause is cause for one in turn.outcomes)

    run(loop, main)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", KEPT)
def test_a_limit_that_is_kept_to_the_second_ends_nothing(name: str, loop: str, form: str) -> None:
    """Each event begins its silence anew, and each that moves the output the progress, too."""
    clock = FakeClock()
    turn = run(loop, lambda: settle(FORMS[form](KEPT[name], clock), clock, idle_timeout=LIMITS))
    assert turn.ending is not None
    assert turn.ending.clean
    assert turn.verdict == "dispatch"


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("moves", "told", "ended"),
    [
        ([10, 10, 10], [10, 20, 30], False),
        ([9, 0.5, 0.5, 9], [10], False),
        ([25, 4, 1], [25, 30], False),
        ([10, 350], [10], True),
        ([400], [10], True),
    ],
)
def test_a_silence_is_told_again_and_again_and_before_a_limit(
    moves: list[float], told: list[float], ended: bool, loop: str
) -> None:
    """The test's own task moves the clock of a turn that waits; each look tells once."""
    clock, events = FakeClock(), list[Event]()

    async def stream() -> AsyncIterator[Any]:
        for native in (START, *OPEN):
            yield native
        await anyio.sleep_forever()

    async def read() -> None:
        idle = Idle(first=120, between=60, in_call=360, progress=500, quiet=10)
        turn = AsyncTurn(stream(), tools=None, idle_timeout=idle, clock=clock, raises=False)
        async with turn:
            async for event in turn:
                events.append(event)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            for seconds in moves:
                await anyio.wait_all_tasks_blocked()
                clock.advance(seconds)
            await anyio.wait_all_tasks_blocked()
            assert ended is any(isinstance(event, CallSettled) for event in events)
            group.cancel_scope.cancel()

    run(loop, main)
    quiet = [event.seconds for event in events if isinstance(event, StreamQuiet)]
    assert quiet == told


@pytest.mark.parametrize("loop", LOOPS)
def test_a_caller_that_thinks_longer_than_every_limit_ends_nothing(loop: str) -> None:
    """The clocks stand while nobody waits for the stream."""
    clock = FakeClock()

    async def main() -> AsyncTurn:
        async with AsyncTurn(
            in_task(CLEAN, clock), tools=None, idle_timeout=LIMITS, clock=clock
        ) as turn:
            async for _ in turn:
                clock.advance(1000)
                await anyio.wait_all_tasks_blocked()
        return turn

    assert run(loop, main).verdict == "dispatch"


@pytest.mark.parametrize("loop", LOOPS)
def test_a_clock_is_watched_no_longer_than_its_turn(loop: str) -> None:
    """A move after the end reaches nobody."""
    clock = FakeClock()
    turn = run(loop, lambda: settle(in_task(CLEAN, clock), clock))
    clock.advance(1000)
    assert turn.verdict == "dispatch"
    assert clock._watchers == []


@pytest.mark.parametrize("loop", LOOPS)
def test_a_silence_is_told_live(loop: str) -> None:
    """By a clock that runs by itself: again and again while it lasts, then the limit."""

    async def stream() -> AsyncIterator[Any]:
        for native in (START, *OPEN):
            yield native
        await anyio.sleep_forever()

    async def main() -> list[Event]:
        idle = Idle(in_call=1.5, quiet=0.1)
        turn = AsyncTurn(stream(), tools=None, idle_timeout=idle, raises=False)
        async with turn:
            return [event async for event in turn]

    events = run(loop, main)
    told = [event.seconds for event in events if isinstance(event, StreamQuiet)]
    assert len(told) >= 2
    assert told == sorted(told)
    assert isinstance(events[-1], CallSettled)


async def test_bytes_that_come_as_the_alarm_goes_off_do_not_silence_it_for_good() -> None:
    """The silence is broken, so nothing is to be done; the next deadline still counts."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    heard: list[float] = []

    def clock() -> float:
        now = loop.time()
        if not heard and now >= begun + 0.05:
            # Between the alarm, which asks for the time here, and the task that it wakes.
            heard.append(now)
            loop.call_soon(setattr, turn._settler.clocks, "heard_at", now)
        return now

    async def stream() -> AsyncIterator[Any]:
        await asyncio.sleep(60)
        yield None

    limits = Idle(first=None, between=None, in_call=None, progress=0.2, quiet=0.05)
    turn = AsyncTurn(stream(), tools=None, idle_timeout=limits, raises=False, clock=clock)
    async with asyncio.timeout(20), turn:
        events = [event async for event in turn]
    assert len(heard) == 1
    assert turn.ending is not None
    assert turn.ending.cause is Cause.STALLED
    assert any(isinstance(event, StreamQuiet) for event in events)
