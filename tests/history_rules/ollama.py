"""What Ollama's chat refuses or loses, as far as a message list can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
    """
    broken: list[str] = []
    expected: list[str] = []
    for message in messages:
        if not isinstance(message["content"], str):
            broken.append("content that is no text")
        if message["role"] == "tool":
            if not expected or message["tool_name"] != expected.pop(0):
                broken.append("calls and results differ")
            continue
        calls = message.get("tool_calls") or []
        expected = [call["function"]["name"] for call in calls]
        if not message["content"] and not calls:
            broken.append("a message without content and calls")
        if not all(isinstance(call["function"]["arguments"], dict) for call in calls):
            broken.append("a call whose arguments are no object")
    return [*broken, "calls and results differ"] if expected else broken
