"""A scripted model in the loops that ask again, and outcomes made for handlers' own tests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from finalcall import Cause, Dispatchable, SchemaError, Turn
from finalcall.correction import (
    Corrections,
    RunEnding,
    RunResult,
    arun_turn,
    larger_budget,
    run_turn,
    same_request,
)
from finalcall.testing import (
    CloseAbruptly,
    Reply,
    ScriptedModel,
    cut_after,
    dispatchable,
    pings,
    schema_error,
    stall_after,
)
from finalcall.testing.rendering import RENDERERS
from finalcall.testing.rendering.words import can_pause
from tests.messages import TICKET_SCHEMA

TOOLS = {"create_ticket": TICKET_SCHEMA}
ASKED = [{"role": "user", "content": "go"}]
GOOD = {"title": "x"}
BAD = {"title": 3}
PROVIDERS = sorted(RENDERERS)
FORMS: Any = ("dicts", "bytes", "objects")


def run(model: ScriptedModel, **options: Any) -> RunResult:
    return run_turn(model, ASKED, tools=TOOLS, **options).result


def differently(number: int) -> dict[str, Any]:
    return {"title": number}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_is_wrong_at_first_is_corrected(provider: str, form: Any) -> None:
    """The loop asks again as often as the model is wrong, with the error in the conversation."""
    model = ScriptedModel.corrected(
        "create_ticket", differently, GOOD, times=2, provider=provider, form=form
    )
    result = run(model)
    assert result.ending is RunEnding.COMPLETE
    assert [type(one) for one in result.turns[-1].outcomes] == [Dispatchable]
    conversations = [request.messages for request in model.requests]
    assert conversations[0] == ASKED
    assert len(conversations) == 3
    assert len(conversations[0]) < len(conversations[1]) < len(conversations[2])


def test_a_model_that_repeats_itself_is_given_up() -> None:
    """The same wrong call twice ends the loop."""
    model = ScriptedModel.incorrigible("create_ticket", BAD)
    assert run(model).ending is RunEnding.REPEATED
    assert len(model.requests) == 2


def test_a_model_that_is_never_right_spends_the_budget() -> None:
    """Wrong calls that differ go on until nothing is left."""
    model = ScriptedModel.incorrigible("create_ticket", differently)
    assert run(model, corrections=Corrections(max=4)).ending is RunEnding.ROUNDS
    assert len(model.requests) == 5


@pytest.mark.parametrize("provider", sorted(set(PROVIDERS) - {"ollama"}))
def test_a_model_that_is_cut_after_a_correction(provider: str) -> None:
    """A ceiling and a lost connection fail the next message, each with its cause."""
    for by, cause in (
        ("token ceiling", Cause.TOKEN_CEILING),
        ("dropped connection", Cause.DISCONNECTED),
    ):
        model = ScriptedModel.cut("create_ticket", BAD, by=by, provider=provider)
        result = run(model, turn_options={"raises": False})
        assert result.ending is RunEnding.FAILED, by
        assert [one.cause for one in result.turns[-1].outcomes] == [cause], by
        assert len(model.requests) == 2


def test_a_message_that_was_cut_may_be_asked_for_again() -> None:
    """Replies in a row: a ceiling, a lost connection, and the whole message."""
    cut = Reply().call("create_ticket", '{"title": "', closed=False).stop("truncated")
    lost = Reply().call("create_ticket", GOOD).to_recording("anthropic").to_script()
    model = ScriptedModel(
        [cut, lost.with_faults(cut_after(3, CloseAbruptly())), Reply().call("create_ticket", GOOD)]
    )
    result = run(
        model,
        ceiling=100,
        on_truncated=larger_budget(ceiling=800),
        on_abandoned=same_request(),
    )
    assert result.ending is RunEnding.COMPLETE
    assert [request.parameters["ceiling"] for request in model.requests] == [100, 200, 200]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_pauses_is_resumed(provider: str) -> None:
    """A pause is sent back; a provider that has none is told apart at once."""
    reply = Reply().call("create_ticket", GOOD)
    if not can_pause(provider):
        with pytest.raises(ValueError, match="has no word for a pause"):
            ScriptedModel.pausing(reply, provider=provider)
        return
    model = ScriptedModel.pausing(reply, times=2, provider=provider)
    result = run(model)
    assert result.ending is RunEnding.COMPLETE
    assert len(model.requests) == 3
    assert result.turns[0].text == "Wait."


def test_a_model_answers_by_rule() -> None:
    """A function sees the request; one reply answers every one; recordings and scripts do too."""
    rule = ScriptedModel(lambda request: Reply().text(str(request.parameters["n"])))
    for n in (1, 2, 3):
        with Turn(rule(ASKED, n=n), tools=None) as turn:
            assert [event for event in turn if event.native]
        assert turn.text == str(n)
    recording = Reply().text("High.").to_recording("cohere")
    for answer in (Reply().text("High."), recording, recording.to_script()):
        model = ScriptedModel(answer, provider="cohere")
        for _ in range(2):
            with Turn(model(ASKED), tools=None) as turn:
                assert list(turn)
            assert (turn.text, turn.provider) == ("High.", "cohere")
        assert len(model.requests) == 2


def test_the_conversation_is_noted_as_it_was() -> None:
    """What a loop does to its messages afterwards changes no request."""
    messages: list[Any] = [{"role": "user", "content": ["go"]}]
    model = ScriptedModel(Reply())
    model(messages)
    messages[0]["content"].append("on")
    assert model.requests[0].messages == [{"role": "user", "content": ["go"]}]


def test_a_model_that_is_asked_too_often_says_so() -> None:
    """A list of replies has an end."""
    model = ScriptedModel([Reply().text("x")])
    model(ASKED)
    with pytest.raises(RuntimeError, match="asked 2 times, but 1 replies are scripted"):
        model(ASKED)


@pytest.mark.parametrize("fault", [stall_after(1), pings(1.0)], ids=["stall", "pings"])
def test_a_script_that_waits_needs_a_server(fault: Any) -> None:
    """A stall in memory would never end."""
    script = Reply().to_recording("anthropic").to_script().with_faults(stall_after(1), fault)
    with pytest.raises(ValueError, match="give it to a FaultServer"):
        ScriptedModel(script)(ASKED)


def test_an_asynchronous_loop_takes_a_model() -> None:
    """`arun_turn` reads the same streams."""

    async def main() -> RunResult:
        model = ScriptedModel.corrected("create_ticket", BAD, GOOD)
        return await arun_turn(model, ASKED, tools=TOOLS)

    assert asyncio.run(main()).ending is RunEnding.COMPLETE


# Outcomes for handlers' own tests


class Ticket(BaseModel):
    """A ticket."""

    title: str


def test_a_dispatchable_is_made_by_settling() -> None:
    """It has what a turn's has, the tool's own view of the arguments included."""
    made = dispatchable("create_ticket", GOOD, call_id="mine")
    assert (made.call_id, made.name, made.args, made.parsed) == (
        "mine",
        "create_ticket",
        GOOD,
        None,
    )
    assert dispatchable("now").args == {}
    assert dispatchable("Ticket", GOOD, tools=[Ticket]).parsed == Ticket(title="x")
    custom = [{"type": "custom", "name": "run_sql"}]
    assert dispatchable("run_sql", {"input": "select 1"}, tools=custom).name == "run_sql"


def test_a_schema_error_is_made_by_settling() -> None:
    """It has the violations that the tool's schema gives."""
    made = schema_error("create_ticket", {"priority": "low"}, tools=TOOLS)
    assert isinstance(made, SchemaError)
    assert [error.keyword for error in made.errors] == ["required"]
    assert schema_error("create_ticket", [1], tools=TOOLS).args is None
    assert schema_error("no_such_tool", {}, tools=TOOLS).errors[0].keyword == "unknown_tool"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dispatchable("create_ticket", BAD, tools=TOOLS), "its arguments fail 'type'"),
        (lambda: dispatchable("now", {"x": float("nan")}), "its arguments are unparseable"),
        (lambda: schema_error("create_ticket", GOOD, tools=TOOLS), "satisfy the tool"),
        (lambda: schema_error("now", {"x": float("inf")}, tools=TOOLS), "are unparseable"),
    ],
)
def test_what_cannot_be_made_is_named(make: Any, said: str) -> None:
    """The error says why, without the arguments."""
    with pytest.raises(ValueError, match=said):
        make()
