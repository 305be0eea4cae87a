"""What a JSON Schema check says, whichever validator decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finalcall.outcomes import Violation
from finalcall.tools import ToolSet
from finalcall.tools.formats import FORMATS
from finalcall.tools.violations import MAX_VIOLATIONS

USER = {
    "type": "object",
    "properties": {"kind": {"const": "user"}, "id": {"type": "integer"}},
    "required": ["kind", "id"],
}
TEAM = {
    "type": "object",
    "properties": {"kind": {"const": "team"}, "name": {"type": "string"}},
    "required": ["kind", "name"],
}


def errors(schema: Any, value: Any, *, fast: bool = True) -> list[Violation]:
    """Check `value` as the one argument `v`."""
    tools = ToolSet({"tool": {"properties": {"v": schema}}}, fast=fast)
    return list(tools.check("tool", {"v": value}).errors)


WORDS: dict[str, tuple[Any, Any, list[tuple[tuple[str | int, ...], str, Any, str]]]] = {
    # schema of "v", its value, and each violation: path from "v", keyword, expected, message
    "type": (
        {"type": "string"},
        5,
        [((), "type", "string", "expected a string; found an integer")],
    ),
    "types": (
        {"type": ["integer", "null"]},
        "x",
        [((), "type", ["integer", "null"], "expected an integer or null; found a string")],
    ),
    "enum": (
        {"enum": ["low", "normal", "urgent"]},
        "critical",
        [
            (
                (),
                "enum",
                ["low", "normal", "urgent"],
                "expected one of 'low', 'normal', 'urgent'; found another string",
            )
        ],
    ),
    "enum, nearly": (
        {"enum": ["low", "normal", None, 3]},
        "nrmal",
        [
            (
                (),
                "enum",
                ["low", "normal", None, 3],
                (
                    "expected one of 'low', 'normal', null, 3; "
                    "found another string; the closest is 'normal'"
                ),
            )
        ],
    ),
    "enum, long": (
        {"enum": list(range(30))},
        -1,
        [
            (
                (),
                "enum",
                list(range(30)),
                f"expected one of {', '.join(map(str, range(20)))} and 10 more; found an integer",
            )
        ],
    ),
    "const": (
        {"const": {"a": 1}},
        [],
        [((), "const", {"a": 1}, 'expected {"a": 1}; found an array')],
    ),
    "format": (
        {"format": "date"},
        "soon",
        [((), "format", "date", "expected a date like 2026-01-31; found a string in another form")],
    ),
    "pattern": (
        {"pattern": "^[A-Z]+$"},
        "a",
        [
            (
                (),
                "pattern",
                "^[A-Z]+$",
                "expected text that matches the pattern ^[A-Z]+$; found a string in another form",
            )
        ],
    ),
    "too short": (
        {"minLength": 2},
        "x",
        [((), "minLength", 2, "expected at least 2 characters; found 1 character")],
    ),
    "too long": (
        {"maxLength": 1},
        "xyz",
        [((), "maxLength", 1, "expected at most 1 character; found 3 characters")],
    ),
    "too small": (
        {"minimum": 2},
        1,
        [((), "minimum", 2, "expected at least 2; found a number that is too small")],
    ),
    "too great": (
        {"maximum": 2},
        2.5,
        [((), "maximum", 2, "expected at most 2; found a number that is too large")],
    ),
    "not more": (
        {"exclusiveMinimum": 2},
        2,
        [((), "exclusiveMinimum", 2, "expected more than 2; found a number that is too small")],
    ),
    "not less": (
        {"exclusiveMaximum": 2},
        2,
        [((), "exclusiveMaximum", 2, "expected less than 2; found a number that is too large")],
    ),
    "no multiple": (
        {"multipleOf": 0.01},
        0.005,
        [((), "multipleOf", 0.01, "expected a multiple of 0.01; found another number")],
    ),
    "missing": (
        {"required": ["title", "body"]},
        {"body": 1},
        [((), "required", ["title"], "missing required 'title'")],
    ),
    "missing, twice": (
        {"required": ["title", "body"]},
        {},
        [((), "required", ["title", "body"], "missing required 'title', 'body'")],
    ),
    "missing for another": (
        {"dependentRequired": {"from": ["to", "unit"]}},
        {"from": 1, "unit": 2},
        [((), "required", ["to"], "missing required 'to'")],
    ),
    "unexpected": (
        {"properties": {"title": {}, "body": {}}, "additionalProperties": False},
        {"x": 1},
        [
            (
                (),
                "additionalProperties",
                ["title", "body"],
                "unexpected property; allowed are 'title', 'body'",
            )
        ],
    ),
    "unexpected, nearly": (
        {"properties": {"title": {}}, "additionalProperties": False},
        {"titel": 1},
        [
            (
                (),
                "additionalProperties",
                ["title"],
                "unexpected property; allowed are 'title'; the closest is 'title'",
            )
        ],
    ),
    "unexpected, many": (
        {"additionalProperties": False},
        {"a": 1, "b": 2},
        [((), "additionalProperties", [], "2 unexpected properties; none is allowed")],
    ),
    "unexpected beside a pattern": (
        {"patternProperties": {"^x": {}}, "additionalProperties": False},
        {"a": 1},
        [((), "additionalProperties", None, "unexpected property")],
    ),
    "unexpected by what was not looked at": (
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        {"a": 1, "b": 1},
        [((), "unevaluatedProperties", None, "unexpected property")],
    ),
    "too few items": (
        {"minItems": 1},
        [],
        [((), "minItems", 1, "expected at least 1 item; found 0 items")],
    ),
    "too many items": (
        {"prefixItems": [{}], "items": False},
        [1, 2],
        [((), "items", None, "expected no further items; found an array")],
    ),
    "equal items": (
        {"uniqueItems": True},
        [1, 1],
        [((), "uniqueItems", True, "expected items that all differ; found equal items")],
    ),
    "no such item": (
        {"contains": {"const": 1}},
        [2],
        [((), "contains", None, "expected an item of the required kind; found an array")],
    ),
    "not enough such items": (
        {"contains": {"const": 1}, "minContains": 2},
        [1],
        [
            (
                (),
                "minContains",
                2,
                "expected at least 2 items of the required kind; found an array",
            )
        ],
    ),
    "too few properties": (
        {"minProperties": 1},
        {},
        [((), "minProperties", 1, "expected at least 1 property; found 0 properties")],
    ),
    "a property's name": (
        {"propertyNames": {"maxLength": 1}},
        {"long": 1},
        [
            (
                (),
                "propertyNames",
                None,
                "expected property names of the required kind; found an object",
            )
        ],
    ),
    "excluded": (
        {"not": {"type": "string"}},
        "x",
        [
            (
                (),
                "not",
                None,
                "expected anything but a form that the schema excludes; found a string",
            )
        ],
    ),
    "what is never allowed": (
        {"properties": {"a": {"properties": {"b": False}}}},
        {"a": {"b": 1}},
        [(("a",), "false", None, "found what the schema never allows; leave it out")],
    ),
    "in an array": (
        {"items": {"properties": {"n": {"type": "integer"}}}},
        [{"n": 1}, {"n": "x"}],
        [((1, "n"), "type", "integer", "expected an integer; found a string")],
    ),
    "in an open object": (
        {"additionalProperties": {"type": "integer"}},
        {"k": "x"},
        [(("k",), "type", "integer", "expected an integer; found a string")],
    ),
    "under a condition": (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"a": 1},
        [((), "required", ["b"], "missing required 'b'")],
    ),
    "the branch that the tag tells": (
        {"oneOf": [USER, TEAM]},
        {"kind": "team", "name": 5},
        [(("name",), "type", "string", "expected a string; found an integer")],
    ),
    "the branch that the type tells": (
        {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]},
        ["a", 5],
        [((1,), "type", "string", "expected a string; found an integer")],
    ),
    "the branch with the fewest errors": (
        {"anyOf": [{"required": ["a", "b", "c"]}, {"required": ["d"]}]},
        {"a": 1},
        [((), "required", ["d"], "missing required 'd'")],
    ),
    "a branch in a branch": (
        {"anyOf": [{"type": "null"}, {"items": {"anyOf": [{"type": "null"}, USER]}}]},
        [{"kind": "user"}],
        [((0,), "required", ["id"], "missing required 'id'")],
    ),
    "a branch that is never right": (
        {"anyOf": [False, {"type": "object", "required": ["a"]}]},
        {},
        [((), "required", ["a"], "missing required 'a'")],
    ),
    "several types": (
        {"anyOf": [{"type": "integer"}, {"type": ["string", "null"]}, {"type": "integer"}]},
        [],
        [
            (
                (),
                "type",
                ["integer", "string", "null"],
                "expected an integer or a string or null; found an array",
            )
        ],
    ),
    "an enum or null": (
        {"anyOf": [{"type": "string", "enum": ["low", "high"]}, {"type": "null"}]},
        "hig",
        [
            (
                (),
                "enum",
                ["low", "high", None],
                "expected one of 'low', 'high', null; found another string; the closest is 'high'",
            )
        ],
    ),
    "constants": (
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
        5,
        [((), "enum", ["a", "b"], "expected one of 'a', 'b'; found an integer")],
    ),
    "a constant or a type": (
        {"anyOf": [{"const": "auto"}, {"type": "integer"}]},
        "aut",
        [
            (
                (),
                "anyOf",
                ["auto", "integer"],
                "expected 'auto' or an integer; found another string; the closest is 'auto'",
            )
        ],
    ),
    "two branches at once": (
        {"oneOf": [{"type": "integer"}, {"minimum": 0}]},
        5,
        [
            (
                (),
                "oneOf",
                None,
                "expected what fits exactly one of the allowed forms; found an integer",
            )
        ],
    ),
    "what leads to further faults comes first": (
        {
            "properties": {
                "a": {"properties": {"deep": {"type": "null"}}},
                "b": {"not": {}},
                "c": {"enum": [1]},
            },
            "required": ["d"],
        },
        {"a": {"deep": 1}, "b": 1, "c": 2},
        [
            ((), "required", ["d"], "missing required 'd'"),
            (("a", "deep"), "type", "null", "expected null; found an integer"),
            (("c",), "enum", [1], "expected 1; found an integer"),
            (
                ("b",),
                "not",
                None,
                "expected anything but a form that the schema excludes; found an integer",
            ),
        ],
    ),
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("case", WORDS)
def test_a_violation_says_what_was_found_and_what_is_allowed(case: str, fast: bool) -> None:
    """One violation a fault, a union told by its likeliest branch, most relevant first."""
    schema, value, expected = WORDS[case]
    found = [(e.path, e.keyword, e.expected, e.message) for e in errors(schema, value, fast=fast)]
    assert found == [(("v", *path), *rest) for path, *rest in expected]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"multipleOf": 0.01}, [19.99, 0.07, 1e300, 10**400, 3], [0.001, 19.999]),
        ({"multipleOf": 3}, [9, 9.0, 3 * 10**30], [10, 9.5, 10**30]),
        ({"pattern": r"^\d+$"}, ["1", "42"], ["1\n", "\u0663", "1 "]),
        ({"pattern": r"^[a$]+$|^\$\w$"}, ["a$", "$x"], ["a$\n", "$\u00e9"]),
        ({"pattern": r"^(?<year>\d{4})$"}, ["2026"], ["26"]),
        ({"type": "integer"}, [1, 1.0, 10**400, -(10**30)], [1.5, True, "1"]),
        ({"const": 1}, [1, 1.0], [True, "1"]),
        ({"enum": [0, "a"]}, [0, 0.0, "a"], [False, None]),
        ({"uniqueItems": True}, [[1, True], [0, False], [[1], [True]]], [[1, 1.0], [{}, {}]]),
        ({"maxLength": 1}, ["\U0001f600", "\u00e9"], ["e\u0301"]),
    ],
)
@pytest.mark.parametrize("fast", [True, False])
def test_where_validators_differ_json_schema_decides(
    schema: Any, good: list[Any], bad: list[Any], fast: bool
) -> None:
    """Prices, line ends, digits of other scripts, booleans and great numbers."""
    for value in good:
        assert errors(schema, value, fast=fast) == [], value
    for value in bad:
        assert errors(schema, value, fast=fast) != [], value


def test_a_pattern_that_only_the_fast_validator_knows_is_used_there() -> None:
    """Where it fails, the words are general; without that validator the set is not built."""
    schema = {"pattern": r"^\p{Lu}+$"}
    assert errors(schema, "\u00c9A") == []
    (error,) = errors(schema, "a")
    assert (error.keyword, error.message) == (
        "schema",
        "the arguments do not match the tool's schema",
    )
    with pytest.raises(ValueError, match="install 'finalcall"):
        errors(schema, "a", fast=False)


def test_a_pattern_that_only_python_knows_is_left_to_python() -> None:
    """The fast validator cannot compile it, so `jsonschema` judges alone."""
    for fast in (True, False):
        assert errors({"pattern": r"(?P<a>x)(?P=a)\Z"}, "xx", fast=fast) == []
        assert len(errors({"pattern": r"(?P<a>x)(?P=a)\Z"}, "xy", fast=fast)) == 1


@pytest.mark.parametrize("fast", [True, False])
def test_a_long_array_of_faults_is_cut(fast: bool) -> None:
    """A model is not helped by ten thousand sentences."""
    found = errors({"items": {"type": "string"}}, list(range(10_000)), fast=fast)
    assert len(found) == MAX_VIOLATIONS


def test_a_long_text_is_not_compared_with_the_allowed_ones() -> None:
    """The comparison is quadratic."""
    (error,) = errors({"enum": ["a" * 90]}, "a" * 100_000)
    assert "closest" not in error.message


# -- properties -----------------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers(-500, 500).map(lambda hundredths: hundredths / 100)
    | st.sampled_from(["", "a", "ab", "A1", "a\n", "1", "\u00e9", "\u0663", "$"])
    | st.sampled_from(["2024-01-01", "2024-01-01T00:00:00Z", "a@b.co", "http://x.y", "12:00:00Z"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=8,
)
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from([*TYPES, ["string", "null"], ["integer", "array"]]),
        "enum": st.lists(SCALARS, min_size=1, max_size=3, unique_by=json.dumps),
        "const": SCALARS,
        "minimum": st.integers(-3, 3),
        "exclusiveMaximum": st.integers(-3, 5),
        "multipleOf": st.sampled_from([0.01, 0.1, 2, 3, 0.5]),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", r"^\d+$", r"^\w*$", "^[a-z$]+$", "^a$|^b$"]),
        "format": st.sampled_from([*sorted(FORMATS), "ipv4", "hostname", "made-up"]),
        "minItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "minProperties": st.integers(0, 2),
        "required": st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
    },
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that hold others."""
    inner |= st.booleans()
    several = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(st.sampled_from("abcd"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner),
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "propertyNames": inner,
            "dependentRequired": st.just({"a": ["b"]}),
            "items": inner,
            "prefixItems": several,
            "unevaluatedItems": inner,
            "contains": inner,
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    )


