"""Reads entries of any provider's tool list, told apart by their keys and types.

Only dicts come in; nothing here looks at an SDK's classes or validates arguments.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from finalcall.narrow import is_mapping
from finalcall.tools.openapi import to_json_schema
from finalcall.tools.shapes import NO_PARAMETERS, SHAPES, Declaration, Entry

_KNOWN_BY: Final = (
    ("toolSpec", "bedrock-converse"),
    ("function", "openai-chat"),
    ("input_schema", "anthropic"),
    ("inputSchema", "mcp"),
)
"""Keys that only one shape has, in the order of asking."""

_RUN_BY_SERVICE: Final = (
    (frozenset({"cachePoint", "systemTool"}), "bedrock-converse"),
    (
        frozenset(
            {
                "codeExecution",
                "computerUse",
                "enterpriseWebSearch",
                "exaAiSearch",
                "fileSearch",
                "googleMaps",
                "googleSearch",
                "googleSearchRetrieval",
                "mcpServers",
                "parallelAiSearch",
                "retrieval",
                "urlContext",
            }
        ),
        "gemini",
    ),
)
"""Entries without a name and a type: all their keys are among these."""

_DATED: Final = re.compile(r"(.+)_\d{8}")
"""Anthropic dates the types of the tools that it defines."""

_ANTHROPIC_CLIENT: Final = frozenset({"bash", "computer", "memory", "text_editor"})
"""Tools that Anthropic defines and the caller runs: the model was trained on their arguments."""

_POINTER: Final = (
    *("double_click", "hold_key", "key", "left_click", "left_click_drag", "left_mouse_down"),
    *("left_mouse_up", "middle_click", "mouse_move", "right_click", "screenshot", "scroll"),
    *("triple_click", "type", "wait", "zoom"),
)
_ANTHROPIC_TOOLSETS: Final[dict[str, tuple[str, ...]]] = {
    "browser_toolset": (
        *_POINTER,
        *("close_tab", "file_upload", "find", "form_input", "get_page_text", "hover"),
        *("javascript_exec", "list_tabs", "navigate", "new_tab", "read_console"),
        *("read_network", "read_page", "scroll_to", "switch_tab"),
    ),
    "computer_toolset": (*_POINTER, "cursor_position"),
}
"""One entry without a name that declares many client tools."""

_RESPONSES_CLIENT: Final = {
    "apply_patch": "apply_patch_call",
    "computer": "computer_call",
    "computer_use_preview": "computer_call",
    "local_shell": "local_shell_call",
    "shell": "shell_call",
    "tool_search": "tool_search_call",
}
"""Types that OpenAI defines and the caller runs. Their calls have no name and go by their type."""

Item: TypeAlias = Mapping[str, Any]
Reader: TypeAlias = Callable[[Item], list[Entry]]


def read(item: Item) -> list[Entry]:
    """Read one entry of any provider's tool list.

    Returns:
        What it declares; empty if the entry is in no known shape.

    Raises:
        ValueError: A known shape without a name, or with a schema that is no object.
    """
    readers: tuple[Reader, ...] = (_read_gemini, _read_known, _read_typed, _read_bare)
    for reader in readers:
        entries = reader(item)
        if entries:
            return entries
    return []


def declare(name: str, schema: object) -> Declaration:
    """Declare a function by its name and its schema; no schema means no parameters.

    Raises:
        ValueError: The schema is no object.
    """
    return Declaration(name=name, schema=_schema(name, schema))


def _read_gemini(item: Item) -> list[Entry]:
    """A `Tool` that groups functions, what the service runs, or both."""
    given = {_camel(key): value for key, value in item.items()}
    functions: list[Item] | None = given.pop("functionDeclarations", None)
    entries = [
        Entry(
            declarations=(_declaration("gemini", _plain_function(function)),),
            native=copy.deepcopy(dict(function)),
            providers=frozenset({"gemini"}),
        )
        for function in functions or ()
    ]
    for keys, provider in _RUN_BY_SERVICE:
        if given and given.keys() <= keys:
            rest = {key: value for key, value in item.items() if _camel(key) in keys}
            entries.append(_native(rest, provider))
    if functions is not None and not entries:
        entries.append(Entry(declarations=()))
    return entries


def _read_known(item: Item) -> list[Entry]:
    for key, provider in _KNOWN_BY:
        if item.get(key) is not None:
            return [_native(item, provider, _declaration(provider, item))]
    if item.get("type") == "custom" and is_mapping(item.get("custom")):
        return [_native(item, "openai-chat", _custom(item["custom"]))]
    return []


def _read_typed(item: Item) -> list[Entry]:
    """An entry that its `"type"` tells."""
    kind = item.get("type")
    if not isinstance(kind, str):
        return []
    if kind == "function":
        return [_native(item, "openai-responses", _declaration("openai-responses", item))]
    if kind == "custom":
        return [_native(item, "openai-responses", _custom(item))]
    if kind == "namespace":
        members = cast("Iterable[Item]", item.get("tools") or ())
        grouped = [d for member in members for entry in read(member) for d in entry.declarations]
        return [_native(item, "openai-responses", *grouped)]
    dated = _DATED.fullmatch(kind)
    if dated is not None or kind == "mcp_toolset":
        family = dated[1] if dated is not None else kind
        return [_native(item, "anthropic", *_defined_by_anthropic(family, item))]
    declared = _defined_by_openai(kind, item)
    if declared:
        return [_native(item, "openai-responses", *declared)]
    # What a service runs: compatible ones have such types on Chat Completions too.
    both = frozenset({"openai-responses", "openai-chat"})
    return [Entry(declarations=(), native=copy.deepcopy(dict(item)), providers=both)]


def _read_bare(item: Item) -> list[Entry]:
    """A function on its own: a Gemini declaration, or OpenAI's old `functions`."""
    given = _plain_function(item)
    if "name" in given and "parametersJsonSchema" in given:
        return [_native(item, "gemini", _declaration("gemini", given))]
    return []


