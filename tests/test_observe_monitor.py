"""Ratios over a sliding window: when somebody is told, and when not."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from finalcall.observe import Change, Monitor, MonitorCounts, Ratio, SettledCall
from finalcall.observe.monitor import RATIOS
from finalcall.outcomes import Cause, Reason
from finalcall.testing import FakeClock

GOOD: tuple[Reason | None, Cause | None] = (None, None)
LOST: tuple[Reason | None, Cause | None] = ("abandoned", Cause.DISCONNECTED)
UNPARSEABLE: tuple[Reason | None, Cause | None] = ("unparseable", Cause.MALFORMED)
CUT: tuple[Reason | None, Cause | None] = ("truncated", Cause.TOKEN_CEILING)
STOPPED: tuple[Reason | None, Cause | None] = ("abandoned", Cause.CANCELLED)


def settled(
    how: tuple[Reason | None, Cause | None], tool: str = "pay", *, offered: bool = True
) -> SettledCall:
    reason, cause = how
    return SettledCall(
        key="k",
        call_id=None,
        tool=tool,
        offered=offered,
        provider="anthropic",
        outcome="failed" if reason else "dispatchable",
        reason=reason,
        cause=cause,
        violations=(),
        size=2,
        fragments=1,
        largest_gap=None,
        duration=None,
        raw="{}",
    )


class Watched:
    """A monitor with what it said, and a clock that is moved by hand."""

    def __init__(self, **options: Any) -> None:
        self.changes: list[Change] = []
        self.clock = FakeClock()
        options = {
            "bands": {"abandoned_or_unparseable": (0.0, 0.1), "truncated": (0.0, 0.2)},
            "window": 60.0,
            "minimum": 10,
        } | options
        self.monitor = Monitor(on_change=self.changes.append, clock=self.clock, **options)

    def settle(self, *calls: tuple[Reason | None, Cause | None], **options: Any) -> None:
        for how in calls:
            self.monitor.call_settled(None, settled(how, **options))

    @property
    def said(self) -> list[tuple[str, bool]]:
        return [(change.ratio, change.left) for change in self.changes]


SEQUENCES: dict[str, tuple[Sequence[Any], list[tuple[str, bool]]]] = {
    "all is well": ([GOOD] * 30, []),
    "three failures at night": ([LOST] * 3, []),
    "at the edge of the band": ([GOOD] * 9 + [LOST], []),
    "beyond it": ([GOOD] * 8 + [LOST, UNPARSEABLE], [("abandoned_or_unparseable", True)]),
    "said once": ([GOOD] * 8 + [LOST] * 9, [("abandoned_or_unparseable", True)]),
    "and hardly inside": (
        [GOOD] * 8 + [LOST] * 2 + [GOOD] * 10,
        [("abandoned_or_unparseable", True)],
    ),
    "and back": (
        [GOOD] * 8 + [LOST] * 2 + [GOOD] * 17,
        [("abandoned_or_unparseable", True), ("abandoned_or_unparseable", False)],
    ),
    "to and fro over the edge": (
        [GOOD] * 8 + ([LOST] * 2 + [GOOD] * 12) * 9,
        [("abandoned_or_unparseable", True)],
    ),
    "the other ratio": ([GOOD] * 7 + [CUT] * 3, [("truncated", True)]),
    "a stop button": ([GOOD] * 9 + [STOPPED] * 50 + [GOOD], []),
    "a stop button hides nothing": (
        [STOPPED] * 50 + [GOOD] * 8 + [LOST] * 2,
        [("abandoned_or_unparseable", True)],
    ),
}


@pytest.mark.parametrize(("calls", "said"), SEQUENCES.values(), ids=SEQUENCES.keys())
def test_a_change_is_said_once(calls: Sequence[Any], said: list[tuple[str, bool]]) -> None:
    """When a ratio leaves its band and when it is back, with a minimum of calls."""
    watched = Watched()
    watched.settle(*calls)
    assert watched.said == said


def test_a_band_has_a_lower_end() -> None:
    """Too little may be news as well."""
    watched = Watched(bands={"truncated": (0.05, 0.5)})
    watched.settle(*[GOOD] * 10)
    watched.settle(CUT)
    assert watched.said == [("truncated", True)], "1 of 11 is hardly inside"
    watched.settle(CUT)
    assert watched.said == [("truncated", True), ("truncated", False)]


@pytest.mark.parametrize("band", [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 1.0)])
def test_what_no_ratio_can_be_beyond_has_no_edge(band: tuple[float, float]) -> None:
    """A ratio of nothing, or of everything, is as far inside as it can be."""
    watched = Watched(bands={"truncated": band}, minimum=1)
    watched.settle(GOOD if band[0] else CUT)
    watched.clock.advance(60)
    watched.settle(CUT if band[0] else GOOD)
    assert not watched.changes or not watched.changes[-1].left


def test_at_the_minimum_a_ratio_is_told_of_once() -> None:
    """While the window empties and fills, it is out until clearly too few calls are left."""
    watched = Watched()
    watched.settle(LOST, LOST)
    watched.clock.advance(30)
    watched.settle(*[LOST] * 8)
    watched.clock.advance(30)
    watched.monitor.check()
    watched.settle(LOST, LOST)
    assert watched.said == [("abandoned_or_unparseable", True)]
    watched.clock.advance(30)
    watched.monitor.check()
    assert watched.said[1:] == [("abandoned_or_unparseable", False)]


def test_a_change_says_what_it_was_made_of() -> None:
    """Tool, provider, counts, value and band."""
    watched = Watched()
    watched.settle(*[GOOD] * 6, *[LOST] * 4, STOPPED)
    (change,) = watched.changes
    assert (change.value, change.band) == (0.4, (0.0, 0.1))
    assert change.counts == MonitorCounts("pay", "anthropic", 10, 4, 0, 0)
    assert watched.monitor.counts() == [MonitorCounts("pay", "anthropic", 10, 4, 0, 1)]


def test_what_leaves_the_window_is_forgotten() -> None:
    """Time alone brings a ratio back, and `check` says so."""
    watched = Watched()
    watched.settle(*[LOST] * 10)
    watched.clock.advance(58)
    watched.monitor.check()
    assert watched.said == [("abandoned_or_unparseable", True)]
    watched.clock.advance(2)
    watched.monitor.check()
    assert watched.said[1:] == [("abandoned_or_unparseable", False)]
    assert watched.changes[-1].counts.announced == 0
    assert watched.changes[-1].value == 0.0


def test_tools_are_kept_apart_and_made_up_names_together() -> None:
    """One bad tool is not hidden by good ones; names that a model made up are one source."""
    watched = Watched()
    watched.settle(*[GOOD] * 90, tool="search")
    watched.settle(*[LOST] * 10, tool="pay")
    for number in range(10):
        watched.settle(GOOD, tool=f"pay{number}", offered=False)
    assert [change.counts.tool for change in watched.changes] == ["pay"]
    assert [counts.tool for counts in watched.monitor.counts()] == ["search", "pay", None]


def test_a_tool_that_nobody_calls_any_more_comes_back() -> None:
    """Calls of any other tool move the window on for it, and nobody has to call `check`."""
    watched = Watched()
    watched.settle(*[LOST] * 10)
    watched.clock.advance(59)
    watched.settle(GOOD, tool="search")
    assert watched.said == [("abandoned_or_unparseable", True)]
    watched.clock.advance(1)
    watched.settle(GOOD, GOOD, tool="search")
    assert watched.said[1:] == [("abandoned_or_unparseable", False)]
    assert watched.changes[-1].counts.tool == "pay"


def test_a_tool_that_is_forgotten_is_said_to_be_back() -> None:
    """Else whoever was told that it left its band would wait for ever."""
    watched = Watched()
    watched.settle(*[LOST] * 10, tool="gone")
    for number in range(1_000):
        watched.settle(GOOD, tool=f"tool {number}")
    assert watched.said == [
        ("abandoned_or_unparseable", True),
        ("abandoned_or_unparseable", False),
    ]
    assert (watched.changes[-1].counts.tool, watched.changes[-1].value) == ("gone", 1.0)


def test_a_callback_that_raises_is_told_the_other_changes() -> None:
    """What it raised first comes out of `check`, once it was told everything."""
    told: list[str | None] = []

    def pager_is_down(change: Change) -> None:
        told.append(change.counts.tool)
        raise ConnectionError(change.counts.tool)

    clock = FakeClock()
    monitor = Monitor(
        bands={"truncated": (0, 0.5)}, on_change=pager_is_down, minimum=1, clock=clock
    )
    for tool in ("a", "b"):
        with pytest.raises(ConnectionError):
            monitor.call_settled(None, settled(CUT, tool))
    clock.advance(601)
    with pytest.raises(ConnectionError, match="a"):
        monitor.check()
    monitor.check()
    assert told == ["a", "b", "a", "b"]


def test_what_it_holds_is_bounded() -> None:
    """Of very many tools, the one that was quiet the longest is forgotten."""
    watched = Watched()
    for number in range(1_001):
        watched.settle(GOOD, tool=f"tool {number}")
        watched.settle(GOOD, tool="tool 0")
    names = {counts.tool for counts in watched.monitor.counts()}
    assert len(names) == 1_000
    assert "tool 0" in names
    assert "tool 1" not in names


def test_threads_may_share_it() -> None:
    """No call is lost, and the callback may ask for the counts."""
    told: list[int] = []
    monitor: Monitor

    def ask(_: Change) -> None:
        told.append(len(monitor.counts()))

    monitor = Monitor(bands={"truncated": (0, 0.5)}, on_change=ask, minimum=1)

    def work() -> None:
        for _ in range(200):
            monitor.call_settled(None, settled(CUT))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.counts()[0].announced == 800
    assert told == [1]


@pytest.mark.parametrize(
    "options",
    [
        {"bands": {"truncate": (0, 1)}},
        {"bands": {"truncated": (0.5, 0.1)}},
        {"bands": {"truncated": (0, 2)}},
        {"window": 0},
        {"minimum": 0},
    ],
)
def test_what_cannot_be_watched_is_refused(options: dict[str, Any]) -> None:
    """The message says what was expected."""
    with pytest.raises(ValueError, match="expected"):
        Watched(**options)


def test_every_ratio_is_counted() -> None:
    """The type and the table name the same ratios, and each is a field of the counts."""
    assert get_args(Ratio) == RATIOS
    assert all(MonitorCounts("t", "p", 4).ratio(ratio) == 0.0 for ratio in RATIOS)
