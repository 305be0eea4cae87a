"""Many turns at once, many calls, many fragments, what the clocks cost, what a turn weighs."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

from benchmarks import materials
from benchmarks.bars import Row, Table, bar_for, figure
from benchmarks.measuring import Contestant, estimate, ratio, timed, turn_about
from finalcall import AsyncTurn, Idle, Settler, ToolSet, Turn
from finalcall.preview import Preview

TOOLS = ToolSet(materials.TOOLS)
NO_LIMITS = Idle(first=None, between=None, in_call=None, progress=None, quiet=None)


def tables(*, quick: bool) -> Iterator[Table]:
    """Measure each kind of scale, one table a kind."""
    for measure in (_at_once, _long, _clocks, _weights):
        sys.stderr.write(f"scale: {measure.__name__.strip('_')}\n")
        yield measure(quick=quick)


def _measured(
    contestants: dict[str, Contestant], *, quick: bool, seconds: float = 10, most: int = 60
) -> dict[str, list[float]]:
    if quick:
        return turn_about(contestants, seconds=0, most=1, fewest=1)
    return turn_about(contestants, seconds=seconds, most=most)


# -- many turns at once ----------------------------------------------------------------------------


async def _streamed(events: Sequence[Any]) -> AsyncIterator[Any]:
    """Events that come one a pass of the loop, as a busy server's do."""
    for event in events:
        await asyncio.sleep(0)
        yield event


async def _read_bare(events: Sequence[Any]) -> None:
    async for _ in _streamed(events):
        pass


async def _read_turn(events: Sequence[Any]) -> None:
    async with AsyncTurn(_streamed(events), tools=TOOLS) as turn:
        async for _ in turn:
            pass
    assert turn.verdict == "dispatch"


