"""The short way of a long call: its pieces, one right after the other, in one step each.

Nearly every event of a stream is the next piece of the call whose piece came before it. All that
such an event changes is that call's text, so nothing else is asked. Whatever is not exactly that
ends them and takes the long way, which knows every case.
"""

from __future__ import annotations

from typing import Final, final

from finalcall.accumulator import Buffer
from finalcall.events import Call
from finalcall.providers.base import Following


@final
class Consecutive:
    """Pieces of one call that follow each other.

    Args:
        call: Whose pieces.
        following: Reads the next of them.
        buffer: Where they go; it is told of them at the end.
        room: Characters that the message may still hold.

    Attributes:
        call: Whose pieces.
        following: Reads the next of them.
        write: Takes one.
        count: How many were taken.
        left: Characters that there is still room for.
    """

    __slots__ = ("_buffer", "_room", "call", "count", "following", "left", "write")

    def __init__(self, call: Call, following: Following, buffer: Buffer, room: int) -> None:
        self.call: Final = call
        self.following: Final = following
        self.write: Final = buffer.write
        self.count: int = 0
        self._buffer = buffer
        self.left: int = min(room, buffer.room)
        self._room = self.left

    def end(self) -> int:
        """Tell the buffer of what was written.

        Returns:
            How many characters that was.
        """
        written = self._room - self.left
        self._buffer.note(self.count, written)
        return written
