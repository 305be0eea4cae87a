"""Gemini arguments that stream as paths and values, assembled and written as JSON text.

Values that arrive in document order are written at once, so that a screen can follow. Where the
order breaks, writing stops and the whole is stated at the end. What makes no one document leaves
the text open, and no parser accepts it. Nothing here raises for what a service sends.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, NamedTuple, TypeAlias, cast, final

from finalcall.limits import DEFAULT_LIMITS, MAX_DEPTH
from finalcall.narrow import is_array, is_object
from finalcall.providers.native import read, read_either

Path: TypeAlias = tuple[str | int, ...]
"""The names and indexes from the arguments' root to one value."""

_Container: TypeAlias = "dict[str, Any] | list[Any]"

_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+)
      | \[(?P<index>[0-9]{1,9})\]
      | \['(?P<single>(?:[^'\\]|\\.)*)'\]
      | \["(?P<double>(?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE | re.DOTALL,
)
_REFUSED_NAMES: Final = frozenset({"*", "__proto__"})
"""A wildcard names no one value; the other has no use but to attack whoever reads the result."""

_ABSENT: Final = object()

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
_EXACT: Final = 2.0**53
"""Below it, every integral double is exactly one integer."""

_GREATEST: Final = sys.float_info.max


class _NoDocumentError(ValueError):
    """The pieces make no one document."""


@final
class _Text:
    """A string that grows: its pieces, and whether another was promised."""

    __slots__ = ("goes_on", "pieces")

    def __init__(self, piece: str, *, goes_on: bool) -> None:
        self.pieces = [piece]
        self.goes_on = goes_on


@final
class Closing(NamedTuple):
    """How a streamed call's text ends.

    Attributes:
        text: The rest of the text, or all of it.
        restated: It is all of it, and replaces what was written.
    """

    text: str
    restated: bool


