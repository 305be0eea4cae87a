"""Turns the errors of a pydantic `ValidationError` into violations, in JSON Schema's words.

pydantic's own messages are not used: several of them quote the value. What its errors leave out
(that `null` is allowed, which names are) is looked up in the model's JSON Schema, so that a mistake
is worded as it is where that schema itself decides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Violation
from finalcall.tools.formats import FORMATS
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
_SIZES: Final[dict[str, dict[str, str]]] = {
    "a string": {"maxItems": "maxLength", "minItems": "minLength"},
    "an object": {"maxItems": "maxProperties", "minItems": "minProperties"},
}
"""pydantic counts what a dict or a secret text holds as it counts the items of a list."""

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
_MEMBER: Final = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|True|False|None)(?:, | or |\Z)"""
)
"""One of the members that pydantic lists as Python writes them: `'low', 3 or None`."""


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
    errors: Iterable[dict[str, Any]], args: dict[str, Any], schema: dict[str, Any]
) -> tuple[Violation, ...]:
    """Word the errors of a pydantic `ValidationError`, most relevant first.

    What a tool's own validator says is not repeated: it may quote the value.

    Args:
        errors: As `ValidationError.errors()` gives them, inputs included.
        args: The arguments that were refused.
        schema: The JSON Schema of the parameters, as pydantic writes it.
    """
    told: list[_Told] = []
    for error in islice(errors, MAX_SEARCHED):
        path, branches = _placed(error, args)
        told.append(_Told(_from_pydantic(error, path, schema), branches, error["input"]))
    while depth := max((len(each.branches) for each in told), default=0):
        told = _without_innermost(told, depth, args, schema)
    return ranked(_joined(each.violation for each in told))


def _joined(violations: Iterable[Violation]) -> Iterator[Violation]:
    """Tell all names that one object lacks in one sentence."""
    lacking: dict[Location, list[str]] = {}
    for violation in violations:
        if violation.keyword == "required":
            lacking.setdefault(violation.path, []).extend(violation.expected)
        else:
            yield violation
    for path, names in lacking.items():
        yield missing(path, list(dict.fromkeys(names)))


def _without_innermost(
    told: list[_Told], depth: int, args: dict[str, Any], schema: dict[str, Any]
) -> list[_Told]:
    """Reduce each union at this depth to the branch that was most likely meant."""
    kept = [each for each in told if len(each.branches) < depth]
    unions: dict[Any, dict[str, list[_Told]]] = {}
    for each in told:
        if len(each.branches) == depth:
            *outer, (place, label) = each.branches
            outside = each._replace(branches=tuple(outer))
            unions.setdefault((outside.branches, place), {}).setdefault(label, []).append(outside)
    for (_, place), branches in unions.items():
        found: Any = args
        for part in place:
            found = found[part]
        given = frozenset[str](found) if is_object(found) else frozenset[str]()
        kept += _meant(branches, place, given, schema)
    return kept


def _meant(
    branches: dict[str, list[_Told]],
    union: Location,
    given: frozenset[str],
    schema: dict[str, Any],
) -> list[_Told]:
    """Give the errors of the branch that is nearest to what was found, or all types in one.

    Args:
        branches: The errors of each branch, by its label.
        union: Where the union is.
        given: The names of the properties that are there.
        schema: The JSON Schema of the parameters.
    """
    everything = [each for branch in branches.values() for each in branch]
    if all(v.keyword == "type" and v.path == union for v, _, _ in everything):
        named = [v.expected if is_array(v.expected) else [v.expected] for v, _, _ in everything]
        types = list(dict.fromkeys(name for names in named for name in names))
        types.sort(key="null".__eq__)  # the others stay in order
        first = everything[0]
        limit = types[0] if len(types) == 1 else types
        return [first._replace(violation=sentence(union, "type", limit, first.found))]
    names = {label: _properties(label, schema) for label in branches}

    def distance(label: str) -> tuple[bool, bool, int, int]:
        """Another type, another tag, names that the branch does not know, more errors."""
        branch = branches[label]
        # What tells branches apart is a property of several; any other just has a wrong value.
        tags = frozenset[str]().union(*(names[other] for other in names if other != label))
        return (
            any(v.keyword == "type" and v.path == union for v, _, _ in branch),
            any(v.keyword == "enum" and _is_tag(v.path, union, tags) for v, _, _ in branch),
            len(given - names[label]),
            len(branch),
        )

    return branches[min(branches, key=distance)]


def _is_tag(path: Location, union: Location, tags: frozenset[str]) -> bool:
    return path == union or (len(path) == len(union) + 1 and path[-1] in tags)


