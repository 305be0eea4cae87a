"""What xAI's chat refuses, as far as a message list can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CLIENT_SIDE = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


def check(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
    """
    broken: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    for message in messages:
        if not message["content"]:
            broken.append("a message without content")
        own = message.get("tool_calls") or []
        if message["role"] == "ROLE_TOOL":
            results.append(message.get("tool_call_id", ""))
            continue
        calls += [call["id"] for call in own]
        if not any(part.get("text") for part in message["content"]) and not own:
            broken.append("a message that says nothing")
        if not all(call["function"]["arguments"].strip() for call in own):
            broken.append("a call without arguments")
        if any(call["type"] not in (CLIENT_SIDE, 1) and call["status"] in (0, "") for call in own):
            broken.append("a server-side call that never ended")
    if not set(results) <= set(calls):
        broken.append("a result without its call")
    server = {
        call["id"]
        for message in messages
        for call in message.get("tool_calls") or []
        if call["type"] not in (CLIENT_SIDE, 1)
    }
    if set(calls) - server - set(results):
        broken.append("a call without its result")
    return broken
