"""What a model reads instead of a result, for every kind of mistake. The tables are the texts."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    create_model,
)

from finalcall.outcomes import SchemaError, Violation
from finalcall.tools import ToolSet
from finalcall.tools.formats import DESCRIPTIONS
from finalcall.tools.violations import MAX_VIOLATIONS
from finalcall.wording import MAX_CHARACTERS, MAX_TOLD, answer_for, not_run, where
from tests.documents import ROOT
from tests.test_tools_checks import SCHEMAS, VALUES

PAGE = ROOT / "docs" / "wording.md"
INVALID = "Invalid arguments: the tool was not run."
AGAIN = "Call the tool again with all of its arguments, corrected."
UNKNOWN = "Unknown tool: nothing was run."
OFFERED = "Call only tools that you were offered, by their exact names."

STRING = {"type": "string"}
PERSON = {
    "type": "object",
    "properties": {"kind": {"const": "person"}, "age": {"type": "integer"}},
    "required": ["kind", "age"],
}
FIRM = {
    "type": "object",
    "properties": {"kind": {"const": "firm"}, "name": STRING},
    "required": ["kind", "name"],
}
PAINT = {
    "type": "object",
    "properties": {"color": {"enum": ["red", "blue"]}},
    "required": ["color"],
}
SEARCH = {"type": "object", "properties": {"q": STRING}, "required": ["q"]}
LINES = {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}}


def answer(tools: Any, name: str | None, args: Any) -> str:
    """What a call of a tool is answered."""
    errors = ToolSet(tools).check(name, args).errors
    result = answer_for(SchemaError(None, name, args, errors))
    assert result.is_error
    assert isinstance(result.content, str)
    return result.content


def body(text: str) -> list[str]:
    """The lines about what was wrong."""
    opening, *lines, closing = text.split("\n")
    assert (opening, closing) in {(INVALID, AGAIN), (UNKNOWN, OFFERED)}
    assert all(line.startswith("- ") for line in lines)
    return [line.removeprefix("- ") for line in lines]


TABLE: list[tuple[str, dict[str, Any], Any, list[str]]] = [
    # keyword, properties of the schema (or a whole one), arguments, and each line of the answer
    ("type", {"n": {"type": "integer"}}, {"n": "x"}, ["n: expected an integer; found a string"]),
    (
        "type",
        {"n": {"type": ["integer", "null"]}},
        {"n": [1]},
        ["n: expected an integer or null; found an array"],
    ),
    ("type", {}, [1, 2], ["the arguments: expected an object; found an array"]),
    ("type", {}, None, ["the arguments: expected an object; found null"]),
    (
        "type",
        {"lines": LINES},
        {"lines": [{}, {}, {"price": "3 euros"}]},
        ["lines[2].price: expected a number; found a string"],
    ),
    (
        "required",
        {"type": "object", "required": ["title", "body"]},
        {},
        ["the arguments: missing required 'title', 'body'"],
    ),
    (
        "required",
        {"who": PERSON},
        {"who": {"kind": "person"}},
        ["who: missing required 'age'"],
    ),
    (
        "dependentRequired",
        {"type": "object", "dependentRequired": {"from": ["to", "unit"]}},
        {"from": 1, "unit": "m"},
        ["the arguments: missing required 'to'"],
    ),
    (
        "enum",
        {"priority": {"type": "string", "enum": ["low", "normal", "urgent"]}},
        {"priority": "critical"},
        ["priority: expected one of 'low', 'normal', 'urgent'; found another string"],
    ),
    (
        "enum",
        {"priority": {"enum": ["low", "normal", "urgent"]}},
        {"priority": "NORMAL"},
        [
            (
                "priority: expected one of 'low', 'normal', 'urgent'; found another string; "
                "the closest is 'normal'"
            )
        ],
    ),
    (
        "enum",
        {"level": {"type": "integer", "enum": [1, 2]}},
        {"level": "1"},
        ["level: expected one of 1, 2; found a string"],
    ),
    (
        "enum",
        {"code": {"enum": [f"C{number}" for number in range(300)]}},
        {"code": 7},
        [
            "code: expected one of "
            + ", ".join(f"'C{number}'" for number in range(20))
            + " and 280 more; found an integer"
        ],
    ),
    (
        "const",
        {"version": {"const": 2}},
        {"version": 1},
        ["version: expected 2; found an integer"],
    ),
    (
        "const",
        {"mode": {"const": "safe"}},
        {"mode": "fast"},
        ["mode: expected 'safe'; found another string"],
    ),
    (
        "format",
        {"due": {"type": "string", "format": "date"}},
        {"due": "tomorrow"},
        ["due: expected a date like 2026-01-31; found a string in another form"],
    ),
    (
        "format",
        {"due": {"type": "string", "format": "date"}},
        {"due": 31},
        ["due: expected a date like 2026-01-31; found an integer"],
    ),
    (
        "format",
        {"to": {"format": "email"}},
        {"to": "Bob"},
        ["to: expected an e-mail address like name@example.com; found a string in another form"],
    ),
    (
        "pattern",
        {"id": {"pattern": r"^\d{4}-[A-Z]+$"}},
        {"id": "12"},
        [
            (
                r"id: expected text that matches the pattern ^\d{4}-[A-Z]+$; "
                "found a string in another form"
            )
        ],
    ),
    (
        "minLength",
        {"title": {"minLength": 3}},
        {"title": "a"},
        ["title: expected at least 3 characters; found 1 character"],
    ),
    (
        "maxLength",
        {"title": {"maxLength": 1}},
        {"title": "abc"},
        ["title: expected at most 1 character; found 3 characters"],
    ),
    (
        "minimum",
        {"n": {"minimum": 1.0}},
        {"n": 0},
        ["n: expected at least 1; found a number that is too small"],
    ),
    (
        "maximum",
        {"n": {"maximum": 0.5}},
        {"n": 1},
        ["n: expected at most 0.5; found a number that is too large"],
    ),
    (
        "exclusiveMinimum",
        {"n": {"exclusiveMinimum": 0}},
        {"n": 0},
        ["n: expected more than 0; found a number that is too small"],
    ),
    (
        "exclusiveMaximum",
        {"n": {"exclusiveMaximum": 9}},
        {"n": 9},
        ["n: expected less than 9; found a number that is too large"],
    ),
    (
        "multipleOf",
        {"n": {"multipleOf": 0.5}},
        {"n": 0.7},
        ["n: expected a multiple of 0.5; found another number"],
    ),
    (
        "minItems",
        {"tags": {"minItems": 1}},
        {"tags": []},
        ["tags: expected at least 1 item; found 0 items"],
    ),
    (
        "maxItems",
        {"tags": {"maxItems": 1}},
        {"tags": [1, 2]},
        ["tags: expected at most 1 item; found 2 items"],
    ),
    (
        "items",
        {"pair": {"prefixItems": [{}], "items": False}},
        {"pair": [1, 2]},
        ["pair: expected no further items; found an array"],
    ),
    (
        "additionalItems",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"pair": {"items": [{}], "additionalItems": False}},
        },
        {"pair": [1, 2]},
        ["pair: expected no further items; found an array"],
    ),
    (
        "unevaluatedItems",
        {"pair": {"prefixItems": [{}], "unevaluatedItems": False}},
        {"pair": [1, 2]},
        ["pair: expected no further items; found an array"],
    ),
    (
        "uniqueItems",
        {"tags": {"uniqueItems": True}},
        {"tags": ["a", "a"]},
        ["tags: expected items that all differ; found equal items"],
    ),
    (
        "contains",
        {"tags": {"contains": {"const": "a"}}},
        {"tags": ["b"]},
        ["tags: expected an item of the required kind; found an array"],
    ),
    (
        "minContains",
        {"tags": {"contains": {"const": "a"}, "minContains": 2}},
        {"tags": ["a"]},
        ["tags: expected at least 2 items of the required kind; found an array"],
    ),
    (
        "maxContains",
        {"tags": {"contains": {"const": "a"}, "maxContains": 1}},
        {"tags": ["a", "a"]},
        ["tags: expected at most 1 item of the required kind; found an array"],
    ),
    (
        "minProperties",
        {"labels": {"minProperties": 1}},
        {"labels": {}},
        ["labels: expected at least 1 property; found 0 properties"],
    ),
    (
        "maxProperties",
        {"labels": {"maxProperties": 1}},
        {"labels": {"a": 1, "b": 2}},
        ["labels: expected at most 1 property; found 2 properties"],
    ),
    (
        "propertyNames",
        {"labels": {"propertyNames": {"maxLength": 1}}},
        {"labels": {"long": 1}},
        ["labels: expected property names of the required kind; found an object"],
    ),
    (
        "additionalProperties",
        {
            "type": "object",
            "properties": {"title": {}, "body": {}},
            "additionalProperties": False,
        },
        {"titel": 1},
        ["the arguments: unexpected property; allowed are 'title', 'body'; the closest is 'title'"],
    ),
    (
        "additionalProperties",
        {"type": "object", "additionalProperties": False},
        {"a": 1, "b": 2},
        ["the arguments: 2 unexpected properties; none is allowed"],
    ),
    (
        "unevaluatedProperties",
        {"type": "object", "allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        {"a": 1, "b": 2},
        ["the arguments: unexpected property"],
    ),
    (
        "anyOf",
        {"n": {"anyOf": [{"const": "auto"}, {"type": "integer"}]}},
        {"n": "aut"},
        ["n: expected 'auto' or an integer; found another string; the closest is 'auto'"],
    ),
    (
        "anyOf",
        {"who": {"anyOf": [PERSON, FIRM]}},
        {"who": {"kind": "firm", "name": 5}},
        ["who.name: expected a string; found an integer"],
    ),
    (
        "anyOf",
        {"look": {"anyOf": [PAINT, SEARCH]}},
        {"look": {"color": "rd"}},
        ["look.color: expected one of 'red', 'blue'; found another string; the closest is 'red'"],
    ),
    (
        "oneOf",
        {"n": {"oneOf": [{"type": "integer"}, {"minimum": 0}]}},
        {"n": 5},
        ["n: expected what fits exactly one of the allowed forms; found an integer"],
    ),
    (
        "not",
        {"n": {"not": STRING}},
        {"n": "x"},
        ["n: expected anything but a form that the schema excludes; found a string"],
    ),
    (
        "false",
        {"n": {"type": "object", "properties": {"old": False}}},
        {"n": {"old": 1}},
        ["n: found what the schema never allows; leave it out"],
    ),
    (
        "an open object",
        {"scores": {"additionalProperties": {"type": "integer"}}},
        {"scores": {"first team": "x"}},
        ["scores['first team']: expected an integer; found a string"],
    ),
    (
        "an enum's own type",
        {"unit": {"type": "string", "enum": ["m", "km"]}},
        {"unit": 5},
        ["unit: expected one of 'm', 'km'; found an integer"],
    ),
    (
        "a sensitive field",
        {"pin": {"type": "string", "writeOnly": True, "minLength": 4, "pattern": "^[0-9]+$"}},
        {"pin": "abc"},
        [
            "pin: expected at least 4 characters",
            "pin: not as the tool's schema asks; the field is sensitive, so no more is told",
        ],
    ),
    (
        "several",
        {
            "type": "object",
            "properties": {
                "n": {"minimum": 1},
                "unit": {"enum": ["m", "km"]},
                "due": {"format": "date"},
            },
            "required": ["title"],
        },
        {"n": 0, "unit": "mm", "due": "soon"},
        [
            "the arguments: missing required 'title'",
            "unit: expected one of 'm', 'km'; found another string; the closest is 'm'",
            "n: expected at least 1; found a number that is too small",
            "and 1 more",
        ],
    ),
    (
        "the same in every item",
        {"lines": LINES, "n": {"maximum": 5}},
        {"lines": [{"price": "1"}] * 100, "n": 6},
        [
            "lines[0].price: expected a number; found a string",
            "n: expected at most 5; found a number that is too large",
            "lines[1].price: expected a number; found a string",
            "and at least 17 more",
        ],
    ),
]


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a row: it may give the properties alone."""
    return schema if "type" in schema else {"type": "object", "properties": schema}


