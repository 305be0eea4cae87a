"""Calls in time: told what happens, it says how long each was open and waited."""

from __future__ import annotations

from finalcall.gaps import Gaps
from finalcall.idle import Clocks, Phase
from finalcall.timeline import Timeline


def arrive(clocks: Clocks, now: float, *, progress: bool) -> None:
    """An event comes, and ends the wait for it."""
    clocks.pause(now)
    clocks.arrived(progress=progress)


def told(*moments: tuple[float, str, str]) -> tuple[Timeline, Clocks]:
    """A timeline that was told what happened when: the wait for each began with the last."""
    gaps = Gaps()
    clocks = Clocks(gaps=gaps)
    clocks.phase = Phase.IN_CALL
    timeline = Timeline(clocks, gaps)
    for now, what, key in moments:
        timeline.now = now
        if what == "announced":
            timeline.announced(key)
        elif what == "completed":
            timeline.completed(key)
        arrive(clocks, now, progress=True)
        if timeline.moved:
            timeline.mark()
        clocks.wait(now)
    return timeline, clocks


def test_calls_that_are_open_together_share_their_waits() -> None:
    """And a call knows only those between its own announcement and its own end."""
    timeline, _ = told(
        (0.0, "announced", "a"),
        (2.0, "announced", "b"),
        (7.0, "completed", "a"),
        (10.0, "piece", "b"),
        (11.0, "completed", "b"),
        (20.0, "announced", "c"),
    )
    assert [timeline.largest_gap(key) for key in "abc"] == [5.0, 5.0, 0.0]
    assert [timeline.duration(key) for key in "abc"] == [20.0, 18.0, 0.0]


def test_the_wait_that_goes_on_counts_for_what_is_open() -> None:
    """Not for what is complete, and not in another phase."""
    timeline, clocks = told(
        (0.0, "announced", "a"), (1.0, "announced", "b"), (2.0, "completed", "a")
    )
    timeline.now = 30.0
    assert (timeline.largest_gap("a"), timeline.largest_gap("b")) == (1.0, 28.0)
    clocks.phase = Phase.STOPPED
    assert timeline.largest_gap("b") == 1.0


def test_what_is_told_again_changes_nothing() -> None:
    """A second announcement or end, or the end of a stranger."""
    timeline, _ = told((0.0, "announced", "a"), (3.0, "completed", "a"), (9.0, "completed", "a"))
    assert not timeline.announced("a")
    timeline.completed("?")
    assert not timeline.moved
    assert (timeline.largest_gap("a"), timeline.duration("a")) == (3.0, 9.0)
