"""Words what a validator found: what kind of thing is there and what is allowed, never the value.

The same sentences serve JSON Schema keywords and pydantic's error types.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Callable, Collection, Iterable
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


def listed(members: Collection[Any]) -> str:
    """Spell out members for a sentence: `'low', 'normal', null`, cut where there are many."""
    shown = [
        repr(member) if isinstance(member, str) else json.dumps(member, default=str)
        for member in islice(members, _MAX_LISTED)
    ]
    more = len(members) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def nearest(found: object, allowed: Iterable[Any]) -> str:
    """Name the allowed text that is closest to what was found: `"; the closest is 'low'"`."""
    if not isinstance(found, str) or len(found) > _MAX_COMPARED:
        return ""
    names = [name for name in allowed if isinstance(name, str)]
    close = difflib.get_close_matches(found, names, n=1)
    return f"; the closest is {close[0]!r}" if close else ""


def type_names(limit: Any) -> str:
    """Name the types of a `type` keyword: `"a string or null"`."""
    names: list[Any] = limit if is_array(limit) else [limit]
    return " or ".join(_TYPE_NAMES.get(name, str(name)) for name in names)


def _count(number: Any, unit: tuple[str, str] | None) -> str:
    if unit is None:
        return str(number)
    one, several = unit
    return f"{number} {one if number == 1 else several}"


def _at_least(unit: tuple[str, str] | None = None) -> Callable[[Any], str]:
    return lambda limit: f"at least {_count(limit, unit)}"


def _at_most(unit: tuple[str, str] | None = None) -> Callable[[Any], str]:
    return lambda limit: f"at most {_count(limit, unit)}"


_EXPECTED: Final[dict[str, Callable[[Any], str]]] = {
    "anyOf": lambda _: "one of the allowed forms",
    "const": lambda member: listed([member]),
    "additionalItems": lambda _: "no further items",
    "contains": lambda _: "an item of the required kind",
    "enum": lambda members: f"one of {members if isinstance(members, str) else listed(members)}",
    "exclusiveMaximum": lambda limit: f"less than {limit}",
    "exclusiveMinimum": lambda limit: f"more than {limit}",
    "format": lambda name: DESCRIPTIONS.get(name, f"text in the format {name!r}"),
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
    "multipleOf": lambda step: f"a multiple of {step}",
    "not": lambda _: "anything but a form that is excluded",
    "oneOf": lambda _: "exactly one of the allowed forms",
    "pattern": lambda pattern: f"text that matches the pattern {pattern}",
    "propertyNames": lambda _: "property names of the required kind",
    "type": type_names,
    "unevaluatedItems": lambda _: "no further items",
    "uniqueItems": lambda _: "items that all differ",
}
"""What a keyword asks for, in words."""

_SIZED: Final = {
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


def sentence(path: Location, keyword: str, limit: Any, found: object) -> Violation:
    """Word one keyword that failed, with its limit and what was found."""
    expect = _EXPECTED.get(keyword)
    expected = f"what the keyword {keyword!r} asks for" if expect is None else expect(limit)
    size = _SIZED.get(keyword)
    kind = _count(len(cast("str", found)), size) if size else kind_of(found)
    hint = nearest(found, limit) if keyword == "enum" and is_array(limit) else ""
    return Violation(
        path,
        keyword,
        None if keyword in _STRUCTURAL else as_json(limit),
        f"expected {expected}; found {kind}{hint}",
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
    sentence = "unexpected property" if len(extra) < 2 else f"{len(extra)} unexpected properties"
    if allowed is not None:
        sentence += f"; allowed are {listed(allowed)}" if allowed else "; none is allowed"
        sentence += nearest(extra[0], allowed) if len(extra) == 1 else ""
    return Violation(path, keyword, allowed, sentence)


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


def validator_error(error: Exception) -> Violation:
    """Word a validator that raised: the arguments are not known to be right, so they are wrong."""
    return Violation(
        (), "validator_error", None, f"the arguments could not be checked ({type(error).__name__})"
    )


def mismatch() -> Violation:
    """Word a refusal that says no more."""
    return Violation((), "schema", None, "the arguments do not match the tool's schema")


_WEAK: Final = frozenset({"anyOf", "not", "oneOf", "schema"})
_BY_WEIGHT: Final = ("type", "required", "additionalProperties", "unevaluatedProperties")


def ranked(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Order by relevance: what says something first, then what is near the root, then the rest."""

    def weight(violation: Violation) -> tuple[bool, int, int]:
        keyword = violation.keyword
        place = _BY_WEIGHT.index(keyword) if keyword in _BY_WEIGHT else len(_BY_WEIGHT)
        return keyword in _WEAK, len(violation.path), place

    distinct = {(v.path, v.keyword, v.message): v for v in violations}
    return tuple(sorted(distinct.values(), key=weight)[:MAX_VIOLATIONS])
