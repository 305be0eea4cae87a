"""Reads records, and tells what they add up to."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from finalcall.cli.gap_limits import printable
from finalcall.cli.output import allow_any_text, has_colours
from finalcall.cli.progress import Progress
from finalcall.cli.report.reading import FILES, find, lines, parse
from finalcall.cli.report.tables import as_text, draw, summary, tables
from finalcall.cli.report.tally import Tally

_NO_PLOTS: Final = (
    "report: --html draws with matplotlib, which is not installed; install it with "
    "pip install 'finalcall[report]', or leave --html out\n"
)

_EPILOG: Final = """\
what is counted:
  Shares are of the calls that were announced, those that were cancelled apart.
  Lines that are no records, such as one that a process died in, are passed over,
  counted and told.

examples:
  python -m finalcall report /var/log/agent
  python -m finalcall report '/var/log/*/finalcall-2026-11-*.jsonl' --json
  python -m finalcall report /var/log/agent --html report.html

exit status:
  0  a report was made
  1  the files hold no record
  2  bad usage, such as a file that does not exist, or --html without matplotlib
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "report",
        help="report from the records of settled calls how many were lost, and why",
        description="Adds up the records that JsonlHandler wrote: which calls were lost, by tool,\n"
        "provider, hour and cause; what came of corrections; how long calls waited.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "records",
        nargs="+",
        metavar="RECORDS",
        help=f"a file, a directory ({FILES} in it and below), or a pattern such as 'a/**/*.jsonl'",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="also write a page with plots (extra: report)"
    )
    parser.add_argument("--no-color", action="store_true", help="no colours, as NO_COLOR=1")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the records, make the report.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where a report was made, 1 where there was no record, 2 where the command line names
        nothing or the page cannot be made.
    """
    try:
        paths = find(options.records)
    except ValueError as error:
        sys.stderr.write(f"report: {error}\n")
        return 2
    if options.html is not None and not _has_plots():
        sys.stderr.write(_NO_PLOTS)
        return 2
    tally = _read(paths)
    if options.html is not None and tally.records and not _write_page(tally, options.html):
        return 2
    _show(tally, as_json=options.json, no_colour=options.no_color)
    return 0 if tally.records else 1


def _has_plots() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _read(paths: Sequence[Path]) -> Tally:
    tally = Tally(files=len(paths))
    size = sum(map(_size, paths))
    with Progress(sys.stderr, size, f"{size / 1e6:,.0f} MB") as progress:
        for path in paths:
            try:
                for number, (line, length) in enumerate(lines(path), start=1):
                    progress.step(length)
                    if not line.isspace():
                        found = parse(line)
                        if isinstance(found, str):
                            tally.take_broken(found, str(path), number)
                        else:
                            tally.take(found)
            except OSError as error:
                why = error.strerror or type(error).__name__
                tally.unreadable[printable(str(path))] = why
    return tally


def _write_page(tally: Tally, path: Path) -> bool:
    from finalcall.cli.report.page import page

    try:
        path.write_text(page(tally), encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        sys.stderr.write(f"report: {str(path)!r} could not be written: {why}\n")
        return False
    return True


def _show(tally: Tally, *, as_json: bool, no_colour: bool) -> None:
    allow_any_text(sys.stdout)
    if as_json:
        sys.stdout.write(json.dumps(tally.as_json(), indent=2) + "\n")
        return
    said = summary(tally)
    found = tables(tally) if tally.records else []
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        try:
            draw(said, found, colour=has_colours(sys.stdout, no_colour=no_colour))
        except ImportError:  # without rich, the same as plain text
            pass
        else:
            return
    sys.stdout.write("\n".join([*said, *as_text(found)]) + "\n")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
