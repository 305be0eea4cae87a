"""Words what a validator found: what kind of thing is there and what is allowed, never the value.

The same sentences serve JSON Schema keywords and pydantic's error types.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias, cast

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Violation
from finalcall.tools.formats import DESCRIPTIONS

Location: TypeAlias = tuple[str | int, ...]

MAX_VIOLATIONS: Final = 20
"""Kept a call. An answer to the model holds a few; a long array can break its schema everywhere."""

MAX_SEARCHED: Final = 200
"""Errors read before they are ranked, so that a long array costs no more than this."""

_MAX_LISTED: Final = 20
"""Names or members spelled out in a sentence; `expected` always has all of them."""

_MAX_COMPARED: Final = 100
"""Characters of a name that is compared with the allowed ones: comparing takes quadratic time."""

_MAX_QUOTED: Final = 40
"""Characters of a name or member that are quoted, and with escapes `_MAX_ESCAPED`."""

_MAX_ESCAPED: Final = 50

_MAX_PATTERN: Final = 120
"""Characters of a pattern that are quoted: half a pattern is of little use."""

_MAX_LISTING: Final = 400
"""Characters of all names or members that a sentence spells out."""

_KINDS: Final[dict[type, str]] = {
    bool: "a boolean",
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "an array",
    str: "a string",
    type(None): "null",
}
_TYPE_NAMES: Final[dict[str, str]] = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


_CHARACTER: Final = ("character", "characters")
_ITEM: Final = ("item", "items")
_PROPERTY: Final = ("property", "properties")
_REQUIRED_ITEM: Final = ("item of the required kind", "items of the required kind")


def kind_of(value: object) -> str:
    """Name the JSON type of a value: `"a string"`."""
    return _KINDS.get(type(value), "something that is no JSON")


def in_one_line(text: str) -> str:
    """Escape line ends, control characters and whatever else cannot be seen."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def quoted(text: str) -> str:
    """Quote a name in one line, control characters escaped, cut where it is long: `'low'`."""
    short = text[:_MAX_QUOTED]
    while len(repr(short)) > _MAX_ESCAPED:
        short = short[: len(short) // 2]
    return repr(short) + ("" if short == text else "…")


def listed(members: Collection[Any], room: int = _MAX_LISTING) -> str:
    """Spell out members for a sentence: `'low', 'normal', null`, cut where there are many.

    Args:
        members: Names, or what an `enum` allows.
        room: Characters; one member is spelled out even so.
    """
    left = len(members)
    shown: list[str] = []
    for member in islice(members, _MAX_LISTED):
        text = _member(member)
        more = f" and {left - 1} more" if left > 1 else ""
        if shown and len(", ".join([*shown, text])) + len(more) > room:
            break
        shown.append(text)
        left -= 1
    return ", ".join(shown) + (f" and {left} more" if left else "")


def _member(member: Any) -> str:
    if isinstance(member, str):
        return quoted(member)
    text = json.dumps(member, default=str)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def nearest(found: object, allowed: Iterable[Any]) -> str:
    """Name the allowed text that is closest to what was found: `"; the closest is 'low'"`."""
    if not isinstance(found, str) or len(found) > _MAX_COMPARED:
        return ""
    names: dict[str, str] = {}
    for name in allowed:
        if isinstance(name, str):
            names.setdefault(name.casefold(), name)
    close = difflib.get_close_matches(found.casefold(), names, n=1)
    return f"; the closest is {quoted(names[close[0]])}" if close else ""


def type_names(limit: Any) -> str:
    """Name the types of a `type` keyword: `"a string or null"`."""
    names: list[Any] = limit if is_array(limit) else [limit]
    return " or ".join(_TYPE_NAMES.get(name, str(name)) for name in names)


_EXACT: Final = 2**53
"""Below it a float that is whole is exactly one integer."""


def _number(number: Any) -> str:
    """Write a limit as a person would: `5`, also for `5.0`."""
    whole = isinstance(number, float) and number.is_integer() and abs(number) < _EXACT
    return str(int(number) if whole else number)


def _count(number: Any, unit: tuple[str, str] | None) -> str:
    if unit is None:
        return _number(number)
    one, several = unit
    return f"{_number(number)} {one if number == 1 else several}"


def _one_of(members: Any) -> str:
    if not is_array(members):
        return f"one of {members}"
    return listed(members) if len(members) == 1 else f"one of {listed(members)}"


def _pattern(pattern: Any) -> str:
    """Give a pattern as it stands, for a quoted one has its backslashes doubled."""
    text = str(pattern)
    cut = "…" if len(text) > _MAX_PATTERN else ""
    return f"text that matches the pattern {in_one_line(text[:_MAX_PATTERN])}{cut}"


def _at_least(unit: tuple[str, str] | None = None) -> Callable[[Any], str]:
    return lambda limit: f"at least {_count(limit, unit)}"


def _at_most(unit: tuple[str, str] | None = None) -> Callable[[Any], str]:
    return lambda limit: f"at most {_count(limit, unit)}"


_EXPECTED: Final[dict[str, Callable[[Any], str]]] = {
    "anyOf": lambda _: "one of the allowed forms",
    "const": lambda member: listed([member]),
    "additionalItems": lambda _: "no further items",
    "contains": lambda _: "an item of the required kind",
    "enum": _one_of,
    "exclusiveMaximum": lambda limit: f"less than {_number(limit)}",
    "exclusiveMinimum": lambda limit: f"more than {_number(limit)}",
    "format": lambda name: DESCRIPTIONS.get(name, f"text in the format {quoted(str(name))}"),
    "items": lambda _: "no further items",
    "maxItems": _at_most(_ITEM),
    "maxLength": _at_most(_CHARACTER),
    "maxProperties": _at_most(_PROPERTY),
    "maxContains": _at_most(_REQUIRED_ITEM),
    "maximum": _at_most(),
    "minItems": _at_least(_ITEM),
    "minLength": _at_least(_CHARACTER),
    "minProperties": _at_least(_PROPERTY),
    "minContains": _at_least(_REQUIRED_ITEM),
    "minimum": _at_least(),
    "multipleOf": lambda step: f"a multiple of {_number(step)}",
    "not": lambda _: "anything but a form that the schema excludes",
    "oneOf": lambda _: "what fits exactly one of the allowed forms",
    "pattern": _pattern,
    "propertyNames": lambda _: "property names of the required kind",
    "type": type_names,
    "unevaluatedItems": lambda _: "no further items",
    "uniqueItems": lambda _: "items that all differ",
}
"""What a keyword asks for, in words."""

SIZED: Final[Mapping[str, tuple[str, str]]] = {
    "maxItems": _ITEM,
    "maxLength": _CHARACTER,
    "maxProperties": _PROPERTY,
    "minItems": _ITEM,
    "minLength": _CHARACTER,
    "minProperties": _PROPERTY,
}
"""Keywords that are about a size, which is then told instead of the type."""

_STRUCTURAL: Final = frozenset(
    {
        "additionalItems",
        "anyOf",
        "contains",
        "items",
        "not",
        "oneOf",
        "propertyNames",
        "unevaluatedItems",
    }
)
"""Keywords whose value is a schema: no help as an expectation."""


_FOUND: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "exclusiveMaximum": ((int, float), "a number that is too large"),
    "exclusiveMinimum": ((int, float), "a number that is too small"),
    "format": (str, "a string in another form"),
    "maximum": ((int, float), "a number that is too large"),
    "minimum": ((int, float), "a number that is too small"),
    "multipleOf": ((int, float), "another number"),
    "pattern": (str, "a string in another form"),
    "uniqueItems": (list, "equal items"),
}
"""What to call a value that has the right type and still fails the keyword."""


