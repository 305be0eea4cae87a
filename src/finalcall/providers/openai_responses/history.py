"""What the next request repeats of a response: its items, then one answer for each of its calls.

The API refuses a call without its answer, an answer without its call, a reasoning item without
the item that followed it, an item without the reasoning before it, and fields that only its
replies have. None of these is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from finalcall.narrow import is_object
from finalcall.providers.base import Answered
from finalcall.providers.native import read, read_list, read_text
from finalcall.providers.openai_responses.items import CLIENT_CALLS, Item
from finalcall.results import ToolResult

InputItem: TypeAlias = dict[str, Any]

REPEATED_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(f"id type {fields}".split())
    for kind, fields in {
        "additional_tools": "role tools",
        "apply_patch_call": "call_id caller operation status",
        "apply_patch_call_output": "call_id caller output status",
        "code_interpreter_call": "code container_id outputs status",
        "compaction": "encrypted_content",
        "computer_call": "action actions call_id pending_safety_checks status",
        "computer_call_output": "acknowledged_safety_checks call_id output status",
        "custom_tool_call": "async call_id caller input name namespace",
        "custom_tool_call_output": "call_id caller output",
        "file_search_call": "queries results status",
        "function_call": "arguments async call_id caller name namespace status",
        "function_call_output": "call_id caller name namespace output status",
        "image_generation_call": "action background error output_format quality result "
        "revised_prompt size status svg_usage",
        "local_shell_call": "action call_id status",
        "local_shell_call_output": "call_id output status",
        "mcp_approval_request": "arguments name server_label",
        "mcp_approval_response": "approval_request_id approve reason",
        "mcp_call": "approval_request_id arguments error name output server_label status",
        "mcp_list_tools": "error server_label tools",
        "message": "content phase role status",
        "program": "call_id code fingerprint",
        "program_output": "call_id result status",
        "reasoning": "content encrypted_content summary",
        "shell_call": "action call_id caller environment status",
        "shell_call_output": "call_id caller max_output_length output status",
        "tool_search_call": "arguments call_id execution status",
        "tool_search_output": "call_id execution status tools",
        "web_search_call": "action status",
    }.items()
}
"""By item type: the fields that a request may hold. A reasoning item's status is refused there."""

_NULLABLE: Final = frozenset({"call_id", "code", "outputs", "result"})
"""Fields that a request must hold even where they are null."""

_REQUIRED: Final[Mapping[str, Any]] = {
    "computer_call": {"pending_safety_checks": [], "status": "completed"},
    "apply_patch_call": {"status": "completed"},
    "local_shell_call": {"status": "completed"},
    "message": {"role": "assistant", "status": "completed"},
    "reasoning": {"summary": []},
}
"""Fields that a request must hold, where a service left them out."""

_STAND_ALONE: Final = frozenset({"program_output", "tool_search_output"})
"""Outputs whose call may be of an earlier response."""


def input_items(
    items: Sequence[Item], answers: Mapping[str, Answered], *, kept: bool
) -> list[InputItem]:
    """The response's items that can be repeated, then the answers.

    Args:
        items: The response's items.
        answers: The calls that stay, by key.
        kept: The service has the response, so its reasoning may go without encrypted content.
    """
    repeated = {item.position: _repeat(item, items, answers) for item in items}
    found: list[InputItem] = []
    for group in _groups(items):
        thoughts = [repeated[one.position] for one in group if one.kind == "reasoning"]
        followers = [one for one in group if one.kind != "reasoning" and repeated[one.position]]
        usable = any(one.content is not None for one in followers) and all(
            thought is not None and (kept or thought.get("encrypted_content"))
            for thought in thoughts
        )
        if usable:
            found += [thought for thought in thoughts if thought is not None]
        for one in followers:
            entry = repeated[one.position] or {}
            # An item that is known by its id is refused without its reasoning.
            found.append(entry if usable or not thoughts else _without_id(entry))
    return _without_twins(found) + answer_items(items, answers)


def answer_items(items: Iterable[Item], answers: Mapping[str, Answered]) -> list[InputItem]:
    """One answer a call that stays, in the order of the calls.

    Args:
        items: The response's items.
        answers: The calls that stay, by key.
    """
    found: list[InputItem] = []
    for item in items:
        answered = _answered(item, answers)
        output = None if answered is None else answer_item(item, answered.result)
        if output is not None:
            found.append(output)
    return found


