"""What one message may hold: whatever grows in it, the turn ends at its limits."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from finalcall import Cause, Limits, Settler
from finalcall.providers.native import size_of
from tests import messages

PIECE = "x" * 1_000
SMALL = Limits(message=20_000, calls=10, other=20_000)
MANY = 500
"""More events than any of the limits lets through."""


def _block(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": kind, **fields},
    }


def _delta(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [part]}}]}


def _choice(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {
        "object": "chat.completion.chunk",
        "id": "c",
        "choices": [{"index": index, "delta": delta}],
    }


def _done(number: int, **item: Any) -> dict[str, Any]:
    return {
        "type": "response.output_item.done",
        "output_index": number,
        "item": {"id": f"item_{number}", **item},
    }


START = messages.message_start()
SERVER_CALL = _block("server_tool_use", id="s", name="web_search", input={})
GROWING: dict[str, tuple[list[Any], Callable[[int], Any]]] = {
    "a text": ([START, _block("text")], lambda _: _delta("text_delta", text=PIECE)),
    "a signature": (
        [START, _block("thinking")],
        lambda _: _delta("signature_delta", signature=PIECE),
    ),
    "citations": (
        [START, _block("text")],
        lambda _: _delta("citations_delta", citation={"cited_text": PIECE}),
    ),
    "a compaction": (
        [START, _block("compaction")],
        lambda _: _delta("compaction_delta", content=PIECE),
    ),
    "a server call's input": (
        [START, SERVER_CALL],
        lambda _: _delta("input_json_delta", partial_json=PIECE),
    ),
    "blocks": ([START], lambda number: _block("redacted_thinking", number, data=PIECE)),
    "server calls": (
        [START],
        lambda n: _block("server_tool_use", n, id=f"s{n}", name="web_search", input={"q": PIECE}),
    ),
    "images": ([], lambda _: _part({"inlineData": {"mimeType": "image/png", "data": PIECE}})),
    "code that runs elsewhere": ([], lambda _: _part({"executableCode": {"code": PIECE}})),
    "encrypted reasoning": (
        [],
        lambda _: _choice(
            0, {"reasoning_details": [{"type": "reasoning.encrypted", "data": PIECE}]}
        ),
    ),
    "reasoning beside its text": (
        [],
        lambda _: _choice(
            0, {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": PIECE}]}
        ),
    ),
    "blocks beside text": (
        [],
        lambda _: _choice(
            0, {"content": "a", "thinking_blocks": [{"type": "thinking", "signature": PIECE}]}
        ),
    ),
    "details beside arguments": (
        [],
        lambda _: _choice(
            0,
            {
                "reasoning_details": [{"type": "reasoning.encrypted", "data": PIECE}],
                "tool_calls": [
                    {"index": 0, "id": "a", "function": {"name": "f", "arguments": "x"}}
                ],
            },
        ),
    ),
    "a signature beside Gemini's text": (
        [],
        lambda _: _part({"text": "a", "thoughtSignature": "QUJD" * 250}),
    ),
    "what LangChain adds to text": (
        [],
        lambda _: {
            "type": "AIMessageChunk",
            "content": "a",
            "additional_kwargs": {"reasoning_details": [{"data": PIECE}]},
            "tool_call_chunks": [],
        },
    ),
    "choices": ([], lambda number: _choice(number, {"content": "a"})),
    "reasoning items": (
        [],
        lambda number: _done(number, type="reasoning", summary=[], encrypted_content=PIECE),
    ),
    "searches": (
        [],
        lambda number: _done(
            number, type="web_search_call", status="completed", action={"query": PIECE}
        ),
    ),
    "a signature of Bedrock's": (
        [{"messageStart": {"role": "assistant"}}],
        lambda _: {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"signature": PIECE}},
            }
        },
    ),
    "a signature beside Bedrock's reasoning": (
        [{"messageStart": {"role": "assistant"}}],
        lambda _: {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"text": "a", "signature": PIECE}},
            }
        },
    ),
}
"""What a service can send without end: how a message begins, and one piece more of it."""


@pytest.mark.parametrize("what", GROWING)
def test_whatever_grows_ends_the_message(what: str) -> None:
    """What is only kept for the history counts as well as what people see."""
    begun, piece = GROWING[what]
    settler = Settler(tools=None, limits=SMALL)
    for native in begun:
        settler.feed(native)
    for number in range(MANY):
        settler.feed(piece(number))
    assert settler.ending is not None
    assert settler.ending.cause is Cause.LIMIT
    assert settler.stats.events < 50


def _event_of_bytes(size: int) -> bytes:
    event = b'{"type": "message_start", "message": {"id": "%s"}}'
    return event % (b"x" * (size - len(event) + len("%s")))


@pytest.mark.parametrize(
    ("limit", "cause"), [(1_000, None), (999, Cause.LIMIT)], ids=["at", "past"]
)
def test_an_event_of_bytes_is_as_long_as_its_limit(limit: int, cause: Cause | None) -> None:
    """A longer one ends the message, and says which limit it was."""
    settler = Settler(tools=None, limits=Limits(event=limit))
    settler.feed(_event_of_bytes(1_000))
    ending = settler.ending
    assert (ending and ending.cause) is cause
    assert (ending and ending.code) == (cause and "event_limit")


def test_what_services_repeat_of_a_request_leaves_room_for_the_text() -> None:
    """Instructions and tools that a response begins and ends with are no text of the message."""
    response: dict[str, Any] = {"id": "resp_1", "instructions": PIECE * 10, "tools": []}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
        {"type": "response.completed", "response": {**response, "status": "completed"}},
    ]
    settler = Settler(tools=None, limits=Limits(message=100))
    for native in events:
        settler.feed(native)
    assert settler.ending is not None
    assert settler.ending.clean


def _itself() -> Any:
    node = SimpleNamespace(text="abc", again=None)
    node.again = [node]
    return node


@pytest.mark.parametrize(
    ("native", "size"),
    [
        ("abc", 3),
        (b"abc", 3),
        (None, 0),
        (12.5, 0),
        ({"ab": ["c", {"d": ("e", True)}]}, 5),
        (SimpleNamespace(text="abc", more=SimpleNamespace(text="d")), 4),
        (_itself(), 3),
        (object(), 0),
    ],
)
def test_the_size_of_any_value(native: Any, size: int) -> None:
    """Names and texts of dicts, fields of objects, each object once."""
    assert size_of(native) == size


def test_a_message_of_protocol_buffers_says_its_own_size() -> None:
    """Its fields are not those of its class."""
    assert size_of(chat_pb2.Delta(encrypted_content=PIECE)) >= len(PIECE)
