"""Draws rows: redrawn in place on a terminal, one line a change anywhere else.

It knows no stream and no outcome.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Final, Literal, Protocol, TextIO, TypeAlias, final

Style: TypeAlias = Literal["title", "plain", "faint", "good", "bad"]

_CODES: Final[Mapping[Style, str]] = {
    "title": "\x1b[1m",
    "plain": "",
    "faint": "\x1b[2m",
    "good": "\x1b[32m",
    "bad": "\x1b[31m",
}
_RESET: Final = "\x1b[0m"
_CLEAR_LINE: Final = "\r\x1b[2K"


class Screen(Protocol):
    """Where rows are shown."""

    def begin(self, label: str, title: str) -> None:
        """Start a new group of rows.

        Args:
            label: A short name for the group.
            title: One line about it.
        """
        ...

    def put(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:
        """Show a row of the group, or replace what it showed.

        Args:
            row: Which row: a name that is unique in the group.
            text: One line.
            style: How it looks, where there are colours.
            passing: More of the line, for a screen that can take it back.
        """
        ...

    def grow(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:
        """Show a row that will soon say more; the arguments are those of `put`."""
        ...


@final
class LiveScreen:
    """Rows on a terminal, redrawn in place."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream = stream
        self._colour = colour
        self._rows: list[str] = []

    def begin(self, label: str, title: str) -> None:
        """Start a new group below the last one."""
        self._rows.clear()
        self._stream.write("\n")
        self.put("title", f"{label} · {title}", "title")

    def put(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:
        """Draw a new row, or redraw one where it stands."""
        shown = self._fitted(f"{'' if row == 'title' else '  '}{text}{passing}")
        code = _CODES[style] if self._colour else ""
        shown = f"{code}{shown}{_RESET}" if code else shown
        if row in self._rows:
            up = len(self._rows) - self._rows.index(row)
            self._stream.write(f"\x1b[{up}A{_CLEAR_LINE}{shown}\x1b[{up}B\r")
        else:
            self._rows.append(row)
            self._stream.write(f"{shown}\n")
        self._stream.flush()

    def grow(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:
        """Draw it: a terminal shows every change."""
        self.put(row, text, style, passing=passing)

    def _fitted(self, text: str) -> str:
        """Keep a row on one line of the terminal: a wrapped one could not be found again."""
        room = shutil.get_terminal_size().columns - 1
        return text if len(text) <= room else f"{text[: max(0, room - 1)]}…"


@final
class PlainScreen:
    """One line of plain text a step; of a row that grows, the last."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label = ""
        self._growing: tuple[str, str] | None = None

    def begin(self, label: str, title: str) -> None:
        """Name the group: its label stands before every line."""
        self._label = label
        self.put("title", title)

    def put(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:  # noqa: ARG002 - see Screen
        """Write a line, after the one that had been growing."""
        if self._growing is not None:
            self._write(self._growing[1])
            self._growing = None
        self._write(text)

    def grow(self, row: str, text: str, style: Style = "plain", *, passing: str = "") -> None:  # noqa: ARG002 - see Screen
        """Keep the line until something else happens."""
        if self._growing is not None and self._growing[0] != row:
            self._write(self._growing[1])
        self._growing = (row, text)

    def _write(self, text: str) -> None:
        self._stream.write(f"{self._label}: {text}\n")
        self._stream.flush()


def open_screen(stream: TextIO, *, no_colour: bool) -> Screen:
    """Choose how to draw.

    Args:
        stream: Where to; redrawn in place if it is a terminal that can move its cursor.
        no_colour: The person wants no colours; `NO_COLOR` in the environment says so too.
    """
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return PlainScreen(stream)
    return LiveScreen(stream, colour=not (no_colour or os.environ.get("NO_COLOR")))
