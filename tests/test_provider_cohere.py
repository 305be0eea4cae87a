"""Cohere's chat: version 2 event by event, version 1 with its calls told up to three times."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from cohere import ChatMessageV2, Message
from cohere.types import ChatFinishReason, ChatStreamEndEventFinishReason, FinishReason
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from finalcall import Dispatchable, ReasoningDelta, Settler, Verdict
from finalcall.providers.cohere import STOP_REASONS, recognises
from tests.expectation import settled
from tests.history_rules.cohere import check, check_v1
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "cohere")
ARGUMENTS = '{"port": "Brest"}'
GOOD = ("tide_1", "get_tide", "dispatchable", {"port": "Brest"})


def start(message_id: Any = "m1") -> dict[str, Any]:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    return {"type": "message-start", "id": message_id, "delta": {"message": message}}


def _tool(kind: str, index: Any, calls: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": {"tool_calls": calls}}}


def begin(
    index: Any = 0, call_id: Any = "tide_1", name: Any = "get_tide", arguments: Any = ""
) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return _tool("tool-call-start", index, call)


def piece(index: Any, text: Any) -> dict[str, Any]:
    return _tool("tool-call-delta", index, {"function": {"arguments": text}})


def end(index: Any = 0) -> dict[str, Any]:
    return {"type": "tool-call-end", "index": index}


def call(index: int = 0, call_id: str = "tide_1", text: str = ARGUMENTS) -> list[dict[str, Any]]:
    return [begin(index, call_id), piece(index, text[:5]), piece(index, text[5:]), end(index)]


def plan(text: str) -> dict[str, Any]:
    return {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}}


def content(**fields: Any) -> dict[str, Any]:
    return {"type": "content-delta", "index": 0, "delta": {"message": {"content": fields}}}


def stop(reason: Any = "TOOL_CALL", **more: Any) -> dict[str, Any]:
    usage = {"tokens": {"input_tokens": 9.0, "output_tokens": 20.0}}
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage, **more}}


def v1(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_type": kind, "is_finished": kind == "stream-end", **fields}


SEARCH = {"name": "search", "parameters": {"q": "x"}}
V1_START = v1("stream-start", generation_id="g1")


def v1_chunk(**delta: Any) -> dict[str, Any]:
    return v1("tool-calls-chunk", tool_call_delta=delta)


def v1_whole(*calls: Any) -> dict[str, Any]:
    return v1("tool-calls-generation", tool_calls=list(calls))


def v1_end(*calls: Any, reason: str = "COMPLETE") -> dict[str, Any]:
    meta = {"tokens": {"input_tokens": 9, "output_tokens": 20}}
    response = {"tool_calls": list(calls), "meta": meta}
    return v1("stream-end", finish_reason=reason, response=response)


V1_PIECES = [
    v1_chunk(index=0, name="search"),
    v1_chunk(index=0, parameters='{\n  "q":'),
    v1_chunk(index=0, parameters=' "x"\n}'),
]


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("cohere", **{"tools": None, **options})
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


def literals(union: Any) -> set[str]:
    """The words of one of the SDK's open unions."""
    return {word for part in get_args(union) for word in get_args(part) if isinstance(word, str)}


def test_every_finish_reason_of_the_sdk_has_a_verdict() -> None:
    """The table holds exactly the words of both versions."""
    words = [
        literals(one) for one in (ChatFinishReason, ChatStreamEndEventFinishReason, FinishReason)
    ]
    assert all(words)
    assert set(STOP_REASONS) == set.union(*words)


