"""Server-sent events: bytes in any cut become events, by the rules of the WHATWG standard.

It knows nothing of JSON or of providers, and it waits for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, final

from finalcall.limits import MAX_EVENT_BYTES
from finalcall.outcomes import Cause
from finalcall.wire.undecodable import Undecodable

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINE_FEED: Final = ord("\n")
_CARRIAGE_RETURN: Final = ord("\r")


@final
class ServerSentEvent(NamedTuple):
    """One event.

    Attributes:
        name: Its name, or None where it has none or an empty one.
        data: Its data, as the UTF-8 text that was sent: a JSON parser reads that as it is.
    """

    name: str | None
    data: bytes


@final
class SSESplitter:
    """Cuts a byte stream into blocks: the lines between two blank lines.

    Line ends may be LF, CR or CRLF, and line ends and characters may be cut anywhere. Cutting and
    reading are apart because the cut of a whole chunk is a single `split`, and because most blocks
    can be read faster than `parse_event` does it.

    Args:
        max_event_bytes: Longest block that is accepted, with LF as its line ends. A longer one
            gives a single `Undecodable`, and the blocks after it are cut as usual.
    """

    __slots__ = (
        "_after_carriage_return",
        "_at_start",
        "_max_event_bytes",
        "_overlong",
        "_pending",
    )

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending = bytearray()  # the block that is not complete yet
        self._overlong = False  # the pending block was refused; its remainder is dropped
        self._at_start = True
        self._after_carriage_return = False

    def feed(self, chunk: bytes) -> Sequence[bytes | Undecodable]:
        """Take the next bytes.

        Args:
            chunk: Any number of bytes, cut anywhere.

        Returns:
            The blocks that these bytes complete, in order, with LF as their line ends. Further
            blank lines may leave blocks that are empty or begin with LF; they mean nothing.
        """
        if self._after_carriage_return or _CARRIAGE_RETURN in chunk:
            chunk = self._unify_line_ends(chunk)
        if not chunk:
            return []
        pending = self._pending
        if pending:
            half = chunk[0] == _LINE_FEED and pending[-1] == _LINE_FEED
            if not half and chunk.find(b"\n\n") < 0:
                return self._hold(chunk)
            pending += chunk
            chunk = bytes(pending)
            pending.clear()
        blocks = chunk.split(b"\n\n")
        rest = blocks.pop()
        # Only a chunk longer than the limit can hold a block or a rest that is.
        if self._at_start or self._overlong or len(chunk) > self._max_event_bytes:
            return [*self._checked(blocks), *self._hold(rest)]
        pending += rest
        return blocks

    def flush(self) -> Sequence[bytes | Undecodable]:
        """End the stream, and give what stands after the last blank line as a block.

        The standard drops it. Several model servers leave out the last blank line, so it is
        offered here; a consumer that parses the data sees whether it is whole.

        Returns:
            The last block, or nothing. The splitter is empty afterwards.
        """
        block = bytes(self._pending).removesuffix(b"\n")
        self._pending.clear()
        return self._checked([block]) if block else []

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_carriage_return:
            # The line ended with the CR already; this LF is its second half.
            chunk = chunk.removeprefix(b"\n")
        self._after_carriage_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _hold(self, rest: bytes) -> list[bytes | Undecodable]:
        pending = self._pending
        pending += rest
        # One byte more is allowed: it may be the first half of the blank line.
        if not self._overlong and len(pending) <= self._max_event_bytes + 1:
            return []
        del pending[:-1]  # and the last byte of what is dropped may be so
        if self._overlong:
            return []
        self._overlong = True
        self._at_start = False
        return [self._too_long()]

    def _checked(self, blocks: list[bytes]) -> list[bytes | Undecodable]:
        """The blocks without the end of a refused one, long ones refused, no byte order mark."""
        checked: list[bytes | Undecodable] = []
        for block in blocks:
            if self._overlong:
                self._overlong = False
            elif len(block) > self._max_event_bytes:
                checked.append(self._too_long())
            else:
                checked.append(block.removeprefix(_BYTE_ORDER_MARK) if self._at_start else block)
            self._at_start = False
        return checked

    def _too_long(self) -> Undecodable:
        what = f"server-sent event: longer than {self._max_event_bytes} bytes"
        return Undecodable(what, Cause.LIMIT)


def parse_event(block: bytes) -> ServerSentEvent | None:
    """Read the lines of one block.

    `id` and `retry` are ignored: a model's reply cannot be resumed by them.

    Args:
        block: Lines ended by LF, as `SSESplitter` gives them.

    Returns:
        The event, or None where the block has no data: comments, and names alone.
    """
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    if not data:
        return None
    return ServerSentEvent(name.decode("utf-8", "replace") or None, b"\n".join(data))
