"""Bedrock Converse: frames by name, blocks by index, calls of the client's and of Bedrock's own."""

from __future__ import annotations

import base64
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import Anomaly, Dispatchable, ExternalState, ReasoningDelta, Settler, Verdict
from finalcall.providers.bedrock_converse import STOP_REASONS, _input_of, recognises
from tests.expectation import settled
from tests.history_rules.bedrock_converse import check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "bedrock-converse")
MODEL = botocore.session.get_session().get_service_model("bedrock-runtime")
GOOD = ("tooluse_a", "get_tide", "dispatchable", {"port": "Brest"})

START = {"messageStart": {"role": "assistant"}}
METADATA = {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 20, "totalTokens": 29}}}


def delta(index: int | None, **fields: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": fields}}


def piece(index: int | None, text: Any) -> dict[str, Any]:
    return delta(index, toolUse={"input": text})


def begin(index: int, call_id: Any = "tooluse_a", name: Any = "get_tide", **more: Any) -> Any:
    use = {"toolUseId": call_id, "name": name, **more}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}


def end(index: int | None) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def call(
    index: int, call_id: str = "tooluse_a", text: str = '{"port":"Brest"}', **more: Any
) -> Any:
    return [
        begin(index, call_id, **more),
        piece(index, text[:4]),
        piece(index, text[4:]),
        end(index),
    ]


def stop(reason: Any = "tool_use") -> list[dict[str, Any]]:
    return [{"messageStop": {"stopReason": reason}}, METADATA]


def words(index: int, text: str) -> list[dict[str, Any]]:
    return [delta(index, text=text), end(index)]


def thought(index: int, text: str, signature: str = "c2ln") -> list[dict[str, Any]]:
    return [
        delta(index, reasoningContent={"text": text}),
        delta(index, reasoningContent={"signature": signature}),
        end(index),
    ]


SERVER = [
    begin(0, "srv_1", "nova_code_interpreter", type="server_tool_use"),
    piece(0, '{"snippet":"1"}'),
    end(0),
]
SERVER_RESULT = [
    {
        "contentBlockStart": {
            "contentBlockIndex": 1,
            "start": {"toolResult": {"toolUseId": "srv_1", "type": "nova_result"}},
        }
    },
    delta(1, toolResult=[{"json": {"stdOut": "1"}}]),
    end(1),
]


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("bedrock-converse", **{"tools": None, **options})
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Any]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def names(settler: Settler) -> set[str]:
    return {anomaly.name for anomaly in settler.anomalies}


def results(settler: Settler) -> dict[Any, Any]:
    return {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}


def test_every_stop_reason_of_the_service_model_has_a_verdict() -> None:
    """The table holds exactly the model's values: a new one fails here and UNKNOWN in the field."""
    shape: Any = MODEL.shape_for("StopReason")
    assert set(STOP_REASONS) == set(shape.enum)


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word"])
def test_only_complete_stop_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    settler = settle(START, *call(0), *stop(word))
    assert isinstance(settler.outcomes[0], Dispatchable) is runs


