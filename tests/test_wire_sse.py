"""Server-sent events: the rules of the WHATWG standard one by one, in any cut of the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall.outcomes import Cause
from finalcall.wire.sse import ServerSentEvent, SSESplitter, parse_event
from finalcall.wire.undecodable import Undecodable
from tests.cutting import cuts

Event = tuple[str | None, bytes]


def read(chunks: list[bytes], *, flush: bool = False) -> list[ServerSentEvent]:
    splitter = SSESplitter()
    blocks = [block for chunk in chunks for block in splitter.feed(chunk)]
    if flush:
        blocks += splitter.flush()
    events = [parse_event(block) for block in blocks if isinstance(block, bytes)]
    return [event for event in events if event is not None]


RULES: dict[str, tuple[bytes, list[Event]]] = {
    "a blank line dispatches": (b"data: x\n\n", [(None, b"x")]),
    "the last event without a blank line is not dispatched": (
        b"data: x\n\ndata: y\n",
        [(None, b"x")],
    ),
    "an event name is given": (b"event: add\ndata: x\n\n", [("add", b"x")]),
    "the name may follow the data": (b"data: x\nevent: add\n\n", [("add", b"x")]),
    "the last of several names counts": (b"event: a\nevent: b\ndata: x\n\n", [("b", b"x")]),
    "an empty name is no name": (b"event: \ndata: x\n\n", [(None, b"x")]),
    "a name holds for one event": (
        b"event: a\ndata: x\n\ndata: y\n\n",
        [("a", b"x"), (None, b"y")],
    ),
    "a name without data is forgotten": (b"event: a\n\ndata: y\n\n", [(None, b"y")]),
    "lines of data are joined by LF": (
        b"data: a\ndata: b\ndata\ndata: c\n\n",
        [(None, b"a\nb\n\nc")],
    ),
    "data without a value is an empty line": (
        b"data\n\ndata\ndata\n\ndata:\n\n",
        [(None, b""), (None, b"\n"), (None, b"")],
    ),
    "one space after the colon is removed": (
        b"data:a\n\ndata: a\n\ndata:  a\n\n",
        [(None, b"a"), (None, b"a"), (None, b" a")],
    ),
    "a tab after the colon stays": (b"data:\ta\n\n", [(None, b"\ta")]),
    "only the first colon separates": (b"data: a: b\n\n", [(None, b"a: b")]),
    "a line that begins with a colon is a comment": (b": data: a\ndata: b\n:\n\n", [(None, b"b")]),
    "comments alone dispatch nothing": (b": ping\n\n: ping\n\n", []),
    "field names are case-sensitive": (b"Data: a\nDATA: b\n\n", []),
    "field names are not trimmed": (b" data: a\ndata : b\n\n", []),
    "unknown fields are ignored": (b"foo: a\ndata: b\nbar\n\n", [(None, b"b")]),
    "id and retry are ignored": (b"id: 7\nretry: 10\ndata: b\nid: \0\n\n", [(None, b"b")]),
    "more blank lines mean nothing": (
        b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n",
        [(None, b"a"), (None, b"b")],
    ),
    "lines end with CR LF": (
        b"event: e\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n",
        [("e", b"a\nb"), (None, b"c")],
    ),
    "lines end with CR": (
        b"event: e\rdata: a\rdata: b\r\rdata: c\r\r",
        [("e", b"a\nb"), (None, b"c")],
    ),
    "line ends are mixed": (
        b"data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\r\n",
        [(None, b"a"), (None, b"b"), (None, b"c"), (None, b"d")],
    ),
    "LF CR are two line ends": (b"data: a\n\rdata: b\n\n", [(None, b"a"), (None, b"b")]),
    "CR LF is one line end": (b"data: a\r\ndata: b\r\n\r\n", [(None, b"a\nb")]),
    "a byte order mark is removed": (
        b"\xef\xbb\xbfdata: a\n\ndata: b\n\n",
        [(None, b"a"), (None, b"b")],
    ),
    "a byte order mark before a blank line is removed": (
        b"\xef\xbb\xbf\n\ndata: b\n\n",
        [(None, b"b")],
    ),
    "only one byte order mark is removed": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    "a byte order mark is removed only at the start": (
        b"data: a\n\n\xef\xbb\xbfdata: b\n\n",
        [(None, b"a")],
    ),
    "half a byte order mark is none": (b"\xef\xbbdata: a\n\n", []),
    "characters of several bytes stay whole": (
        "event: größe\ndata: 😀 é\n\n".encode(),
        [("größe", "😀 é".encode())],
    ),
    "a name that is not UTF-8 is replaced": (b"event: \xff\ndata: a\n\n", [("\ufffd", b"a")]),
    "NEL and LS are no line ends": (
        "data: a\u0085b\u2028c\n\n".encode(),
        [(None, "a\u0085b\u2028c".encode())],
    ),
    "nothing gives nothing": (b"", []),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_holds_in_every_cut(rule: str) -> None:
    """Every rule gives the same events, whole, byte by byte and cut anywhere."""
    data, expected = RULES[rule]
    for chunks in cuts(data):
        assert read(chunks) == expected


FLUSHED: dict[str, tuple[bytes, list[Event]]] = {
    "no line end": (b"data: a\n\nevent: e\ndata: b", [(None, b"a"), ("e", b"b")]),
    "one line end": (b"data: a\n", [(None, b"a")]),
    "one CR LF": (b"data: a\r\n", [(None, b"a")]),
    "one CR": (b"data: a\r", [(None, b"a")]),
    "a comment": (b"data: a\n\n: bye\n", [(None, b"a")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a", [(None, b"a")]),
    "nothing": (b"data: a\n\n", [(None, b"a")]),
}


@pytest.mark.parametrize("case", FLUSHED)
def test_flush_offers_the_event_that_lacks_its_blank_line(case: str) -> None:
    """What stands after the last blank line becomes an event on flush."""
    data, expected = FLUSHED[case]
    for chunks in cuts(data):
        assert read(chunks, flush=True) == expected


def test_flush_empties_the_splitter() -> None:
    """A second flush gives nothing."""
    splitter = SSESplitter()
    splitter.feed(b"data: a")
    assert list(splitter.flush()) == [b"data: a"]
    assert list(splitter.flush()) == []


LIMIT = 20


def shapes(chunks: list[bytes]) -> list[bytes | str]:
    splitter = SSESplitter(max_event_bytes=LIMIT)
    blocks = [block for chunk in chunks for block in splitter.feed(chunk)] + [*splitter.flush()]
    return [block if isinstance(block, bytes) else "refused" for block in blocks if block]


OVERLONG: dict[str, tuple[bytes, list[bytes | str]]] = {
    "at the limit": (b"data: " + b"x" * 14 + b"\n\nok\n\n", [b"data: " + b"x" * 14, b"ok"]),
    "one over": (b"data: " + b"x" * 15 + b"\n\nok\n\n", ["refused", b"ok"]),
    "far over": (b"a\n\n" + b"x" * 500 + b"\n\nok\n\n", [b"a", "refused", b"ok"]),
    "two over": (b"x" * 50 + b"\n\n" + b"y" * 50 + b"\n\nok\n\n", ["refused", "refused", b"ok"]),
    "over in many lines": (b"x: 1\n" * 50 + b"\nok\n\n", ["refused", b"ok"]),
    "at the limit, cut off": (b"x" * 20, [b"x" * 20]),
    "at the limit, cut off after its line": (b"x" * 20 + b"\n", [b"x" * 20]),
    "one over, cut off": (b"x" * 21, ["refused"]),
    "far over, cut off": (b"ok\n\n" + b"x" * 500, [b"ok", "refused"]),
    "a mark at the limit": (b"\xef\xbb\xbf" + b"x" * 17 + b"\n\n", [b"x" * 17]),
    "a mark over the limit": (b"\xef\xbb\xbf" + b"x" * 18 + b"\n\nok\n\n", ["refused", b"ok"]),
}


@pytest.mark.parametrize("case", OVERLONG)
def test_an_event_over_the_limit_is_refused_once_and_reading_goes_on(case: str) -> None:
    """Too long an event is one value in its place, in every cut; its neighbours are read."""
    data, expected = OVERLONG[case]
    for chunks in cuts(data):
        assert shapes(chunks) == expected


def test_an_endless_event_is_reported_before_it_ends_and_is_not_kept() -> None:
    """Refusal comes as soon as the limit is passed, says the limit, and repeats nothing."""
    splitter = SSESplitter(max_event_bytes=100)
    reports = [report for _ in range(1000) for report in splitter.feed(b"secret ")]
    assert reports == [Undecodable("server-sent event: longer than 100 bytes", Cause.LIMIT)]


def oracle(data: bytes) -> list[Event]:
    """The standard's algorithm, a line at a time over the whole text."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[Event] = []
    name, buffer = b"", b""
    for line in text.split(b"\n")[:-1]:
        if line == b"":
            if buffer:
                events.append((name.decode("utf-8", "replace") or None, buffer[:-1]))
            name, buffer = b"", b""
            continue
        field, colon, value = line.partition(b":")
        if colon and value[:1] == b" ":
            value = value[1:]
        if field == b"event":
            name = value
        elif field == b"data":
            buffer += value + b"\n"
    return events


PIECES = st.sampled_from(
    [
        *(b"data: ", b"data:", b"data", b"event: ", b"event: e\ndata: ", b":", b" ", b"id: 1"),
        *(b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n"),
        *(b"x", b"{}", b"\xc3", b"\xa9", b"\xef\xbb\xbf"),
    ]
)


@given(st.lists(PIECES, max_size=40).map(b"".join))
def test_any_text_is_read_as_the_standard_reads_it(data: bytes) -> None:
    """For any mixture of fields and line ends, in any cut, the events are the standard's."""
    expected = oracle(data)
    assert read([data]) == expected
    assert read([data[at : at + 1] for at in range(len(data))]) == expected
    for at in range(len(data)):
        assert read([data[:at], data[at:]]) == expected