def _at_once(*, quick: bool) -> Table:
    events = materials.anthropic([materials.arguments(200)])
    rows: list[Row] = []
    alone: float | None = None
    for count in (1, 10) if quick else (1, 10, 100, 1_000, 10_000):
        waves = 1 if quick else max(1, 500 // count)

        def together(read: Callable[[Sequence[Any]], Any], n: int = count, w: int = waves) -> float:
            async def run() -> None:
                for _ in range(w):
                    await asyncio.gather(*(read(events) for _ in range(n)))

            return timed(lambda: asyncio.run(run()))

        times = _measured(
            {"turn": lambda: together(_read_turn), "bare": lambda: together(_read_bare)},
            quick=quick,
        )
        total = count * waves * len(events)
        each = {name: [spent / total * 1e6 for spent in times[name]] for name in times}
        median = estimate(each["turn"]).median
        alone = alone or median
        note = (
            f"{figure(estimate(each['bare']).median)} µs without a turn; "
            f"{median / alone:.2f} x of one at a time"
        )
        rows.append(Row("an event", f"{count:,} turns", estimate(each["turn"]), "µs", None, note))
    return Table(
        "Asynchronous turns at once",
        tuple(rows),
        "Each with a call of 200 B, over dicts in memory.",
    )


# -- many calls, many fragments --------------------------------------------------------------------


def _feed(events: Sequence[Any], preview: Any = None) -> None:
    settler = Settler(tools=TOOLS, preview=preview)
    for event in events:
        settler.feed(event)
    assert settler.verdict == "dispatch"


def _feed_chunks(chunks: Sequence[bytes]) -> None:
    settler = Settler(tools=TOOLS)
    for chunk in chunks:
        settler.feed(chunk)
    assert settler.verdict == "dispatch"


def _long(*, quick: bool) -> Table:
    rows: list[Row] = []
    few, many = (1, 10) if quick else (10, 1_000)
    text = materials.arguments(200)
    for provider, make in materials.EVENTS.items():
        small = materials.chunks(materials.to_bytes(make([text] * few)))
        large = materials.chunks(materials.to_bytes(make([text] * many)))
        rows.append(
            _growth(
                "a call, from bytes",
                f"{many:,} calls against {few}, {provider}",
                partial(_feed_chunks, small),
                partial(_feed_chunks, large),
                (few, many),
                quick=quick,
            )
        )
    short, long = (1_000, 2_000) if quick else (10_000, 1_000_000)
    for name, preview in (("", None), (" with preview", Preview)):
        one, two = _characters(short), _characters(long)
        rows.append(
            _growth(
                f"a fragment of one character{name}",
                f"{long:,} against {short:,}",
                partial(_feed, one, preview),
                partial(_feed, two, preview),
                (short, long),
                quick=quick,
            )
        )
    return Table("Long messages", tuple(rows), "1 means that each costs the same however many.")


def _characters(count: int) -> list[Any]:
    """A call whose arguments come one character at a time; equal events are one object."""
    note = ("no two words are alike but these " * (count // 33 + 1))[: count - 62]
    order = {"reference": "ORD-7", "priority": "low", "lines": [], "note": note}
    made: dict[str, Any] = {}
    head, *_, stop, last, end = materials.anthropic([json.dumps(order)[:1]], 1)
    announced = materials.anthropic([json.dumps(order)[:1]], 1)[1]
    deltas = [
        made.setdefault(
            character,
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": character},
            },
        )
        for character in json.dumps(order)
    ]
    return [head, announced, *deltas, stop, last, end]


def _growth(
    what: str,
    where: str,
    small: Callable[[], None],
    large: Callable[[], None],
    counts: tuple[int, int],
    *,
    quick: bool,
) -> Row:
    times = _measured(
        {"small": lambda: timed(small), "large": lambda: timed(large)}, quick=quick, seconds=8
    )
    each = {
        name: [spent / count for spent in times[name]]
        for name, count in zip(("small", "large"), counts, strict=True)
    }
    note = f"{figure(estimate(each['large']).median * 1e6)} µs each"
    return Row(what, where, ratio(each["large"], each["small"]), note=note)


# -- what the clocks cost --------------------------------------------------------------------------


def _clocks(*, quick: bool) -> Table:
    """The clocks by themselves, and a turn with its limits beside one without."""
    size = 200 if quick else 20_000
    events = materials.anthropic([materials.arguments(size)])
    clock = time.monotonic

    def told() -> None:
        settler = Settler(tools=TOOLS)
        clocks, feed = settler.clocks, settler.feed
        for event in events:
            clocks.wait(clock())
            feed(event, clock())

    def untold() -> None:
        feed = Settler(tools=TOOLS).feed
        for event in events:
            feed(event)

    armed: list[int] = []

    async def read(idle: Idle | None) -> None:
        loop = asyncio.get_running_loop()
        arm = loop.call_at
        count = 0

        def counted(*arguments: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            return arm(*arguments, **more)

        stream = _streamed(events)
        with mock.patch.object(loop, "call_at", counted):
            async with AsyncTurn(stream, tools=TOOLS, idle_timeout=idle or Idle()) as turn:
                async for _ in turn:
                    pass
        armed.append(count)

    times = _measured(
        {
            "told": lambda: timed(told),
            "untold": lambda: timed(untold),
            "limits": lambda: timed(lambda: asyncio.run(read(None))),
            "none": lambda: timed(lambda: asyncio.run(read(NO_LIMITS))),
        },
        quick=quick,
        seconds=20,
        most=200,
    )

    def added(over: str, under: str) -> list[float]:
        pairs = zip(times[over], times[under], strict=True)
        return [(above - below) / len(events) * 1e9 for above, below in pairs]

    bar = bar_for("idle timer")
    alone = estimate(added("told", "untold"))
    whole = estimate(added("limits", "none"))
    note = f"timers armed for {len(events):,} events: {max(armed)}"
    return Table(
        "The clocks of an asynchronous turn",
        (
            Row("telling both clocks the time", "an event", alone, "ns", bar),
            Row("limits on against all off", "an event", whole, "ns", bar, note),
        ),
        "The first row is all that is done an event so that silence can be noticed: two readings "
        "of the clock and the arithmetic. The second takes whole turns; the timer is re-armed when "
        "it fires, so its share is the count in the last column.",
    )


# -- what a turn weighs ----------------------------------------------------------------------------


def _weights(*, quick: bool) -> Table:
    count = 10 if quick else 200
    events = materials.anthropic([materials.arguments(2_000)])
    middle = len(events) - 3  # the last piece has come, the call's end has not
    bar = bar_for("live turn")
    rows = [
        Row("`Turn`", "over dicts", estimate(_weigh_sync(events, middle, count)), "KB", bar),
        Row("`AsyncTurn`", "over dicts", estimate(_weigh_async(events, middle, count)), "KB", bar),
        Row(
            "`AsyncTurn` with preview",
            "over dicts",
            estimate(_weigh_async(events, middle, count, Preview)),
            "KB",
        ),
        Row("an async generator and its task", "alone", estimate(_weigh_bare(count)), "KB"),
    ]
    if not quick:
        light = materials.anthropic([materials.arguments(200)])
        weight = estimate(_weigh_async(light, len(light) - 3, 10_000, times=1))
        rows.append(Row("`AsyncTurn`, a call of 200 B", "10,000 at once", weight, "KB"))
    return Table(
        "The weight of a live turn",
        tuple(rows),
        "Traced memory of a turn in the middle of a call of 2 KB, all of the call's text received; "
        "events and tools are shared. An asynchronous turn includes its reading task and the "
        "caller's own.",
    )


def _weigh_sync(events: Sequence[Any], middle: int, count: int) -> list[float]:
    def live() -> Any:
        turn = Turn(list(events), tools=TOOLS)
        iterator = iter(turn)
        for _ in range(middle):
            next(iterator)
        return turn, iterator

    found: list[float] = []
    for _ in range(5):
        live()  # whatever is made once is made before
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        held = [live() for _ in range(count)]
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        lists = sys.getsizeof(list(events)) * count  # the caller's own, not the turn's
        found.append((after - before - lists) / count / 1e3)
        for turn, _ in held:
            turn.close()
    return found


def _weigh_async(
    events: Sequence[Any], middle: int, count: int, preview: Any = None, *, times: int = 5
) -> list[float]:
    async def read(stream: AsyncIterator[Any]) -> None:
        async with AsyncTurn(stream, tools=TOOLS, preview=preview) as turn:
            async for _ in turn:
                pass

    return [asyncio.run(_weigh(read, events, middle, count)) for _ in range(times)]


def _weigh_bare(count: int) -> list[float]:
    async def read(stream: AsyncIterator[Any]) -> None:
        async for _ in stream:
            pass

    return [asyncio.run(_weigh(read, [{}, {}], 1, count)) for _ in range(5)]


async def _weigh(
    read: Callable[[AsyncIterator[Any]], Any], events: Sequence[Any], middle: int, count: int
) -> float:
    """Kilobytes a reader, while every reader waits in the middle of its stream."""

    async def stream(gate: asyncio.Event) -> AsyncIterator[Any]:
        for position, event in enumerate(events):
            if position == middle:
                await gate.wait()
            await asyncio.sleep(0)
            yield event

    async def settle() -> None:
        for _ in range(4 * len(events)):
            await asyncio.sleep(0)

    first = asyncio.Event()
    first.set()
    await read(stream(first))
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    gate = asyncio.Event()
    tasks = [asyncio.ensure_future(read(stream(gate))) for _ in range(count)]
    await settle()
    gc.collect()
    weight = (tracemalloc.get_traced_memory()[0] - before) / count / 1e3
    tracemalloc.stop()
    gate.set()
    await asyncio.gather(*tasks)
    return weight
