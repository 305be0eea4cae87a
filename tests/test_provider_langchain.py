"""LangChain's chunks: pieces of calls by index and id, stop reasons by key, blocks of content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    ToolMessage,
    convert_to_messages,
    message_to_dict,
)
from langchain_core.outputs import ChatGenerationChunk

from finalcall import (
    AsyncTurn,
    Dispatchable,
    ExternalState,
    ReasoningDelta,
    Settler,
    TextDelta,
    Turn,
    Verdict,
)
from finalcall.providers.langchain import STOP_REASONS, VOCABULARIES, recognises
from tests.expectation import settled
from tests.history_rules.langchain import check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, outcomes_of, settle_natives

CASES = cases(FIXTURES / "langchain")
ARGUMENTS = '{"port": "Brest"}'
GOOD = ("call_a", "get_tide", "dispatchable", {"port": "Brest"})


def chunk(*pieces: Any, content: Any = "", **more: Any) -> dict[str, Any]:
    return {
        "type": "AIMessageChunk",
        "content": content,
        "additional_kwargs": {},
        "response_metadata": {},
        "tool_call_chunks": list(pieces),
        "usage_metadata": None,
        "chunk_position": None,
        **more,
    }


def piece(
    args: Any = None, call_id: Any = None, name: Any = None, index: Any = 0
) -> dict[str, Any]:
    return {"type": "tool_call_chunk", "name": name, "args": args, "id": call_id, "index": index}


def head(call_id: str = "call_a", index: Any = 0, name: str = "get_tide") -> dict[str, Any]:
    return piece("", call_id, name, index)


def whole(call_id: Any = "call_a", args: str = ARGUMENTS, name: Any = "get_tide") -> dict[str, Any]:
    """A call of an integration that gives calls whole: they have no index."""
    return piece(args, call_id, name, None)


def stop(word: str = "tool_calls", key: str = "finish_reason") -> dict[str, Any]:
    return chunk(response_metadata={key: word})


LAST = chunk(chunk_position="last")


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("langchain", **{"tools": None, **options})
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


WORDS = [(key, word) for key, table in VOCABULARIES.items() for word in table]


@pytest.mark.parametrize(("key", "word"), WORDS)
def test_every_providers_words_keep_their_verdict(key: str, word: str) -> None:
    """Under the key where its integration puts them."""
    settler = settle(chunk(whole()), stop(word, key))
    assert settler.stop_reason is not None
    assert settler.stop_reason.verdict is VOCABULARIES[key][word]
    assert STOP_REASONS[word] is VOCABULARIES[key][word]


@pytest.mark.parametrize("key", VOCABULARIES)
def test_words_that_no_table_has(key: str) -> None:
    """A stop reason fails closed; a status is only one where its word is known."""
    settler = settle(chunk(whole()), stop("new_word", key))
    verdict = None if settler.stop_reason is None else settler.stop_reason.verdict
    assert verdict is (None if key == "status" else Verdict.UNKNOWN)
    assert kinds(settler) == (["abandoned"] if key == "status" else ["truncated"])


def test_words_of_routers_are_read_in_any_case() -> None:
    """What is no provider's own word is looked for without regard to case."""
    assert kinds(settle(chunk(whole()), stop("LENGTH"))) == ["truncated"]
    assert kinds(settle(chunk(whole()), stop("Tool_Calls"))) == ["dispatchable"]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"status": "completed"}, "dispatchable"),
        ({"status": "completed", "incomplete_details": None}, "dispatchable"),
        ({"status": "incomplete"}, "truncated"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "truncated"),
        ({"status": "failed"}, "truncated"),
        ({"status": "in_progress"}, "abandoned"),
    ],
)
def test_a_response_says_its_status(metadata: Any, expected: str) -> None:
    """And the detail of one that is incomplete counts in its place."""
    settler = settle(chunk(whole()), chunk(response_metadata=metadata))
    assert kinds(settler) == [expected]
    if metadata.get("incomplete_details"):
        assert settler.stop_reason is not None
        assert settler.stop_reason.verdict is Verdict.FILTERED


