"""Model classes and typed callables as tools: pydantic decides and parses."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    field_validator,
)
from pydantic_core import PydanticCustomError

from finalcall.tools import ToolSet


class Priority(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


class User(BaseModel):
    kind: Literal["user"]
    id: int


class Team(BaseModel):
    kind: Literal["team"]
    name: str


class Ticket(BaseModel):
    """Opens a ticket."""

    model_config = ConfigDict(extra="forbid", title="New ticket")

    title: Annotated[str, Field(min_length=3, max_length=8, pattern="^[a-z]+$")]
    priority: Priority = Priority.LOW
    level: Literal["info", "error"] = "info"
    mixed: Literal["auto", 3] = "auto"
    count: Annotated[int, Field(gt=0, le=5, multiple_of=2)] = 2
    ratio: Annotated[float, Field(ge=0.5, lt=1)] = 0.5
    tags: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    due: dt.date | None = None
    at: AwareDatetime | None = None
    clock: dt.time | None = None
    within: dt.timedelta | None = None
    id: uuid.UUID | None = None
    link: AnyUrl | None = None
    flag: bool = False
    owner: User | Team | None = None
    tagged: Annotated[User | Team, Field(discriminator="kind")] | None = None
    number: int | list[int] = 0
    either: Annotated[
        Annotated[User, Tag("u")] | Annotated[Team, Tag("t")], Discriminator(lambda _: "x")
    ] = User(kind="user", id=1)
    twice: list[int | list[User | Team]] = []
    scores: dict[str, int] = {}
    nested: list[User] = []
    checked: str = ""
    password: SecretStr | None = None
    accounts: dict[str, SecretStr] = {}

    @field_validator("checked")
    @classmethod
    def check(cls, value: str) -> str:
        if value == "custom":
            raise PydanticCustomError("too_rude", "rude: {value}", {"value": value})
        if value == "broken":
            raise KeyError(value)
        if value:
            raise ValueError(f"not {value}")
        return value


class StrictModel(BaseModel):
    model_config = ConfigDict(strict=True)

    day: dt.date
    id: uuid.UUID
    priority: Priority
    names: set[str]
    by_number: dict[int, str] = {}


TICKETS = ToolSet([Ticket])


def test_a_model_class_is_named_and_described_by_itself() -> None:
    """The title is for people, secrets are known, and the schema is the model's."""
    (tool,) = TICKETS
    assert (tool.name, tool.description, tool.label) == ("Ticket", "Opens a ticket.", "New ticket")
    assert tool.schema == Ticket.model_json_schema()
    assert tool.sensitive == {("password",), ("accounts", "*")}
    assert TICKETS.to("anthropic")[0]["input_schema"] == Ticket.model_json_schema()
    assert TICKETS.to("mcp")[0]["title"] == "New ticket"
    (plain,) = ToolSet([User])
    assert (plain.label, plain.description) == ("User", "")


def test_right_arguments_are_parsed_into_the_model() -> None:
    """The model instance is what `model_validate_json` gives."""
    args = {"title": "abc", "due": "2026-01-31", "owner": {"kind": "team", "name": "x"}}
    check = TICKETS.check("Ticket", args)
    assert check.errors == ()
    assert check.parsed == Ticket.model_validate_json(json.dumps(args))


def test_a_strict_model_takes_dates_and_sets_from_json() -> None:
    """As Python objects the same arguments would be refused."""
    args = {
        "day": "2026-01-31",
        "id": "123e4567-e89b-12d3-a456-426614174000",
        "priority": "low",
        "names": ["a"],
        "by_number": {"1": "one"},
    }
    assert isinstance(ToolSet([StrictModel]).check("StrictModel", args).parsed, StrictModel)
    with pytest.raises(pydantic.ValidationError):
        StrictModel.model_validate(args)