def _defined_by_anthropic(family: str, item: Item) -> list[Declaration]:
    if family in _ANTHROPIC_CLIENT:
        return [Declaration(name=_name(item))]
    settings = item.get("configs")
    configs: Item = settings if is_mapping(settings) else {}
    return [
        Declaration(name=member)
        for member in _ANTHROPIC_TOOLSETS.get(family, ())
        if not _switched_off(configs.get(member))
    ]


def _switched_off(config: object) -> bool:
    return is_mapping(config) and config.get("enabled") is False


def _defined_by_openai(kind: str, item: Item) -> list[Declaration]:
    name = _RESPONSES_CLIENT.get(kind)
    environment = item.get("environment")
    hosted = is_mapping(environment) and environment.get("type") != "local"
    if name is None or hosted or (kind == "tool_search" and item.get("execution") != "client"):
        return []
    return [Declaration(name=name)]


def _native(item: Item, provider: str, *declarations: Declaration) -> Entry:
    return Entry(
        declarations=declarations,
        native=copy.deepcopy(dict(item)),
        providers=frozenset({provider}),
    )


def _declaration(provider: str, item: Item) -> Declaration:
    """Read what `SHAPES` says is there."""
    shape = SHAPES[provider]
    inner: Any = item if shape.wrapper is None else item[shape.wrapper]
    if not is_mapping(inner):
        raise ValueError(
            f"a tool has no declaration: {shape.wrapper!r} is {type(inner).__name__}, "
            "expected an object"
        )
    name = _name(inner)
    schema: Any = inner
    for key in shape.schema:
        schema = schema.get(key) if is_mapping(schema) else None
    strict = inner.get("strict")
    return Declaration(
        name=name,
        description=_text(inner, "description"),
        schema=_schema(name, schema),
        title=_title(inner) if shape.title else None,
        strict=strict if isinstance(strict, bool) else None,
    )


def _custom(item: Item) -> Declaration:
    given = item.get("format")
    form = copy.deepcopy(dict(given)) if is_mapping(given) else None
    if form is not None:
        # Chat Completions nests what Responses has flat.
        form.update(form.pop("grammar", None) or {})
    return Declaration(
        name=_name(item), description=_text(item, "description"), kind="custom", format=form
    )


def _plain_function(item: Item) -> dict[str, Any]:
    """A Gemini function declaration with its parameters as JSON Schema."""
    given = {_camel(key): value for key, value in item.items()}
    parameters = given.pop("parameters", None)
    if is_mapping(parameters):
        given["parametersJsonSchema"] = to_json_schema(parameters)
    return given


def _name(item: Item) -> str:
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(
            f"a tool has no name: found the keys {sorted(item)}, expected 'name' to be text"
        )
    return name


def _schema(name: str, schema: object) -> dict[str, Any]:
    if schema is None:
        return copy.deepcopy(NO_PARAMETERS)
    if not is_mapping(schema):
        raise ValueError(
            f"tool {name!r} has a bad schema: found {type(schema).__name__}, "
            "expected a JSON Schema object"
        )
    return copy.deepcopy(dict(schema))


def _title(item: Item) -> str | None:
    annotations = item.get("annotations")
    inner: Item = annotations if is_mapping(annotations) else {}
    return _text(item, "title") or _text(inner, "title") or None


def _text(item: Item, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), key)