def _properties(label: str, schema: dict[str, Any]) -> frozenset[str]:
    """The names of the properties of a union's branch: pydantic labels a model by its name."""
    definition: Any = schema.get("$defs", {}).get(label)
    return frozenset(definition.get("properties") or ()) if is_object(definition) else frozenset()


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


def _from_pydantic(error: dict[str, Any], path: Location, schema: dict[str, Any]) -> Violation:
    kind: str = error["type"]
    context: dict[str, Any] = error.get("ctx", {})
    found: Any = error["input"]
    if kind == "missing":
        return missing(path, [str(error["loc"][-1])])
    if kind == "extra_forbidden":
        return _unexpected(path, str(error["loc"][-1]), schema)
    if kind == "union_tag_not_found":
        return missing(path, [str(context["discriminator"]).strip("'")])
    if kind == "union_tag_invalid":
        tag = str(context["discriminator"]).strip("'")
        if is_object(found) and tag in found:
            path, found = (*path, tag), found[tag]
    if kind in _PYDANTIC:
        keyword, key = _PYDANTIC[kind]
        keyword = _SIZES.get(kind_of(found), {}).get(keyword, keyword)
        return _sentence(path, keyword, _limit(context[key]), found, schema)
    for prefix, keyword, limit in _PYDANTIC_PREFIXES:
        if kind.startswith(prefix):
            return _sentence(path, keyword, limit, found, schema)
    for form in _forms_at(schema, path):
        name = form.get("format")
        # pydantic checks some formats, such as addresses, as a user's validator would.
        if name in FORMATS and not FORMATS[name](found):
            return sentence(path, "format", name, found)
    return Violation(path, kind, None, f"refused by the tool's own check; found {kind_of(found)}")


def _unexpected(path: Location, extra: str, schema: dict[str, Any]) -> Violation:
    forms = _forms_at(schema, path)
    known = [name for form in forms for name in form.get("properties", ())]
    return unexpected(path, list(dict.fromkeys(known)), [extra], "additionalProperties")


def _sentence(
    path: Location, keyword: str, limit: Any, found: Any, schema: dict[str, Any]
) -> Violation:
    """Word a keyword; a type and members with `null`, where the schema allows that beside them."""
    null = "null" if keyword == "type" else None
    members: list[Any] = limit if is_array(limit) else [limit]
    extensible = keyword == "type" or (keyword == "enum" and is_array(limit))
    if extensible and null not in members and _is_nullable(schema, path):
        limit = [*members, null]
    return sentence(path, keyword, limit, found)


def _limit(limit: Any) -> Any:
    """Read the members in pydantic's `'low', 'normal' or 'urgent'`, where it is no other text."""
    if not isinstance(limit, str):
        return limit if isinstance(limit, int | float) else str(limit)
    members: list[Any] = []
    position = 0
    while found := _MEMBER.match(limit, position):
        members.append(ast.literal_eval(found[1]))
        position = found.end()
    return members if members and position == len(limit) else limit


# -- the model's JSON Schema --------------------------------------------------------------------


def _forms_at(schema: dict[str, Any], path: Location) -> list[dict[str, Any]]:
    """Give the subschemas that may describe the value at a path, each union in its branches."""
    forms = _forms(schema, [schema])
    for part in path:
        forms = _forms(schema, [child for form in forms for child in _below(form, part)])
    return forms


def _is_nullable(schema: dict[str, Any], path: Location) -> bool:
    return any(form.get("type") == "null" for form in _forms_at(schema, path))


def _forms(schema: dict[str, Any], nodes: list[Any]) -> list[dict[str, Any]]:
    """Follow the references and unions of subschemas. pydantic refers to definitions only."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    forms: dict[int, dict[str, Any]] = {}
    pending = nodes[::-1]
    while pending:
        node = pending.pop()
        if not is_object(node) or id(node) in forms:
            continue
        forms[id(node)] = node
        inner = [definitions.get(str(node.get("$ref")).rpartition("/")[2])]
        for keyword in ("allOf", "anyOf", "oneOf"):
            inner += node.get(keyword, ())
        pending += inner[::-1]
    return list(forms.values())


def _below(form: dict[str, Any], part: str | int) -> Iterator[Any]:
    if isinstance(part, int):
        first: list[Any] = form.get("prefixItems", [])
        yield first[part] if part < len(first) else form.get("items")
    else:
        properties: dict[str, Any] = form.get("properties", {})
        yield properties[part] if part in properties else form.get("additionalProperties")
