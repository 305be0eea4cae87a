"""What Bedrock's Converse refuses, as far as a message list can show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def check(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
    """
    broken: list[str] = []
    expected: list[str] = []
    for message in messages:
        blocks = message["content"]
        if not blocks:
            broken.append("a message without content")
        broken += [rule for block in blocks for rule in _check_block(block)]
        answered = [_id_of(block, "toolResult") for block in blocks if "toolResult" in block]
        if message["role"] == "assistant":
            broken += _check_server_calls(blocks)
            expected = [_id_of(block, "toolUse") for block in blocks if _is_client_call(block)]
            if blocks and "reasoningContent" in blocks[-1]:
                broken.append("a message that ends in reasoning")
        else:
            if answered != expected:
                broken.append("calls and results differ")
            expected = []
    if expected:
        broken.append("calls and results differ")
    return broken


def _check_block(block: dict[str, Any]) -> list[str]:
    broken = []
    if "text" in block and not block["text"].strip():
        broken.append("a blank text block")
    if "reasoningContent" in block:
        reasoning = block["reasoningContent"]
        if "reasoningText" in reasoning and not reasoning["reasoningText"].get("signature"):
            broken.append("reasoning without its signature")
    ids = [_id_of(block, name) for name in ("toolUse", "toolResult") if name in block]
    if not all(map(_ID.fullmatch, ids)):
        broken.append("an id that is none")
    if "toolUse" in block and not isinstance(block["toolUse"]["input"], dict):
        broken.append("a call whose input is no object")
    return broken


def _check_server_calls(blocks: Sequence[dict[str, Any]]) -> list[str]:
    calls = [
        _id_of(block, "toolUse")
        for block in blocks
        if "toolUse" in block and not _is_client_call(block)
    ]
    results = [_id_of(block, "toolResult") for block in blocks if "toolResult" in block]
    ids = [_id_of(block, "toolUse") for block in blocks if "toolUse" in block]
    broken = [] if calls == results else ["a server call without its result"]
    return broken if len(set(ids)) == len(ids) else [*broken, "two calls with one id"]


def _is_client_call(block: dict[str, Any]) -> bool:
    return "toolUse" in block and block["toolUse"].get("type") != "server_tool_use"


def _id_of(block: dict[str, Any], name: str) -> str:
    return str(block[name]["toolUseId"])
