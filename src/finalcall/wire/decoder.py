"""The whole way from bytes to native events: the framing is recognised from the first bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, final

from jiter import from_json

from finalcall.limits import MAX_EVENT_BYTES
from finalcall.wire.aws import EventStreamDecoder, EventStreamMessage
from finalcall.wire.natives import is_keep_alive, read_event_stream, read_object, read_sse
from finalcall.wire.ndjson import ObjectSplitter
from finalcall.wire.sse import SSESplitter, parse_event
from finalcall.wire.undecodable import Undecodable

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" \t\r\n"
_LINE_FEED: Final = ord("\n")
_SSE_STARTS: Final = (b":", b"data", b"event", b"id", b"retry")
_MAX_PLAIN_HEADS: Final = 64  # services use a dozen or two names; invented ones must not pile up
_UNRECOGNISED: Final = Undecodable(
    "response: neither server-sent events, nor JSON, nor an AWS event stream"
)


@final
class _UnknownFraming:
    """Stands for a response in no known framing: says so once, and reads nothing."""

    def __init__(self) -> None:
        self._said = False

    def feed(self, chunk: bytes) -> list[Undecodable]:
        if self._said or not chunk:
            return []
        self._said = True
        return [_UNRECOGNISED]

    def flush(self) -> list[Undecodable]:
        return []


_Framing: TypeAlias = SSESplitter | ObjectSplitter | EventStreamDecoder | _UnknownFraming
_Frame: TypeAlias = bytes | EventStreamMessage | Undecodable


@final
class Decoder:
    """Decodes the bytes of one response into native events.

    Server-sent events, JSON objects by line, one JSON array of objects and AWS event stream
    frames are told apart by the first bytes. A native event is a dict, the string `[DONE]`, or an
    `Undecodable` for a frame that could not be read. The cut of the bytes makes no difference.

    Args:
        max_event_bytes: Longest event that is accepted, in bytes of the wire.
    """

    __slots__ = (
        "_ended",
        "_framing",
        "_head",
        "_max_event_bytes",
        "_plain_heads",
        "byte_count",
        "keep_alives",
    )

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._framing: _Framing | None = None
        self._head = b""  # the first bytes, while they are too few to tell
        self._plain_heads = {b""}
        self._ended = False
        self.byte_count: int = 0
        """Bytes received."""
        self.keep_alives: int = 0
        """Server-sent events that carried nothing: comments, and events that say no more."""

    def feed(self, chunk: bytes) -> list[Any]:
        """Take the next bytes.

        Args:
            chunk: Any number of bytes, cut anywhere.

        Returns:
            The native events that these bytes complete, in order.

        Raises:
            RuntimeError: `end` was called before.
        """
        if self._ended:
            raise RuntimeError(
                "bytes were fed after end(); a decoder reads one response, make a new one"
            )
        self.byte_count += len(chunk)
        if self._framing is None:
            chunk = self._recognise(chunk)
        framing = self._framing
        if type(framing) is SSESplitter:
            return self._read_blocks(framing.feed(chunk))
        return [] if framing is None else self._read_frames(framing.feed(chunk))

    def end(self) -> list[Any]:
        """End the stream.

        Returns:
            A last event that only lacked its blank line, or an `Undecodable` for an event that
            the end cut off. Empty when called again.
        """
        if self._ended:
            return []
        self._ended = True
        framing = self._framing
        if framing is None:
            return [_UNRECOGNISED] if self._head else []
        if not isinstance(framing, SSESplitter):
            return self._read_frames(framing.flush())
        natives = self._read_blocks(framing.flush())
        if natives and isinstance(natives[0], Undecodable):
            return [Undecodable("server-sent event: cut off by the end of the stream")]
        return natives

    def _recognise(self, chunk: bytes) -> bytes:
        """Choose the framing, if these bytes tell it, and return what it is to read."""
        head = (self._head + chunk).lstrip(_BLANKS)
        if head.startswith(_BYTE_ORDER_MARK):
            head = head.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANKS)
        if head.startswith(_SSE_STARTS):
            self._framing = SSESplitter(max_event_bytes=self._max_event_bytes)
        elif head.startswith((b"{", b"[")):
            self._framing = ObjectSplitter(max_event_bytes=self._max_event_bytes)
        elif head.startswith(b"\0"):
            # No text begins with this byte, and every frame under 16 MiB does.
            self._framing = EventStreamDecoder(max_event_bytes=self._max_event_bytes)
        elif not any(start.startswith(head) for start in (*_SSE_STARTS, _BYTE_ORDER_MARK)):
            self._framing = _UnknownFraming()
        self._head = b"" if self._framing else head
        return head

    def _read_blocks(self, blocks: Sequence[bytes | Undecodable]) -> list[Any]:
        natives: list[Any] = []
        plain_heads = self._plain_heads
        for block in blocks:
            if type(block) is not bytes:
                natives.append(block)
                continue
            # Nearly every block is one line of data with an object in it, and before it nothing,
            # or a name that was seen before. Whatever is not exactly that takes the long way.
            head, _, data = block.partition(b"data: ")
            if head in plain_heads and _LINE_FEED not in data:
                try:
                    native = from_json(data)
                except ValueError:
                    native = None
                if type(native) is dict:
                    natives.append(native)
                    continue
            self._read_block(block, natives)
        return natives

    def _read_block(self, block: bytes, natives: list[Any]) -> None:
        event = parse_event(block)
        if event is not None and not is_keep_alive(event.name, event.data):
            natives.append(read_sse(event.name, event.data))
            self._learn(block, event.name)
        elif block.strip(b"\n"):
            self.keep_alives += 1

    def _learn(self, block: bytes, name: str | None) -> None:
        line, line_end, rest = block.partition(b"\n")
        plain = line.startswith(b"event: ") and rest.startswith(b"data: ") and name != "error"
        if plain and len(self._plain_heads) < _MAX_PLAIN_HEADS:
            self._plain_heads.add(line + line_end)

    def _read_frames(self, frames: Sequence[_Frame]) -> list[Any]:
        natives: list[Any] = []
        for frame in frames:
            if isinstance(frame, bytes):
                natives.append(read_object(frame, "JSON object"))
            elif isinstance(frame, Undecodable):
                natives.append(frame)
            else:
                natives.append(read_event_stream(frame))
        return natives
