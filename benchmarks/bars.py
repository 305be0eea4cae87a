"""What the measurements are held to, and the rows of a table that say whether they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.measuring import Estimate

Verdict = Literal["held", "missed", ""]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bound on a measurement.

    Attributes:
        sign: Whether the measurement may be at most or must be at least the bound.
        bound: In the unit of the row.
        sizes: The sizes of arguments, in bytes, that it is for; empty for every size.
    """

    sign: Literal["<=", ">="]
    bound: float
    sizes: frozenset[int] = frozenset()

    def holds(self, found: float) -> bool:
        """Whether a measurement keeps to it."""
        return found <= self.bound if self.sign == "<=" else found >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.sign == '<=' else '≥'} {self.bound:g}"


def _at_most(bound: float) -> Bar:
    return Bar("<=", bound)


def _at_least(bound: float, *sizes: int) -> Bar:
    return Bar(">=", bound, frozenset(sizes))


BARS: Mapping[str, tuple[Bar, ...]] = {
    "turn / raw: anthropic": (_at_most(1.10),),
    "turn / raw: openai-chat": (_at_most(1.03),),
    "turn / raw: openai-responses": (_at_most(1.03),),
    "turn with preview / raw: anthropic": (_at_most(1.15),),
    "turn with preview / raw: openai-chat": (_at_most(1.05),),
    "turn with preview / raw: openai-responses": (_at_most(1.05),),
    "helper / turn: anthropic": (_at_least(2.5, 20_000), _at_least(8, 200_000)),
    "helper / turn: openai-chat": (_at_least(2, 20_000), _at_least(3, 200_000)),
    "dicts / minimal loop": (_at_most(3),),
    "raw / wire: anthropic": (_at_least(8),),
    "raw / wire: openai-chat": (_at_least(25),),
    "raw / wire: openai-responses": (_at_least(30),),
    "wire / by hand": (_at_most(1.5),),
    "idle timer": (_at_most(120),),
    "finalize / jiter": (Bar("<=", 3, frozenset({2_000})),),
    "import": (_at_most(25),),
    "live turn": (_at_most(12),),
    "dead stream": (_at_most(0.2),),
}
"""Every bar by the name that rows refer to."""


def bar_for(name: str, size: int | None = None) -> Bar | None:
    """The bar of that name for arguments of that size, `None` where there is none.

    Raises:
        KeyError: There is no bar of that name.
    """
    return next((bar for bar in BARS[name] if not bar.sizes or size in bar.sizes), None)


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Attributes:
        what: What was compared, in words.
        where: Under which circumstances.
        found: The measurement.
        unit: Its unit, empty for a ratio.
        bar: What it is held to, if anything.
        note: Absolute figures or what else there is to say.
    """

    what: str
    where: str
    found: Estimate
    unit: str = ""
    bar: Bar | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the median keeps to the bar; empty where there is none."""
        if self.bar is None:
            return ""
        return "held" if self.bar.holds(self.found.median) else "missed"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a topic under a heading."""

    heading: str
    rows: tuple[Row, ...]
    remark: str = ""


def figure(value: float) -> str:
    """Three significant digits, and no more than make sense."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def markdown(table: Table, *, judged: bool = True) -> str:
    """A table in Markdown under its heading.

    Args:
        table: The rows.
        judged: Say whether the bars hold; off where everything ran only once.
    """
    lines = [f"### {table.heading}", ""]
    if table.remark:
        lines += [table.remark, ""]
    columns = ("what", "where", "median", "95 % interval", "pairs", "bar", "", "in figures")
    lines += [_line(columns), _line("---" for _ in columns)]
    for row in table.rows:
        found, unit = row.found, f" {row.unit}" if row.unit else ""
        lines.append(
            _line(
                (
                    row.what,
                    row.where,
                    f"{figure(found.median)}{unit}",
                    f"{figure(found.low)} to {figure(found.high)}",
                    str(found.count),
                    "" if row.bar is None else f"{row.bar}{unit}",
                    _shown(row.verdict) if judged else "",
                    row.note,
                )
            )
        )
    return "\n".join(lines)


def _shown(verdict: Verdict) -> str:
    return f"**{verdict}**" if verdict == "missed" else verdict


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