def all_answered(items: Iterable[Item], answers: Mapping[str, Answered]) -> bool:
    """Whether no call was left out."""
    return all(one.open_call is None or _answered(one, answers) is not None for one in items)


def _answered(item: Item, answers: Mapping[str, Answered]) -> Answered | None:
    return None if item.open_call is None else answers.get(item.open_call.identity.key)


def _groups(items: Sequence[Item]) -> list[list[Item]]:
    """Runs of reasoning with what follows them, up to the next reasoning."""
    groups: list[list[Item]] = []
    before = ""
    for item in items:
        if not groups or (item.kind == "reasoning" and before != "reasoning"):
            groups.append([])
        groups[-1].append(item)
        before = item.kind
    return groups


def _repeat(item: Item, items: Sequence[Item], answers: Mapping[str, Answered]) -> InputItem | None:
    """An item as a request may hold it, `None` where it may not."""
    if item.open_call is not None:
        answered = _answered(item, answers)
        if answered is None or answer_item(item, answered.result) is None:
            return None
        return _repeat_call(item, answered)
    if item.kind == "message":
        return _repeat_message(item)
    entry = _fields(item)
    if entry is None or item.kind == "custom_tool_call":
        # A custom call of the provider's own: OpenAI would want an answer to it.
        return None
    if "id" not in entry and not item.kind.endswith("_output"):
        return None
    stays = True
    if item.kind == "program":
        stays = _has_output(item, items) or any(
            _answered(one, answers) and _caller_id(one) == item.call_id for one in items
        )
    elif item.kind == "shell_call":
        stays = _has_output(item, items)
    elif item.kind.endswith("_output") and item.kind not in _STAND_ALONE:
        stays = any(one.external and one.call_id == item.call_id for one in items)
    return entry if stays else None


def _has_output(item: Item, items: Iterable[Item]) -> bool:
    kind = f"{item.kind}_output"
    return any(one.kind == kind and one.call_id == item.call_id and one.content for one in items)


def _caller_id(item: Item) -> str:
    return read_text(read(item.content, "caller"), "caller_id")


def _fields(item: Item) -> InputItem | None:
    """The fields of a finished item that a request may hold."""
    if item.content is None:
        return None
    allowed = REPEATED_FIELDS.get(item.kind)
    entry = {
        name: value
        for name, value in item.content.items()
        if (allowed is None or name in allowed) and (value is not None or name in _NULLABLE)
    }
    if not read_text(entry, "id"):
        entry.pop("id", None)
    return {**_REQUIRED.get(item.kind, {}), **entry, "type": item.kind}


def _repeat_call(item: Item, answered: Answered) -> InputItem:
    facts = CLIENT_CALLS[item.kind]
    entry = _fields(item) or {"type": item.kind}
    if item.kind != "mcp_approval_request":
        entry["call_id"] = answered.call.call_id
    if facts.named:
        entry["name"] = answered.name
        blank = not answered.text or answered.text.isspace()
        text = "{}" if blank and facts.arguments == "arguments" else answered.text
        entry[facts.arguments] = text
    return entry


def _repeat_message(item: Item) -> InputItem | None:
    entry = _fields(item)
    if entry is None:
        # It was cut, so its id means nothing to the service.
        return {"type": "message", "role": "assistant", "content": item.text} if item.text else None
    parts = [_part(part) for part in read_list(entry, "content")]
    entry["content"] = [part for part in parts if part is not None]
    if not entry["content"]:
        return None
    return entry if "id" in entry else _without_id(entry)


def _part(part: Any) -> dict[str, Any] | None:
    """A content part without what the SDK's helper adds to it."""
    refusal, text = read_text(part, "refusal"), read_text(part, "text")
    if refusal:
        return {"type": "refusal", "refusal": refusal}
    if not text:
        return None
    lists = {name: read_list(part, name) for name in ("annotations", "logprobs")}
    found = {name: value for name, value in lists.items() if value or name == "annotations"}
    return {"type": "output_text", "text": text, **found}


def _without_id(entry: InputItem) -> InputItem:
    """An item that the service does not look up, where its type can do without an id."""
    if entry["type"] in ("function_call", "custom_tool_call"):
        return {name: value for name, value in entry.items() if name != "id"}
    if entry["type"] != "message" or isinstance(entry["content"], str):
        return entry
    parts = cast("list[dict[str, Any]]", entry["content"])
    text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    phase = {"phase": entry["phase"]} if "phase" in entry else {}
    return {"type": "message", "role": "assistant", "content": text, **phase}


