"""A reply as chat completion chunks: OpenAI's, and Mistral's dialect of them.

OpenAI's calls come in pieces, Mistral's whole. Neither ends a call: the stop reason does, so one
that is not closed looks like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import DONE, MODEL, REFUSED, unnamed
from finalcall.testing.rendering.words import REFUSAL
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as OpenAI's chunks; thinking is the `reasoning_content` of its dialects."""
    chunks = [_chunk({"role": "assistant", "content": ""})]
    calls = 0
    for part in parts:
        match part:
            case Text(pieces):
                chunks += [_chunk({"content": piece}) for piece in pieces]
            case Thinking(pieces):
                chunks += [_chunk({"reasoning_content": piece}) for piece in pieces]
            case Call():
                entries = _entries(part, calls)
                chunks += [_chunk({"tool_calls": [entry]}) for entry in entries]
                calls += 1
    if stop is None:
        return unnamed(chunks)
    if stop == REFUSAL:
        chunks.append(_chunk({"refusal": REFUSED}))
        stop = "stop"
    chunks.append(_chunk({}, stop))
    if tokens.is_reported:
        chunks.append(_chunk({}) | {"choices": [], "usage": _usage(tokens)})
    return [*unnamed(chunks), DONE]


def render_mistral(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as Mistral's chunks; thinking is a content part of its own."""
    chunks = [_chunk({"role": "assistant", "content": ""})]
    calls = 0
    for part in parts:
        match part:
            case Text(pieces):
                chunks += [_chunk({"content": piece}) for piece in pieces]
            case Thinking(pieces):
                thought = [{"type": "text", "text": piece} for piece in pieces]
                content = [{"type": "thinking", "thinking": thought}]
                chunks.append(_chunk({"content": content}))
            case Call(call_id, name):
                function = {"name": name, "arguments": part.arguments}
                entry = {"index": calls, "id": call_id, "function": function}
                chunks.append(_chunk({"content": "", "tool_calls": [entry]}))
                calls += 1
    if stop is None:
        return unnamed(chunks)
    last = _chunk({"content": ""}, stop)
    if tokens.is_reported:
        last["usage"] = _usage(tokens)
    return [*unnamed([*chunks, last]), DONE]


def _entries(call: Call, index: int) -> Iterator[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    yield {"index": index, "id": call.call_id, "type": "function", "function": function}
    for piece in call.pieces:
        yield {"index": index, "function": {"arguments": piece}}


def _chunk(delta: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
    }


def _usage(tokens: Tokens) -> dict[str, int]:
    given, written = tokens.counts
    return {
        "prompt_tokens": given,
        "completion_tokens": written,
        "total_tokens": given + written,
    }