STREAMS: dict[str, tuple[list[Any], list[str]]] = {
    "pieces": (
        [chunk(head()), chunk(piece(ARGUMENTS[:5])), chunk(piece(ARGUMENTS[5:])), stop()],
        ["dispatchable"],
    ),
    "whole": ([chunk(whole()), stop()], ["dispatchable"]),
    "whole, with its reason": (
        [chunk(whole(), response_metadata={"finish_reason": "STOP"})],
        ["dispatchable"],
    ),
    "two whole ones": ([chunk(whole(), whole("call_b")), stop()], ["dispatchable"] * 2),
    "two at once": (
        [
            chunk(head("a", 0), head("b", 1)),
            chunk(piece("{}", index=1)),
            chunk(piece("{}", index=0)),
            stop(),
        ],
        ["dispatchable"] * 2,
    ),
    "an id for every piece": (
        [chunk(head("a")), chunk(piece("{", "b")), chunk(piece("}", "c")), stop()],
        ["dispatchable"],
    ),
    "an id that is no id": (
        [chunk(head()), chunk(piece("{", "null", "")), chunk(piece("}", "null", "")), stop()],
        ["dispatchable"],
    ),
    "a name in pieces": (
        [chunk(head(name="get_")), chunk(piece("", name="tide")), chunk(piece("{}")), stop()],
        ["dispatchable"],
    ),
    "no arguments": ([chunk(head()), stop()], ["dispatchable"]),
    "a cut call that looks like a shorter one": (
        [chunk(head()), chunk(piece('{"a": 1, "b": "x')), stop()],
        ["unparseable"],
    ),
    "a ceiling": ([chunk(head()), chunk(piece(ARGUMENTS)), stop("length")], ["truncated"]),
    "only the chunk marked last": ([chunk(head()), chunk(piece(ARGUMENTS)), LAST], ["abandoned"]),
    "no end": ([chunk(head()), chunk(piece(ARGUMENTS))], ["abandoned"]),
    "a call without a name": ([chunk(whole(name=None)), stop()], ["unparseable"]),
    "the same call after its reason": (
        [*[chunk(head()), chunk(piece(ARGUMENTS)), stop()] * 2],
        ["dispatchable"],
    ),
    "the same call after its reason, other text": (
        [chunk(head()), chunk(piece(ARGUMENTS)), stop(), chunk(head()), chunk(piece("{}")), stop()],
        ["unparseable"],
    ),
    "calls told again in the last chunk": (
        [
            chunk(head("minted")),
            chunk(piece("{")),
            chunk(piece("{")),
            chunk(whole(), chunk_position="last", response_metadata={"finish_reason": "STOP"}),
        ],
        ["dispatchable"],
    ),
    "other calls in the last chunk": (
        [chunk(whole("a")), chunk(whole("b", name="now"), chunk_position="last"), stop()],
        ["dispatchable"] * 2,
    ),
    "pieces whose arguments are lost": (
        [chunk(piece("{}", "a", "f", 0)), chunk(piece("{}", "b", None, 1)), stop("STOP")],
        ["abandoned"],
    ),
    "a refusal": (
        [chunk(whole(), content=[{"type": "refusal", "refusal": "No."}]), stop()],
        ["truncated"],
    ),
}

DICTS: dict[str, tuple[list[Any], list[str]]] = {
    "indexes that are words": (
        [
            chunk(head("a", "lc_x"), head("b", "lc_y")),
            chunk(piece("{}", index="lc_y")),
            chunk(piece("{}", index="lc_x")),
            stop(),
        ],
        ["dispatchable"] * 2,
    ),
    "arguments of another type": ([chunk(piece({"a": 1}, "a", "f")), stop()], ["dispatchable"]),
}
"""Streams that LangChain's own types do not take, but that its dumps in other languages have."""


