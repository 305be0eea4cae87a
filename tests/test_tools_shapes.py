"""Every provider's tool list, read and written."""

from __future__ import annotations

import itertools
import types
from typing import Any

import anthropic
import cohere
import ollama
import pytest
from google.genai import types as google
from mistralai.client import models as mistral
from openai.types import responses as openai

from finalcall.tools import ToolSet
from finalcall.tools.shapes import SHAPES

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}

LISTS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"name": "weather", "description": "Looks.", "input_schema": CITY, "strict": True},
        {"name": "now", "input_schema": NOTHING},
    ],
    "bedrock-converse": [
        {
            "toolSpec": {
                "name": "weather",
                "description": "Looks.",
                "inputSchema": {"json": CITY},
                "strict": True,
            }
        },
        {"toolSpec": {"name": "now", "inputSchema": {"json": NOTHING}}},
    ],
    "cohere": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Looks.", "parameters": CITY},
        },
        {"type": "function", "function": {"name": "now", "parameters": NOTHING}},
    ],
    "gemini": [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Looks.", "parametersJsonSchema": CITY},
                {"name": "now", "parametersJsonSchema": NOTHING},
            ]
        }
    ],
    "gemini-interactions": [
        {"type": "function", "name": "weather", "description": "Looks.", "parameters": CITY},
        {"type": "function", "name": "now", "parameters": NOTHING},
    ],
    "mcp": [
        {"name": "weather", "description": "Looks.", "inputSchema": CITY},
        {"name": "now", "inputSchema": NOTHING},
    ],
    "mistral": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Looks.",
                "parameters": CITY,
                "strict": True,
            },
        },
        {"type": "function", "function": {"name": "now", "parameters": NOTHING}},
    ],
    "openai-responses": [
        {
            "type": "function",
            "name": "weather",
            "description": "Looks.",
            "parameters": CITY,
            "strict": True,
        },
        {"type": "function", "name": "now", "parameters": NOTHING, "strict": False},
    ],
}
LISTS["ollama"] = LISTS["cohere"]
LISTS["openai-chat"] = LISTS["mistral"]

STRICT = {name for name, shape in SHAPES.items() if shape.strict != "never"}


def described(tools: ToolSet) -> list[tuple[str, str, Any]]:
    return [(tool.name, tool.description, tool.schema) for tool in tools]


def without_strict(value: Any) -> Any:
    if isinstance(value, list):
        return [without_strict(item) for item in value]
    if isinstance(value, dict):
        return {key: without_strict(item) for key, item in value.items() if key != "strict"}
    return value


def test_every_written_shape_is_tested() -> None:
    """A new row in the table needs a list here."""
    assert LISTS.keys() == SHAPES.keys()


@pytest.mark.parametrize("provider", sorted(LISTS))
def test_a_list_is_read_and_comes_back_as_it_was(provider: str) -> None:
    """Names, descriptions and schemas are found, and nothing is lost on the way back."""
    tools = ToolSet(LISTS[provider])
    assert described(tools) == [("weather", "Looks.", CITY), ("now", "", NOTHING)]
    assert tools.to(provider) == LISTS[provider]


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(sorted(LISTS), 2)))
def test_a_list_can_be_written_for_every_other_provider(source: str, target: str) -> None:
    """The shape is the target's own; `strict` goes along where both have it."""
    written = ToolSet(LISTS[source]).to(target)
    assert described(ToolSet(written)) == [("weather", "Looks.", CITY), ("now", "", NOTHING)]
    assert without_strict(written) == without_strict(LISTS[target])
    assert ("'strict': True" in str(written)) == (source in STRICT and target in STRICT)


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    """A typing error is found at once."""
    with pytest.raises(ValueError, match=r"unknown provider 'openai'; .*anthropic, .*openai-chat"):
        ToolSet([]).to("openai")


