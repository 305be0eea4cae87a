"""What is known of a run at any time, whatever has become of it, and how it is closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from finalcall import Cause, Failed
from finalcall.correction import (
    AttemptStarted,
    MemoryLedger,
    RunEnding,
    TurnRun,
    arun_turn,
    run_turn,
    same_request,
)
from tests.asking import ASKED, GOOD, NO_TITLE, TOOLS, Model, reply
from tests.history_rules import anthropic
from tests.messages import message_start, text

Start = Callable[..., Any]


def drain(run: Any) -> None:
    """Iterate a run, of either kind, to wherever it ends."""
    if isinstance(run, TurnRun):
        for _ in run:
            pass
        return

    async def main() -> None:
        async for _ in run:
            pass

    asyncio.run(main())


starters = pytest.mark.parametrize("start", [run_turn, arun_turn], ids=["sync", "async"])


def answers_of(run: Any) -> list[str]:
    """What the calls of the last message are answered; the conversation is one that is taken."""
    added = run.messages[len(ASKED) :]
    assert anthropic.check(added) == []
    return [str(block["content"]) for block in added[-1]["content"]]


@starters
def test_a_dispatch_that_raises_leaves_everything_else_known(start: Start) -> None:
    """The results so far, which calls were begun, and a conversation that can go on."""

    def dispatch(call: Any) -> str:
        if call.key == "toolu_1":
            raise OSError("the line broke")
        return f"ticket {call.key}"

    run = start(Model(reply(GOOD, GOOD, GOOD)), ASKED, tools=TOOLS, dispatch=dispatch)
    with pytest.raises(OSError, match="broke"):
        drain(run)
    assert run.results == {"toolu_0": "ticket toolu_0"}
    assert run.dispatched == ("toolu_0", "toolu_1")
    assert [turn.verdict for turn in run.turns] == ["dispatch"]
    ran, begun, waiting = answers_of(run)
    assert ran == "ticket toolu_0"
    assert "whether it had its effect is unknown" in begun
    assert waiting.startswith("Not run")
    with pytest.raises(RuntimeError, match=r"ended with OSError .* run\.results"):
        _ = run.result


class Broken:
    """A ledger whose disk is full."""

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def begin(self, *_place: Any) -> None:
        """Note that a call begins."""
        self._fail("begin")

    def finish(self, *_place: Any) -> None:
        """Note its result."""
        self._fail("finish")

    def _fail(self, operation: str) -> None:
        if operation == self.operation:
            raise OSError("the disk is full")


@starters
@pytest.mark.parametrize(
    ("operation", "dispatched", "told"),
    [("begin", (), "Not run"), ("finish", ("toolu_0",), "paid")],
)
def test_a_ledger_that_raises_leaves_everything_else_known(
    start: Start, operation: str, dispatched: tuple[str, ...], told: str
) -> None:
    """A call that could not be noted did not run; one whose result could not be noted did."""
    run = start(
        Model(reply('{"amount": 5}', name="pay")),
        ASKED,
        tools=TOOLS,
        dispatch=lambda _: "paid",
        ledger=Broken(operation),
        run_key="1",
    )
    with pytest.raises(OSError, match="full"):
        drain(run)
    assert run.dispatched == dispatched
    assert run.results == dict.fromkeys(dispatched, "paid")
    (answer,) = answers_of(run)
    assert answer.startswith(told)


@starters
def test_a_request_that_raises_leaves_everything_else_known(start: Start) -> None:
    """Of the messages before it, whose siblings ran, and nothing of its own."""
    model = Model(reply(GOOD, NO_TITLE))

    def request(messages: list[Any]) -> Any:
        if model.asked:
            raise LookupError("no such model")
        return model(messages)

    run = start(request, ASKED, tools=TOOLS, dispatch=lambda _: "opened")
    with pytest.raises(LookupError, match="no such model"):
        drain(run)
    assert run.result.ending is RunEnding.FAILED
    assert run.dispatched == ("toolu_0",)
    assert run.messages == run.result.messages
    assert answers_of(run)[0] == "opened"
    assert run.corrections.used == 1


@starters
def test_a_request_that_cannot_repeat_a_field_loses_nothing(start: Start) -> None:
    """What the next request must name is known after the siblings have run: they stay known."""
    first = reply(GOOD, NO_TITLE)
    first[-2]["delta"]["container"] = {"id": "c_1"}
    model = Model(first)
    run = start(
        lambda messages: model(messages, None), ASKED, tools=TOOLS, dispatch=lambda _: "opened"
    )
    with pytest.raises(TypeError, match=r"container=None.*run\.messages"):
        drain(run)
    assert answers_of(run)[0] == "opened"
    assert run.dispatched == ("toolu_0",)
    with pytest.raises(RuntimeError, match="ended with TypeError"):
        _ = run.result


@starters
def test_nothing_is_known_before_anything_was_asked(start: Start) -> None:
    """But the conversation that it begins with, and the budget."""
    run = start(Model(), ASKED, tools=TOOLS)
    assert (run.turns, run.results, run.dispatched) == ((), {}, ())
    assert run.messages == ASKED
    assert run.corrections.left == 2


@starters
def test_a_failed_message_is_no_part_of_what_is_asked_again(start: Start) -> None:
    """While it is asked again it is left out; the last one that failed stays, without its calls."""
    dead = [message_start(), *text("On it."), *reply(GOOD)[1:-2]]
    run = start(Model(dead, reply(GOOD)), ASKED, tools=TOOLS, on_abandoned=same_request())
    if isinstance(run, TurnRun):
        seen = [run.messages for event in run if isinstance(event, AttemptStarted)]
        assert seen == [ASKED, ASKED]
    else:
        drain(run)
    assert [turn.verdict for turn in run.turns] == ["fail", "dispatch"]
    assert run.messages == ASKED  # its calls are the caller's


# Leaving and closing


class Stream:
    """A stream that knows whether it was closed, of either kind."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        return iter(self.events)

    def close(self) -> None:
        """Be closed."""
        self.closed = True


