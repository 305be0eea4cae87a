"""A reply as the events of OpenAI's Responses API; each part is an output item."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import MODEL, REFUSED, SIGNATURE, typed
from finalcall.testing.rendering.words import REFUSAL
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens

_STATUSES: Final = ("completed", "incomplete", "failed", "cancelled")
"""Words that end a response by themselves; any other is the reason why it is incomplete."""

_Events = list[dict[str, Any]]


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the events of OpenAI's Responses API.

    An item that is the last of a message that was cut ends as incomplete.
    """
    events: _Events = [
        {"type": "response.created", "response": _response("in_progress")},
        {"type": "response.in_progress", "response": _response("in_progress")},
    ]
    output: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        cut = last and stop not in (None, "completed", REFUSAL)
        made = _item(index, part, "incomplete" if cut else "completed")
        events += made
        if made[-1]["type"] == "response.output_item.done":
            output.append(made[-1]["item"])
    if stop == REFUSAL:
        events += _refusal(len(parts))
        output.append(events[-1]["item"])
    if stop is not None:
        events.append(_ending("completed" if stop == REFUSAL else stop, output, tokens))
    return typed([event | {"sequence_number": n} for n, event in enumerate(events)])


def _response(status: str, **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return response | more


def _ending(stop: str, output: list[dict[str, Any]], tokens: Tokens) -> dict[str, Any]:
    status = stop if stop in _STATUSES else "incomplete"
    more: dict[str, Any] = {"output": output}
    if stop not in _STATUSES:
        more["incomplete_details"] = {"reason": stop}
    if status == "failed":
        more["error"] = {"code": "server_error", "message": "the model failed"}
    if tokens.is_reported:
        given, written = tokens.counts
        more["usage"] = {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + written,
        }
    return {"type": f"response.{status}", "response": _response(status, **more)}


def _item(index: int, part: Part, status: str) -> _Events:
    match part:
        case Text(pieces):
            return _message(index, pieces, status)
        case Thinking(pieces):
            return _reasoning(index, pieces)
        case Call():
            return _call(index, part, status)


def _around(index: int, item: dict[str, Any], done: dict[str, Any], within: _Events) -> _Events:
    """An item's events, between the one that adds it and the one that says it is done."""
    where = {"output_index": index}
    return [
        {"type": "response.output_item.added", **where, "item": item},
        *({**event, **where, "item_id": item["id"]} for event in within),
        {"type": "response.output_item.done", **where, "item": item | done},
    ]


def _message(index: int, pieces: Sequence[str], status: str) -> _Events:
    part: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": []}
    empty, whole = part | {"text": ""}, part | {"text": "".join(pieces)}
    within: _Events = [
        {"type": "response.content_part.added", "part": empty},
        *({"type": "response.output_text.delta", "delta": one, "logprobs": []} for one in pieces),
        {"type": "response.output_text.done", "text": whole["text"], "logprobs": []},
        {"type": "response.content_part.done", "part": whole},
    ]
    return _said(index, whole, within, status)


def _refusal(index: int) -> _Events:
    part = {"type": "refusal", "refusal": REFUSED}
    within: _Events = [
        {"type": "response.content_part.added", "part": part | {"refusal": ""}},
        {"type": "response.refusal.delta", "delta": REFUSED},
        {"type": "response.refusal.done", "refusal": REFUSED},
        {"type": "response.content_part.done", "part": part},
    ]
    return _said(index, part, within, "completed")


def _said(index: int, content: dict[str, Any], within: _Events, status: str) -> _Events:
    item: dict[str, Any] = {"type": "message", "id": f"msg_{index}", "role": "assistant"}
    done = {"content": [content], "status": status}
    within = [event | {"content_index": 0} for event in within]
    return _around(index, item | {"status": "in_progress", "content": []}, done, within)


def _reasoning(index: int, pieces: Sequence[str]) -> _Events:
    item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{index}", "summary": []}
    part = {"type": "summary_text", "text": "".join(pieces)}
    kind = "response.reasoning_summary"
    within: _Events = [
        {"type": f"{kind}_part.added", "part": part | {"text": ""}},
        *({"type": f"{kind}_text.delta", "delta": piece} for piece in pieces),
        {"type": f"{kind}_text.done", "text": part["text"]},
        {"type": f"{kind}_part.done", "part": part},
    ]
    within = [event | {"summary_index": 0} for event in within]
    done = {"summary": [part], "encrypted_content": SIGNATURE}
    return _around(index, item, done, within)


def _call(index: int, call: Call, status: str) -> _Events:
    item = {"type": "function_call", "id": f"fc_{index}", "call_id": call.call_id}
    item |= {"name": call.name, "arguments": "", "status": "in_progress"}
    kind = "response.function_call_arguments"
    within: _Events = [
        *({"type": f"{kind}.delta", "delta": piece} for piece in call.pieces),
        {"type": f"{kind}.done", "name": call.name, "arguments": call.arguments},
    ]
    done = {"arguments": call.arguments, "status": status}
    events = _around(index, item, done, within)
    return events if call.closed else list(itertools.islice(events, len(call.pieces) + 1))
