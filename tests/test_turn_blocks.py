"""The blocks of a turn and of a run: they keep up by themselves, whatever ends it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from finalcall import AsyncTurn, Cause, Settler, StreamEndedEarly, ToolSet, Turn
from finalcall.blocks import Blocks
from finalcall.correction import AlreadyDispatched, Corrections, MemoryLedger, arun_turn, run_turn
from finalcall.events import ArgumentsDelta, CallSettled, ExternalCallChanged, ExternalState
from finalcall.idle import Idle
from finalcall.preview import Preview
from finalcall.texts import GERMAN
from tests.messages import CLEAN, TICKET_SCHEMA, TOOLS, call, message_start, stopped
from tests.test_blocks import ASKED, TICKET, WRONG_TICKET, lines, model, reply, states

CUT = [message_start(), *call(0), *call(1, "toolu_2", stop=False)]
SEARCH = [message_start(), *call(0, "srv_1", "{}", "web_search", kind="server_tool_use")]


def test_a_turn_has_blocks_that_keep_up() -> None:
    """Whenever they are asked for, they say what is known, and go on by themselves."""
    with Turn(CLEAN, tools=TOOLS, preview=Preview) as turn:
        seen: list[list[str]] = []
        for event in turn:
            if isinstance(event, ArgumentsDelta):
                seen.append([field.value for field in turn.blocks["toolu_1"].fields()])
    assert seen == [[], ["x"]]
    assert states(turn.blocks) == ["ready"]
    assert turn.blocks is turn.blocks


@pytest.mark.parametrize("asked", range(10))
def test_blocks_are_the_same_whenever_they_are_first_asked_for(asked: int) -> None:
    """A late screen shows what an early one does."""
    settler = Settler(tools=TOOLS, preview=Preview)
    for number, native in enumerate([*SEARCH, *call(1), *call(2, "toolu_2", stop=False)]):
        if number == asked:
            assert settler.blocks is not None
        settler.feed(native)
    settler.end(Cause.DISCONNECTED)
    assert sorted(lines(settler.blocks)) == [
        "? web_search — unknown, may have run",
        "⊘ create_ticket — not run (connection lost)",
        "⊘ create_ticket — not run (connection lost)",
    ]


def test_a_late_screen_shows_a_form_as_it_is() -> None:
    """The preview is there from the beginning, whoever looks at it."""
    settler = Settler(tools=TOOLS, preview=Preview)
    for native in [message_start(), *call(0, stop=False), *call(1, "b", stop=False)[:1]]:
        settler.feed(native)
    assert [len(block.fields()) for block in settler.blocks] == [1, 0]


@pytest.mark.parametrize("early", [True, False])
def test_a_loop_that_is_left_settles_its_blocks(early: bool) -> None:
    """A `break` yields no more events; the blocks hear of it all the same."""
    with Turn(CUT, tools=TOOLS) as turn:
        blocks = turn.blocks if early else None
        for event in turn:
            if isinstance(event, ArgumentsDelta):
                break
    assert lines(blocks or turn.blocks) == ["⊘ create_ticket — cancelled"]


async def test_a_cancelled_task_settles_its_blocks() -> None:
    """The same for an asynchronous turn."""
    began = asyncio.Event()

    async def stream() -> Any:
        for native in CUT:
            yield native
        began.set()
        await asyncio.Event().wait()

    turn = AsyncTurn(stream(), tools=TOOLS)

    async def read() -> None:
        async with turn:
            async for _ in turn:
                pass

    task = asyncio.create_task(read())
    await began.wait()
    blocks = turn.blocks
    task.cancel()
    await asyncio.wait({task})
    assert states(blocks) == ["cancelled", "cancelled"]


def test_leaving_the_blocks_settles_the_turn() -> None:
    """A screen that closes inside of the turn says what the turn's outcome says."""
    with Turn([message_start(), *call(0), *stopped()], tools=TOOLS) as turn, turn.blocks as blocks:
        for event in turn:
            if isinstance(event, ArgumentsDelta):
                break
    assert states(blocks) == ["cancelled"]
    assert [outcome.cause for outcome in turn.outcomes if hasattr(outcome, "cause")] == [
        Cause.CANCELLED
    ]


