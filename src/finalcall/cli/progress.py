"""How far a long work is, in one line of the terminal, and nothing where nobody looks."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self, TextIO, final

_WIDTH: Final = 25


@final
class Progress:
    """A bar that is drawn over itself, and gone at the end.

    Args:
        stream: Where to draw it: shown on a terminal only.
        total: How much there is to do, in any unit.
        name: What that is, as `"45 files"`.
    """

    def __init__(self, stream: TextIO, total: int, name: str) -> None:
        self._stream = stream
        self._shown = total > 0 and stream.isatty()
        self._total = total
        self._name = name
        self._done = 0
        self._percent = -1

    def step(self, amount: int = 1) -> None:
        """So much more is done."""
        if not self._shown:
            return
        self._done += amount
        percent = min(100, 100 * self._done // self._total)
        if percent > self._percent:
            self._percent = percent
            bar = "#" * (_WIDTH * percent // 100)
            self._stream.write(f"\r[{bar:.<{_WIDTH}}] {percent:3} % of {self._name}")
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
