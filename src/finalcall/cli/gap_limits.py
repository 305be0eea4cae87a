"""Gathers gaps by provider and phase, and decides what limits they call for.

Only streams that came to a proper end count: their silences were legitimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from finalcall.cli.gap_files import Measured, Unused
from finalcall.gaps import PHASES, GapSummary
from finalcall.idle import AFTER_STOP, DEFAULT_IDLE

MARGIN: Final = 8
"""A limit is at least so many times the worst legitimate gap: the worst one to come is longer than
the worst one seen."""

PATIENCE: Final = 60.0
"""Seconds after which a person who sees nothing gives up."""

ENOUGH: Final = 300
"""Gaps from which the worst one says something: 95 times in 100, fewer than 1 gap in 100 is longer
than the worst of 300."""

_OPTIONS: Final[Mapping[str, tuple[str, float]]] = {
    "first": ("first", 10.0),
    "between": ("between", 10.0),
    "in_call": ("in_call", 10.0),
    "stopped": ("after_stop", AFTER_STOP),
}
"""By phase: the option that limits it, and the seconds below which no limit is recommended. A lost
packet that is sent again can hold any stream up for seconds, and few recordings have seen one."""


@final
@dataclass(slots=True)
class PhaseSurvey:
    """The gaps of one phase of one provider's streams.

    Attributes:
        phase: Which.
        gaps: All of them.
        recordings: How many recordings had any.
        file: The recording of the longest.
        event: The number of the event that ended the longest.
    """

    phase: str
    gaps: GapSummary = field(default_factory=GapSummary)
    recordings: int = 0
    file: str = ""
    event: int = 0

    def take(self, file: str, gaps: GapSummary, event: int) -> None:
        """Count a recording.

        Args:
            file: Its name.
            gaps: Its gaps.
            event: The number of the event that ended its longest.
        """
        if gaps.max > self.gaps.max:
            self.file, self.event = file, event
        self.gaps += gaps
        self.recordings += 1

    @property
    def option(self) -> str:
        """The name of the option that sets the limit."""
        return _OPTIONS[self.phase][0]

    @property
    def floor(self) -> float:
        """The seconds below which no limit is recommended."""
        return _OPTIONS[self.phase][1]

    @property
    def needed(self) -> float:
        """The margin times the worst gap, in seconds."""
        return MARGIN * self.gaps.max

    @property
    def limit(self) -> int:
        """The limit to recommend, in whole seconds."""
        # A clock's own rounding must not make another second of it.
        return math.ceil(round(max(self.needed, self.floor), 3))

    @property
    def enough(self) -> bool:
        """Whether there are gaps enough to rely on the worst."""
        return self.gaps.count >= ENOUGH

    @property
    def bearable(self) -> bool:
        """Whether a person will wait as long as the limit."""
        return self.limit <= PATIENCE

    def sentence(self, provider: str) -> str:
        """What is recommended, from what, and what to mind.

        Args:
            provider: Whose gaps they are.
        """
        gaps = self.gaps
        said = (
            f"{provider}, {self.phase}: {counted(self.recordings, 'recording')}, "
            f"{counted(gaps.count, 'gap')}, the worst {duration(gaps.max)} (before event "
            f"{self.event} of {self.file}); {MARGIN} x that is {duration(self.needed)}"
        )
        if self.needed < self.floor:
            said += f", and below {self.floor:g} s a packet that is sent again looks like silence"
        said += f": {self.option}={self.limit}."
        if not self.enough:
            share = 100 * (1 - 0.05 ** (1 / gaps.count))
            said += (
                f" Too few gaps to rely on: up to {share:.2g} % of all gaps may be longer than the "
                "worst one here (95 % confidence); record more."
            )
        if not self.bearable:
            said += (
                f" That is longer than a person will wait ({PATIENCE:g} s): set it all the same, "
                "as a lower one would end healthy streams, and show StreamQuiet meanwhile."
            )
        return said

    def as_json(self, provider: str) -> dict[str, Any]:
        """The same as data; times are in seconds.

        Args:
            provider: Whose gaps they are.
        """
        return {
            "provider": provider,
            "phase": self.phase,
            "recordings": self.recordings,
            "gaps": self.gaps.count,
            "p50": self.gaps.p50,
            "p99": self.gaps.p99,
            "max": self.gaps.max,
            "file": self.file,
            "event": self.event,
            "option": self.option,
            "limit": self.limit,
            "enough": self.enough,
            "bearable": self.bearable,
            "sentence": self.sentence(provider),
        }


@final
@dataclass(slots=True)
class Survey:
    """What all files gave.

    Attributes:
        phases: The gaps of streams that ended properly, by provider and phase.
        used: How many such streams there were.
        unrequested: How many of them do not say when their request was made.
        unclean: Files with times whose stream did not end properly, with the cause.
        untimed: Recordings without usable times, with what was found.
        unreadable: Files that are no recordings, with what was found.
    """

    phases: dict[tuple[str, str], PhaseSurvey] = field(
        default_factory=dict[tuple[str, str], PhaseSurvey]
    )
    used: int = 0
    unrequested: int = 0
    unclean: dict[str, str] = field(default_factory=dict[str, str])
    untimed: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, file: str, found: Measured | Unused) -> None:
        """Count a file.

        Args:
            file: Its name.
            found: What it gave.
        """
        file = printable(file)
        if isinstance(found, Unused):
            named = self.untimed if found.kind == "untimed" else self.unreadable
            named[file] = printable(found.why)
        elif found.cause is not None:
            self.unclean[file] = found.cause
        else:
            self.used += 1
            self.unrequested += not found.requested
            for phase, gaps in found.gaps.items():
                if gaps.count:
                    key = printable(found.provider), phase
                    survey = self.phases.setdefault(key, PhaseSurvey(phase))
                    survey.take(file, gaps, found.worst[phase])

    @property
    def files(self) -> int:
        """How many files were looked at."""
        return self.used + len(self.unclean) + len(self.untimed) + len(self.unreadable)

    @property
    def providers(self) -> list[str]:
        """Whose gaps there are, in order."""
        return sorted({provider for provider, _ in self.phases})

    def rows(self) -> Iterator[tuple[str, PhaseSurvey]]:
        """Every provider and phase that had gaps, in order."""
        for provider in self.providers:
            for phase in PHASES:
                if (provider, phase) in self.phases:
                    yield provider, self.phases[provider, phase]

    def options(self, provider: str) -> str:
        """The keyword arguments of a turn that set what is recommended.

        Args:
            provider: For whose streams.
        """
        limits = {survey.option: survey.limit for name, survey in self.rows() if name == provider}
        after_stop = limits.pop("after_stop", None)
        longest = max(limits.values(), default=0)
        if DEFAULT_IDLE.progress is not None and longest > DEFAULT_IDLE.progress:
            limits["progress"] = longest  # else the other clock would end the stream before
        said: list[str] = []
        if limits:
            inside = ", ".join(f"{option}={limit}" for option, limit in limits.items())
            said.append(f"idle_timeout=Idle({inside})")
        if after_stop is not None:
            said.append(f"after_stop={after_stop}")
        return ", ".join(said)

    def as_json(self) -> dict[str, Any]:
        """All of it as data, with every file named."""
        return {
            "files": self.files,
            "used": self.used,
            "unrequested": self.unrequested,
            "unclean": self.unclean,
            "untimed": self.untimed,
            "unreadable": self.unreadable,
            "limits": [survey.as_json(provider) for provider, survey in self.rows()],
            "options": {provider: self.options(provider) for provider in self.providers},
        }


def counted(number: int, thing: str) -> str:
    """A number of things, such as `1,200 gaps`."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """A time as a person reads it, three digits of it."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 99.95 else f"{seconds:,.0f} s"


def printable(text: str) -> str:
    """A name from anywhere, so that no sign of it moves a cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
