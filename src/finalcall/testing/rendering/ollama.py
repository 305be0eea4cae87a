"""A reply as the lines of Ollama's native chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import MODEL, arguments_object, unnamed
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the lines of Ollama's native chat.

    A call comes whole, its arguments as an object. The server finds calls in the model's text; one
    that it cannot read, or that never ended, it takes for text: there is no call then.
    """
    lines: list[dict[str, Any]] = []
    calls = 0
    for part in parts:
        match part:
            case Text(pieces):
                lines += [_line(content=piece) for piece in pieces]
            case Thinking(pieces):
                lines += [_line(thinking=piece) for piece in pieces]
            case Call(call_id, name, pieces):
                arguments = arguments_object(part)
                if arguments is None:
                    lines += [_line(content=piece) for piece in pieces]
                    continue
                function = {"index": calls, "name": name, "arguments": arguments}
                lines.append(_line(tool_calls=[{"id": call_id, "function": function}]))
                calls += 1
    if stop is not None:
        last = _line() | {"done": True, "done_reason": stop}
        if tokens.is_reported:
            last["prompt_eval_count"], last["eval_count"] = tokens.counts
        lines.append(last)
    return unnamed(lines)


def _line(**message: Any) -> dict[str, Any]:
    return {
        "model": MODEL,
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "", **message},
        "done": False,
    }
