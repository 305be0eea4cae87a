"""Lays what records add up to out as tables, and writes them as text or for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final
from unicodedata import east_asian_width

from finalcall.cli.gap_limits import counted, duration
from finalcall.cli.report.tally import Counts, Recovery, Tally, most_lost

ENOUGH: Final = 50
"""Calls below which a share says little; it is then shown with a question mark."""

ROWS: Final = 10
"""Rows of a table on a terminal, of those that may be long."""

_COUNTED: Final = ("announced", "lost", "truncated", "invalid", "cancelled")


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table of text.

    Attributes:
        title: What it is of.
        caption: How to read it.
        headings: Of the columns; the first one names the rows.
        rows: The cells.
        names: How many columns, from the left, are text; the others are numbers.
    """

    title: str
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


def summary(tally: Tally) -> list[str]:
    """What was read, and what of it does not count, one sentence a line.

    Args:
        tally: What was found.
    """
    said = [f"{counted(tally.records, 'record')} in {counted(tally.files, 'file')}"]
    if tally.begin is not None and tally.end is not None:
        said[0] += f", from {tally.begin:%Y-%m-%d %H:%M} to {tally.end:%Y-%m-%d %H:%M} UTC"
    for why, number in sorted(tally.broken.items()):
        first = tally.first_broken[why]
        said.append(f"{counted(number, 'line')} passed over as {why} (the first: {first})")
    for file, found in tally.unreadable.items():
        said.append(f"not read to its end: {file}: {found}")
    return said


def tables(tally: Tally, rows: int = ROWS) -> list[Table]:
    """The tables of a report; none that would be empty.

    Args:
        tally: What was found.
        rows: How many rows a table of tools or hours may have.
    """
    made = [
        _counts("All calls", "", "", {"all": tally.total}, rows),
        _counts("By tool", "The tools that lost the most calls first.", "tool", tally.tools, rows),
        _counts("By provider", "", "provider", tally.providers, rows),
        _counts(
            "By hour",
            "The hours, in UTC, that lost the most calls first.",
            "hour",
            tally.hours,
            rows,
        ),
        _causes(tally, rows),
        _waits(tally, rows),
        _recovery("Recovery by attempt", "attempt", tally.attempts, rows),
        _recovery("Recovery by kind of violation", "violation", tally.violations, rows),
    ]
    return [table for table in made if table.rows]


def percent(share: float | None) -> str:
    """A share as a person reads it."""
    return "-" if share is None else f"{100 * share:.2f} %"


def _counts(
    title: str, caption: str, heading: str, groups: Mapping[str, Counts], rows: int
) -> Table:
    shown = [(name, one) for name, one in most_lost(groups) if one.announced or one.cancelled]
    cells = [
        (
            name,
            f"{one.announced:,}",
            _share(one, one.abandoned_or_unparseable),
            _share(one, one.truncated),
            _share(one, one.schema_errors),
            f"{one.cancelled:,}",
        )
        for name, one in shown[:rows]
    ]
    if not heading:
        caption = (
            "Announced: all but the cancelled calls. Lost: abandoned or unparseable. Invalid: "
            "against the tool's schema. Shares are of the announced calls; those of fewer than "
            f"{ENOUGH} have a question mark."
        )
    return Table(title, _with_rest(caption, len(shown) - rows), (heading, *_COUNTED), cells)


def _share(counts: Counts, number: int) -> str:
    doubt = "?" if 0 < counts.announced < ENOUGH else ""
    return f"{percent(counts.share(number))}{doubt}"


def _causes(tally: Tally, rows: int) -> Table:
    """Of the cancelled calls only the number: they are no share of the announced ones."""
    ordered = sorted(tally.causes.items(), key=lambda one: (-one[1], one[0]))
    cells = [
        (
            cause,
            reason,
            f"{number:,}",
            "-" if cause == "cancelled" else percent(tally.total.share(number)),
        )
        for (reason, cause), number in ordered[:rows]
    ]
    caption = "Calls that did not arrive, and their share of the announced ones."
    caption = _with_rest(caption, len(ordered) - rows)
    return Table("By cause", caption, ("cause", "reason", "calls", "share"), cells, 2)


def _waits(tally: Tally, rows: int) -> Table:
    cells: list[tuple[str, ...]] = []
    for (provider, whole), waits in sorted(tally.waits.items(), key=lambda one: one[0])[:rows]:
        gaps = waits.summary()
        times = (gaps.p50, gaps.percentile(90), gaps.p99, gaps.max)
        arrived = "whole" if whole else "not whole"
        cells.append((provider, arrived, f"{gaps.count:,}", *map(duration, times)))
    caption = (
        "The longest wait inside of each call. A limit must be above those of calls that arrived "
        "whole. Percentiles are upper bounds, at most 26 % above the true ones."
    )
    headings = ("provider", "arrived", "calls", "p50", "p90", "p99", "longest")
    return Table("Longest wait", _with_rest(caption, len(tally.waits) - rows), headings, cells, 2)


def _recovery(title: str, heading: str, groups: Mapping[str, Recovery], rows: int) -> Table:
    ordered = sorted(groups.items(), key=lambda one: (-one[1].corrections, one[0]))
    if heading == "attempt":
        caption = "The number of the message that answered a correction, from 2."
    else:
        caption = "What had failed. A correction of several kinds counts for each."
    cells = [
        (
            name,
            f"{one.corrections:,}",
            f"{one.recovered:,}",
            f"{percent(one.share)}{'?' if one.corrections < ENOUGH else ''}",
        )
        for name, one in ordered[:rows]
    ]
    caption = _with_rest(caption, len(ordered) - rows)
    return Table(title, caption, (heading, "corrections", "recovered", "share"), cells)


def _with_rest(caption: str, left: int) -> str:
    if left <= 0:
        return caption
    return f"{caption} {left:,} more are not shown (--json has all).".strip()


def as_text(tables: Iterable[Table]) -> Iterator[str]:
    """The lines of tables as plain text.

    Args:
        tables: What to write.
    """
    for table in tables:
        yield ""
        yield table.title
        cells = [table.headings, *table.rows]
        widths = [max(map(_columns, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            line = ""
            for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
                space = " " * (width - _columns(cell))
                line += f"{cell}{space}  " if column < table.names else f"{space}{cell}  "
            yield line.rstrip()
        if table.caption:
            yield table.caption


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: some scripts take two a sign."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def draw(lines: Iterable[str], tables: Iterable[Table], *, colour: bool) -> None:
    """Draw on the terminal that is the standard output.

    Args:
        lines: What to say first.
        tables: What to draw.
        colour: Whether there may be colours.

    Raises:
        ImportError: rich is not installed.
    """
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(no_color=not colour, highlight=False)
    for line in lines:
        console.print(Text(line))
    for table in tables:
        # Names are anybody's: as Text, nothing in them is markup.
        drawn = Drawn(
            title=Text(table.title, "bold"),
            caption=Text(table.caption, "dim") if table.caption else None,
            title_justify="left",
            caption_justify="left",
        )
        for column, heading in enumerate(table.headings):
            numbers = column >= table.names
            drawn.add_column(Text(heading), justify="right" if numbers else "left", no_wrap=numbers)
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print()
        console.print(drawn)
