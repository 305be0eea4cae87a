"""Anthropic Messages: where input may stand, what counts once, what is not a client call."""

from __future__ import annotations

import copy
from typing import Any, get_args

import pytest
from anthropic.types import MessageParam, StopReason
from anthropic.types.beta import BetaMessageParam, BetaStopReason
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from finalcall import (
    Anomaly,
    CallWithdrawn,
    Dispatchable,
    ExternalState,
    Failed,
    ReasoningDelta,
    Settler,
    Verdict,
)
from finalcall.providers.anthropic import STOP_REASONS
from tests.expectation import settled
from tests.history_rules.anthropic import check
from tests.messages import CLEAN, call, message_start, stopped, text, to_sse
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "anthropic")
MESSAGE: TypeAdapter[Any] = TypeAdapter(MessageParam)
BETA_MESSAGE: TypeAdapter[Any] = TypeAdapter(BetaMessageParam)


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("anthropic", **{"tools": None, **options})
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def words(settler: Settler) -> list[Any]:
    return [settled(outcome) for outcome in settler.outcomes]


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def test_every_stop_reason_of_the_sdk_has_a_verdict() -> None:
    """The table holds exactly the SDK's values: a new one fails here and UNKNOWN in the field."""
    assert set(STOP_REASONS) == set(get_args(StopReason)) | set(get_args(BetaStopReason))


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word"])
def test_only_complete_stop_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    settler = settle(message_start(), *call(0), *stopped(word))
    assert isinstance(settler.outcomes[0], Dispatchable) is runs


def test_input_given_at_the_start() -> None:
    """Programmatic calls bring their whole input with the announcement."""
    given = call(0, arguments="", input={"title": "x"})
    assert words(settle(message_start(), *given, *stopped())) == [
        ("toolu_1", "create_ticket", "dispatchable", {"title": "x"})
    ]


def test_fragments_replace_input_given_at_the_start() -> None:
    """Deltas are the authoritative text when any is not empty."""
    both = call(0, arguments='{"title": "y"}', input={"title": "x"})
    assert words(settle(message_start(), *both, *stopped()))[0][3] == {"title": "y"}


