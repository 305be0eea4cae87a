"""What a turn adds to a LangChain conversation: one `ai` message, and one `tool` message a result.

Pieces of content are joined as adding the chunks joins them. Integrations send on what stands in a
message, so what their services refuse is left out: reasoning that is unsigned or that nothing
follows, blank text, a server-side call without its result, a call without an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from finalcall.events import CallKind
from finalcall.narrow import is_array, is_mapping
from finalcall.providers.base import Answered
from finalcall.providers.langchain.blocks import (
    CLIENT_CALLS,
    CODE,
    CODE_RESULT,
    REASONING,
    SERVER_CALLS,
    answered_id,
)
from finalcall.providers.native import read_text
from finalcall.providers.openai_chat.echo import answer_content, arguments_of
from finalcall.strict import encodable

_IDENTITIES: Final = frozenset(
    {"type", "id", "index", "name", "call_id", "tool_use_id", "tool_call_id", "status", "phase"}
)
"""Fields of which every piece of a block repeats the same; all others grow by concatenation."""

_PLAIN_TEXT: Final = frozenset({"type", "text", "index"})
"""The fields of a block that says no more than a string would."""

_MERGED_DEPTH: Final = 6
"""Levels of a block that its pieces are merged at: real ones have three."""


def messages(
    content: str | list[dict[str, Any]],
    kwargs: Iterable[Any],
    metadata: Mapping[str, Any],
    answers: Sequence[Answered],
    legacy: Answered | None = None,
) -> list[dict[str, Any]]:
    """The messages, as dicts that every LangChain model takes.

    Args:
        content: The message's content.
        kwargs: The chunks' `additional_kwargs`, in order.
        metadata: Their `response_metadata`, together.
        answers: The calls that stay, each with an id of its own.
        legacy: The one call, where it came as the deprecated `function_call`.
    """
    if not content and not answers and legacy is None:
        return []
    message: dict[str, Any] = {"type": "ai", "content": content}
    if answers:
        message["tool_calls"] = [_tool_call(answer) for answer in answers]
    fields = _merged("", [_without_calls(one) for one in kwargs], _MERGED_DEPTH)
    if legacy is not None:
        fields |= {"function_call": {"name": legacy.name, "arguments": arguments_of(legacy)}}
    if fields:
        message["additional_kwargs"] = fields
    if metadata:
        message["response_metadata"] = dict(metadata)
    results = [_tool_message(answer) for answer in answers]
    return [message, *results] if legacy is None else [message, _function_message(legacy)]


def content_of(
    pieces: Sequence[Any], kept: frozenset[str], *, keep_all: bool
) -> str | list[dict[str, Any]]:
    """A message's content as the next request repeats it.

    Args:
        pieces: Strings and blocks, in order.
        kept: The ids of the calls that stay.
        keep_all: The message goes back unchanged.
    """
    if all(isinstance(piece, str) for piece in pieces):
        return encodable("".join(pieces))
    blocks = [block for block in _merged_blocks(pieces) if read_text(block, "type")]
    if keep_all:
        return blocks
    answered = {answered_id(block) for block in blocks} - {""}
    kinds = [read_text(block, "type") for block in blocks]
    code_ran = kinds.count(CODE) == kinds.count(CODE_RESULT)
    blocks = [
        block
        for kind, block in zip(kinds, blocks, strict=True)
        if _may_go_back(kind, block, answered | kept)
        and (code_ran or kind not in (CODE, CODE_RESULT))
    ]
    while blocks and not kept and read_text(blocks[-1], "type") in REASONING:
        blocks.pop()
    if all(set(block) <= _PLAIN_TEXT for block in blocks):
        return "".join(read_text(block, "text") for block in blocks)
    return [_sent(block) for block in blocks]


def _may_go_back(kind: str, block: Mapping[str, Any], stay: set[str] | frozenset[str]) -> bool:
    """Whether a block belongs into the next request, where the calls with these ids stay."""
    if kind == "text":
        return bool(read_text(block, "text").strip())
    if kind == "thinking":
        return is_array(block.get("thinking")) or bool(block.get("signature"))
    if kind == "reasoning_content":
        return bool(read_text(block.get("reasoning_content"), "signature"))
    if kind == "reasoning" and "summary" in block:
        # A summary without an id is only for display, and its own integration cannot send it.
        return bool(block.get("id"))
    if kind in SERVER_CALLS:
        return read_text(block, "id") in stay
    if kind == "custom_tool_call":
        return read_text(block, "call_id") in stay
    return kind not in CLIENT_CALLS


def _sent(block: dict[str, Any]) -> dict[str, Any]:
    """A block without what its integration passes on and its service refuses."""
    if block.get("type") == "reasoning":
        return {name: value for name, value in block.items() if name != "status"}
    return block


def _without_calls(kwargs: Any) -> dict[str, Any]:
    """A chunk's further fields without the calls, which stand in `tool_calls`."""
    if not is_mapping(kwargs):
        return {}
    left_out = ("tool_calls", "function_call", "parsed")
    return {name: value for name, value in kwargs.items() if name not in left_out}


def _merged_blocks(pieces: Iterable[Any]) -> list[dict[str, Any]]:
    """Join the pieces of content blocks: those of one index are one block."""
    groups: dict[Any, list[Any]] = {}
    for number, piece in enumerate(pieces):
        block = {"type": "text", "text": piece} if isinstance(piece, str) else piece
        if not is_mapping(block):
            continue
        index = block.get("index")
        joins = isinstance(index, int | str) and read_text(block, "type") not in (CODE, CODE_RESULT)
        key = index if joins else ("alone", number)
        groups.setdefault(key, []).append(block)
    return [_merged("", group, _MERGED_DEPTH) for group in groups.values()]


def _merged(name: str, values: Sequence[Any], depth: int) -> Any:
    """Join what the pieces of one block have under one name."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    if name in _IDENTITIES:
        return values[0]
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        return encodable("".join(texts))
    if depth and all(is_mapping(value) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {
            name: _merged(name, [value.get(name) for value in values], depth - 1) for name in names
        }
    if depth and all(is_array(value) for value in values):
        return _merged_items([item for value in values for item in value], depth - 1)
    return values[-1]


def _merged_items(items: Sequence[Any], depth: int) -> list[Any]:
    groups: dict[Any, list[Any]] = {}
    for number, item in enumerate(items):
        index = item.get("index") if is_mapping(item) else None
        key = index if isinstance(index, int | str) else ("alone", number)
        groups.setdefault(key, []).append(item)
    return [group[0] if len(group) == 1 else _merged("", group, depth) for group in groups.values()]


def _tool_call(answer: Answered) -> dict[str, Any]:
    args = answer.args
    if answer.call.kind is CallKind.CUSTOM:
        args = {"__arg1": encodable(answer.text)}
    return {
        "type": "tool_call",
        "id": answer.call.call_id,
        "name": answer.name,
        "args": args,
    }


def _tool_message(answer: Answered) -> dict[str, Any]:
    content = answer.result.content
    if answer.call.kind is CallKind.CUSTOM:
        content = [{"type": "custom_tool_call_output", "output": content}]
    message: dict[str, Any] = {
        "type": "tool",
        "content": content,
        "tool_call_id": answer.call.call_id,
        "name": answer.name,
    }
    if answer.result.is_error:
        message["status"] = "error"
    return message


def _function_message(answer: Answered) -> dict[str, Any]:
    """A deprecated call's answer: it has no id, and no flag for an error."""
    return {"type": "function", "name": answer.name, "content": answer_content(answer)}
