"""Two ratios over a sliding window, by tool and provider, and a call when one leaves its band.

A ratio, for counts follow the traffic; a minimum of calls, so that three failures at night wake
nobody. Calls that were cancelled count for neither: a person who presses Stop is no incident.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, final

from finalcall.clock import Clock
from finalcall.narrow import described, expect
from finalcall.observe.observer import Observer
from finalcall.observe.settled import SettledCall
from finalcall.outcomes import Cause

Ratio: TypeAlias = Literal["abandoned_or_unparseable", "truncated"]
"""Which calls are divided by all that were announced. The first moves for reasons outside of your
code: a provider that degrades, a proxy that is less patient. The second says that arguments have
outgrown the output limit."""

RATIOS: Final[tuple[Ratio, ...]] = ("abandoned_or_unparseable", "truncated")

_SLICES: Final = 60
"""The window moves on in steps of a 60th: one more or less is no other ratio."""

_CLEARLY: Final = 0.25
"""The part of a band, and of the minimum of calls, by which a ratio must be inside to be back."""

_SOURCES: Final = 1_000
"""Pairs of tool and provider that are watched: far more than one process offers."""


@final
@dataclass(frozen=True, slots=True)
class MonitorCounts:
    """How the calls of one tool from one provider have settled within the window.

    Attributes:
        tool: The tool's name; `None` for all names that were not offered.
        provider: The provider's name.
        announced: Calls that were announced and have settled, the cancelled ones apart.
        abandoned_or_unparseable: How many of these failed for either reason.
        truncated: How many of these were truncated.
        cancelled: How many more were cancelled.
    """

    tool: str | None
    provider: str | None
    announced: int = 0
    abandoned_or_unparseable: int = 0
    truncated: int = 0
    cancelled: int = 0

    def ratio(self, of: Ratio) -> float:
        """A share of `announced`, from 0 to 1; 0 where nothing was announced."""
        part: int = getattr(self, of)
        return part / self.announced if self.announced else 0.0


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A ratio left its band, or is back.

    Attributes:
        ratio: Which ratio.
        left: Whether it left the band; `False` says that it is back, or that too few calls are
            within the window to say anything, or that the tool is forgotten.
        value: The ratio now.
        band: The lowest and the highest value that are no news.
        counts: What it was made of, the tool and the provider included.
    """

    ratio: Ratio
    left: bool
    value: float
    band: tuple[float, float]
    counts: MonitorCounts


@final
class _Source:
    """The counts of one tool and provider, in slices of the window."""

    __slots__ = ("out", "slices")

    def __init__(self) -> None:
        self.slices: dict[int, list[int]] = {}  # announced, the two numerators, cancelled
        self.out: set[Ratio] = set()


