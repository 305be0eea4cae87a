"""Turns the errors of a pydantic `ValidationError` into violations, in JSON Schema's words.

pydantic's own messages are not used: several of them quote the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Violation
from finalcall.tools.violations import (
    MAX_SEARCHED,
    Location,
    kind_of,
    missing,
    ranked,
    sentence,
    unexpected,
)

_PYDANTIC: Final[dict[str, tuple[str, str]]] = {
    # error type: the JSON Schema keyword and where in the context its limit is
    "enum": ("enum", "expected"),
    "greater_than": ("exclusiveMinimum", "gt"),
    "greater_than_equal": ("minimum", "ge"),
    "less_than": ("exclusiveMaximum", "lt"),
    "less_than_equal": ("maximum", "le"),
    "literal_error": ("enum", "expected"),
    "multiple_of": ("multipleOf", "multiple_of"),
    "string_pattern_mismatch": ("pattern", "pattern"),
    "string_too_long": ("maxLength", "max_length"),
    "string_too_short": ("minLength", "min_length"),
    "too_long": ("maxItems", "max_length"),
    "too_short": ("minItems", "min_length"),
    "union_tag_invalid": ("enum", "expected_tags"),
}
_PYDANTIC_PREFIXES: Final[tuple[tuple[str, str, str], ...]] = (
    # start of the error type: the JSON Schema keyword and its limit
    ("bool_", "type", "boolean"),
    ("bytes_", "type", "string"),
    ("dataclass_", "type", "object"),
    ("date_", "format", "date"),
    ("datetime_", "format", "date-time"),
    ("decimal_", "type", "number"),
    ("dict_", "type", "object"),
    ("float_", "type", "number"),
    ("frozen_set_", "type", "array"),
    ("int_", "type", "integer"),
    ("list_", "type", "array"),
    ("mapping_", "type", "object"),
    ("model_", "type", "object"),
    ("none_", "type", "null"),
    ("set_", "type", "array"),
    ("string_", "type", "string"),
    ("time_delta_", "format", "duration"),
    ("time_", "format", "time"),
    ("timezone_", "format", "date-time"),
    ("tuple_", "type", "array"),
    ("url_", "format", "uri"),
    ("uuid_", "format", "uuid"),
)
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")


class _Told(NamedTuple):
    """An error in our words.

    Attributes:
        violation: The words.
        branches: The unions on the way to it, outermost first: where, and which branch.
        found: What is there.
    """

    violation: Violation
    branches: tuple[tuple[Location, str], ...]
    found: Any


def from_pydantic(
    errors: Iterable[dict[str, Any]], args: dict[str, Any], allowed: list[str]
) -> tuple[Violation, ...]:
    """Word the errors of a pydantic `ValidationError`, most relevant first.

    What a tool's own validator says is not repeated: it may quote the value.

    Args:
        errors: As `ValidationError.errors()` gives them, inputs included.
        args: The arguments that were refused.
        allowed: The names of the parameters.
    """
    told: list[_Told] = []
    for error in islice(errors, MAX_SEARCHED):
        path, branches = _placed(error, args)
        told.append(_Told(_from_pydantic(error, path, allowed), branches, error["input"]))
    while depth := max((len(each.branches) for each in told), default=0):
        told = _without_innermost(told, depth)
    return ranked(each.violation for each in told)


def _without_innermost(told: list[_Told], depth: int) -> list[_Told]:
    """Reduce each union at this depth to the branch that was most likely meant."""
    kept = [each for each in told if len(each.branches) < depth]
    unions: dict[Any, dict[str, list[_Told]]] = {}
    for each in told:
        if len(each.branches) == depth:
            *outer, (place, label) = each.branches
            outside = each._replace(branches=tuple(outer))
            unions.setdefault((outside.branches, place), {}).setdefault(label, []).append(outside)
    for (_, place), branches in unions.items():
        kept += _meant(list(branches.values()), place)
    return kept


def _meant(branches: list[list[_Told]], union: Location) -> list[_Told]:
    """Give the errors of the branch that is nearest to what was found, or all types in one."""
    everything = [each for branch in branches for each in branch]
    if all(v.keyword == "type" and v.path == union for v, _, _ in everything):
        types = list(dict.fromkeys(v.expected for v, _, _ in everything))
        first = everything[0]
        limit = types[0] if len(types) == 1 else types
        return [first._replace(violation=sentence(union, "type", limit, first.found))]

    def distance(branch: list[_Told]) -> tuple[bool, bool, int]:
        return (
            any(v.keyword == "type" and v.path == union for v, _, _ in branch),
            any(v.keyword == "enum" and len(v.path) <= len(union) + 1 for v, _, _ in branch),
            len(branch),
        )

    return min(branches, key=distance)


def _placed(
    error: dict[str, Any], args: dict[str, Any]
) -> tuple[Location, tuple[tuple[Location, str], ...]]:
    """Follow a pydantic location through the arguments.

    Returns:
        The true path, and the unions on it: pydantic puts the labels of their branches into the
        location, which name nothing in the arguments.
    """
    path: list[str | int] = []
    branches: list[tuple[Location, str]] = []
    value: Any = args
    parts: Location = error["loc"]
    if error["type"] in {"missing", "extra_forbidden"}:
        parts = parts[:-1]  # the last part is the name itself
    for part in parts:
        if _holds(value, part):
            value = value[part]
            path.append(part)
        else:
            branches.append((tuple(path), str(part)))
    return tuple(path), tuple(branches)


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(part, int):
        return is_array(value) and part < len(value)
    return is_object(value) and part in value


def _from_pydantic(error: dict[str, Any], path: Location, allowed: list[str]) -> Violation:
    kind: str = error["type"]
    context: dict[str, Any] = error.get("ctx", {})
    found: Any = error["input"]
    if kind == "missing":
        return missing(path, [str(error["loc"][-1])])
    if kind == "extra_forbidden":
        extra = str(error["loc"][-1])
        return unexpected(path, None if path else allowed, [extra], "additionalProperties")
    if kind == "union_tag_not_found":
        return missing(path, [str(context["discriminator"]).strip("'")])
    if kind == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        if is_object(found) and tag in found:
            path, found = (*path, tag), found[tag]
    if kind in _PYDANTIC:
        keyword, key = _PYDANTIC[kind]
        return sentence(path, keyword, _limit(context[key]), found)
    for prefix, keyword, limit in _PYDANTIC_PREFIXES:
        if kind.startswith(prefix):
            return sentence(path, keyword, limit, found)
    return Violation(path, kind, None, f"refused by the tool's own check; found {kind_of(found)}")


def _limit(limit: Any) -> Any:
    """Take the members out of pydantic's `'low', 'normal' or 'urgent'` where all are strings."""
    if not isinstance(limit, str):
        return limit if isinstance(limit, int | float) else str(limit)
    members: list[str] = _QUOTED.findall(limit)
    if not members or re.sub(r" or |, ", "", _QUOTED.sub("", limit)):
        return limit
    return members
