"""What commands that write lines have in common: encodings, colours, and the width of a line."""

from __future__ import annotations

import io
import os
import shutil
from typing import Final, Literal, TextIO, TypeAlias

Colour: TypeAlias = Literal["bold", "dim", "green", "red", "yellow"]

_CODES: Final[dict[Colour, str]] = {
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "green": "\x1b[32m",
    "red": "\x1b[31m",
    "yellow": "\x1b[33m",
}
CUT_FILE: Final = "the file's last line is cut, and left out"
"""What is said of a recording whose writer died in the middle of a line."""

_RESET: Final = "\x1b[0m"
_CUT: Final = "…"


def allow_any_text(stream: TextIO) -> None:
    """Where an encoding lacks a sign, show "?" for it."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def has_colours(stream: TextIO, *, no_colour: bool) -> bool:
    """Whether colours may be written: to a terminal that has them, unless somebody says no.

    Args:
        stream: Where to.
        no_colour: The person wants none; `NO_COLOR` in the environment says so too.
    """
    refused = no_colour or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not refused


def coloured(text: str, colour: Colour, *, allowed: bool) -> str:
    """Put text in a colour, where colours are allowed."""
    return f"{_CODES[colour]}{text}{_RESET}" if allowed else text


def width_of(stream: TextIO) -> int | None:
    """Columns of the terminal, or `None` for anything else: what is no terminal has no width."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def cut_end(text: str, width: int | None) -> str:
    """Keep the beginning of text that is too long."""
    if width is None or len(text) <= width:
        return text
    return text[: max(0, width - 1)] + _CUT


def cut_start(text: str, width: int) -> str:
    """Keep the end of text that is too long: of a path, the part that tells files apart."""
    return text if len(text) <= width else _CUT + text[len(text) - width + 1 :]


def counted(number: int, singular: str) -> str:
    """A number and its noun: `1 file`, `1,204 files`."""
    return f"{number:,} {singular}{'' if number == 1 else 's'}"