def _without_twins(entries: Iterable[InputItem]) -> list[InputItem]:
    """No id twice: some services give all items the same."""
    seen: set[Any] = set()
    found: list[InputItem] = []
    for entry in entries:
        twin = "id" in entry and entry["id"] in seen
        found.append(_without_id(entry) if twin else entry)
        seen.add(entry.get("id"))
    return found


# Answers


def answer_item(item: Item, result: ToolResult) -> InputItem | None:
    """The item that answers a call, `None` where the call or the result has no form for it.

    A result that is one block of the answer's own type goes as it is, with the call's id.

    Args:
        item: The call's item.
        result: What to answer.
    """
    assert item.open_call is not None
    call_id = item.open_call.identity.call_id
    if not call_id:
        return None
    kind = CLIENT_CALLS[item.kind].output
    name = "approval_request_id" if kind == "mcp_approval_response" else "call_id"
    base: InputItem = {"type": kind, name: call_id}
    content = item.content or {}
    if kind in _WITH_CALLER and content.get("caller") is not None:
        base["caller"] = content["caller"]
    own = _own_block(kind, result)
    if own is not None:
        return own | base
    rest = _ANSWERS[kind](content, result)
    return None if rest is None else base | rest


def _own_block(kind: str, result: ToolResult) -> InputItem | None:
    if isinstance(result.content, str) or len(result.content) != 1:
        return None
    block = result.content[0]
    return block if is_object(block) and block.get("type") == kind else None


def _words(result: ToolResult) -> str:
    """A result as text. The API has no error flag, so an error says that it is one."""
    content = result.content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return f"Error: {text}" if result.is_error else text


def _output(_: InputItem, result: ToolResult) -> InputItem:
    if isinstance(result.content, str):
        return {"output": _words(result)}
    flag = [{"type": "input_text", "text": "Error:"}] if result.is_error else []
    return {"output": [*flag, *result.content]}


def _patch_output(_: InputItem, result: ToolResult) -> InputItem:
    return {"status": "failed" if result.is_error else "completed", "output": _words(result)}


def _local_shell_output(content: InputItem, result: ToolResult) -> InputItem:
    # The SDK's types name the call by `id` alone; the service wants its `call_id` as well.
    return {"id": content.get("call_id") or "", "output": _words(result)}


def _shell_output(content: InputItem, result: ToolResult) -> InputItem:
    limit = read(content.get("action"), "max_output_length")
    bound = {} if limit is None else {"max_output_length": limit}
    if not isinstance(result.content, str):
        return {"output": result.content, **bound}
    out, err = ("", result.content) if result.is_error else (result.content, "")
    outcome = {"type": "exit", "exit_code": int(result.is_error)}
    return {"output": [{"stdout": out, "stderr": err, "outcome": outcome}], **bound}


def _screenshot(_: InputItem, result: ToolResult) -> InputItem | None:
    """Only a screenshot can answer a computer call."""
    for block in [] if isinstance(result.content, str) else result.content:
        if read_text(block, "type") == "computer_screenshot":
            return {"output": block}
    return None


def _found_tools(_: InputItem, result: ToolResult) -> InputItem:
    tools: list[Any] = [] if isinstance(result.content, str) else result.content
    return {"execution": "client", "status": "completed", "tools": tools}


def _approval(_: InputItem, result: ToolResult) -> InputItem:
    """Only `True`, or `{"approve": True}`, approves."""
    if not result.is_error and result.content in ("true", '{"approve": true}'):
        return {"approve": True}
    return {"approve": False, "reason": _words(result)}


_WITH_CALLER: Final = frozenset(
    {
        "apply_patch_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "shell_call_output",
    }
)
"""Answers that repeat the program that made the call."""

_ANSWERS: Final[Mapping[str, Callable[[InputItem, ToolResult], InputItem | None]]] = {
    "apply_patch_call_output": _patch_output,
    "computer_call_output": _screenshot,
    "custom_tool_call_output": _output,
    "function_call_output": _output,
    "local_shell_call_output": _local_shell_output,
    "mcp_approval_response": _approval,
    "shell_call_output": _shell_output,
    "tool_search_output": _found_tools,
}
"""By the type of the answer: its fields beside the type and the id."""
