"""Turns Gemini's schema dialect, a subset of OpenAPI 3.0, into JSON Schema.

A plain JSON Schema passes through with its meaning unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from finalcall.narrow import is_array
from finalcall.tools.schemas import Schema, children

_RENAMED: Final = {
    "additional_properties": "additionalProperties",
    "any_of": "anyOf",
    "defs": "$defs",
    "max_items": "maxItems",
    "max_length": "maxLength",
    "max_properties": "maxProperties",
    "min_items": "minItems",
    "min_length": "minLength",
    "min_properties": "minProperties",
    "ref": "$ref",
}
_DROPPED: Final = ("example", "nullable", "propertyOrdering", "property_ordering")
# Protocol Buffers write 64-bit integers as JSON strings.
_INTEGERS: Final = (
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
)
_NUMBERS: Final[dict[str, type[int | float]]] = {"integer": int, "number": float}


def to_json_schema(schema: Mapping[str, Any]) -> Schema:
    """Convert one schema and everything under it. The argument is left alone.

    Args:
        schema: A Gemini `Schema` as a dict, in camel or snake case, types in any case.

    Returns:
        A JSON Schema of its own.
    """
    root = copy.deepcopy(dict(schema))
    pending = [root]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            _convert(node)
            pending.extend(child for _, child in children(node))
    return root


def _convert(node: Schema) -> None:
    nullable = node.get("nullable") is True
    for name in _DROPPED:
        node.pop(name, None)
    for old, new in _RENAMED.items():
        if old in node:
            node[new] = node.pop(old)
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/defs/"):
        node["$ref"] = "#/$defs/" + reference.removeprefix("#/defs/")
    for name in _INTEGERS:
        limit = node.get(name)
        if isinstance(limit, str) and limit.isdecimal():
            node[name] = int(limit)
    if node.get("format") == "enum":
        del node["format"]
    _convert_type(node)
    if nullable:
        _allow_null(node)


def _convert_type(node: Schema) -> None:
    kind = node.get("type")
    if not isinstance(kind, str):
        return
    kind = node["type"] = kind.lower()
    if kind == "type_unspecified":
        del node["type"]
    number = _NUMBERS.get(kind)
    members = node.get("enum")
    if number is not None and is_array(members):
        # The dialect spells every enum member as a string, whatever its type.
        node["enum"] = [_as_number(member, number) for member in members]


def _as_number(member: Any, number: type[int | float]) -> Any:
    if not isinstance(member, str):
        return member
    try:
        return number(member)
    except ValueError:
        return member


def _allow_null(node: Schema) -> None:
    kind = node.get("type")
    if isinstance(kind, str) and kind != "null":
        node["type"] = [kind, "null"]
    if is_array(node.get("enum")) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]
    if is_array(node.get("anyOf")):
        node["anyOf"] = [*node["anyOf"], {"type": "null"}]