def test_calls_inside_message_start() -> None:
    """A follow-up message may hold its calls and its stop reason from the start."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
    whole = message_start(content=[block], stop_reason="tool_use")
    assert words(settle(whole, {"type": "message_stop"})) == [
        ("toolu_1", "f", "dispatchable", {"a": 1})
    ]


def test_the_helpers_second_telling_is_not_counted() -> None:
    """Derived events repeat a raw one; their snapshot is never read."""
    told_twice = []
    for event in call(0):
        told_twice.append(event)
        if event["type"] == "content_block_delta":
            piece = event["delta"]["partial_json"]
            told_twice.append({"type": "input_json", "partial_json": piece, "snapshot": {"z": 1}})
    settler = settle(message_start(), *told_twice, *stopped())
    assert words(settler)[0][3] == {"title": "x"}


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "next_years_tool_use"])
@pytest.mark.parametrize("result_kind", ["web_search_tool_result", "tool_result"])
def test_server_calls_are_external(kind: str, result_kind: str) -> None:
    """Their input comes in the same deltas, and they are never an outcome."""
    result = {"type": result_kind, "tool_use_id": "srv_1", "content": []}
    server = call(0, "srv_1", '{"query": "x"}', "web_search", kind=kind)
    settler = settle(message_start(), *server, start(1, **result), *stopped("end_turn"))
    assert settler.outcomes == []
    (external,) = settler.external_calls
    assert (external.name, external.state) == ("web_search", ExternalState.DONE)
    assert settler.verdict == "done"


@pytest.mark.parametrize(
    "content",
    [{"type": "web_search_tool_result_error", "error_code": "x"}, None],
    ids=["error content", "is_error"],
)
def test_a_failed_server_call_says_so(content: Any) -> None:
    """Either by the type of its content or by its flag."""
    result = start(
        1, type="mcp_tool_result", tool_use_id="srv_1", content=content, is_error=content is None
    )
    server = call(0, "srv_1", "{}", "web_search", kind="server_tool_use")
    settler = settle(message_start(), *server, result, *stopped("end_turn"))
    assert settler.external_calls[0].state is ExternalState.FAILED


def test_a_stream_that_dies_leaves_its_server_calls_unknown() -> None:
    """They may have run."""
    settler = settle(message_start(), *call(0, "srv_1", "{}", "x", kind="server_tool_use"))
    assert settler.external_calls[0].state is ExternalState.UNKNOWN


def test_a_call_before_a_fallback_is_abandoned() -> None:
    """Another model took over: what the first one wrote may be cut."""
    settler = settle(
        message_start(), *call(0, "a"), start(1, type="fallback"), *call(2, "b"), *stopped()
    )
    assert [one[2] for one in words(settler)] == ["abandoned", "dispatchable"]


def test_a_call_is_withdrawn_once_however_many_fallbacks_come() -> None:
    """A stream of them costs no more than its length."""
    settler = Settler("anthropic", tools=None)
    for event in [message_start(), *call(0, "a"), *call(1, "a"), *call(2, "")]:
        settler.feed(event)
    events = [event for index in (3, 4) for event in settler.feed(start(index, type="fallback"))]
    withdrawn = [event.call.key for event in events if isinstance(event, CallWithdrawn)]
    assert len(withdrawn) == len(set(withdrawn)) == 3


def test_a_call_that_the_stream_answers_is_not_the_clients() -> None:
    """Whoever ran it has run it; its siblings stay."""
    result = start(1, type="tool_result", tool_use_id="a", content="ok")
    settler = settle(message_start(), *call(0, "a"), result, *call(2, "b"), *stopped())
    assert [one[2] for one in words(settler)] == ["abandoned", "dispatchable"]
    (external,) = settler.external_calls
    assert (external.call_id, external.name, external.state) == (
        "a",
        "create_ticket",
        ExternalState.DONE,
    )
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert check(settler.history(results)) == []
    assert "'a'" not in str(settler.history(results))


def test_two_blocks_may_have_the_same_id() -> None:
    """Keys stay unique; both calls settle."""
    settler = settle(message_start(), *call(0, "same"), *call(1, "same"), *stopped())
    assert [outcome.call_id for outcome in settler.outcomes] == ["same", "same"]
    assert len({outcome.key for outcome in settler.outcomes}) == 2
    assert Anomaly("duplicate_call_id", settler.outcomes[1].key) in settler.anomalies


def test_a_call_announced_twice_is_matched_not_appended() -> None:
    """The same block again with the same text is one call; with another text it is nothing."""
    again = settle(message_start(), *call(0), *call(0), *stopped())
    assert [one[2] for one in words(again)] == ["dispatchable"]
    other = settle(message_start(), *call(0), *call(0, arguments='{"title": "y"}'), *stopped())
    assert [one[2] for one in words(other)] == ["unparseable"]


ERRORS = {
    "overloaded_error": {"type": "error", "error": {"type": "overloaded_error"}},
    "api_error": {"error": {"type": "api_error", "message": "S3NT1N3L"}},
    "error": {"error": "S3NT1N3L"},
    "throttlingException": {"throttlingException": {"message": "S3NT1N3L"}},
    "InternalServerError": {"InternalServerError": {}},
}
"""By their code. Amazon Bedrock frames the same events, and names each error in its own way."""


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_in_the_stream_voids_the_stop_reason(code: str) -> None:
    """With its type or without; what it says stays out of what is raised."""
    settler = settle(message_start(), *call(0), stopped()[0], ERRORS[code])
    assert [one[2] for one in words(settler)] == ["abandoned"]
    assert settler.ending is not None
    assert settler.ending.code == code
    assert "S3NT1N3L" not in repr(settler.error)


def test_an_event_that_is_named_error_is_one() -> None:
    """Its data need not say so again."""
    settler = Settler("anthropic", tools=None)
    settler.feed(to_sse([message_start(), *call(0), stopped()[0]]))
    settler.feed(b'event: error\ndata: {"error":{"type":"api_error"}}\n\n')
    settler.end()
    assert [one[2] for one in words(settler)] == ["abandoned"]


def test_a_repeated_message_start_is_no_second_message() -> None:
    """The same id again, before anything came."""
    settler = settle(message_start(), message_start(), *call(0), *stopped())
    assert settler.verdict == "dispatch"
    assert Anomaly("message_restarted") in settler.anomalies


@pytest.mark.parametrize("index", [0, 3, None])
def test_a_message_that_is_told_again_tells_the_same_calls(index: int | None) -> None:
    """Whatever the indexes of its blocks are now; another text proves neither."""
    once = [*call(0), stopped()[0]]
    for arguments, outcome in (('{"title": "x"}', "dispatchable"), ('{"a": 1}', "unparseable")):
        again = [
            {**event, "index": index} if "index" in event else event
            for event in call(0, arguments=arguments)
        ]
        settler = settle(message_start(), *once, message_start(), *again, *stopped())
        assert [one[2] for one in words(settler)] == [outcome]


def test_a_message_that_is_told_again_may_hold_more() -> None:
    """A call without an id, or with an id of its own, is none of those before."""
    first, new = call(0), call(1, "toolu_2")
    settler = settle(
        message_start(), *first, message_start(), *first, *new, *call(2, ""), *stopped()
    )
    assert [one[0] for one in words(settler)] == ["toolu_1", "toolu_2", None]


def test_a_message_start_that_comes_late() -> None:
    """What came before it is of the same message, and may come again."""
    first, *rest = call(0)
    settler = settle(first, message_start(), *rest, *stopped())
    assert [one[2] for one in words(settler)] == ["dispatchable"]
    settler = settle(*call(0), stopped()[0], message_start(), *call(0), *stopped())
    assert [one[2] for one in words(settler)] == ["dispatchable"]


def test_a_fragment_for_a_call_that_nobody_announced() -> None:
    """It is announced without a name and fails; its siblings are unharmed."""
    settler = settle(
        message_start(),
        *call(0),
        delta(7, type="input_json_delta", partial_json="{}"),
        {"type": "content_block_stop", "index": 7},
        *stopped(),
    )
    assert [one[2] for one in words(settler)] == ["dispatchable", "unparseable"]


def test_an_announcement_after_its_fragments() -> None:
    """Out of order, the pieces still find their call."""
    events = call(0)
    events[0], events[2] = events[2], events[0]
    assert [one[2] for one in words(settle(message_start(), *events, *stopped()))] == [
        "dispatchable"
    ]


def test_thinking_is_reasoning() -> None:
    """Thinking reaches a screen as reasoning, with its signature kept for the history."""
    settler = Settler(tools=None)
    settler.feed(message_start())
    settler.feed(start(0, type="thinking", thinking="", signature=""))
    (event,) = settler.feed(delta(0, type="thinking_delta", thinking="hm"))
    assert isinstance(event, ReasoningDelta)
    for native in (
        delta(0, type="signature_delta", signature="c2ln"),
        *text("Well.", 1),
        *stopped("end_turn"),
    ):
        settler.feed(native)
    (message,) = settler.history()
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Well."},
    ]


def test_a_container_goes_into_the_next_request() -> None:
    """Its id is a parameter, not a message."""
    ending = stopped()
    ending[0]["delta"]["container"] = {"id": "container_1", "expires_at": "x"}
    assert settle(message_start(), *call(0), *ending).request_fields == {"container": "container_1"}


def test_a_toolset_name_is_echoed_on_the_result() -> None:
    """A toolset's call is told apart by both names."""
    settler = settle(message_start(), *call(0, toolset_name="computer"), *stopped())
    (assistant, user) = settler.history({"toolu_1": "ok"})
    assert assistant["content"][0]["toolset_name"] == "computer"
    assert user["content"][0]["toolset_name"] == "computer"


