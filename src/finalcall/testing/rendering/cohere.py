"""A reply as the events of Cohere's chat, version 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import DONE, typed
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the events of Cohere's chat; calls are numbered apart from content."""
    start: dict[str, Any] = {
        "role": "assistant",
        "content": [],
        "tool_plan": "",
        "tool_calls": [],
        "citations": [],
    }
    events: list[dict[str, Any]] = [
        {"type": "message-start", "id": "msg_1", "delta": {"message": start}}
    ]
    calls = contents = 0
    for part in parts:
        match part:
            case Call():
                events += _call(calls, part)
                calls += 1
            case Text(pieces):
                events += _content(contents, "text", pieces)
                contents += 1
            case Thinking(pieces):
                events += _content(contents, "thinking", pieces)
                contents += 1
    if stop is None:
        return typed(events)
    delta: dict[str, Any] = {"finish_reason": stop}
    if tokens.is_reported:
        given, written = tokens.counts
        counts = {"input_tokens": given, "output_tokens": written}
        delta["usage"] = {"billed_units": counts, "tokens": counts}
    return [*typed([*events, {"type": "message-end", "id": "msg_1", "delta": delta}]), DONE]


def _content(index: int, kind: str, pieces: Sequence[str]) -> list[dict[str, Any]]:
    return [
        _event("content-start", index, content={"type": kind, kind: ""}),
        *(_event("content-delta", index, content={kind: piece}) for piece in pieces),
        {"type": "content-end", "index": index},
    ]


def _call(index: int, call: Call) -> list[dict[str, Any]]:
    # The field has a list's name and holds one object.
    function = {"name": call.name, "arguments": ""}
    begun = {"id": call.call_id, "type": "function", "function": function}
    events = [_event("tool-call-start", index, tool_calls=begun)]
    for piece in call.pieces:
        more = {"function": {"arguments": piece}}
        events.append(_event("tool-call-delta", index, tool_calls=more))
    return [*events, {"type": "tool-call-end", "index": index}] if call.closed else events


def _event(kind: str, index: int, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}
