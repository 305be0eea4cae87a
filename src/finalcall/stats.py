"""Counts of one turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(slots=True)
class Stats:
    """Counts of one turn.

    Attributes:
        events: Native events received.
        announced: Calls announced.
        other_choices: Choices that were seen and not settled.
    """

    events: int = 0
    announced: int = 0
    other_choices: int = 0
