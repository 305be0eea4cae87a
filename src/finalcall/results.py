"""What a tool's run gave back, in the form that every provider's history is built from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, final

from finalcall.narrow import is_array
from finalcall.outcomes import Outcome


@final
@dataclass(frozen=True, slots=True, repr=False)
class ToolResult:
    """A result to send back to the model.

    Attributes:
        content: Text; or a list of content blocks in the provider's own shape, passed through.
        is_error: The tool failed, or was not run.
    """

    content: str | list[Any]
    is_error: bool = False

    def __repr__(self) -> str:
        return f"ToolResult(content=<hidden>, is_error={self.is_error})"


Results: TypeAlias = Mapping[Any, Any]
"""Results by outcome, by its `key`, or by its `call_id` where that is unique. A value is a
`ToolResult`, a string, an exception (sent as an error: its text goes to the model), a list of
content blocks in the provider's shape, or anything JSON can hold."""


def as_result(value: Any) -> ToolResult:
    """Read whatever a tool returned.

    Args:
        value: See `Results`.

    Raises:
        TypeError: The value is nothing JSON can hold, or a `ToolResult` of neither text nor blocks.
    """
    if isinstance(value, ToolResult):
        content: Any = value.content
        if not isinstance(content, str | list):
            raise TypeError(
                _unsendable(cast("object", content), "a string or a list of content blocks")
            )
        return value
    if isinstance(value, str):
        return ToolResult(value)
    if isinstance(value, BaseException):
        return ToolResult(f"{type(value).__name__}: {value}", is_error=True)
    if is_array(value) and _are_blocks(value):
        return ToolResult(value)
    try:
        return ToolResult(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        expected = "a string, an exception, a ToolResult, content blocks or a JSON value"
        raise TypeError(_unsendable(value, expected)) from None


def _unsendable(value: object, expected: str) -> str:
    return f"a tool result of type {type(value).__name__} cannot be sent: expected {expected}"


def _are_blocks(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and "type" in item for item in items)


def find_result(results: Results, outcome: Outcome) -> ToolResult | None:
    """The result given for an outcome, or `None`."""
    for name in (outcome, outcome.key, outcome.call_id):
        if name is not None and name in results:
            return as_result(results[name])
    return None