def test_server_input_is_written_back_into_the_history() -> None:
    """The model sees its own call as it made it, not with the placeholder."""
    server = call(0, "srv_1", '{"query": "x"}', "web_search", kind="server_tool_use")
    result = start(1, type="web_search_tool_result", tool_use_id="srv_1", content=[])
    settler = settle(message_start(), *server, result, *stopped("end_turn"))
    (message,) = settler.history()
    assert message["content"][0]["input"] == {"query": "x"}


HISTORIES = {
    "clean": [*CLEAN],
    "two calls": [message_start(), *call(0, "a"), *call(1, "b"), *stopped()],
    "one invalid": [message_start(), *call(0, "a"), *call(1, "b", "[]"), *stopped()],
    "one unparseable": [message_start(), *call(0, "a"), *call(1, "b", "{"), *stopped()],
    "truncated": [message_start(), *text("On it."), *call(1), *stopped("max_tokens")],
    "truncated without text": [message_start(), *call(0), *stopped("max_tokens")],
    "cut": [message_start(), *text("On it."), *call(1)[:-2]],
    "cut in thinking": [
        message_start(),
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm"),
    ],
    "cut in a server call": [
        message_start(),
        *text("On it."),
        *call(1, "srv_1", '{"q', "web_search", kind="server_tool_use")[:-2],
    ],
    "refused": [message_start(), *text("No."), *stopped("refusal")],
    "empty": [message_start()],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    settler = settle(*copy.deepcopy(HISTORIES[name]))
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    messages = settler.history(results)
    assert check(messages) == []
    for message in messages:
        MESSAGE.validate_python(message)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every twentieth of its length, or at every event if it is short."""
    natives = case.recording.to_dicts()
    for length in (*range(0, len(natives), max(1, len(natives) // 20)), len(natives)):
        settler = settle_natives(natives[:length])
        results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
        messages = settler.history(results)
        assert check(messages, paused=settler.verdict == "resume") == []
        for message in messages:
            BETA_MESSAGE.validate_python(message)


def test_a_paused_message_goes_back_unchanged() -> None:
    """Its open server call stays in it."""
    server = call(0, "srv_1", '{"query": "x"}', "web_search", kind="server_tool_use")
    settler = settle(message_start(), *server, *stopped("pause_turn"))
    assert settler.verdict == "resume"
    (message,) = settler.history()
    assert message["content"][0]["id"] == "srv_1"


BROKEN = {
    "a blank text block": {"type": "text", "text": "\n"},
    "a thinking block without its signature": {"type": "thinking", "thinking": "x"},
    "a call whose input is no object": {"type": "tool_use", "id": "a", "name": "f", "input": []},
    "calls and results differ": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    "a server call without its result": {
        "type": "server_tool_use",
        "id": "a",
        "name": "f",
        "input": {},
    },
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check([{"role": "assistant", "content": [BROKEN[rule]]}])


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(allow_nan=True), st.text(max_size=3),
    st.just([]), st.just({}), st.just([None]), st.just({"type": None}), st.just({"type": ["x"]}),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(
    case=st.sampled_from([case for case in CASES if len(case.recording.events) < 60]),
    data=st.data(),
)
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields dropped or of the wrong type, events repeated or moved: announced = outcomes."""
    natives = copy.deepcopy(case.recording.to_dicts())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(natives) - 1))
        target = natives[position]
        match data.draw(st.sampled_from(["field", "inner", "repeat", "move", "replace"])):
            case "field":
                target[data.draw(st.sampled_from(sorted(target, key=str)))] = data.draw(JUNK)
            case "inner":
                inner = [value for value in target.values() if isinstance(value, dict) and value]
                if inner:
                    chosen = data.draw(st.sampled_from(inner))
                    chosen[data.draw(st.sampled_from(sorted(chosen, key=str)))] = data.draw(JUNK)
            case "repeat":
                natives.insert(position, copy.deepcopy(target))
            case "move":
                natives.insert(data.draw(st.integers(0, len(natives) - 1)), natives.pop(position))
            case _:
                natives[position] = {"type": "content_block_delta", "index": data.draw(JUNK)}
    settler = settle(*natives)
    assert settler.stats.announced == len(settler.outcomes)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert isinstance(settler.history(results), list)
    assert all(isinstance(one, Dispatchable | Failed) or one.errors for one in settler.outcomes)


