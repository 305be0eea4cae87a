"""Recommends limits on silence from recordings, and tells what they were taken from."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TextIO, final

from finalcall.cli.gap_files import find, measure
from finalcall.cli.gap_limits import MARGIN, PhaseSurvey, Survey, counted, duration

_NAMED: Final = 5
"""Files of a kind that the text names; `--json` names all."""

_EPILOG: Final = """\
times in a recording:
  The line of each event carries "at": when it arrived, in seconds, on any scale
  that never goes back:
    {"event": "ping", "data": {"type": "ping"}, "at": 3.25}
  The header may carry "at" too: when the request was made. Without it nothing is
  known of the wait for the first event.

examples:
  python -m finalcall gaps recordings/
  python -m finalcall gaps 'recordings/**/*.jsonl' --json
  python -m finalcall gaps one.jsonl two.jsonl

exit status:
  0  limits are recommended
  1  no recording had times, or none that had them came to a proper end
  2  bad usage, such as a file that does not exist
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "gaps",
        help="recommend idle limits from recordings that carry arrival times",
        description="Measures the silences of recorded streams by provider and phase,\n"
        f"and recommends limits: at least {MARGIN} times the worst gap of those that\n"
        "ended properly.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "recordings",
        nargs="+",
        metavar="RECORDINGS",
        help="a file, a directory (*.jsonl in it and below), or a pattern such as 'a/**/*.jsonl'",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-color", action="store_true", help="no colours, as NO_COLOR=1")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure the recordings, recommend limits.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where limits are recommended, 1 where no recording had gaps to take them from, 2 where
        the command line names nothing.
    """
    try:
        paths = find(options.recordings)
    except ValueError as error:
        sys.stderr.write(f"gaps: {error}\n")
        return 2
    survey = Survey()
    with _Progress(sys.stderr, len(paths)) as progress:
        for path in paths:
            survey.take(str(path), measure(path))
            progress.step()
    if options.json:
        lines = [json.dumps(survey.as_json(), indent=2)]
    else:
        plain = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        lines = describe(survey, bold=sys.stdout.isatty() and not plain)
    _allow_any_text(sys.stdout)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if survey.phases else 1


def _allow_any_text(stream: TextIO) -> None:
    """Where an encoding lacks a sign, show "?" for it."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def describe(survey: Survey, *, bold: bool) -> list[str]:
    """The lines that tell a person.

    Args:
        survey: What was found.
        bold: Whether the headings may be bold.
    """
    rows = list(survey.rows())
    lines = [*_table(rows, bold=bold), ""] if rows else ["no limits: there are no gaps to go by"]
    lines += [survey_of.sentence(provider) for provider, survey_of in rows]
    lines += ["", *(f"{name}: {survey.options(name)}" for name in survey.providers), ""]
    lines.append(f"{counted(survey.files, 'file')}, {survey.used} with times and a proper end")
    if survey.unrequested:
        lines.append(
            f"{survey.unrequested} of these do not say when the request was made (no 'at' in the "
            "header): nothing is known of their wait for the first event"
        )
    for named, what in (
        (survey.unclean, "with times, but without a proper end: their gaps do not count"),
        (survey.untimed, "without usable times"),
        (survey.unreadable, "that could not be read as recordings"),
    ):
        lines += _named(named, what)
    return lines


def _table(rows: Sequence[tuple[str, PhaseSurvey]], *, bold: bool) -> Iterator[str]:
    cells = [("provider", "phase", "recordings", "gaps", "p50", "p99", "worst", "limit")]
    for provider, survey in rows:
        gaps = survey.gaps
        numbers = f"{survey.recordings:,}", f"{gaps.count:,}"
        times = duration(gaps.p50), duration(gaps.p99), duration(gaps.max)
        cells.append((provider, survey.phase, *numbers, *times, _limit(survey)))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        padded = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(padded)
        yield f"\x1b[1m{line}\x1b[0m" if bold and number == 0 else line


def _limit(survey: PhaseSurvey) -> str:
    """The limit, with a question mark where the gaps are too few."""
    return f"{survey.limit} s" if survey.enough else f"{survey.limit} s?"


def _named(named: Mapping[str, str], what: str) -> Iterator[str]:
    if named:
        yield f"{len(named)} {what}:"
    for file, found in list(named.items())[:_NAMED]:
        yield f"  {file}: {found}"
    if len(named) > _NAMED:
        yield f"  and {len(named) - _NAMED} more (--json names all)"


@final
class _Progress:
    """How far it is, where somebody looks."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream = stream
        self._total = total
        self._done = 0
        self._shown = stream.isatty()

    def step(self) -> None:
        """One more file is done."""
        self._done += 1
        if self._shown and self._done % 20 == 0:
            self._stream.write(f"\r{self._done} of {self._total} files")
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
