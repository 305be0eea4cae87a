"""What the Responses API refuses, as far as a list of input items can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ANSWERS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "mcp_approval_request": "mcp_approval_response",
}
"""Calls that need an answer (or, in a container, an output), and its type."""

STAND_ALONE = ("program_output", "tool_search_output")
"""Outputs whose call may be of an earlier response."""

REPLY_ONLY = ("created_by", "output_index", "parsed", "parsed_arguments", "sequence_number")
"""Fields of replies that a request may not hold."""


def check(items: Sequence[dict[str, Any]], *, stored: bool = False) -> list[str]:
    """The rules that these items break.

    Args:
        items: What a turn adds to the input.
        stored: They go with a `previous_response_id`, so the service has the response's items.
    """
    broken: list[str] = []
    ids = [item["id"] for item in items if item.get("id") and not is_answer(item)]
    if len(ids) != len(set(ids)):
        broken.append("the same id twice")
    if stored and any(not is_answer(item) for item in items):
        broken.append("an item that the service has")
    for position, item in enumerate(items):
        broken += _check_fields(item)
        if item["type"] == "reasoning":
            broken += _check_reasoning(item, items[position + 1 :])
    return broken if stored else broken + _check_pairs(items)


def is_answer(item: dict[str, Any]) -> bool:
    return item["type"].endswith(("_output", "_response"))


def _key(item: dict[str, Any]) -> Any:
    if item["type"] == "mcp_approval_request":
        return item["id"]
    return item.get("approval_request_id") or item.get("call_id")


def _check_pairs(items: Sequence[dict[str, Any]]) -> list[str]:
    broken: list[str] = []
    open_calls: list[tuple[str, Any]] = []
    for item in items:
        if item["type"] in ANSWERS:
            open_calls.append((ANSWERS[item["type"]], _key(item)))
        elif (item["type"], _key(item)) in open_calls:
            open_calls.remove((item["type"], _key(item)))
        elif is_answer(item) and item["type"] not in STAND_ALONE:
            broken.append("an answer without its call")
    return broken + ["a call without its answer"] * bool(open_calls)


def _check_fields(item: dict[str, Any]) -> list[str]:
    broken: list[str] = []
    parts = item.get("content") or []
    held = {*item, *(name for part in parts if isinstance(part, dict) for name in part)}
    if held & set(REPLY_ONLY):
        broken.append("a field that only replies have")
    if "call_id" in item and item["call_id"] == "":
        broken.append("an empty call id")
    if item["type"] == "function_call" and not isinstance(item["arguments"], str):
        broken.append("arguments that are no text")
    if item["type"] == "message" and not item["content"]:
        broken.append("a message without content")
    return broken


def _check_reasoning(item: dict[str, Any], following: Sequence[dict[str, Any]]) -> list[str]:
    broken: list[str] = []
    if "status" in item:
        broken.append("reasoning with a status")
    rest = [one for one in following if one["type"] != "reasoning" and not is_answer(one)]
    if not rest:
        broken.append("reasoning without the item that followed it")
    return broken
