"""AWS event stream: frames, headers, checksums, in any cut of the bytes."""

from __future__ import annotations

import struct
import zlib

import pytest

from finalcall.testing.recordings import encode_aws_frame
from finalcall.wire.aws import EventStreamDecoder, EventStreamMessage
from tests.cutting import cuts


def frame(headers: bytes = b"", payload: bytes = b"") -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def header(name: str, value_type: int, value: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([value_type]) + value


def text_header(name: str, value: str) -> bytes:
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def read(chunks: list[bytes], limit: int = 10_000) -> list[EventStreamMessage | str]:
    decoder = EventStreamDecoder(max_event_bytes=limit)
    messages = [found for chunk in chunks for found in decoder.feed(chunk)] + decoder.flush()
    return [item if isinstance(item, EventStreamMessage) else item.what for item in messages]


GOOD = encode_aws_frame("event", "messageStart", b'{"role":"assistant"}')
GOOD_MESSAGE = EventStreamMessage("event", "messageStart", b'{"role":"assistant"}')
OTHER_TYPES = (
    header("yes", 0, b"")
    + header("no", 1, b"")
    + header("byte", 2, b"\x07")
    + header("short", 3, b"\0\x07")
    + header("int", 4, b"\0\0\0\x07")
    + header("long", 5, b"\0" * 8)
    + header("bytes", 6, b"\0\x02ab")
    + header("when", 8, b"\0" * 8)
    + header("uuid", 9, b"\0" * 16)
)
BAD_PRELUDE = "AWS event stream: the prelude of a frame is wrong"
BAD_FRAME = "AWS event stream: the checksum of a frame does not match"
BAD_HEADERS = "AWS event stream: the headers of a frame cannot be read"
CUT = "AWS event stream: a frame was cut off by the end"

CASES: dict[str, tuple[bytes, list[EventStreamMessage | str]]] = {
    "nothing": (b"", []),
    "an event": (GOOD, [GOOD_MESSAGE]),
    "three events": (GOOD * 3, [GOOD_MESSAGE] * 3),
    "the smallest frame": (
        bytes.fromhex("000000100000000005c248eb7d98c8ff"),
        [EventStreamMessage("event", "", b"")],
    ),
    "a payload and no headers": (
        bytes.fromhex("0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936"),
        [EventStreamMessage("event", "", b"{'foo':'bar'}")],
    ),
    "an exception": (
        encode_aws_frame("exception", "throttlingException", b"{}"),
        [EventStreamMessage("exception", "throttlingException", b"{}")],
    ),
    "an error": (
        frame(
            text_header(":message-type", "error")
            + text_header(":error-code", "InternalError")
            + text_header(":error-message", "größer")
        ),
        [EventStreamMessage("error", "InternalError", "größer".encode())],
    ),
    "headers of every type": (
        frame(OTHER_TYPES + text_header(":event-type", "ping"), b"x"),
        [EventStreamMessage("event", "ping", b"x")],
    ),
    "a damaged payload": (
        GOOD + GOOD[:-10] + b"X" + GOOD[-9:] + GOOD,
        [GOOD_MESSAGE, BAD_FRAME, GOOD_MESSAGE],
    ),
    "a damaged checksum": (GOOD[:-1] + b"X" + GOOD, [BAD_FRAME, GOOD_MESSAGE]),
    "a damaged length": (GOOD + b"\0\0\0\x20" + GOOD[4:] + GOOD, [GOOD_MESSAGE, BAD_PRELUDE]),
    "text behind a frame": (GOOD + b"HTTP/1.1 500 Internal", [GOOD_MESSAGE, BAD_PRELUDE]),
    "an unknown header type": (frame(header("odd", 99, b"")) + GOOD, [BAD_HEADERS, GOOD_MESSAGE]),
    "a header over the end": (
        frame(header("odd", 7, b"\0\xff")) + GOOD,
        [BAD_HEADERS, GOOD_MESSAGE],
    ),
    "a header without a value": (frame(b"\x03odd") + GOOD, [BAD_HEADERS, GOOD_MESSAGE]),
    "a string without its length": (frame(b"\x03odd\x07\0") + GOOD, [BAD_HEADERS, GOOD_MESSAGE]),
    "a name that is not UTF-8": (frame(b"\x01\xff\x00") + GOOD, [BAD_HEADERS, GOOD_MESSAGE]),
    "cut in the prelude": (GOOD + GOOD[:5], [GOOD_MESSAGE, CUT]),
    "cut in the payload": (GOOD + GOOD[:-9], [GOOD_MESSAGE, CUT]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_frame_is_read_alike_in_every_cut(case: str) -> None:
    """Frames and troubles come in order, whole, byte by byte and cut anywhere."""
    data, expected = CASES[case]
    for chunks in cuts(data):
        assert read(chunks) == expected


def test_headers_longer_than_their_frame_are_refused() -> None:
    """A prelude with a right checksum and impossible lengths is wrong all the same."""
    for size, headers_size in ((20, 5), (15, 0), (0, 0)):
        prelude = struct.pack(">II", size, headers_size)
        data = prelude + struct.pack(">I", zlib.crc32(prelude)) + bytes(20)
        for chunks in cuts(data):
            assert read(chunks) == [BAD_PRELUDE]


def test_every_single_damaged_byte_is_noticed() -> None:
    """Whichever byte is changed, the frame is not given as a message."""
    for at in range(len(GOOD)):
        damaged = GOOD[:at] + bytes([GOOD[at] ^ 1]) + GOOD[at + 1 :]
        assert read([damaged])[0] in (BAD_PRELUDE, BAD_FRAME)


def test_a_frame_over_the_limit_is_refused_once_and_reading_goes_on() -> None:
    """The frame after one that is too long is read, in every cut."""
    big = encode_aws_frame("event", "big", b"x" * 300)
    refused = "AWS event stream: a frame is longer than 200 bytes"
    for chunks in cuts(GOOD + big + GOOD):
        assert read(chunks, 200) == [GOOD_MESSAGE, refused, GOOD_MESSAGE]
