"""What a tool gives back: whatever it is, the run goes on, and all are told the same of it."""

from __future__ import annotations

import datetime as dt
import logging
import math
from typing import Any

import pytest

from finalcall import SchemaError, ToolResult
from finalcall.block_states import BlockState
from finalcall.blocks import Blocks
from finalcall.correction import (
    AlreadyDispatched,
    Corrections,
    Entry,
    MemoryLedger,
    RunEnding,
    run_turn,
)
from finalcall.correction.ledger import noted, recalled
from finalcall.results import as_result
from finalcall.testing import Reply, ScriptedModel
from finalcall.testing.rendering import RENDERERS
from tests.asking import ASKED, BAD_TITLE, GOOD, NO_TITLE, TOOLS, Model, Run, both, reply, said


class UnreadableError(Exception):
    """Its own text cannot be read."""

    def __str__(self) -> str:
        raise LookupError("no text")


def nested() -> list[Any]:
    """A list that the standard library cannot write."""
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


def in_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


UNSENDABLE: dict[str, Any] = {
    "a date": dt.datetime(2026, 1, 31, tzinfo=dt.UTC),
    "a set": {1},
    "an object": object(),
    "deep": nested(),
    "in itself": in_itself(),
    "a tool result of bytes": ToolResult(b"x"),  # type: ignore[arg-type]
    "a tool result of a date": ToolResult(dt.date(2026, 1, 31)),  # type: ignore[arg-type]
    "an exception without a text": UnreadableError(),
}


@pytest.mark.parametrize("value", list(UNSENDABLE.values())[:-1], ids=list(UNSENDABLE)[:-1])
def test_what_cannot_be_sent_is_named_by_its_type(value: Any) -> None:
    """And never by what it holds."""
    with pytest.raises(TypeError, match=r"a tool result of type \w+ cannot be sent: expected"):
        as_result(value)


