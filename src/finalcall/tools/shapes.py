"""One table says where each provider's tool list puts what; by it lists are read and written."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

from finalcall.events import CallKind
from finalcall.tools.aliases import Aliases


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What every shape says of one tool.

    Attributes:
        name: What the model calls it.
        description: For the model; empty where there is none.
        schema: JSON Schema of the arguments; `None` for free text and for tools that a service
            defines itself.
        kind: What the arguments are.
        title: A name for people, or `None`.
        strict: Whether the provider is asked to hold the model to the schema, where it was said.
        format: The grammar of a custom tool, as the Responses API spells it.
        aliases: The other names that its values are taken by; no provider is told of them.
    """

    name: str
    description: str = ""
    schema: dict[str, Any] | None = None
    kind: CallKind = CallKind.FUNCTION
    title: str | None = None
    strict: bool | None = None
    format: dict[str, Any] | None = None
    aliases: Aliases = field(default_factory=dict[str, frozenset[tuple[str, ...]]])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a tool list: what was given, and the client tools that it declares.

    Attributes:
        declarations: None for what the service runs, several for a group.
        native: The entry as given.
        providers: Those whose list takes `native` as it is.
    """

    declarations: tuple[Declaration, ...]
    native: dict[str, Any] | None = None
    providers: frozenset[str] = frozenset()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Where one provider's list puts what a tool says of itself.

    Attributes:
        schema: The keys that lead to the schema, from the declaration.
        wrapper: The key that holds the declaration, or `None` where the entry is the declaration.
        tag: The entry's `"type"`, or `None` where it has none.
        strict: Whether `"strict"` is written: never, where it was said, or always.
        custom: Whether tools that take free text exist.
        title: Whether a title is written.
    """

    schema: tuple[str, ...]
    wrapper: str | None = None
    tag: str | None = None
    strict: Literal["never", "said", "always"] = "never"
    custom: bool = False
    title: bool = False


SHAPES: Final[dict[str, Shape]] = {
    "anthropic": Shape(schema=("input_schema",), strict="said"),
    "bedrock-converse": Shape(wrapper="toolSpec", schema=("inputSchema", "json"), strict="said"),
    "cohere": Shape(wrapper="function", tag="function", schema=("parameters",)),
    "gemini": Shape(schema=("parametersJsonSchema",)),
    "gemini-interactions": Shape(tag="function", schema=("parameters",)),
    "mcp": Shape(schema=("inputSchema",), title=True),
    "mistral": Shape(wrapper="function", tag="function", schema=("parameters",), strict="said"),
    "ollama": Shape(wrapper="function", tag="function", schema=("parameters",)),
    "openai-chat": Shape(
        wrapper="function", tag="function", schema=("parameters",), strict="said", custom=True
    ),
    # Responses takes an absent "strict" for a wish, so the absence is spelled out.
    "openai-responses": Shape(tag="function", schema=("parameters",), strict="always", custom=True),
}
"""The providers whose lists can be written."""

NO_PARAMETERS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""The schema of a tool that declares none."""


def write(provider: str, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Write a tool list in one provider's shape.

    An entry that came in this provider's shape goes out as it came, in its place. What another
    service would run itself is left out.

    Raises:
        ValueError: The provider is unknown, or has no place for one of the tools.
    """
    shape = SHAPES.get(provider)
    if shape is None:
        raise ValueError(
            f"unknown provider {provider!r}; tools can be written for {', '.join(sorted(SHAPES))}"
        )
    listed: list[dict[str, Any]] = []
    for entry in entries:
        if provider in entry.providers and entry.native is not None:
            listed.append(copy.deepcopy(entry.native))
        else:
            listed.extend(_written(provider, shape, tool) for tool in entry.declarations)
    return _grouped(listed) if provider == "gemini" else listed


def _written(provider: str, shape: Shape, tool: Declaration) -> dict[str, Any]:
    if tool.kind is CallKind.CUSTOM:
        return _written_custom(provider, shape, tool)
    if tool.schema is None:
        raise ValueError(
            f"tool {tool.name!r} is defined by another service and has no schema; "
            f"it cannot be offered on {provider}"
        )
    inner: dict[str, Any] = {"name": tool.name}
    if shape.title and tool.title:
        inner["title"] = tool.title
    if tool.description:
        inner["description"] = tool.description
    held = inner
    for key in shape.schema[:-1]:
        held = held.setdefault(key, {})
    # Services ask for both keys, though JSON Schema does not.
    held[shape.schema[-1]] = {**copy.deepcopy(NO_PARAMETERS), **copy.deepcopy(tool.schema)}
    if shape.strict == "always" or (shape.strict == "said" and tool.strict is not None):
        inner["strict"] = bool(tool.strict)
    tag: dict[str, Any] = {} if shape.tag is None else {"type": shape.tag}
    return {**tag, shape.wrapper: inner} if shape.wrapper is not None else {**tag, **inner}


def _written_custom(provider: str, shape: Shape, tool: Declaration) -> dict[str, Any]:
    if not shape.custom:
        raise ValueError(
            f"tool {tool.name!r} takes free text and {provider} has no such tools; "
            "declare it as a function with one string parameter"
        )
    inner: dict[str, Any] = {"name": tool.name}
    if tool.description:
        inner["description"] = tool.description
    form = copy.deepcopy(tool.format)
    if form is not None and shape.wrapper is not None and form.get("type") == "grammar":
        form = {"type": "grammar", "grammar": {k: v for k, v in form.items() if k != "type"}}
    if form is not None:
        inner["format"] = form
    if shape.wrapper is not None:
        return {"type": "custom", "custom": inner}
    return {"type": "custom", **inner}


def _grouped(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gemini takes all functions in one entry."""
    functions = [item for item in listed if "name" in item]
    others = [item for item in listed if "name" not in item]
    return [{"functionDeclarations": functions}, *others] if functions else others
