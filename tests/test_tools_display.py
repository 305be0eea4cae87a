"""What people see of a tool: its label, its fields in order, and what stays hidden."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from finalcall import Dispatchable, Tool, ToolSet, settle
from finalcall.testing import schema_error
from finalcall.tools import Display
from tests.messages import call, message_start, stopped

LOGIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "title": "Name"},
        "pin": {"type": "string", "enum": ["0000"]},
        "password": {"type": "string", "format": "password"},
        "open": True,
    },
}


def tool(display: Display | None = None, schema: dict[str, Any] = LOGIN) -> Tool:
    tools = ToolSet({"login": schema}, display=None if display is None else {"login": display})
    (only,) = tools
    return only


@pytest.mark.parametrize(
    ("field", "label"),
    [("user", "Name"), ("pin", "pin"), ("open", "open"), ("none", "none")],
)
def test_a_field_is_called_by_its_title(field: str, label: str) -> None:
    """Where it has none, its own name stands."""
    assert tool().label_of(field) == label


def test_a_tool_without_a_schema_has_names() -> None:
    """Free text, or a schema that the service defines."""
    (made,) = ToolSet([{"type": "custom", "name": "sql"}])
    assert made.label_of("input") == "input"


def test_a_schema_says_what_a_display_does_not() -> None:
    """A pydantic model brings its titles and secrets."""

    class Login(BaseModel):
        user: str = Field(title="Who")
        password: SecretStr

    (made,) = ToolSet([Login])
    assert (made.label, made.label_of("user"), made.fields) == ("Login", "Who", None)
    assert made.sensitive == {("password",)}


def test_a_display_adds_to_the_schema() -> None:
    """It renames, chooses and orders, and hides more; what the schema hides stays hidden."""
    made = tool(Display(label="Sign in", fields=["pin", "user"], sensitive=["pin", ("open", "*")]))
    assert made.label == "Sign in"
    assert list((made.fields or {}).items()) == [("pin", "pin"), ("user", "Name")]
    assert made.sensitive == {("password",), ("pin",), ("open", "*")}


def test_a_display_may_name_the_fields() -> None:
    """A mapping gives their order and what people call them."""
    names = {"pin": "PIN", "user": "Wer"}
    made = tool(Display(fields=names))
    names.clear()
    assert (made.label_of("pin"), made.label_of("user")) == ("PIN", "Wer")
    assert made.label == "login"


def test_other_tools_stay_as_they_are() -> None:
    """A display is of one tool, and changes nothing of what a provider is told."""
    tools = ToolSet({"login": LOGIN, "other": LOGIN}, display={"login": Display(label="Sign in")})
    assert [made.label for made in tools] == ["Sign in", "other"]
    assert tools.to("anthropic") == ToolSet({"login": LOGIN, "other": LOGIN}).to("anthropic")


def test_a_hidden_field_is_hidden_from_the_model_too() -> None:
    """A violation of it tells nothing that hangs on the value."""
    tools = ToolSet({"login": LOGIN}, display={"login": Display(sensitive=["pin"])})
    error = schema_error("login", {"pin": "S3NT1N3L"}, tools=tools)
    assert "S3NT" not in repr([(one.expected, one.message) for one in error.errors])
    assert "0000" not in repr([(one.expected, one.message) for one in error.errors])


def test_a_display_does_not_decide() -> None:
    """What is not shown is still an argument."""
    tools = ToolSet({"login": LOGIN}, display={"login": Display(fields=["user"])})
    stream = [message_start(), *call(0, arguments='{"pin": "0000"}', name="login"), *stopped()]
    (outcome,) = settle(stream, tools=tools).outcomes
    assert isinstance(outcome, Dispatchable)
    assert outcome.args == {"pin": "0000"}


@pytest.mark.parametrize(
    "display",
    [
        Display(sensitive=["pasword"]),
        Display(sensitive=[("pasword", "*")]),
        Display(fields=["pasword"]),
        Display(fields={"pasword": "Secret"}),
    ],
)
def test_a_misspelt_field_is_refused(display: Display) -> None:
    """It would leave in sight what it means to hide."""
    with pytest.raises(ValueError, match=r"'login' names 'pasword'; expected .*'password'"):
        tool(display)


class _Auth(BaseModel):
    token: str = Field(alias="tokenValue")


class _Session(BaseModel):
    auth: _Auth | None = None
    keys: list[_Auth] = Field(default_factory=list[_Auth])
    spare: dict[str, _Auth] = Field(default_factory=dict[str, _Auth])
    free: dict[str, Any] = Field(default_factory=dict[str, Any])
    notes: list[Any] = Field(default_factory=list[Any])
    name: str = ""


NESTED: dict[tuple[str, ...], str | None] = {
    ("auth", "tokenValue"): None,
    ("auth", "token"): None,
    ("auth", "tokn"): r"names 'tokn' in 'auth'; .*'tokenValue'",
    ("keys", "*", "tokenValue"): None,
    ("keys", "0", "tokenValue"): None,
    ("keys", "*", "tokn"): r"names 'tokn' in 'keys\.\*'; .*'tokenValue'",
    ("spare", "any", "tokn"): r"names 'tokn' in 'spare\.any'; .*'tokenValue'",
    ("free", "any", "more"): None,
    ("notes", "*", "x"): None,
    ("name", "first"): r"names 'first' in 'name'; .*it has none",
    ("name", "*"): None,
}


@pytest.mark.parametrize(("path", "refused"), NESTED.items(), ids=map(".".join, NESTED))
def test_a_path_is_checked_to_its_end(path: tuple[str, ...], refused: str | None) -> None:
    """A name that is misspelt further down would leave in sight what it means to hide."""
    display = {"_Session": Display(sensitive=[path])}
    if refused is None:
        (made,) = ToolSet([_Session], display=display)
        assert path in made.sensitive
    else:
        with pytest.raises(ValueError, match=refused):
            ToolSet([_Session], display=display)


def test_what_two_branches_refer_to_is_one_place() -> None:
    """A schema may describe a value more than once."""
    schema = {
        "type": "object",
        "properties": {"auth": {"anyOf": [{"$ref": "#/$defs/auth"}, {"$ref": "#/$defs/auth"}]}},
        "$defs": {"auth": {"type": "object", "properties": {"token": {}}}},
    }
    assert tool(Display(sensitive=[("auth", "token")]), schema).sensitive == {("auth", "token")}
    with pytest.raises(ValueError, match=r"names 'tokn' in 'auth'"):
        tool(Display(sensitive=[("auth", "tokn")]), schema)


def test_a_hidden_field_is_hidden_under_all_its_names() -> None:
    """The display names one of them."""
    display = {"_Session": Display(sensitive=[("auth", "token"), ("keys", "*", "tokenValue")])}
    (made,) = ToolSet([_Session], display=display)
    names = ("token", "tokenValue")
    assert made.sensitive == {
        *(("auth", name) for name in names),
        *(("keys", "*", name) for name in names),
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "allOf": [{"properties": {"pin": {}}}]},
        {"type": "object", "properties": {}, "patternProperties": {"^p": {}}},
    ],
    ids=["open", "combined", "by pattern"],
)
def test_a_field_that_may_be_anywhere_is_taken_at_its_word(schema: dict[str, Any]) -> None:
    """Only a plain list of properties says what there is not."""
    assert tool(Display(sensitive=["pin"]), schema).sensitive == {("pin",)}


def test_every_field_may_be_hidden() -> None:
    """`"*"` is any name, in a tool with properties too; the root itself is not refused."""
    assert tool(Display(sensitive=["*", ()])).sensitive >= {("*",), ()}


def test_a_tool_without_properties_has_nothing_to_name() -> None:
    """The refusal says so."""
    with pytest.raises(ValueError, match=r"\(it has none\)"):
        tool(Display(fields=["user"]), {"type": "object", "properties": {}})


@pytest.mark.parametrize("tools", [{}, {"login": LOGIN}])
def test_a_display_of_no_tool_is_refused(tools: dict[str, Any]) -> None:
    """A misspelt tool would be shown without its display."""
    with pytest.raises(ValueError, match=r"display names 'logn'; expected .*('login'|none)"):
        ToolSet(tools, display={"logn": Display(label="Sign in")})


@pytest.mark.parametrize("display", [Display(fields="user"), Display(sensitive="pin")])
def test_one_string_is_no_collection(display: Display) -> None:
    """Its letters would be taken for names."""
    with pytest.raises(TypeError, match=r"expected a tuple of their names, as \(name,\)"):
        tool(display)