def test_a_name_can_be_given_to_a_model() -> None:
    """In a mapping the key is the name, for models and callables alike."""
    tools = ToolSet({"open_ticket": Ticket, "look": search})
    assert tools.names == ("open_ticket", "look")
    assert tools.check("look", {"query": "x"}).parsed == {"query": "x", "order": 7}


GOOD: dict[str, Any] = {"title": "abc"}
WORDS: dict[str, tuple[dict[str, Any], tuple[str | int, ...], str, Any, str]] = {
    # what is wrong beside a good title: path, keyword, expected, message
    "missing": ({"title": None}, (), "required", ["title"], "missing required 'title'"),
    "missing, nested": (
        {"nested": [{"kind": "user"}]},
        ("nested", 0),
        "required",
        ["id"],
        "missing required 'id'",
    ),
    "string": (
        {"title": 5},
        ("title",),
        "type",
        "string",
        "expected a string; found an integer",
    ),
    "short": (
        {"title": "a"},
        ("title",),
        "minLength",
        3,
        "expected at least 3 characters; found 1 character",
    ),
    "long": (
        {"title": "a" * 9},
        ("title",),
        "maxLength",
        8,
        "expected at most 8 characters; found 9 characters",
    ),
    "pattern": (
        {"title": "ABC"},
        ("title",),
        "pattern",
        "^[a-z]+$",
        "expected text that matches the pattern ^[a-z]+$; found a string in another form",
    ),
    "enum": (
        {"priority": "hgh"},
        ("priority",),
        "enum",
        ["low", "high"],
        "expected one of 'low', 'high'; found another string; the closest is 'high'",
    ),
    "literal": (
        {"level": 5},
        ("level",),
        "enum",
        ["info", "error"],
        "expected one of 'info', 'error'; found an integer",
    ),
    "literals of two types": (
        {"mixed": "a"},
        ("mixed",),
        "enum",
        ["auto", 3],
        "expected one of 'auto', 3; found another string",
    ),
    "integer": (
        {"count": "many"},
        ("count",),
        "type",
        "integer",
        "expected an integer; found a string",
    ),
    "fraction": (
        {"count": 2.5},
        ("count",),
        "type",
        "integer",
        "expected an integer; found a number",
    ),
    "more": (
        {"count": 0},
        ("count",),
        "exclusiveMinimum",
        0,
        "expected more than 0; found a number that is too small",
    ),
    "at most": (
        {"count": 6},
        ("count",),
        "maximum",
        5,
        "expected at most 5; found a number that is too large",
    ),
    "multiple": (
        {"count": 3},
        ("count",),
        "multipleOf",
        2,
        "expected a multiple of 2; found another number",
    ),
    "at least": (
        {"ratio": 0.1},
        ("ratio",),
        "minimum",
        0.5,
        "expected at least 0.5; found a number that is too small",
    ),
    "less": (
        {"ratio": 2},
        ("ratio",),
        "exclusiveMaximum",
        1.0,
        "expected less than 1; found a number that is too large",
    ),
    "number": ({"ratio": []}, ("ratio",), "type", "number", "expected a number; found an array"),
    "boolean": ({"flag": "?"}, ("flag",), "type", "boolean", "expected a boolean; found a string"),
    "array": ({"tags": "a"}, ("tags",), "type", "array", "expected an array; found a string"),
    "few": (
        {"tags": []},
        ("tags",),
        "minItems",
        1,
        "expected at least 1 item; found 0 items",
    ),
    "many": (
        {"tags": ["a", "b", "c"]},
        ("tags",),
        "maxItems",
        2,
        "expected at most 2 items; found 3 items",
    ),
    "item": (
        {"tags": ["a", 5]},
        ("tags", 1),
        "type",
        "string",
        "expected a string; found an integer",
    ),
    "date": (
        {"due": "soon"},
        ("due",),
        "format",
        "date",
        "expected a date like 2026-01-31; found a string in another form",
    ),
    "date and time": (
        {"at": "2026-01-31T00:00:00"},
        ("at",),
        "format",
        "date-time",
        (
            "expected a date and time with an offset, like 2026-01-31T14:30:00Z; "
            "found a string in another form"
        ),
    ),
    "time": (
        {"clock": "2pm"},
        ("clock",),
        "format",
        "time",
        (
            "expected a time with seconds and an offset, like 14:30:00Z; "
            "found a string in another form"
        ),
    ),
    "duration": (
        {"within": "long"},
        ("within",),
        "format",
        "duration",
        "expected an ISO 8601 duration like PT1H30M; found a string in another form",
    ),
    "uuid": (
        {"id": "x"},
        ("id",),
        "format",
        "uuid",
        "expected a UUID like 123e4567-e89b-12d3-a456-426614174000; found a string in another form",
    ),
    "uri": (
        {"link": "x"},
        ("link",),
        "format",
        "uri",
        "expected an absolute URI like https://example.com/path; found a string in another form",
    ),
    "object": (
        {"scores": 5},
        ("scores",),
        "type",
        "object",
        "expected an object; found an integer",
    ),
    "value of an open object": (
        {"scores": {"k": "x"}},
        ("scores", "k"),
        "type",
        "integer",
        "expected an integer; found a string",
    ),
    "model": (
        {"nested": [5]},
        ("nested", 0),
        "type",
        "object",
        "expected an object; found an integer",
    ),
    "unexpected, nested in nothing": (
        {"levle": "info"},
        (),
        "additionalProperties",
        list(Ticket.model_fields),
        "unexpected property; allowed are "
        + ", ".join(f"'{name}'" for name in list(Ticket.model_fields)[:20])
        + " and 4 more; the closest is 'level'",
    ),
    "the branch that the tag tells": (
        {"owner": {"kind": "team", "name": 5}},
        ("owner", "name"),
        "type",
        "string",
        "expected a string; found an integer",
    ),
    "no branch": (
        {"owner": 5},
        ("owner",),
        "type",
        ["object", "null"],
        "expected an object or null; found an integer",
    ),
    "several types": (
        {"number": {}},
        ("number",),
        "type",
        ["integer", "array"],
        "expected an integer or an array; found an object",
    ),
    "tag": (
        {"tagged": {"kind": "tean", "name": "x"}},
        ("tagged", "kind"),
        "enum",
        ["user", "team"],
        "expected one of 'user', 'team'; found another string; the closest is 'team'",
    ),
    "no tag": (
        {"tagged": {"name": "x"}},
        ("tagged",),
        "required",
        ["kind"],
        "missing required 'kind'",
    ),
    "under a tag": (
        {"tagged": {"kind": "user", "id": "x"}},
        ("tagged", "id"),
        "type",
        "integer",
        "expected an integer; found a string",
    ),
    "a tag that is computed": (
        {"either": {"kind": "user", "id": 1}},
        ("either",),
        "enum",
        ["u", "t"],
        "expected one of 'u', 't'; found an object",
    ),
    "a branch in a branch": (
        {"twice": [[{"kind": "user", "id": "x"}]]},
        ("twice", 0, 0, "id"),
        "type",
        "integer",
        "expected an integer; found a string",
    ),
    "the tool's own check": (
        {"checked": "me"},
        ("checked",),
        "value_error",
        None,
        "refused by the tool's own check; found a string",
    ),
    "the tool's own error": (
        {"checked": "custom"},
        ("checked",),
        "too_rude",
        None,
        "refused by the tool's own check; found a string",
    ),
    "a check that breaks": (
        {"checked": "broken"},
        (),
        "validator_error",
        None,
        "the arguments could not be checked (KeyError)",
    ),
}


