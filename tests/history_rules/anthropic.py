"""What the Messages API refuses, as far as a message list can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
THOUGHTS = ("thinking", "redacted_thinking")


def check(messages: Sequence[dict[str, Any]], *, paused: bool = False) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
        paused: The last message goes back unchanged, so a server call may be open in it.
    """
    broken: list[str] = []
    for position, message in enumerate(messages):
        if not message["content"]:
            broken.append("a message without content")
        following = messages[position + 1] if position + 1 < len(messages) else None
        broken += _check_blocks(message)
        if message["role"] == "assistant":
            broken += _check_calls(message, following, paused=paused)
        else:
            broken += _check_results(message, messages[position - 1] if position else None)
    return broken


def _check_blocks(message: dict[str, Any]) -> list[str]:
    broken = []
    for block in message["content"]:
        if block["type"] == "text" and not block["text"].strip():
            broken.append("a blank text block")
        if block["type"] == "thinking" and not block.get("signature"):
            broken.append("a thinking block without its signature")
        if block["type"] in ("tool_use", *SERVER_CALLS) and not isinstance(block["input"], dict):
            broken.append("a call whose input is no object")
    if message["role"] == "assistant" and all(
        block["type"] in THOUGHTS for block in message["content"]
    ):
        broken.append("a message of thinking alone")
    return broken


def _check_calls(
    message: dict[str, Any], following: dict[str, Any] | None, *, paused: bool
) -> list[str]:
    calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    results = [
        block["tool_use_id"]
        for block in (following or {"content": []})["content"]
        if block["type"] == "tool_result"
    ]
    broken = []
    if calls != results:
        broken.append("calls and results differ")
    answered = {block.get("tool_use_id") for block in message["content"]}
    for block in message["content"]:
        unanswered = block["type"] in SERVER_CALLS and block["id"] not in answered
        if unanswered and not paused and not calls:
            broken.append("a server call without its result")
    return broken


def _check_results(message: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    kinds = [block["type"] for block in message["content"]]
    broken = []
    if before is None or before["role"] != "assistant":
        broken.append("results without the message that asked for them")
    if "tool_result" in kinds[kinds.index("text") :] if "text" in kinds else False:
        broken.append("text before a result")
    return broken
