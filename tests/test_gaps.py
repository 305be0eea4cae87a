"""The gaps between events: what counts as one, how it is counted, and how summaries are added."""

from __future__ import annotations

import math
import pickle
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import FrozenInstanceError
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import AsyncTurn, Settler, Turn
from finalcall.gaps import BOUNDS, BRIEF, PHASES, Gaps, GapSummary
from finalcall.idle import Clocks, Idle, Phase
from finalcall.testing import FakeClock
from tests import chat_chunks
from tests.messages import CLEAN, to_sse

seconds = st.floats(0, 20_000)


def arrive(clocks: Clocks, now: float, *, progress: bool) -> None:
    """An event comes, and ends the wait for it."""
    clocks.pause(now)
    clocks.arrived(progress=progress)


def summary_of(gaps: Sequence[float]) -> GapSummary:
    """What clocks count that wait so long for one event after the other."""
    counted = Gaps()
    clocks = Clocks(gaps=counted)
    clocks.phase = Phase.BETWEEN
    for gap in gaps:
        clocks.wait(0.0)
        arrive(clocks, gap, progress=True)
    return counted["between"]


# Counting


@given(st.lists(seconds, min_size=1, max_size=200), st.sampled_from([1, 50, 90, 99, 100]))
def test_a_percentile_is_an_upper_bound_and_near(gaps: list[float], percent: int) -> None:
    """It is no shorter than the true one, less than 26 % above it, and at most the longest."""
    true = sorted(gaps)[math.ceil(len(gaps) * percent / 100) - 1]
    found = summary_of(gaps).percentile(percent)
    assert true <= found <= max(true * 1.26, BRIEF) or true > BOUNDS[-1]
    assert found <= max(*gaps, BRIEF)


@given(st.lists(seconds, min_size=1, max_size=50))
def test_the_count_and_the_longest_gap_are_exact(gaps: list[float]) -> None:
    """Only what is below a millisecond is rounded up to it."""
    found = summary_of(gaps)
    assert found.count == len(gaps)
    assert found.max == max(*gaps, BRIEF)


@given(st.lists(st.lists(seconds, max_size=20), max_size=5))
def test_summaries_of_several_turns_are_added(turns: list[list[float]]) -> None:
    """The sum says what one turn with all the gaps would say; in any order."""
    parts = [summary_of(gaps) for gaps in turns]
    whole = summary_of([gap for gaps in turns for gap in gaps])
    assert reduce(add, parts, GapSummary()) == whole
    assert reduce(add, reversed(parts), GapSummary()) == whole


def test_no_gaps_are_a_summary_too() -> None:
    """A phase without gaps says zero, and adds nothing."""
    none = GapSummary()
    assert (none.count, none.p50, none.p99, none.max) == (0, 0.0, 0.0, 0.0)
    assert none + none == none


@pytest.mark.parametrize("gap", [math.nan, math.inf, -math.inf, -5.0, 1e9])
def test_no_clock_is_odd_enough_to_raise(gap: float) -> None:
    """Whatever somebody's clock says, the turn goes on and the gap is counted."""
    found = summary_of([gap])
    assert found.count == 1
    assert not math.isnan(found.max)
    assert found.p99 <= found.max or math.isnan(gap)


def test_a_summary_is_a_value() -> None:
    """It cannot be changed, can be sent to another process, and shows its four numbers."""
    found = summary_of([0.0204, 0.0204, 1.21])
    with pytest.raises(FrozenInstanceError):
        found.max = 1.0  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "GapSummary(count=3, p50=0.0251, p99=1.21, max=1.21)"


def test_memory_does_not_grow_with_the_gaps() -> None:
    """However many there are, each is a number in one of few buckets."""
    found = summary_of([number * 0.37 for number in range(50_000)])
    assert found.count == 50_000
    assert len(found.counts) == len(BOUNDS) + 1
    assert len(pickle.dumps(found)) < 1_000


# What is a gap


def test_the_phases_are_those_of_the_clocks() -> None:
    """Every phase is there from the start, in order, and no other."""
    gaps = Gaps()
    assert tuple(gaps) == PHASES == tuple(Phase)
    assert len(gaps) == len(PHASES)
    assert set(gaps.values()) == {GapSummary()}
    with pytest.raises(KeyError):
        gaps["later"]


