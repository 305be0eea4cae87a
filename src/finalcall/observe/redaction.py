"""Masks sensitive values in argument text that may be cut anywhere, or malformed from anywhere on.

It reads the text itself, for a value cannot be masked that no parser would give. Where it can no
longer tell which place of the document it is at, it shows nothing of what follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from enum import Enum, auto
from typing import Final, final

from finalcall.sensitive import MASK, Form, Paths, below, is_in_sight
from finalcall.strict import join_surrogates

__all__ = ["MASK", "redact"]

_SHOWN: Final = f'"{MASK}"'
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WORD: Final = re.compile(r"[-+.0-9A-Za-z_]++")
"""A number or a literal, whole, cut, or none that JSON knows: nothing in it can end a value."""

_TELLING_NOTHING: Final = frozenset({"true", "false", "null"})
_NAMES: Final = json.JSONDecoder(strict=False)


@final
class _Expected(Enum):
    """What comes next, white space apart."""

    VALUE = auto()
    ITEM_OR_END = auto()
    NAME = auto()
    NAME_OR_END = auto()
    COLON = auto()
    COMMA_OR_END = auto()


@final
class _Container:
    """An object or an array that is open."""

    __slots__ = ("index", "is_object", "paths")

    def __init__(self, is_object: bool, paths: Paths) -> None:
        self.is_object = is_object
        self.paths = paths
        self.index = -1

    @property
    def end(self) -> str:
        """The character that closes it."""
        return "}" if self.is_object else "]"


def redact(raw: str, sensitive_paths: Collection[tuple[str, ...]]) -> str:
    """Mask every sensitive value of argument text.

    The text may be cut at any character, and be no JSON from any character on. Escaped names,
    repeated names and values inside of arrays are found. What is not sensitive stays as it is.
    In doubt it is masked:

    1. From where the text is no JSON any more, everything.
    2. A container that is sensitive, wholly; everything behind its start where it has no end.
    3. A value that should be a container of sensitive ones, and is a string, a number or another
       kind of container: a model may have written the object as a string.
    4. A name that has no end or no value, where names matter: it may have swallowed a value.

    Args:
        raw: The text. Time is linear in its length, and no depth is too great.
        sensitive_paths: From the root of the arguments; `"*"` is any index or name. Without any,
            the text is returned as it is.

    Returns:
        The text with `"•••"` for each sensitive value. A bare `•••` at its end says that the rest
        was masked, whatever it was. The masks tell nothing of what they stand for.
    """
    if not sensitive_paths:
        return raw
    return _Redaction(raw, tuple(sensitive_paths)).read()


@final
class _Redaction:
    """One reading of a text."""

    def __init__(self, raw: str, paths: Paths) -> None:
        self._raw = raw
        self._shown: list[str] = []
        self._done = 0  # the text before this is shown, or masked
        self._open: list[_Container] = []
        self._below = paths  # what is sensitive at, or below, the value that comes next
        self._expected = _Expected.VALUE
        self._masked_from: int | None = None  # where the container that is being masked begins
        self._masked_depth = 0
        self._name_at = 0

    def read(self) -> str:
        at = 0
        while True:
            space = _SPACE.match(self._raw, at)
            at = space.end() if space else at
            if at == len(self._raw):
                return self._end()
            following = self._step(at, self._raw[at])
            if following is None:
                return self._give_up(at)
            at = following

    def _end(self) -> str:
        """The text is over: what a mask has begun to hide stays hidden."""
        in_doubt = self._expected is _Expected.COLON and self._open[-1].paths
        if self._masked_from is not None or in_doubt:
            return self._give_up(len(self._raw))
        return "".join(self._shown) + self._raw[self._done :]

    def _give_up(self, at: int) -> str:
        """Mask what follows, and the sensitive container or the name that is not over yet."""
        if self._masked_from is not None:
            at = self._masked_from
        elif self._expected is _Expected.COLON:
            at = self._name_at
        return "".join(self._shown) + self._raw[self._done : at] + MASK

    def _mask(self, start: int, end: int) -> None:
        self._shown += (self._raw[self._done : start], _SHOWN)
        self._done = end

    def _step(self, at: int, character: str) -> int | None:
        """Read one token; `None` where no document could have it there."""
        expected = self._expected
        if expected in (_Expected.VALUE, _Expected.ITEM_OR_END) and character != "]":
            return self._value(at, character)
        if expected in (_Expected.NAME, _Expected.NAME_OR_END) and character != "}":
            return self._name(at)
        if expected is _Expected.COLON:
            if character != ":":
                return None
            self._expected = _Expected.VALUE
            return at + 1
        if not self._open:
            return None
        inner = self._open[-1]
        if expected is _Expected.COMMA_OR_END and character == ",":
            self._expected = _Expected.NAME if inner.is_object else _Expected.VALUE
            if not inner.is_object:
                self._next_item(inner)
            return at + 1
        if expected in (_Expected.VALUE, _Expected.NAME) or character != inner.end:
            return None
        return self._close(at + 1)

    def _next_item(self, array: _Container) -> None:
        array.index += 1
        self._below = below(array.paths, str(array.index)) if array.paths else ()

    def _close(self, end: int) -> int:
        self._open.pop()
        self._expected = _Expected.COMMA_OR_END
        if self._masked_from is not None and len(self._open) == self._masked_depth:
            self._mask(self._masked_from, end)
            self._masked_from = None
        return end

    def _name(self, at: int) -> int | None:
        token = _STRING.match(self._raw, at)
        inner = self._open[-1]
        if token is None:
            return None if inner.paths or self._raw[at] != '"' else self._runs_out()
        self._below = ()
        if inner.paths:
            name = _name_of(token[0])
            if name is None:
                return None
            self._below = below(inner.paths, name)
        self._name_at = at
        self._expected = _Expected.COLON
        return token.end()

    def _value(self, at: int, character: str) -> int | None:
        if character in "{[":
            return self._open_container(at, character == "{")
        if character == '"':
            token = _STRING.match(self._raw, at)
            if token is None:
                return None if self._below else self._runs_out()
            form = Form.TEXT
        else:
            token = _WORD.match(self._raw, at)
            if token is None:
                return None
            form = Form.LITERAL if token[0] in _TELLING_NOTHING else Form.TEXT
        if not is_in_sight(form, self._below):
            self._mask(at, token.end())
        self._expected = _Expected.COMMA_OR_END
        return token.end()

    def _runs_out(self) -> int:
        """A string that is not sensitive has no end: nothing follows that could be masked."""
        self._expected = _Expected.COMMA_OR_END
        return len(self._raw)

    def _open_container(self, at: int, is_object: bool) -> int:
        paths = self._below
        if not is_in_sight(Form.OBJECT if is_object else Form.ARRAY, paths):
            self._masked_from, self._masked_depth = at, len(self._open)
            paths = ()
        inner = _Container(is_object, paths)
        self._open.append(inner)
        if is_object:
            self._expected = _Expected.NAME_OR_END
        else:
            self._next_item(inner)
            self._expected = _Expected.ITEM_OR_END
        return at + 1


def _name_of(token: str) -> str | None:
    """What a quoted name means; `None` where it means nothing."""
    try:
        name: str = _NAMES.decode(token) if "\\" in token else token[1:-1]
        return join_surrogates(name)
    except ValueError:
        return None
