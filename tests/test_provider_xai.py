"""xAI's gRPC chat: pairs, protobuf and JSON read alike, whole calls, and tools that xAI runs."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st
from xai_sdk.chat import Chunk, Response
from xai_sdk.proto import chat_pb2, sample_pb2

from finalcall import AsyncTurn, Dispatchable, ExternalState, ReasoningDelta, Settler, Turn, Verdict
from finalcall.providers.xai import NO_REASON, STOP_REASONS, recognises
from tests.expectation import settled
from tests.history_rules.xai import CLIENT_SIDE, check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, outcomes_of, settle_natives

CASES = cases(FIXTURES / "xai")
SEARCH = "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"
GOOD = ("call_a", "get_tide", "dispatchable", {"port": "Brest"})


def call(
    call_id: Any = "call_a",
    name: Any = "get_tide",
    arguments: Any = '{"port":"Brest"}',
    kind: Any = CLIENT_SIDE,
    **more: Any,
) -> dict[str, Any]:
    return {"id": call_id, "type": kind, "function": {"name": name, "arguments": arguments}, **more}


def chunk(
    *calls: Any, reason: Any = None, index: int = 0, role: str = "ROLE_ASSISTANT", **delta: Any
) -> Any:
    output: dict[str, Any] = {"index": index, "delta": {"role": role, **delta}}
    if calls:
        output["delta"]["tool_calls"] = list(calls)
    if reason is not None:
        output["finish_reason"] = reason
    return {"id": "resp_1", "outputs": [output]}


USAGE = {"prompt_tokens": 9, "completion_tokens": 20}
END = {**chunk(reason="REASON_TOOL_CALLS"), "usage": USAGE}


def search(status: str) -> dict[str, Any]:
    return call("srv", "web_search", "{}", SEARCH, status=f"TOOL_CALL_STATUS_{status}")


SEARCHED = [
    chunk(search("IN_PROGRESS"), encrypted_content="c2Vj"),
    chunk(search("COMPLETED")),
    chunk(search("COMPLETED"), index=1, role="ROLE_TOOL", content="High at noon."),
]


def to_proto(native: Any) -> Any:
    return ParseDict(native, chat_pb2.GetChatCompletionChunk())


def as_protos(natives: list[Any]) -> list[Any]:
    return [to_proto(native) for native in natives]


def as_pairs(natives: list[Any]) -> list[Any]:
    """What `chat.stream()` yields: the reply so far, and the increment."""
    start = chat_pb2.GetChatCompletionResponse(outputs=[chat_pb2.CompletionOutput()])
    reply = Response(start, None)
    pairs = []
    for proto in as_protos(natives):
        reply.process_chunk(proto)
        pairs.append((reply, Chunk(proto, None)))
    return pairs


def as_batch(natives: list[Any]) -> list[Any]:
    """What `chat.stream_batch(n)` yields."""
    return [([reply], increment) for reply, increment in as_pairs(natives)]


def as_camel_case(natives: list[Any]) -> list[Any]:
    return [MessageToDict(proto) for proto in as_protos(natives)]


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("xai", **{"tools": None, **options})
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


def test_every_finish_reason_of_the_sdk_has_a_verdict() -> None:
    """The table holds exactly the enum's values, but for the one that says nothing."""
    names = sample_pb2.DESCRIPTOR.enum_types_by_name["FinishReason"].values_by_name
    assert set(STOP_REASONS) == set(names) - {NO_REASON}


def test_every_number_of_the_enum_is_its_name() -> None:
    """Protobuf has numbers where the JSON form has words."""
    enum = sample_pb2.DESCRIPTOR.enum_types_by_name["FinishReason"]
    for number, value in enum.values_by_number.items():
        settler = settle(*as_protos([chunk(call()), chunk(reason=value.name)]))
        if number == 0:
            assert settler.stop_reason is None
        else:
            assert settler.stop_reason is not None
            assert settler.stop_reason.raw == value.name


@pytest.mark.parametrize("word", [*STOP_REASONS, "REASON_NEW", 99])
def test_only_complete_finish_reasons_run_calls(word: Any) -> None:
    """An unknown word, or number, fails closed."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    assert (kinds(settle(chunk(call()), chunk(reason=word))) == ["dispatchable"]) is runs


@pytest.mark.parametrize("form", [as_protos, as_pairs, as_camel_case])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_form_settles_alike(form: Any, case: Case) -> None:
    """Protobuf, the SDK's pairs and either case of the JSON form, recognised by themselves."""
    natives = form(case.recording.to_dicts())
    assert all(recognises(native) for native in natives[:1])
    with Turn(natives, tools=case.tools()) as turn:
        seen = [event.native for event in turn if event.native is not None]
    assert outcomes_of(turn) == case.expected()
    assert len(seen) == len(natives)


