"""A slow model of what a preview shows: one recursive descent over the whole text so far.

It shares nothing with the implementation, and it keeps no state between two texts: so it is also
the proof that only the text counts. Its own oracle is the standard library's parser.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

DIGITS = "0123456789"
SPACE = " \t\n\r"
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
ESCAPE = re.compile(
    r'\\(["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
ENDINGS_OF_ESCAPES = sorted(
    {
        escape[start:]
        for escape in (r"\n", r"\u0041", r"\ud83d\ude00")
        for start in range(len(escape))
    }
)
LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


class CutError(Exception):
    """The text ends here, and could go on."""


class BadError(Exception):
    """No document has this character here."""


@dataclass
class Shown:
    """What a screen may show of a text, and what is known about it."""

    root: list[Any] = field(default_factory=list)
    malformed: bool = False
    complete: bool = False
    writing: tuple[Any, ...] | None = None


def model(text: str, *, ended: bool = False) -> Shown:
    """What a preview shows after this text, however it was cut."""
    reader = _Model(text, ended=ended)
    shown = Shown(reader.root)
    try:
        reader.document()
        shown.complete = True
    except CutError:
        shown.writing = tuple(reader.path) if reader.root else None
    except BadError:
        shown.malformed = True
        shown.writing = tuple(reader.path) if reader.root else None
    return shown


class _Model:
    def __init__(self, text: str, *, ended: bool) -> None:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        self.text = joined
        self.ended = ended
        self.at = 0
        self.root: list[Any] = []
        self.path: list[Any] = []

    def peek(self) -> str:
        if self.at == len(self.text):
            raise CutError
        return self.text[self.at]

    def space(self) -> None:
        while self.peek() in SPACE:
            self.at += 1

    def expect(self, allowed: str) -> str:
        self.space()
        character = self.peek()
        if character not in allowed:
            raise BadError
        self.at += 1
        return character

    def document(self) -> None:
        self.space()
        self.value(lambda value: self.root.__setitem__(slice(None), [value]), "")
        while self.at < len(self.text):
            if self.text[self.at] not in SPACE:
                raise BadError
            self.at += 1

    def value(self, show: Callable[[Any], Any], after: str) -> None:
        self.space()
        character = self.peek()
        if character == "{":
            members: dict[str, Any] = {}
            show(members)
            self.at += 1
            self.members(members)
        elif character == "[":
            items: list[Any] = []
            show(items)
            self.at += 1
            self.items(items)
        elif character == '"':
            self.at += 1
            show("")
            self.string(show)
        elif character in LITERALS:
            word, value = LITERALS[character]
            self.word(word)
            show(value)
        else:
            show(self.number(after))

    def members(self, members: dict[str, Any]) -> None:
        if self.expect('"}') == "}":
            return
        while True:
            name = self.name()
            if name in members:
                raise BadError
            self.expect(":")
            self.path.append(name)
            self.value(partial(members.__setitem__, name), ",}")
            self.path.pop()
            if self.expect(",}") == "}":
                return
            self.expect('"')

    def name(self) -> str:
        written = [""]
        self.string(written.append)
        return written[-1]

    def items(self, items: list[Any]) -> None:
        self.space()
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            index = len(items)
            self.path.append(index)
            self.value(
                lambda value, index=index: items.__setitem__(slice(index, None), [value]), ",]"
            )
            self.path.pop()
            if self.expect(",]") == "]":
                return

    def string(self, show: Callable[[str], Any]) -> None:
        characters = ""
        show_at_all = show
        while True:
            character = self.peek()
            if character == '"':
                self.at += 1
                return
            if character < " ":
                raise BadError
            if "\ud800" <= character <= "\udfff":
                if character < "\udc00" and self.at + 1 == len(self.text):
                    raise CutError
                raise BadError
            if character == "\\":
                characters += self.escape()
            else:
                self.at += 1
                characters += character
            show_at_all(characters)

    def escape(self) -> str:
        whole = ESCAPE.match(self.text, self.at)
        if whole:
            self.at = whole.end()
            return str(json.loads(f'"{whole[0]}"'))
        rest = self.text[self.at :]
        if rest.endswith(tuple(chr(code) for code in range(0xD800, 0xDC00))):
            rest = rest[:-1]  # half a character is not there yet
        if any(ESCAPE.fullmatch(rest + ending) for ending in ENDINGS_OF_ESCAPES):
            raise CutError
        raise BadError

    def word(self, word: str) -> None:
        for letter in word:
            if self.peek() != letter:
                raise BadError
            self.at += 1

    def number(self, after: str) -> int | float:
        end = self.at
        while end < len(self.text) and self.text[end] in "+-.eE" + DIGITS:
            end += 1
        token = self.text[self.at : end]
        if end == len(self.text) and not (self.ended and not after and NUMBER.fullmatch(token)):
            if any(NUMBER.fullmatch(token + ending) for ending in ("", "0", ".0", "e0")):
                raise CutError
            raise BadError
        followed = self.text[end : end + 1]
        if not NUMBER.fullmatch(token) or (followed and followed not in after + SPACE):
            raise BadError
        try:
            value = float(token) if set(".eE") & set(token) else int(token)
        except ValueError:
            raise BadError from None
        if math.isinf(value) if isinstance(value, float) else False:
            raise BadError
        self.at = end
        return value


# -- texts -----------------------------------------------------------------------------------------

characters = st.characters(exclude_categories=["Cs"])
strings = st.text(characters, max_size=12) | st.text('ab\\"/\n\té😀\u2028 ', max_size=12)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=12,
)
SPELT_FLOATS = ["0.0", "-0.0", "1E5", "1e+5", "10E-2", "1.5e3", "0e0"]


def documents(roots: st.SearchStrategy[Any] = values) -> st.SearchStrategy[str]:
    """Valid JSON texts with their whitespace, escapes and numbers spelt in any allowed way."""
    return st.builds(spell, roots, st.integers(0, 2**32))


def spell(value: Any, seed: int) -> str:
    """Write a value as JSON; the seed decides how, and 0 writes it plainly."""
    return "".join(_Speller(seed).value(value))


class _Speller:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.plain = not seed

    def choose(self, plain: str, *others: str) -> str:
        return plain if self.plain or self.random.random() < 0.6 else self.random.choice(others)

    def space(self) -> str:
        return self.choose("", " ", "\n\t ", "\r")

    def value(self, value: Any) -> Iterator[str]:
        yield self.space()
        if isinstance(value, str):
            yield self.string(value)
        elif isinstance(value, list):
            yield "["
            for index, item in enumerate(value):
                yield "," if index else ""
                yield from self.value(item)
            yield self.space() + "]"
        elif isinstance(value, dict):
            yield "{"
            for index, (name, item) in enumerate(value.items()):
                yield ("," if index else "") + self.space() + self.string(name) + self.space() + ":"
                yield from self.value(item)
            yield self.space() + "}"
        else:
            is_float = isinstance(value, float)
            yield self.choose(
                json.dumps(value), *(SPELT_FLOATS if is_float else [json.dumps(value)])
            )
        yield self.space()

    def string(self, string: str) -> str:
        return '"' + "".join(map(self.character, string)) + '"'

    def character(self, character: str) -> str:
        units = character.encode("utf-16-be").hex()
        lower = "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
        upper = "".join(
            f"\\u{units[start : start + 4].upper()}" for start in range(0, len(units), 4)
        )
        return self.choose(json.dumps(character, ensure_ascii=False)[1:-1], lower, upper)


alphabet = st.sampled_from(
    [
        *'{}[]":,\\ u0123d8Dc9f-+.eE/n\n\x01x',
        "true",
        "false",
        "null",
        '"a"',
        '"b":',
        "\ud83d",
        "\ude00",
    ]
)
scraps = st.lists(alphabet, max_size=24).map("".join)


def damage(text: str, start: int, length: int, scrap: str) -> str:
    """Put a scrap into a text, in the place of a few characters or none."""
    start %= len(text) + 1
    return text[:start] + scrap + text[start + length :]


damaged = st.builds(damage, documents(), st.integers(0, 200), st.integers(0, 2), scraps)


texts = documents() | damaged | scraps


def cut(text: str, places: list[int]) -> list[str]:
    """Cut a text at these places, counted round and round."""
    borders = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


def cuts(texts: st.SearchStrategy[str] = texts) -> st.SearchStrategy[list[str]]:
    """Texts in fragments, some of them empty."""
    return st.builds(cut, texts, st.lists(st.integers(0, 500), max_size=9))


# -- the model's own oracle ------------------------------------------------------------------------


@settings(deadline=None)
@given(documents())
def test_model_equals_the_standard_library_on_documents(text: str) -> None:
    """A valid document is complete, and means what the standard library says."""
    shown = model(text, ended=True)
    assert shown.complete
    assert repr(shown.root) == repr([json.loads(text)])


@settings(deadline=None)
@given(damaged | scraps)
def test_model_refuses_what_the_standard_library_refuses(text: str) -> None:
    """A text that is complete for the model is a document for the standard library too."""
    shown = model(text, ended=True)
    if shown.complete:
        json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le"))
    assert not (shown.complete and shown.malformed)


@settings(deadline=None)
@given(documents())
def test_model_finds_no_prefix_of_a_document_malformed(text: str) -> None:
    """Every prefix of a document can become one."""
    assert not any(model(text[:end]).malformed for end in range(len(text) + 1))
