"""Chat completion chunks made by hand, for tests that need one oddity at a time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from finalcall import Settler
from tests.expectation import settled

DONE = "[DONE]"

ABSENT: Any = object()
"""Leaves a field out, where `None` would be sent as null."""


def chunk(
    delta: Any = ABSENT,
    finish: Any = None,
    *,
    choice: int = 0,
    chunk_id: str = "chatcmpl-1",
    beside: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A chunk with one choice; `beside` goes into the choice, other fields into the chunk."""
    made = {"index": choice, "delta": delta, "finish_reason": finish} | (beside or {})
    if delta is ABSENT:
        made["delta"] = {}
    return {
        "id": chunk_id,
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [made],
    } | fields


def entry(
    text: Any = ABSENT,
    name: Any = ABSENT,
    call_id: Any = ABSENT,
    index: Any = 0,
    **fields: Any,
) -> dict[str, Any]:
    """An entry of `delta.tool_calls`."""
    function = {
        field: value
        for field, value in (("name", name), ("arguments", text))
        if value is not ABSENT
    }
    made = {"index": index, "id": call_id, "function": function} | fields
    return {field: value for field, value in made.items() if value is not ABSENT}


def calls(*entries: Any, finish: Any = None, **fields: Any) -> dict[str, Any]:
    """A chunk with entries."""
    return chunk({"tool_calls": list(entries)}, finish, **fields)


def message(*steps: Sequence[Any] | Any, finish: str = "tool_calls") -> list[Any]:
    """A whole message: each step's entries in a chunk of their own, a reason, the end."""
    chunks = [calls(*(step if isinstance(step, list) else [step])) for step in steps]
    return [*chunks, chunk(finish=finish), DONE]


GOOD = [
    chunk({"role": "assistant", "content": "On it."}),
    *message(entry("", "create_ticket", "call_1"), entry('{"title"'), entry(': "x"}')),
]
"""Text and one good call."""


def settle(*natives: Any, **options: Any) -> Settler:
    """Feed copies of native events, then end."""
    settler = Settler("openai-chat", **{"tools": None, **options})
    for native in natives:
        settler.feed(copy.deepcopy(native))
    settler.end()
    return settler


def words(settler: Settler) -> list[Any]:
    """The outcomes, as the expectations spell them."""
    return [settled(outcome) for outcome in settler.outcomes]


def oddities(settler: Settler) -> set[str]:
    """The names of the anomalies."""
    return {anomaly.name for anomaly in settler.anomalies}


def tools(*offered: str) -> list[dict[str, Any]]:
    """Tools of these names that take anything."""
    return [{"type": "function", "function": {"name": name}} for name in offered]
