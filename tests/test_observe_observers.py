"""Observers are told each thing of a turn exactly once, and can break nothing."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from finalcall import AsyncTurn, Call, Cause, Limits, Settler, Turn, observe
from finalcall.correction import Corrections, arun_turn, run_turn
from finalcall.known import Known
from finalcall.observe import Correction, Observer, SettledCall
from finalcall.testing import FakeClock
from tests.chat_chunks import chunk
from tests.messages import CLEAN, TOOLS, call, message_start, stopped, text

CUT = [message_start(), *call(0, "a"), *call(1, "b", stop=False)]


class Notes(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.calls: list[SettledCall] = []
        self.corrections: list[Correction] = []
        self.turns: set[Known] = set()

    def turn_begun(self, turn: Known) -> None:
        self.told.append("begun")
        self.turns.add(turn)

    def call_announced(self, turn: Known, call: Call) -> None:
        assert turn in self.turns
        self.told.append(f"announced {call.key}")

    def call_settled(self, turn: Known, settled: SettledCall) -> None:
        assert turn in self.turns
        assert turn.ending is not None
        self.told.append(f"settled {settled.key}")
        self.calls.append(settled)

    def turn_ended(self, turn: Known) -> None:
        self.told.append(f"ended {turn.ending.cause if turn.ending else None}")

    def correction_settled(self, correction: Correction) -> None:
        self.corrections.append(correction)


class Broken(Notes):
    """Raises whatever it is told."""

    def fail(self, *_: object) -> None:
        raise RuntimeError("S3NT1N3L")

    turn_begun = call_announced = call_settled = turn_ended = fail


@pytest.fixture
def notes() -> Iterator[Notes]:
    observer = Notes()
    observe.add(observer)
    yield observer
    observe.remove(observer)


ALL = ["begun", "announced a", "announced b", "settled a", "settled b"]


def settler_cut() -> None:
    settler = Settler(tools=TOOLS)
    for event in CUT:
        settler.feed(event)
    settler.end(Cause.CANCELLED)
    settler.end()


def turn_left() -> None:
    with Turn(iter(CUT), tools=TOOLS) as turn:
        for number, _ in enumerate(turn):
            if number == len(CUT) - 1:
                break


def turn_dropped() -> None:
    for number, _ in enumerate(Turn(iter(CUT), tools=TOOLS)):
        if number == len(CUT) - 1:
            break
    gc.collect()


def turn_broken() -> None:
    with pytest.raises(KeyError), Turn(iter(CUT), tools=TOOLS) as turn:
        for number, _ in enumerate(turn):
            if number == len(CUT) - 1:
                raise KeyError


async def arriving(events: list[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event
    await asyncio.Event().wait()


def async_left() -> None:
    async def main() -> None:
        async with AsyncTurn(arriving(CUT), tools=TOOLS) as turn:
            number = 0
            async for _ in turn:
                number += 1
                if number == len(CUT):
                    break

    asyncio.run(main())


def async_cancelled() -> None:
    async def read(seen: asyncio.Event) -> None:
        async with AsyncTurn(arriving(CUT), tools=TOOLS) as turn:
            number = 0
            async for _ in turn:
                number += 1
                if number == len(CUT):
                    seen.set()

    async def main() -> None:
        seen = asyncio.Event()
        task = asyncio.create_task(read(seen))
        await seen.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


PATHS = [settler_cut, turn_left, turn_dropped, turn_broken, async_left, async_cancelled]


@pytest.mark.parametrize("path", PATHS)
def test_every_path_tells_each_thing_once(path: Callable[[], None], notes: Notes) -> None:
    """However a turn is left, each call is told as settled exactly once."""
    path()
    assert notes.told == [*ALL, "ended cancelled"]
    assert {settled.cause for settled in notes.calls} == {Cause.CANCELLED}


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("events", "cause"), [(CUT, Cause.ENDED_EARLY), ([*CUT[:-1], *stopped()], None)]
)
def test_turns_that_end_by_themselves(
    kind: str, events: list[Any], cause: Cause | None, notes: Notes
) -> None:
    """At the end of the stream, and at the message's own end."""

    async def read() -> None:
        async with AsyncTurn(iter(events), tools=TOOLS, raises=False) as turn:
            async for _ in turn:
                pass

    if kind == "async":
        asyncio.run(read())
    else:
        with Turn(iter(events), tools=TOOLS, raises=False) as turn:
            assert list(turn)
    assert notes.told == [*ALL, f"ended {cause}"]


def test_a_call_that_is_replayed_is_announced_once(notes: Notes) -> None:
    """And several calls of one event are told each."""
    settler = Settler(tools=None)
    first = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    second = {"index": 1, "id": "b", "function": {"name": "f", "arguments": "{}"}}
    settler.feed(chunk({"tool_calls": [first, second]}))
    settler.feed(chunk({"tool_calls": [first]}))
    settler.end()
    assert [told for told in notes.told if told.startswith("announced")] == [
        f"announced {outcome.key}" for outcome in settler.outcomes
    ]


