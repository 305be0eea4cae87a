"""The short way of a long call: its pieces, one right after the other, in one step each.

Nearly every event of a stream is the next piece of the call whose piece came before it. All that
such an event changes is that call's text, so nothing else is asked. Whatever is not exactly that
ends them and takes the long way, which knows every case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from finalcall.accumulator import Buffer
from finalcall.events import ArgumentsDelta, Call, CallKind
from finalcall.message import Message
from finalcall.previews import Previews
from finalcall.providers.base import Following, Normaliser

if TYPE_CHECKING:
    from finalcall.preview import Preview


@final
class Consecutive:
    """Pieces of one call that follow each other; `Settler.feed_all` takes them.

    Args:
        call: Whose pieces.
        follow: Reads the next of them.
        buffer: Where they go; it is told of them at the end.
        room: Characters that the message may still hold.
        preview: What shows the call, if anything does.

    Attributes:
        call: As given.
        follow: As given.
        write: Adds a piece's text to the buffer.
        room: Characters that the call may still hold.
        preview: As given.
        count: How many pieces were taken.
    """

    __slots__ = ("_all_room", "_buffer", "call", "count", "follow", "preview", "room", "write")

    def __init__(
        self,
        call: Call,
        follow: Following,
        buffer: Buffer,
        room: int,
        preview: Preview | None,
    ) -> None:
        self.call: Final = call
        self.follow: Final = follow
        self.write: Final[Callable[[str], object]] = buffer.write
        self.preview: Final = preview
        self.room: int = min(room, buffer.room)
        self.count: int = 0
        self._all_room = self.room
        self._buffer = buffer

    @property
    def size(self) -> int:
        """Characters that were taken."""
        return self._all_room - self.room

    def end(self) -> None:
        """Tell the buffer of what was written."""
        self._buffer.note(self.count, self.size)


def expected_after(
    piece: ArgumentsDelta, normaliser: Normaliser, message: Message, previews: Previews | None
) -> Consecutive | None:
    """What to take the pieces with that are likely to follow one.

    Args:
        piece: What the last native event brought, and nothing besides.
        normaliser: What read it.
        message: What took it.
        previews: What shows the message's calls, if anything does.

    Returns:
        `None` where each piece that follows has to take the long way.
    """
    call = piece.call
    buffer = message.buffer(call.key)
    if buffer is None or not buffer.only_writes:
        return None
    preview = None if previews is None else previews.of(call.key)
    if preview is None and previews is not None and call.kind is not CallKind.CUSTOM:
        return None  # its first piece, or its tool is not known yet
    follow = normaliser.following(call.key)
    return follow and Consecutive(call, follow, buffer, message.room, preview)
