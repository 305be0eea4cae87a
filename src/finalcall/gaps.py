"""How long a turn waited for its events, counted on a logarithmic scale. Told the gaps, no clock.

A gap is the time from when the turn began to wait until an event ended the wait. What the caller
does in between is none, and an event that was there before it was asked for has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

__all__ = ["GapSummary", "Gaps", "PhaseGaps"]

PHASES: Final = ("first", "between", "in_call", "stopped")
"""What a turn may have been waiting for: its first event, one outside of a call, one inside of
a call, or one after the stop reason."""

BRIEF: Final = 0.001
"""Gaps below this many seconds are counted, not measured: no limit is ever that near."""

_STEPS: Final = 10
"""Buckets a decade."""

BOUNDS: Final = tuple(BRIEF * 10 ** (step / _STEPS) for step in range(7 * _STEPS + 1))
"""The upper bounds of the buckets, in seconds: each is 25.9 % above the one before, from a
millisecond to 10,000 s. One more bucket holds what is longer."""

_NONE: Final[tuple[int, ...]] = (0,) * (len(BOUNDS) + 1)


@final
@dataclass(frozen=True, slots=True, repr=False)
class GapSummary:
    """The gaps of one phase. Of several turns, add them: `a + b`; `GapSummary()` is none at all.

    Attributes:
        max: The longest gap, in seconds; `BRIEF` where all are below that, 0 where there is none.
        counts: How many gaps fell into each bucket of `BOUNDS`, and into the one above them.
    """

    max: float = 0.0
    counts: tuple[int, ...] = _NONE

    @property
    def count(self) -> int:
        """How many gaps there were."""
        return sum(self.counts)

    @property
    def p50(self) -> float:
        """Half of the gaps are no longer than this many seconds; for its error see `percentile`."""
        return self.percentile(50)

    @property
    def p99(self) -> float:
        """99 of 100 gaps are no longer than this many seconds; for its error see `percentile`."""
        return self.percentile(99)

    def percentile(self, percent: int) -> float:
        """An upper bound: so many percent of the gaps are no longer.

        It is the bound of a bucket, so at most 25.9 % above the true percentile where that is a
        millisecond or more, and never above `max`.

        Args:
            percent: From 1 to 100.

        Returns:
            Seconds; 0 where there is no gap.
        """
        wanted = -(-self.count * percent // 100)
        if wanted == 0:
            return 0.0
        seen = 0
        for bound, number in zip(BOUNDS, self.counts, strict=False):
            seen += number
            if seen >= wanted:
                return min(bound, self.max)
        return self.max

    def __add__(self, other: GapSummary) -> GapSummary:
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return GapSummary(max(self.max, other.max), counts)

    def __repr__(self) -> str:
        return (
            f"GapSummary(count={self.count}, p50={self.p50:.3g}, p99={self.p99:.3g}, "
            f"max={self.max:.3g})"
        )


@final
class PhaseGaps:
    """The gaps of one phase while they are counted: by whoever waits, as a call costs too much.

    Attributes:
        brief: How many were below `BRIEF`.
        counts: How many others there were, by the index of their bucket in `BOUNDS`; those only
            that were hit, as most turns hit a few.
        longest: The longest of these since the last mark.
    """

    __slots__ = ("_before", "brief", "counts", "longest")

    def __init__(self) -> None:
        self.brief: int = 0
        self.counts: defaultdict[int, int] = defaultdict(int)
        self.longest: float = 0.0
        self._before = 0.0

    def mark(self) -> float:
        """Begin a new stretch: `longest` is then of that one alone.

        Returns:
            The longest gap of the stretch that ends.
        """
        longest, self.longest = self.longest, 0.0
        self._before = max(self._before, longest)
        return longest

    def summary(self) -> GapSummary:
        """What was counted so far."""
        counts: list[int] = list(_NONE)
        for bucket, number in self.counts.copy().items():
            counts[bucket] = number
        counts[0] += self.brief
        longest = max(self.longest, self._before, BRIEF if self.brief else 0.0)
        return GapSummary(longest, tuple(counts))


@final
class Gaps(Mapping[str, GapSummary]):
    """The gaps of one turn by phase, so far: a mapping from each of `PHASES` to its summary."""

    __slots__ = ("_phases",)

    def __init__(self) -> None:
        self._phases: dict[str, PhaseGaps] = {}

    def of(self, phase: str) -> PhaseGaps:
        """Where the gaps of a phase are counted; made when it is first asked for.

        Args:
            phase: One of `PHASES`.
        """
        return self._phases.setdefault(phase, PhaseGaps())

    def __getitem__(self, phase: str) -> GapSummary:
        if phase in self._phases:
            return self._phases[phase].summary()
        if phase in PHASES:
            return GapSummary()
        raise KeyError(phase)

    def __iter__(self) -> Iterator[str]:
        return iter(PHASES)

    def __len__(self) -> int:
        return len(PHASES)

    def __repr__(self) -> str:
        return f"Gaps({dict(self)!r})"
