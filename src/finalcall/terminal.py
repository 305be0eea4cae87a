"""Draws blocks on a terminal: forms that fill in, then one line a call. Needs the extra `cli`.

Where there is no terminal it writes plain lines. It asks blocks and changes none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from types import NoneType
from typing import Final, Self, final

try:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console, Group, RenderableType
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text
except ImportError as _missing:
    raise ImportError(
        "finalcall.terminal draws with rich, which is not installed here; install it with "
        "python -m pip install 'finalcall[cli]'"
    ) from _missing

from finalcall.block_states import BlockState
from finalcall.blocks import Blocks
from finalcall.call_block import BlockField, CallBlock
from finalcall.narrow import expect
from finalcall.texts import printable

__all__ = ["TerminalBlocks"]

REDRAW_SECONDS: Final = 0.05
"""Between two redraws while arguments come in: as often as an eye can follow, and no more."""

LONGEST_VALUE: Final = 60
"""Columns that a value takes at most in a form, which has a row for each."""

LONGEST_LABEL: Final = 24
"""Characters of a label: where the schema is open, names are the model's own."""

_INDENT: Final = "    "
_CUT: Final = "…"

_STYLES: Final[Mapping[BlockState, str]] = {
    BlockState.PREPARING: "dim",
    BlockState.WAITING: "dim",
    BlockState.READY: "green",
    BlockState.RUNNING: "cyan",
    BlockState.DONE: "green",
    BlockState.FAILED: "red",
    BlockState.UNKNOWN: "yellow",
    BlockState.NOT_RUN: "red",
    BlockState.CANCELLED: "red",
    BlockState.SUPERSEDED: "dim",
}

_WITH_FORM: Final = frozenset(
    {BlockState.PREPARING, BlockState.WAITING, BlockState.READY, BlockState.RUNNING}
)
"""The states in which the arguments are still of interest."""


@final
class TerminalBlocks:
    """Shows blocks while its `with` block lasts, and leaves one line a call behind.

    On a terminal everything is redrawn in place, and what the program prints meanwhile goes above.
    Anywhere else, every new line of a block is written once, as plain text. `NO_COLOR` turns
    colours off. Leaving the `with` block ends the blocks: see `Blocks.end`. A terminal that goes
    away is drawn on no more, and breaks neither the turn nor the `with` block.

    Args:
        blocks: What to show. Somebody else applies the events, in the thread that has entered this.
        console: Where to; standard output if left out.

    Attributes:
        blocks: What is shown.

    Raises:
        TypeError: `blocks` or `console` is something else.
        OSError: On entering, where nothing can be written to the console.
    """

    def __init__(self, blocks: Blocks, *, console: Console | None = None) -> None:
        expect(blocks, Blocks, "what to show", "Blocks, as Blocks(tools=...)")
        expect(
            console,
            (Console, NoneType),
            "console=",
            "a rich.console.Console: of a file, Console(file=...)",
        )
        self.blocks: Final = blocks
        self._console = Console() if console is None else console
        self._live: Live | None = None
        self._said: dict[int | None, str] = {}
        self._drawn: tuple[str, ...] = ()
        self._redraw_at = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
        try:
            with _broken_pipe_raised():
                if self._live is not None:
                    self._live.start()
                self._draw()
        except BaseException:
            self._stop()
            raise
        self.blocks.watch(self._changed)
        return self

    def __exit__(self, *_: object) -> None:
        self.blocks.end()
        self.blocks.unwatch(self._changed)
        if self._live is not None:
            # A terminal that is gone must not hide why the `with` block was left.
            with contextlib.suppress(OSError), _broken_pipe_raised():
                lines = Group(*(self._line(block) for block in self.blocks))
                self._live.update(lines, refresh=True)
        self._stop()

    def _stop(self) -> None:
        """Give standard output and error back, whatever becomes of the last drawing."""
        live, self._live = self._live, None
        if live is not None:
            # It may not even have begun, and rich then fails in its own way.
            with contextlib.suppress(Exception), _broken_pipe_raised():
                live.stop()

    def _changed(self, _: CallBlock | None) -> None:
        with _broken_pipe_raised():
            self._draw()

    def _draw(self) -> None:
        if self._live is None:
            self._write()
            return
        quiet = self.blocks.quiet_line()
        lines = tuple(block.line() for block in self.blocks)
        told = lines if quiet is None else (*lines, quiet)
        now = self._console.get_time()
        if told != self._drawn or now >= self._redraw_at:
            self._drawn = told
            self._redraw_at = now + REDRAW_SECONDS
            self._live.update(self._everything(quiet), refresh=True)

    # A terminal

    def _everything(self, quiet: str | None) -> Group:
        rows: list[RenderableType] = []
        for block in self.blocks:
            rows.append(self._line(block))
            fields = block.fields() if block.state in _WITH_FORM else []
            if fields:
                rows.append(self._form(fields))
        if quiet is not None:
            rows.append(self._text(quiet, "dim"))
        return Group(*rows)

    def _line(self, block: CallBlock) -> Text:
        return self._text(block.line(), _STYLES[block.state])

    def _form(self, fields: list[BlockField]) -> Table:
        labels = [_INDENT + printable(field.label)[:LONGEST_LABEL] for field in fields]
        room = self._console.width - max(map(cell_len, labels)) - 2
        form = Table.grid(padding=(0, 1))
        for label, field in zip(labels, fields, strict=True):
            value = _fitted(field, max(1, min(room, LONGEST_VALUE)))
            form.add_row(self._text(label, "dim"), self._text(value))
        return form

    def _text(self, text: str, style: str = "") -> Text:
        return Text(self._encodable(text), style, no_wrap=True, overflow="ellipsis")

    # Anything else

    def _write(self) -> None:
        """Write what is new. A block that takes the place of another one takes its line, too."""
        told: dict[int | None, str] = {
            place: block.line() for place, block in enumerate(self.blocks)
        }
        quiet = self.blocks.quiet_line()
        if quiet is not None:
            told[None] = quiet
        for place, text in told.items():
            if self._said.get(place) != text:
                self._console.out(self._encodable(text), highlight=False)
        self._said = told

    def _encodable(self, text: str) -> str:
        """Where the console's encoding lacks a sign, a question mark stands for it."""
        encoding = self._console.encoding
        return text.encode(encoding, "replace").decode(encoding)


@contextlib.contextmanager
def _broken_pipe_raised() -> Generator[None]:
    """Where nobody reads any more, rich would end the whole program: only the screen is over."""
    try:
        yield
    except SystemExit as error:
        raise BrokenPipeError("nobody reads what is drawn") from error


def _fitted(field: BlockField, room: int) -> str:
    """A value in so many columns: its beginning, or while it grows its end, where things happen."""
    if field.whole:
        value = printable(field.value[: LONGEST_VALUE + 1])
        return value if cell_len(value) <= room else set_cell_size(value, room - 1) + _CUT
    value = printable(field.value[-room:]) + _CUT
    while cell_len(value) > room:
        value = value[1:]
    return value
