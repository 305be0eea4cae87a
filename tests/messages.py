"""Hand-written Anthropic messages for tests of what does not depend on the provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

TICKET_SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "priority": {"enum": ["low", "urgent"]}},
    "required": ["title"],
}
TOOLS = [{"name": "create_ticket", "input_schema": TICKET_SCHEMA}]


def message_start(message_id: str = "msg_1", **more: Any) -> dict[str, Any]:
    message = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    return {"type": "message_start", "message": message | more}


def text(words: str, index: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "type": "content_block_start",
            "index": index,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "text_delta", "text": words},
        },
        {"type": "content_block_stop", "index": index},
    ]


def call(
    index: int,
    call_id: str = "toolu_1",
    arguments: str = '{"title": "x"}',
    name: str = "create_ticket",
    *,
    stop: bool = True,
    kind: str = "tool_use",
    **more: Any,
) -> list[dict[str, Any]]:
    block = {"type": kind, "id": call_id, "name": name, "input": {}} | more
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": index, "content_block": block}
    ]
    middle = len(arguments) // 2
    events += [
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in ("", arguments[:middle], arguments[middle:])
    ]
    return [*events, {"type": "content_block_stop", "index": index}] if stop else events


def stopped(reason: str | None = "tool_use", output_tokens: int = 20) -> list[dict[str, Any]]:
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": output_tokens},
        },
        {"type": "message_stop"},
    ]


CLEAN = [message_start(), *text("On it."), *call(1), *stopped()]
"""A message with text and one good call."""

ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "S3NT1N3L"}}


def to_sse(events: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )
