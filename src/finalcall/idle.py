"""Two clocks as arithmetic: silence and progress. Told the time, owning none.

Both run only while the turn waits for its source: what a caller does between two events, a
person thinking over a dialog included, never counts.
"""

from __future__ import annotations

import enum
import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any, Final, final

from finalcall.gaps import BOUNDS, BRIEF, Gaps, PhaseGaps
from finalcall.narrow import described
from finalcall.outcomes import Cause


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """How long a turn waits, in seconds; `None` turns a limit off.

    The defaults are far above the ten seconds that suit a service which streams every token:
    some services buffer an argument until it is complete, and healthy silences of 185 s and
    330 s inside a call have been recorded. Measure your own traffic, then lower them.

    Attributes:
        first: Silence before the first event, the request's headers included.
        between: Silence between events while no call is open.
        in_call: Silence between events while a call is open.
        progress: Waiting without progress: keep-alives do not reset it.
        quiet: Silence after which `StreamQuiet` is given, and given again each time it passes.
    """

    first: float | None = 120.0
    between: float | None = 60.0
    in_call: float | None = 360.0
    progress: float | None = 360.0
    quiet: float | None = 10.0

    def __post_init__(self) -> None:
        for name in ("first", "between", "in_call", "progress", "quiet"):
            _check_seconds(f"Idle.{name}", getattr(self, name), "None to turn it off")

    @classmethod
    def of(cls, idle_timeout: float | Idle | None) -> Idle:
        """Read an `idle_timeout=` argument.

        Args:
            idle_timeout: An `Idle`; or seconds, which set `between` and `in_call`; or `None` for
                no limit at all.

        Raises:
            TypeError: It is none of these.
            ValueError: It is no time to wait.
        """
        if isinstance(idle_timeout, Idle):
            return idle_timeout
        if idle_timeout is None:
            return cls(first=None, between=None, in_call=None, progress=None)
        _check_seconds("idle_timeout=", idle_timeout, "an Idle, or None for no limit")
        return cls(between=idle_timeout, in_call=idle_timeout)


def _check_seconds(what: str, value: Any, otherwise: str) -> None:
    """Refuse what is no time to wait; `None` is for whoever takes it as no limit."""
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(
            f"{what} is {described(value)}; expected seconds as a number, or {otherwise}"
        )
    if not value > 0:
        raise ValueError(f"{what} is {value!r}; expected seconds above 0, or {otherwise}")


DEFAULT_IDLE: Final = Idle()

AFTER_STOP: Final = 2.0
"""Seconds of silence after a stop reason that end the message where no end marker comes."""

AFTER_END: Final = 0.05
"""Seconds to wait for the end of the body after the end of the message.

A client keeps its connection only where it has read that end: a few bytes, which a server sends
with the message's last event or a moment after. A new connection with TLS costs about as much as
this, so that to wait any longer for a server that never ends the body could save nothing.
"""


@final
class Phase(enum.StrEnum):
    """What the turn is waiting for: it decides what silence is legitimate."""

    FIRST = "first"
    BETWEEN = "between"
    IN_CALL = "in_call"
    STOPPED = "stopped"


@final
class Alarm(enum.StrEnum):
    """What has passed at a deadline."""

    QUIET = "quiet"
    IDLE = "idle"
    STALLED = "stalled"
    AFTER_STOP = "after_stop"


ALARM_CAUSES: Final = {Alarm.IDLE: Cause.IDLE, Alarm.STALLED: Cause.STALLED}


