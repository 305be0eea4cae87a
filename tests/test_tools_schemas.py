"""References, sensitive paths, Gemini's dialect, and what makes a schema bad."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall.tools import ToolSet
from finalcall.tools.checks import refuse
from finalcall.tools.openapi import to_json_schema
from finalcall.tools.schemas import Graph, sensitive_paths

SECRET: dict[str, Any] = {"type": "string", "writeOnly": True}


def sensitive(schema: dict[str, Any]) -> set[tuple[str, ...]]:
    (tool,) = ToolSet({"tool": schema})
    return set(tool.sensitive)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no such type": (
        {"properties": {"a": {"type": "strin"}}},
        "tool 'tool' has a bad schema: at properties/a/type: 'strin' is not valid",
    ),
    "not an object": ({"type": "array"}, "its type is 'array'; arguments are always an 'object'"),
    "a keyword of an older draft": (
        {"properties": {"a": {"exclusiveMinimum": True}}},
        "at properties/a/exclusiveMinimum",
    ),
    "a schema that is null": ({"properties": {"a": None}}, "at properties/a"),
    "no draft": ({"$schema": 5}, "at \\$schema"),
    "a pattern that is none": ({"properties": {"a": {"pattern": "["}}}, r"the pattern '\['"),
    "a name pattern that is none": ({"patternProperties": {"(": {}}}, r"the pattern '\('"),
    "remote": (
        {"properties": {"a": {"$ref": "https://example.com/schema.json"}}},
        "\\$ref 'https://example.com/schema.json' leads out of the schema and is never fetched",
    ),
    "remote, deep": (
        {"anyOf": [{"not": {"items": [{"$ref": "other.json#/x"}]}}]},
        "'other.json#/x' leads out",
    ),
    "remote, behind a local one": (
        {"$ref": "#/parts/a", "parts": {"a": {"$ref": "file:///etc/passwd"}}},
        "'file:///etc/passwd' leads out",
    ),
    "remote, in text": ({"contentSchema": {"$ref": "https://example.com/x"}}, "leads out"),
    "remote, dynamic": ({"$dynamicRef": "https://example.com/x#y"}, "leads out"),
    "dangling": ({"$ref": "#/$defs/none"}, "\\$ref '#/\\$defs/none' leads nowhere"),
    "dangling index": ({"$ref": "#/allOf/3", "allOf": [{}]}, "leads nowhere"),
    "dangling anchor": ({"$ref": "#none"}, "leads nowhere"),
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_schema_is_refused_when_the_set_is_built(case: str, fast: bool) -> None:
    """The text names the tool, the place and the fault."""
    schema, says = BAD[case]
    with pytest.raises(ValueError, match=says) as caught:
        ToolSet({"tool": schema}, fast=fast)
    assert str(caught.value).startswith("tool 'tool' has a bad schema: ")


LOCAL: dict[str, dict[str, Any]] = {
    "definition": {"properties": {"v": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}},
    "old definition": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"v": {"$ref": "#/definitions/n"}},
        "definitions": {"n": {"type": "null"}},
    },
    "anchor": {
        "properties": {"v": {"$ref": "#n"}},
        "$defs": {"n": {"$anchor": "n", "type": "null"}},
    },
    "name with escapes": {
        "properties": {"v": {"$ref": "#/$defs/a~1b~0c%25"}},
        "$defs": {"a/b~c%": {"type": "null"}},
    },
    "place that is no definition": {
        "properties": {"v": {"$ref": "#/parts/n"}},
        "parts": {"n": {"type": "null"}},
    },
    "index": {"properties": {"v": {"$ref": "#/parts/1"}}, "parts": [{}, {"type": "null"}]},
    "old anchor": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"v": {"$ref": "#n"}},
        "definitions": {"n": {"$id": "#n", "type": "null"}},
    },
    "schema with an address": {
        "$id": "https://example.com/root",
        "properties": {"v": {"$ref": "inner#/$defs/n"}},
        "$defs": {"i": {"$id": "inner", "$defs": {"n": {"type": "null"}}}},
    },
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("case", LOCAL)
def test_a_local_reference_is_followed(case: str, fast: bool) -> None:
    """Wherever it leads inside the schema, what stands there is asserted."""
    tools = ToolSet({"tool": LOCAL[case]}, fast=fast)
    assert tools.check("tool", {"v": None}).errors == ()
    (error,) = tools.check("tool", {"v": 1}).errors
    assert (error.path, error.keyword, error.expected) == (("v",), "type", "null")


@pytest.mark.parametrize("fast", [True, False])
def test_the_schemas_of_the_drafts_are_known(fast: bool) -> None:
    """A tool that takes a schema can refer to the draft's own."""
    draft = {"properties": {"v": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}
    tools = ToolSet({"tool": draft}, fast=fast)
    assert tools.check("tool", {"v": {"type": "string"}}).errors == ()
    assert tools.check("tool", {"v": {"type": 5}}).errors != ()


@pytest.mark.parametrize("fast", [True, False])
def test_a_draft_that_nobody_knows_is_taken_for_the_newest(fast: bool) -> None:
    """Its address is not fetched either."""
    schema = {"$schema": "https://127.0.0.1:9/draft", "properties": {"v": {"type": "null"}}}
    tools = ToolSet({"tool": schema}, fast=fast)
    assert tools.check("tool", {"v": None}).errors == ()
    assert tools.check("tool", {"v": 1}).errors != ()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("draft", ["03", "04"])
def test_the_draft_is_the_one_that_the_schema_names(draft: str, fast: bool) -> None:
    """In the oldest drafts `exclusiveMinimum` is a flag."""
    schema = {
        "$schema": f"http://json-schema.org/draft-{draft}/schema#",
        "properties": {"v": {"minimum": 1, "exclusiveMinimum": True}},
    }
    tools = ToolSet({"tool": schema}, fast=fast)
    assert tools.check("tool", {"v": 2}).errors == ()
    assert tools.check("tool", {"v": 1}).errors != ()


def test_nothing_is_fetched() -> None:
    """Should a reference be missed, the fast validator is given nothing for it."""
    with pytest.raises(ValueError, match="is never fetched"):
        refuse("https://example.com/x")


SENSITIVE: dict[str, tuple[dict[str, Any], set[tuple[str, ...]]]] = {
    "nothing": ({"properties": {"a": {"type": "string"}}}, set()),
    "all of it": ({"writeOnly": True}, {()}),
    "the four marks": (
        {
            "properties": {
                "a": {"writeOnly": True},
                "b": {"format": "password"},
                "c": {"x-sensitive": True},
                "d": {"$ref": "#/$defs/s"},
                "e": {"writeOnly": False, "x-sensitive": False, "format": "email"},
            },
            "$defs": {"s": SECRET},
        },
        {("a",), ("b",), ("c",), ("d",)},
    ),
    "arrays": (
        {
            "properties": {
                "a": {"items": {"properties": {"key": SECRET}}},
                "b": {"prefixItems": [{}, SECRET]},
                "c": {"contains": SECRET},
            }
        },
        {("a", "*", "key"), ("b", "*"), ("c", "*")},
    ),
    "open objects": (
        {
            "properties": {"a": {"additionalProperties": SECRET}},
            "patternProperties": {"^x": SECRET},
        },
        {("a", "*"), ("*",)},
    ),
    "branches": (
        {
            "properties": {"a": {"anyOf": [{"type": "null"}, SECRET]}},
            "allOf": [{"if": {}, "then": {"properties": {"b": SECRET}}}],
            "dependentSchemas": {"a": {"properties": {"c": SECRET}}},
        },
        {("a",), ("b",), ("c",)},
    ),
    "what is not asserted": (
        {"not": {"properties": {"a": SECRET}}, "$defs": {"unused": SECRET}},
        set(),
    ),
    "data that looks like a schema": (
        {"properties": {"a": {"default": {"writeOnly": True}, "enum": [{"writeOnly": True}]}}},
        set(),
    ),
    "recursion": (
        {
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {
                "node": {
                    "properties": {
                        "key": SECRET,
                        "name": {},
                        "nodes": {"items": {"$ref": "#/$defs/node"}},
                    }
                }
            },
        },
        # below the second entry a key may lie at any depth
        {("root", "key"), ("root", "nodes", "*")},
    ),
    "recursion of the root": (
        {"properties": {"key": SECRET, "next": {"$ref": "#"}}},
        {("key",), ("next",)},
    ),
    "recursion that holds nothing": (
        {"properties": {"key": SECRET, "tree": {"$ref": "#/$defs/t"}}, "$defs": {"t": {}}},
        {("key",)},
    ),
    "recursion in turns": (
        {
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {
                "a": {"properties": {"b": {"$ref": "#/$defs/b"}}},
                "b": {"properties": {"a": {"$ref": "#/$defs/a"}, "key": SECRET}},
            },
        },
        {("a", "b")},
    ),
    "a reference to itself": (
        {"properties": {"a": {"$ref": "#/properties/a"}, "b": SECRET}},
        {("b",)},
    ),
}


@pytest.mark.parametrize("case", SENSITIVE)
def test_sensitive_values_are_found_by_their_marks(case: str) -> None:
    """Paths lead from the root of the arguments; the search ends on any recursion."""
    schema, expected = SENSITIVE[case]
    assert sensitive(schema) == expected


def test_many_types_that_refer_to_each_other_are_searched_in_no_time() -> None:
    """Every expression type may hold every other, as in a query language."""
    anything = {"anyOf": [{"$ref": f"#/$defs/t{number}"} for number in range(40)]}
    types = {f"t{number}": {"properties": {"of": anything}} for number in range(40)}
    types["t0"] = {"properties": {"of": anything, "key": SECRET}}
    paths = sensitive({"properties": {"query": anything}, "$defs": types})
    assert paths == {("query", "key"), ("query", "of")}


def test_a_deep_schema_is_walked() -> None:
    """The walk itself does not recurse."""
    schema: dict[str, Any] = SECRET
    for _ in range(2_000):
        schema = {"items": schema}
    assert sensitive_paths(Graph(schema)) == {("*",) * 2_000}


@pytest.mark.parametrize("fast", [True, False])
def test_a_schema_that_is_too_deep_for_a_validator_is_refused(fast: bool) -> None:
    """It is a bad schema like any other."""
    schema: dict[str, Any] = SECRET
    for _ in range(5_000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(ValueError, match="nested too deeply"):
        ToolSet({"tool": schema}, fast=fast)


GEMINI: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "types": ({"type": "OBJECT"}, {"type": "object"}),
    "no type": ({"type": "TYPE_UNSPECIFIED"}, {}),
    "plain JSON Schema": (
        {"type": "object", "$defs": {"a": {"const": "X"}}, "oneOf": [{"type": "null"}]},
        {"type": "object", "$defs": {"a": {"const": "X"}}, "oneOf": [{"type": "null"}]},
    ),
    "nullable": ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    "nullable enum": (
        {"type": "STRING", "format": "enum", "enum": ["A"], "nullable": True},
        {"type": ["string", "null"], "enum": ["A", None]},
    ),
    "nullable choice": (
        {"any_of": [{"type": "STRING"}], "nullable": True},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ),
    "numbers spelled as text": (
        {"type": "INTEGER", "enum": ["1", "2"], "maxItems": "3", "min_length": 4, "minItems": 0},
        {"type": "integer", "enum": [1, 2], "maxItems": 3, "minLength": 4, "minItems": 0},
    ),
    "a number that is none": (
        {"type": "NUMBER", "enum": ["0.5", "x", 2]},
        {"type": "number", "enum": [0.5, "x", 2]},
    ),
    "everything nested": (
        {
            "properties": {
                "type": {"type": "ARRAY", "items": {"ref": "#/defs/p"}, "example": [1]},
                "nullable": {"type": "NULL"},
            },
            "defs": {"p": {"type": "NUMBER", "additional_properties": {"type": "BOOLEAN"}}},
            "propertyOrdering": ["type"],
        },
        {
            "properties": {
                "type": {"type": "array", "items": {"$ref": "#/$defs/p"}},
                "nullable": {"type": "null"},
            },
            "$defs": {"p": {"type": "number", "additionalProperties": {"type": "boolean"}}},
        },
    ),
}


@pytest.mark.parametrize("case", GEMINI)
def test_the_dialect_of_gemini_becomes_json_schema(case: str) -> None:
    """Names, types and null are spelled the other way; nothing else changes."""
    given, expected = GEMINI[case]
    before = repr(given)
    assert to_json_schema(given) == expected
    assert repr(given) == before


def test_a_schema_that_is_used_twice_is_converted_once() -> None:
    """Callers build schemas of shared parts."""
    part = {"any_of": [{"type": "STRING"}], "nullable": True}
    converted = to_json_schema({"properties": {"a": part, "b": part}})
    expected = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert converted == {"properties": {"a": expected, "b": expected}}
