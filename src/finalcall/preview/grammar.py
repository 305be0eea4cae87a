"""What may follow what in a JSON text, as tables: one row a place, one entry a character.

Nothing here holds state or builds values; the reader walks these rows and does what they name. The
inside of strings is not here: it is read a run at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, TypeAlias, final

__all__ = [
    "AFTER_ITEM",
    "AFTER_MASKED",
    "AFTER_MEMBER",
    "BEFORE_COLON",
    "END",
    "FIRST_ITEM",
    "FIRST_NAME",
    "FROZEN",
    "OPENS",
    "START",
    "WHITESPACE",
    "Literal",
    "NumberEnd",
    "NumberPart",
    "Row",
    "Step",
    "finite",
]

WHITESPACE: Final = " \t\n\r"
_DIGITS: Final = "0123456789"

Row: TypeAlias = dict[str, Any]
"""One place in a text: each character that may come next, with the next row, or with what is to be
done there. A plain dict, because that is what the interpreter reads fastest."""

OPENS: Final = '"opens'
"""The key in a row of another table: the punctuation that may stand between here and a quote, with
what the quote begins. No text can be this key, for texts are looked up without their quotes."""


@final
class Step(Enum):
    """What is to be done at a character that begins or ends a string or a container."""

    NAME = auto()
    STRING = auto()
    OPEN_OBJECT = auto()
    OPEN_ARRAY = auto()
    CLOSE = auto()
    LEAVE_MASKED = auto()


@final
class Literal:
    """The last letter of `true`, `false` or `null`: the value is whole."""

    __slots__ = ("value",)

    def __init__(self, value: bool | None) -> None:
        self.value: bool | None = value


@final
class NumberPart:
    """A character of a number: it is kept, and the row is what may follow it."""

    __slots__ = ("row",)

    def __init__(self, row: Row) -> None:
        self.row: Row = row


@final
class NumberEnd:
    """The character after a number: the number is whole. `reads` makes a value of its text."""

    __slots__ = ("reads",)

    def __init__(self, reads: Callable[[str], int | float]) -> None:
        self.reads: Callable[[str], int | float] = reads


def finite(text: str) -> float:
    """Read a number with a fraction or an exponent.

    Raises:
        ValueError: It is too large for a float.
    """
    value = float(text)
    if value - value != 0.0:
        raise ValueError("a number overflows to infinity")
    return value


def _row() -> Row:
    return {OPENS: {}}


START: Final = _row()
END: Final = _row()
FROZEN: Final = _row()

FIRST_NAME: Final = _row()
NAME: Final = _row()
BEFORE_COLON: Final = _row()
MEMBER: Final = _row()
AFTER_MEMBER: Final = _row()
AFTER_MASKED: Final = _row()

FIRST_ITEM: Final = _row()
ITEM: Final = _row()
AFTER_ITEM: Final = _row()

MINUS: Final = _row()
ZERO: Final = _row()
INTEGER: Final = _row()
POINT: Final = _row()
FRACTION: Final = _row()
EXPONENT: Final = _row()
EXPONENT_SIGN: Final = _row()
EXPONENT_DIGITS: Final = _row()

_BETWEEN_TOKENS: Final = (
    *(START, END, FIRST_NAME, NAME, BEFORE_COLON, MEMBER, AFTER_MEMBER, AFTER_MASKED),
    *(FIRST_ITEM, ITEM, AFTER_ITEM),
)
_BEFORE_VALUE: Final = (START, MEMBER, FIRST_ITEM, ITEM)

_VALUE: Final = (
    ('"', Step.STRING),
    ("{", Step.OPEN_OBJECT),
    ("[", Step.OPEN_ARRAY),
    ("-", NumberPart(MINUS)),
    ("0", NumberPart(ZERO)),
    ("123456789", NumberPart(INTEGER)),
)
_WORDS: Final = (("true", True), ("false", False), ("null", None))
_PUNCTUATION: Final[tuple[tuple[Row, str, Row | Step], ...]] = (
    (FIRST_NAME, '"', Step.NAME),
    (FIRST_NAME, "}", Step.CLOSE),
    (NAME, '"', Step.NAME),
    (BEFORE_COLON, ":", MEMBER),
    (AFTER_MEMBER, ",", NAME),
    (AFTER_MEMBER, "}", Step.CLOSE),
    (AFTER_MASKED, ",", Step.LEAVE_MASKED),
    (AFTER_MASKED, "}", Step.LEAVE_MASKED),
    (FIRST_ITEM, "]", Step.CLOSE),
    (AFTER_ITEM, ",", ITEM),
    (AFTER_ITEM, "]", Step.CLOSE),
)
_NUMBER_PARTS: Final = (
    (MINUS, "0", ZERO),
    (MINUS, "123456789", INTEGER),
    (ZERO, ".", POINT),
    (ZERO, "eE", EXPONENT),
    (INTEGER, _DIGITS, INTEGER),
    (INTEGER, ".", POINT),
    (INTEGER, "eE", EXPONENT),
    (POINT, _DIGITS, FRACTION),
    (FRACTION, _DIGITS, FRACTION),
    (FRACTION, "eE", EXPONENT),
    (EXPONENT, "+-", EXPONENT_SIGN),
    (EXPONENT, _DIGITS, EXPONENT_DIGITS),
    (EXPONENT_SIGN, _DIGITS, EXPONENT_DIGITS),
    (EXPONENT_DIGITS, _DIGITS, EXPONENT_DIGITS),
)
_NUMBER_ENDS: Final[tuple[tuple[Row, Callable[[str], int | float]], ...]] = (
    (ZERO, int),
    (INTEGER, int),
    (FRACTION, finite),
    (EXPONENT_DIGITS, finite),
)
_USUAL_RUNS: Final = ("", " ", ",", ", ", ":", ": ")
"""Punctuation that gets an entry of its own, so that it takes one look-up."""


def _spell(row: Row, word: str, value: bool | None) -> None:
    for letter in word[:-1]:
        row[letter] = following = _row()
        row = following
    row[word[-1]] = Literal(value)


def _reach(row: Row, text: str) -> Any:
    place: Any = row
    for character in text:
        if place.__class__ is not dict:
            return None
        place = place.get(character)
    return place


def _fill() -> None:
    for row in _BETWEEN_TOKENS:
        row.update(dict.fromkeys(WHITESPACE, row))
    for row in _BEFORE_VALUE:
        for characters, entry in _VALUE:
            row.update(dict.fromkeys(characters, entry))
        for word, value in _WORDS:
            _spell(row, word, value)
    for row, character, following in _PUNCTUATION:
        row[character] = following
    for row, characters, part in _NUMBER_PARTS:
        row.update(dict.fromkeys(characters, NumberPart(part)))
    for row, reads in _NUMBER_ENDS:
        row.update(dict.fromkeys(WHITESPACE + ",]}", NumberEnd(reads)))
    for row in _BETWEEN_TOKENS:
        for run in _USUAL_RUNS:
            opened = _reach(row, run + '"')
            if isinstance(opened, Step):
                row[OPENS][run] = opened
            reached = _reach(row, run)
            if len(run) > 1 and reached.__class__ is dict:
                row[run] = reached


_fill()