@final
class PartialArguments:
    """The arguments of one streamed call."""

    __slots__ = (
        "_broken",
        "_chain",
        "_ordered",
        "_path",
        "_path_text",
        "_root",
        "_size",
        "_unclosed",
        "_whole",
        "_written",
    )

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self._path: Path = ()
        self._path_text: str | None = None
        # The containers on the way to the last value: the ones that the text has not closed.
        self._chain: list[_Container] = [self._root]
        self._written = False
        self._ordered = True
        self._broken = False
        self._unclosed = 0
        self._size = 0
        self._whole: str | None = None

    def add(self, entry: Any) -> str:
        """Take one path with its value.

        Args:
            entry: A `partialArgs` item, a dict or an SDK object.

        Returns:
            What it adds to the text; empty while there is nothing to write.
        """
        if self._broken:
            return ""
        try:
            return self._add(entry)
        except ValueError:
            return self._break()

    def state_whole(self, text: str) -> None:
        """Take the whole arguments, from a part that carries them as a value after all."""
        if self._whole is not None and self._whole != text:
            self._broken = True
        self._whole = text

    def close(self) -> Closing:
        """End the text, as the call's own end asks."""
        if self._broken or (self._unclosed and self._whole is None):
            return Closing(self._break(), restated=False)
        if self._whole is not None:
            return Closing(self._whole, restated=self._written)
        if not self._ordered:
            return Closing(self._dump(), restated=True)
        if not self._written:
            return Closing("{}", restated=False)
        ends = self._close_value() + _close_containers(self._chain)
        return Closing(ends, restated=False)

    def _dump(self) -> str:
        return json.dumps(self._root, ensure_ascii=False, default=_join)

    def _break(self) -> str:
        """Give the call up: its text stays open, and is never empty, for that would mean none."""
        self._broken = True
        if self._written:
            return ""
        self._written = True
        return "{"

    def _add(self, entry: Any) -> str:
        path = self._read_path(entry)
        value = _read_value(entry)
        goes_on = read_either(entry, "willContinue", "will_continue") is True
        if value is _ABSENT:
            self._add_nothing(path, goes_on=goes_on)
            return ""
        if self._whole is not None:
            raise _NoDocumentError
        if not isinstance(value, str):
            return self._set(path, value)
        self._grow(len(value))
        last = self._last_value() if path == self._path else None
        if isinstance(last, _Text):
            self._extend(last, value, goes_on=goes_on)
            return _escape(value) if self._ordered else ""
        return self._set(path, _Text(value, goes_on=goes_on))

    def _grow(self, characters: int) -> None:
        """Bound what is kept: out of order, nothing is written that others could count."""
        self._size += characters
        if self._size > DEFAULT_LIMITS.arguments:
            raise _NoDocumentError

    def _read_path(self, entry: Any) -> Path:
        text = read_either(entry, "jsonPath", "json_path")
        if not isinstance(text, str):
            raise _NoDocumentError
        if text == self._path_text:
            return self._path
        path = read_path(text)
        if path is None:
            raise _NoDocumentError
        self._path_text = text
        return path

    def _add_nothing(self, path: Path, *, goes_on: bool) -> None:
        """An entry without a value: it can only say whether a string goes on."""
        last = self._last_value() if path == self._path else None
        if isinstance(last, _Text):
            self._extend(last, "", goes_on=goes_on)
        elif not goes_on:
            raise _NoDocumentError  # a kind of value that is not known here
        self._path_text = None  # whatever comes next is looked up

    def _last_value(self) -> Any:
        return _child(self._chain[-1], self._path[-1]) if self._path else _ABSENT

    def _extend(self, text: _Text, piece: str, *, goes_on: bool) -> None:
        self._unclosed += goes_on - text.goes_on
        text.goes_on = goes_on
        if piece:
            text.pieces.append(piece)

    def _set(self, path: Path, value: Any) -> str:
        """Put a value into the tree and, in document order, into the text."""
        self._grow(len(self._path_text or ""))
        shared = _shared_length(path, self._path)
        chain = self._chain[: shared + 1]
        fresh = _child(chain[-1], path[shared]) is _ABSENT
        first = not chain[-1]
        for depth in range(shared, len(path) - 1):
            chain.append(_enter(chain[-1], path[depth], path[depth + 1]))
        self._put(chain[-1], path[-1], value)
        self._ordered = self._ordered and fresh
        text = self._write(path, value, shared, first=first) if self._ordered else ""
        self._path = path
        self._chain = chain
        return text

    def _put(self, parent: _Container, step: str | int, value: Any) -> None:
        known = _child(parent, step)
        if isinstance(known, _Text) and isinstance(value, _Text):
            self._extend(known, value.pieces[0], goes_on=value.goes_on)
            return
        if known is not _ABSENT and _kind(known) != _kind(value):
            raise _NoDocumentError
        if isinstance(value, _Text):
            self._unclosed += value.goes_on
        if isinstance(parent, dict):
            parent[cast("str", step)] = value
        elif known is _ABSENT:
            parent.append(value)
        else:
            parent[cast("int", step)] = value

    def _write(self, path: Path, value: Any, shared: int, *, first: bool) -> str:
        """The text of a value that begins where the text stands. A string is left open.

        Args:
            path: Where the value is.
            value: The value.
            shared: The steps it shares with the value before it.
            first: It is the first thing in the container where the two part.
        """
        pieces: list[str] = []
        if self._written:
            pieces.append(self._close_value())
            pieces.append(_close_containers(self._chain[shared + 1 :]))
        else:
            pieces.append("{")
        if not first:
            pieces.append(",")
        for depth in range(shared, len(path)):
            step = path[depth]
            if isinstance(step, str):
                pieces.append(_encode(step) + ":")
            if depth + 1 < len(path):
                pieces.append("{" if isinstance(path[depth + 1], str) else "[")
        is_text = isinstance(value, _Text)
        pieces.append('"' + _escape(value.pieces[0]) if is_text else json.dumps(value))
        self._written = True
        return "".join(pieces)

    def _close_value(self) -> str:
        return '"' if isinstance(self._last_value(), _Text) else ""


