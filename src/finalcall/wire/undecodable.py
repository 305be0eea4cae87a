"""A frame of the wire that cannot be read is a value; it never carries the frame's content."""

from dataclasses import dataclass
from typing import Final, final

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
"""Largest event that is buffered.

The largest events of real services repeat a whole response with its images, some megabytes; a
peer that never ends an event must not be able to fill the memory.
"""


@final
@dataclass(frozen=True, slots=True)
class Undecodable:
    """A frame that could not be decoded.

    Args:
        what: Which frame, and what was found wrong with it, without any of its content.
    """

    what: str