def as_objects(natives: list[Any]) -> list[Any]:
    return [AIMessageChunk(**native) for native in natives]


def as_dumps(natives: list[Any]) -> list[Any]:
    return [message_to_dict(one) for one in as_objects(natives)]


def as_constructors(natives: list[Any]) -> list[Any]:
    return [dumpd(one) for one in as_objects(natives)]


FORMS = [list, as_objects, as_dumps, as_constructors]


@pytest.mark.parametrize("form", FORMS, ids=["dicts", "objects", "dumps", "constructors"])
@pytest.mark.parametrize("name", STREAMS)
def test_what_a_stream_settles_as(name: str, form: Any) -> None:
    """Whole, odd or broken: each announced call has the outcome that the stream proves."""
    events, expected = STREAMS[name]
    natives = form(events)
    settler = Settler(tools=None)
    for native in natives:
        assert sum(event.native is native for event in settler.feed(native)) == 1
    settler.end()
    assert settler.provider == "langchain"
    assert kinds(settler) == expected


@pytest.mark.parametrize("name", DICTS)
def test_what_only_dicts_can_hold(name: str) -> None:
    """Indexes that are words, and arguments that are no text."""
    events, expected = DICTS[name]
    assert kinds(settle(*events)) == expected


@pytest.mark.parametrize("form", FORMS[1:], ids=["objects", "dumps", "constructors"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_form_of_a_recording_settles_alike(form: Any, case: Case) -> None:
    """Objects, and both of LangChain's dumps of them."""
    settler = settle_natives(form(case.recording.to_dicts()), case.tools())
    assert outcomes(settler) == case.expected()


class Scripted(GenericFakeChatModel):
    """A model whose stream is a list of chunks."""

    chunks: list[Any]

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for one in self.chunks:
            yield ChatGenerationChunk(message=one)


def scripted(*natives: Any) -> Scripted:
    return Scripted(messages=iter([]), chunks=as_objects(list(natives)))


async def test_the_streams_of_a_model_are_taken_as_they_are() -> None:
    """Both of them, with the chunk that LangChain itself puts at the end."""
    model = scripted(chunk(head()), chunk(piece(ARGUMENTS)), stop())
    with Turn(model.stream("go"), tools=None) as turn:
        last = [event.native for event in turn][-2]
    assert last.chunk_position == "last"
    assert outcomes_of(turn) == [GOOD]
    async with AsyncTurn(model.astream("go"), tools=None) as aturn:
        async for _ in aturn:
            pass
    assert outcomes_of(aturn) == [GOOD]


def test_a_broken_stream_gets_a_last_chunk_all_the_same() -> None:
    """So that chunk proves nothing."""
    model = scripted(chunk(head()), chunk(piece(ARGUMENTS)))
    with Turn(model.stream("go"), tools=None, raises=False) as turn:
        positions = [event.native.chunk_position for event in turn if event.native]
    assert positions[-1] == "last"
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]


def test_a_last_chunk_brings_the_providers_own_ids() -> None:
    """Where an integration minted one for every piece."""
    last = chunk(whole("own"), chunk_position="last", response_metadata={"finish_reason": "STOP"})
    settler = settle(chunk(head("minted")), chunk(piece("{")), last)
    assert outcomes(settler) == [("own", *GOOD[1:])]


def test_a_last_chunk_may_name_a_call_and_nothing_else() -> None:
    """Its arguments came before, and none is taken back."""
    last = chunk(whole(args=""), chunk_position="last")
    settler = settle(chunk(head()), chunk(piece(ARGUMENTS)), last, stop())
    assert outcomes(settler) == [GOOD]


PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'
LAST_CALLS: dict[str, tuple[list[Any], Any]] = {
    "the next index": ([piece(PARIS, "a", "f", 0)], piece(ROME, "b", "f", 1)),
    "no indexes": ([piece(PARIS, "a", "f", None)], piece(ROME, "b", "f", None)),
    "no indexes and no ids": ([piece(PARIS, None, "f", None)], piece(ROME, None, "f", None)),
    "an index only before": ([piece(PARIS, "a", "f", 0)], piece(ROME, "b", "f", None)),
    "the same index": ([piece(PARIS, "a", "f", 0)], piece(ROME, "b", "f", 0)),
    "after pieces": (
        [piece("", "a", "f", 0), piece(PARIS[:5]), piece(PARIS[5:], "a")],
        piece(ROME, "b", "f", None),
    ),
    "after pieces without an id": (
        [piece("", "a", "f", 0), piece(PARIS, "null", "")],
        piece(ROME, "b", "f", None),
    ),
}


def test_a_last_chunk_may_state_a_call_again_without_an_id() -> None:
    """The same name and text are the same call, where nobody gave it an id."""
    last = chunk(whole(None), chunk_position="last", response_metadata={"finish_reason": "STOP"})
    settler = settle(chunk(head("")), chunk(piece(ARGUMENTS)), last)
    assert outcomes(settler) == [(None, *GOOD[1:])]


@pytest.mark.parametrize("prefix", ["lc_run--", "run-"])
def test_chunks_of_two_runs_in_one_stream(prefix: str) -> None:
    """Two messages of models, as graphs merge them: no call of either is trusted."""
    first, second = (
        [
            chunk(head(call_id), id=prefix + call_id),
            chunk(piece(ARGUMENTS), id=prefix + call_id),
            {**stop(), "id": prefix + call_id},
        ]
        for call_id in ("a", "b")
    )
    for events in (
        [*first, *second],
        [one for pair in zip(first, second, strict=True) for one in pair],
    ):
        settler = settle(*events)
        assert {one[2] for one in outcomes(settler)} == {"abandoned"}
        assert "spliced_stream" in [anomaly.name for anomaly in settler.anomalies]


def test_ids_of_other_kinds_are_no_second_run() -> None:
    """Integrations name a message, a response and its items in turns."""
    natives = [chunk(head()), chunk(piece(ARGUMENTS)), stop()]
    ids = ["resp_1", "lc_run--1", "msg_1"]
    settler = settle(
        *[{**native, "id": one} for native, one in zip(natives, ids, strict=True)],
        chunk(chunk_position="last", id="lc_run--2"),
    )
    assert outcomes(settler) == [GOOD]


@pytest.mark.parametrize("name", LAST_CALLS)
def test_the_last_chunk_may_bring_another_call_of_the_same_tool(name: str) -> None:
    """A call that came whole under an id of its own is not the one that comes last."""
    before, entry = LAST_CALLS[name]
    last = chunk(entry, chunk_position="last", response_metadata={"finish_reason": "tool_calls"})
    settler = settle(*map(chunk, before), last)
    assert [one[2:] for one in outcomes(settler)] == [
        ("dispatchable", {"city": "Paris"}),
        ("dispatchable", {"city": "Rome"}),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hm", "hm"),
        ([{"type": "thinking", "thinking": "hm"}], "hm"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], "hm"),
        ([{"type": "reasoning", "reasoning": "hm"}], "hm"),
        ([{"type": "reasoning", "summary": [{"text": "h"}, {"text": "m"}]}], "hm"),
        ([{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}], "hm"),
        ([{"type": "text", "text": "hm"}], "hm"),
        (["hm"], "hm"),
    ],
)
def test_content_is_read_in_every_shape(content: Any, text: str) -> None:
    """What is thought is reasoning, what is said is text."""
    settler = Settler("langchain", tools=None)
    (event,) = settler.feed(chunk(content=content))
    said = isinstance(content, str) or content[0] == "hm" or content[0]["type"] == "text"
    assert isinstance(event, TextDelta if said else ReasoningDelta)
    assert event.text == text
    assert settler.text == (text if said else "")


