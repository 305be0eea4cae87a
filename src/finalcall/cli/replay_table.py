"""Writes what became of streams: a row of a table for each, once it is known, and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, final

from finalcall.cli.output import CUT_FILE, Colour, coloured, counted, cut_end, cut_start
from finalcall.providers import PROVIDERS
from finalcall.testing.replaying import ReplayedCall, ReplayedStream
from finalcall.texts import printable

NARROW: Final = 120
"""Columns below which a row takes two lines."""

_SHORTEST_FILE: Final = 24
_OTHERS: Final = 92
"""Columns that are kept for all but the file's name."""

_LONGEST_WORD: Final = 32
_HEADINGS: Final = ("file", "provider", "calls", "verdict", "ending", "outcomes")
_UNREADABLE: Final = "-"
_INDENT: Final = "    "
_COLOURS: Final[dict[str, Colour]] = {
    "dispatch": "green",
    "done": "green",
    "resume": "yellow",
    "correct": "yellow",
    "fail": "red",
    _UNREADABLE: "red",
}


def settled_as(call: ReplayedCall) -> str:
    """An outcome in the words of the table: `truncated (token_ceiling)`."""
    if call.reason is not None:
        return f"{call.reason} ({call.cause})"
    if call.violations:
        return f"{call.outcome} ({call.violations[0]})"
    return call.outcome


def tally(words: Iterable[str]) -> str:
    """Count words: `2 dispatchable, 1 truncated (token_ceiling)`."""
    return ", ".join(f"{count:,} {word}" for word, count in Counter(words).items())


def ending_of(stream: ReplayedStream) -> str:
    """What ended a stream: the cause of an unclean end, else the provider's stop reason."""
    if stream.ending is not None:
        code = f" ({_word(stream.code)})" if stream.code else ""
        return f"{stream.ending}{code}"
    reason = stream.stop_reason
    return "-" if reason is None else _word(reason.raw)


def outcomes_of(stream: ReplayedStream) -> str:
    """What a stream's calls settled as, and what else there is to say of it."""
    if stream.unreadable is not None:
        return f"unreadable: {printable(stream.unreadable)}"
    parts = [tally(map(settled_as, stream.calls)) or "no calls"]
    if stream.external_calls:
        unknown = stream.unknown_external_calls
        parts.append(
            f"{stream.external_calls} external" + (f" ({unknown} may have run)" if unknown else "")
        )
    parts += [f"odd: {name}" for name in stream.anomalies]
    if stream.cut:
        parts.append(CUT_FILE)
    return "; ".join(parts)


def _word(text: str) -> str:
    """A word of the provider's, which may hold anything."""
    return cut_end(printable(text), _LONGEST_WORD)


@final
class Table:
    """Rows of a table that is written before all of it is known.

    Args:
        paths: The files that it will have rows for.
        width: Columns of the terminal, or `None`: nothing is cut then.
        colours: Whether the terminal shows colours.
    """

    def __init__(self, paths: Sequence[Path], *, width: int | None, colours: bool) -> None:
        self._width = width
        self._colours = colours
        self._stacked = width is not None and width < NARROW
        names = max((len(printable(str(path))) for path in paths), default=0)
        most = names if width is None else min(names, max(_SHORTEST_FILE, width - _OTHERS))
        provider = max(map(len, PROVIDERS))
        self._widths = (max(most, len(_HEADINGS[0])), provider, 5, 8, 14)

    def headings(self) -> str:
        """The first line."""
        if self._stacked:
            return self._bold("verdict  file")
        return self._bold(self._row(_HEADINGS))

    def rows(self, stream: ReplayedStream) -> Iterator[str]:
        """The lines of a stream."""
        verdict = stream.verdict or _UNREADABLE
        file = printable(stream.file)
        calls = str(len(stream.calls)) if stream.verdict else _UNREADABLE
        ending = ending_of(stream)
        provider = stream.provider or _UNREADABLE
        if not self._stacked:
            cells = (file, provider, calls, verdict, ending, outcomes_of(stream))
            yield self._painted(self._row(cells), verdict)
            return
        assert self._width is not None
        yield self._painted(f"{verdict:8} {cut_start(file, self._width - 10)}", verdict)
        told = outcomes_of(stream)
        if stream.unreadable is None:
            told = f"{provider}, {ending}: {told}"
        yield cut_end(_INDENT + told, self._width - 1)

    def _row(self, cells: Sequence[str]) -> str:
        *columns, outcomes = cells
        padded = [cell.ljust(width) for cell, width in zip(columns, self._widths, strict=True)]
        padded[0] = cut_start(cells[0], self._widths[0]).ljust(self._widths[0])
        padded[2] = cells[2].rjust(self._widths[2])
        line = "  ".join((*padded, outcomes))
        return cut_end(line, None if self._width is None else self._width - 1)

    def _painted(self, line: str, verdict: str) -> str:
        """Colour the verdict where it stands in a line."""
        at = 0 if self._stacked else sum(self._widths[:3]) + 6
        end = at + len(verdict)
        word = coloured(line[at:end], _COLOURS[verdict], allowed=self._colours)
        return line[:at] + word + line[end:]

    def _bold(self, line: str) -> str:
        return coloured(line, "bold", allowed=self._colours)


@final
class Totals:
    """Counts what became of all streams.

    Attributes:
        passed: Whether every one of them could be read and passed.
    """

    def __init__(self) -> None:
        self.passed: bool = True
        self._files = 0
        self._unreadable = 0
        self._verdicts: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()

    def take(self, stream: ReplayedStream) -> None:
        """Count a stream."""
        self._files += 1
        self.passed = self.passed and stream.passed
        if stream.verdict is None:
            self._unreadable += 1
        else:
            self._verdicts[stream.verdict] += 1
        for call in stream.calls:
            self._calls[_summed(call)] += 1

    @property
    def dispatchable(self) -> int:
        """How many calls may run."""
        return self._calls["dispatchable"]

    def lines(self) -> Iterator[str]:
        """The lines below the table."""
        unreadable = f", {self._unreadable:,} of them unreadable" if self._unreadable else ""
        yield f"{counted(self._files, 'file')}{unreadable}"
        if self._verdicts:
            yield f"verdicts: {_most_first(self._verdicts)}"
        if self._calls:
            yield f"{counted(self._calls.total(), 'call')}: {_most_first(self._calls)}"


def _summed(call: ReplayedCall) -> str:
    """An outcome as totals count it: keywords of violations are too many to tell apart."""
    return call.outcome if call.reason is None else settled_as(call)


def _most_first(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.most_common())
