"""What LangChain's integrations have refused by their services, as far as messages can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REASONING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")
SERVER_CALLS = ("server_tool_use", "mcp_tool_use", "server_tool_call")


def check(messages: Sequence[dict[str, Any]], *, paused: bool = False) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
        paused: The last message goes back unchanged.
    """
    broken: list[str] = []
    expected: list[str] = []
    asked: list[str] = []
    for message in messages:
        if message["type"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                broken.append("calls and results differ")
            continue
        if message["type"] == "function":
            if not asked or message["name"] != asked.pop(0):
                broken.append("calls and results differ")
            continue
        legacy = message.get("additional_kwargs", {}).get("function_call")
        asked = [legacy["name"]] if legacy else []
        calls = message.get("tool_calls") or []
        expected = [call["id"] for call in calls]
        if not message["content"] and not calls and not legacy:
            broken.append("a message without content and calls")
        if not all(isinstance(call["args"], dict) for call in calls):
            broken.append("a call whose arguments are no object")
        if not all(expected) or len(set(expected)) != len(expected):
            broken.append("an id that is none, or not its own")
        if isinstance(message["content"], list) and not paused:
            broken += _check_blocks(message["content"], calls)
    return [*broken, "calls and results differ"] if expected or asked else broken


def _check_blocks(blocks: Sequence[dict[str, Any]], calls: Sequence[Any]) -> list[str]:
    broken = []
    answered = {block.get("tool_use_id") or block.get("tool_call_id") for block in blocks}
    for block in blocks:
        kind = block["type"]
        if kind == "text" and not block["text"].strip():
            broken.append("a blank text block")
        signed = "signature" in block or isinstance(block.get("thinking"), list)
        if kind == "thinking" and not signed:
            broken.append("reasoning without its signature")
        if kind in SERVER_CALLS and block["id"] not in answered:
            broken.append("a server call without its result")
    if blocks and not calls and blocks[-1]["type"] in REASONING:
        broken.append("a message that ends in reasoning")
    return broken