def test_reasoning_beside_the_content() -> None:
    """Several integrations put it into `additional_kwargs`; it goes back there."""
    thought = [chunk(additional_kwargs={"reasoning_content": text}) for text in ("h", "m")]
    settler = Settler("langchain", tools=None)
    (event,) = settler.feed(thought[0])
    assert isinstance(event, ReasoningDelta)
    for native in (thought[1], chunk(content="So."), stop("stop")):
        settler.feed(native)
    settler.end()
    (message,) = settler.history()
    assert message["additional_kwargs"] == {"reasoning_content": "hm"}


def test_usage_is_a_sum() -> None:
    """LangChain's counts are increments."""
    counts = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    more = {"input_tokens": 0, "output_tokens": 15, "total_tokens": 15}
    settler = settle(chunk(usage_metadata=counts), chunk(usage_metadata=more))
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 20)


SERVER_CALL = {"type": "server_tool_use", "id": "srv", "name": "search", "input": {}, "index": 0}
SERVER_RESULT = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [], "index": 1}


@pytest.mark.parametrize(
    ("blocks", "state"),
    [
        ([SERVER_CALL], ExternalState.UNKNOWN),
        ([SERVER_CALL, SERVER_RESULT], ExternalState.DONE),
        ([SERVER_CALL, {**SERVER_RESULT, "is_error": True}], ExternalState.FAILED),
        ([SERVER_CALL, {**SERVER_RESULT, "status": "error"}], ExternalState.FAILED),
        ([SERVER_CALL, {**SERVER_RESULT, "content": {"type": "x_error"}}], ExternalState.FAILED),
        ([{"type": "mcp_call", "id": "m", "status": "completed"}], ExternalState.DONE),
        ([{"type": "mcp_call", "id": "m", "status": "failed"}], ExternalState.FAILED),
        ([{"type": "executable_code", "executable_code": "1"}], ExternalState.UNKNOWN),
        ([{"type": "code_execution_result"}], ExternalState.UNKNOWN),
        (
            [
                {"type": "executable_code"},
                {"type": "code_execution_result", "outcome": "OUTCOME_OK"},
            ],
            ExternalState.DONE,
        ),
        (
            [
                {"type": "executable_code"},
                {"type": "code_execution_result", "outcome": "OUTCOME_FAILED"},
            ],
            ExternalState.FAILED,
        ),
    ],
)
def test_calls_that_the_provider_runs_are_external(blocks: list[Any], state: ExternalState) -> None:
    """They are blocks of content, and never an outcome."""
    settler = settle(*[chunk(content=[block]) for block in blocks], stop("end_turn", "stop_reason"))
    assert settler.outcomes == []
    assert [one.state for one in settler.external_calls] == [state]


