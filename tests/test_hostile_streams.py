"""Streams made to get a call run that is not proved whole, to lose one, or to raise."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic.types
import pytest

from finalcall import (
    AsyncTurn,
    CallAnnounced,
    Cause,
    Dispatchable,
    Failed,
    SchemaError,
    Settler,
    Turn,
)
from finalcall.usage import Usage
from tests.messages import CLEAN, ERROR, TOOLS, call, message_start, stopped, text, to_sse


def settle(*events: Any, provider: str | None = None, tools: Any = None, **options: Any) -> Settler:
    settler = Settler(provider, tools=tools, **options)
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def ran(settler: Settler | Turn) -> list[Any]:
    return [(one.name, one.args) for one in settler.outcomes if isinstance(one, Dispatchable)]


class APIError(Exception):
    """What an SDK raises for an error that the provider reported."""


class Stream:
    """An iterator that raises, and whose close() raises too."""

    def __init__(self, natives: list[Any], error: BaseException) -> None:
        self.natives = iter(natives)
        self.error = error

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        for native in self.natives:
            return native
        raise self.error

    def close(self) -> None:
        raise OSError("cannot be closed")


def test_a_close_that_fails_does_not_replace_the_streams_own_exception() -> None:
    """A provider's error voids a good stop reason, whatever closing says."""
    error = APIError()
    with Turn(Stream(CLEAN[:-1], error), tools=TOOLS, raises=False) as turn:
        list(turn)
    assert ran(turn) == []
    assert turn.ending is not None
    assert turn.ending.exception is error


@pytest.mark.parametrize("last", [ERROR, message_start("another")], ids=["error", "splice"])
def test_truncation_last_trusts_nothing_after_a_fault(last: Any) -> None:
    """A stream that failed proves no call."""
    events = [message_start(), *call(0, "a"), *call(1, "b"), stopped("max_tokens")[0], last]
    assert ran(settle(*events, truncation="last")) == []


def test_a_later_and_lower_usage_report_hides_no_ceiling() -> None:
    """Output is never taken back."""
    events = [message_start(), *call(0), stopped(output_tokens=50)[0], *stopped(output_tokens=0)]
    assert ran(settle(*events, ceiling=50)) == []
    usage = Usage(output_tokens=7)
    usage.output_tokens = 3
    usage.output_tokens = None
    assert usage == Usage(output_tokens=7)
    assert usage != 7
    assert repr(usage) == "Usage(input_tokens=None, output_tokens=7)"


def test_usage_at_the_ceiling_confirms_nothing() -> None:
    """unconfirmed="dispatch" is for services that never say why they stopped."""
    events = [message_start(), *call(0)]
    events.append({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}})
    assert ran(settle(*events, ceiling=50, unconfirmed="dispatch")) == []
    assert ran(settle(*events, ceiling=51, unconfirmed="dispatch")) != []


def test_half_an_event_at_the_end_confirms_nothing() -> None:
    """The bytes prove that the stream was cut."""
    data = to_sse([message_start(), *call(0)])
    assert ran(settle(data, unconfirmed="dispatch")) != []
    assert ran(settle(data, b'data: {"type": "mess', unconfirmed="dispatch")) == []


def test_two_ends_that_name_two_tools_prove_neither() -> None:
    """A call that ended as one tool does not become another."""
    ends = [
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {
                "type": "function_call",
                "id": "f",
                "call_id": "c",
                "name": name,
                "arguments": "{}",
            },
        }
        for name in ("read", "delete")
    ]
    created = {"type": "response.created", "response": {}}
    completed = {"type": "response.completed", "response": {"status": "completed"}}
    assert ran(settle(created, ends[0], completed)) == [("read", {})]
    assert ran(settle(created, *ends, completed)) == []


def bedrock(name: str) -> list[Any]:
    return [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"name": name}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
    ]


def cohere(name: str) -> list[Any]:
    function = {"function": {"name": name, "arguments": ""}}
    return [
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": function}}},
        {"type": "tool-call-end", "index": 0},
    ]


def xai(name: str) -> list[Any]:
    one = {"id": "c", "type": 1, "function": {"name": name, "arguments": "{}"}}
    return [{"outputs": [{"index": 0, "delta": {"tool_calls": [one]}}]}]


@pytest.mark.parametrize(
    ("provider", "make", "stop"),
    [
        ("anthropic", lambda name: call(0, "", "{}", name), stopped()[0]),
        ("bedrock-converse", bedrock, {"messageStop": {"stopReason": "tool_use"}}),
        ("cohere", cohere, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}),
        ("xai", xai, {"outputs": [{"index": 0, "delta": {}, "finish_reason": 4}]}),
    ],
)
def test_another_tool_at_the_same_place_is_another_call(
    provider: str, make: Any, stop: Any
) -> None:
    """Only the same tool with the same id is a replay: no call is lost to a repeated index."""
    settler = settle(*make("weather"), *make("time"), stop, provider=provider)
    assert [name for name, _ in ran(settler)] == ["weather", "time"]


