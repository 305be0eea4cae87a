"""A preview that is fed something else than text: its caller is told so, and it goes on."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.preview import Preview, best_effort_partial
from tests.test_preview_model import cuts


def pieces() -> Iterator[str]:
    yield '{"a"'


NO_TEXT: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "bytes": b'{"a": 1}',
    "no bytes": bytearray(),
    "a dict": {"a": 1},
    "an empty list": [],
    "a list with a quote": ['"'],
    "a list with a backslash": ["\\"],
    "a tuple": ("{", '"'),
    "a tuple without a quote": ("{",),
    "a tuple of no characters": (1, None),
    "an empty tuple": (),
    "a stream": pieces(),
    "an object": object(),
    "a class": str,
}

TEXTS = {
    "between strings": '{"a": {"b": 1, "c": tru',
    "in a name": '{"a": 1, "na',
    "in a string": '{"a": ["te',
    "in an escape": '{"a": ["te\\u00e',
    "after half a character": '{"a": "te\\ud83d\\',
    "in a number": "[1, 2.5",
    "at the end": '{"a": 1}',
    "malformed": '{"a": 1, "a": 2',
    "malformed in a string": '{"a": "x\x01',
    "malformed in an escape": '{"a": "x\\q y',
    "nothing": "",
}


def state(preview: Preview) -> Any:
    return (
        preview.value.plain(),
        preview.complete,
        preview.malformed,
        preview.completed_keys(),
        preview.changes(),
    )


@pytest.mark.parametrize("wrong", NO_TEXT.values(), ids=NO_TEXT.keys())
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("sensitive", [(), [("secret",)]], ids=["open", "masking"])
def test_what_is_no_text_changes_nothing(text: str, wrong: Any, sensitive: Any) -> None:
    """The caller is told of what type it was, as often as it is fed."""
    preview, other = Preview(sensitive=sensitive), Preview(sensitive=sensitive)
    for each in (preview, other):
        each.feed(text)
    value = preview.value
    for _ in range(2):
        with pytest.raises(TypeError, match=r"^a fragment is of type (\w+); expected a str: give"):
            preview.feed(wrong)
    assert state(preview) == state(other)
    assert preview.value is value


@settings(deadline=None)
@given(cuts(), st.data())
def test_what_comes_after_is_read_as_if_nothing_had_been(
    fragments: list[str], data: st.DataObject
) -> None:
    """Wherever it comes in, also inside an escape or between the halves of a character."""
    preview, other = Preview(), Preview()
    for fragment in fragments:
        if data.draw(st.booleans()):
            with pytest.raises(TypeError):
                preview.feed(data.draw(st.sampled_from([None, 3, b"x", (), ["\\"]])))
        preview.feed(fragment)
        other.feed(fragment)
        assert state(preview) == state(other)


def test_a_preview_that_refused_can_restart() -> None:
    """It forgets the text, and half an escape with it."""
    preview = Preview()
    preview.feed('{"a": "x\\u0')
    with pytest.raises(TypeError):
        preview.feed(NO_TEXT["None"])
    preview.restart()
    with pytest.raises(TypeError):
        preview.feed(NO_TEXT["None"])
    preview.feed('["y')
    assert preview.value.plain() == ["y"]


def test_a_feed_that_was_kept_says_it_once() -> None:
    """Its preview goes on with another one; where there is none any more, nothing does."""
    kept: Any = Preview().feed
    with pytest.raises(TypeError, match="a fragment is of type NoneType"):
        kept(None)
    with pytest.raises(StopIteration):
        kept("[")


def test_an_error_of_a_strs_own_goes_on_unchanged() -> None:
    """It is text: what its methods raise is for who made it."""

    class Odd(str):
        __slots__ = ()

        def isprintable(self) -> bool:
            raise LookupError("odd")

    preview = Preview()
    preview.feed('["')
    with pytest.raises(LookupError, match="odd"):
        preview.feed(Odd("x"))


def test_a_preview_that_is_dropped_goes_at_once() -> None:
    """Nothing in it refers to itself, also after it refused something."""
    preview = Preview()
    with pytest.raises(TypeError):
        preview.feed(NO_TEXT["None"])
    gone = weakref.ref(preview)
    gc.disable()
    try:
        del preview
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("wrong", NO_TEXT.values(), ids=NO_TEXT.keys())
def test_only_text_can_be_shown_in_part(wrong: Any) -> None:
    """Bytes and parsed arguments are refused, and so is nothing at all."""
    with pytest.raises(TypeError, match=r"^raw is of type (\w+); expected a str: give the text"):
        best_effort_partial(wrong)
