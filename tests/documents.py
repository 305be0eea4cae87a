"""Runs the Python blocks of a document in order, and compares what they print with what it says.

A block in `python` runs; one in `py` is shown only: code of others, or for what no test installs.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int


def blocks(document: Path) -> Iterator[Block]:
    """Every fenced block of a document."""
    content = document.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(content):
        line = content.count("\n", 0, match.start("text")) + 1
        yield Block(match["language"], match["text"], line)


def run(document: Path) -> int:
    """Run every Python block, all in one namespace.

    Returns:
        How many there were.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    ran = 0
    for block in blocks(document):
        if block.language == "python":
            # Blank lines before the code give its tracebacks the document's own line numbers.
            code = compile("\n" * (block.line - 1) + block.text, str(document), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(code, namespace)
            printed = output.getvalue()
            ran += 1
        elif block.language == "text" and printed is not None:
            assert printed == block.text, f"{document.name}, line {block.line}: prints {printed}"
            printed = None
        else:
            printed = None
    return ran


def documents() -> list[Path]:
    """The README and everything in `docs`."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
