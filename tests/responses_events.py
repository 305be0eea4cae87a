"""Events of the Responses API, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ARGUMENTS = '{"port": "Brest"}'


def created(response_id: str = "resp_1", **more: Any) -> dict[str, Any]:
    response = {"id": response_id, "object": "response", "status": "in_progress", "output": []}
    return {"type": "response.created", "response": response | more}


def added(index: int | None, kind: str, **content: Any) -> dict[str, Any]:
    return {
        "type": "response.output_item.added",
        "output_index": index,
        "item": {"type": kind} | content,
    }


def done(index: int | None, kind: str, **content: Any) -> dict[str, Any]:
    return added(index, kind, **content) | {"type": "response.output_item.done"}


def delta(index: int | None, item_id: str | None, text: Any, kind: str = "") -> dict[str, Any]:
    kind = kind or "response.function_call_arguments.delta"
    return {"type": kind, "output_index": index, "item_id": item_id, "delta": text}


def arguments_done(index: int | None, item_id: str, text: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "response.function_call_arguments.done",
        "output_index": index,
        "item_id": item_id,
        "arguments": text,
    } | more


def call(
    index: int = 0,
    call_id: str = "call_1",
    arguments: str = ARGUMENTS,
    name: str = "get_tide",
    **more: Any,
) -> list[dict[str, Any]]:
    """A function call with its pieces, its text stated, and its end."""
    content = {"id": f"fc_{call_id}", "call_id": call_id, "name": name} | more
    middle = len(arguments) // 2
    return [
        added(index, "function_call", **content, arguments=""),
        delta(index, f"fc_{call_id}", arguments[:middle]),
        delta(index, f"fc_{call_id}", arguments[middle:]),
        arguments_done(index, f"fc_{call_id}", arguments),
        done(index, "function_call", **{"status": "completed"} | content, arguments=arguments),
    ]


def custom(
    index: int = 0, call_id: str = "call_1", text: str = "select 1", name: str = "run_sql"
) -> list[dict[str, Any]]:
    content = {"id": f"ctc_{call_id}", "call_id": call_id, "name": name}
    kind = "response.custom_tool_call_input."
    where = {"output_index": index, "item_id": f"ctc_{call_id}"}
    return [
        added(index, "custom_tool_call", **content, input=""),
        {"type": f"{kind}delta", **where, "delta": text},
        {"type": f"{kind}done", **where, "input": text},
        done(index, "custom_tool_call", **content, input=text, status="completed"),
    ]


def words(index: int, text: str, *, finished: bool = True, **more: Any) -> list[dict[str, Any]]:
    """A message with one piece of text."""
    content: dict[str, Any] = {"id": f"msg_{index}", "role": "assistant"} | more
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    where = {"output_index": index, "item_id": f"msg_{index}", "content_index": 0}
    events = [
        added(index, "message", **content, content=[], status="in_progress"),
        {"type": "response.content_part.added", **where, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **where, "delta": text},
    ]
    end = done(index, "message", **content, content=[part], status="completed")
    return [*events, end] if finished else events


def reasoning(index: int, encrypted: str | None = "c2VjcmV0", **more: Any) -> list[dict[str, Any]]:
    content: dict[str, Any] = {"id": f"rs_{index}", "summary": []}
    return [
        added(index, "reasoning", **content),
        delta(index, f"rs_{index}", "hm", "response.reasoning_summary_text.delta"),
        done(index, "reasoning", **content | {"encrypted_content": encrypted} | more),
    ]


def ending(
    kind: str = "completed", status: str | None = None, output: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """A terminal event. The response's status is the event's unless another is given."""
    response = {"id": "resp_1", "status": kind if status is None else status} | more
    return {"type": f"response.{kind}", "response": response | {"output": list(output)}}


def incomplete(reason: str | None) -> dict[str, Any]:
    return ending("incomplete", incomplete_details={"reason": reason} if reason else None)


def numbered(events: Sequence[dict[str, Any]], first: int = 0) -> list[dict[str, Any]]:
    return [event | {"sequence_number": first + n} for n, event in enumerate(events)]