def test_a_turn_without_calls_begins_and_ends(notes: Notes) -> None:
    """There may be nothing else to tell."""
    settler = Settler(tools=None)
    settler.feed(message_start())
    settler.end()
    assert notes.told == ["begun", "ended ended_early"]


def test_an_observer_is_added_once_and_removed_for_good() -> None:
    """A turn that had begun is told to its end; a stranger may be removed."""
    observer = Notes()
    observe.remove(observer)
    observe.add(observer)
    observe.add(observer)
    begun = Settler(tools=None)
    observe.remove(observer)
    Settler(tools=None).end()
    begun.end()
    assert observer.told == ["begun", "ended ended_early"]


def test_an_observer_that_leaves_everything_out_is_one() -> None:
    """Every method has a body that does nothing."""

    class Idler(Observer):
        pass

    observer = Idler()
    observe.add(observer)
    try:
        settler_cut()
        answered = iter([invalid(), CLEAN])
        assert run_turn(lambda _: next(answered), [], tools=TOOLS).result.verdict == "dispatch"
        assert observe.failures() == [(observer, 0)]
    finally:
        observe.remove(observer)


@pytest.mark.parametrize("action", ["always", "error"])
def test_an_observer_that_raises_is_counted_and_warned_of_once(action: Any, notes: Notes) -> None:
    """The turn goes on, other observers are told, and the warning quotes nothing."""
    broken = Broken()
    observe.add(broken)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            settler_cut()
        assert notes.told == [*ALL, "ended cancelled"]
        assert observe.failures() == [(notes, 0), (broken, 6)]
        messages = [str(warning.message) for warning in caught]
        assert len(messages) == (action == "always")
        assert all("the observer Broken raised RuntimeError" in one for one in messages)
        assert all("S3NT1N3L" not in one for one in messages)
    finally:
        observe.remove(broken)