@pytest.mark.parametrize(("keyword", "schema", "args", "lines"), TABLE)
def test_the_text_of_a_mistake(
    keyword: str, schema: dict[str, Any], args: Any, lines: list[str]
) -> None:
    """Every line of the table is what the model reads, whole and in order."""
    text = answer({"tool": whole(schema)}, "tool", args)
    assert text == "\n".join([INVALID, *(f"- {line}" for line in lines), AGAIN]), keyword
    assert len(text) <= MAX_CHARACTERS


def markdown() -> str:
    """The table as the page shows it."""
    rows = ["| keyword | schema | arguments | the model reads |", "| --- | --- | --- | --- |"]
    for keyword, schema, args, lines in TABLE:
        shown = [_cell(json.dumps(schema)), _cell(json.dumps(args)), *map(_cell, lines)]
        rows.append(f"| {keyword} | {shown[0]} | {shown[1]} | {'<br>'.join(shown[2:])} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    short = text if len(text) <= 200 else f"{text[:100]} … {text[-60:]}"
    return f"`{short.replace('|', chr(92) + '|')}`"


def page(path: Path = PAGE) -> tuple[str, str, str]:
    """A page's text before its table, the table, and the text after it."""
    before, _, rest = path.read_text(encoding="utf-8").partition("<!-- golden texts -->\n")
    table, _, after = rest.partition("\n<!-- end -->\n")
    return before, table, after


def test_the_page_shows_the_table() -> None:
    """`docs/wording.md` has these very rows: `python -m tests.test_wording` writes them anew."""
    assert page()[1] == f"\n{markdown()}\n"


class Priority(StrEnum):
    LOW = "low"
    HIGH = "high"


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["person"]
    age: int


class Firm(BaseModel):
    kind: Literal["firm"]
    name: str


Nested = RootModel[dict[str, int]]
OBJECT = {"type": "object"}
NULL = {"type": "null"}
CLOSED_PERSON = {**PERSON, "additionalProperties": False}

SAME: dict[str, tuple[Any, dict[str, Any], Any]] = {
    # the annotation of `v`, the schema that says the same, and a value that both refuse
    "integer": (int, {"type": "integer"}, "x"),
    "integer or null": (int | None, {"anyOf": [{"type": "integer"}, NULL]}, "x"),
    "number": (float, {"type": "number"}, []),
    "string": (str, STRING, 5),
    "boolean": (bool, {"type": "boolean"}, "?"),
    "null": (None, NULL, 5),
    "array": (list[str], {"type": "array", "items": STRING}, "a"),
    "array or null": (
        list[str] | None,
        {"anyOf": [{"type": "array", "items": STRING}, NULL]},
        {},
    ),
    "item": (list[str], {"type": "array", "items": STRING}, ["a", 5]),
    "pair": (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, STRING]},
        ["x", "y"],
    ),
    "object": (Person, PERSON, 5),
    "object or null": (Person | None, {"anyOf": [PERSON, NULL]}, 5),
    "open object": (
        Nested,
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a b": "x"},
    ),
    "missing": (Person, PERSON, {"kind": "person"}),
    "missing, both": (Person, PERSON, {}),
    "missing in an item": (
        list[Person | None],
        {"type": "array", "items": {"anyOf": [PERSON, NULL]}},
        [{}],
    ),
    "extra": (Person, CLOSED_PERSON, {"kind": "person", "age": 1, "agee": 2}),
    "enum": (Priority, {"type": "string", "enum": ["low", "high"]}, "hihg"),
    "enum, another type": (Priority, {"type": "string", "enum": ["low", "high"]}, 5),
    "enum or null": (
        Priority | None,
        {"anyOf": [{"type": "string", "enum": ["low", "high"]}, NULL]},
        "x",
    ),
    "literal": (Literal["a", 3, "it's"], {"enum": ["a", 3, "it's"]}, "b"),
    "literal or null": (
        Literal["a", "b"] | None,
        {"anyOf": [{"type": "string", "enum": ["a", "b"]}, NULL]},
        7,
    ),
    "one literal": (Literal["on"], {"type": "string", "const": "on"}, "off"),
    "union by tag": (Person | Firm, {"anyOf": [PERSON, FIRM]}, {"kind": "firm", "name": 5}),
    "types": (int | list[int], {"anyOf": [{"type": "integer"}, {"type": "array"}]}, {}),
    "types or null": (
        int | list[int] | None,
        {"anyOf": [{"type": "integer"}, {"type": "array"}, NULL]},
        {},
    ),
    "date": (dt.date, {"type": "string", "format": "date"}, "soon"),
    "date or null": (
        dt.date | None,
        {"anyOf": [{"type": "string", "format": "date"}, NULL]},
        "soon",
    ),
    "date, another type": (dt.date, {"type": "string", "format": "date"}, []),
    "date or null, another type": (
        dt.date | None,
        {"anyOf": [NULL, {"type": "string", "format": "date"}]},
        [],
    ),
    "date and time": (AwareDatetime, {"type": "string", "format": "date-time"}, "soon"),
    "uuid": (uuid.UUID, {"type": "string", "format": "uuid"}, "x"),
    "too small": (Annotated[float, Field(gt=0)], {"exclusiveMinimum": 0}, 0),
    "too large": (Annotated[int, Field(le=5)], {"maximum": 5}, 6),
    "no multiple": (Annotated[int, Field(multiple_of=2)], {"multipleOf": 2}, 3),
    "too short": (Annotated[str, Field(min_length=3)], {"minLength": 3}, "a"),
    "too long": (Annotated[str, Field(max_length=1)], {"maxLength": 1}, "abc"),
    "secret": (SecretStr, {"type": "string", "writeOnly": True}, 5),
    "secret, too short": (
        Annotated[SecretStr, Field(min_length=8)],
        {"type": "string", "writeOnly": True, "minLength": 8},
        "abc",
    ),
    "pattern": (Annotated[str, Field(pattern="^[a-z]+$")], {"pattern": "^[a-z]+$"}, "A"),
    "too few": (Annotated[list[int], Field(min_length=1)], {"minItems": 1}, []),
    "too many": (Annotated[list[int], Field(max_length=1)], {"maxItems": 1}, [1, 2]),
    "too few properties": (
        Annotated[dict[str, int], Field(min_length=1)],
        {"minProperties": 1},
        {},
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_a_model_class_words_a_mistake_as_its_schema_does(case: str) -> None:
    """Whoever judges, pydantic or JSON Schema, the model reads the same text."""
    annotation, schema, value = SAME[case]
    model = create_model("Tool", v=(annotation, ...))
    plain = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    text = answer({"tool": model}, "tool", {"v": value})
    assert text == answer({"tool": plain}, "tool", {"v": value})
    assert len(body(text)) == 1
    assert text == answer({"tool": model.model_json_schema()}, "tool", {"v": value})


class Span(Enum):
    DAY = (0, 24)


def refuse(value: str) -> str:
    raise ValueError(f"{value} is not known")


Address = Annotated[str, AfterValidator(refuse), Field(json_schema_extra={"format": "email"})]
OWN: list[tuple[Any, Any, str]] = [
    # what only pydantic can refuse: the annotation of `v`, a value, and the line
    (Address, "Bob", f"v: expected {DESCRIPTIONS['email']}; found a string in another form"),
    (Address, "bob@example.com", "v: refused by the tool's own check; found a string"),
    (Span, [0, 7], "v: expected one of (0, 24); found an array"),
]


@pytest.mark.parametrize(("annotation", "value", "line"), OWN)
def test_what_a_model_class_alone_refuses(annotation: Any, value: Any, line: str) -> None:
    """A format that its own code checks is told, anything else of its own is not repeated."""
    model = create_model("Tool", v=(annotation, ...))
    assert body(answer({"tool": model}, "tool", {"v": value})) == [line]


class Paint(BaseModel):
    color: Literal["red", "blue"]


class Search(BaseModel):
    q: str


class Child(BaseModel):
    kind: Literal["person", "child"]
    age: int


class Shop(BaseModel):
    kind: Literal["firm", "shop"]
    name: str


CLOSEST = "v.color: expected one of 'red', 'blue'; found another string; the closest is 'red'"


@pytest.mark.parametrize(
    ("annotation", "value", "line"),
    [
        (Paint | Search, {"color": "rd"}, CLOSEST),
        (Search | Paint, {"color": "rd"}, CLOSEST),
        (Paint | Search | None, {"q": 5}, "v.q: expected a string; found an integer"),
        (Child | Shop, {"kind": "child", "name": "x"}, "v: missing required 'age'"),
        (Literal["a"] | Paint, "b", "v: expected 'a'; found another string"),
        (dict[Literal["a"] | int, int], {"zz": 1}, None),
    ],
)
def test_a_model_class_tells_a_failed_union_by_its_likeliest_branch(
    annotation: Any, value: Any, line: str | None
) -> None:
    """As its schema does: by the type, the tag, then the properties that are there."""
    model = create_model("Tool", v=(annotation, ...))
    told = body(answer({"tool": model}, "tool", {"v": value}))
    assert len(told) == 1 if line is None else told == [line]


OFFER = ["create_ticket", "search", "Read"]
TOOLS: list[tuple[list[str], str | None, list[str]]] = [
    # what is offered, what is called, and each line of the answer
    ([], "search", ["no tool has that name; no tools are offered"]),
    (OFFER, None, ["no tool has that name; the tools are 'Read', 'create_ticket', 'search'"]),
    (
        OFFER,
        "createTicket",
        [
            (
                "no tool has that name; the tools are 'Read', 'create_ticket', 'search'; "
                "the closest is 'create_ticket'"
            )
        ],
    ),
    (
        OFFER,
        "READ",
        [
            (
                "no tool has that name; the tools are 'Read', 'create_ticket', 'search'; "
                "the closest is 'Read'"
            )
        ],
    ),
    (OFFER, "x" * 600, ["no tool has that name; the tools are 'Read', 'create_ticket', 'search'"]),
    (
        [f"{'a_rather_long_name_of_a_tool_that_has_a'}_{number:03}" for number in range(200)],
        "search",
        [
            "no tool has that name; the tools are "
            + ", ".join(["'a_rather_long_name_of_a_tool_that_has_a_'…"] * 8)
            + " and 192 more"
        ],
    ),
]


@pytest.mark.parametrize(("offered", "name", "lines"), TOOLS)
def test_the_text_of_an_unknown_tool(
    offered: list[str], name: str | None, lines: list[str]
) -> None:
    """The tools are named as far as there is room, and the closest one."""
    text = answer(dict.fromkeys(offered, OBJECT), name, {})
    assert text == "\n".join([UNKNOWN, *(f"- {line}" for line in lines), OFFERED])
    assert len(text) <= MAX_CHARACTERS


PATHS: list[tuple[tuple[str | int, ...], str]] = [
    ((), "the arguments"),
    (("title",), "title"),
    (("items", 2, "price"), "items[2].price"),
    (("größe", "first-name", "a.b"), "größe['first-name']['a.b']"),
    (("", 0), "[''][0]"),
    (("it's",), '["it\'s"]'),
    (("a\nb\x00\u202e",), r"['a\nb\x00\u202e']"),
    (("\ud800",), r"['\ud800']"),
    (("x" * 41,), f"['{'x' * 40}'…]"),
    (("\n" * 41,), f"['{chr(92)}n{(chr(92) + 'n') * 19}'…]"),
    (("level",) * 30, "level….level.level.level.level.level.level.level.level"),
    (("a" * 40, 0, "b" * 40), f"{'a' * 40}….{'b' * 40}"),
    (("a" * 40, "b" * 40), f"{'a' * 40}.{'b' * 40}"),
]


@pytest.mark.parametrize(("path", "text"), PATHS)
def test_a_path_is_written_as_code(path: tuple[str | int, ...], text: str) -> None:
    """Names that are none in code are quoted in one line; what is long is cut."""
    assert where(path) == text


def test_the_table_has_every_keyword() -> None:
    """Whatever keyword has words of its own has a text above."""
    from finalcall.tools import violations

    assert set(violations._EXPECTED) - {keyword for keyword, *_ in TABLE} == set()


def long_enum(name: str) -> dict[str, Any]:
    return {"enum": [f"{name} number {number}" for number in range(300)]}


REFERRED = {
    "$defs": {"paint": PAINT, "search": {"allOf": [SEARCH]}, "deep": {"$ref": "#/$defs/paint"}}
}
UNIONS: dict[str, tuple[list[Any], Any, str]] = {
    # a wrong value of the one property that is there, against one that is missing
    "references": (
        [{"$ref": "#/$defs/deep"}, {"$ref": "#/$defs/search"}],
        {"color": "rd"},
        "look.color: expected one of 'red', 'blue'; found another string; the closest is 'red'",
    ),
    "the other order": (
        [{"$ref": "#/$defs/search"}, {"$ref": "#/$defs/paint"}],
        {"color": "rd"},
        "look.color: expected one of 'red', 'blue'; found another string; the closest is 'red'",
    ),
    "what is only in allOf": (
        [{"$ref": "#/$defs/paint"}, {"$ref": "#/$defs/search"}],
        {"q": 5},
        "look.q: expected a string; found an integer",
    ),
    # the tag says which, whatever else is missing
    "a tag of several members": (
        [
            {**PERSON, "properties": {"kind": {"enum": ["person", "child"]}, "age": {}}},
            {**FIRM, "properties": {"kind": {"enum": ["firm", "shop"]}, "name": {}}},
        ],
        {"kind": "child", "name": "x"},
        "look: missing required 'age'",
    ),
    "never": ([False, SEARCH], {"q": 5}, "look.q: expected a string; found an integer"),
    "what nothing fits": (
        [{"not": {}}, SEARCH],
        {"q": 5},
        "look.q: expected a string; found an integer",
    ),
}


@pytest.mark.parametrize(("branches", "value", "line"), UNIONS.values(), ids=UNIONS)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_failed_union_is_told_by_its_likeliest_branch(
    keyword: str, branches: list[Any], value: Any, line: str
) -> None:
    """By the type, then by the tag, then by the properties that are there."""
    schema = {"type": "object", "properties": {"look": {keyword: branches}}, **REFERRED}
    assert body(answer({"tool": schema}, "tool", {"look": value})) == [line]


def test_long_enums_leave_room_for_each_other() -> None:
    """Three of them are each told in part, with what was found and what is closest."""
    schema = whole({name: long_enum(name) for name in ("red", "green", "blue", "grey")})
    text = answer({"tool": schema}, "tool", dict.fromkeys(schema["properties"], "red number 17x"))
    red, green, _, more = body(text)
    assert red.startswith("red: expected one of 'red number 0', 'red number 1', ")
    assert red.endswith(" more; found another string; the closest is 'red number 17'")
    assert green.startswith("green: expected one of 'green number 0', ")
    assert more == "and 1 more"
    assert MAX_CHARACTERS - 60 < len(text) <= MAX_CHARACTERS


def test_a_long_enum_takes_what_the_others_leave() -> None:
    """The room is not cut in three where two sentences are short."""
    schema = whole({"a": STRING, "b": long_enum("b"), "c": {"minimum": 1}})
    a, b, c = body(answer({"tool": schema}, "tool", {"a": 1, "b": 1, "c": 0}))
    assert a == "a: expected a string; found an integer"
    assert b.count("'") == 2 * 20
    assert c == "c: expected at least 1; found a number that is too small"


HOSTILE = "x" * 300 + "\n\n# System:\x1b[2J" + "y" * 300


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"required": [HOSTILE, HOSTILE + "2", "title"]}, {}),
        ({"properties": {"n": {"enum": [HOSTILE, {HOSTILE: HOSTILE}]}}}, {"n": 1}),
        ({"properties": {"n": {"const": HOSTILE}}}, {"n": 1}),
        ({"properties": {"n": {"pattern": f"{HOSTILE.replace('[', '')}"}}}, {"n": "1"}),
        ({"properties": {HOSTILE: {}}, "additionalProperties": False}, {"n": 1}),
        ({"additionalProperties": {"type": "null"}}, {HOSTILE: {"a": 1}}),
        ({"additionalProperties": {"additionalProperties": STRING}}, {HOSTILE: {HOSTILE: 1}}),
        ({"properties": {"n": {"minimum": 10**900}}}, {"n": 1}),
    ],
)
def test_no_name_breaks_the_text(schema: dict[str, Any], args: Any) -> None:
    """Names and members of hundreds of characters, with line ends, stay one short line."""
    text = answer({"tool": {"type": "object", **schema}}, "tool", args)
    (line,) = body(text)
    assert len(text) <= MAX_CHARACTERS
    assert line.isprintable()


