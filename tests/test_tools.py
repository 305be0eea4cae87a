"""The tool set as its users see it: names, checks, and what it refuses to be built of."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from finalcall.outcomes import Violation
from finalcall.tools import Check, ToolSet
from finalcall.tools.checks import installed_fast

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
NODE: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}


def only(check: Check) -> Violation:
    assert len(check.errors) == 1, check
    return check.errors[0]


def test_a_mapping_of_names_to_schemas_is_a_tool_set() -> None:
    """Names, membership, lookup, iteration and length are those of the mapping."""
    tools = ToolSet({"weather": CITY, "now": None})
    assert tools.names == ("weather", "now")
    assert len(tools) == 2
    assert "weather" in tools
    assert "wether" not in tools
    assert [tool.name for tool in tools] == ["weather", "now"]
    weather = tools.get("weather")
    assert weather is not None
    assert weather.schema == CITY
    assert (weather.kind, weather.label, weather.description) == ("function", "weather", "")
    assert tools.get("wether") is None
    assert tools.get(None) is None


def test_right_arguments_pass_without_a_word() -> None:
    """A plain schema has nothing to parse into."""
    assert ToolSet({"weather": CITY}).check("weather", {"city": "Brest"}) == Check((), None)


def test_an_unknown_name_is_answered_with_the_names_on_offer() -> None:
    """The closest name is told, the name that the model wrote is not."""
    error = only(ToolSet({"weather": CITY, "now": None}).check("wether", {"city": "x"}))
    assert (error.path, error.keyword, error.expected) == ((), "unknown_tool", ["now", "weather"])
    assert error.message == (
        "no tool has that name; the tools are 'now', 'weather'; the closest is 'weather'"
    )


@pytest.mark.parametrize("name", [None, "", "anything", "x" * 100_000])
def test_any_name_is_unknown_to_an_empty_set(name: str | None) -> None:
    """No name, and a name of any length, is a violation and not an exception."""
    error = only(ToolSet([]).check(name, {}))
    assert (error.keyword, error.message) == (
        "unknown_tool",
        "no tool has that name; no tools are offered",
    )


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (None, "null"),
        (True, "a boolean"),
        (3, "an integer"),
        (0.5, "a number"),
        ("{}", "a string"),
        ([{}], "an array"),
        (object(), "something that is no JSON"),
    ],
)
def test_arguments_must_be_an_object(args: object, found: str) -> None:
    """Every other kind of value is named, whatever the tool."""
    error = only(ToolSet({"now": None}).check("now", args))
    assert (error.path, error.keyword, error.expected) == ((), "type", "object")
    assert error.message == f"expected an object; found {found}"


def test_a_custom_tool_takes_free_text() -> None:
    """The settled form of free text is accepted, and nothing else is."""
    tools = ToolSet([{"type": "custom", "name": "sql"}])
    tool = tools.get("sql")
    assert tool is not None
    assert (tool.kind, tool.schema) == ("custom", None)
    assert tools.check("sql", {"input": "select 1"}).errors == ()
    for args in ({}, {"input": 1}, {"input": "x", "more": "y"}):
        assert only(tools.check("sql", args)).keyword == "type"


def test_a_tool_that_its_service_defines_takes_any_object() -> None:
    """Only the service knows the schema, so only the kind of value is checked."""
    tools = ToolSet([{"type": "bash_20250124", "name": "bash"}])
    assert tools.check("bash", {"command": "ls"}).errors == ()
    assert only(tools.check("bash", ["ls"])).keyword == "type"


@pytest.mark.parametrize("fast", [True, False])
def test_a_validator_that_raises_is_a_violation(fast: bool) -> None:
    """Arguments nested deeper than the validator can go are refused, not raised about."""
    args: dict[str, Any] = {}
    for _ in range(5_000):
        args = {"next": args}
    check = ToolSet({"walk": NODE}, fast=fast).check("walk", args)
    assert fast or only(check).keyword == "validator_error"
    assert all("RecursionError" in error.message for error in check.errors)


def test_nothing_that_is_printed_shows_arguments_or_schemas() -> None:
    """The reprs hold names and keywords."""
    tools = ToolSet({"weather": CITY})
    check = tools.check("weather", {"city": 4711})
    assert repr(tools) == "ToolSet('weather')"
    assert repr(tools.get("weather")) == "Tool('weather', kind='function')"
    assert repr(check) == "Check(errors=<type>)"
    assert "4711" not in f"{check.errors}{check.errors[0].message}"


def test_of_keeps_what_is_a_tool_set_or_nothing() -> None:
    """A set is compiled once however often it is handed on."""
    tools = ToolSet({"now": None})
    assert ToolSet.of(tools) is tools
    assert ToolSet.of(None) is None
    made = ToolSet.of([{"name": "now", "input_schema": {}}])
    assert made is not None
    assert made.names == ("now",)


def test_tools_of_one_set_can_go_into_another() -> None:
    """A tool brings its compiled check along."""
    base = ToolSet({"weather": CITY})
    more = ToolSet([*base, {"name": "now", "input_schema": {}}])
    assert more.names == ("weather", "now")
    assert more.get("weather") is base.get("weather")
    assert more.to("mcp")[0] == {"name": "weather", "inputSchema": CITY}


def test_the_set_shares_nothing_with_what_it_was_given_or_gives() -> None:
    """Changing the list that came in, a schema or a list that went out changes no answer."""
    given: list[dict[str, Any]] = [{"name": "weather", "input_schema": copy.deepcopy(CITY)}]
    tools = ToolSet(given, fast=False)
    tool = tools.get("weather")
    assert tool is not None
    assert tool.schema is not None
    given[0]["input_schema"]["required"].clear()
    tool.schema["required"].clear()
    for provider in ("anthropic", "openai-chat"):
        tools.to(provider)[0].clear()
    error = tools.check("weather", {}).errors[0]
    error.expected.clear()
    assert tools.check("weather", {}).errors[0].expected == ["city"]
    assert tools.to("anthropic") == [{"name": "weather", "input_schema": CITY}]
    assert tools.to("cohere")[0]["function"]["parameters"] == CITY


def test_a_set_can_be_used_from_many_threads() -> None:
    """Every thread gets the answers that one thread gets."""
    tools = ToolSet({"weather": CITY}, fast=False)
    wrong: list[Check] = []

    def work() -> None:
        for number in range(50):
            check = tools.check("weather", {"city": "x" if number % 2 else number})
            if bool(check.errors) == bool(number % 2):
                wrong.append(check)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([{"name": "a", "input_schema": {}}, {"name": "a", "inputSchema": {}}], "two tools"),
        ([{"a": 1}], r"not understood: found dict with the keys \['a'\]"),
        ([5], "not understood: found int"),
        (["weather"], "not understood: found str"),
        ([{"type": "function"}], "has no name"),
        ([{"name": "", "input_schema": {}}], "has no name"),
        ([{"type": "function", "function": 5}], "'function' is int, expected an object"),
        ([{"name": "a", "input_schema": 5}], "tool 'a' has a bad schema: found int"),
    ],
)
def test_what_is_no_tool_is_refused_when_the_set_is_built(tools: Any, says: str) -> None:
    """The text names the tool, or the keys where there is no name."""
    with pytest.raises(ValueError, match=says):
        ToolSet(tools)


@pytest.mark.parametrize("tools", ["weather", b"x", 5, dict, lambda: None])
def test_what_is_no_list_is_a_type_error(tools: Any) -> None:
    """A single tool is refused too: a list was meant."""
    with pytest.raises(TypeError, match="expected a list of tools or a mapping"):
        ToolSet(tools)


def test_importing_loads_no_validator() -> None:
    """The validators come with the first schema that needs them, pydantic with the first model."""
    script = """