def test_nothing_is_told_by_an_interpreter_that_shuts_down(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It imports nothing any more; the calls settle all the same."""
    settler = Settler(tools=TOOLS)
    for event in CUT:
        settler.feed(event)
    monkeypatch.setitem(sys.modules, "finalcall.observe.telling", None)
    settler.end(Cause.CANCELLED)
    assert len(settler.outcomes) == 2
    assert notes.calls == []


# What is kept of a call


def fed_in_time(events: list[tuple[float, Any]], **options: Any) -> Settler:
    """Feed events, each after a wait of so many seconds."""
    settler = Settler(tools=TOOLS, **options)
    now = 100.0
    for wait, event in events:
        settler.deadline(now)
        now += wait
        settler.feed(event, now)
    return settler


def test_gaps_are_those_of_the_call(notes: Notes) -> None:
    """A wait counts for the calls that were open, from announcement to completion."""
    (start_a, *pieces_a, stop_a), (start_b, *pieces_b, stop_b) = call(1, "a"), call(2, "b")
    waits = [
        (9.0, message_start()),
        (8.0, start_a),
        *((seconds, piece) for seconds, piece in zip((1.0, 3.0, 2.0), pieces_a, strict=True)),
        (0.5, stop_a),
        (7.0, start_b),
        *((0.0, piece) for piece in pieces_b),
        (4.0, stop_b),
        (6.0, stopped()[0]),
        (5.0, stopped()[1]),
    ]
    settler = fed_in_time(waits)
    first, second = notes.calls
    assert (first.largest_gap, second.largest_gap) == (3.0, 4.0)
    assert (first.duration, second.duration) == (28.5, 15.0)
    assert settler.stats.gaps["in_call"].max == 4.0
    assert settler.stats.gaps["between"].max == 8.0


def test_a_message_that_grew_too_long_ended_when_its_last_piece_came(notes: Notes) -> None:
    """The piece that passed the limit was waited for, too."""
    begun = [message_start(), *call(0, arguments='{"title": "', stop=False)]
    pieces = [{**begun[-1], "delta": {**begun[-1]["delta"], "partial_json": "x" * 30}}] * 3
    settler = Settler(tools=None, limits=Limits(message=80))
    now = 0.0
    for native in (*begun, *pieces):
        settler.deadline(now)
        now += 5.0
        settler.feed(native, now)
    (settled,) = notes.calls
    assert settled.cause is Cause.LIMIT
    assert settled.duration == now - 10.0


def test_the_wait_that_ended_the_turn_counts(notes: Notes) -> None:
    """A call that died of silence says how long that was."""
    settler = fed_in_time([(1.0, event) for event in [message_start(), *call(0, stop=False)]])
    now = 200.0
    while settler.ending is None:
        now = settler.deadline(now)
        settler.tick(now)
    (settled,) = notes.calls
    assert settled.cause is Cause.IDLE
    assert settled.largest_gap == 360.0
    assert settled.duration == now - 102.0


def test_the_wait_after_a_stop_reason_is_no_gap(notes: Notes) -> None:
    """A call that is open until the stop reason does not wait for the marker."""
    piece = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    settler = Settler(tools=None)
    settler.deadline(1.0)
    settler.feed(chunk({"tool_calls": [piece]}), 1.0)
    settler.deadline(1.0)
    settler.feed(chunk({}, finish="tool_calls"), 2.5)
    settler.tick(settler.deadline(2.5))
    assert settler.verdict == "dispatch"
    (settled,) = notes.calls
    assert (settled.largest_gap, settled.duration) == (1.5, 3.5)


def test_a_call_that_comes_with_the_end_took_no_time(notes: Notes) -> None:
    """One event may announce a call and end the message."""
    settler = Settler("ollama", tools=None)
    function = {"name": "f", "arguments": {}}
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}
    native = {"model": "m", "message": message, "done": True, "done_reason": "stop"}
    settler.deadline(1.0)
    settler.feed(native, 5.0)
    assert settler.ending is not None
    (settled,) = notes.calls
    assert (settled.largest_gap, settled.duration) == (0.0, 0.0)


def test_without_the_time_there_is_none(notes: Notes) -> None:
    """Whoever tells no time gets `None`, told it later or not."""
    settler = Settler(tools=TOOLS)
    for event in CUT:
        settler.feed(event)
    settler.end(now=9.0)
    assert {(one.largest_gap, one.duration) for one in notes.calls} == {(None, None)}


@pytest.mark.parametrize(("stops", "durations"), [(False, [9.0, 4.0]), (True, [7.0, 2.0])])
def test_a_turn_tells_the_time(stops: bool, durations: list[float], notes: Notes) -> None:
    """When it is left, too; by a clock that stopped with its loop, until its last word."""
    clock = FakeClock()
    running = True

    def time() -> float:
        if not running:
            raise RuntimeError("its loop is gone")
        return clock()

    with Turn(iter(CUT), tools=TOOLS, clock=time) as turn:
        for number, _ in enumerate(turn):
            clock.advance(1.0)
            if number == len(CUT) - 1:
                running = not stops
                break
    assert [one.duration for one in notes.calls] == durations


def test_bytes_tell_the_time_too(notes: Notes) -> None:
    """A chunk of bytes may hold several events: they came together."""
    from tests.messages import to_sse

    settler = Settler(tools=TOOLS)
    settler.feed(to_sse(CUT[:3]), 1.0)
    settler.feed(to_sse(CUT[3:]), 3.0)
    settler.end(now=4.0)
    assert [one.duration for one in notes.calls] == [3.0, 1.0]


# Corrections


def invalid() -> list[Any]:
    """A message with one call that lacks what is required, and one that is right."""
    return [message_start(), *call(0, "a", "{}"), *call(1, "b"), *stopped()]


DONE = [message_start(), *text("Done."), *stopped("end_turn")]

RUNS: dict[str, tuple[list[list[Any]], list[tuple[int, int, str, bool]]]] = {
    "right at once": ([CLEAN], []),
    "corrected": ([invalid(), CLEAN], [(2, 1, "dispatch", True)]),
    "given up": ([invalid(), DONE], [(2, 1, "done", True)]),
    "wrong again": ([invalid(), invalid()], [(2, 1, "correct", False)]),
    "lost": ([invalid(), CUT], [(2, 1, "fail", False)]),
    "second time": (
        [invalid(), [message_start(), *call(0, "a", '{"title": 1}'), *stopped()], CLEAN],
        [(2, 1, "correct", False), (3, 2, "dispatch", True)],
    ),
    "no budget": ([invalid()], []),
}


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(("replies", "told"), RUNS.values(), ids=RUNS.keys())
def test_corrections_are_told_once_answered(
    kind: str, replies: list[list[Any]], told: list[Any], notes: Notes
) -> None:
    """With what had failed, and whether the model got it right."""
    answers = iter(replies)
    options: Any = {
        "tools": TOOLS,
        "corrections": Corrections(max=len(replies) - 1),
        "turn_options": {"raises": False},
    }

    async def request(_: Any) -> Any:
        return iter(next(answers))

    async def run() -> Any:
        return await arun_turn(request, [], **options)

    if kind == "async":
        asyncio.run(run())
    else:
        assert run_turn(lambda _: iter(next(answers)), [], **options).result.turns
    assert [
        (one.attempt, one.round, one.verdict, one.recovered) for one in notes.corrections
    ] == told
    for correction in notes.corrections[:1]:
        assert correction.tools == ("create_ticket",)
        assert correction.violations == ("required",)
        assert correction.provider == "anthropic"