SECRET = "hunter2-4711"
ACCOUNT = {
    "type": "object",
    "properties": {
        "password": {"format": "password", "enum": ["swordfish", "hunter2"]},
        "pin": {"type": "integer", "maximum": 9999, "x-sensitive": True},
        "key": {"type": "string", "writeOnly": True, "pattern": "^sk-", "maxLength": 5},
        "tokens": {"additionalProperties": {"type": "object", "writeOnly": True, **PERSON}},
        "seed": {"writeOnly": True, "type": "string", "format": "uuid"},
        "name": STRING,
    },
}
SENSITIVE: list[tuple[Any, list[str]]] = [
    ({"password": "hunter"}, ["password: {withheld}"]),
    ({"password": 5}, ["password: {withheld}"]),
    ({"pin": 12345}, ["pin: {withheld}"]),
    ({"pin": "x"}, ["pin: expected an integer; found a string"]),
    ({"key": "sk-1234"}, ["key: expected at most 5 characters"]),
    ({"key": "1"}, ["key: {withheld}"]),
    ({"seed": "1"}, ["seed: expected a UUID like 123e4567-e89b-12d3-a456-426614174000; {found}"]),
    ({"tokens": {"a": {}}}, ["tokens.a: missing required 'kind', 'age'"]),
    ({"tokens": {"a": {"kind": "persn", "age": "x"}}}, ["tokens.a: {withheld}"]),
    (
        {"name": 1, "tokens": {"a": 1}},
        [
            "name: expected a string; found an integer",
            "tokens.a: expected an object; found an integer",
        ],
    ),
]


