"""A frame of the wire that cannot be read is a value; it never carries the frame's content."""

from dataclasses import dataclass
from typing import final

from finalcall.outcomes import Cause


@final
@dataclass(frozen=True, slots=True)
class Undecodable:
    """A frame that could not be decoded.

    Args:
        what: Which frame, and what was found wrong with it, without any of its content.
        cause: `MALFORMED`, or `LIMIT` where the frame is only too long.
    """

    what: str
    cause: Cause = Cause.MALFORMED

    @property
    def code(self) -> str:
        """What the fault that it leads to is called."""
        return "event_limit" if self.cause is Cause.LIMIT else "undecodable_event"