def test_a_server_calls_pieces_are_nobody_elses() -> None:
    """One integration gives them as if they were a client call's, without its head."""
    settler = settle(
        chunk(content=[SERVER_CALL]),
        chunk(piece('{"q":')),
        chunk(piece("1}")),
        chunk(head(index=2)),
        chunk(piece(ARGUMENTS, index=2)),
        stop("tool_use", "stopReason"),
    )
    assert outcomes(settler) == [GOOD]


@pytest.mark.parametrize(
    "native",
    [
        chunk(content=[{"type": "reasoning", "reasoning": 3}]),
        chunk(content=[{"type": "server_tool_use", "id": None}]),
        chunk(content=[3, {"no": "type"}]),
        chunk(additional_kwargs=[1]),
        chunk(usage_metadata={"input_tokens": None}),
        chunk(response_metadata=[1]),
    ],
    ids=["reasoning", "server call", "content", "kwargs", "usage", "metadata"],
)
def test_fields_of_the_wrong_type_read_as_absent(native: Any) -> None:
    """They say nothing, and stop nothing."""
    settler = settle(native, chunk(content="So."), stop("stop"))
    assert settler.text == "So."
    assert "So." in str(settler.history()[0]["content"])
    assert settler.verdict == "done"


CUSTOM = {"type": "custom_tool_call", "call_id": "call_c", "name": "run_sql", "input": "select 1"}
CUSTOM_CHUNK = chunk(
    piece(json.dumps({"__arg1": "select 1"}), "call_c", "run_sql", 3), content=[CUSTOM]
)
SQL = {"type": "custom", "name": "run_sql"}