READ: dict[str, tuple[dict[str, Any], list[tuple[str, str, Any]]]] = {
    # an entry of some provider, and the client tools that it declares: name, kind, schema
    "anthropic, tagged as the caller's own": (
        {"type": "custom", "name": "a", "input_schema": CITY},
        [("a", "function", CITY)],
    ),
    "anthropic, run by the service": ({"type": "web_search_20250305", "name": "web_search"}, []),
    "anthropic, mcp servers": ({"type": "mcp_toolset", "mcp_server_name": "x"}, []),
    "anthropic, defined there and run here": (
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        [("str_replace_based_edit_tool", "function", None)],
    ),
    "chat, without parameters": (
        {"type": "function", "function": {"name": "now"}},
        [("now", "function", NOTHING)],
    ),
    "chat, without a type": ({"function": {"name": "now"}}, [("now", "function", NOTHING)]),
    "chat, free text": ({"type": "custom", "custom": {"name": "sql"}}, [("sql", "custom", None)]),
    "chat, run by the service": ({"type": "browser_search"}, []),
    "responses, without parameters": (
        {"type": "function", "name": "now", "parameters": None, "strict": None},
        [("now", "function", NOTHING)],
    ),
    "responses, free text": ({"type": "custom", "name": "sql"}, [("sql", "custom", None)]),
    "responses, run by the service": ({"type": "web_search"}, []),
    "responses, mcp server": ({"type": "mcp", "server_label": "x", "server_url": "y"}, []),
    "responses, local shell": ({"type": "local_shell"}, [("local_shell_call", "function", None)]),
    "responses, shell": (
        {"type": "shell", "environment": {"type": "local"}},
        [("shell_call", "function", None)],
    ),
    "responses, hosted shell": ({"type": "shell", "environment": {"type": "container_auto"}}, []),
    "responses, patches": ({"type": "apply_patch"}, [("apply_patch_call", "function", None)]),
    "responses, computer": (
        {"type": "computer_use_preview", "display_width": 1},
        [("computer_call", "function", None)],
    ),
    "responses, tool search": ({"type": "tool_search"}, []),
    "responses, tool search by the caller": (
        {"type": "tool_search", "execution": "client"},
        [("tool_search_call", "function", None)],
    ),
    "responses, namespace": (
        {
            "type": "namespace",
            "name": "crm",
            "description": "x",
            "tools": [
                {"type": "function", "name": "find", "parameters": CITY},
                {"type": "custom", "name": "sql"},
            ],
        },
        [("find", "function", CITY), ("sql", "custom", None)],
    ),
    "gemini, no functions": ({"functionDeclarations": []}, []),
    "gemini, run by the service": ({"google_search": {}}, []),
    "gemini, both": (
        {"google_search": {}, "function_declarations": [{"name": "now"}]},
        [("now", "function", NOTHING)],
    ),
    "gemini, snake case": (
        {"function_declarations": [{"name": "a", "parameters_json_schema": CITY}]},
        [("a", "function", CITY)],
    ),
    "gemini, its own schema dialect": (
        {
            "functionDeclarations": [
                {
                    "name": "a",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"city": {"type": "STRING"}},
                        "required": ["city"],
                    },
                }
            ]
        },
        [("a", "function", CITY)],
    ),
    "a function on its own": ({"name": "a", "parameters": CITY}, [("a", "function", CITY)]),
    "bedrock, cache point": ({"cachePoint": {"type": "default"}}, []),
    "bedrock, run by the service": ({"systemTool": {"name": "nova_grounding"}}, []),
}


@pytest.mark.parametrize("case", READ)
def test_an_entry_declares_the_tools_that_the_caller_runs(case: str) -> None:
    """What a service runs by itself declares nothing; what it leaves to the caller does."""
    entry, expected = READ[case]
    assert [(tool.name, tool.kind, tool.schema) for tool in ToolSet([entry])] == expected


