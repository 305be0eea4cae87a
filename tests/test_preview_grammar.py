"""The rows of the grammar: every place by every character."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest

from finalcall.preview import grammar
from finalcall.preview.grammar import OPENS, NumberPart, Row, Step

ROWS: dict[str, Row] = {
    name: row for name, row in vars(grammar).items() if name.isupper() and isinstance(row, dict)
}
ALLOWED = {
    "START": ' \t\n\r"{[-0123456789tfn',
    "MEMBER": ' \t\n\r"{[-0123456789tfn',
    "ITEM": ' \t\n\r"{[-0123456789tfn',
    "FIRST_ITEM": ' \t\n\r"{[-0123456789tfn]',
    "FIRST_NAME": ' \t\n\r"}',
    "NAME": ' \t\n\r"',
    "BEFORE_COLON": " \t\n\r:",
    "AFTER_MEMBER": " \t\n\r,}",
    "AFTER_MASKED": " \t\n\r,}",
    "AFTER_ITEM": " \t\n\r,]",
    "END": " \t\n\r",
    "FROZEN": "",
    "MINUS": "0123456789",
    "ZERO": ".eE ,]}\t\n\r",
    "INTEGER": "0123456789.eE ,]}\t\n\r",
    "POINT": "0123456789",
    "FRACTION": "0123456789eE ,]}\t\n\r",
    "EXPONENT": "0123456789+-",
    "EXPONENT_SIGN": "0123456789",
    "EXPONENT_DIGITS": "0123456789 ,]}\t\n\r",
}
"""What may come next at each place, written out once more."""


def reach(row: Row, text: str) -> Any:
    """Where a text leads from a row, one character at a time."""
    place: Any = row
    for character in text:
        if isinstance(place, NumberPart):
            place = place.row
        place = place.get(character) if isinstance(place, dict) else None
    return place


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_row_allows_what_may_come_and_nothing_else(name: str) -> None:
    """A row has an entry for exactly the characters that JSON allows there."""
    single = {key for key in ROWS[name] if len(key) == 1}
    assert single == set(ALLOWED[name])
    assert ALLOWED.keys() == ROWS.keys()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_runs_lead_where_their_characters_lead(name: str) -> None:
    """A run of punctuation with an entry of its own is a shortcut and no rule of its own."""
    row = ROWS[name]
    for run in row.keys() - {OPENS}:
        assert row[run] is reach(row, run)
    for run, step in row[OPENS].items():
        assert reach(row, run + '"') is step
        assert step in (Step.NAME, Step.STRING)


@pytest.mark.parametrize("word", ["true", "false", "null"])
def test_words_are_spelt_out(word: str) -> None:
    """Each letter of a literal leads on, the last one to its value, and no other letter does."""
    for name in ("START", "MEMBER", "ITEM", "FIRST_ITEM"):
        assert reach(ROWS[name], word).value is json.loads(word)
        for length in range(1, len(word)):
            row = reach(ROWS[name], word[:length])
            assert set(row) - {OPENS} == {word[length]}
            assert row[OPENS] == {}


def test_no_text_is_the_key_of_the_openings() -> None:
    """The key of the second table holds a quote, which no text outside strings does."""
    assert '"' in OPENS
    assert not set(OPENS) <= set(string.ascii_letters)
