"""What an agent's process tells of its run: facts, one JSON line each, written as they happen."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Literal

PROMPT = "Write down what to tell billing, in notes.txt."

_destination: Path | None = None


def tell_into(path: Path) -> None:
    """Write this process's facts, and that a logger warned, into a file."""
    global _destination  # noqa: PLW0603 - a process tells of one run
    _destination = path
    logging.getLogger().addHandler(_Warnings(logging.WARNING))


def tell(fact: str, **details: Any) -> None:
    """Write a fact."""
    assert _destination is not None
    with _destination.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"fact": fact, **details}, default=repr) + "\n")


def ended(call_id: str | None, how: str) -> None:
    """The application was given an end of a call other than its being run.

    Args:
        call_id: Whose.
        how: In the package's own word.
    """
    tell("ended", call=call_id, how=how)


class _Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        tell("warned", logger=record.name)


def write_file(path: str, mode: Literal["create", "append"], keep_days: float, content: str) -> str:
    """Write a text file.

    Args:
        path: Where.
        mode: Whether the file is new.
        keep_days: When to delete it.
        content: The text.
    """
    arguments = {"path": path, "mode": mode, "keep_days": keep_days, "content": content}
    tell("ran", tool="write_file", arguments=arguments)
    return "written"


def list_files() -> str:
    """List all files."""
    tell("ran", tool="list_files", arguments={})
    return "notes.txt"


FUNCTIONS = {"write_file": write_file, "list_files": list_files}
