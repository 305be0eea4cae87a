"""A reply as the chunks of xAI's gRPC chat, in the JSON form of protobuf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import MODEL, unnamed
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the chunks of xAI's gRPC chat.

    A call comes whole, which is its end: one that is not closed looks like any other.
    """
    chunks: list[dict[str, Any]] = [_chunk()]
    for part in parts:
        match part:
            case Text(pieces):
                chunks += [_chunk(content=piece) for piece in pieces]
            case Thinking(pieces):
                chunks += [_chunk(reasoning_content=piece) for piece in pieces]
            case Call(call_id, name):
                call = {
                    "id": call_id,
                    "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
                    "function": {"name": name, "arguments": part.arguments},
                }
                chunks.append(_chunk(tool_calls=[call]))
    if stop is not None:
        last = _chunk()
        last["outputs"][0]["finish_reason"] = stop
        if tokens.is_reported:
            given, written = tokens.counts
            last["usage"] = {
                "prompt_tokens": given,
                "completion_tokens": written,
                "total_tokens": given + written,
            }
        chunks.append(last)
    return unnamed(chunks)


def _chunk(**delta: Any) -> dict[str, Any]:
    output: dict[str, Any] = {"index": 0, "delta": {"role": "ROLE_ASSISTANT", **delta}}
    return {"id": "resp_1", "model": MODEL, "outputs": [output]}
