"""The inside of strings, one run of characters at a time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall.preview.strings import decode_open, split_pieces

OPEN: dict[str, tuple[str, tuple[str | None, str]]] = {
    "plain": ("ab", ("ab", "")),
    "escape": (r"a\tb", ("a\tb", "")),
    "cut": ("ab\\", ("ab", "\\")),
    "cut after an escape": ("\\n\\", ("\n", "\\")),
    "escaped backslash at the end": ("ab\\\\", ("ab\\", "")),
    "three backslashes": ("\\\\\\", ("\\", "\\")),
    "four digits": (r"\u0041", ("A", "")),
    "cut digits": (r"x\u00", ("x", r"\u00")),
    "pair": (r"\ud83d\ude00", ("😀", "")),
    "half a pair": (r"x\ud83d", ("x", r"\ud83d")),
    "cut pair": (r"x\ud83d\ud", ("x", r"\ud83d\ud")),
    "half a character": ("x\ud83d", ("x", "\ud83d")),
    "two halves": ("x\ud83d\ude00", ("x😀", "")),
    "cut escape and half a character": ("x\\u00\ud83d", ("x", "\\u00\ud83d")),
    "wide": ("\u2028\u20ac", ("\u2028\u20ac", "")),
    "quote": ('ab"', (None, "")),
    "quote after an escape": ('a\\tb", "c', (None, "")),
    "quote after a wide character": ('\u2028"', (None, "")),
    "unknown escape": (r"\q", (None, "")),
    "wrong digit": (r"\u00g", (None, "")),
    "low half alone": (r"\udc00", (None, "")),
    "low half begun": (r"\udc", (None, "")),
    "high half without low": (r"\ud83dx", (None, "")),
    "control": ("a\nb", (None, "")),
    "control after a wide character": ("\u20ac\n", (None, "")),
    "low half of a character": ("\ude00", (None, "")),
    "high half of a character inside": ("\ud83dx", (None, "")),
}


@pytest.mark.parametrize(("text", "expected"), OPEN.values(), ids=OPEN.keys())
def test_an_open_string_is_decoded_as_far_as_it_is_whole(
    text: str, expected: tuple[str | None, str]
) -> None:
    """What a border cuts is handed back; what needs a closer look is refused."""
    assert decode_open(text) == expected


PIECES: dict[str, tuple[str, bool, tuple[list[str], str, bool]]] = {
    "no quote": ("abc", True, (["abc"], "", False)),
    "quotes": ('a", "b', True, (["a", ", ", "b"], "", False)),
    "escaped quote": (r'a\"b", "c\"', True, (['a"b', ", ", 'c"'], "", False)),
    "backslashes before a quote": ('a\\\\", "', True, (["a\\", ", ", ""], "", False)),
    "cut escape": ('", "a\\u0', True, (["", ", ", "a"], "\\u0", False)),
    "cut escape that a quote ends": (r'"a\u0"', False, (["", "a"], "", True)),
    "malformed inside": ('"a\x01b", "c', False, (["", "a"], "", True)),
    "whitespace between": (':\n"a', False, ([":\n", "a"], "", False)),
    "half inside": ('"a\ud83d', False, (["", "a"], "\ud83d", False)),
    "half between": ('"a"\ud83d', False, (["", "a", ""], "", True)),
    "half alone": ('"a\ud83d"', False, (["", "a"], "", True)),
    "cut escape before a broken half": ('"a\\u0\ude00', False, (["", "a"], "", True)),
    "escaped quote at the end": ('a\\"', True, (['a"'], "", False)),
}


@pytest.mark.parametrize(("text", "in_string", "expected"), PIECES.values(), ids=PIECES.keys())
def test_a_text_is_split_at_its_quotes(
    text: str, in_string: bool, expected: tuple[list[str], str, bool]
) -> None:
    """Pieces alternate between inside and outside, and stop where the text becomes malformed."""
    assert split_pieces(text, in_string=in_string) == expected


@given(st.text(), st.text())
def test_pieces_of_any_two_strings(first: str, second: str) -> None:
    """Two strings in a row come back as they were, whatever is in them."""
    text = f"{json.dumps(first)}, {json.dumps(second, ensure_ascii=False)}"
    assert split_pieces(text, in_string=False) == (["", first, ", ", second, ""], "", False)