@pytest.mark.parametrize(("args", "lines"), SENSITIVE)
def test_little_is_told_of_a_sensitive_field(args: Any, lines: list[str]) -> None:
    """No members, patterns or bounds, no hint, no length of what was found, nothing inside."""
    words = {
        "withheld": "not as the tool's schema asks; the field is sensitive, so no more is told",
        "found": "found a string in another form",
    }
    assert body(answer({"tool": ACCOUNT}, "tool", args)) == [
        line.format_map(words) for line in lines
    ]


PIN = {"properties": {"pin": {"x-sensitive": True}}}
PIN_ALONE = {"type": "object", **PIN}
HOLDERS: dict[str, tuple[Any, Any]] = {
    "const": ({"o": {**PIN, "const": {"pin": SECRET}}}, {"o": {"pin": "x"}}),
    "enum": ({"o": {**PIN, "enum": [{"pin": SECRET}, None]}}, {"o": {"pin": "x"}}),
    "a list": (
        {"o": {"items": PIN, "const": [{"pin": SECRET}]}},
        {"o": []},
    ),
    "far above": (
        {"o": {"properties": {"p": PIN}, "const": {"p": {"pin": SECRET}}}},
        {"o": {"p": {}}},
    ),
    "a union": (
        {"o": {**PIN, "anyOf": [{"const": {"pin": SECRET}}, {"type": "integer"}]}},
        {"o": {"pin": "x"}},
    ),
}