def test_custom_calls_are_free_text() -> None:
    """LangChain wraps it in JSON; the block beside it has it as it is."""
    settler = settle(CUSTOM_CHUNK, chunk(response_metadata={"status": "completed"}), tools=[SQL])
    assert outcomes(settler) == [("call_c", "run_sql", "dispatchable", {"input": "select 1"})]
    assistant, answer = settler.history({"call_c": "1"})
    assert assistant["content"] == [CUSTOM]
    assert assistant["tool_calls"][0]["args"] == {"__arg1": "select 1"}
    assert answer["content"] == [{"type": "custom_tool_call_output", "output": "1"}]


def delta(text: str, index: Any = 0) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text, "index": index}


BLOCKS: dict[str, list[Any]] = {
    "beside empty arguments": [chunk(piece(""), content=[delta(ARGUMENTS)])],
    "beside no arguments": [chunk(piece(), content=[delta(ARGUMENTS)])],
    "beside nothing": [chunk(content=[delta(ARGUMENTS[:9]), delta(ARGUMENTS[9:])])],
    "beside the same arguments": [chunk(piece(ARGUMENTS), content=[delta(ARGUMENTS)])],
    "in turns": [
        chunk(piece(ARGUMENTS[:9]), content=[delta(ARGUMENTS[:9])]),
        chunk(piece(""), content=[delta(ARGUMENTS[9:])]),
    ],
    "beside a server call's": [
        chunk(content=[{**SERVER_CALL, "index": 1}]),
        chunk(content=[delta(ARGUMENTS), delta('{"q": 1}', 1)]),
    ],
    "beside a block of nobody's": [chunk(piece(ARGUMENTS), content=[delta("{}", 5)])],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_arguments_that_stand_in_blocks(name: str) -> None:
    """They are mostly the same as the call's own, and count where that has none."""
    settler = settle(chunk(head()), *BLOCKS[name], stop("tool_use", "stop_reason"))
    assert outcomes(settler) == [GOOD]


@pytest.mark.parametrize(
    ("args", "block"), [("", ARGUMENTS), (ARGUMENTS, ARGUMENTS)], ids=["only there", "there too"]
)
def test_arguments_in_blocks_of_a_call_without_an_index(args: str, block: str) -> None:
    """The block's index is then no other call's."""
    native = chunk(whole(args=args), content=[delta(block)])
    assert outcomes(settle(native, stop("tool_use", "stop_reason"))) == [GOOD]


def function(**fields: Any) -> dict[str, Any]:
    return chunk(additional_kwargs={"function_call": fields})


def test_the_deprecated_function_call_is_a_call() -> None:
    """It has no chunks and no id, comes in pieces, and is answered by name."""
    pieces = [function(name="get_tide", arguments=""), function(arguments=ARGUMENTS)]
    settler = settle(*pieces, stop("function_call"))
    assert outcomes(settler) == [(None, *GOOD[1:])]
    assert settler.verdict == "dispatch"
    messages = settler.history({settler.outcomes[0]: KeyError("x")})
    called, answer = convert_to_messages(messages)
    legacy = called.additional_kwargs["function_call"]
    assert legacy == {"name": "get_tide", "arguments": ARGUMENTS}
    assert isinstance(answer, FunctionMessage)
    assert (answer.name, str(answer.content)[:6]) == ("get_tide", "Error:")
    assert check(messages) == []


def test_a_function_call_that_mirrors_a_call_is_not_another() -> None:
    """Integrations keep the field beside the chunks that they make of it."""
    mirror = {"function_call": {"name": "get_tide", "arguments": ARGUMENTS}}
    settler = settle(chunk(whole(), additional_kwargs=mirror), stop())
    assert outcomes(settler) == [GOOD]
    assert [one["type"] for one in settler.history(results(settler))] == ["ai", "tool"]


def test_a_failed_tool_is_flagged() -> None:
    """LangChain has a status for it."""
    settler = settle(chunk(whole()), stop())
    (*_, answer) = convert_to_messages(settler.history({"call_a": KeyError("x")}))
    assert isinstance(answer, ToolMessage)
    assert (answer.status, answer.tool_call_id) == ("error", "call_a")


def test_the_message_is_what_adding_the_chunks_makes() -> None:
    """Text, signed thinking and signatures of calls, as LangChain's own `+` joins them."""
    natives = [
        chunk(content=[{"type": "thinking", "thinking": "h", "index": 0}]),
        chunk(content=[{"type": "thinking", "thinking": "m", "index": 0}]),
        chunk(content=[{"type": "thinking", "signature": "c2ln", "thinking": "", "index": 0}]),
        chunk(content=[{"type": "text", "text": "So", "index": 1}]),
        chunk(content=[{"type": "text", "text": ".", "index": 1, "citations": [{"a": 1}]}]),
        chunk(additional_kwargs={"signatures": {"call_a": "x"}}),
        chunk(additional_kwargs={"signatures": {"call_b": "y"}}),
        chunk(whole()),
        stop(),
    ]
    total: Any = sum(as_objects(natives[1:]), start=as_objects(natives)[0])
    settler = settle(*natives)
    message = convert_to_messages(settler.history(results(settler)))[0]
    assert isinstance(message, AIMessage)
    assert message.content == total.content
    assert message.additional_kwargs == total.additional_kwargs
    assert message.response_metadata == total.response_metadata
    assert message.tool_calls == total.tool_calls


HISTORIES: dict[str, list[Any]] = {
    "clean": [chunk(content="On it."), chunk(whole()), stop()],
    "two calls": [chunk(whole("a"), whole("b")), stop()],
    "one invalid": [chunk(whole("a"), whole("b", "[]")), stop()],
    "a function call": [
        chunk(additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        stop("function_call"),
    ],
    "one unparseable": [chunk(whole("a"), whole("b", "{")), stop()],
    "one without an id": [chunk(whole("a"), whole("")), stop()],
    "truncated": [chunk(content="On it."), chunk(whole()), stop("length")],
    "truncated without text": [chunk(whole()), stop("length")],
    "text in blocks": [
        chunk(content=[{"type": "text", "text": "On it.", "index": 0}]),
        stop("stop"),
    ],
    "text in both shapes": [
        chunk(content="On it."),
        chunk(content=[{"type": "text", "text": "x", "annotations": [], "index": 1}]),
        stop("stop"),
    ],
    "the call's block": [
        chunk(whole(), content=[{"type": "tool_use", "id": "call_a", "name": "f", "input": {}}]),
        stop("max_tokens", "stop_reason"),
    ],
    "blank text": [chunk(content=[{"type": "text", "text": " ", "index": 0, "id": "m"}]), stop()],
    "unsigned thinking": [
        chunk(content=[{"type": "thinking", "thinking": "hm", "index": 0}]),
        chunk(content=[{"type": "text", "text": "So.", "index": 1}]),
    ],
    "reasoning before a failed call": [
        chunk(content=[{"type": "text", "text": "So.", "index": 0}]),
        chunk(content=[{"type": "reasoning", "id": "rs", "summary": [], "index": 1}]),
        chunk(whole(args="{")),
        stop(),
    ],
    "reasoning before a call": [
        chunk(
            content=[{"type": "reasoning", "id": "rs", "summary": [], "status": "x", "index": 1}]
        ),
        chunk(whole()),
        stop(),
    ],
    "a summary for display": [
        chunk(content=[{"type": "reasoning", "summary": [{"text": "h", "index": 0}], "index": 0}]),
        chunk(content=[{"type": "text", "text": "So.", "index": 1}]),
        stop("stop"),
    ],
    "cut in a server call": [
        chunk(content=[SERVER_CALL]),
        chunk(content=[{"type": "text", "text": "x", "index": 2}]),
    ],
    "a server call": [chunk(content=[SERVER_CALL]), chunk(content=[SERVER_RESULT]), stop("stop")],
    "code and no result": [chunk(content=[{"type": "executable_code", "index": 0}]), stop("STOP")],
    "code and its result": [
        chunk(content=[{"type": "executable_code", "index": 0}]),
        chunk(content=[{"type": "code_execution_result", "index": 0}]),
        stop("STOP"),
    ],
    "Bedrock's reasoning": [
        chunk(
            content=[{"type": "reasoning_content", "reasoning_content": {"text": "h"}, "index": 0}]
        ),
        chunk(
            content=[
                {"type": "reasoning_content", "reasoning_content": {"signature": "s"}, "index": 0}
            ]
        ),
        chunk(whole()),
        stop("tool_use", "stopReason"),
    ],
    "a failed custom call": [CUSTOM_CHUNK, chunk(response_metadata={"status": "incomplete"})],
    "a surrogate cut in two": [chunk(content="\ud83d"), chunk(content="\ude00"), stop("stop")],
    "nothing": [chunk()],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and every failure: LangChain's types and the services' rules hold."""
    settler = settle(*HISTORIES[name])
    messages = settler.history(results(settler))
    assert check(messages) == []
    assert len(convert_to_messages(messages)) == len(messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every event."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        settler = settle_natives(natives[:length])
        messages = settler.history(results(settler))
        assert check(messages) == []
        assert len(convert_to_messages(messages)) == len(messages)


def test_a_paused_message_goes_back_unchanged() -> None:
    """Its open server call stays in it."""
    settler = settle(chunk(content=[SERVER_CALL]), stop("pause_turn", "stop_reason"))
    assert settler.verdict == "resume"
    messages = settler.history()
    assert messages[0]["content"] == [SERVER_CALL]
    assert check(messages, paused=True) == []


def _says(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": "ai", "content": list(blocks), **more}


def _asks(call_id: str, args: Any) -> dict[str, Any]:
    return {"tool_calls": [{"type": "tool_call", "id": call_id, "name": "f", "args": args}]}


BROKEN: dict[str, dict[str, Any]] = {
    "calls and results differ": _says("x", **_asks("a", {})) | {"content": "x"},
    "a message without content and calls": _says(),
    "a call whose arguments are no object": _says(**_asks("a", "{}")),
    "an id that is none, or not its own": _says(**_asks("", {})),
    "a blank text block": _says({"type": "text", "text": " "}),
    "reasoning without its signature": _says({"type": "thinking", "thinking": "x"}),
    "a server call without its result": _says(SERVER_CALL),
    "a message that ends in reasoning": _says({"type": "reasoning", "id": "x"}),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check([BROKEN[rule]])


@pytest.mark.parametrize(
    "native",
    [None, "[DONE]", {}, {"type": "ai", "content": ""}, AIMessage(""), (AIMessageChunk(""), {})],
)
def test_other_first_events_are_not_claimed(native: Any) -> None:
    """A chunk, and by itself."""
    assert not recognises(native)


@settings(max_examples=150, deadline=None)
@given(case=st.sampled_from(CASES), data=st.data())
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields of other types or gone, events twice or moved: announced = outcomes."""
    settler = settle(*mutated(case.recording.to_dicts(), data))
    assert settler.stats.announced == len(settler.outcomes)
    assert check(settler.history(results(settler))) == []