@pytest.mark.parametrize("word", [*STOP_REASONS, "NEW_WORD"])
def test_only_complete_finish_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    assert (kinds(settle(start(), *call(), stop(word))) == ["dispatchable"]) is runs


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "a call": ([start(), *call(), stop()], ["dispatchable"]),
    "two calls": ([start(), *call(0, "a"), *call(1, "b"), stop()], ["dispatchable"] * 2),
    "no arguments": ([start(), begin(), end(), stop()], ["dispatchable"]),
    "null arguments": ([start(), begin(arguments=None), end(), stop()], ["dispatchable"]),
    "arguments with the start": ([start(), begin(arguments="{}"), end(), stop()], ["dispatchable"]),
    "arguments as an object": (
        [start(), begin(arguments={"a": 1}), end(), stop()],
        ["dispatchable"],
    ),
    "arguments that JSON cannot hold": (
        [start(), begin(arguments={"a": {1, 2}}), end(), stop()],
        ["unparseable"],
    ),
    "a list of calls in one start": (
        [
            start(),
            _tool(
                "tool-call-start",
                0,
                [
                    {"id": "a", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "b", "function": {"name": "g", "arguments": "{}"}},
                ],
            ),
            end(0),
            end(1),
            stop(),
        ],
        ["dispatchable"] * 2,
    ),
    "no end of the call": ([start(), *call()[:-1], stop()], ["abandoned"]),
    "no finish reason": ([start(), *call()], ["abandoned"]),
    "an empty finish reason": ([start(), *call(), stop("")], ["abandoned"]),
    "an error and no reason": ([start(), *call(), stop(None, error="S3NT1N3L")], ["abandoned"]),
    "an error beside a good reason": ([start(), *call(), stop(error="S3NT1N3L")], ["abandoned"]),
    "an error with its reason": ([start(), *call(), stop("ERROR", error="x")], ["truncated"]),
    "an error event": (
        [start(), *call(), {"type": "error", "error": {"message": "S3NT1N3L"}}, stop()],
        ["abandoned"],
    ),
    "an error event of few words": ([start(), *call(), {"type": "error"}, stop()], ["abandoned"]),
    "an error without its type": ([start(), *call(), {"error": "S3NT1N3L"}, stop()], ["abandoned"]),
    "pieces without an index": (
        [start(), begin(None), piece(None, ARGUMENTS), end(None), stop()],
        ["dispatchable"],
    ),
    "pieces before the call": (
        [start(), piece(0, ARGUMENTS), begin(0), end(0), stop()],
        ["dispatchable"],
    ),
    "pieces of no call": (
        [start(), *call(), piece(7, "{}"), end(7), stop()],
        ["dispatchable", "unparseable"],
    ),
    "pieces of no call, and a call without any": (
        [start(), begin(1), piece(0, ARGUMENTS), end(1), stop()],
        ["abandoned", "abandoned"],
    ),
    "the same call twice": ([start(), *call(), *call(), stop()], ["dispatchable"]),
    "the same index for another call without an id": (
        [start(), *call(0, ""), *call(0, ""), stop()],
        ["dispatchable", "dispatchable"],
    ),
    "the same call without an id, its message told again": (
        [start(), *call(0, ""), start(), *call(0, ""), stop()],
        ["dispatchable"],
    ),
    "the same call, other text": ([start(), *call(), *call(text="{}"), stop()], ["unparseable"]),
    "a name that never comes": ([start(), begin(name=None), end(), stop()], ["unparseable"]),
    "a start again, the same id": ([start(), *call(), start(), stop()], ["dispatchable"]),
    "two messages in one": ([start("m1"), *call(), start("m2"), stop()], ["abandoned"]),
    "v1: calls whole": ([V1_START, v1_whole(SEARCH), v1_end(SEARCH)], ["dispatchable"]),
    "v1: told three times": (
        [V1_START, *V1_PIECES, v1_whole(SEARCH), v1_end(SEARCH)],
        ["dispatchable"],
    ),
    "v1: pieces and the end": ([V1_START, *V1_PIECES, v1_end(SEARCH)], ["dispatchable"]),
    "v1: only the end": ([V1_START, v1_end(SEARCH, SEARCH)], ["dispatchable"] * 2),
    "v1: pieces alone": ([V1_START, *V1_PIECES, v1_end()], ["abandoned"]),
    "v1: pieces without an index": (
        [V1_START, v1_chunk(name="search"), v1_chunk(parameters="{}"), v1_end(SEARCH)],
        ["dispatchable"],
    ),
    "v1: cut": ([V1_START, *V1_PIECES[:2]], ["abandoned"]),
    "v1: at the ceiling": ([V1_START, *V1_PIECES, v1_end(reason="MAX_TOKENS")], ["truncated"]),
    "v1: no reason": ([V1_START, v1_whole(SEARCH), v1_end(reason="")], ["abandoned"]),
    "v1: toxic": ([V1_START, v1_whole(SEARCH), v1_end(reason="ERROR_TOXIC")], ["truncated"]),
    "v1: no parameters": (
        [V1_START, v1_whole({"name": "now", "parameters": None}), v1_end()],
        ["dispatchable"],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    assert kinds(settle(*events)) == expected


def test_the_ids_text_and_usage_are_the_streams_own() -> None:
    """What a caller reads off the turn."""
    settler = settle(start(), content(text="On it."), *call(), stop())
    assert outcomes(settler) == [GOOD]
    assert settler.text == "On it."
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)