@pytest.mark.parametrize("case", WORDS)
def test_an_error_of_pydantic_is_told_in_the_same_words(case: str) -> None:
    """One violation, at its true place in the arguments, and nothing parsed."""
    wrong, *expected = WORDS[case]
    args = {key: value for key, value in {**GOOD, **wrong}.items() if value is not None}
    check = TICKETS.check("Ticket", args)
    assert [[e.path, e.keyword, e.expected, e.message] for e in check.errors] == [expected]
    assert check.parsed is None


def test_what_leads_to_further_faults_comes_first() -> None:
    """By keyword, then shallow before deep, as for plain schemas."""
    check = TICKETS.check("Ticket", {"nested": [{"kind": "user"}], "flag": "?", "x": 1})
    assert [(e.path, e.keyword) for e in check.errors] == [
        ((), "required"),
        (("nested", 0), "required"),
        (("flag",), "type"),
        ((), "additionalProperties"),
    ]


SECRET = "hunter2-4711"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(SECRET),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["kind", "id", "name", SECRET]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*Ticket.model_fields, SECRET]), ANYTHING, max_size=5))
def test_no_violation_repeats_what_the_model_wrote(args: dict[str, Any]) -> None:
    """Not even where the tool's own check quotes it; every expectation can be sent as JSON."""
    check = TICKETS.check("Ticket", args)
    assert bool(check.errors) == (check.parsed is None)
    for error in check.errors:
        assert SECRET not in f"{error.message}{error.expected}{error!r}"
        assert json.loads(json.dumps(error.expected)) == error.expected


