"""What a run says beside the events of its turns, and who takes both: whoever shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

from finalcall.events import Event
from finalcall.narrow import expect

Why: TypeAlias = Literal["first", "correction", "larger budget", "same request", "resume"]
"""Why a message of the model is asked for."""


@final
@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A message of the model is asked for. Comes before its events.

    Attributes:
        number: From 1.
        why: `"first"`, `"correction"`, `"larger budget"`, `"same request"` or `"resume"`. After a
            correction, the blocks of the calls that were invalid wait for their corrected ones.
    """

    number: int
    why: Why


_SHOWN: Final[tuple[type[Any], ...]] = (*get_args(Event), AttemptStarted)


def expect_shown(event: object) -> None:
    """Refuse what is no event of a turn or a run.

    Args:
        event: What was given.

    Raises:
        TypeError: It is something else, such as an event of the provider's.
    """
    expect(
        event,
        _SHOWN,
        "an event",
        "one that a turn, a settler or a run of finalcall gives: wrap the provider's stream in a "
        "Turn and give what that yields, one event at a time",
    )