class AsyncStream:
    """The same for asynchronous code."""

    def __init__(self, events: list[Any], go_on: asyncio.Event | None = None) -> None:
        self.events = events
        self.closed = False
        self._go_on = go_on

    async def __aiter__(self) -> AsyncIterator[Any]:
        for event in self.events:
            yield event
        if self._go_on is not None:
            await self._go_on.wait()

    async def aclose(self) -> None:
        """Be closed."""
        self.closed = True


SPOKEN = [message_start(), *text("On it."), *reply(GOOD)[1:]]


def test_leaving_the_block_closes_the_stream_and_keeps_what_came() -> None:
    """Every call is settled, the text stays, and nothing more is asked."""
    stream = Stream(SPOKEN)
    with run_turn(lambda _: stream, ASKED, tools=TOOLS) as run:
        events = iter(run)  # kept, so that only the block can close it
        while not hasattr(next(events), "call"):
            pass
        assert (run.turns, stream.closed) == ((), False)
    assert stream.closed
    (turn,) = run.turns
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CANCELLED
    assert run.messages[-1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "On it."}],
    }
    with pytest.raises(RuntimeError, match="left before its end"):
        _ = run.result
    with pytest.raises(RuntimeError, match="iterated once"):
        iter(run)
    run.close()  # once more changes nothing
    assert len(run.turns) == 1


async def test_leaving_the_async_block_closes_the_stream_and_keeps_what_came() -> None:
    """The very next line finds it closed."""
    stream = AsyncStream(SPOKEN)
    async with arun_turn(lambda _: stream, ASKED, tools=TOOLS) as run:
        async for event in run:
            if hasattr(event, "call"):
                break
    assert stream.closed
    assert [turn.verdict for turn in run.turns] == ["fail"]
    assert run.messages[-1]["content"] == [{"type": "text", "text": "On it."}]
    with pytest.raises(RuntimeError, match="left before its end"):
        _ = run.result
    with pytest.raises(RuntimeError, match="iterated once"):
        aiter(run)
    await run.aclose()
    assert len(run.turns) == 1


async def test_an_iterator_that_is_kept_is_closed_with_its_run() -> None:
    """Whoever holds it: asked for the next event, it has none."""
    stream = AsyncStream(SPOKEN)
    run = arun_turn(lambda _: stream, ASKED, tools=TOOLS)
    events = aiter(run)
    await anext(events)
    await anext(events)
    await run.aclose()
    assert stream.closed
    with pytest.raises(StopAsyncIteration):
        await anext(events)


