"""Mistral: chat chunks in the SDK's events, reasoning in parts, and conversations."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistralai.client import models
from pydantic import TypeAdapter

from finalcall import Dispatchable, ExternalState, ReasoningDelta, Settler, TextDelta, Verdict
from finalcall.providers.mistral import CONVERSATION_DONE, STOP_REASONS, recognises
from tests.expectation import settled
from tests.history_rules.mistral import check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases

CASES = cases(FIXTURES / "mistral")
ARGUMENTS = '{"port": "Brest"}'
GOOD = ("a1B2c3D4e", "get_tide", "dispatchable", {"port": "Brest"})


def chunk(*calls: Any, reason: Any = None, content: Any = "", **more: Any) -> dict[str, Any]:
    delta: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        delta["tool_calls"] = list(calls)
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "m1",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [choice],
        **more,
    }


def call(
    call_id: Any = "a1B2c3D4e", name: Any = "get_tide", arguments: Any = ARGUMENTS, **more: Any
) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}, **more}


def thinking(*texts: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": text} for text in texts]
    return {"type": "thinking", "thinking": parts, **more}


def as_events(natives: list[Any]) -> list[Any]:
    """What the SDK yields of these chunks: absent fields filled in, `[DONE]` swallowed."""
    return [
        models.CompletionEvent.model_validate({"data": native})
        for native in natives
        if isinstance(native, dict)
    ]


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("mistral", **{"tools": None, **options})
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
    return {word for part in get_args(union) for word in get_args(part) if isinstance(word, str)}


def test_every_finish_reason_of_the_sdk_has_a_verdict() -> None:
    """The table holds exactly its words, streamed or not, and the end of a conversation."""
    streamed = literals(models.CompletionResponseStreamChoiceFinishReason)
    whole = literals(models.ChatCompletionChoiceFinishReason)
    assert streamed
    assert whole
    assert set(STOP_REASONS) == streamed | whole | {CONVERSATION_DONE}


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word"])
def test_only_complete_finish_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    assert (kinds(settle(chunk(call(), reason=word))) == ["dispatchable"]) is runs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sdks_events_settle_as_the_wire_does(case: Case) -> None:
    """Recognised by themselves, with `"null"` and 0 where the wire had nothing."""
    settler = Settler(tools=case.tools(), choices="all")
    for event in as_events(case.recording.to_dicts()):
        settler.feed(event)
    settler.end()
    assert settler.provider == "mistral"
    assert outcomes(settler) == case.expected()


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "a call": ([chunk(call(), reason="tool_calls")], ["dispatchable"]),
    "two calls of one index": (
        [chunk(call("a", index=0), call("b", index=0), reason="tool_calls")],
        ["dispatchable"] * 2,
    ),
    "two alike in one list": (
        [chunk(call("null", index=0), call("null", index=0), reason="tool_calls")],
        ["dispatchable"] * 2,
    ),
    "two alike without arguments": (
        [
            chunk(call("null", arguments={}, index=0), call("null", arguments={}, index=0)),
            chunk(reason="tool_calls"),
        ],
        ["dispatchable"] * 2,
    ),
    "two alike, and another between": (
        [
            chunk(*[call("null", arguments=text, index=0) for text in ("{}", ARGUMENTS, "{}")]),
            chunk(reason="tool_calls"),
        ],
        ["dispatchable"] * 3,
    ),
    "one of an id twice in a list": (
        [chunk(call(index=0), call(index=0), reason="tool_calls")],
        ["dispatchable"],
    ),
    "the same list again": (
        [chunk(call("null", index=0)), chunk(call("null", index=0), reason="tool_calls")],
        ["dispatchable"],
    ),
    "pieces that repeat no id": (
        [
            chunk(call(arguments="", index=0)),
            chunk(call("null", "", ARGUMENTS[:5], index=0)),
            chunk(call("null", "", ARGUMENTS[5:], index=0)),
            chunk(reason="tool_calls"),
        ],
        ["dispatchable"],
    ),
    "arguments as an object": (
        [chunk(call(arguments={"port": "Brest"}), reason="tool_calls")],
        ["dispatchable"],
    ),
    "no arguments at a ceiling": ([chunk(call(arguments=""), reason="length")], ["truncated"]),
    "an error": ([chunk(call(), reason="error")], ["truncated"]),
    "no reason": ([chunk(call())], ["abandoned"]),
    "no reason but the marker": ([chunk(call()), "[DONE]"], ["abandoned"]),
    "the marker": ([chunk(call(), reason="tool_calls"), "[DONE]"], ["dispatchable"]),
}


@pytest.mark.parametrize("form", [list, as_events], ids=["dicts", "events"])
@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str, form: Any) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    assert kinds(settle(*form(events))) == expected


def test_a_call_outside_of_a_list() -> None:
    """Servers that host its models may send their one call bare."""
    bare = chunk(reason="tool_calls")
    bare["choices"][0]["delta"]["tool_calls"] = call()
    assert outcomes(settle(bare)) == [GOOD]


def test_thinking_parts_are_reasoning() -> None:
    """Content is text, or a list in which the texts of a `thinking` part are reasoning."""
    settler = Settler("mistral", tools=None)
    (thought,) = settler.feed(chunk(content=[thinking("hm", "?")]))
    assert isinstance(thought, ReasoningDelta)
    assert thought.text == "hm?"
    (said,) = settler.feed(chunk(content=[{"type": "text", "text": "So."}, {"type": "reference"}]))
    assert isinstance(said, TextDelta)
    assert settler.text == "So."


def test_thinking_goes_back_with_its_signature() -> None:
    """As the first part of the content."""
    settler = settle(
        chunk(content=[thinking("hm")]),
        chunk(content=[thinking(signature="c2ln")]),
        chunk(content="So.", reason="stop"),
    )
    assert settler.history() == [
        {
            "role": "assistant",
            "content": [thinking("hm", signature="c2ln"), {"type": "text", "text": "So."}],
        }
    ]


def test_only_the_first_choices_thinking_goes_back() -> None:
    """The others are alternatives to it."""
    first, second = chunk(content=[thinking("hm")]), chunk(content=[thinking("no")])
    second["choices"][0]["index"] = 1
    settler = settle(first, second, chunk(content="So.", reason="stop"))
    assert settler.history()[0]["content"][0] == thinking("hm")


def test_a_result_carries_the_tools_name() -> None:
    """Mistral wants it; a failed tool says so in its text, for there is no flag."""
    settler = settle(chunk(call(), reason="tool_calls"))
    (*_, answer) = settler.history({"a1B2c3D4e": KeyError("x")})
    assert answer == {
        "role": "tool",
        "tool_call_id": "a1B2c3D4e",
        "content": "Error: KeyError: 'x'",
        "name": "get_tide",
    }


HISTORIES: dict[str, list[Any]] = {
    "clean": [chunk(content="On it."), chunk(call(), reason="tool_calls")],
    "two calls": [chunk(call("a"), call("b"), reason="tool_calls")],
    "no arguments": [chunk(call(arguments=""), reason="tool_calls")],
    "one invalid": [chunk(call("a"), call("b", arguments="[]"), reason="tool_calls")],
    "one unparseable": [chunk(call("a"), call("b", arguments="{"), reason="tool_calls")],
    "without an id": [chunk(call("a"), call("null", "now", "{}"), reason="tool_calls")],
    "another service's fields": [
        {
            **chunk(call()),
            "choices": [{"delta": {"reasoning_content": "hm", "tool_calls": [call()]}}],
        },
        chunk(reason="tool_calls"),
    ],
    "thinking and a call": [chunk(content=[thinking("hm")]), chunk(call(), reason="tool_calls")],
    "truncated": [chunk(content="On it."), chunk(call(), reason="length")],
    "truncated without text": [chunk(call(), reason="length")],
    "cut": [chunk(content="On it."), chunk(call())],
    "cut in thinking": [chunk(content=[thinking("hm")])],
    "empty": [chunk()],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    TypeAdapter(list[models.ChatCompletionRequestMessageTypedDict]).validate_python(messages)
    TypeAdapter(list[models.ChatCompletionRequestMessage]).validate_python(messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every event."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        settler = settle(*natives[:length])
        assert check(settler.history(results(settler))) == []


def _asks(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "x", "tool_calls": list(calls), **more}


BROKEN: dict[str, list[dict[str, Any]]] = {
    "a field that is not Mistral's": [_asks(reasoning_content="x")],
    "calls and results differ": [_asks(call())],
    "a result without the tool's name": [_asks(call("a")), {"role": "tool", "tool_call_id": "a"}],
    "a message without content and calls": [{"role": "assistant", "content": ""}],
    "an id that is none, or not its own": [_asks(call("null"))],
    "a call without arguments": [_asks(call(arguments=""))],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check(BROKEN[rule])


# Conversations


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": kind, "data": {"type": kind, **fields}}


def asks(
    arguments: str, call_id: str = "a", name: str = "get_tide", index: int = 1, **more: Any
) -> Any:
    head = {"id": f"fc_{index}", "tool_call_id": call_id, "name": name, "output_index": index}
    return event("function.call.delta", arguments=arguments, **head, **more)


def says(content: Any) -> dict[str, Any]:
    return event(
        "message.output.delta", id="msg", content=content, role="assistant", output_index=0
    )


STARTED = event("conversation.response.started", conversation_id="conv_1")
DONE = event(
    CONVERSATION_DONE, usage={"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29}
)
FAILED = event("conversation.response.error", message="S3NT1N3L", code=3000)
RAN = [
    event("tool.execution.started", id="te_1", name="web_search", arguments="{}"),
    event("tool.execution.delta", id="te_1", name="web_search", arguments="{}"),
    event("tool.execution.done", id="te_1", name="web_search"),
]
CONVERSATION = [STARTED, says("On it."), asks('{"port": '), asks('"Brest"}'), DONE]


def as_sdk_events(natives: list[Any]) -> list[Any]:
    return [models.ConversationEvents.model_validate(native) for native in natives]


def as_bare_data(natives: list[Any]) -> list[Any]:
    """The events' data alone, as the wire's bytes give it."""
    return [native["data"] for native in natives]


CONVERSATIONS: dict[str, tuple[list[Any], list[str]]] = {
    "a call in pieces": (CONVERSATION, ["dispatchable"]),
    "two calls": (
        [STARTED, asks("{}"), asks("{}", "b", "now", 2), DONE],
        ["dispatchable", "dispatchable"],
    ),
    "interleaved": (
        [STARTED, asks("{"), asks("{", "b", "now", 2), asks("}"), asks("}", "b", "now", 2), DONE],
        ["dispatchable", "dispatchable"],
    ),
    "a handoff": (
        [
            STARTED,
            event("agent.handoff.started", id="h", previous_agent_id="x", previous_agent_name="y"),
            event("agent.handoff.done", id="h", next_agent_id="x", next_agent_name="y"),
            asks("{}"),
            DONE,
        ],
        ["dispatchable"],
    ),
    "an error": ([STARTED, asks("{}"), FAILED], ["abandoned"]),
    "no end": (CONVERSATION[:-1], ["abandoned"]),
    "cut arguments": ([STARTED, asks('{"port'), DONE], ["unparseable"]),
    "a tool of Mistral's": ([STARTED, *RAN, DONE], []),
    "a tool of Mistral's that asks first": (
        [STARTED, asks("{}", confirmation_status="pending"), DONE],
        [],
    ),
}


@pytest.mark.parametrize("form", [list, as_sdk_events, as_bare_data], ids=["dicts", "sdk", "data"])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_a_conversation_settles_as(name: str, form: Any) -> None:
    """Every form of its events, recognised by itself."""
    natives, expected = CONVERSATIONS[name]
    settler = Settler(tools=None)
    for native in form(natives):
        assert settler.feed(native)
    settler.end()
    assert settler.provider == "mistral"
    assert kinds(settler) == expected


def test_every_event_of_the_sdk_is_known() -> None:
    """A new one fails here, and is passed on unread in the field."""
    kinds_of_events = literals(models.SSETypes)
    assert len(kinds_of_events) >= 10
    for kind in kinds_of_events:
        assert recognises(event(kind)), kind


def test_tools_that_mistral_runs_are_external() -> None:
    """Told from start to end, and never an outcome."""
    (external,) = settle(STARTED, *RAN, DONE).external_calls
    assert (external.name, external.state) == ("web_search", ExternalState.DONE)
    (waiting,) = settle(STARTED, asks("{}", confirmation_status="pending"), DONE).external_calls
    assert waiting.state is ExternalState.UNKNOWN


def test_a_conversations_text_and_usage_are_its_own() -> None:
    """Parts are read as in a chat."""
    settler = settle(STARTED, says("On "), says({"type": "text", "text": "it."}), DONE)
    assert settler.text == "On it."
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)
    assert settler.verdict == "done"


def test_a_conversations_error_has_its_code_and_no_text() -> None:
    """The message may quote anything."""
    settler = settle(STARTED, FAILED)
    assert settler.ending is not None
    assert settler.ending.code == "3000"
    assert "S3NT1N3L" not in str(settler.error)


def test_a_conversations_entries_are_its_inputs() -> None:
    """The text, the calls that stay and their results: failed calls go."""
    settler = settle(*CONVERSATION[:-1], asks("{", "b", "now", 2), DONE)
    entries = settler.history(results(settler))
    assert [entry["type"] for entry in entries] == [
        "message.output",
        "function.call",
        "function.result",
    ]
    TypeAdapter(models.ConversationInputsTypedDict).validate_python(entries)
    assert settler.request_fields == {}


def test_a_conversation_that_was_never_named() -> None:
    """Its results are all there is to send; without usage nothing is counted."""
    settler = settle(asks("{}"), event(CONVERSATION_DONE))
    assert len(settler.history(results(settler), stored=True)) == 1
    assert settler.request_fields == {}
    assert settler.usage.output_tokens is None


def test_a_conversation_that_mistral_keeps_needs_only_results() -> None:
    """One for each call that the server has, failed ones too."""
    settler = settle(*CONVERSATION[:-1], asks("{", "b", "now", 2), DONE)
    entries = settler.history(results(settler), stored=True)
    assert entries == [
        {"object": "entry", "type": "function.result", "tool_call_id": "a", "result": "ok"},
        {
            "object": "entry",
            "type": "function.result",
            "tool_call_id": "b",
            "result": "Error: the tool was not run.",
        },
    ]
    TypeAdapter(models.ConversationInputsTypedDict).validate_python(entries)
    assert settler.request_fields == {"conversation_id": "conv_1"}


@pytest.mark.parametrize(
    "native",
    [None, "[DONE]", {}, chunk(), {"data": {}}, {"type": "response.created"}, {"data": "x"}],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """A chunk without the SDK's event around it is OpenAI's as far as can be seen."""
    assert not recognises(native)


STREAMS_TO_SPOIL = [
    *[case.recording.to_dicts() for case in CASES],
    CONVERSATION,
    [STARTED, *RAN, DONE],
]


@settings(max_examples=150, deadline=None)
@given(natives=st.sampled_from(STREAMS_TO_SPOIL), data=st.data())
def test_whatever_a_service_sends_nothing_is_lost(natives: list[Any], data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(natives, data))
    assert settler.stats.announced == len(settler.outcomes)
    messages = settler.history(results(settler))
    assert all("object" in one for one in messages) or check(messages) == []