# -- callables ------------------------------------------------------------------------------------


def search(
    query: str,
    limit: Annotated[int, Field(ge=1, le=50, description="How many.")] = 10,
    *,
    since: dt.date | None = None,
    order: int = Field(7, description="Which first."),
    _deep: bool = False,
) -> tuple[Any, ...]:
    """Searches.

    In everything.
    """
    return query, limit, since, order, _deep


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


@pydantic.dataclasses.dataclass
class Checked:
    """A checked place."""

    x: Annotated[int, Field(ge=0)]


class Store:
    def put(self, key: str, *, value: Any) -> None:
        """Puts."""

    def __call__(self, key: str) -> None: ...


def test_a_function_is_described_by_its_signature() -> None:
    """Annotations make the schema; defaults are told and left to the function."""
    (tool,) = ToolSet([search])
    assert (tool.name, tool.description) == ("search", "Searches.\n\nIn everything.")
    assert tool.schema is not None
    assert tool.schema["required"] == ["query"]
    assert tool.schema["additionalProperties"] is False
    assert tool.schema["properties"]["limit"] == {
        "title": "Limit",
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "description": "How many.",
        "default": 10,
    }
    assert tool.schema["properties"]["order"]["default"] == 7


@pytest.mark.parametrize(
    ("args", "result"),
    [
        ({"query": "a"}, ("a", 10, None, 7, False)),
        ({"query": "a", "limit": "5", "order": 1}, ("a", 5, None, 1, False)),
        (
            {"query": "a", "since": "2026-01-31", "_deep": True},
            ("a", 10, dt.date(2026, 1, 31), 7, True),
        ),
    ],
)
def test_a_function_can_be_called_with_what_was_parsed(
    args: dict[str, Any], result: tuple[Any, ...]
) -> None:
    """Values have their annotated types; what was not given keeps the function's default."""
    check = ToolSet([search]).check("search", args)
    assert check.errors == ()
    assert search(**check.parsed) == result


@pytest.mark.parametrize(
    ("args", "keyword"),
    [
        ({}, "required"),
        ({"query": "a", "limit": 99}, "maximum"),
        ({"query": "a", "since": "soon"}, "format"),
        ({"query": "a", "self": 1}, "additionalProperties"),
    ],
)
def test_wrong_arguments_never_reach_a_function(args: dict[str, Any], keyword: str) -> None:
    """What the signature does not take is a violation."""
    check = ToolSet([search]).check("search", args)
    assert [error.keyword for error in check.errors] == [keyword]
    assert check.parsed is None


