"""JSON objects by line or in one array: where each ends, in any cut of the bytes."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall.wire.ndjson import ObjectSplitter
from finalcall.wire.undecodable import Undecodable
from tests.cutting import cuts, random_cut


def read(chunks: list[bytes], limit: int = 10_000) -> list[bytes | str]:
    splitter = ObjectSplitter(max_event_bytes=limit)
    objects = [found for chunk in chunks for found in splitter.feed(chunk)] + splitter.flush()
    return [found if isinstance(found, bytes) else found.what for found in objects]


JUNK = "JSON stream: text that is no JSON object"
CUT = "JSON object: cut off by the end of the stream"

CASES: dict[str, tuple[bytes, list[bytes | str]]] = {
    "one object": (b'{"a":1}\n', [b'{"a":1}']),
    "two lines": (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
    "no last line end": (b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
    "CR LF and blank lines": (b'\r\n{"a":1}\r\n\r\n\n {"b":2}\r\n', [b'{"a":1}', b'{"b":2}']),
    "nothing between": (b'{"a":1}{"b":2}', [b'{"a":1}', b'{"b":2}']),
    "an object over several lines": (b'{\n "a": [\n 1\n]\n}\n{}', [b'{\n "a": [\n 1\n]\n}', b"{}"]),
    "brackets in strings": (b'{"}{":"]["}{}', [b'{"}{":"]["}', b"{}"]),
    "escaped quotes": (b'{"a":"\\"}","b\\\\":"{\\\\"}{}', [b'{"a":"\\"}","b\\\\":"{\\\\"}', b"{}"]),
    "nested": (b'{"a":[{"b":{}},[[]]]}{}', [b'{"a":[{"b":{}},[[]]]}', b"{}"]),
    "characters of several bytes": ('{"é":"😀"}\n{}'.encode(), ['{"é":"😀"}'.encode(), b"{}"]),
    "an array": (b'[{"a":1},\n{"b":2}]', [b'{"a":1}', b'{"b":2}']),
    "an array over several lines": (b'\n[\n{\n"a":1}\n,\r\n{}\n]\n', [b'{\n"a":1}', b"{}"]),
    "an empty array": (b" [ ] ", []),
    "an array cut between elements": (b'[{"a":1},\n', [b'{"a":1}']),
    "an array cut in an element": (b'[{"a":1},\n{"b":"', [b'{"a":1}', CUT]),
    "an object cut in a string": (b'{"a":1}\n{"b":"}', [b'{"a":1}', CUT]),
    "an object cut after a backslash": (b'{"b":"\\', [CUT]),
    "nothing": (b"", []),
    "only blanks": (b" \r\n\t", []),
    "junk on a line": (b'{"a":1}\noops {"x":1}\n{"b":2}\n', [b'{"a":1}', JUNK, b'{"b":2}']),
    "junk behind an object": (b'{"a":1} oops\n{"b":2}\n', [b'{"a":1}', JUNK, b'{"b":2}']),
    "junk at the end": (b'{"a":1}\noops', [b'{"a":1}', JUNK]),
    "values that are no objects": (b'{}\n"{}"\n[1]\ntrue\n{}', [b"{}", JUNK, JUNK, JUNK, b"{}"]),
    "a comma by line": (b'{"a":1},\n{"b":2}', [b'{"a":1}', JUNK, b'{"b":2}']),
    "a line end in a string": (b'{"a":"x\n{"b":2}\n', [JUNK, b'{"b":2}']),
    "a line end behind a backslash": (b'{"a":"x\\\n"}\n{}', [b'{"a":"x\\\n"}', b"{}"]),
    "a value in an array that is no object": (b'[{"a":1},2,\n{"b":2}]', [b'{"a":1}', JUNK]),
    "a line end in an array's string": (b'[{"a":"x\n"},\n{"b":2}]', [JUNK]),
    "text behind an array": (b'[{"a":1}]\n{"b":2}\n', [b'{"a":1}', JUNK]),
    "a comma behind an array": (b'[{"a":1}],', [b'{"a":1}', JUNK]),
    "wrong brackets": (b'{"a":]\n{"b":2}', [b'{"a":]', b'{"b":2}']),
}


@pytest.mark.parametrize("case", CASES)
def test_each_shape_is_split_alike_in_every_cut(case: str) -> None:
    """Objects and troubles come in order, whole, byte by byte and cut anywhere."""
    data, expected = CASES[case]
    for chunks in cuts(data):
        assert read(chunks) == expected


def test_text_that_is_no_object_is_reported_without_being_quoted() -> None:
    """The report is a value that holds nothing of the text."""
    splitter = ObjectSplitter()
    (report,) = splitter.feed(b"secret\n")
    assert isinstance(report, Undecodable)
    assert "secret" not in repr(report)


@pytest.mark.parametrize("array", [False, True])
def test_an_object_over_the_limit_is_refused_once_and_reading_goes_on(array: bool) -> None:
    """At the limit an object passes; over it there is one value in its place."""
    long = json.dumps({"a": "x" * 100}, separators=(",", ":")).encode()
    data = b"\n".join((b"{}", long, b"{}"))
    if array:
        data = b"[" + data.replace(b"\n", b",\n") + b"]"
    for chunks in cuts(data):
        assert read(chunks, len(long)) == [b"{}", long, b"{}"]
        refused = f"JSON object: longer than {len(long) - 1} bytes"
        assert read(chunks, len(long) - 1) == [b"{}", refused, b"{}"]


@pytest.mark.parametrize("end", [b"", b"\n", b'"'])
def test_an_endless_object_is_reported_once(end: bytes) -> None:
    """However it goes on or ends, a refused object is not reported a second time."""
    for chunks in cuts(b'{"a":"' + b"x" * 100 + end):
        assert read(chunks, 50) == ["JSON object: longer than 50 bytes"]


VALUES = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=8,
    ),
    max_size=3,
)


@given(
    st.lists(VALUES, max_size=5),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.booleans(),
    st.integers(),
)
def test_any_objects_come_back_as_they_were_sent(
    values: list[object], indent: int | None, ascii_only: bool, array: bool, seed: int
) -> None:
    """Objects written in any style, by line or as an array, are found in any cut."""
    texts = [json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode() for value in values]
    data = b"[" + b",\n".join(texts) + b"]" if array else b"\n".join(texts)
    assert read([data]) == texts
    assert read([data[at : at + 1] for at in range(len(data))]) == texts
    assert read(random_cut(data, random.Random(seed))) == texts


@given(st.lists(st.sampled_from(list('{}[]",\\\n a1')), max_size=25).map("".join))
def test_any_text_is_read_alike_in_every_cut(text: str) -> None:
    """Whatever the text is, its cut makes no difference and no byte raises."""
    data = text.encode()
    expected = read([data])
    assert read([data[at : at + 1] for at in range(len(data))]) == expected
    for at in range(len(data)):
        assert read([data[:at], data[at:]]) == expected