def test_version_1_restates_in_its_own_words() -> None:
    """The arguments are the object that it states, and there is no id."""
    settler = settle(V1_START, *V1_PIECES, v1_whole(SEARCH), v1_end(SEARCH))
    assert outcomes(settler) == [(None, "search", "dispatchable", {"q": "x"})]
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)


def test_the_message_of_an_error_is_in_no_exception() -> None:
    """It may quote what the model wrote."""
    settler = settle(start(), *call(), stop(None, error="S3NT1N3L"))
    assert settler.error is not None
    assert "S3NT1N3L" not in str(settler.error)


@pytest.mark.parametrize("data", ['{"message":"S3NT1N3L"}', '{"error":{"message":"S3NT1N3L"}}'])
def test_an_event_that_is_named_error_is_one(data: str) -> None:
    """Its data need not say so again."""
    settler = Settler("cohere", tools=None)
    for event in [start(), *call()]:
        settler.feed(f"data: {json.dumps(event)}\n\n".encode())
    settler.feed(f"event: error\ndata: {data}\n\n".encode())
    settler.feed(f"data: {json.dumps(stop())}\n\n".encode())
    settler.end()
    assert kinds(settler) == ["abandoned"]
    assert "S3NT1N3L" not in repr(settler.error)


@pytest.mark.parametrize(
    "native", [plan("I will."), content(thinking="I will."), v1_chunk(text="I will.")]
)
def test_plans_and_thinking_are_reasoning(native: Any) -> None:
    """A plan is prose about the calls, and no part of them."""
    settler = Settler("cohere", tools=None)
    (event,) = settler.feed(native)
    assert isinstance(event, ReasoningDelta)
    assert event.text == "I will."
    assert event.native is native


