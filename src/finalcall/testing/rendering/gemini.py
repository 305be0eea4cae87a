"""A reply as Gemini's response chunks, and as the events of its Interactions API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import MODEL, SIGNATURE, arguments_object, typed, unnamed
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as Gemini's response chunks.

    A call comes whole, its arguments as an object. One that has no such form streams: it is opened
    and its one string, which holds the text, breaks off; a closed one is then ended all the same.
    """
    chunks: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text(pieces):
                chunks += [_chunk({"text": piece}) for piece in pieces]
            case Thinking(pieces):
                chunks += [_chunk({"text": piece, "thought": True}) for piece in pieces]
            case Call():
                chunks += [_chunk({"functionCall": call}) for call in _calls(part)]
    if stop is not None:
        last = _chunk({"text": ""})
        last["candidates"][0]["finishReason"] = stop
        if tokens.is_reported:
            given, written = tokens.counts
            last["usageMetadata"] = {
                "promptTokenCount": given,
                "candidatesTokenCount": written,
                "totalTokenCount": given + written,
            }
        chunks.append(last)
    return unnamed(chunks)


def _chunk(part: dict[str, Any]) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
    return {"candidates": [candidate], "modelVersion": MODEL, "responseId": "resp_1"}


def _calls(call: Call) -> list[dict[str, Any]]:
    known = {"id": call.call_id, "name": call.name}
    arguments = arguments_object(call)
    if arguments is not None:
        return [known | {"args": arguments}]
    streamed: list[dict[str, Any]] = [known | {"willContinue": True}]
    for piece in call.pieces:
        entry = {"jsonPath": "$.text", "stringValue": piece, "willContinue": True}
        streamed.append({"partialArgs": [entry], "willContinue": True})
    return [*streamed, {}] if call.closed else streamed


def render_interactions(
    parts: Sequence[Part], stop: str | None, tokens: Tokens
) -> list[RecordedEvent]:
    """A reply as the events of the Interactions API; each part is a step."""
    interaction: dict[str, Any] = {"id": "v1_1", "object": "interaction", "model": MODEL}
    events: list[dict[str, Any]] = [
        {
            "event_type": "interaction.created",
            "interaction": interaction | {"status": "in_progress"},
        },
        {
            "event_type": "interaction.status_update",
            "interaction_id": "v1_1",
            "status": "in_progress",
        },
    ]
    for index, part in enumerate(parts):
        events += _step(index, part)
    if stop is None:
        return typed(events, "event_type")
    interaction["status"] = stop
    if tokens.is_reported:
        given, written = tokens.counts
        interaction["usage"] = {
            "total_input_tokens": given,
            "total_output_tokens": written,
            "total_tokens": given + written,
        }
    events.append({"event_type": "interaction.completed", "interaction": interaction})
    return [*typed(events, "event_type"), RecordedEvent("done", "[DONE]")]


def _step(index: int, part: Part) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]]
    match part:
        case Text(pieces):
            step: dict[str, Any] = {"type": "model_output"}
            deltas = [{"type": "text", "text": piece} for piece in pieces]
        case Thinking(pieces):
            step = {"type": "thought"}
            deltas = [
                {"type": "thought_summary", "content": {"type": "text", "text": piece}}
                for piece in pieces
            ]
            deltas.append({"type": "thought_signature", "signature": SIGNATURE})
        case Call(call_id, name, pieces):
            step = {"type": "function_call", "id": call_id, "name": name, "arguments": {}}
            deltas = [{"type": "arguments_delta", "arguments": piece} for piece in pieces]
    events: list[dict[str, Any]] = [
        {"event_type": "step.start", "index": index, "step": step},
        *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
    ]
    if not isinstance(part, Call) or part.closed:
        events.append({"event_type": "step.stop", "index": index})
    return events
