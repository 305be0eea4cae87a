"""The short way of a long call: its pieces, one right after the other, in one step each.

Nearly every event of a stream is the next piece of the call whose piece came before it. All that
such an event changes is that call's text, so nothing else is asked. Whatever is not exactly that
ends them and takes the long way, which knows every case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from finalcall.accumulator import Buffer
from finalcall.events import ArgumentsDelta, Call
from finalcall.providers.base import Following

if TYPE_CHECKING:
    from finalcall.preview import Preview


@final
class Consecutive:
    """Pieces of one call that follow each other.

    Args:
        call: Whose pieces.
        following: Reads the next of them.
        buffer: Where they go; it is told of them at the end.
        room: Characters that the message may still hold.
        preview: What shows the call, if anything does.

    Attributes:
        preview: The call's preview, or `None`: who takes a piece feeds it.
        count: How many were taken.
        size: Their characters.
        full: There was no room for the last one, and it was not taken.
    """

    __slots__ = (
        "_buffer",
        "_call",
        "_following",
        "_room",
        "_write",
        "count",
        "full",
        "preview",
        "size",
    )

    def __init__(
        self,
        call: Call,
        following: Following,
        buffer: Buffer,
        room: int,
        preview: Preview | None,
    ) -> None:
        self.preview: Preview | None = preview
        self.count: int = 0
        self.size: int = 0
        self.full: bool = False
        self._call = call
        self._following = following
        self._buffer = buffer
        self._write = buffer.write
        self._room = min(room, buffer.room)

    def take(self, native: Any) -> ArgumentsDelta | None:
        """Take the next piece. One for which there is no room is only given back.

        Args:
            native: A native event.

        Returns:
            The piece; `None` where the event is anything else.
        """
        text = self._following(native)
        if text is None:
            return None
        size = self.size + len(text)
        if size > self._room:
            self.full = True
        else:
            self.size = size
            self.count += 1
            self._write(text)
        return ArgumentsDelta(self._call, text, native)

    def end(self) -> None:
        """Tell the buffer of what was written."""
        self._buffer.note(self.count, self.size)