def test_history_speaks_for_the_choice_that_settled() -> None:
    """A choice that only opened is not the first."""

    def chunk(index: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": index, "delta": delta, "finish_reason": reason}]}

    def entry(name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": "{}"}
        return {"tool_calls": [{"index": 0, "id": f"id-{name}", "function": function}]}

    settler = settle(
        chunk(0, {"role": "assistant"}),
        chunk(1, entry("one"), "tool_calls"),
        chunk(0, entry("zero"), "tool_calls"),
        "[DONE]",
    )
    (outcome,) = settler.outcomes
    assistant, tool = settler.history({outcome: "done"})
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == outcome.call_id


def test_a_call_that_ended_empty_takes_no_arguments_from_a_replay() -> None:
    """The second telling is another text than the first."""
    events = [*call(0, arguments=""), *call(0, arguments='{"a": 1}')]
    assert ran(settle(message_start(), *events, *stopped())) == []


@pytest.mark.parametrize("args", ["", None])
def test_a_head_that_is_repeated_takes_no_arguments_away(args: str | None) -> None:
    """LangChain's last chunk may name the calls again and say nothing more."""

    def chunk(args: str | None, **more: Any) -> dict[str, Any]:
        entry = {"name": "pay", "args": args, "id": "i", "index": 0}
        return {"type": "AIMessageChunk", "content": "", "tool_call_chunks": [entry], **more}

    last = {"chunk_position": "last", "response_metadata": {"finish_reason": "tool_calls"}}
    assert ran(settle(chunk('{"a": 1}'), chunk(args, **last))) == [("pay", {"a": 1})]


def test_free_text_is_no_proof_for_a_tool_that_takes_json() -> None:
    """A custom call runs only where a custom tool was declared."""
    entry = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "pay", "input": "free"}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": "stop"}]}
    (outcome,) = settle(chunk, "[DONE]", tools={"pay": {"type": "object"}}).outcomes
    assert isinstance(outcome, SchemaError)


@pytest.mark.parametrize("first", [{"type": []}, {"type": {}}, b'data: {"type": []}\n\n'])
def test_a_type_that_is_no_text_is_no_type(first: Any) -> None:
    """It is an unrecognised stream like any other."""
    with pytest.raises(ValueError, match="no known provider"):
        Settler(tools=None).feed(first)


def block_start(value: Any) -> Any:
    block = anthropic.types.ToolUseBlock.construct(type="tool_use", id="i", name="pay", input=value)
    return anthropic.types.RawContentBlockStartEvent.construct(
        type="content_block_start", index=0, content_block=block
    )


def test_an_sdk_object_too_deep_to_copy_raises_nothing() -> None:
    """Its call ends as unparseable."""
    deep = json.loads('{"c":' * 260 + "{}" + "}" * 260)
    settler = settle(block_start(deep), *call(0)[-1:], *stopped())
    (outcome,) = settler.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.reason == "unparseable"


def test_a_serializers_warning_quotes_no_arguments() -> None:
    """Warnings would be printed, and may be errors."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        settle(block_start('{"card": "S3NT1N3L"}'))
    assert seen == []


def test_bytes_after_the_end_are_ignored() -> None:
    """Empty after the end, whatever comes."""
    settler = settle(to_sse(CLEAN[:2]))
    assert settler.feed(b"data: x") == []


def test_an_error_code_that_is_no_code_is_not_printed() -> None:
    """A number of thousands of digits cannot even be written down."""
    error = {"type": "error", "error": {"code": 10**5000, "type": "overloaded_error"}}
    settler = settle(message_start(), error)
    assert settler.ending is not None
    assert settler.ending.code == "overloaded_error"


def test_a_turn_may_be_closed_by_another_thread_while_it_is_read() -> None:
    """Every call settles, and the reader comes to an end."""
    announced, release = threading.Event(), threading.Event()

    def stream() -> Iterator[Any]:
        yield from [message_start(), *call(0, stop=False)]
        release.wait(30)

    turn = Turn(stream(), tools=TOOLS, raises=False)

    def read() -> None:
        for event in turn:
            if isinstance(event, CallAnnounced):
                announced.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert announced.wait(30)
    turn.close()
    release.set()
    reader.join(30)
    assert not reader.is_alive()
    assert [one.cause for one in turn.outcomes if isinstance(one, Failed)] == [Cause.CANCELLED]


async def test_a_turn_may_be_closed_by_another_task_while_it_is_read() -> None:
    """The reading task is not cancelled: its loop ends."""
    import asyncio

    blocked = asyncio.Event()

    async def stream() -> AsyncIterator[Any]:
        for native in [message_start(), *call(0, stop=False)]:
            yield native
        blocked.set()
        await asyncio.sleep(30)

    turn = AsyncTurn(stream(), tools=TOOLS, raises=False)

    async def read() -> int:
        return len([event async for event in turn])

    reader = asyncio.create_task(read())
    await blocked.wait()
    await turn.aclose()
    assert await reader > 0
    assert not reader.cancelled()


class Manager:
    """A context manager of something that is no stream."""

    def __init__(self) -> None:
        self.left = False

    def __enter__(self) -> object:
        return object()

    def __exit__(self, *_: object) -> None:
        self.left = True


def test_a_context_manager_of_no_stream_is_left() -> None:
    """What was entered is left, whatever it gave."""
    manager = Manager()
    with pytest.raises(TypeError), Turn(manager, tools=None) as turn:
        list(turn)
    assert manager.left


def test_what_a_request_returned_is_closed_even_if_it_is_no_stream() -> None:
    """A whole response instead of a stream still holds its connection."""

    class Response:
        closed = False

        def close(self) -> None:
            self.closed = True

    response = Response()
    with pytest.raises(TypeError), Turn.open(lambda: response) as turn:
        list(turn)
    assert response.closed


@pytest.mark.parametrize(
    ("half", "expected"), [("\ud83d", "\ufffd"), ("\ud83d\ude00", "\U0001f600")]
)
def test_history_can_be_encoded(half: str, expected: str) -> None:
    """Split pairs are joined, lone halves replaced."""
    settler = settle(message_start(), *text(half), *stopped("end_turn"))
    (message,) = settler.history()
    assert message["content"][0]["text"] == expected


def test_an_end_without_an_index_is_the_latest_calls() -> None:
    """And of no call where there is none."""
    start, end = cohere("weather")
    del end["index"]
    stop = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}
    assert ran(settle(end, start, end, stop, provider="cohere")) == [("weather", {})]
