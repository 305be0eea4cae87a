"""Recommends limits on silence from recordings, and tells what they were taken from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from finalcall.cli.gap_files import find, measure
from finalcall.cli.gap_limits import MARGIN, PhaseSurvey, Survey, counted, duration
from finalcall.cli.output import allow_any_text, has_colours
from finalcall.cli.progress import Progress

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
    with Progress(sys.stderr, len(paths), f"{len(paths)} files") as progress:
        for path in paths:
            survey.take(str(path), measure(path))
            progress.step()
    if options.json:
        lines = [json.dumps(survey.as_json(), indent=2)]
    else:
        lines = describe(survey, bold=has_colours(sys.stdout, no_colour=options.no_color))
    allow_any_text(sys.stdout)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if survey.phases else 1


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