@pytest.mark.parametrize(("properties", "args"), HOLDERS.values(), ids=HOLDERS)
def test_what_holds_a_sensitive_field_is_not_spelled_out(properties: Any, args: Any) -> None:
    """Its members and constants hold the field's value."""
    schema = {"type": "object", "properties": properties}
    text = answer({"tool": schema}, "tool", args)
    told = "not as the tool's schema asks; a field of it is sensitive, so no more is told"
    assert body(text) == [f"o: {told}"]
    assert SECRET not in repr(ToolSet({"tool": schema}).check("tool", args))


@pytest.mark.parametrize("keyword", ["const", "enum"])
def test_arguments_that_hold_a_sensitive_field_are_not_spelled_out(keyword: str) -> None:
    """Not at the root either."""
    whole: Any = {"pin": SECRET}
    schema = {"type": "object", **PIN, keyword: whole if keyword == "const" else [whole]}
    assert SECRET not in answer({"tool": schema}, "tool", {"pin": "x"})


def test_a_plain_member_beside_a_sensitive_field_is_told() -> None:
    """It holds nothing of the field."""
    schema = {"type": "object", "properties": {"o": {"anyOf": [{"const": "none"}, PIN_ALONE]}}}
    assert body(answer({"tool": schema}, "tool", {"o": "non"})) == [
        "o: expected 'none' or an object; found another string; the closest is 'none'"
    ]