def called(keyword: str, limit: Any, found: object) -> str:
    """Name what was found where a keyword failed: its kind, or how it departs from the limit."""
    size = SIZED.get(keyword)
    if size is not None and isinstance(found, str | list | dict):
        return _count(len(cast("str", found)), size)
    if keyword in {"const", "enum"} and isinstance(found, str):
        members: list[Any] = limit if is_array(limit) else [limit]
        return f"{'another' if any(isinstance(m, str) for m in members) else 'a'} string"
    right, words = _FOUND.get(keyword, ((), ""))
    return words if isinstance(found, right) else kind_of(found)


def asked(keyword: str, limit: Any) -> str:
    """Name what a keyword asks for, by its limit."""
    expect = _EXPECTED.get(keyword)
    return f"what the keyword {quoted(keyword)} asks for" if expect is None else expect(limit)


def sentence(path: Location, keyword: str, limit: Any, found: object) -> Violation:
    """Word one keyword that failed, with its limit and what was found."""
    hint = nearest(found, limit) if keyword == "enum" and is_array(limit) else ""
    return Violation(
        path,
        keyword,
        None if keyword in _STRUCTURAL else as_json(limit),
        f"expected {asked(keyword, limit)}; found {called(keyword, limit, found)}{hint}",
    )


def as_json(limit: Any) -> Any:
    """Give a limit as a JSON value of its own."""
    if limit is None or isinstance(limit, str | int | float | bool):
        return limit
    return copy.deepcopy(limit) if is_array(limit) or is_object(limit) else str(limit)