async def test_the_pairs_of_the_asynchronous_client_settle_alike() -> None:
    """It yields the same pairs."""

    async def stream() -> Any:
        for pair in as_pairs(CASES[0].recording.to_dicts()):
            yield pair

    async with AsyncTurn(stream(), tools=CASES[0].tools()) as turn:
        async for _ in turn:
            pass
    assert outcomes_of(turn) == CASES[0].expected()


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "a call": ([chunk(call()), END], ["dispatchable"]),
    "two calls in a chunk": ([chunk(call(), call("call_b")), END], ["dispatchable"] * 2),
    "a call with its reason": ([chunk(call(), reason="REASON_TOOL_CALLS")], ["dispatchable"]),
    "no arguments": ([chunk(call(arguments="")), END], ["dispatchable"]),
    "no role": ([{"outputs": [{"delta": {"tool_calls": [call()]}}]}, END], ["dispatchable"]),
    "cut arguments": ([chunk(call(arguments='{"port"')), END], ["unparseable"]),
    "no reason": ([chunk(call())], ["abandoned"]),
    "the default reason": ([chunk(call()), chunk(reason=NO_REASON)], ["abandoned"]),
    "the same call again": ([chunk(call()), chunk(call()), END], ["dispatchable"]),
    "the same call, other text": (
        [chunk(call()), chunk(call(arguments="{}")), END],
        ["unparseable"],
    ),
    "calls without ids": ([chunk(call("")), chunk(call("")), END], ["dispatchable"] * 2),
    "a call without a name": ([chunk(call(name=None)), END], ["unparseable"]),
    "a call of no type": ([chunk(call(kind=None)), END], []),
    "a call of a new type": ([chunk(call(kind=42)), END], []),
    "a call that a tool's output echoes": ([chunk(call(), role="ROLE_TOOL"), END], []),
    "steps of one reply": ([*SEARCHED, chunk(call(), index=2), END], ["dispatchable"]),
    "a worse reason later": (
        [chunk(call()), END, chunk(reason="REASON_MAX_CONTEXT")],
        ["truncated"],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    assert kinds(settle(*events)) == expected


@pytest.mark.parametrize("form", [list, as_protos, as_camel_case])
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_clients_call_runs_only_where_its_status_says_nothing_else(
    number: int, form: Any
) -> None:
    """One that is incomplete or failed is not whole, also where it was sent as whole before."""
    word = chat_pb2.ToolCallStatus.Name(number)
    expected = ["dispatchable" if number < 2 else "abandoned"]
    assert kinds(settle(*form([chunk(call(status=word)), END]))) == expected
    assert kinds(settle(*form([chunk(call()), chunk(call(status=word)), END]))) == expected


@pytest.mark.parametrize("status", [4, "TOOL_CALL_STATUS_NEW"])
def test_an_unknown_status_fails_closed(status: Any) -> None:
    """As a number, or as a word."""
    settler = settle(chunk(call(status=status)), END)
    assert kinds(settler) == ["abandoned"]
    assert settler.verdict == "fail"


def test_the_first_half_of_a_pair_is_not_read() -> None:
    """It repeats every call that came before."""
    settler = settle(*as_pairs([chunk(content="On it."), chunk(call()), END]))
    assert outcomes(settler) == [GOOD]
    assert settler.text == "On it."
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)


def test_outputs_of_a_batch_are_alternatives() -> None:
    """Only the first is settled, unless all are asked for."""
    natives = as_batch(
        [chunk(call("a")), chunk(call("b"), index=1), END, chunk(reason="REASON_STOP", index=1)]
    )
    assert [one[0] for one in outcomes(settle(*natives))] == ["a"]
    settler = settle(*natives, choices="all")
    assert [one[0] for one in outcomes(settler)] == ["a", "b"]
    assert [message["role"] for message in settler.history(results(settler))] == [
        "ROLE_ASSISTANT",
        "ROLE_TOOL",
    ]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([SEARCHED[0]], ExternalState.UNKNOWN),
        (SEARCHED, ExternalState.DONE),
        ([SEARCHED[0], chunk(search("FAILED"))], ExternalState.FAILED),
        ([SEARCHED[0], chunk(search("INCOMPLETE"))], ExternalState.FAILED),
        ([SEARCHED[0], chunk(call("srv", kind=SEARCH, status=["x"]))], ExternalState.UNKNOWN),
    ],
    ids=["begun", "done", "failed", "incomplete", "junk"],
)
def test_calls_that_xai_runs_are_external(events: list[Any], state: ExternalState) -> None:
    """They are told again whenever their status changes, and are one call."""
    settler = settle(*events)
    assert settler.outcomes == []
    assert [(one.name, one.state) for one in settler.external_calls] == [("web_search", state)]


def test_reasoning_is_reasoning() -> None:
    """And a tool's output is not the model's text."""
    settler = Settler("xai", tools=None)
    (event,) = settler.feed(chunk(reasoning_content="hm"))
    assert isinstance(event, ReasoningDelta)
    settler.feed(SEARCHED[2])
    assert settler.text == ""


