"""Adds records up: by tool, provider, hour and cause. What it holds does not grow with the files.

Calls that were cancelled are counted apart, as `finalcall.observe.Monitor` does: a person who
presses Stop is no failure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar, final

from finalcall.cli.gap_limits import printable
from finalcall.cli.report.reading import Broken, CallRecord, CorrectionRecord
from finalcall.gaps import BOUNDS, BRIEF, GapSummary
from finalcall.outcomes import Cause

KEYS: Final = 10_000
"""Names, hours and so on that are told apart; what comes after them is added up as one."""

OTHERS: Final = "(others)"
NOT_OFFERED: Final = "(not offered)"
NO_NAME: Final = "(no name)"

_CANCELLED: Final = Cause.CANCELLED.value

_NAME: Final = 80
"""Characters of a name that are kept."""

T = TypeVar("T")


@final
@dataclass(slots=True)
class Counts:
    """How calls settled.

    Attributes:
        announced: All but the cancelled ones: what the shares are of.
        abandoned_or_unparseable: How many of these failed for either reason.
        truncated: How many of these were truncated.
        schema_errors: How many of these did not satisfy their tool's schema.
        cancelled: How many more were cancelled.
    """

    announced: int = 0
    abandoned_or_unparseable: int = 0
    truncated: int = 0
    schema_errors: int = 0
    cancelled: int = 0

    def take(self, call: CallRecord) -> None:
        """Count a call.

        Args:
            call: The call.
        """
        if call.cause == _CANCELLED:
            self.cancelled += 1
            return
        self.announced += 1
        if call.reason == "truncated":
            self.truncated += 1
        elif call.reason is not None:
            self.abandoned_or_unparseable += 1
        elif call.outcome == "schema_error":
            self.schema_errors += 1

    def share(self, number: int) -> float | None:
        """A number as a share of `announced`; `None` where nothing was."""
        return number / self.announced if self.announced else None

    def as_json(self) -> dict[str, Any]:
        """The counts, and the shares from 0 to 1."""
        parts = {
            "abandoned_or_unparseable": self.abandoned_or_unparseable,
            "truncated": self.truncated,
            "schema_errors": self.schema_errors,
        }
        return {
            "announced": self.announced,
            **parts,
            "cancelled": self.cancelled,
            "shares": {name: self.share(number) for name, number in parts.items()},
        }


@final
@dataclass(slots=True)
class Recovery:
    """What came of corrections.

    Attributes:
        corrections: How many were answered.
        recovered: After how many of them no call was invalid or lost.
    """

    corrections: int = 0
    recovered: int = 0

    def take(self, recovered: bool) -> None:
        """Count a correction.

        Args:
            recovered: What came of it.
        """
        self.corrections += 1
        self.recovered += recovered

    @property
    def share(self) -> float:
        """The recovered ones, from 0 to 1."""
        return self.recovered / self.corrections

    def as_json(self) -> dict[str, Any]:
        """The counts, and the share from 0 to 1."""
        numbers = {"corrections": self.corrections, "recovered": self.recovered}
        return {**numbers, "share": self.share}


@final
class Waits:
    """The longest wait of each call, in the buckets of `GapSummary`."""

    __slots__ = ("_counts", "_longest")

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._longest = BRIEF

    def take(self, seconds: float) -> None:
        """Count a call.

        Args:
            seconds: Its longest wait.
        """
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._longest = max(self._longest, seconds)

    def summary(self) -> GapSummary:
        """What was counted so far."""
        return GapSummary(self._longest, tuple(self._counts))


@final
@dataclass(slots=True)
class Tally:
    """What all records add up to.

    Attributes:
        total: All calls.
        tools: By tool; names that were not offered are one.
        providers: By provider.
        hours: By hour in UTC, such as `2026-11-30T13:00Z`.
        causes: Failed calls by reason and cause, the cancelled ones included.
        waits: The longest wait of each call by provider, and whether it arrived whole.
        correction: All corrections.
        attempts: Corrections by the number of the message that answered.
        violations: Corrections by each keyword that had failed; one may count for several.
        broken: Lines that do not count, by why.
        first_broken: Where the first of each kind is.
        unreadable: Files that could not be read to their end, with what was found.
        files: How many files there were.
        begin: The earliest time of a record, or `None`.
        end: The latest.
    """

    total: Counts = field(default_factory=Counts)
    tools: dict[str, Counts] = field(default_factory=dict[str, Counts])
    providers: dict[str, Counts] = field(default_factory=dict[str, Counts])
    hours: dict[str, Counts] = field(default_factory=dict[str, Counts])
    causes: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    waits: dict[tuple[str, bool], Waits] = field(default_factory=dict[tuple[str, bool], Waits])
    correction: Recovery = field(default_factory=Recovery)
    attempts: dict[str, Recovery] = field(default_factory=dict[str, Recovery])
    violations: dict[str, Recovery] = field(default_factory=dict[str, Recovery])
    broken: dict[Broken, int] = field(default_factory=dict[Broken, int])
    first_broken: dict[Broken, str] = field(default_factory=dict[Broken, str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    files: int = 0
    begin: datetime | None = None
    end: datetime | None = None

    def take(self, record: CallRecord | CorrectionRecord) -> None:
        """Count a record.

        Args:
            record: A call or a correction.
        """
        at = record.at
        self.begin = at if self.begin is None else min(self.begin, at)
        self.end = at if self.end is None else max(self.end, at)
        if isinstance(record, CallRecord):
            self._call(record)
        else:
            self._correction(record)

    def take_broken(self, why: Broken, file: str, number: int) -> None:
        """Count a line that does not count.

        Args:
            why: What it is not.
            file: Where it is.
            number: The line's, from 1.
        """
        self.broken[why] = self.broken.get(why, 0) + 1
        self.first_broken.setdefault(why, f"line {number} of {printable(file)}")

    @property
    def records(self) -> int:
        """How many records were counted."""
        return self.total.announced + self.total.cancelled + self.correction.corrections

    def _call(self, call: CallRecord) -> None:
        tool = NO_NAME if call.tool is None else call.tool if call.offered else NOT_OFFERED
        provider = _kept(call.provider or NO_NAME)
        self.total.take(call)
        _of(self.tools, _kept(tool), Counts).take(call)
        _of(self.providers, provider, Counts).take(call)
        _of(self.hours, f"{call.at.isoformat(timespec='hours')[:13]}:00Z", Counts).take(call)
        if call.reason is not None and call.cause is not None:
            key: tuple[str, str] = call.reason, _kept(call.cause)
            if key not in self.causes and len(self.causes) >= KEYS:
                key = OTHERS, OTHERS
            self.causes[key] = self.causes.get(key, 0) + 1
        if call.gap is not None:
            whole = call.reason is None
            key_of_waits = provider if provider in self.providers else OTHERS
            self.waits.setdefault((key_of_waits, whole), Waits()).take(call.gap)

    def _correction(self, correction: CorrectionRecord) -> None:
        self.correction.take(correction.recovered)
        _of(self.attempts, _kept(str(correction.attempt)), Recovery).take(correction.recovered)
        for keyword in correction.violations:
            _of(self.violations, _kept(keyword), Recovery).take(correction.recovered)

    def as_json(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "files": self.files,
            "records": self.records,
            "begin": None if self.begin is None else self.begin.isoformat(),
            "end": None if self.end is None else self.end.isoformat(),
            "broken": {
                why: {"lines": number, "first": self.first_broken[why]}
                for why, number in self.broken.items()
            },
            "unreadable": self.unreadable,
            "total": self.total.as_json(),
            "tools": _named("tool", self.tools),
            "providers": _named("provider", self.providers),
            "hours": sorted(_named("hour", self.hours), key=lambda row: str(row["hour"])),
            "causes": [
                {"reason": reason, "cause": cause, "calls": number}
                for (reason, cause), number in sorted(self.causes.items(), key=lambda one: -one[1])
            ],
            "waits": [
                {"provider": provider, "whole": whole, **_percentiles(waits.summary())}
                for (provider, whole), waits in sorted(self.waits.items())
            ],
            "corrections": self.correction.as_json() if self.correction.corrections else None,
            "attempts": _named("attempt", self.attempts),
            "violations": _named("violation", self.violations),
        }


def most_lost(groups: Mapping[str, Counts]) -> list[tuple[str, Counts]]:
    """Groups in the order of how many calls they lost, then of how many they had.

    Args:
        groups: By name.
    """

    def weight(item: tuple[str, Counts]) -> tuple[int, int, str]:
        name, counts = item
        return -counts.abandoned_or_unparseable - counts.truncated, -counts.announced, name

    return sorted(groups.items(), key=weight)


def _of(groups: dict[str, T], key: str, make: Callable[[], T]) -> T:
    """The group of a key; the one of all others, where there are very many."""
    if key not in groups and len(groups) >= KEYS:
        key = OTHERS
    found = groups.get(key)
    if found is None:
        found = groups[key] = make()
    return found


def _kept(name: str) -> str:
    """As much of a name as is kept, with no sign that moves a cursor."""
    return name if name.isprintable() and len(name) <= _NAME else printable(name[:_NAME])


def _named(
    what: str, groups: Mapping[str, Counts] | Mapping[str, Recovery]
) -> list[dict[str, Any]]:
    items: Iterable[tuple[str, Counts | Recovery]] = groups.items()
    return [{what: name, **group.as_json()} for name, group in items]


def _percentiles(gaps: GapSummary) -> dict[str, Any]:
    return {
        "calls": gaps.count,
        "p50": gaps.p50,
        "p90": gaps.percentile(90),
        "p99": gaps.p99,
        "max": gaps.max,
    }