NATIVE = {
    "anthropic": [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"name": "a", "input_schema": CITY, "cache_control": {"type": "ephemeral"}},
        {"type": "bash_20250124", "name": "bash"},
    ],
    "bedrock-converse": [
        {"toolSpec": {"name": "a", "inputSchema": {"json": CITY}}},
        {"cachePoint": {"type": "default"}},
        {"toolSpec": {"name": "b", "inputSchema": {"json": CITY}}},
    ],
    "gemini": [
        {"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT"}}]},
        {"googleSearch": {}},
    ],
    "mcp": [{"name": "a", "title": "A tool", "inputSchema": CITY, "outputSchema": CITY}],
    "openai-chat": [
        {"type": "custom", "custom": {"name": "sql"}},
        {"type": "browser_search"},
    ],
    "openai-responses": [
        {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "sql"}]},
        {"type": "local_shell"},
        {"type": "function", "name": "a", "parameters": CITY, "defer_loading": True},
    ],
}


@pytest.mark.parametrize("provider", NATIVE)
def test_what_only_its_provider_knows_comes_back_in_its_place(provider: str) -> None:
    """Cache marks, groups and what the service runs survive, in order."""
    assert ToolSet(NATIVE[provider]).to(provider) == NATIVE[provider]


def test_what_another_service_would_run_is_left_out() -> None:
    """A search by one service cannot be offered on another."""
    tools = ToolSet([*NATIVE["bedrock-converse"], {"type": "web_search_20250305", "name": "w"}])
    assert [tool["function"]["name"] for tool in tools.to("mistral")] == ["a", "b"]
    assert [tool["name"] for tool in tools.to("anthropic")] == ["a", "b", "w"]


def test_functions_from_everywhere_share_one_gemini_entry() -> None:
    """Gemini refuses functions that are spread over entries."""
    tools = ToolSet([*LISTS["mcp"], *NATIVE["gemini"]])
    first, second = tools.to("gemini")
    assert [function["name"] for function in first["functionDeclarations"]] == [
        "weather",
        "now",
        "a",
    ]
    assert second == {"googleSearch": {}}


@pytest.mark.parametrize("provider", sorted(SHAPES.keys() - {"openai-chat", "openai-responses"}))
def test_free_text_is_refused_where_there_is_none(provider: str) -> None:
    """Turning it into something else would change what the handler is given."""
    with pytest.raises(ValueError, match=f"'sql' takes free text and {provider} has no such"):
        ToolSet([{"type": "custom", "name": "sql"}]).to(provider)


def test_a_grammar_is_nested_on_chat_and_flat_on_responses() -> None:
    """The two shapes of OpenAI spell the same format differently."""
    rule = {"syntax": "lark", "definition": "start: /x/"}
    inner = {"name": "sql", "description": "Asks."}
    chat = [
        {
            "type": "custom",
            "custom": {**inner, "format": {"type": "grammar", "grammar": rule}},
        }
    ]
    responses = [{"type": "custom", **inner, "format": {"type": "grammar", **rule}}]
    assert ToolSet(chat).to("openai-responses") == responses
    assert ToolSet(responses).to("openai-chat") == chat
    assert ToolSet([{"type": "custom", "custom": inner}]).to("openai-responses") == [
        {"type": "custom", **inner}
    ]
    text = [{"type": "custom", "name": "sql", "format": {"type": "text"}}]
    assert ToolSet(text).to("openai-chat") == [
        {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}}
    ]


@pytest.mark.parametrize("provider", sorted(SHAPES.keys() - {"anthropic"}))
def test_a_tool_without_a_schema_stays_with_its_service(provider: str) -> None:
    """Another service could not be told what it takes."""
    with pytest.raises(ValueError, match="'bash' is defined by another service"):
        ToolSet([{"type": "bash_20250124", "name": "bash"}]).to(provider)


