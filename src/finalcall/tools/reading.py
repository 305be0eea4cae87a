"""Reads entries of any provider's tool list, told apart by their keys and types.

Only dicts come in; nothing here looks at an SDK's classes or validates arguments.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from finalcall.events import CallKind
from finalcall.narrow import expect, is_mapping
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

_CLIENT_TYPES: Final = ("function", "custom", "namespace")
"""Types of what a caller declares: what is nearly one of them was meant to be one."""

_SCHEMA_TYPES: Final = frozenset(
    {"object", "array", "string", "number", "integer", "boolean", "null"}
)

Item: TypeAlias = Mapping[str, Any]
Reader: TypeAlias = Callable[[Item], list[Entry]]


def read(item: Item) -> list[Entry]:
    """Read one entry of any provider's tool list.

    Returns:
        What it declares.

    Raises:
        ValueError: It is in no known shape, or in one without a name, or with a schema that is no
            object.
        TypeError: It groups something else than a list of dicts.
    """
    if not _has_names(item):
        raise ValueError(not_understood(item, item))
    readers: tuple[Reader, ...] = (_read_gemini, _read_known, _read_typed, _read_bare)
    for reader in readers:
        entries = reader(item)
        if entries:
            return entries
    raise ValueError(not_understood(item, item))


def not_understood(item: object, given: Mapping[Any, Any] | None = None) -> str:
    """Say that an entry is in no known shape.

    Args:
        item: What was given.
        given: The same as a mapping, where it is one.
    """
    found = type(item).__name__
    if given is not None:
        found += f" with the keys {sorted(given, key=str)}"
    return (
        f"a tool is not understood: found {found}; expected an entry of a provider's tool list "
        f"({', '.join(sorted(SHAPES))}), a pydantic model class or a typed callable"
    )


def is_single(tools: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one entry of a list, rather than one of names to schemas."""
    if any(isinstance(tools.get(key), str) for key in ("name", "type")):
        return True
    keys = {_camel(key) for key in tools if isinstance(key, str)}
    if "functionDeclarations" in keys:
        return True
    inner = [value for value in tools.values() if is_mapping(value)]
    if keys & {"toolSpec", "function"} and any(map(_is_entry, inner)):
        return True
    by_service = any(keys <= known for known, _ in _RUN_BY_SERVICE)
    return bool(inner) and by_service and not any(map(_is_schema, inner))


def declare(name: str, schema: object) -> Declaration:
    """Declare a function by its name and its schema; no schema means no parameters.

    Raises:
        ValueError: The schema is no object, or is the entry of a list.
    """
    if _is_entry(schema):
        raise ValueError(
            f"tool {name!r} has a bad schema: found an entry of a tool list, expected its schema "
            "alone (or give a list of such entries)"
        )
    return Declaration(name=name, schema=_schema(name, schema))


def _has_names(item: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in item)


def _is_entry(value: object) -> bool:
    """A schema has no name."""
    return is_mapping(value) and isinstance(value.get("name"), str)


def _is_schema(value: object) -> bool:
    return is_mapping(value) and not value.keys().isdisjoint({"type", "properties", "$ref"})


def _read_gemini(item: Item) -> list[Entry]:
    """A `Tool` that groups functions, what the service runs, or both."""
    given = {_camel(key): value for key, value in item.items()}
    functions = _members("functionDeclarations", given.pop("functionDeclarations", None))
    entries = [
        Entry(
            declarations=(_declaration("gemini", _plain_function(function)),),
            native=copy.deepcopy(dict(function)),
            providers=frozenset({"gemini"}),
        )
        for function in functions or ()
    ]
    for keys, provider in _RUN_BY_SERVICE:
        beside_functions = functions is not None and provider == "gemini"
        if given and (beside_functions or given.keys() <= keys):
            rest = {key: value for key, value in item.items() if _camel(key) in given}
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
        members = _members("tools", item.get("tools")) or ()
        grouped = [d for member in members for entry in read(member) for d in entry.declarations]
        return [_native(item, "openai-responses", *grouped)]
    dated = _DATED.fullmatch(kind)
    if dated is not None or kind == "mcp_toolset":
        family = dated[1] if dated is not None else kind
        return [_native(item, "anthropic", *_defined_by_anthropic(family, item))]
    declared = _defined_by_openai(kind, item)
    if declared:
        return [_native(item, "openai-responses", *declared)]
    _refuse_meant(kind, item)
    # What a service runs: compatible ones have such types on Chat Completions too.
    both = frozenset({"openai-responses", "openai-chat"})
    return [Entry(declarations=(), native=copy.deepcopy(dict(item)), providers=both)]


def _refuse_meant(kind: str, item: Item) -> None:
    """Refuse a type that is none of a service: its calls would be of no tool that is offered."""
    if not kind or kind in _SCHEMA_TYPES:
        raise ValueError(not_understood(item, item))
    meant = difflib.get_close_matches(kind.lower(), _CLIENT_TYPES, n=1, cutoff=0.8)
    if meant or _is_schema(item.get("parameters")):
        raise ValueError(
            f"a tool's type is {kind[:60]!r}; expected {meant[0] if meant else 'function'!r} for a "
            "tool that is yours to run"
        )


def _members(key: str, given: Any) -> list[Item] | None:
    """The entries that an entry groups, `None` where there is no such key."""
    if given is None:
        return None
    expect(given, (list, tuple), f"{key!r} of a tool", "a list of tools")
    for member in given:
        expect(member, Mapping, f"what {key!r} of a tool holds", "a dict for each tool")
        if not _has_names(member):
            raise ValueError(not_understood(member, member))
    return list(given)


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
    schema: Any = inner.get(shape.schema[0])
    for key in shape.schema[1:]:
        if is_mapping(schema) and (key in schema or not schema):
            schema = schema.get(key)
        elif schema is not None:
            raise ValueError(
                f"tool {name!r} has a bad schema: {shape.schema[0]!r} has no {key!r}, expected "
                "the JSON Schema there"
            )
    strict = inner.get("strict")
    return Declaration(
        name=name,
        description=_text(inner, "description"),
        schema=_schema(name, schema),
        title=_title(inner) if shape.title else None,
        strict=strict if isinstance(strict, bool) else None,
    )


def _custom(item: Item) -> Declaration:
    name = _name(item)
    form = _format(name, item.get("format"))
    if form is not None:
        # Chat Completions nests what Responses has flat.
        form.update(_format(name, form.pop("grammar", None)) or {})
    return Declaration(
        name=name, description=_text(item, "description"), kind=CallKind.CUSTOM, format=form
    )


def _format(name: str, given: object) -> dict[str, Any] | None:
    if given is None:
        return None
    if not is_mapping(given):
        raise ValueError(
            f"tool {name!r} has a bad format: found {type(given).__name__}, expected an object"
        )
    return copy.deepcopy(dict(given))


def _plain_function(item: Item) -> dict[str, Any]:
    """A Gemini function declaration with its parameters as JSON Schema."""
    given = {_camel(key): value for key, value in item.items()}
    parameters = given.pop("parameters", None)
    if parameters is not None:
        schema = to_json_schema(parameters) if is_mapping(parameters) else parameters
        given["parametersJsonSchema"] = schema
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
