"""What Mistral's chat refuses, as far as a message list can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FIELDS = {
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}


def check(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
    """
    broken: list[str] = []
    expected: list[str] = []
    for message in messages:
        if set(message) - FIELDS[message["role"]]:
            broken.append("a field that is not Mistral's")
        if message["role"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                broken.append("calls and results differ")
            if not message.get("name"):
                broken.append("a result without the tool's name")
            continue
        calls = message.get("tool_calls") or []
        expected = [call["id"] for call in calls]
        if not message.get("content") and not calls:
            broken.append("a message without content and calls")
        if not all(expected) or "null" in expected or len(set(expected)) != len(expected):
            broken.append("an id that is none, or not its own")
        if not all(call["function"]["arguments"].strip() for call in calls):
            broken.append("a call without arguments")
    return [*broken, "calls and results differ"] if expected else broken