import sys
from finalcall.tools import ToolSet
heavy = ("jsonschema", "jsonschema_rs", "pydantic", "referencing")
assert not [name for name in heavy if name in sys.modules], "on import"
ToolSet([{"type": "custom", "name": "sql"}])
assert not [name for name in heavy if name in sys.modules], "without a schema"
ToolSet({"now": None})
assert "jsonschema" in sys.modules and "pydantic" not in sys.modules, "with a schema"
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture
def without_fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fast validator is not installed."""
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    installed_fast.cache_clear()
    yield
    installed_fast.cache_clear()


@pytest.mark.usefixtures("without_fast")
def test_the_fast_validator_can_be_done_without() -> None:
    """Where it is not installed, asking for it is refused and leaving it open is not."""
    for fast in (None, False):
        tools = ToolSet({"weather": CITY}, fast=fast)
        assert tools.check("weather", {"city": "x"}).errors == ()
        assert only(tools.check("weather", {})).keyword == "required"
    with pytest.raises(ValueError, match=r"install 'finalcall\[fast\]'"):
        ToolSet({"weather": CITY}, fast=True)


def test_the_fast_validator_is_used_where_it_is_installed() -> None:
    """It knows patterns that the other cannot compile."""
    schema = {"properties": {"v": {"pattern": r"^\p{L}$"}}}
    assert ToolSet({"tool": schema}).check("tool", {"v": "\u00e9"}).errors == ()