def test_blocks_are_told_before_the_loop_and_before_on_settled() -> None:
    """Whoever is called at a settling sees the block as it is then."""
    seen: list[str] = []

    def settled(event: CallSettled) -> None:
        seen.append(turn.blocks[event.call.key].state.value)

    turn = Turn(CUT, tools=TOOLS, on_settled=settled, blocks=Blocks(tools=TOOLS, texts=GERMAN))
    with pytest.raises(StreamEndedEarly), turn:
        for _ in turn:
            pass
    assert seen == ["not run", "not run"]
    assert (
        lines(turn.blocks)[0] == "⊘ create_ticket — nicht ausgeführt (die Antwort endete zu früh)"
    )


def test_an_external_call_whose_end_nobody_saw_is_told() -> None:
    """Its last state is an event, before the calls that settle."""
    events = list(Turn(SEARCH, tools=None, raises=False))
    changes = [event for event in events if isinstance(event, ExternalCallChanged)]
    assert changes[-1].external.state is ExternalState.UNKNOWN
    blocks = Blocks()
    for event in events:
        blocks.apply(event)
    assert lines(blocks) == ["? web_search — unknown, may have run"]


def test_silence_is_told() -> None:
    """A quiet stream has its line until something comes."""
    settler = Settler(tools=TOOLS, idle_timeout=Idle())
    blocks = settler.blocks
    settler.feed(message_start(), now=0.0)
    settler.deadline(0.0)
    settler.tick(10.0)
    assert blocks.quiet_line() == "still waiting, 10 s"
    settler.feed({"type": "ping"}, now=11.0)
    assert blocks.quiet_line() is None


def run_sync(*replies: Any, **options: Any) -> Blocks:
    blocks = Blocks(tools=TOOLS)
    run = run_turn(model(*replies), ASKED, tools=TOOLS, turn_options={"blocks": blocks}, **options)
    assert run.result
    return blocks


def run_async(*replies: Any, **options: Any) -> Blocks:
    blocks = Blocks(tools=TOOLS)

    async def main() -> None:
        await arun_turn(
            model(*replies), ASKED, tools=TOOLS, turn_options={"blocks": blocks}, **options
        )

    asyncio.run(main())
    return blocks


@pytest.mark.parametrize("run", [run_sync, run_async])
def test_a_run_tells_its_blocks_everything(run: Any) -> None:
    """Attempts, dispatched calls and the end: nobody needs to apply an event."""
    seen: list[list[str]] = []
    blocks = run(reply(WRONG_TICKET, TICKET), reply(TICKET), reply(), dispatch=lambda one: one.name)
    seen.append(states(blocks))
    blocks = run(reply(WRONG_TICKET), reply(WRONG_TICKET), corrections=Corrections(max=1))
    seen.append(states(blocks))
    assert seen == [["done", "done"], ["not run"]]


def test_a_tool_that_breaks_the_run_is_told() -> None:
    """Its exception ends the run, and its block has failed."""
    blocks = Blocks(tools=TOOLS)

    def dispatch(_one: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        for _ in run_turn(
            model(reply(TICKET)),
            ASKED,
            tools=TOOLS,
            dispatch=dispatch,
            turn_options={"blocks": blocks},
        ):
            pass
    assert states(blocks) == ["failed"]


def test_a_run_that_is_left_ends_its_blocks() -> None:
    """What waited for a correction did not run."""
    blocks = Blocks(tools=TOOLS)
    run = iter(
        run_turn(
            model(reply(WRONG_TICKET), reply(TICKET)),
            ASKED,
            tools=TOOLS,
            turn_options={"blocks": blocks},
        )
    )
    for event in run:
        if getattr(event, "number", 0) == 2:
            break
    run.close()
    assert states(blocks) == ["not run"]


def test_a_call_that_was_dispatched_before_is_told_as_run() -> None:
    """The handler that looks it up is what runs."""
    tools = ToolSet({"create_ticket": TICKET_SCHEMA}, once=["create_ticket"])
    ledger, seen = MemoryLedger(), []
    for _ in range(2):
        blocks = Blocks(tools=tools)
        result = run_turn(
            model(reply(TICKET), []),
            ASKED,
            tools=tools,
            dispatch=lambda one: seen.append(type(one).__name__) or "ok",
            ledger=ledger,
            run_key="r",
            turn_options={"blocks": blocks},
        ).result
        assert result.turns
        assert states(blocks) == ["done"]
    assert seen[-1] == AlreadyDispatched.__name__


def test_a_turn_without_a_screen_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that nobody asks for are never made."""
    monkeypatch.setattr(Blocks, "__init__", None)
    with Turn(CLEAN, tools=TOOLS) as turn:
        assert len(list(turn)) > 5
