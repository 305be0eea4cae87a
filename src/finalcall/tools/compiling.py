"""Turns one item of a tool list into compiled tools, whatever it is."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from finalcall.events import CallKind
from finalcall.narrow import expect, is_array, is_mapping
from finalcall.tools import reading, signatures
from finalcall.tools.aliases import under_all_names
from finalcall.tools.checks import accept, free_text, model_checker, schema_checker
from finalcall.tools.schemas import Graph, Path, sensitive_paths
from finalcall.tools.shapes import Declaration, Entry
from finalcall.tools.tool import Checker, Tool

_SINGLE: Final = "a single tool was given; expected a list of tools: put it in a list, as [tool]"


def compile_tools(tools: Any, fast: bool | None) -> tuple[list[Entry], dict[str, Tool]]:
    """Read and compile all that `ToolSet` takes.

    Returns:
        The entries in order, for writing, and the client tools by name.

    Raises:
        ValueError: An entry is not understood, a name comes twice, a schema is bad.
        TypeError: `tools` is neither a list nor a mapping, or is a single tool.
    """
    entries: list[Entry] = []
    compiled: dict[str, Tool] = {}
    for name, item in _items(tools):
        try:
            read = _compiled(name, item, fast)
        except RecursionError:
            raise ValueError("a tool's schema is nested too deeply to be compiled") from None
        for entry, made in read:
            entries.append(entry)
            for tool in made:
                known = compiled.setdefault(tool.name, tool)
                if known is not tool and not _shared(known, tool):
                    raise ValueError(f"two tools are named {tool.name!r}; names must differ")
    return entries, compiled


def mark_once(compiled: dict[str, Tool], once: Iterable[str]) -> dict[str, Tool]:
    """Mark the tools whose calls must not be dispatched twice.

    Returns:
        All tools in the same order; those that are marked already, or need no mark, unchanged.

    Raises:
        ValueError: A name is no client tool's.
        TypeError: `once` is one string, or no collection of strings.
    """
    if isinstance(once, str):
        raise TypeError("once is a string; expected a collection of tool names, as (name,)")
    expect(once, Iterable, "once=", "a collection of tool names, as (name,)")
    given = list(once)
    for name in given:
        expect(name, str, "what once= holds", "names of client tools")
    names = frozenset(given)
    unknown = sorted(names - compiled.keys())
    if unknown:
        raise ValueError(
            f"once names {', '.join(map(repr, unknown))}; expected names of client tools in the "
            f"set ({', '.join(map(repr, compiled)) or 'it has none'})"
        )
    return {
        name: dataclasses.replace(tool, once=True) if name in names and not tool.once else tool
        for name, tool in compiled.items()
    }


def _shared(known: Tool, tool: Tool) -> bool:
    """Two toolsets of a service may have members in common; a call says which toolset is meant."""
    return all(each.schema is None and each.kind == "function" for each in (known, tool))


def _items(tools: Any) -> Iterator[tuple[str | None, Any]]:
    if is_mapping(tools):
        if reading.is_single(tools):
            raise TypeError(_SINGLE)
        if is_array(tools.get("tools")):
            raise TypeError("a request's options were given; expected the list under 'tools'")
        for name, item in cast("Mapping[Any, Any]", tools).items():
            if not isinstance(name, str) or not name:
                raise TypeError(f"the name of a tool is {name!r}; expected text")
            yield name, item
        return
    if isinstance(tools, str | bytes | type) or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools is {type(tools).__name__}; expected a list of tools or a mapping of names "
            "to schemas (one tool is a list of one)"
        )
    if _as_mapping(tools) is not None:  # SDKs' objects can be iterated, too
        raise TypeError(_SINGLE)
    for item in cast("Any", tools):
        yield None, item


def _compiled(name: str | None, item: Any, fast: bool | None) -> list[tuple[Entry, list[Tool]]]:
    if isinstance(item, Tool):
        return [(Entry(declarations=(item.declaration,)), [item])]
    given = _as_mapping(item)
    made = None
    if signatures.is_model_class(item):
        made = signatures.declare_model(item, name)
    elif given is None and callable(item):
        made = signatures.declare_callable(item, name)
    if made is not None:
        declaration, adapter = made
        checker = model_checker(adapter, declaration.schema or {})
        return [(Entry(declarations=(declaration,)), [_tool(declaration, checker, fast)])]
    if name is not None:
        entries = [
            Entry(declarations=(reading.declare(name, given if given is not None else item),))
        ]
    else:
        if given is None:
            raise ValueError(reading.not_understood(item))
        entries = reading.read(given)
    return [
        (entry, [_tool(declaration, None, fast) for declaration in entry.declarations])
        for entry in entries
    ]


def _as_mapping(item: Any) -> Mapping[str, Any] | None:
    """Give a dict, or an SDK's object as one, by what it can do and not by its class."""
    if is_mapping(item):
        return item
    if isinstance(item, type):
        return None
    if hasattr(item, "model_dump") or hasattr(item, "to_dict"):
        dumped = (
            item.model_dump(mode="json", by_alias=True, exclude_none=True)
            if hasattr(item, "model_dump")
            else item.to_dict()
        )
        return dumped if is_mapping(dumped) else None
    if hasattr(item, "inputSchema"):
        keys = ("name", "title", "description", "inputSchema")
        return {key: value for key in keys if (value := getattr(item, key, None)) is not None}
    return None


def _tool(declaration: Declaration, checker: Checker | None, fast: bool | None) -> Tool:
    schema = declaration.schema
    sensitive: frozenset[Path] = frozenset()
    if schema is not None:
        try:
            graph = _graph(schema)
            checker = checker or schema_checker(schema, graph, fast)
        except ValueError as error:
            raise ValueError(f"tool {declaration.name!r} has a bad schema: {error}") from None
        sensitive = under_all_names(sensitive_paths(graph), declaration.aliases)
    return Tool(
        name=declaration.name,
        description=declaration.description,
        schema=copy.deepcopy(schema),
        kind=declaration.kind,
        label=declaration.title or declaration.name,
        sensitive=sensitive,
        declaration=declaration,
        checker=checker or (free_text if declaration.kind is CallKind.CUSTOM else accept),
    )


def _graph(schema: dict[str, Any]) -> Graph:
    kind = schema.get("type", "object")
    if kind != "object" and not (is_array(kind) and "object" in kind):
        raise ValueError(f"its type is {kind!r}; arguments are always an 'object'")
    return Graph(schema)
