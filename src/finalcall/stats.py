"""Counts of one turn, and how long it waited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from finalcall.gaps import Gaps


@final
@dataclass(slots=True)
class Stats:
    """Counts of one turn.

    Attributes:
        events: Native events received.
        announced: Calls announced.
        other_choices: Choices that were seen and not settled.
        gaps: How long the turn waited for events, by phase (`"first"`, `"between"`, `"in_call"`,
            `"stopped"`): each has a `count`, and `p50`, `p99` and `max` in seconds. Summaries of
            several turns can be added. Without the time (`Settler` without `now`) there is none.
    """

    events: int = 0
    announced: int = 0
    other_choices: int = 0
    gaps: Gaps = field(default_factory=Gaps)