CALLABLES: dict[str, tuple[Any, str, dict[str, Any], Any]] = {
    # the callable, its name, arguments, and what is parsed of them
    "method": (Store().put, "put", {"key": "a", "value": [1]}, {"key": "a", "value": [1]}),
    "object that can be called": (Store(), "Store", {"key": "a"}, {"key": "a"}),
    "dataclass": (Point, "Point", {"x": "1"}, {"x": 1}),
    "pydantic dataclass": (Checked, "Checked", {"x": 1}, Checked(x=1)),
    "partial": (
        functools.partial(search, "fixed", since=None),
        "search",
        {"limit": 5},
        {"limit": 5, "order": 7},
    ),
}


@pytest.mark.parametrize("case", CALLABLES)
def test_whatever_can_be_called_by_name_is_a_tool(case: str) -> None:
    """Methods, objects, classes and partials."""
    item, name, args, parsed = CALLABLES[case]
    tools = ToolSet([item])
    assert tools.names == (name,)
    assert tools.check(name, args).parsed == parsed


def test_what_a_partial_has_bound_is_not_the_models_to_change() -> None:
    """The bound names are neither offered nor accepted."""
    tools = ToolSet([functools.partial(search, query="fixed")])
    (tool,) = tools
    assert tool.schema is not None
    assert "query" not in tool.schema["properties"]
    (error,) = tools.check("search", {"query": "other"}).errors
    assert error.keyword == "additionalProperties"


def untyped(query) -> None: ...
def positional(query: str, /) -> None: ...
def variadic(*queries: str) -> None: ...
def open_ended(**options: str) -> None: ...
def dangling(query: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037
def strange(query: Store) -> None: ...


class Broken(BaseModel):
    call: Callable[[], int]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (untyped, "'query' has no annotation"),
        (positional, "'query' is positional-only"),
        (variadic, "'queries' is variadic positional"),
        (open_ended, "'options' is variadic keyword"),
        (dangling, "'Missing' is not defined"),
        (strange, "Unable to generate pydantic-core schema"),
        (Broken, "Cannot generate a JsonSchema"),
        (print, "arguments are passed by name"),
    ],
)
def test_a_signature_that_cannot_be_offered_is_refused(item: Any, says: str) -> None:
    """The text names the tool and the parameter."""
    with pytest.raises(ValueError, match=rf"tool '\w+' has no usable schema: .*{says}"):
        ToolSet([item])


class _Inner(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper, populate_by_name=True)
    token: SecretStr
    again: _Inner | None = None


class _Secrets(BaseModel):
    password: SecretStr = Field(alias="pwd")
    pin: SecretStr = Field(validation_alias=AliasChoices("code", AliasPath("codes", 0, "pin")))
    deep: SecretStr = Field(validation_alias=AliasPath("box", "deep"))
    inner: _Inner = Field(alias="in")
    either: _Inner | int = 0
    user: str = Field(default="", alias="name")


def test_what_is_secret_is_so_under_all_its_names() -> None:
    """Names that pydantic takes, and those that it would refuse: a model may write any of them."""
    (made,) = ToolSet([_Secrets])
    inner = {(outer, name) for outer in ("in", "inner", "either") for name in ("token", "TOKEN")}
    assert inner <= made.sensitive
    assert {path for path in made.sensitive if path[0] not in ("in", "inner", "either")} == {
        *(("password",), ("pwd",), ("pin",), ("code",), ("codes", "*", "pin")),
        *(("deep",), ("box", "deep")),
    }


@dataclass
class _Login:
    password: Annotated[SecretStr, Field(alias="pwd")]


def test_a_parameter_and_a_dataclass_have_other_names_too() -> None:
    """Wherever pydantic has names, they are found."""

    def log_in(login: _Login, pin: Annotated[SecretStr, Field(alias="code")]) -> None: ...

    (made,) = ToolSet([log_in])
    assert made.sensitive == {("login", "password"), ("login", "pwd"), ("pin",), ("code",)}
