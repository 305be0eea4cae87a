"""From bytes to native events: recognising the framing, and what becomes of each frame."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall.outcomes import Cause
from finalcall.testing.recordings import encode_aws_frame
from finalcall.wire.decoder import Decoder
from finalcall.wire.natives import MAX_ENVELOPE_DEPTH
from finalcall.wire.undecodable import Undecodable
from tests.cutting import cuts, random_cut
from tests.test_wire_aws import frame


def read(chunks: list[bytes], limit: int = 100_000) -> list[Any]:
    decoder = Decoder(max_event_bytes=limit)
    return [native for chunk in chunks for native in decoder.feed(chunk)] + decoder.end()


def chunk_frame(inner: bytes) -> bytes:
    payload = {"bytes": base64.b64encode(inner).decode(), "p": "abc"}
    return encode_aws_frame("event", "chunk", json.dumps(payload).encode())


def event_frame(name: str, payload: bytes = b"{}") -> bytes:
    return encode_aws_frame("event", name, payload)


NO_FRAMING = Undecodable("response: neither server-sent events, nor JSON, nor an AWS event stream")
CUT_EVENT = Undecodable("server-sent event: cut off by the end of the stream")
NOT_JSON = Undecodable("server-sent event: not JSON")
BAD_CHUNK = Undecodable("AWS event stream: a chunk without readable bytes")
BAD_OBJECT = Undecodable("JSON object: not JSON")
JUNK = Undecodable("JSON stream: text that is no JSON object")
NO_OBJECT = Undecodable("server-sent event: JSON, but no object")

SSE: dict[str, tuple[bytes, list[Any]]] = {
    "data alone": (b'data: {"a":1}\n\ndata: {"a":2}\n\n', [{"a": 1}, {"a": 2}]),
    "names are dropped": (b'event: x\ndata: {"a":1}\n\n' * 3, [{"a": 1}] * 3),
    "no space": (b'data:{"a":1}\n\nevent:x\ndata:{"a":2}\n\n', [{"a": 1}, {"a": 2}]),
    "an object over several lines": (b'data: {\ndata: "a":1}\n\n', [{"a": 1}]),
    "id and retry": (b'id: 1\nretry: 5\ndata: {"a":1}\nid: 2\n\n', [{"a": 1}]),
    "CR LF": (b'event: x\r\ndata: {"a":1}\r\n\r\n' * 2, [{"a": 1}] * 2),
    "done": (b'data: {"a":1}\n\ndata: [DONE]\n\n', [{"a": 1}, "[DONE]"]),
    "done with a name and blanks": (b"event: x\ndata:  [DONE] \n\n", ["[DONE]"]),
    "done in quotes": (b'data: "[DONE]"\n\n', [NO_OBJECT]),
    "no last blank line": (b'data: {"a":1}\n\ndata: [DONE]', [{"a": 1}, "[DONE]"]),
    "cut in an object": (b'data: {"a":1}\n\ndata: {"a":', [{"a": 1}, CUT_EVENT]),
    "cut in a field": (b'data: {"a":1}\n\neven', [{"a": 1}]),
    "cut in done": (b"data: [DON", [CUT_EVENT]),
    "empty data": (b'data: \n\ndata\n\nevent: ping\ndata: \n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "a comment passed on as data": (b'data: : PROCESSING\n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "an empty string": (b'data: ""\n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "null": (b'data: null\n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "a keep-alive in words": (
        b'event: ping\ndata: 12:01\n\nevent: heartbeat\ndata: 1\n\ndata: {"a":1}\n\n',
        [{"a": 1}],
    ),
    "a keep-alive that is an object": (
        b'event: ping\ndata: {"type":"ping"}\n\nevent: keepalive\ndata: {"a":1}\n\n',
        [{"type": "ping"}, {"a": 1}],
    ),
    "a word under another name": (b"event: x\ndata: 12:01\n\n", [NOT_JSON]),
    "not JSON": (b'data: oops\n\ndata: {"a":1}\n\n', [NOT_JSON, {"a": 1}]),
    "text behind the object": (b'data: {"a":1} x\n\n', [NOT_JSON]),
    "two objects": (b'data: {"a":1}\ndata: {"a":2}\n\n', [NOT_JSON]),
    "no object": (b"data: 1\n\ndata: [{}]\n\n", [NO_OBJECT] * 2),
    "not UTF-8": (b'data: {"a":"\xff"}\n\n', [Undecodable("server-sent event: not UTF-8")]),
    "bytes in UTF-8": ('data: {"a":"é😀"}\n\n'.encode(), [{"a": "é😀"}]),
    "NaN is the normaliser's to judge": (b'data: {"a":-Infinity}\n\n', [{"a": float("-inf")}]),
    "an event named error": (
        b'event: error\ndata: {"m":1}\n\n',
        [{"type": "error", "error": {"m": 1}}],
    ),
    "an error that says so": (
        b'event: error\ndata: {"type":"error","code":"e"}\n\n',
        [{"type": "error", "code": "e"}],
    ),
    "an error that says so in another way": (
        b'event: error\ndata: {"event_type":"error","error":{}}\n\n',
        [{"event_type": "error", "error": {}}],
    ),
    "an error that says its kind": (
        b'event: error\ndata: {"type":"e"}\n\n',
        [{"type": "error", "error": {"type": "e"}}],
    ),
    "an error that says its kind beside itself": (
        b'event: error\ndata: {"type":"e","error":{"m":1}}\n\n',
        [{"type": "error", "error": {"m": 1}}],
    ),
    "an error that is null": (
        b'event: error\ndata: {"error":null,"m":1}\n\n',
        [{"type": "error", "error": {"error": None, "m": 1}}],
    ),
    "an error without a word": (b"event: error\ndata:\n\n", [{"type": "error", "error": ""}]),
    "an error without data": (b'event: error\n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "an error that says done": (
        b"event: error\ndata: [DONE]\n\n",
        [{"type": "error", "error": "[DONE]"}],
    ),
    "an error that says error": (b'event: error\ndata: {"error":"e"}\n\n', [{"error": "e"}]),
    "an error that is a string": (
        b'event: error\ndata: "no"\n\n',
        [{"type": "error", "error": "no"}],
    ),
    "an error in plain words": (
        b"event: error\ndata: so sorry\n\n",
        [{"type": "error", "error": "so sorry"}],
    ),
    "an error that says nothing": (
        b'event: error\ndata: ""\n\n',
        [{"type": "error", "error": ""}],
    ),
    "two errors": (
        b'event: error\ndata: {"m":1}\n\n' * 2,
        [{"type": "error", "error": {"m": 1}}] * 2,
    ),
    "blanks and comments first": (b'\r\n \n: hi\n\ndata: {"a":1}\n\n', [{"a": 1}]),
    "a byte order mark": (b'\xef\xbb\xbfevent: x\ndata: {"a":1}\n\n', [{"a": 1}]),
    "a byte order mark and blanks": (b'\n\xef\xbb\xbf\n data: {"a":1}\n\n', [{"a": 1}]),
    "retry first": (b'retry: 1\n\ndata: {"a":1}\n\n', [{"a": 1}]),
}
JSON_OBJECTS: dict[str, tuple[bytes, list[Any]]] = {
    "lines": (b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
    "blank lines first": (b'\n\n{"a":1}', [{"a": 1}]),
    "an array": (b'[{"a":1}\n,\n{"a":2}]\n', [{"a": 1}, {"a": 2}]),
    "an error over several lines": (
        b'{\n "error": {\n  "code": 5\n }\n}\n',
        [{"error": {"code": 5}}],
    ),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', [{"a": 1}]),
    "a bad line": (b'{"a":]}\n{"a":}\n{"a":2}', [BAD_OBJECT, JUNK, BAD_OBJECT, {"a": 2}]),
    "cut": (
        b'{"a":1}\n{"a"',
        [{"a": 1}, Undecodable("JSON object: cut off by the end of the stream")],
    ),
}
AWS: dict[str, tuple[bytes, list[Any]]] = {
    "an event under its name": (
        event_frame("messageStop", b'{"stopReason":"x"}'),
        [{"messageStop": {"stopReason": "x"}}],
    ),
    "an event without a payload": (event_frame("metadata", b""), [{"metadata": {}}]),
    "a chunk is unpacked": (chunk_frame(b'{"type":"ping"}') * 2, [{"type": "ping"}] * 2),
    "an exception under its name": (
        encode_aws_frame("exception", "throttlingException", b'{"message":"m"}'),
        [{"throttlingException": {"message": "m"}}],
    ),
    "an exception named chunk": (encode_aws_frame("exception", "chunk", b"{}"), [{"chunk": {}}]),
    "a chunk without bytes": (event_frame("chunk"), [BAD_CHUNK]),
    "a chunk of a number": (event_frame("chunk", b'{"bytes":1}'), [BAD_CHUNK]),
    "a chunk of no base64": (event_frame("chunk", b'{"bytes":"{}"}'), [BAD_CHUNK]),
    "a chunk of no JSON": (
        chunk_frame(b"oops"),
        [Undecodable("AWS event stream, chunk: not JSON")],
    ),
    "a payload of no JSON": (
        event_frame("x", b"oops") + event_frame("y"),
        [Undecodable("AWS event stream: not JSON"), {"y": {}}],
    ),
    "a damaged frame": (
        event_frame("x")[:-1] + b"!" + event_frame("y"),
        [Undecodable("AWS event stream: the checksum of a frame does not match"), {"y": {}}],
    ),
    "cut": (
        event_frame("x") + b"\0",
        [{"x": {}}, Undecodable("AWS event stream: a frame was cut off by the end")],
    ),
}
UNKNOWN: dict[str, tuple[bytes, list[Any]]] = {
    "nothing": (b"", []),
    "blanks": (b" \n\r\n", []),
    "a page": (b"<html>\n<body>data: {}\n\n{}", [NO_FRAMING]),
    "words": (b"upstream connect error", [NO_FRAMING]),
    "almost a field": (b"dat", [NO_FRAMING]),
    "half a byte order mark": (b"\xef\xbb", [NO_FRAMING]),
}
FRAMINGS = {"sse": SSE, "json": JSON_OBJECTS, "aws": AWS, "unknown": UNKNOWN}
CASES = {f"{kind}: {name}": row for kind, rows in FRAMINGS.items() for name, row in rows.items()}


@pytest.mark.parametrize("case", CASES)
def test_each_response_gives_its_natives_in_every_cut(case: str) -> None:
    """The framing is recognised and every frame is read, whole, byte by byte and cut anywhere."""
    data, expected = CASES[case]
    for chunks in cuts(data):
        assert read(chunks) == expected


def test_an_aws_error_message_is_given_under_its_code() -> None:
    """A frame of the kind `error` has no payload: its code and its message are headers."""
    headers = b"".join(
        bytes([len(name)]) + name + b"\x07\0" + bytes([len(value)]) + value
        for name, value in (
            (b":message-type", b"error"),
            (b":error-code", b"InternalError"),
            (b":error-message", b"sorry"),
        )
    )
    assert read([frame(headers)]) == [{"InternalError": {"message": "sorry"}}]


@pytest.mark.parametrize("form", [b"data: %s\n\n", b"%s\n", b"[%s]"])
def test_halves_of_a_surrogate_pair_in_two_events_are_both_kept(form: bytes) -> None:
    """An event whose text ends or begins with a lone surrogate is never lost."""
    first, second = read([form % b'{"t":"a\\ud83d"}']) + read([form % b'{"t":"\\ude00b"}'])
    assert first == {"t": "a\ud83d"}
    assert second == {"t": "\ude00b"}


@pytest.mark.parametrize(
    ("depth", "readable"),
    [
        (150, True),
        (220, True),
        (MAX_ENVELOPE_DEPTH - 1, True),
        (MAX_ENVELOPE_DEPTH, False),
        (2_000, False),
        (200_000, False),
    ],
)
def test_envelopes_are_read_down_to_a_bounded_depth(depth: int, readable: bool) -> None:
    """Too deep an envelope is a value, never an exception."""
    (native,) = read([b'data: {"a":' + b"[" * depth + b"]" * depth + b"}\n\n"], 1_000_000)
    deep = Undecodable(f"server-sent event: JSON nested deeper than {MAX_ENVELOPE_DEPTH} levels")
    assert isinstance(native, dict) if readable else native == deep


def test_a_frame_over_the_limit_is_a_value_and_reading_goes_on() -> None:
    """In each framing the events around one that is too long are read."""
    ok, long = {"a": 1}, {"a": "x" * 200}
    for data, name in (
        (b"".join(b"data: %s\n\n" % json.dumps(x).encode() for x in (ok, long, ok)), "server-sent"),
        (b"".join(b"%s\n" % json.dumps(x).encode() for x in (ok, long, ok)), "JSON object"),
        (b"".join(chunk_frame(json.dumps(x).encode()) for x in (ok, long, ok)), "AWS event"),
    ):
        first, refused, last = read([data], 180)
        assert (first, last) == (ok, ok)
        assert isinstance(refused, Undecodable)
        assert refused.what.startswith(name)
        assert refused.cause is Cause.LIMIT


def test_nothing_that_is_refused_is_quoted() -> None:
    """No report holds a piece of what the model or the server wrote."""
    for data in (
        b"secret",
        b"data: secret\n\n",
        b'data: "secret"\n\n',
        b'data: {"secret": \xff}\n\n',
        b'data: {"secret": ',
        b'{"secret": ]}',
        b'{"secret": "\n',
        event_frame("secret", b"secret"),
        chunk_frame(b'"secret"'),
    ):
        reports = read([data])
        assert reports
        assert all(isinstance(report, Undecodable) for report in reports)
        assert "secret" not in repr(reports)


def test_bytes_and_keep_alives_are_counted() -> None:
    """Every byte counts; comments, names alone and empty data are keep-alives."""
    data = b": ping\n\n\n\nevent: ping\n\ndata: \n\ndata: {}\n: inside\n\n: a\n: b\n\n\n"
    for chunks in cuts(data):
        decoder = Decoder()
        natives = [native for chunk in chunks for native in decoder.feed(chunk)]
        assert natives == [{}]
        assert decoder.keep_alives == 4
        assert decoder.byte_count == len(data)


def test_more_names_than_are_remembered_are_read_all_the_same() -> None:
    """A thousand event names make no difference, and do not pile up."""
    data = b"".join(b'event: e%d\ndata: {"a":%d}\n\n' % (n, n) for n in range(1000))
    assert read([data, data]) == [{"a": n} for n in range(1000)] * 2


def test_a_name_that_is_known_does_not_excuse_a_bad_event() -> None:
    """After good events of a name, one of another shape is read by the rules."""
    good = b'event: x\ndata: {"a":1}\n\n'
    assert read([good * 2 + b'event: x\ndata: {"a":1}\ndata: 2\n\n']) == [*[{"a": 1}] * 2, NOT_JSON]
    renamed = b'event: x\ndata: {"a":1}\nevent: error\n\n'
    assert read([good * 2 + renamed]) == [*[{"a": 1}] * 2, {"type": "error", "error": {"a": 1}}]


def test_a_decoder_ends_once() -> None:
    """After its end a decoder gives nothing more, and feeding it says what to do."""
    decoder = Decoder()
    decoder.feed(b"data: {}")
    assert decoder.end() == [{}]
    assert decoder.end() == []
    with pytest.raises(RuntimeError, match="make a new one"):
        decoder.feed(b"x")


EVENTS = st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(), max_size=3)


@given(st.lists(EVENTS, min_size=1, max_size=6), st.integers(0, 3), st.integers())
def test_any_events_come_back_in_every_framing_and_cut(
    events: list[dict[str, object]], framing: int, seed: int
) -> None:
    """Bytes of any objects, in any framing, cut at random, give the objects."""
    texts = [json.dumps(event, ensure_ascii=False).encode() for event in events]
    data = (
        b"".join(b"event: e\ndata: %s\n\n" % text for text in texts),
        b"".join(b"%s\n" % text for text in texts),
        b"[%s]" % b",\n".join(texts),
        b"".join(map(chunk_frame, texts)),
    )[framing]
    assert read(random_cut(data, random.Random(seed))) == events


@given(st.binary(max_size=60), st.sampled_from([b"", b"data: ", b"{", b"[{", b"\0\0\0"]))
def test_any_bytes_are_read_alike_in_every_cut(tail: bytes, start: bytes) -> None:
    """Whatever arrives, no byte raises and the cut makes no difference."""
    data = start + tail
    expected = read([data])
    assert read([data[at : at + 1] for at in range(len(data))]) == expected
    assert read([data[: len(data) // 2], data[len(data) // 2 :]]) == expected