def test_text_may_stand_in_the_start_of_its_block() -> None:
    """It counts as text like any other."""
    assert (
        settle(message_start(), start(0, type="text", text="Hi"), *stopped("end_turn")).text == "Hi"
    )


def test_an_index_may_be_taken_by_another_call() -> None:
    """The first call at it never got its own end."""
    settler = settle(message_start(), *call(0, "a", stop=False), *call(0, "b"), *stopped())
    assert [one[2] for one in words(settler)] == ["abandoned", "dispatchable"]


STRAY = delta(0, type="input_json_delta", partial_json='{"title": "x"}')
STRAYS = {
    "into a text block": [*text("On it."), STRAY, STRAY, *call(1, arguments="")],
    "into an open text block": [*text("On it.")[:-1], STRAY, text("")[-1], *call(1, arguments="")],
    "into a thinking block that took the index": [
        *call(0, arguments=""),
        start(0, type="thinking", thinking="", signature=""),
        STRAY,
    ],
    "into a server call that is closed": [
        *call(0, "srv_1", '{"q": 1}', "web_search", kind="server_tool_use"),
        STRAY,
        *call(1, arguments=""),
    ],
    "into a block that never began": [STRAY, *call(1, arguments="")],
}


def test_calls_without_ids_at_one_index_are_two_where_the_first_is_closed() -> None:
    """While it is open, or where its message is told again, the second is its replay."""
    two = [*call(0, ""), *call(0, "")]
    assert len(settle(message_start(), *two, *stopped()).outcomes) == 2
    told_again = [message_start(), *call(0, ""), message_start(), *call(0, ""), *stopped()]
    assert [one[2] for one in words(settle(*told_again))] == ["dispatchable"]
    opened = [call(0, "")[0], *call(0, "")]
    assert [one[2] for one in words(settle(message_start(), *opened, *stopped()))] == [
        "dispatchable"
    ]


