"""Draws what records add up to, as SVG that stands in a page and takes its colours.

matplotlib draws, without pyplot, a screen or a script in the page. Each colour it is given is a
token that becomes a variable of the page's style sheet, so that light and dark are the page's.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib import dates
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from finalcall.cli.gap_limits import duration
from finalcall.cli.report.tables import ENOUGH, percent
from finalcall.cli.report.tally import Counts, Recovery, Tally, most_lost
from finalcall.gaps import BOUNDS

BARS: Final = 15
"""Bars of a plot at most: what has more is in the table."""

LINES: Final = 5
"""Lines of a plot at most: more cannot be told apart."""

_TOKENS: Final[Mapping[str, str]] = {
    "--ink": "#010101",
    "--grid": "#020202",
    "--paper": "#030303",
    "--a": "#040404",
    "--b": "#050505",
    "--c": "#060606",
    "--d": "#070707",
    "--e": "#080808",
}
"""Variables of the page's style sheet, and the colours that stand for them while it is drawn."""

INK, GRID, PAPER = (_TOKENS[name] for name in ("--ink", "--grid", "--paper"))
COLOURS: Final = tuple(_TOKENS[name] for name in ("--a", "--b", "--c", "--d", "--e"))
_DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKS: Final = ("o", "s", "^", "D", "v")
_HATCHES: Final = ("", "////", "....")

_STYLE: Final[Mapping[str, Any]] = {
    "svg.fonttype": "none",  # text stays text: it can be read out, searched and copied
    "svg.hashsalt": "finalcall",
    "text.parse_math": False,  # a $ in a tool's name is a $
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "hatch.linewidth": 1.2,
    "font.size": 11,
}

# Its own types say little of what it gives.
_MPL: Final[Any] = mpl
_DATES: Final[Any] = dates

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"


@final
@dataclass(frozen=True, slots=True)
class Plot:
    """A plot that a page can hold.

    Attributes:
        title: What it shows.
        caption: How to read it.
        svg: The drawing, an element of its own.
    """

    title: str
    caption: str
    svg: str


