"""Tool lists that are nearly right are refused in a sentence; what a service runs is not."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall.tools import ToolSet

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


class Dumped:
    """An SDK's object."""

    def __init__(self, dumped: Any) -> None:
        self._dumped = dumped

    def model_dump(self, **_: Any) -> Any:
        return self._dumped

    def __iter__(self) -> Any:
        return iter([("name", "a")])


class Plain:
    """Another SDK's."""

    def to_dict(self) -> Any:
        return [1]


SINGLE: list[Any] = [
    {"name": "a", "input_schema": CITY},
    {"name": "a", "inputSchema": CITY},
    {"name": "a", "parameters": CITY},
    {"type": "function", "name": "a", "parameters": CITY},
    {"type": "function", "function": {"name": "a", "parameters": CITY}},
    {"function": {"name": "a", "parameters": CITY}},
    {"toolSpec": {"name": "a", "inputSchema": {"json": CITY}}},
    {"functionDeclarations": [{"name": "a"}]},
    {"function_declarations": [{"name": "a"}], "google_search": {}},
    {"type": "namespace", "name": "a", "tools": []},
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "code_interpreter"},
    {"googleSearch": {}},
    {"google_search": {"time_range": {}}},
    {"cachePoint": {"kind": "default"}},
    Dumped({"name": "a", "input_schema": CITY}),
]
"""One entry, in any shape, where a list of such was meant."""


@pytest.mark.parametrize("tool", SINGLE)
def test_a_single_tool_is_told_to_go_into_a_list(tool: Any) -> None:
    """It is never taken for a mapping of names to schemas; in a list it is understood."""
    with pytest.raises(TypeError, match=r"^a single tool was given; .* put it in a list, as \[to"):
        ToolSet(tool)
    assert ToolSet([tool]).names in (("a",), ())


@pytest.mark.parametrize(
    "named",
    [
        {"name": CITY, "type": CITY},
        {"function": CITY},
        {"toolSpec": None},
        {"retrieval": CITY, "fileSearch": None},
        {"googleSearch": {"$ref": "#/$defs/a", "$defs": {"a": CITY}}},
        {"tools": CITY},
        {},
    ],
)
def test_tools_may_have_the_names_of_fields(named: dict[str, Any]) -> None:
    """What is under them says that they are names."""
    assert ToolSet(named).names == tuple(named)


ENTRY = r"not understood: found dict with the keys "
MALFORMED: list[tuple[Any, str]] = [
    # Keys
    ({1: 2}, ENTRY + r"\[1\]; expected an entry"),
    ({1: {}}, ENTRY + r"\[1\]"),
    ({"": {}}, ENTRY + r"\[''\]"),
    ({None: 3, "name": "a", "input_schema": CITY}, ENTRY + r"\[None, 'input_schema', 'name'\]"),
    ({("a",): {}}, ENTRY),
    ({"weather": CITY}, ENTRY + r"\['weather'\]"),
    ({"name": "a"}, ENTRY + r"\['name'\]"),
    (Dumped({1: 2}), ENTRY + r"\[1\]"),
    (Dumped(None), "not understood: found Dumped; expected"),
    (Plain(), "not understood: found Plain; expected"),
    ([{"name": "a", "input_schema": CITY}], "not understood: found list; expected"),
    # Groups
    (
        {"functionDeclarations": 3},
        "'functionDeclarations' of a tool is of type int; expected a list of",
    ),
    (
        {"functionDeclarations": "abc"},
        "'functionDeclarations' of a tool is of type str; expected a list",
    ),
    (
        {"function_declarations": {"name": "a"}},
        "'functionDeclarations' of a tool is of type dict; expec",
    ),
    (
        {"functionDeclarations": [None]},
        "of a tool holds is of type NoneType; expected a dict for each tool",
    ),
    (
        {"functionDeclarations": [[{"name": "a"}]]},
        "of a tool holds is of type list; expected a dict",
    ),
    ({"functionDeclarations": [{1: 2}]}, ENTRY + r"\[1\]"),
    ({"functionDeclarations": [{}]}, r"has no name: found the keys \[\]"),
    ({"functionDeclarations": None}, ENTRY + r"\['functionDeclarations'\]"),
    (
        {"type": "namespace", "tools": 3},
        "'tools' of a tool is of type int; expected a list of tools",
    ),
    (
        {"type": "namespace", "tools": {"a": 1}},
        "'tools' of a tool is of type dict; expected a list",
    ),
    (
        {"type": "namespace", "tools": [3]},
        "'tools' of a tool holds is of type int; expected a dict for",
    ),
    ({"type": "namespace", "tools": [{"a": 1}]}, ENTRY + r"\['a'\]"),
    # Types
    ({"type": "fuction", "name": "a", "parameters": CITY}, "a tool's type is 'fuction'; expected"),
    ({"type": "Function", "name": "a"}, "a tool's type is 'Function'; expected 'function' for a"),
    ({"type": "functions", "name": "a"}, "a tool's type is 'functions'; expected 'function'"),
    ({"type": "customs", "name": "a"}, "a tool's type is 'customs'; expected 'custom'"),
    ({"type": "name_space", "tools": []}, "a tool's type is 'name_space'; expected 'namespace'"),
    ({"type": "method", "name": "a", "parameters": CITY}, "'method'; expected 'function' for a "),
    ({"type": "", "name": "a", "parameters": CITY}, ENTRY),
    (CITY, ENTRY + r"\['properties', 'type'\]"),
    ({"type": ["function"], "name": "a"}, ENTRY),
    # Schemas and formats
    ({"name": "a", "parameters": 3}, "tool 'a' has a bad schema: found int, expected a JSON Sch"),
    ({"functionDeclarations": [{"name": "a", "parameters": "{}"}]}, "has a bad schema: found str"),
    ({"toolSpec": {"name": "a", "inputSchema": 3}}, "'a' has a bad schema: 'inputSchema' has no "),
    ({"toolSpec": {"name": "a", "inputSchema": CITY}}, "'inputSchema' has no 'json', expected"),
    ({"toolSpec": {"name": "a", "inputSchema": {"json": "{}"}}}, "a bad schema: found str"),
    ({"type": "custom", "name": "a", "format": 3}, "'a' has a bad format: found int, expected an"),
    ({"type": "custom", "name": "a", "format": {"grammar": ["ab"]}}, "a bad format: found list"),
    ({"type": "custom", "custom": 3}, r"has no name: found the keys \['custom', 'type'\]"),
]
"""An entry of a list, and words of the sentence that refuses it."""


