"""What Cohere's chat refuses, as far as a message list can show it, in either version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules of version 2 that these messages break.

    Args:
        messages: What a turn adds to a conversation.
    """
    broken: list[str] = []
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                broken.append("calls and results differ")
            if not isinstance(message["content"], str | list):
                broken.append("a result that is no text")
            continue
        if expected:
            broken.append("calls and results differ")
        calls = message.get("tool_calls") or []
        expected = [call["id"] for call in calls]
        if not message.get("content") and not calls:
            broken.append("a message without content and calls")
        if "tool_plan" in message and not calls:
            broken.append("a plan without calls")
        if not all(expected) or len(set(expected)) != len(expected):
            broken.append("an id that is none, or not its own")
        if not all(call["function"]["arguments"].strip() for call in calls):
            broken.append("a call without arguments")
    return [*broken, "calls and results differ"] if expected else broken


def check_v1(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules of version 1 that these entries of `chat_history` break."""
    broken: list[str] = []
    expected: list[Any] = []
    for message in messages:
        if message["role"] == "TOOL":
            if [result["call"] for result in message["tool_results"]] != expected:
                broken.append("calls and results differ")
            expected = []
            continue
        expected = message.get("tool_calls") or []
        if not message["message"] and not expected:
            broken.append("a message without text and calls")
    return [*broken, "calls and results differ"] if expected else broken