@pytest.mark.parametrize(
    ("events", "anomaly"),
    [
        ([chunk(call()), chunk(call())], "call_replayed"),
        ([chunk(call(name=""))], "no_name"),
        ([chunk(call(""))], "no_call_id"),
        ([END], "promised_calls_missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_oddities_are_named(events: list[Any], anomaly: str) -> None:
    """The outcomes take them into account; the turn says them."""
    assert anomaly in {one.name for one in settle(*events).anomalies}


def test_steps_of_the_providers_tools_go_back_as_they_came() -> None:
    """As the SDK appends a reply: each output a message, what is encrypted included."""
    settler = settle(*SEARCHED, chunk(call(), index=2, reasoning_content="hm"), END)
    searches, output, asks, answer = settler.history(results(settler))
    assert searches["encrypted_content"] == "c2Vj"
    assert (output["role"], output["tool_call_id"]) == ("ROLE_TOOL", "srv")
    assert asks["reasoning_content"] == "hm"
    assert answer == {
        "role": "ROLE_TOOL",
        "content": [{"text": "ok"}],
        "tool_call_id": "call_a",
    }


def test_a_failed_tool_says_so_in_its_text() -> None:
    """There is no flag for it."""
    settler = settle(chunk(call()), END)
    (*_, answer) = settler.history({"call_a": KeyError("x")})
    assert answer["content"] == [{"text": "Error: KeyError: 'x'"}]


def test_a_reply_that_xai_keeps_is_continued_by_its_id() -> None:
    """Then only the results are sent."""
    settler = settle(chunk(call()), END)
    assert [one["role"] for one in settler.history({"call_a": "ok"}, stored=True)] == ["ROLE_TOOL"]
    assert settler.request_fields == {"previous_response_id": "resp_1"}
    assert len(settler.history({"call_a": "ok"})) == 2
    assert settler.request_fields == {}


@pytest.mark.parametrize(
    "events",
    [
        [chunk(content="On it."), chunk(call()), chunk(reason="REASON_MAX_LEN")],
        [chunk(content="On it."), chunk(call()), chunk(call("b", arguments="{")), END],
        [chunk(content="On it."), chunk(call())],
    ],
    ids=["truncated", "one unparseable", "cut"],
)
def test_a_reply_that_cannot_be_continued_is_sent_as_usual(events: list[Any]) -> None:
    """The server's copy holds calls that nothing will answer."""
    settler = settle(*events)
    messages = settler.history(results(settler), stored=True)
    assert messages[0]["content"] == [{"text": "On it."}]
    assert settler.request_fields == {}


HISTORIES: dict[str, list[Any]] = {
    "clean": [chunk(content="On it."), chunk(call()), END],
    "two calls": [chunk(call(), call("call_b")), END],
    "no arguments": [chunk(call(arguments="")), END],
    "one invalid": [chunk(call(), call("b", arguments="[]")), END],
    "one unparseable": [chunk(call(), call("b", arguments="{")), END],
    "without an id": [chunk(call("")), END],
    "truncated": [chunk(content="On it."), chunk(call()), chunk(reason="REASON_MAX_LEN")],
    "truncated without text": [chunk(call()), chunk(reason="REASON_MAX_LEN")],
    "cut": [chunk(content="On it."), chunk(call())],
    "cut in reasoning": [chunk(reasoning_content="hm")],
    "cut in a search": [chunk(content="On it."), SEARCHED[0]],
    "a search and a call": [*SEARCHED, chunk(call(), index=2), END],
    "a surrogate cut in two": [chunk(content="\ud83d"), chunk(content="\ude00"), END],
    "empty": [chunk()],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the protobuf and the rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    for message in messages:
        assert chat_pb2.Message(**message) == ParseDict(message, chat_pb2.Message())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every event."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        settler = settle_natives(natives[:length])
        messages = settler.history(results(settler))
        assert check(messages) == []
        for message in messages:
            chat_pb2.Message(**message)


def _says(*calls: Any, role: str = "ROLE_ASSISTANT", text: str = "x", **more: Any) -> Any:
    return {"role": role, "content": [{"text": text}], "tool_calls": list(calls), **more}


BROKEN: dict[str, dict[str, Any]] = {
    "a message without content": {"role": "ROLE_ASSISTANT", "content": []},
    "a message that says nothing": _says(text=""),
    "a call without arguments": _says(call(arguments="")),
    "a call without its result": _says(call()),
    "a result without its call": _says(role="ROLE_TOOL", tool_call_id="b"),
    "a server-side call that never ended": _says(call(kind=SEARCH, status=0)),
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
        {"outputs": []},
        {"outputs": [{"type": "x"}]},
        (1, 2, 3),
        ({}, {}),
        (None,),
    ],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """An output has a delta or a finish reason."""
    assert not recognises(native)


@settings(max_examples=150, deadline=None)
@given(case=st.sampled_from(CASES), data=st.data())
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(case.recording.to_dicts(), data))
    assert settler.stats.announced == len(settler.outcomes)
    assert isinstance(settler.history(results(settler)), list)


@pytest.mark.parametrize("last", ["REASON_STOP", None])
def test_a_step_of_xais_own_ends_no_reply(last: str | None) -> None:
    """Its reason promises the caller nothing, and the reply is judged by the last one."""
    step = [*SEARCHED, chunk(reason="REASON_TOOL_CALLS")]
    settler = settle(*step, chunk(reason=last, index=2, content="At noon."))
    assert (settler.stop_reason and settler.stop_reason.raw) == last
    assert not settler.anomalies