@pytest.mark.parametrize(
    ("events", "anomaly"),
    [
        ([start(), *call(), start()], "message_restarted"),
        ([start("m1"), *call(), start("m2")], "spliced_stream"),
        ([start(), *call(), *call()], "call_replayed"),
        ([start(), *call(), piece(0, " ")], "delta_after_end"),
        ([start(), piece(3, "{}")], "delta_for_unknown_call"),
        ([start(), begin(name=None)], "no_name"),
        ([start(), begin(call_id=None)], "no_call_id"),
        ([start(), *call(0), *call(1)], "duplicate_call_id"),
        ([start(), stop()], "promised_calls_missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_oddities_are_named(events: list[Any], anomaly: str) -> None:
    """The outcomes take them into account; the turn says them."""
    assert anomaly in {one.name for one in settle(*events).anomalies}


def test_the_plan_goes_back_beside_the_calls() -> None:
    """And nowhere else: a plan for calls that are gone is none."""
    settler = settle(start(), plan("I will."), *call(), stop())
    assistant, tool = settler.history({"tide_1": "high"})
    assert assistant["tool_plan"] == "I will."
    assert assistant["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert tool == {"role": "tool", "tool_call_id": "tide_1", "content": "high"}
    assert settle(start(), plan("I will."), *call(), stop("MAX_TOKENS")).history() == []


def test_a_failed_tool_says_so_in_its_text() -> None:
    """There is no flag for it."""
    settler = settle(start(), *call(), stop())
    assert settler.history({"tide_1": KeyError("x")})[1]["content"].startswith("Error: KeyError")


def test_version_1_has_its_own_history() -> None:
    """Calls are repeated in the results, for there is no id to name them."""
    settler = settle(V1_START, v1_chunk(text="I will."), v1_whole(SEARCH), v1_end(SEARCH))
    assert settler.history(results(settler)) == [
        {"role": "CHATBOT", "message": "I will.", "tool_calls": [SEARCH]},
        {"role": "TOOL", "tool_results": [{"call": SEARCH, "outputs": [{"output": "ok"}]}]},
    ]


HISTORIES: dict[str, list[Any]] = {
    "clean": [start(), content(text="On it."), plan("I will."), *call(), stop()],
    "two calls": [start(), *call(0, "a"), *call(1, "b"), stop()],
    "no arguments": [start(), begin(), end(), stop()],
    "one invalid": [start(), *call(0, "a"), *call(1, "b", "[]"), stop()],
    "one unparseable": [start(), *call(0, "a"), *call(1, "b", "{"), stop()],
    "one without an id": [start(), *call(0, "a"), *call(1, ""), stop()],
    "two with one id": [start(), *call(0, "a"), *call(1, "a"), stop()],
    "truncated": [start(), content(text="On it."), *call(), stop("MAX_TOKENS")],
    "truncated without text": [start(), *call(), stop("MAX_TOKENS")],
    "thinking": [start(), content(thinking="hm"), content(text="So."), stop("COMPLETE")],
    "cut": [start(), content(text="On it."), *call()[:2]],
    "cut in a plan": [start(), plan("I w")],
    "an error": [start(), content(text="On it."), *call(), stop("ERROR", error="x")],
    "a surrogate cut in two": [start(), content(text="\ud83d"), content(text="\ude00"), stop()],
    "empty": [start()],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    for message in messages:
        TypeAdapter(ChatMessageV2).validate_python(message)


@pytest.mark.parametrize(
    "events",
    [
        [V1_START, v1_whole(SEARCH), v1_end(SEARCH)],
        [V1_START, v1_whole(SEARCH, {"name": "now", "parameters": []}), v1_end()],
        [V1_START, *V1_PIECES[:2]],
        [V1_START, v1("text-generation", text="On it."), v1_end(reason="MAX_TOKENS")],
        [V1_START],
    ],
    ids=["clean", "one invalid", "cut", "truncated", "empty"],
)
def test_history_of_version_1_is_always_accepted(events: list[Any]) -> None:
    """The same, by the rules and types of version 1."""
    settler = settle(*events)
    messages = settler.history(results(settler))
    assert check_v1(messages) == []
    for message in messages:
        TypeAdapter(Message).validate_python(message)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every fortieth of its length, or at every event if it is short."""
    natives = case.recording.to_dicts()
    for length in (*range(0, len(natives), max(1, len(natives) // 40)), len(natives)):
        settler = settle_natives(natives[:length])
        assert check(settler.history(results(settler))) == []


def tool_calls(*calls: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": i, "function": {"name": "f", "arguments": text}} for i, text in calls]


BROKEN: dict[str, dict[str, Any]] = {
    "calls and results differ": {"tool_calls": tool_calls(("a", "{}"))},
    "a message without content and calls": {"content": ""},
    "a plan without calls": {"content": "x", "tool_plan": "y"},
    "an id that is none, or not its own": {"tool_calls": tool_calls(("", "{}"))},
    "a call without arguments": {"tool_calls": tool_calls(("a", ""))},
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check([{"role": "assistant", **BROKEN[rule]}])


def test_the_checker_of_version_1_can_fail() -> None:
    """Each of its rules, too."""
    assert check_v1([{"role": "CHATBOT", "message": ""}]) == ["a message without text and calls"]
    unanswered = {"role": "CHATBOT", "message": "x", "tool_calls": [SEARCH]}
    assert check_v1([unanswered]) == ["calls and results differ"]


@pytest.mark.parametrize(
    "native",
    [None, "[DONE]", {}, {"type": "message_start"}, {"type": "text-start"}, {"type": ["x"]}],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """The words of the two versions, and no others."""
    assert not recognises(native)


V1_STREAM = [V1_START, *V1_PIECES, v1_whole(SEARCH), v1_end(SEARCH)]


@settings(max_examples=150, deadline=None)
@given(
    natives=st.sampled_from([*[case.recording.to_dicts() for case in CASES], V1_STREAM]),
    data=st.data(),
)
def test_whatever_a_service_sends_nothing_is_lost(natives: list[Any], data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(natives, data))
    assert settler.stats.announced == len(settler.outcomes)
    messages = settler.history(results(settler))
    rules = check_v1 if messages and "message" in messages[0] else check
    assert rules(messages) == []
