"""The content blocks of LangChain's messages: which are calls, whose they are, what they say.

Facts and questions about one block; integrations each have their own shapes for the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from finalcall.narrow import is_array, is_mapping
from finalcall.providers.native import read, read_text

SERVER_CALLS: Final = frozenset(
    {"server_tool_use", "mcp_tool_use", "server_tool_call", "server_tool_call_chunk"}
)
"""Content blocks of calls that the provider runs, whose result is a block of its own."""

SERVER_ITEMS: Final = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "mcp_call",
        "image_generation_call",
    }
)
"""Content blocks of calls that the provider has run, result included."""

ARGUMENTS: Final = "input_json_delta"
"""Content blocks of a piece of a call's arguments, whoever runs the call."""

CLIENT_CALLS: Final = frozenset(
    {"tool_use", "function_call", "tool_call", "tool_call_chunk", ARGUMENTS}
)
"""Content blocks that repeat a call: LangChain makes them again from `tool_calls`."""

CODE: Final = "executable_code"
CODE_RESULT: Final = "code_execution_result"
"""Content blocks of code that Gemini writes and runs; neither has an id."""

REASONING: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Content blocks of what the model thought."""


def reasoning_text(block: Mapping[str, Any]) -> str:
    """The text of a reasoning block, in whichever of the integrations' shapes."""
    for name in ("thinking", "reasoning", "reasoning_content", "summary"):
        value = block.get(name)
        if isinstance(value, str):
            return value
        if is_mapping(value):
            return read_text(value, "text")
        if is_array(value):
            return "".join(read_text(part, "text") for part in value)
    return ""


def answered_id(block: Any) -> str:
    """The id of the server-side call that a result block answers, `""` for none."""
    return read_text(block, "tool_use_id") or read_text(block, "tool_call_id")


def reports_error(block: Any) -> bool:
    """Whether a result block reports a failure."""
    return (
        read(block, "is_error") is True
        or read_text(block, "status") == "error"
        or read_text(read(block, "content"), "type").endswith("_error")
    )
