"""AWS event stream: binary frames with checksums, which Amazon Bedrock sends.

A frame is: total length, length of the headers, checksum of these eight bytes, headers, payload,
checksum of all before it. Numbers are big-endian, checksums CRC-32.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple, final

from finalcall.limits import MAX_EVENT_BYTES
from finalcall.outcomes import Cause
from finalcall.wire.undecodable import Undecodable

_PRELUDE: Final = struct.Struct(">III")
_CHECKSUM: Final = struct.Struct(">I")
_OVERHEAD: Final = _PRELUDE.size + _CHECKSUM.size

_FIXED_SIZES: Final[Mapping[int, int]] = {
    0: 0,
    1: 0,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    8: 8,
    9: 16,
}
"""Bytes of a header value by its type: booleans, integers of four sizes, timestamp, UUID."""
_BYTES: Final = 6
_STRING: Final = 7


@final
class EventStreamMessage(NamedTuple):
    """One frame.

    Attributes:
        kind: `event`, `exception` or `error`: the header `:message-type`.
        name: Which event, exception or error code it is.
        payload: The body as sent; for an `error`, its message.
    """

    kind: str
    name: str
    payload: bytes


@final
class EventStreamDecoder:
    """Cuts a byte stream into AWS event stream frames, and checks their checksums.

    A frame whose body fails its checksum is passed over. A prelude that fails its own says
    nothing about where the next frame begins, so reading stops there.

    Args:
        max_event_bytes: Longest frame that is accepted. A longer one gives a single
            `Undecodable`, and the frames after it are read as usual.
    """

    __slots__ = ("_buffer", "_max_event_bytes", "_skip", "_stopped")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._buffer = bytearray()
        self._skip = 0  # bytes of a refused frame that are still to come
        self._stopped = False

    def feed(self, chunk: bytes) -> list[EventStreamMessage | Undecodable]:
        """Take the next bytes.

        Args:
            chunk: Any number of bytes, cut anywhere.

        Returns:
            The frames that these bytes complete, in order.
        """
        if self._stopped:
            return []
        buffer = self._buffer
        buffer += chunk
        messages: list[EventStreamMessage | Undecodable] = []
        while True:
            skipped = min(self._skip, len(buffer))
            del buffer[:skipped]
            self._skip -= skipped
            if len(buffer) < _PRELUDE.size:
                return messages
            size, headers_size, checksum = _PRELUDE.unpack_from(buffer)
            if zlib.crc32(buffer[:8]) != checksum or headers_size > size - _OVERHEAD:
                messages.append(Undecodable("AWS event stream: the prelude of a frame is wrong"))
                self._stopped = True
                buffer.clear()
                return messages
            if size > self._max_event_bytes:
                what = f"AWS event stream: a frame is longer than {self._max_event_bytes} bytes"
                messages.append(Undecodable(what, Cause.LIMIT))
                self._skip = size
            elif len(buffer) < size:
                return messages
            else:
                frame = bytes(buffer[:size])
                del buffer[:size]
                messages.append(_read_frame(frame, _PRELUDE.size + headers_size))

    def flush(self) -> list[EventStreamMessage | Undecodable]:
        """End the stream.

        Returns:
            An `Undecodable` where a frame was cut off, else nothing.
        """
        cut = bool(self._buffer)
        self._buffer.clear()
        self._stopped = True
        return [Undecodable("AWS event stream: a frame was cut off by the end")] if cut else []


def _read_frame(frame: bytes, payload_start: int) -> EventStreamMessage | Undecodable:
    payload_end = len(frame) - _CHECKSUM.size
    (checksum,) = _CHECKSUM.unpack_from(frame, payload_end)
    if zlib.crc32(frame[:payload_end]) != checksum:
        return Undecodable("AWS event stream: the checksum of a frame does not match")
    try:
        headers = _read_headers(frame[_PRELUDE.size : payload_start])
    except (KeyError, IndexError, ValueError, struct.error):
        return Undecodable("AWS event stream: the headers of a frame cannot be read")
    kind = headers.get(":message-type", "event")
    if kind == "error":
        message = headers.get(":error-message", "").encode()
        return EventStreamMessage(kind, headers.get(":error-code", ""), message)
    payload = frame[payload_start:payload_end]
    return EventStreamMessage(kind, headers.get(f":{kind}-type", ""), payload)


def _read_headers(block: bytes) -> dict[str, str]:
    """The headers whose value is a string; all that say what a frame is are of that type."""
    headers: dict[str, str] = {}
    position = 0
    while position < len(block):
        name_end = position + 1 + block[position]
        name = block[position + 1 : name_end].decode()
        value_type = block[name_end]
        start = name_end + 1
        if value_type in (_BYTES, _STRING):
            (size,) = struct.unpack_from(">H", block, start)
            start += 2
        else:
            size = _FIXED_SIZES[value_type]
        position = start + size
        if position > len(block):
            raise ValueError("a header ends after the headers")
        if value_type == _STRING:
            headers[name] = block[start:position].decode()
    return headers
