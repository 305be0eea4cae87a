"""How anything here is measured: CPU time of this process, turn about, medians of ratios.

The machine may be shared and its clock rate may change: one time says little. So the contestants
run one after the other, again and again, and what counts is the median of the ratios of two times
that were taken next to each other.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

CONFIDENCE = 0.95
FEWEST_ROUNDS = 3

Contestant: TypeAlias = Callable[[], float]
"""Gets ready, does its work once, and gives the CPU seconds of the work alone."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median, and how far it can be trusted.

    Attributes:
        median: The median of the values.
        low: Where its interval begins.
        high: Where its interval ends.
        count: How many values there were. With fewer than six, no interval holds the median with
            95 % confidence: the interval is then all that was seen.
    """

    median: float
    low: float
    high: float
    count: int


def estimate(values: Sequence[float]) -> Estimate:
    """The median with its interval by order statistics: nothing is assumed of the distribution."""
    ordered = sorted(values)
    skipped = _skipped(len(ordered))
    low, high = ordered[skipped], ordered[-1 - skipped]
    return Estimate(statistics.median(ordered), low, high, len(ordered))


def _skipped(count: int) -> int:
    """How many values may be left out at each end, so that the rest holds the median at 95 %."""
    outside, skipped = 0.0, 0
    while skipped < (count - 1) // 2:
        outside += 2 * math.comb(count, skipped) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        skipped += 1
    # `skipped` counts the tails that are rare enough; the last of them is still part of the range.
    return max(0, skipped - 1) if count > 1 else 0


def ratio(over: Sequence[float], under: Sequence[float]) -> Estimate:
    """The median ratio of what was measured in the same rounds."""
    return estimate([above / below for above, below in zip(over, under, strict=False)])


def timed(work: Callable[[], object]) -> float:
    """The CPU seconds of one run, in all threads of the process."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def turn_about(
    contestants: Mapping[str, Contestant],
    *,
    seconds: float,
    most: int,
    fewest: int = FEWEST_ROUNDS,
    slow: Mapping[str, int] | None = None,
) -> dict[str, list[float]]:
    """Measure contestants one after the other, round by round; every other round backwards.

    Args:
        contestants: By name.
        seconds: Begin no further round after this time.
        most: Rounds at most.
        fewest: Rounds at least, however long they take.
        slow: Those that take part in the first rounds only, and in how many of them.

    Returns:
        CPU seconds by name, in the order of the rounds. A first round, which warms up, is not
        in them unless one round is all that was asked for.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    slow = slow or {}
    if most > 1:
        for name, run in contestants.items():
            if name not in slow:
                run()
    # The SDKs' thousands of classes are set aside, so that collecting before a run is quick.
    gc.collect()
    gc.freeze()
    end = time.monotonic() + seconds
    for round_ in range(most):
        for name in list(contestants)[:: -1 if round_ % 2 else 1]:
            if round_ < slow.get(name, most):
                times[name].append(contestants[name]())
        if round_ + 1 >= fewest and time.monotonic() > end:
            break
    return times