def test_every_exception_of_the_service_model_ends_the_message() -> None:
    """Each is a fault that voids a good stop reason, with its name as the code."""
    stream: Any = MODEL.shape_for("ConverseStreamOutput")
    exceptions = [name for name in stream.members if name.endswith("Exception")]
    assert len(exceptions) >= 5
    for name in exceptions:
        settler = settle(START, *call(0), stop()[0], {name: {"message": "S3NT1N3L"}})
        assert kinds(settler) == ["abandoned"]
        assert settler.ending is not None
        assert settler.ending.code == name
        assert "S3NT1N3L" not in str(settler.error)


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "text and a call": ([START, *words(0, "On it."), *call(1), *stop()], ["dispatchable"]),
    "metadata before the stop": ([START, *call(0), METADATA, stop()[0]], ["dispatchable"]),
    "no metadata": ([START, *call(0), stop()[0]], ["dispatchable"]),
    "no arguments": ([START, begin(0), piece(0, ""), end(0), *stop()], ["dispatchable"]),
    "end_turn beside calls": ([START, *call(0), *stop("end_turn")], ["dispatchable"]),
    "no end of the call": ([START, *call(0)[:-1], *stop()], ["abandoned"]),
    "no end at a ceiling": ([START, *call(0)[:-1], *stop("max_tokens")], ["truncated"]),
    "no stop": ([START, *call(0)], ["abandoned"]),
    "an empty stop reason": ([START, *call(0), *stop("")], ["abandoned"]),
    "interleaved": (
        [
            START,
            begin(0, "a"),
            begin(1, "b"),
            piece(1, "{}"),
            piece(0, "{}"),
            end(0),
            end(1),
            *stop(),
        ],
        ["dispatchable", "dispatchable"],
    ),
    "an unknown member": (
        [START, {"SDK_UNKNOWN_MEMBER": {"name": "new"}}, *call(0), *stop()],
        ["dispatchable"],
    ),
    "the type spelled out": ([START, *call(0, type="tool_use"), *stop()], ["dispatchable"]),
    "a piece without an index": (
        [START, begin(0), piece(None, '{"port":"Brest"}'), end(None), *stop()],
        ["dispatchable"],
    ),
    "a name that never comes": ([START, begin(0, name=None), end(0), *stop()], ["unparseable"]),
    "an id that never comes": ([START, *call(0, call_id=""), *stop()], ["dispatchable"]),
    "pieces before the call": (
        [START, piece(0, '{"port":'), begin(0), piece(0, '"Brest"}'), end(0), *stop()],
        ["dispatchable"],
    ),
    "an end of no block": ([START, *call(0), end(7), *stop()], ["dispatchable"]),
    "pieces of no call": (
        [START, *call(0), piece(7, "{}"), end(7), *stop()],
        ["dispatchable", "unparseable"],
    ),
    "pieces of no call, and a call without any": (
        [START, begin(1), piece(0, '{"port":"Brest"}'), end(1), *stop()],
        ["abandoned", "abandoned"],
    ),
    "pieces in a text, and a call without any": (
        [START, *words(0, "On it."), piece(0, '{"port":"Brest"}'), begin(1), end(1), *stop()],
        ["abandoned", "abandoned"],
    ),
    "pieces after a server call, and a call without any": (
        [START, *SERVER, piece(0, '{"port":"Brest"}'), begin(1), end(1), *stop()],
        ["abandoned", "abandoned"],
    ),
    "the same call twice": ([START, *call(0), *call(0), *stop()], ["dispatchable"]),
    "the same call, other text": ([START, *call(0), *call(0, text="{}"), *stop()], ["unparseable"]),
    "the same index for another call without an id": (
        [START, *call(0, ""), *call(0, ""), *stop()],
        ["dispatchable", "dispatchable"],
    ),
    "the same index for another call": (
        [START, *call(0, "a"), *call(0, "b"), *stop()],
        ["dispatchable", "dispatchable"],
    ),
    "two frames in one": (
        [{**START, **begin(0)}, {**piece(0, "{}"), **end(0)}, *stop()],
        ["dispatchable"],
    ),
    "an exception beside a stop": (
        [START, *call(0), {**stop()[0], "throttlingException": {"message": "x"}}],
        ["abandoned"],
    ),
    "a frame of no known name beside a stop": (
        [START, *call(0), {**stop()[0], "nextYear": {"message": "x"}}],
        ["dispatchable"],
    ),
    "two messages in one": (
        [START, *call(0, "a"), START, *call(0, "b"), *stop()],
        ["abandoned", "abandoned"],
    ),
    "a start again, before anything": ([START, START, *call(0), *stop()], ["dispatchable"]),
    "a stop twice": ([START, *call(0), stop()[0], stop()[0], METADATA], ["dispatchable"]),
    "a worse stop": ([START, *call(0), stop()[0], *stop("max_tokens")], ["truncated"]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    assert kinds(settle(*events)) == expected


def test_the_ids_text_and_usage_are_the_streams_own() -> None:
    """What a caller reads off the turn."""
    settler = settle(START, *words(0, "On it."), *call(1), *stop())
    assert outcomes(settler) == [GOOD]
    assert settler.text == "On it."
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)
    assert settler.verdict == "dispatch"


@pytest.mark.parametrize(
    "events",
    [
        [begin(0), piece(0, {"port": "Brest"}), end(0)],
        [begin(0, input={"port": "Brest"}), end(0)],
        [begin(0, input='{"port": "Brest"}'), piece(0, ""), end(0)],
        [begin(0, input={"port": "Lyon"}), piece(0, '{"port": "Brest"}'), end(0)],
        [begin(0, input={}), piece(0, {}), piece(0, '{"port": "Brest"}'), end(0)],
    ],
    ids=["a piece", "the start", "text in the start", "pieces after it", "placeholders"],
)
def test_input_may_be_an_object_and_come_with_the_start(events: list[Any]) -> None:
    """It is an argument text like any other; pieces replace what the start gave."""
    assert outcomes(settle(START, *events, *stop())) == [GOOD]


def test_a_ceiling_that_the_usage_reaches_overrules_the_reason() -> None:
    """The usage report comes after the stop reason, and still counts."""
    assert kinds(settle(START, *call(0), *stop(), ceiling=20)) == ["truncated"]