def test_violations_of_a_sensitive_field_hold_no_members() -> None:
    """What is withheld from the text is not in the values either."""
    (error,) = ToolSet({"tool": ACCOUNT}).check("tool", {"password": "hunter"}).errors
    assert (error.path, error.keyword, error.expected) == (("password",), "enum", None)


def test_what_is_known_of_many_violations_is_a_lower_bound() -> None:
    """A call's violations are cut at a number: the text does not claim that these are all."""
    violation = Violation((), "type", "object", "expected an object; found null")
    for known, said in ((3, None), (4, "and 1 more"), (MAX_VIOLATIONS, "and at least 17 more")):
        text = answer_for(SchemaError(None, "tool", None, (violation,) * known)).content
        assert body(str(text))[MAX_TOLD:] == ([said] if said else [])


def test_a_long_sentence_without_members_is_cut_at_its_end() -> None:
    """Violations of a user's own making may say anything."""
    for expected in (None, ["a"], "a"):
        violation = Violation(("n",), "custom", expected, "no\n" * 400)
        text = str(answer_for(SchemaError(None, "tool", {}, (violation,) * 3)).content)
        assert len(text) <= MAX_CHARACTERS
        assert {line[-1] for line in body(text)} == {"…"}


NOT_RUN = [
    # names of the invalid calls, and those told
    (["create_ticket"], "'create_ticket'"),
    (["a", "b", "a", None], "'a', 'b', ''"),
    ([HOSTILE], f"'{'x' * 40}'…"),
    ([f"tool_{number}" for number in range(100)], "'tool_0', 'tool_1'"),
]