@final
class Clocks:
    """The two clocks of one turn.

    A timer in another thread may read `deadline` while the turn goes on, and whoever reads the
    bytes may set `heard_at`: each clock is one number, so what is read is never too early.

    Args:
        idle: The limits.
        after_stop: Seconds without progress that end the message after a stop reason.
        gaps: Where to count how long each wait was.

    Attributes:
        shortest: The shortest of all limits, in seconds: a timer that looks at least this often
            misses no deadline that a change of phase brought nearer.
        since: When the present wait began, `None` while the turn does not wait.
        heard_at: When bytes last came, whatever they say: silence begins anew there, and the wait
            goes on. A time before the wait began changes nothing.
        unproductive: Seconds waited without progress before the present wait.
        unsettled: A wait is over, and no event has yet said what it was good for.
        quiet_for: Seconds of the longest silence that should have been told by a `StreamQuiet`, and
            ended before anybody could; `None` where there was none. Whoever tells it sets it back.
        slack: While `unproductive` is above this, the next deadline may be nearer than `shortest`.
    """

    __slots__ = (
        "_after_stop",
        "_gap",
        "_gaps",
        "_idle",
        "_measured",
        "_phase",
        "_progress",
        "_quiet",
        "_quiet_since",
        "_quiets",
        "_silence",
        "heard_at",
        "quiet_for",
        "shortest",
        "since",
        "slack",
        "unproductive",
        "unsettled",
    )

    def __init__(
        self,
        idle: Idle = DEFAULT_IDLE,
        after_stop: float = AFTER_STOP,
        gaps: Gaps | None = None,
    ) -> None:
        self._idle = idle
        self._after_stop = after_stop
        self._progress = _or_never(idle.progress)
        self._quiet = _or_never(idle.quiet)
        self.since: float | None = None
        self._gaps = Gaps() if gaps is None else gaps
        self._measured: PhaseGaps | None = None
        self._quiets = 0
        self._quiet_since = -math.inf
        self.heard_at: float = -math.inf
        self._phase = Phase.FIRST
        self._silence = _or_never(idle.first)
        limits = (idle.first, idle.between, idle.in_call, idle.progress, idle.quiet, after_stop)
        self.shortest: Final = min(limit for limit in limits if limit is not None)
        self.slack: float = self._progress - self.shortest
        self.unproductive: float = 0.0
        self.unsettled: bool = False
        self.quiet_for: float | None = None
        self._gap: float | None = None

    @property
    def phase(self) -> Phase:
        """What the turn is waiting for."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self._measured = None
            idle = self._idle
            self._silence = {
                Phase.FIRST: _or_never(idle.first),
                Phase.BETWEEN: _or_never(idle.between),
                Phase.IN_CALL: _or_never(idle.in_call),
                Phase.STOPPED: math.inf,
            }[phase]

    @property
    def waiting(self) -> bool:
        """Whether the turn waits for its source."""
        return self.since is not None

    def wait(self, now: float) -> None:
        """The turn begins (or goes on) to wait for its source."""
        if self.since is None:
            self.since = now

    def wait_last(self, now: float) -> None:
        """The message is over: what the turn waits for from now on is bounded by `AFTER_END`.

        Args:
            now: The time; the wait begins here, and nothing that arrives prolongs it.
        """
        self.phase = Phase.STOPPED
        self._after_stop = min(self._after_stop, AFTER_END)
        self.since, self.unproductive = now, 0.0
        self.slack = -math.inf

    def pause(self, now: float) -> None:
        """Something came, perhaps a part of an event only: the wait is over, or there was none.

        Args:
            now: The time, on the same clock as `wait`.
        """
        since = self.since
        if since is None:
            return
        waited = now - since
        if waited >= self._quiet:
            self._keep_quiet(since, now)
        self.since = None
        self.unsettled = True
        self.unproductive += waited
        self._gap = waited if self._gap is None else self._gap + waited

    def _keep_quiet(self, since: float, now: float) -> None:
        """Keep a silence that ends untold, if the wait that is over had one."""
        heard = max(since, self.heard_at)
        if self._phase is not Phase.STOPPED and now >= self._next_quiet(heard):
            self.quiet_for = max(now - heard, self.quiet_for or 0.0)

    def arrived(self, *, progress: bool) -> None:
        """An event is there, a keep-alive perhaps: what was waited since the one before was a gap.

        Args:
            progress: Whether it moved the model's output.
        """
        gap = self._gap
        if gap is not None:
            self._gap = None
            measured = self._measured or self._measure()
            if gap < BRIEF:
                measured.brief += 1
            else:
                measured.counts[bisect_left(BOUNDS, gap)] += 1
                if gap > measured.longest:  # noqa: PLR1730 - a call costs more than all of this
                    measured.longest = gap
        if progress:
            self.unproductive = 0.0
            self.unsettled = False

    def _measure(self) -> PhaseGaps:
        self._measured = measured = self._gaps.of(self._phase)
        return measured

    def gap(self, now: float) -> float:
        """Seconds waited since the last event.

        Args:
            now: The time.
        """
        return (self._gap or 0.0) + (0.0 if self.since is None else now - self.since)

    def waited(self, now: float, alarm: Alarm | None = None) -> float:
        """Seconds of silence in the present wait.

        Args:
            now: The time.
            alarm: With `STALLED`, seconds waited without progress instead.
        """
        since = self.since
        if since is None:
            return 0.0
        return now - (
            since - self.unproductive if alarm is Alarm.STALLED else max(since, self.heard_at)
        )

    def deadline(self, *, hard: bool = False) -> float:
        """When the next alarm is due, on the clock's own scale; infinity for never.

        Args:
            hard: Leave `QUIET` out: for a wait that cannot be interrupted without harm.
        """
        since = self.since
        if since is None:
            return math.inf
        if self._phase is Phase.STOPPED:
            return since - self.unproductive + self._after_stop
        # As if all that was waited in vain had been waited just before.
        stalled = since - self.unproductive + self._progress
        since = max(since, self.heard_at)
        due = min(since + self._silence, stalled)
        return due if hard else min(due, self._next_quiet(since))

    def expired(self, now: float) -> Alarm | None:
        """Which alarm has passed, the hardest first; `QUIET` is given once each time it passes."""
        since = self.since
        if since is None:
            return None
        if self._phase is Phase.STOPPED:
            over = now >= since - self.unproductive + self._after_stop
            return Alarm.AFTER_STOP if over else None
        stalled = since - self.unproductive + self._progress
        since = max(since, self.heard_at)
        if now >= since + self._silence:
            return Alarm.IDLE
        if now >= stalled:
            return Alarm.STALLED
        if now >= self._next_quiet(since):
            # However often it passed, a caller that looks late is told once.
            told = self._quiets if since == self._quiet_since else 0
            self._quiets = max(told + 1, int((now - since) // self._quiet))
            self._quiet_since = since
            return Alarm.QUIET
        return None

    def _next_quiet(self, since: float) -> float:
        told = self._quiets if since == self._quiet_since else 0
        return since + self._quiet * (told + 1)

    def moment(self, now: float) -> float:
        """The time at which to act: `now`, unless a silence was never told and a limit ends it.

        Then it is the time at which `QUIET` was due, so that a wait that could not be interrupted
        says that it was quiet before it says that it is over.

        Args:
            now: The time.
        """
        since = self.since
        if since is None or self._phase is Phase.STOPPED:
            return now
        since = max(since, self.heard_at)
        if since == self._quiet_since:
            return now
        quiet = since + self._quiet
        return quiet if quiet < self.deadline(hard=True) <= now else now


def _or_never(limit: float | None) -> float:
    return math.inf if limit is None else limit