def plots(tally: Tally) -> list[Plot]:
    """The plots of a report; none that would be empty.

    Args:
        tally: What was found.
    """
    found: list[Plot] = []
    # A sign that matplotlib's own font lacks is there in the browser's.
    with _MPL.rc_context(dict(_STYLE)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hours = {name: one for name, one in tally.hours.items() if name[:1].isdecimal()}
        if hours:
            found.append(_hours(hours))
        tools = [item for item in most_lost(tally.tools) if item[1].announced]
        if tools:
            found.append(_tools(tools[:BARS]))
        if tally.causes:
            found.append(_causes(tally))
        if any(whole for _, whole in tally.waits):
            found.append(_waits(tally))
        if tally.attempts:
            found.append(_recovery(tally))
    return found


def _hours(hours: Mapping[str, Counts]) -> Plot:
    title = "Lost and truncated calls by hour"
    caption = (
        "Above, the share of the announced calls of each hour (UTC) that were lost (abandoned or "
        f"unparseable) or truncated; hours with fewer than {ENOUGH} calls are hollow, as their "
        "shares say little. Below, how many calls were announced."
    )
    figure: Any = Figure(figsize=(9, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    named = sorted((datetime.fromisoformat(name), one) for name, one in hours.items())
    times, counts = _with_breaks(named)
    for number, (label, parts) in enumerate(
        (
            ("lost", [one and one.share(one.abandoned_or_unparseable) for one in counts]),
            ("truncated", [one and one.share(one.truncated) for one in counts]),
        )
    ):
        shares = [float("nan") if share is None else share for share in parts]
        colour = COLOURS[number]
        style: dict[str, Any] = {"color": colour, "linestyle": _DASHES[number]}
        above.plot(times, shares, linewidth=1.5, marker=_MARKS[number], ms=4, label=label, **style)
        few = [
            (time, share)
            for time, share, one in zip(times, shares, counts, strict=True)
            if one is not None and one.announced < ENOUGH
        ]
        if few:
            above.plot(*zip(*few, strict=True), _MARKS[number], ms=4, mec=colour, mfc=PAPER)
    above.set_ylim(bottom=0)
    above.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    above.set_ylabel("share of calls")
    above.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    announced = [0 if one is None else one.announced for one in counts]
    below.bar(times, announced, width=timedelta(minutes=50), color=COLOURS[2])
    below.yaxis.set_major_formatter(FuncFormatter(_as_number))
    below.set_ylabel("calls")
    below.set_xlabel("hour (UTC)")
    locator = _DATES.AutoDateLocator()
    below.xaxis.set_major_locator(locator)
    below.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator))
    return Plot(title, caption, _svg(figure, "hours", title))


def _with_breaks(
    named: Sequence[tuple[datetime, Counts]],
) -> tuple[list[datetime], list[Counts | None]]:
    """Put a break where hours are missing: no line leads over them."""
    times: list[datetime] = []
    counts: list[Counts | None] = []
    hour = timedelta(hours=1)
    for time, one in named:
        if times and time - times[-1] > hour:
            times.append(times[-1] + hour)
            counts.append(None)
        times.append(time)
        counts.append(one)
    return times, counts


def _tools(tools: Sequence[tuple[str, Counts]]) -> Plot:
    title = "Calls that did not run, by tool"
    caption = (
        "The share of each tool's announced calls that were lost (abandoned or unparseable), "
        "truncated, or invalid against its schema. Invalid calls can be corrected, the others "
        "cannot."
    )
    figure, axes = _bars_figure(len(tools))
    labels = [f"{_short(name)} ({one.announced:,})" for name, one in tools]
    left = [0.0] * len(tools)
    for number, (label, values) in enumerate(
        (
            ("lost", [one.abandoned_or_unparseable for _, one in tools]),
            ("truncated", [one.truncated for _, one in tools]),
            ("invalid", [one.schema_errors for _, one in tools]),
        )
    ):
        shares = [value / one.announced for value, (_, one) in zip(values, tools, strict=True)]
        style: dict[str, Any] = {"color": COLOURS[number], "hatch": _HATCHES[number]}
        axes.barh(range(len(tools)), shares, left=left, label=label, edgecolor=PAPER, **style)
        left = [before + share for before, share in zip(left, shares, strict=True)]
    _name_bars(axes, labels)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.set_xlabel("share of announced calls")
    axes.set_ylabel("tool (calls)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return Plot(title, caption, _svg(figure, "tools", title))


def _causes(tally: Tally) -> Plot:
    title = "Calls that did not arrive, by cause"
    caption = "Cancelled calls are nobody's failure, and in none of the shares."
    ordered = sorted(tally.causes.items(), key=lambda one: -one[1])[:BARS]
    figure, axes = _bars_figure(len(ordered))
    numbers = [number for _, number in ordered]
    colours = [
        COLOURS[4] if cause == "cancelled" else COLOURS[1 if reason == "truncated" else 0]
        for (reason, cause), _ in ordered
    ]
    bars = axes.barh(range(len(ordered)), numbers, color=colours)
    axes.bar_label(bars, [f"{number:,}" for number in numbers], padding=4)
    _name_bars(axes, [f"{_short(cause)} ({reason})" for (reason, cause), _ in ordered])
    axes.xaxis.set_major_formatter(FuncFormatter(_as_number))
    axes.margins(x=0.12)
    axes.set_xlabel("calls")
    axes.set_ylabel("cause (reason)")
    return Plot(title, caption, _svg(figure, "causes", title))


def _waits(tally: Tally) -> Plot:
    title = "Longest wait inside of calls that arrived whole"
    caption = (
        "How many of the calls had no wait longer than a time, on a logarithmic scale. A limit "
        "belongs far to the right of where every line has reached the top."
    )
    figure: Any = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    found = [
        (provider, waits.summary()) for (provider, whole), waits in tally.waits.items() if whole
    ]
    found.sort(key=lambda one: -one[1].count)
    for number, (provider, gaps) in enumerate(found[:LINES]):
        shares: list[float] = []
        seen = 0
        for count in gaps.counts[:-1]:
            seen += count
            shares.append(seen / gaps.count)
        label = f"{_short(provider)} ({gaps.count:,})"
        style: dict[str, Any] = {"color": COLOURS[number], "linestyle": _DASHES[number]}
        axes.plot(BOUNDS, shares, linewidth=1.8, label=label, **style)
    longest = max(gaps.max for _, gaps in found)
    axes.set_xscale("log")
    axes.set_xlim(BOUNDS[0], max(1.0, 3 * longest))
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_formatter(FuncFormatter(_as_duration))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("longest wait")
    axes.set_ylabel("share of calls")
    axes.legend(loc="lower right", title="provider (calls)")
    return Plot(title, caption, _svg(figure, "waits", title))


def _recovery(tally: Tally) -> Plot:
    title = "What came of corrections"
    caption = (
        "The share of corrections after which no call was invalid or lost, by the number of the "
        "message that answered and by what had failed."
    )
    rows: list[tuple[str, Recovery]] = [
        *((f"attempt {name}", one) for name, one in sorted(tally.attempts.items())),
        *sorted(tally.violations.items(), key=lambda one: -one[1].corrections),
    ]
    rows = rows[:BARS]
    figure, axes = _bars_figure(len(rows))
    shares = [one.share for _, one in rows]
    colours = [COLOURS[3] if name.startswith("attempt ") else COLOURS[4] for name, _ in rows]
    bars = axes.barh(range(len(rows)), shares, color=colours)
    axes.bar_label(bars, [percent(share) for share in shares], padding=4)
    _name_bars(axes, [f"{_short(name)} ({one.corrections:,})" for name, one in rows])
    axes.set_xlim(0, 1.12)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share that recovered")
    axes.set_ylabel("what (corrections)")
    return Plot(title, caption, _svg(figure, "recovery", title))


def _bars_figure(bars: int) -> tuple[Any, Any]:
    figure: Any = Figure(figsize=(9, 1.5 + 0.34 * bars), layout="constrained")
    return figure, figure.subplots()


def _name_bars(axes: Any, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _as_number(value: float, _: object) -> str:
    return f"{value:,.0f}"


def _as_duration(value: float, _: object) -> str:
    return duration(value)


def _short(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:31]}…"


def _svg(figure: Any, name: str, title: str) -> str:
    """The drawing as an element of a page: named for who cannot see it, its colours variables."""
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    root = ET.fromstring(written.getvalue())  # noqa: S314 - our own drawing
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":  # several drawings are in one page
                element.set(key, f"{name}-{value}")
            elif key == _LINK:
                del element.attrib[key]
                element.set("href", value.replace("#", f"#{name}-"))
            else:
                element.set(key, _with_variables(value.replace("url(#", f"url(#{name}-")))
    for size in ("width", "height"):
        del root.attrib[size]
    root.set("role", "img")
    root.set("aria-label", title)
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _with_variables(value: str) -> str:
    for variable, token in _TOKENS.items():
        value = value.replace(token, f"var({variable})")
    return value
