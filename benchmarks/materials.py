"""What is streamed: arguments of any size, and the events in which each service sends them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

Native: TypeAlias = "dict[str, Any] | str"
"""One event of a service: a dict, or `[DONE]`."""

TOOL: Final = "create_order"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "reference": {"type": "string", "pattern": "^ORD-[0-9]+$"},
        "priority": {"enum": ["low", "normal", "urgent"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "maxLength": 12},
                    "title": {"type": "string"},
                    "quantity": {"type": "integer", "minimum": 1},
                    "price": {"type": "number", "minimum": 0},
                    "gift": {"type": "boolean"},
                },
                "required": ["sku", "title", "quantity", "price", "gift"],
                "additionalProperties": False,
            },
        },
        "note": {"type": "string"},
    },
    "required": ["reference", "priority", "lines", "note"],
    "additionalProperties": False,
}
TOOLS: Final = [{"name": TOOL, "description": "Order goods.", "input_schema": SCHEMA}]
"""As the Anthropic client takes them; every shape is read."""

_WORDS: Final = [
    "keyboard",
    "cable",
    "monitor",
    "stand",
    "adapter",
    "black",
    "wooden",
    "office",
    "small",
    "with",
    "for",
    "and",
]
_IDENTIFIER: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def arguments(size: int) -> str:
    """Arguments of exactly that size in bytes: an order with its lines and a note."""
    chance = random.Random(size)
    lines: list[dict[str, Any]] = []
    order = {"reference": "ORD-7", "priority": "urgent", "lines": lines, "note": ""}
    room = size - len(json.dumps(order))
    while True:
        line = {
            "sku": f"KB-{chance.randint(1000, 9999)}",
            "title": " ".join(chance.choices(_WORDS, k=chance.randint(2, 5))),
            "quantity": chance.randint(1, 9),
            "price": round(chance.uniform(1, 200), 2),
            "gift": chance.random() < 0.5,
        }
        room -= len(json.dumps(line)) + (2 if lines else 0)
        if room < 0:
            break
        lines.append(line)
    order["note"] = "." * (size - len(json.dumps(order)))
    return json.dumps(order)


def fragments(text: str, length: int = 4) -> list[str]:
    """The text in fragments of about that length."""
    chance = random.Random(5)
    cut: list[str] = []
    at = 0
    while at < len(text):
        end = at + (1 if length == 1 else chance.randint(length // 2, length + length // 2))
        cut.append(text[at:end])
        at = end
    return cut


def _identifier(prefix: str, length: int) -> str:
    return prefix + "".join(random.Random(prefix).choices(_IDENTIFIER, k=length))


def anthropic(texts: Sequence[str], length: int = 4) -> list[Native]:
    """A message of the Messages API with a call for each of the texts."""
    usage = {"input_tokens": 472, "output_tokens": 2, "service_tier": "standard"}
    message: dict[str, Any] = {
        "id": _identifier("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Native] = [{"type": "message_start", "message": message}]
    for index, text in enumerate(texts):
        block: dict[str, Any] = {
            "type": "tool_use",
            "id": f"{_identifier('toolu_01', 17)}{index:05}",
            "name": TOOL,
            "input": {},
        }
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": part},
            }
            for part in fragments(text, length)
        ]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 89}})
    return [*events, {"type": "message_stop"}]


def openai_chat(texts: Sequence[str], length: int = 4) -> list[Native]:
    """A message of the Chat Completions API with a call for each of the texts."""
    head: dict[str, Any] = {
        "id": _identifier("chatcmpl-", 29),
        "object": "chat.completion.chunk",
        "created": 1_771_438_841,
        "model": "gpt-4.1-mini-2025-04-14",
        "service_tier": "default",
        "system_fingerprint": "fp_c82faf3ca0",
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Native:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return head | {"choices": [choice], "usage": None}

    events: list[Native] = [chunk({"role": "assistant", "content": None, "refusal": None})]
    for index, text in enumerate(texts):
        call = {
            "index": index,
            "id": f"{_identifier('call_', 19)}{index:05}",
            "type": "function",
            "function": {"name": TOOL, "arguments": ""},
        }
        events.append(chunk({"tool_calls": [call]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in fragments(text, length)
        ]
    return [*events, chunk({}, "tool_calls"), "[DONE]"]


def openai_responses(texts: Sequence[str], length: int = 4) -> list[Native]:
    """A message of the Responses API with a call for each of the texts."""
    response: dict[str, Any] = {
        "id": _identifier("resp_", 48),
        "object": "response",
        "created_at": 1_771_438_841,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": "gpt-4.1-mini-2025-04-14",
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
    ]
    items: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        item_id = f"{_identifier('fc_', 43)}{index:05}"
        item = {
            "id": item_id,
            "type": "function_call",
            "status": "in_progress",
            "arguments": "",
            "call_id": f"{_identifier('call_', 19)}{index:05}",
            "name": TOOL,
        }
        place = {"output_index": index, "item_id": item_id}
        added = {"type": "response.output_item.added", "output_index": index, "item": item}
        events.append(added)
        events += [
            {"type": "response.function_call_arguments.delta", **place, "delta": part}
            for part in fragments(text, length)
        ]
        items.append(item | {"status": "completed", "arguments": text})
        done = {"type": "response.function_call_arguments.done", **place, "arguments": text}
        events += [done, added | {"type": "response.output_item.done", "item": items[-1]}]
    usage = {
        "input_tokens": 472,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 89,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 561,
    }
    whole = response | {"status": "completed", "output": items, "usage": usage}
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


EVENTS: Final = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
}
"""By provider: the events of a message with calls of these argument texts."""


def to_bytes(events: Sequence[Native]) -> bytes:
    """The events as the service sends them: server-sent events of compact JSON."""
    blocks: list[str] = []
    for event in events:
        if isinstance(event, str):
            blocks.append(f"data: {event}\n\n")
            continue
        data = json.dumps(event, separators=(",", ":"))
        name = f"event: {event['type']}\n" if "type" in event else ""
        blocks.append(f"{name}data: {data}\n\n")
    return "".join(blocks).encode()


def chunks(data: bytes, size: int = 4096) -> list[bytes]:
    """The bytes as a socket gives them."""
    return [data[at : at + size] for at in range(0, len(data), size)]