@pytest.mark.parametrize(("names", "told"), NOT_RUN)
def test_the_text_of_a_sibling_that_was_not_run(names: list[str | None], told: str) -> None:
    """It is told that it was right, why it was not run, and to come again."""
    result = not_run(SchemaError(None, name, {}, ()) for name in names)
    assert result.is_error
    text = str(result.content)
    first, last = text.split("\n")
    assert first.startswith(
        f"Not run: this call is valid, but not every call of the message is (invalid: {told}"
    )
    assert last == "Make this call again, unchanged, together with the corrected ones."
    assert len(text) <= MAX_CHARACTERS


def spoiled(value: Any) -> Any:
    """Put the secret into every text."""
    if isinstance(value, list):
        return [spoiled(item) for item in value]
    if isinstance(value, dict):
        return {key: spoiled(item) for key, item in value.items()}
    return f"{SECRET}{value}" if isinstance(value, str) else value


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(SCHEMAS, VALUES)
def test_no_text_is_long_or_repeats_a_value(schema: Any, value: Any) -> None:
    """Whatever the schema and whatever the model wrote."""
    args = {"v": spoiled(value)}
    errors = ToolSet({"tool": {"properties": {"v": schema}}}).check("tool", args).errors
    if not errors:
        return
    text = str(answer_for(SchemaError(None, "tool", args, errors)).content)
    assert len(text) <= MAX_CHARACTERS
    assert SECRET not in text
    assert 1 <= len([line for line in body(text) if not line.startswith("and ")]) <= MAX_TOLD


TEXTS = st.text(max_size=60) | st.text(max_size=5).map(lambda text: text * 200)
VIOLATIONS = st.builds(
    Violation,
    st.lists(TEXTS | st.integers(0), max_size=5).map(tuple),
    st.sampled_from(["type", "enum", "unknown_tool", "schema", "custom"]),
    st.none() | st.lists(TEXTS, max_size=5),
    TEXTS,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VIOLATIONS, min_size=1, max_size=8))
def test_any_violations_make_a_short_text_in_lines(violations: list[Violation]) -> None:
    """Paths, members and sentences of any length and of any characters."""
    text = str(answer_for(SchemaError(None, None, None, tuple(violations))).content)
    assert len(text) <= MAX_CHARACTERS
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(body(text)) == min(len(violations), MAX_TOLD) + (len(violations) > MAX_TOLD)


if __name__ == "__main__":
    before, _, after = page()
    PAGE.write_text(
        f"{before}<!-- golden texts -->\n\n{markdown()}\n\n<!-- end -->\n{after}", encoding="utf-8"
    )
