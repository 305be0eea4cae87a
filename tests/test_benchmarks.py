"""What the benchmarks' figures rest on: the statistics, the bars, the place in the document."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import materials, report
from benchmarks.bars import BARS, Bar, Row, Table, bar_for, markdown
from benchmarks.measuring import Estimate, estimate, ratio, turn_about
from finalcall import Dispatchable, Settler

TIMES = st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("count", "skipped"),
    [(1, 0), (3, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5), (100, 39)],
)
def test_the_interval_leaves_out_what_the_binomial_tables_say(count: int, skipped: int) -> None:
    """With that many values, so many of the smallest and of the largest may be left out."""
    found = estimate([float(value) for value in range(count)])
    assert (found.low, found.high) == (skipped, count - 1 - skipped)
    assert found.count == count


@given(TIMES)
def test_the_interval_holds_the_median_at_95_percent(times: list[float]) -> None:
    """The median lies in its interval; the chance that it does not is at most 5 %, from six on."""
    found = estimate(times)
    assert found.low <= found.median <= found.high
    skipped = sorted(times).index(found.low)
    if len(times) > 5 and len(set(times)) == len(times):
        outside = sum(math.comb(len(times), left_out) for left_out in range(skipped + 1))
        assert 2 * outside / 2 ** len(times) <= 0.05


def test_a_ratio_is_taken_within_each_round() -> None:
    """A machine that is slow for a round is slow for both: the ratio does not see it."""
    assert ratio([2.0, 20.0, 6.0], [1.0, 10.0, 3.0]) == Estimate(2.0, 2.0, 2.0, 3)
    assert ratio([2.0], [1.0, 5.0]).count == 1


def test_contestants_take_turns_and_slow_ones_stop_early() -> None:
    """Every other round runs backwards; slow contestants take part in the first rounds only."""
    order: list[str] = []

    def contestant(name: str) -> float:
        order.append(name)
        return 1.0

    times = turn_about(
        {name: lambda name=name: contestant(name) for name in "abc"},
        seconds=60,
        most=4,
        fewest=2,
        slow={"c": 1},
    )
    assert "".join(order) == "ab" + "abc" + "ba" + "ab" + "ba"
    assert {name: len(spent) for name, spent in times.items()} == {"a": 4, "b": 4, "c": 1}


@pytest.mark.parametrize(
    ("bar", "found", "verdict"),
    [
        (Bar("<=", 1.1), 1.1, "held"),
        (Bar("<=", 1.1), 1.11, "missed"),
        (Bar(">=", 8), 8.0, "held"),
        (Bar(">=", 8), 7.9, "missed"),
        (None, 5.0, ""),
    ],
)
def test_a_row_says_whether_its_bar_holds(bar: Bar | None, found: float, verdict: str) -> None:
    """The median is compared with the bound; without a bar there is no verdict."""
    row = Row("a / b", "here", Estimate(found, found, found, 9), bar=bar)
    assert row.verdict == verdict
    shown = markdown(Table("Here", (row,)))
    assert ("**missed**" in shown) is (verdict == "missed")
    assert "held" not in markdown(Table("Here", (row,)), judged=False)


@pytest.mark.parametrize("name", BARS)
def test_bars_are_found_by_name_and_size(name: str) -> None:
    """A bar for some sizes is found for these; one for every size is found for any."""
    for bar in BARS[name]:
        assert all(bar_for(name, size) is bar for size in bar.sizes or [200, 20_000])
    assert bar_for("helper / turn: anthropic", 200) is None


@pytest.mark.parametrize("provider", materials.EVENTS)
@pytest.mark.parametrize("size", [200, 2_000])
def test_what_is_measured_is_a_call_that_settles(provider: str, size: int) -> None:
    """The streams are the provider's, and carry a valid call of exactly that size."""
    text = materials.arguments(size)
    assert len(text.encode()) == size
    assert "".join(materials.fragments(text)) == text
    data = materials.to_bytes(materials.EVENTS[provider]([text, text]))
    settler = Settler(tools=materials.TOOLS)
    for chunk in materials.chunks(data):
        settler.feed(chunk)
    assert settler.provider == provider
    assert [outcome.args for outcome in settler.outcomes if isinstance(outcome, Dispatchable)] == [
        json.loads(text)
    ] * 2


def test_measured_parts_are_written_where_they_belong(tmp_path: Path) -> None:
    """Only the named topic's part of the document changes; an unknown topic is refused."""
    document = tmp_path / "performance.md"
    document.write_text(
        "a\n<!-- measured: one -->\nold\n<!-- measured until here -->\nb\n"
        "<!-- measured: two -->\nold\n<!-- measured until here -->\n"
    )
    report.write(document, "one", "new \\1")
    report.write(document, "one", "new \\1")
    assert document.read_text() == (
        "a\n<!-- measured: one -->\n\nnew \\1\n\n<!-- measured until here -->\nb\n"
        "<!-- measured: two -->\nold\n<!-- measured until here -->\n"
    )
    with pytest.raises(ValueError, match="no part"):
        report.write(document, "three", "new")