@pytest.mark.parametrize("began", [False, True], ids=["new", "made an iterator"])
def test_a_run_that_was_never_begun_can_be_closed(began: bool) -> None:
    """Then it asks nothing, ever."""
    model = Model(reply(GOOD))
    run = run_turn(model, ASKED, tools=TOOLS)
    events = iter(run) if began else None
    run.close()
    with pytest.raises(RuntimeError, match="left before its end"):
        _ = run.result
    assert list(events or ()) == []
    assert model.asked == []


async def test_an_asynchronous_run_that_was_never_begun_can_be_closed() -> None:
    """Then it asks nothing, ever."""
    model = Model(reply(GOOD))
    run = arun_turn(model, ASKED, tools=TOOLS)
    await run.aclose()
    with pytest.raises(RuntimeError, match="left before its end"):
        await run
    assert model.asked == []


def test_a_run_that_is_over_stays_as_it_is() -> None:
    """Closing it takes nothing away."""
    with run_turn(Model(reply(GOOD)), ASKED, tools=TOOLS) as run:
        result = run.result
    assert run.result is result
    assert result.ending is RunEnding.COMPLETE


def test_another_thread_may_close_a_run() -> None:
    """A call that runs is not interrupted, its result is kept, and no other call begins."""
    begun, closed = threading.Event(), threading.Event()
    ledger = MemoryLedger()

    def dispatch(_call: Any) -> str:
        begun.set()
        assert closed.wait(10)
        return "paid"

    pays = reply('{"amount": 5}', '{"amount": 6}', name="pay")
    options: dict[str, Any] = {"ledger": ledger, "run_key": "1"}
    run = run_turn(Model(pays), ASKED, tools=TOOLS, dispatch=dispatch, **options)
    reader = threading.Thread(target=drain, args=(run,))
    reader.start()
    assert begun.wait(10)
    run.close()
    with pytest.raises(RuntimeError, match="iterated elsewhere"):
        _ = run.result
    closed.set()
    reader.join(10)
    assert run.dispatched == ("toolu_0",)
    assert run.results == {"toolu_0": "paid"}
    fingerprints = [outcome.fingerprint for outcome in run.turns[0].outcomes]  # type: ignore[union-attr]
    first, second = (ledger.begin("1", one, 0) for one in fingerprints)
    assert first is not None
    assert (first.state, second) == ("done", None)


async def test_another_task_may_close_a_run() -> None:
    """The task that iterates it comes to an end, with what had arrived."""
    stream = AsyncStream(SPOKEN[:-2], asyncio.Event())
    seen = asyncio.Event()
    run = arun_turn(lambda _: stream, ASKED, tools=TOOLS, turn_options={"raises": False})

    async def read() -> None:
        async for event in run:
            if hasattr(event, "call"):
                seen.set()

    task = asyncio.create_task(read())
    await seen.wait()
    with pytest.raises(RuntimeError, match="iterated elsewhere"):
        await run
    await run.aclose()
    await task
    assert stream.closed
    assert run.result.ending is RunEnding.FAILED
    assert [outcome.cause for outcome in run.result.outcomes if isinstance(outcome, Failed)] == [
        Cause.CANCELLED
    ]


async def test_a_loop_that_is_left_without_a_block_ends_a_little_later() -> None:
    """The event loop closes it; closing the run by hand does it at once."""
    stream = AsyncStream(SPOKEN)
    run = arun_turn(lambda _: stream, ASKED, tools=TOOLS)
    async for event in run:
        if hasattr(event, "call"):
            break
    await run.aclose()
    assert stream.closed
    assert [turn.verdict for turn in run.turns] == ["fail"]


async def test_a_correction_is_not_begun_by_a_run_that_was_closed() -> None:
    """Not even where its message came whole, and a sibling was running meanwhile."""
    begun, closed = asyncio.Event(), asyncio.Event()

    async def dispatch(_call: Any) -> str:
        begun.set()
        await closed.wait()
        return "opened"

    model = Model(reply(GOOD, NO_TITLE), reply(GOOD))
    run = arun_turn(model, ASKED, tools=TOOLS, dispatch=dispatch)

    async def read() -> None:
        async for _ in run:
            pass

    task = asyncio.create_task(read())
    await begun.wait()
    await run.aclose()
    closed.set()
    await task
    assert len(model.asked) == 1
    assert answers_of(run)[0] == "opened"
    with pytest.raises(RuntimeError, match="left before its end"):
        _ = run.result
