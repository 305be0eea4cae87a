"""A reply as the events of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import MODEL, SIGNATURE, typed
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the events of Anthropic's Messages API; each part is a content block."""
    given, written = tokens.counts
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": given, "output_tokens": 0},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, part in enumerate(parts):
        events += _block(index, part)
    if stop is not None:
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": written},
            },
            {"type": "message_stop"},
        ]
    return typed(events)


def _block(index: int, part: Part) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]]
    match part:
        case Text(pieces):
            block: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        case Thinking(pieces):
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
            deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        case Call(call_id, name, pieces):
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            # The service's own first piece is nearly always empty.
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in ("", *pieces)]
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
    ]
    if not isinstance(part, Call) or part.closed:
        events.append({"type": "content_block_stop", "index": index})
    return events