@final
class Monitor(Observer):
    """Watches how calls settle, and says when that changes. Add it: `observe.add(Monitor(...))`.

    A ratio leaves its band when at least `minimum` calls are within the window and it is below or
    above the band. It is back when it is clearly inside, by a quarter of the band's width: for a
    band of 0 to 2 %, at 1.5 % or less. It is so, too, when fewer calls than three quarters of
    `minimum` are left. So a ratio at the edge is told of once. `on_change` is called when a ratio
    leaves and when it is back. A tool's ratios
    are looked at as each call of it settles, and all of them as the window moves on and any call
    settles; where traffic may cease altogether, call `check()` now and then.

    As for where to put the band: two published assistants had between 0.5 and 0.9 % of their turns
    with tools end with an abandoned or unparseable call, in steady state. That counts turns, and
    this counts calls: a turn with several calls loses them all together. Look at `counts()` on
    your own traffic for a week, and leave room above what you see.

    It may be shared by all threads. What it holds is bounded: counts of at most 1,000 pairs of tool
    and provider, the ones that were quiet the longest being forgotten first. A ratio of theirs that
    was out of its band is then said to be back.

    Args:
        bands: The lowest and the highest value of each ratio that are no news, as shares from 0 to
            1: `{"abandoned_or_unparseable": (0.0, 0.02)}`. A ratio without one is only counted.
        on_change: Is called with each `Change`, in the thread whose call caused it. What it raises
            breaks no turn and keeps it from no other change; it is not called with that one again.
        window: Its length in seconds.
        minimum: Calls within the window below which nothing is said.
        clock: Seconds on a scale that never goes back.

    Raises:
        TypeError: `bands` is no mapping of pairs of numbers, or something else is of a wrong type.
        ValueError: A band is none, or `window` or `minimum` is not above 0.
    """

    def __init__(
        self,
        *,
        bands: Mapping[Ratio, tuple[float, float]],
        on_change: Callable[[Change], object],
        window: float = 600.0,
        minimum: int = 50,
        clock: Clock = time.monotonic,
    ) -> None:
        self._bands = _checked(bands)
        if not callable(on_change):
            raise TypeError(
                f"on_change= is {described(on_change)}; expected a function that takes a Change"
            )
        expect(window, (int, float), "window=", "a number of seconds")
        expect(minimum, (int, float), "minimum=", "a number of calls")
        if not (window > 0 and minimum > 0):
            raise ValueError(f"window={window!r}, minimum={minimum!r}; expected numbers above 0")
        self._on_change = on_change
        self._slice = window / _SLICES
        self._minimum = minimum
        self._clock = clock
        self._lock = threading.Lock()
        self._sources: dict[tuple[str | None, str | None], _Source] = {}
        self._looked = self._now()

    def call_settled(self, turn: object, settled: SettledCall) -> None:  # noqa: ARG002
        """Count a call, and say what changed by it."""
        key = (settled.tool if settled.offered else None, settled.provider)
        cancelled = settled.cause is Cause.CANCELLED
        lost = settled.reason in ("abandoned", "unparseable")
        with self._lock:
            now = self._now()
            # Taken out and put in again: the first of them is the one that was quiet the longest.
            source = self._sources.pop(key) if key in self._sources else _Source()
            self._sources[key] = source
            changes = self._forget_one(now) if len(self._sources) > _SOURCES else []
            counts = source.slices.setdefault(now, [0, 0, 0, 0])
            if cancelled:
                counts[3] += 1
            else:
                counts[0] += 1
                counts[1] += lost
                counts[2] += settled.reason == "truncated"
            # As the window moves on, a tool that nobody calls any more may be back in its band.
            changes += self._changes(key, source, now) if now == self._looked else self._look(now)
        self._say(changes)

    def check(self) -> None:
        """Look at every ratio again: time alone may have changed one.

        Raises:
            Exception: What `on_change` raised first, once it was called with every change.
        """
        with self._lock:
            changes = self._look(self._now())
        self._say(changes)

    def counts(self) -> list[MonitorCounts]:
        """What is within the window now, for every tool and provider that had a call in it."""
        with self._lock:
            now = self._now()
            return [_sum(key, source, now) for key, source in self._sources.items()]

    def _now(self) -> int:
        """The number of the present slice."""
        return int(self._clock() // self._slice)

    def _look(self, now: int) -> list[Change]:
        """What has changed, of every tool and provider."""
        self._looked = now
        sources = self._sources.items()
        return [change for key, source in sources for change in self._changes(key, source, now)]

    def _forget_one(self, now: int) -> list[Change]:
        """Forget the source that was quiet the longest: of it nothing is out of a band any more."""
        key = next(iter(self._sources))
        source = self._sources.pop(key)
        counts = _sum(key, source, now)
        return [
            Change(ratio, False, counts.ratio(ratio), band, counts)
            for ratio, band in self._bands.items()
            if ratio in source.out
        ]

    def _changes(
        self, key: tuple[str | None, str | None], source: _Source, now: int
    ) -> list[Change]:
        """Note which ratios are out of their bands, and give those for which that is new."""
        counts = _sum(key, source, now)
        changes: list[Change] = []
        for ratio, band in self._bands.items():
            value = counts.ratio(ratio)
            was_out = ratio in source.out
            # Back only by a clear margin: at the edge, every call would be news.
            least = self._minimum * (1 - _CLEARLY) if was_out else self._minimum
            lowest, highest = _clearly_inside(band) if was_out else band
            out = counts.announced >= least and not lowest <= value <= highest
            if out is not was_out:
                (source.out.add if out else source.out.remove)(ratio)
                changes.append(Change(ratio, out, value, band, counts))
        return changes

    def _say(self, changes: list[Change]) -> None:
        first: Exception | None = None
        for change in changes:  # outside of the lock: the callback may ask for the counts
            try:
                self._on_change(change)
            except Exception as error:  # told on: an alarm that is lost is lost for good
                first = first or error
        if first is not None:
            raise first


def _checked(bands: object) -> dict[Ratio, tuple[float, float]]:
    """The bands as they were given, once each is the pair of shares that it must be."""
    expect(bands, Mapping, "bands=", "a band for each ratio, as {'truncated': (0.0, 0.02)}")
    found: dict[Ratio, tuple[float, float]] = {}
    for name, band in cast("Mapping[Any, Any]", bands).items():
        if name not in RATIOS:
            raise ValueError(f"there is no ratio {name!r}; expected {' or '.join(RATIOS)}")
        match band:
            case [int() | float() as lowest, int() | float() as highest]:
                found[name] = (lowest, highest)
            case _:
                raise TypeError(
                    f"the band of {name} is {described(band)}; expected a pair of numbers, the "
                    "lowest and the highest share that are no news, as (0.0, 0.02)"
                )
        if not 0 <= lowest <= highest <= 1:
            raise ValueError(
                f"the band of {name} is {found[name]!r}; expected the lowest share that is no "
                "news, then the highest, both from 0 to 1"
            )
    return found


def _clearly_inside(band: tuple[float, float]) -> tuple[float, float]:
    """A band without its edges, but for those that no ratio can be beyond."""
    lowest, highest = band
    margin = (highest - lowest) * _CLEARLY
    return (lowest + margin if lowest > 0 else 0.0, highest - margin if highest < 1 else 1.0)


def _sum(key: tuple[str | None, str | None], source: _Source, now: int) -> MonitorCounts:
    """Add up what is within the window, and forget what is not."""
    for old in [number for number in source.slices if number <= now - _SLICES]:
        del source.slices[old]
    totals = map(sum, zip(*source.slices.values(), strict=True)) if source.slices else ()
    return MonitorCounts(*key, *totals)
