"""Two clocks as arithmetic: silence and progress. Told the time, owning none.

Both run only while the turn waits for its source: what a caller does between two events, a
person thinking over a dialog included, never counts.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any, Final, final

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
            value: Any = getattr(self, name)
            if value is not None and not isinstance(value, int | float):
                raise TypeError(
                    f"Idle.{name} is of type {type(value).__name__}; expected seconds as a number, "
                    "or None to turn it off"
                )
            if value is not None and not value > 0:
                raise ValueError(
                    f"Idle.{name} is {value!r}; expected seconds above 0, or None to turn it off"
                )

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
        return cls(between=idle_timeout, in_call=idle_timeout)


DEFAULT_IDLE: Final = Idle()

AFTER_STOP: Final = 2.0
"""Seconds of silence after a stop reason that end the message where no end marker comes."""


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

    Args:
        idle: The limits.
        after_stop: Silence, in seconds, that ends the message after a stop reason.

    Attributes:
        shortest: The shortest of all limits, in seconds: a timer that looks at least this often
            misses no deadline that a change of phase brought nearer.
        unproductive: Seconds waited so far without progress; while there are any, the next
            deadline may be nearer than `shortest`.
    """

    __slots__ = (
        "_after_stop",
        "_due",
        "_idle",
        "_phase",
        "_quiets",
        "_since",
        "shortest",
        "unproductive",
    )

    def __init__(self, idle: Idle = DEFAULT_IDLE, after_stop: float = AFTER_STOP) -> None:
        self._idle = idle
        self._after_stop = after_stop
        self._since: float | None = None
        self._quiets = 0
        self._phase = Phase.FIRST
        limits = (idle.first, idle.between, idle.in_call, idle.progress, idle.quiet, after_stop)
        self.shortest: Final = min(limit for limit in limits if limit is not None)
        self.unproductive = 0.0
        self._due = self._limits()

    @property
    def phase(self) -> Phase:
        """What the turn is waiting for."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self._due = self._limits()

    def wait(self, now: float) -> None:
        """The turn begins (or goes on) to wait for its source."""
        if self._since is None:
            self._since = now

    def arrived(self, now: float, *, progress: bool) -> None:
        """Something arrived: an event, a keep-alive or, where they can be seen, bytes.

        Args:
            now: The time, on the same clock as `wait`.
            progress: Whether it moved the model's output.
        """
        since, self._since = self._since, None
        if progress:
            changed = self.unproductive > 0.0
            self.unproductive = 0.0
        else:
            changed = since is not None
            self.unproductive += 0.0 if since is None else now - since
        if changed or self._quiets:
            self._quiets = 0
            self._due = self._limits()

    def waited(self, now: float) -> float:
        """Seconds of silence in the present wait."""
        return 0.0 if self._since is None else now - self._since

    def _limits(self) -> dict[Alarm, float]:
        """When each alarm is due, in seconds of a wait; the hardest comes first.

        Worked out when something changes, not for every event.
        """
        idle = self._idle
        if self._phase is Phase.STOPPED:
            return {Alarm.AFTER_STOP: self._after_stop}
        silence = {
            Phase.FIRST: idle.first,
            Phase.BETWEEN: idle.between,
            Phase.IN_CALL: idle.in_call,
        }[self._phase]
        due: dict[Alarm, float] = {}
        if silence is not None:
            due[Alarm.IDLE] = silence
        if idle.progress is not None:
            due[Alarm.STALLED] = max(0.0, idle.progress - self.unproductive)
        if idle.quiet is not None:
            due[Alarm.QUIET] = idle.quiet * (self._quiets + 1)
        return due

    def deadline(self, *, hard: bool = False) -> float:
        """When the next alarm is due, on the clock's own scale; infinity for never.

        Args:
            hard: Leave `QUIET` out: for a wait that cannot be interrupted without harm.
        """
        if self._since is None:
            return math.inf
        after = [after for alarm, after in self._due.items() if not (hard and alarm is Alarm.QUIET)]
        return self._since + min(after, default=math.inf)

    def expired(self, now: float) -> Alarm | None:
        """Which alarm has passed, the hardest first; `QUIET` is given once each time it passes."""
        if self._since is None:
            return None
        for alarm, after in self._due.items():
            if now >= self._since + after:
                if alarm is Alarm.QUIET:
                    self._quiets += 1
                    self._due = self._limits()
                return alarm
        return None