@pytest.mark.parametrize(("entry", "words"), MALFORMED)
def test_an_entry_that_is_nearly_right_is_refused(entry: Any, words: str) -> None:
    """Whatever stands beside it in the list."""
    for tools in ([entry], [{"name": "other", "input_schema": CITY}, entry]):
        with pytest.raises((TypeError, ValueError), match=words):
            ToolSet(tools)


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ({1: CITY}, TypeError, "the name of a tool is 1; expected text"),
        ({None: CITY}, TypeError, "the name of a tool is None; expected text"),
        ({"": CITY}, TypeError, "the name of a tool is ''; expected text"),
        ({"tools": [{"name": "a"}]}, TypeError, "a request's options were given; expected the lis"),
        ({"a": {"name": "b", "input_schema": CITY}}, ValueError, "'a' has a bad schema: found an"),
        ({"a": {"type": "function", "name": "b"}}, ValueError, "expected its schema alone"),
        ({"a": [CITY]}, ValueError, "tool 'a' has a bad schema: found list"),
    ],
)
def test_a_mapping_that_is_nearly_right_is_refused(
    named: Any, error: type[Exception], words: str
) -> None:
    """Names are text, and what is under them is a schema."""
    with pytest.raises(error, match=words):
        ToolSet(named)


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "web_search_20250305"},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"type": "a_future_tool_20270101", "name": "a"},
        {"type": "mcp_toolset", "mcp_server_name": "a"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "mcp", "server_label": "a"},
        {"type": "custom_search"},
        {"type": "a_future_tool"},
        {"type": "a_future_tool", "name": "a", "config": {"type": "object"}},
        {"type": "openrouter:web_search", "parameters": {"max_results": 3}},
        {"type": "namespace"},
        {"googleSearch": {}},
        {"google_search": None},
        {"urlContext": {}, "codeExecution": {}},
        {"cachePoint": {"type": "default"}},
        {"systemTool": {"name": "nova_grounding"}},
    ],
)
def test_what_a_service_runs_is_no_client_tool(entry: dict[str, Any]) -> None:
    """Whether it is known here or not, it goes out as it came."""
    tools = ToolSet([entry])
    assert tools.names == ()
    assert [entry] in [tools.to(name) for name in ("anthropic", "openai-responses", "gemini")] + [
        tools.to("bedrock-converse")
    ]


def test_what_stands_beside_functions_is_run_by_their_service() -> None:
    """Also what is not known here: the entry says whose it is."""
    tools = ToolSet([{"functionDeclarations": [{"name": "a"}], "aFutureTool": {"size": 3}}])
    assert tools.names == ("a",)
    assert tools.to("gemini")[1:] == [{"aFutureTool": {"size": 3}}]


@pytest.mark.parametrize("declared", [{}, {"inputSchema": {}}, {"inputSchema": {"json": None}}])
def test_a_tool_that_says_nothing_of_arguments_takes_any_object(declared: dict[str, Any]) -> None:
    """Only a schema that stands at another place than its own is refused."""
    tools = ToolSet([{"toolSpec": {"name": "a", **declared}}])
    assert tools.check("a", {"city": "Brest"}).errors == ()