class _FullDisk(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError(28, record.levelname)


@both
@pytest.mark.filterwarnings("ignore:a handler of the logger 'finalcall':RuntimeWarning")
def test_a_warning_that_cannot_be_written_ends_nothing(run: Run) -> None:
    """The tool has run, whatever its result is and whatever becomes of the log."""
    handler = _FullDisk()
    logging.getLogger("finalcall").addHandler(handler)
    try:
        options: dict[str, Any] = {"ledger": MemoryLedger(), "run_key": "1"}
        pays = reply('{"amount": 5}', name="pay")
        result = run(Model(pays), dispatch=lambda _: object(), **options)
    finally:
        logging.getLogger("finalcall").removeHandler(handler)
    assert result.ending is RunEnding.COMPLETE
    assert result.dispatched == ("toolu_0",)


@both
@pytest.mark.parametrize("value", UNSENDABLE.values(), ids=UNSENDABLE)
def test_a_result_that_cannot_be_sent_ends_nothing(
    run: Run, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The model is told that the tool ran; whoever looks on gets what the tool returned."""
    ledger = MemoryLedger()
    options: dict[str, Any] = {"ledger": ledger, "run_key": "1"}
    pays = reply('{"amount": 5}', name="pay")
    result = run(Model(pays), dispatch=lambda _: value, **options)
    assert result.ending is RunEnding.COMPLETE
    assert result.results["toolu_0"] is value
    assert result.dispatched == ("toolu_0",)
    (answer,) = result.messages[-1]["content"]
    assert answer["is_error"]
    assert "The tool ran" in answer["content"]
    assert f"a value of type {type(value).__name__}" in caplog.text
    # It has run, and the ledger knows so.
    handed: list[AlreadyDispatched] = []
    run(Model(pays), dispatch=handed.append, **options)
    assert handed[0].previous == Entry("done", ToolResult(answer["content"], is_error=True))


@both
def test_a_sibling_whose_result_cannot_be_sent_does_not_stop_the_correction(run: Run) -> None:
    """Its answer goes with those of the invalid calls."""
    model = Model(reply(GOOD, NO_TITLE), reply(GOOD))
    result = run(model, dispatch=lambda _: object())
    assert result.ending is RunEnding.COMPLETE
    assert "The tool ran" in model.asked[1][-1]["content"][0]["content"]


def test_a_result_that_must_be_awaited_never_ran() -> None:
    """A synchronous run cannot await it: it says what can."""

    async def pay() -> str:
        raise AssertionError("it ran")

    run = run_turn(Model(reply(GOOD)), ASKED, tools=TOOLS, dispatch=lambda _: pay())
    with pytest.raises(TypeError, match=r"dispatch= is asynchronous.*use arun_turn"):
        _ = run.result
    assert run.results == {}


# What a ledger keeps


KEPT: dict[str, tuple[Any, Any]] = {
    "text": ("paid", "paid"),
    "a value": ({"paid": True}, {"paid": True}),
    "nothing": (None, None),
    "a failure": (
        ToolResult("no money", is_error=True),
        ToolResult("no money", is_error=True),
    ),
    "blocks": (
        ToolResult([{"type": "text", "text": "paid"}]),
        ToolResult([{"type": "text", "text": "paid"}]),
    ),
    "an exception": (OSError("no money"), ToolResult("OSError: no money", is_error=True)),
}


@both
@pytest.mark.parametrize(("value", "again"), KEPT.values(), ids=KEPT)
def test_a_result_that_is_returned_again_says_the_same(run: Run, value: Any, again: Any) -> None:
    """What `previous.result` holds is returned as it is: a failure stays a failure."""

    def dispatch(call: Any) -> Any:
        return call.previous.result if isinstance(call, AlreadyDispatched) else value

    options: dict[str, Any] = {"ledger": MemoryLedger(), "run_key": "1", "dispatch": dispatch}
    pays = reply('{"amount": 5}', name="pay")
    first, second = (run(Model(pays), **options) for _ in range(2))
    assert second.results == {"toolu_0": again}
    assert second.dispatched == ()
    assert second.messages == first.messages


@pytest.mark.parametrize("value", [{"content": "x", "is_error": True}, {}, [1], None])
def test_a_value_of_a_tool_is_not_taken_for_a_result(value: Any) -> None:
    """Whatever its names are."""
    assert recalled(Entry("done", noted(value))) == Entry("done", value)


@both
def test_a_number_that_json_has_not_reaches_the_model(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """The ledger cannot keep it: to it the call stays begun."""
    ledger = MemoryLedger()
    pays = reply('{"amount": 5}', name="pay")
    result = run(Model(pays), dispatch=lambda _: math.nan, ledger=ledger, run_key="1")
    assert result.messages[-1]["content"][0]["content"] == "NaN"
    assert "nothing JSON can hold" in caplog.text


# Arguments that who runs a call changes


@pytest.mark.parametrize("provider", RENDERERS)
def test_a_tool_that_changes_its_arguments_changes_no_history(provider: str) -> None:
    """The model is shown the call that it made."""

    def dispatch(call: Any) -> str:
        call.args.clear()
        return "opened"

    both_calls = Reply().call("create_ticket", GOOD).call("create_ticket", '{"title": 3}')
    model = ScriptedModel([both_calls, Reply().call("create_ticket", GOOD)], provider=provider)
    run = run_turn(model, [], tools=TOOLS, dispatch=dispatch)
    assert run.result.ending is RunEnding.COMPLETE
    shown = repr(model.requests[1].messages).replace("\\", "").replace('"', "'")
    assert "{'title': 'x'}" in shown


# What a person sees


@both
@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("opened", BlockState.DONE),
        (ToolResult("opened"), BlockState.DONE),
        (ToolResult("no", is_error=True), BlockState.FAILED),
        (OSError("no"), BlockState.FAILED),
    ],
    ids=["text", "a result", "an error result", "an exception"],
)
def test_a_person_is_told_of_a_failure_that_the_model_is_told_of(
    run: Run, value: Any, state: BlockState
) -> None:
    """A tool that returns its failure has failed."""
    blocks = Blocks(tools=TOOLS)
    run(Model(reply(GOOD)), dispatch=lambda _: value, turn_options={"blocks": blocks})
    assert [block.state for block in blocks] == [state]


# What the budget counts


@both
def test_a_model_that_gives_up_has_not_recovered(run: Run) -> None:
    """Only a valid call is a recovery, at once or after corrections."""
    budget = Corrections(2)
    run(Model(reply(BAD_TITLE), said("I give up.")), corrections=budget)
    run(Model(said("hello")), corrections=budget)
    assert budget.recovered == {}
    run(Model(reply(NO_TITLE), reply(GOOD)), corrections=budget)
    assert budget.recovered == {1: 1}


def test_the_turn_itself_says_what_was_invalid() -> None:
    """Every attempt of a run is kept."""
    result = run_turn(Model(reply(NO_TITLE), reply(GOOD)), ASKED, tools=TOOLS).result
    assert isinstance(result.turns[0].outcomes[0], SchemaError)