def test_the_phases_show_in_a_repr() -> None:
    """Who prints the stats of a turn sees what it waited for."""
    gaps = Gaps()
    gaps.of("first").brief += 2
    assert "'first': GapSummary(count=2, p50=0.001, p99=0.001, max=0.001)" in repr(gaps)


def test_only_waiting_counts() -> None:
    """What the caller does between two events is no gap, and neither is an event nobody awaited."""
    gaps = Gaps()
    clocks = Clocks(gaps=gaps)
    clocks.phase = Phase.IN_CALL
    clocks.wait(10.0)
    arrive(clocks, 10.5, progress=True)
    arrive(clocks, 4000.0, progress=True)
    clocks.wait(7000.0)
    arrive(clocks, 7000.25, progress=False)
    assert (gaps["in_call"].count, gaps["in_call"].max) == (2, 0.5)


def test_a_gap_goes_on_through_alarms_and_bytes() -> None:
    """It ends with an event: neither a `StreamQuiet` nor bytes without one cut it in two."""
    gaps = Gaps()
    clocks = Clocks(Idle(quiet=1), gaps=gaps)
    clocks.wait(0.0)
    assert clocks.expired(1.5) is not None
    clocks.wait(1.5)
    clocks.heard_at = 2.0
    assert clocks.waited(2.5) == 0.5
    arrive(clocks, 3.0, progress=True)
    assert (gaps["first"].count, gaps["first"].max) == (1, 3.0)


SCRIPT: tuple[Any, ...] = (4.0, *CLEAN[:4], 0.5, *CLEAN[4:6], 30.0, CLEAN[6], 0.25, *CLEAN[7:])
"""A message; a number is a pause in seconds: before its start, its call, a piece, and an end."""

STILL = Idle(quiet=None)

LONGEST = {"first": 4.0, "between": 0.5, "in_call": 30.0, "stopped": 0.001}


def script(clock: FakeClock) -> Iterator[Any]:
    for step in SCRIPT:
        if isinstance(step, float):
            clock.advance(step)
        else:
            yield step


def test_a_turn_measures_its_gaps_by_phase() -> None:
    """Every event of a synchronous turn ends a gap, of the phase in which the turn waited."""
    clock = FakeClock()
    with Turn(script(clock), tools=None, idle_timeout=STILL, clock=clock) as turn:
        for _ in turn:
            clock.advance(100.0)
    gaps = turn.stats.gaps
    assert {phase: gap.max for phase, gap in gaps.items()} == LONGEST
    assert sum(gap.count for gap in gaps.values()) == len(CLEAN)


async def test_an_asynchronous_turn_measures_the_same() -> None:
    """The longest gaps are those of a synchronous turn."""
    clock = FakeClock()

    async def stream() -> AsyncIterator[Any]:
        for native in script(clock):
            yield native

    async with AsyncTurn(stream(), tools=None, idle_timeout=STILL, clock=clock) as turn:
        async for _ in turn:
            clock.advance(100.0)
    assert {phase: gap.max for phase, gap in turn.stats.gaps.items()} == LONGEST


def test_whoever_tells_the_time_gets_the_gaps() -> None:
    """A `Settler` measures from `deadline` to `feed`, bytes too; without `now` it measures none."""
    told, untold, fed_bytes = (Settler(tools=None) for _ in range(3))
    for number, native in enumerate(CLEAN):
        told.deadline(float(number))
        told.feed(native, number + 0.75)
        untold.feed(native)
        fed_bytes.deadline(float(number))
        fed_bytes.feed(to_sse([native]), number + 0.75)
    counts = {phase: gap.count for phase, gap in told.stats.gaps.items()}
    assert sum(counts.values()) == len(CLEAN)
    assert 0 not in counts.values()
    assert {gap.max for gap in told.stats.gaps.values()} == {0.75}
    assert fed_bytes.stats.gaps == told.stats.gaps
    assert set(untold.stats.gaps.values()) == {GapSummary()}


def test_nothing_but_the_first_event_is_waited_for_as_the_first() -> None:
    """A stream that begins with text, as some services' do, is between events from then on."""
    settler = Settler(tools=None)
    chunks = [chat_chunks.chunk({"content": word}) for word in ("On", " it", ".")]
    for number, chunk in enumerate(chunks):
        settler.deadline(float(number))
        settler.feed(chunk, number + 0.5)
    assert settler.stats.gaps["first"].count == 1
    assert settler.stats.gaps["between"].count == 2