def read_entries(call: Any) -> list[Any]:
    """The paths and values of a streamed part, empty where it has none."""
    entries = read_either(call, "partialArgs", "partial_args")
    return entries if is_array(entries) else []


def read_path(text: str) -> Path | None:
    """The steps of a JSON path to one value, `None` where it is no such path.

    Args:
        text: Such as `$.items[0].name` or `$['a key']`.
    """
    if not text.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None or len(steps) == MAX_DEPTH:
            return None
        position = found.end()
        step = _read_step(found)
        if step is None:
            return None
        steps.append(step)
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _read_step(found: re.Match[str]) -> str | int | None:
    if found["index"] is not None:
        return int(found["index"])
    name = found["name"]
    if name is None:
        body = found["double"]
        if body is None:
            body = found["single"].replace("\\'", "'").replace('"', '\\"')
        try:
            name = cast("str", json.loads(f'"{body}"'))
        except ValueError:
            return None
    return None if name in _REFUSED_NAMES else name


def _read_value(entry: Any) -> Any:
    """The value of an entry: a string, a number, a bool, `None` for null, or `_ABSENT`."""
    given: list[Any] = []
    text = read_either(entry, "stringValue", "string_value")
    number = read_either(entry, "numberValue", "number_value")
    truth = read_either(entry, "boolValue", "bool_value")
    if text is not None:
        given.append(text if isinstance(text, str) else _ABSENT)
    if number is not None:
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        given.append(_shortest(number) if is_number and abs(number) <= _GREATEST else _ABSENT)
    if truth is not None:
        given.append(truth if isinstance(truth, bool) else _ABSENT)
    if not given and _says_null(entry):
        return None
    if len(given) > 1 or _ABSENT in given:
        raise _NoDocumentError
    return given[0] if given else _ABSENT


def _says_null(entry: Any) -> bool:
    """Whether the field for null is set: to its one word, or to null itself."""
    if is_object(entry):
        return "nullValue" in entry or "null_value" in entry
    if read(entry, "null_value") is not None:
        return True
    fields = read(entry, "model_fields_set")
    return isinstance(fields, set) and "null_value" in fields


def _shortest(number: float) -> int | float:
    """A number as the model wrote it: the wire has doubles only, and 2 arrives as 2.0."""
    whole = int(number) if abs(number) < _EXACT else number
    return whole if whole == number else number


def _shared_length(path: Path, other: Path) -> int:
    """How many steps lead two paths through the same containers."""
    longest = min(len(path), len(other)) - 1
    shared = 0
    while shared < longest and path[shared] == other[shared]:
        shared += 1
    return shared


def _child(parent: _Container, step: str | int) -> Any:
    """What stands at a step of a container; `_ABSENT` where the next new value would stand."""
    if isinstance(step, str):
        if not isinstance(parent, dict):
            raise _NoDocumentError
        return parent.get(step, _ABSENT)
    if not isinstance(parent, list) or step > len(parent):
        raise _NoDocumentError  # a gap would have to be filled with values that nobody sent
    return parent[step] if step < len(parent) else _ABSENT


def _enter(parent: _Container, step: str | int, following: str | int) -> _Container:
    """The container at a step, made where there is none."""
    child = _child(parent, step)
    if child is _ABSENT:
        made: _Container = {} if isinstance(following, str) else []
        if isinstance(parent, dict):
            parent[cast("str", step)] = made
        else:
            parent.append(made)
        return made
    if not isinstance(child, dict | list):
        raise _NoDocumentError
    return cast("_Container", child)


def _kind(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _escape(piece: str) -> str:
    return _encode(piece)[1:-1]


def _close_containers(chain: list[_Container]) -> str:
    return "".join("}" if isinstance(one, dict) else "]" for one in reversed(chain))


def _join(text: _Text) -> str:
    return "".join(text.pieces)