def test_a_toolset_declares_its_members_but_those_switched_off() -> None:
    """Their calls carry the member's name; two toolsets may have members in common."""
    tools = ToolSet(
        [
            {"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}},
            {"type": "browser_toolset_20260801", "configs": {"zoom": {"enabled": False}}},
        ]
    )
    assert {"left_click", "cursor_position", "navigate"} <= set(tools.names)
    assert "zoom" not in tools
    assert len(tools.to("anthropic")) == 2


def test_a_member_of_a_toolset_is_not_another_tool_of_that_name() -> None:
    """Only members may share a name, and only among themselves."""
    with pytest.raises(ValueError, match="two tools are named 'wait'"):
        ToolSet([{"type": "computer_toolset_20260801"}, {"name": "wait", "input_schema": NOTHING}])


def test_a_title_is_a_name_for_people() -> None:
    """MCP has two places for it."""
    for more in ({"title": "The weather"}, {"annotations": {"title": "The weather"}}):
        (tool,) = ToolSet([{"name": "weather", "inputSchema": CITY, **more}])
        assert tool.label == "The weather"


def test_services_get_the_keys_that_they_ask_for() -> None:
    """A schema without a type or properties is completed on the way out, not in the tool."""
    tools = ToolSet({"a": {"additionalProperties": False}})
    (tool,) = tools
    assert tool.schema == {"additionalProperties": False}
    assert tools.to("anthropic")[0]["input_schema"] == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_objects_with_the_names_of_mcp_are_understood() -> None:
    """A server's own tool class need not be a pydantic model."""
    tool = types.SimpleNamespace(name="weather", description="Looks.", inputSchema=CITY)
    assert ToolSet([tool]).to("mcp") == [LISTS["mcp"][0]]


# -- the SDKs' own objects ------------------------------------------------------------------------


def google_tool() -> tuple[Any, str, Any]:
    city = google.Schema(type=google.Type.STRING)
    schema = google.Schema(type=google.Type.OBJECT, properties={"city": city}, required=["city"])
    declaration = google.FunctionDeclaration(name="weather", parameters=schema)
    tool = google.Tool(function_declarations=[declaration], google_search=google.GoogleSearch())
    return tool, "gemini", [tool.model_dump(mode="json", by_alias=True, exclude_none=True)]


def mistral_tool() -> tuple[Any, str, Any]:
    tool = mistral.Tool(function=mistral.Function(name="weather", parameters=CITY))
    return tool, "mistral", None


def cohere_tool() -> tuple[Any, str, Any]:
    tool = cohere.ToolV2(function=cohere.ToolV2Function(name="weather", parameters=CITY))
    return tool, "cohere", None


def ollama_tool() -> tuple[Any, str, Any]:
    function = ollama.Tool.Function
    city = function.Parameters.Property(type="string")
    parameters = function.Parameters(properties={"city": city}, required=["city"])
    return ollama.Tool(function=function(name="weather", parameters=parameters)), "ollama", None


def openai_tool() -> tuple[Any, str, Any]:
    tool = openai.FunctionTool(type="function", name="weather", parameters=CITY, strict=True)
    return tool, "openai-responses", None


def anthropic_tool() -> tuple[Any, str, Any]:
    def weather(city: str) -> str:
        return city

    tool = anthropic.beta_tool(weather, input_schema=CITY)
    return tool, "anthropic", [tool.to_dict()]


@pytest.mark.parametrize(
    "make",
    [google_tool, mistral_tool, cohere_tool, ollama_tool, openai_tool, anthropic_tool],
)
def test_an_sdk_object_is_read_as_its_dict_would_be(make: Any) -> None:
    """Objects are known by what they can do, so any version of an SDK will do."""
    tool, provider, expected = make()
    tools = ToolSet([tool])
    assert [(each.name, each.schema) for each in tools] == [("weather", CITY)]
    if expected is None:
        expected = [tool.model_dump(mode="json", by_alias=True, exclude_none=True)]
    if provider == "gemini":
        (native,) = expected
        expected = [
            {"functionDeclarations": native["functionDeclarations"]},
            {"googleSearch": native["googleSearch"]},
        ]
    assert tools.to(provider) == expected