SCHEMAS = LEAVES | nested(LEAVES | nested(LEAVES))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(SCHEMAS, VALUES)
def test_both_validators_give_the_same_answer(schema: Any, value: Any) -> None:
    """What is installed changes the speed and nothing else; every answer can be sent as JSON."""
    fast, slow = errors(schema, value), errors(schema, value, fast=False)
    assert fast == slow
    for error in fast:
        assert error.keyword not in {"schema", "validator_error"}
        assert json.loads(json.dumps(error.expected)) == error.expected


SECRET = "hunter2-4711"


def spoil(value: Any) -> Any:
    """Put the secret wherever the model can write: into texts and into property names."""
    if isinstance(value, list):
        return [spoil(item) for item in value]
    if isinstance(value, dict):
        return {f"{SECRET}{key}" if key == "d" else key: spoil(v) for key, v in value.items()}
    return f"{SECRET}{value}" if isinstance(value, str) else value


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(SCHEMAS, VALUES)
def test_no_violation_repeats_what_the_model_wrote(schema: Any, value: Any) -> None:
    """Messages, expectations and reprs hold the schema's own words only."""
    for error in errors(schema, spoil(value)):
        assert SECRET not in f"{error.message}{error.expected}{error!r}"


@pytest.mark.parametrize("value", [{}, {"a": 1}, 3, "long"])
def test_property_names_concern_objects_whose_names_miss_them(value: object) -> None:
    """Short names and values that are no object are fine."""
    schema = {"properties": {"it": {"propertyNames": {"maxLength": 1}}}}
    for fast in (False, True):
        assert ToolSet({"f": schema}, fast=fast).check("f", {"it": value}).errors == ()
