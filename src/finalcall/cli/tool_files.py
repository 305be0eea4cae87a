"""Reads the tools that a command line names in a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from finalcall.narrow import is_array, is_object
from finalcall.tools import ToolSet

TOOLS_HELP: Final = (
    "a JSON file with the tools that were offered: the list of a request, in any provider's "
    "shape, or an object of schemas by name. Without it nothing is checked against a schema, and "
    "tools that take free text never pass"
)
"""What every command says of its `--tools`."""

UNCHECKED: Final = (
    "arguments were not checked against schemas: pass the tools of the request with --tools FILE"
)
"""What a command says where a call may run and nobody gave it tools."""


def read_tools(path: str | None) -> tuple[Any, ToolSet | None]:
    """Read such a file.

    Args:
        path: The file; `None` for none.

    Returns:
        Its content, which can be sent to another process, and the tools made of it.

    Raises:
        ValueError: It cannot be read, or holds no tools. The message says what is wrong.
    """
    if path is None:
        return None, None
    try:
        content: Any = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or type(error).__name__}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path}: no JSON; expected a list of tools") from None
    if not (is_array(content) or is_object(content)):
        raise ValueError(f"{path}: neither a list of tools nor schemas by name")
    try:
        return content, ToolSet(content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
