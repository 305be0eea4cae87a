"""Writes a report as one page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from finalcall.cli.report.plots import Plot, plots
from finalcall.cli.report.tables import Table, summary, tables
from finalcall.cli.report.tally import Tally

ROWS: Final = 200
"""Rows of a table in a page: a week has 168 hours."""

_STYLE: Final = """\
:root { color-scheme: light dark; --ink: #1c1c1e; --grid: #d5d5da; --paper: #ffffff;
  --faint: #55555c; --a: #b3261e; --b: #9a6700; --c: #2a6fb0; --d: #1b7a43; --e: #7b4bb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --grid: #45454c; --paper: #17171a;
  --faint: #a9a9b2; --a: #ff8078; --b: #e3b341; --c: #79b8ff; --d: #6fd08c; --e: #c9a5ff; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .25rem; }
p, figcaption, caption { max-width: 48rem; }
figure { margin: 0; }
figcaption, caption { color: var(--faint); font-size: .9rem; text-align: left; padding: .25rem 0; }
caption strong { color: var(--ink); font-size: 1rem; display: block; }
svg { width: 100%; height: auto; }
svg * { stroke-linejoin: round; }
.wide { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--grid); text-align: left;
  white-space: nowrap; font-weight: normal; }
thead th { font-weight: 600; }
.n { text-align: right; }
"""


def page(tally: Tally) -> str:
    """The page.

    Args:
        tally: What was found; at least one record.
    """
    return "\n".join(_lines(tally)) + "\n"


def _lines(tally: Tally) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>How tool calls settled</title><style>\n{_STYLE}</style></head><body><main>"
    yield "<h1>How tool calls settled</h1>"
    for sentence in summary(tally):
        yield f"<p>{escape(sentence)}.</p>"
    for plot in plots(tally):
        yield _figure(plot)
    yield "<h2>The numbers</h2>"
    for table in tables(tally, ROWS):
        yield _table(table)
    yield "</main></body></html>"


def _figure(plot: Plot) -> str:
    title, caption = escape(plot.title), escape(plot.caption)
    return f"<h2>{title}</h2><figure>{plot.svg}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    def cells(row: tuple[str, ...], scope: str) -> str:
        made = ""
        for column, cell in enumerate(row):
            tag, of = ("th", f' scope="{scope}"') if scope == "col" or not column else ("td", "")
            number = ' class="n"' if column >= table.names else ""
            made += f"<{tag}{of}{number}>{escape(cell)}</{tag}>"
        return f"<tr>{made}</tr>"

    caption = f"<caption><strong>{escape(table.title)}</strong>{escape(table.caption)}</caption>"
    head = cells(tuple(table.headings), "col")
    body = "".join(cells(tuple(row), "row") for row in table.rows)
    # A table that is wider than the page scrolls by itself, with the keyboard, too.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table></div>"
    )