def missing(path: Location, names: list[str]) -> Violation:
    """Word properties that an object lacks."""
    return Violation(path, "required", names, f"missing required {listed(names)}")


def unexpected(
    path: Location, allowed: list[str] | None, extra: list[str], keyword: str
) -> Violation:
    """Word properties that an object must not have, by what it may have. Never names them."""
    told = "unexpected property" if len(extra) < 2 else f"{len(extra)} unexpected properties"
    if allowed is not None:
        told += f"; allowed are {listed(allowed)}" if allowed else "; none is allowed"
        told += nearest(extra[0], allowed) if len(extra) == 1 else ""
    return Violation(path, keyword, allowed, told)


def not_an_object(found: object) -> Violation:
    """Word arguments that are no object."""
    return sentence((), "type", "object", found)


def unknown_tool(name: str | None, offered: Iterable[str]) -> Violation:
    """Word a call of a tool that was not offered."""
    names = sorted(offered)
    tools = f"the tools are {listed(names)}" if names else "no tools are offered"
    return Violation(
        (), "unknown_tool", names, f"no tool has that name; {tools}{nearest(name, names)}"
    )


def no_custom_tool() -> Violation:
    """Word a call with free text of a tool that was not declared to take any."""
    return Violation((), "unknown_tool", [], "no such custom tool was declared")


def validator_error(error: Exception) -> Violation:
    """Word a validator that raised: the arguments are not known to be right, so they are wrong."""
    return Violation(
        (), "validator_error", None, f"the arguments could not be checked ({type(error).__name__})"
    )


def mismatch() -> Violation:
    """Word a refusal that says no more."""
    return Violation((), "schema", None, "the arguments do not match the tool's schema")


_RELEVANCE: Final = (
    # first what leads to further faults, then what is wrong in itself
    frozenset({"unknown_tool", "validator_error"}),
    frozenset({"required"}),
    frozenset({"type"}),
    frozenset({"const", "enum"}),
    None,  # formats, patterns, bounds, what a tool's own check says
    frozenset({"additionalProperties"}),
    # last what may be no more than a consequence of faults inside of it
    frozenset(
        {
            "anyOf",
            "contains",
            "false",
            "maxContains",
            "minContains",
            "not",
            "oneOf",
            "propertyNames",
            "schema",
            "unevaluatedItems",
            "unevaluatedProperties",
        }
    ),
)
"""Keywords by relevance, those of one row alike; `None` stands for all that have no row."""

KEYWORDS: Final = frozenset({*_EXPECTED, *(word for words in _RELEVANCE for word in words or ())})
"""Every keyword that a violation of an offered tool's schema can have."""

_ROWS: Final = {word: row for row, words in enumerate(_RELEVANCE) for word in words or ()}
_REST: Final = _RELEVANCE.index(None)


def ranked(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Order by relevance, each violation once.

    A keyword's row decides, then nearness to the root. A fault that an array repeats in further
    items comes after every other fault. Of a value that is none of an enum's members, its type is
    not told as well.
    """
    distinct = {(v.path, v.keyword, v.message): v for v in violations}
    by_members = {path for path, keyword, _ in distinct if keyword in {"const", "enum"}}
    kept = [v for v in distinct.values() if v.keyword != "type" or v.path not in by_members]
    kept.sort(key=lambda v: (_ROWS.get(v.keyword, _REST), len(v.path)))
    seen: set[tuple[Location, str, str]] = set()
    first: list[Violation] = []
    repeated: list[Violation] = []
    for violation in kept:
        place = tuple("*" if isinstance(part, int) else part for part in violation.path)
        kind = (place, violation.keyword, violation.message)
        (repeated if kind in seen else first).append(violation)
        seen.add(kind)
    return tuple([*first, *repeated][:MAX_VIOLATIONS])