@pytest.mark.parametrize(
    ("events", "anomaly"),
    [
        ([START, *call(0, "a"), START], "spliced_stream"),
        ([START, START], "message_restarted"),
        ([START, *call(0), *call(0)], "call_replayed"),
        ([START, *call(0), piece(0, " ")], "delta_after_end"),
        ([START, piece(3, "{}")], "delta_for_unknown_call"),
        ([START, begin(0, name=None)], "no_name"),
        ([START, begin(0, call_id=None)], "no_call_id"),
        ([START, *call(0, "a"), *call(1, "a")], "duplicate_call_id"),
        ([START, *stop()], "promised_calls_missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_oddities_are_named(events: list[Any], anomaly: str) -> None:
    """The outcomes take them into account; the turn says them."""
    assert anomaly in names(settle(*events))


def test_calls_that_bedrock_runs_are_external() -> None:
    """Their type says so; their input comes in the same pieces."""
    settler = settle(START, *SERVER, *SERVER_RESULT, *call(2), *stop())
    assert outcomes(settler) == [GOOD]
    (external,) = settler.external_calls
    assert (external.name, external.state) == ("nova_code_interpreter", ExternalState.DONE)


def test_a_kind_of_call_that_is_new_is_not_the_clients() -> None:
    """Only one without a type, or of type `tool_use`, is."""
    new = [begin(0, "srv_1", "ask", type="mcp_tool_use"), piece(0, "{}"), end(0)]
    settler = settle(START, *new, *call(1, type="tool_use"), *stop())
    assert kinds(settler) == ["dispatchable"]
    assert [one.name for one in settler.external_calls] == ["ask"]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([*SERVER], ExternalState.UNKNOWN),
        (
            [
                *SERVER,
                {
                    "contentBlockStart": {
                        "contentBlockIndex": 1,
                        "start": {"toolResult": {"toolUseId": "srv_1", "status": "error"}},
                    }
                },
            ],
            ExternalState.FAILED,
        ),
    ],
    ids=["no result", "an error"],
)
def test_a_server_call_says_how_it_ended(events: list[Any], state: ExternalState) -> None:
    """A stream that dies leaves it unknown: it may have run."""
    assert settle(START, *events).external_calls[0].state is state


def test_reasoning_is_reasoning() -> None:
    """It reaches a screen, and goes back signed."""
    settler = Settler(tools=None)
    settler.feed(START)
    (event,) = settler.feed(delta(0, reasoningContent={"text": "hm"}))
    assert isinstance(event, ReasoningDelta)
    for native in [
        delta(0, reasoningContent={"signature": "c2ln"}),
        *words(1, "So."),
        *stop("end_turn"),
    ]:
        settler.feed(native)
    (message,) = settler.history()
    assert message["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"text": "So."},
    ]


@pytest.mark.parametrize("data", [b"\x01\x02", base64.b64encode(b"\x01\x02").decode()])
def test_redacted_reasoning_goes_back_as_bytes(data: Any) -> None:
    """boto3 gives bytes, the wire Base64; boto3 takes bytes."""
    redacted = delta(0, reasoningContent={"redactedContent": data})
    settler = settle(START, redacted, *words(1, "So."), *stop("end_turn"))
    assert settler.history()[0]["content"][0] == {
        "reasoningContent": {"redactedContent": b"\x01\x02"}
    }


@pytest.mark.parametrize("data", ["no Base64!", ["x"]])
def test_redacted_reasoning_that_cannot_be_read_is_left_out(data: Any) -> None:
    """Half of a block would be refused."""
    redacted = delta(0, reasoningContent={"redactedContent": data})
    settler = settle(START, redacted, *words(1, "So."), *stop("end_turn"))
    assert settler.history()[0]["content"] == [{"text": "So."}]


def test_cited_text_goes_back_with_its_citations() -> None:
    """As one block."""
    citation = {"title": "t", "location": {"web": {"url": "u"}}}
    settler = settle(START, delta(0, text="So."), delta(0, citation=citation), *stop("end_turn"))
    assert settler.history()[0]["content"] == [
        {"citationsContent": {"content": [{"text": "So."}], "citations": [citation]}}
    ]


def test_server_calls_go_back_with_their_results() -> None:
    """In the assistant's message, where Bedrock put them."""
    settler = settle(START, *SERVER, *SERVER_RESULT, *words(2, "So."), *stop("end_turn"))
    call_block, result_block, _ = settler.history()[0]["content"]
    assert call_block["toolUse"]["input"] == {"snippet": "1"}
    assert result_block["toolResult"]["content"] == [{"json": {"stdOut": "1"}}]


def test_a_failed_tool_is_flagged_and_a_good_one_is_not() -> None:
    """Some models refuse the field, so it is sent only where it says something."""
    settler = settle(START, *call(0, "a"), *call(1, "b"), *stop())
    _, user = settler.history({"a": KeyError("x"), "b": "ok"})
    failed, good = (block["toolResult"] for block in user["content"])
    assert failed["status"] == "error"
    assert "status" not in good


HISTORIES: dict[str, list[Any]] = {
    "clean": [START, *words(0, "On it."), *call(1), *stop()],
    "two calls": [START, *call(0, "a"), *call(1, "b"), *stop()],
    "one invalid": [START, *call(0, "a"), *call(1, "b", "[]"), *stop()],
    "one unparseable": [START, *call(0, "a"), *call(1, "b", "{"), *stop()],
    "one without an id": [START, *call(0, "a"), *call(1, ""), *stop()],
    "two with one id": [START, *call(0, "a"), *call(1, "a"), *stop()],
    "truncated": [START, *words(0, "On it."), *call(1), *stop("max_tokens")],
    "truncated without text": [START, *call(0), *stop("max_tokens")],
    "blank text": [START, *words(0, " \n"), *call(1), *stop()],
    "blank text only": [START, *words(0, " "), *stop("end_turn")],
    "filtered": [START, *words(0, "No."), *call(1), *stop("guardrail_intervened")],
    "cut": [START, *words(0, "On it."), *call(1)[:-2]],
    "cut in reasoning": [START, delta(0, reasoningContent={"text": "hm"})],
    "reasoning before a failed call": [START, *thought(0, "hm"), *call(1, text="{"), *stop()],
    "text and reasoning before a failed call": [
        START,
        *words(0, "So."),
        *thought(1, "hm"),
        *call(2, text="{"),
        *stop(),
    ],
    "reasoning and a call": [START, *thought(0, "hm"), *call(1), *stop()],
    "cut in a server call": [
        START,
        *words(0, "On it."),
        *[begin(1, "srv", type="server_tool_use")],
    ],
    "a server call and one of ours": [START, *SERVER, *SERVER_RESULT, *call(2), *stop()],
    "an orphan result": [START, *words(0, "So."), *SERVER_RESULT, *stop("end_turn")],
    "a surrogate cut in two": [START, delta(0, text="\ud83d"), delta(0, text="\ude00"), *stop()],
    "empty": [START],
}


def validate(messages: list[Any]) -> None:
    """boto3's own check of its parameters."""
    report = ParamValidator().validate(
        {"modelId": "m", "messages": messages}, MODEL.operation_model("ConverseStream").input_shape
    )
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: boto3's types and the API's rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    validate(messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every event."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        settler = settle_natives(natives[:length])
        messages = settler.history(results(settler))
        assert check(messages) == []
        validate(messages)


BROKEN: dict[str, list[Any]] = {
    "a message without content": [],
    "a blank text block": [{"text": " "}],
    "reasoning without its signature": [
        {"reasoningContent": {"reasoningText": {"text": "x"}}},
        {"text": "x"},
    ],
    "a message that ends in reasoning": [{"reasoningContent": {"redactedContent": b"x"}}],
    "an id that is none": [{"toolUse": {"toolUseId": "", "name": "f", "input": {}}}],
    "a call whose input is no object": [{"toolUse": {"toolUseId": "a", "name": "f", "input": []}}],
    "calls and results differ": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}],
    "two calls with one id": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}] * 2,
    "a server call without its result": [
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {}, "type": "server_tool_use"}}
    ],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check([{"role": "assistant", "content": BROKEN[rule]}])


@pytest.mark.parametrize(
    "native",
    [
        None,
        "[DONE]",
        3,
        {},
        {"type": "message_start"},
        {"error": {"message": "x"}},
        START | METADATA,
    ],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """One key, and a name that Converse uses."""
    assert not recognises(native)


@settings(max_examples=150, deadline=None)
@given(case=st.sampled_from(CASES), data=st.data())
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(case.recording.to_dicts(), data))
    assert settler.stats.announced == len(settler.outcomes)
    # An id goes back byte for byte: one that was mangled on the way is the service's own.
    broken = set(check(settler.history(results(settler)))) - {"an id that is none"}
    assert broken == set()


def test_an_announcement_is_an_anomaly_only_once() -> None:
    """The same oddity of the same call is noted once."""
    settler = settle(START, *call(0), piece(0, " "), piece(0, " "), *stop())
    assert settler.anomalies.count(Anomaly("delta_after_end", "tooluse_a")) == 1


def test_a_server_call_whose_input_was_cut_goes_back_empty() -> None:
    """Its result stands beside it, and the API wants an object."""
    assert _input_of('{"query": "x"}') == {"query": "x"}
    assert _input_of("") == {}
    assert _input_of('{"query": "x') == {}