@pytest.mark.parametrize("call_id", ["toolu_1", ""])
@pytest.mark.parametrize("piece", ['{"title": "x"}', '{"title":"x"}'])
def test_a_call_of_message_start_may_be_told_again_by_its_own_events(
    call_id: str, piece: str
) -> None:
    """It is one call, whether it has an id or not, and whatever blanks are in its text."""
    block = {"type": "tool_use", "id": call_id, "name": "create_ticket", "input": {"title": "x"}}
    settler = settle(message_start(content=[block]), *call(0, call_id, piece), *stopped())
    assert [one[2] for one in words(settler)] == ["dispatchable"]


@pytest.mark.parametrize("where", STRAYS)
def test_input_where_no_call_is_belongs_to_no_call(where: str) -> None:
    """It is in no text, and beside it the call that got none is not proved whole."""
    settler = settle(message_start(), *STRAYS[where], *stopped())
    assert {type(outcome) for outcome in settler.outcomes} == {Failed}
    assert sorted((outcome.name or "") for outcome in settler.outcomes) == ["", "create_ticket"]
    (stray,) = (outcome for outcome in settler.outcomes if not outcome.name)
    assert Anomaly("delta_for_unknown_call", stray.key) in settler.anomalies
    assert "title" not in str(settler.history())


def test_input_given_as_text_is_parsed_like_any_text() -> None:
    """Some gateways send a string where an object belongs."""
    given_text = call(0, arguments="", input='{"title": "x"}')
    assert words(settle(message_start(), *given_text, *stopped()))[0][3] == {"title": "x"}


@pytest.mark.parametrize(
    "piece",
    [
        {"type": "input_json_delta", "partial_json": {"title": "x"}},
        {"partial_json": '{"title": "x"}'},
    ],
    ids=["an object", "no type"],
)
def test_pieces_of_another_shape_are_pieces(piece: dict[str, Any]) -> None:
    """Else the call would run with no arguments at all."""
    events = [*call(0, arguments="", stop=False), delta(0, **piece), *call(0)[-1:]]
    assert words(settle(message_start(), *events, *stopped()))[0][3] == {"title": "x"}


def test_a_compaction_goes_back_as_it_came() -> None:
    """Whole in its start, or in pieces."""
    pieces = [
        start(0, type="compaction", content=None),
        delta(0, type="compaction_delta", content="Short."),
        start(1, type="compaction", content="Whole."),
    ]
    settler = settle(message_start(), *pieces, *stopped("compaction"))
    (message,) = settler.history()
    assert [block["content"] for block in message["content"]] == ["Short.", "Whole."]


def test_keys_stay_unique_whatever_the_ids() -> None:
    """An id may look like a key that was made up."""
    calls = [*call(0, "call-1"), *call(1, "call-1"), *call(2, "call-1"), *call(3, "call-2")]
    settler = settle(message_start(), *calls, *stopped())
    assert len({outcome.key for outcome in settler.outcomes}) == 4


def test_thinking_outside_of_any_block_is_shown_and_not_kept() -> None:
    """There is no signature to send it back with."""
    settler = Settler("anthropic", tools=None)
    (event,) = settler.feed(delta(3, type="thinking_delta", thinking="hm"))
    assert isinstance(event, ReasoningDelta)
    settler.end()
    assert settler.history() == []
