"""Ollama's chat: whole calls, one a line or all in the last, and the line that ends the message."""

from __future__ import annotations

from typing import Any

import ollama
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import Dispatchable, ReasoningDelta, Settler, Verdict
from finalcall.providers.ollama import STOP_REASONS, recognises
from tests.expectation import settled
from tests.history_rules.ollama import check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "ollama")


def line(*calls: Any, done: Any = False, reason: Any = None, **fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "", **fields}
    if calls:
        message["tool_calls"] = list(calls)
    native: dict[str, Any] = {"model": "m", "message": message, "done": done}
    if done:
        native |= {"prompt_eval_count": 9, "eval_count": 20}
    return native if reason is None else {**native, "done_reason": reason}


def call(name: Any = "get_tide", arguments: Any = None, **more: Any) -> dict[str, Any]:
    arguments = {"port": "Brest"} if arguments is None else arguments
    return {**more, "function": {"name": name, "arguments": arguments}}


END = line(done=True, reason="stop")


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("ollama", **{"tools": None, **options})
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Any]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def results(settler: Settler) -> dict[Any, Any]:
    return {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}


def test_the_sdk_has_no_list_of_reasons() -> None:
    """It types the field as any string, so the words are the server's: a list fails here."""
    assert ollama.ChatResponse.model_fields["done_reason"].annotation == (str | None)
    assert set(STOP_REASONS) == {"stop", "length", "load", "unload"}


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word"])
def test_only_complete_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed, and so do those of a model that was only loaded."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    settler = settle(line(call()), line(done=True, reason=word))
    assert (kinds(settler) == ["dispatchable"]) is runs


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "a call": ([line(call()), END], ["dispatchable"]),
    "two lines": ([line(call()), line(call("now", {})), END], ["dispatchable"] * 2),
    "two calls in a line": ([line(call(), call("now", {})), END], ["dispatchable"] * 2),
    "calls in the last line": ([line(call(), done=True, reason="stop")], ["dispatchable"]),
    "the same call twice": ([line(call()), line(call()), END], ["dispatchable"] * 2),
    "the same call with its id": ([line(call(id="a")), line(call(id="a")), END], ["dispatchable"]),
    "one id for two calls": (
        [line(call(id="a")), line(call("now", {}, id="a")), END],
        ["dispatchable"] * 2,
    ),
    "arguments as text": ([line(call(arguments='{"a": 1}')), END], ["dispatchable"]),
    "arguments that are cut text": ([line(call(arguments='{"a": ')), END], ["unparseable"]),
    "arguments that are a list": ([line(call(arguments=[1])), END], ["schema_error"]),
    "arguments that JSON cannot hold": ([line(call(arguments={"a": {1}})), END], ["unparseable"]),
    "arguments not a number": ([line(call(arguments={"a": float("nan")})), END], ["unparseable"]),
    "a call without a name": (
        [line(call(name=None)), line(call()), END],
        ["unparseable", "dispatchable"],
    ),
    "a call that is none": ([line(None, call()), END], ["unparseable", "dispatchable"]),
    "arguments that nothing named": (
        [line(call("now", {})), line(call("")), END],
        ["abandoned", "unparseable"],
    ),
    "a ceiling": ([line(call()), line(done=True, reason="length")], ["truncated"]),
    "the engine died": ([line(call()), line(done=True)], ["abandoned"]),
    "the engine died, and says so": ([line(call()), line(done=True, reason="")], ["abandoned"]),
    "no last line": ([line(call())], ["abandoned"]),
    "an error": ([line(call()), {"error": "S3NT1N3L"}], ["abandoned"]),
    "an error after the last line": ([line(call()), END, {"error": "x"}], ["dispatchable"]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    assert kinds(settle(*events)) == expected


def test_arguments_nested_past_every_limit_are_not_run() -> None:
    """Deeper than any parser goes, and no exception."""
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert kinds(settle(line(call(arguments={"a": deep})), END)) == ["unparseable"]


def test_the_text_and_usage_are_the_streams_own() -> None:
    """What a caller reads off the turn."""
    settler = settle(line(content="On "), line(content="it."), line(call(id="a")), END)
    assert settler.text == "On it."
    assert outcomes(settler) == [("a", "get_tide", "dispatchable", {"port": "Brest"})]
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)


def test_a_ceiling_that_the_count_reaches_overrules_the_reason() -> None:
    """`num_predict` and the tokens written are both known."""
    assert kinds(settle(line(call()), END, ceiling=20)) == ["truncated"]


def test_an_old_server_never_says_why() -> None:
    """Its users opt in to running calls of a message that only ended."""
    settler = settle(line(call()), line(done=True), unconfirmed="dispatch")
    assert kinds(settler) == ["dispatchable"]


def test_an_error_is_a_fault_without_its_text() -> None:
    """The line has nothing but a sentence, which may quote what the model wrote."""
    settler = settle({"error": "S3NT1N3L"})
    assert settler.error is not None
    assert "S3NT1N3L" not in str(settler.error)
    assert recognises({"error": "S3NT1N3L"})


def test_thinking_is_reasoning_and_goes_back() -> None:
    """Models that think want to see what they thought."""
    settler = Settler(tools=None)
    (event,) = settler.feed(line(thinking="hm"))
    assert isinstance(event, ReasoningDelta)
    for native in (line(content="So."), END):
        settler.feed(native)
    assert settler.history() == [{"role": "assistant", "content": "So.", "thinking": "hm"}]


@pytest.mark.parametrize(
    ("events", "anomaly"),
    [
        ([line(call(id="a")), line(call(id="a"))], "call_replayed"),
        ([line(call(id="a")), line(call("now", id="a"))], "duplicate_call_id"),
        ([line(call(name=""))], "no_name"),
        ([line(call())], "no_call_id"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_oddities_are_named(events: list[Any], anomaly: str) -> None:
    """The outcomes take them into account; the turn says them."""
    assert anomaly in {one.name for one in settle(*events).anomalies}


def test_results_go_back_by_name_and_by_id_where_there_is_one() -> None:
    """In the order of the calls; a failed tool says so in its text."""
    settler = settle(line(call(id="a"), call("now", {})), END)
    first, second = settler.outcomes
    assistant, *tools = settler.history({first: "high", second: KeyError("x")})
    assert [one.get("id") for one in assistant["tool_calls"]] == ["a", None]
    assert tools[0] == {
        "role": "tool",
        "tool_name": "get_tide",
        "content": "high",
        "tool_call_id": "a",
    }
    assert tools[1] == {"role": "tool", "tool_name": "now", "content": "Error: KeyError: 'x'"}


HISTORIES: dict[str, list[Any]] = {
    "clean": [line(content="On it."), line(call()), END],
    "two calls": [line(call(), call("now", {})), END],
    "one invalid": [line(call(), call("now", [])), END],
    "one unparseable": [line(call(), call("now", "{")), END],
    "truncated": [line(content="On it."), line(call()), line(done=True, reason="length")],
    "truncated without text": [line(call()), line(done=True, reason="length")],
    "cut": [line(content="On it."), line(call())],
    "cut in thinking": [line(thinking="hm")],
    "an error": [line(content="On it."), {"error": "x"}],
    "a surrogate cut in two": [line(content="\ud83d"), line(content="\ude00"), END],
    "empty": [line()],
}


def validate(messages: list[Any]) -> None:
    """The client's own model of a message takes each, and drops nothing but its ids."""
    for message in messages:
        taken = ollama.Message.model_validate(message).model_dump(exclude_none=True)
        assert set(message) - set(taken) <= {"tool_call_id"}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the client's types and the API's rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    validate(messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every twentieth of its length, or at every event if it is short."""
    natives = case.recording.to_dicts()
    for length in (*range(0, len(natives), max(1, len(natives) // 20)), len(natives)):
        settler = settle_natives(natives[:length])
        messages = settler.history(results(settler))
        assert check(messages) == []
        validate(messages)


def _asks(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [call(arguments=arguments)]}


BROKEN: dict[str, dict[str, Any]] = {
    "content that is no text": {"role": "assistant", "content": ["x"]},
    "calls and results differ": _asks({}),
    "a message without content and calls": {"role": "assistant", "content": ""},
    "a call whose arguments are no object": _asks("{}"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check([BROKEN[rule]])


@pytest.mark.parametrize(
    "native",
    [
        None,
        "[DONE]",
        {},
        {"error": {"message": "x"}},
        {"error": "x", "error_type": "y"},
        {"done": True},
        {"done": False, "response": "x"},
        {"message": {"role": "assistant"}, "choices": []},
    ],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """A line says whether it is the last, and whose message it is a part of."""
    assert not recognises(native)


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from([case for case in CASES if len(case.recording.events) < 100]),
    data=st.data(),
)
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(case.recording.to_dicts(), data))
    assert settler.stats.announced == len(settler.outcomes)
    assert check(settler.history(results(settler))) == []
