"""Gives tools what people see of them, where their schemas do not say it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from finalcall.narrow import expect
from finalcall.tools.aliases import under_all_names
from finalcall.tools.display import Display
from finalcall.tools.schemas import Graph, unknown_part
from finalcall.tools.tool import Tool


def apply_display(compiled: dict[str, Tool], display: Mapping[str, Display]) -> dict[str, Tool]:
    """Give tools what people see of them.

    Returns:
        All tools in the same order; those of which `display` says nothing, unchanged.

    Raises:
        ValueError: A name is no client tool's, or a field is none of its tool's properties: a
            misspelt one would leave what it means in sight.
        TypeError: `display` is no mapping to `Display`s, or `fields` or `sensitive` is one string.
    """
    expect(display, Mapping, "display=", "a mapping of tool names to Display(...)")
    unknown = sorted(display.keys() - compiled.keys(), key=str)
    if unknown:
        raise ValueError(
            f"display names {', '.join(map(repr, unknown))}; expected names of client tools in "
            f"the set ({', '.join(map(repr, compiled)) or 'it has none'})"
        )
    return {
        name: _displayed(tool, display[name]) if name in display else tool
        for name, tool in compiled.items()
    }


def _displayed(tool: Tool, display: Display) -> Tool:
    expect(display, Display, f"the display of {tool.name!r}", "a Display, as Display(label=...)")
    for value in (display.fields, display.sensitive):
        if isinstance(value, str):
            raise TypeError(
                f"the display of {tool.name!r} has a string for a collection of properties; "
                "expected a tuple of their names, as (name,)"
            )
    paths = [(path,) if isinstance(path, str) else tuple(path) for path in display.sensitive]
    fields = tool.fields
    if isinstance(display.fields, Mapping):
        fields = dict(display.fields)
    elif display.fields is not None:
        fields = {name: tool.label_of(name) for name in display.fields}
    _check(tool, [*((name,) for name in fields or {}), *paths])
    return dataclasses.replace(
        tool,
        label=display.label or tool.label,
        fields=fields,
        sensitive=tool.sensitive | under_all_names(paths, tool.declaration.aliases),
    )


def _check(tool: Tool, paths: Iterable[tuple[str, ...]]) -> None:
    graph = Graph(tool.schema or {})
    for path in paths:
        place = unknown_part(graph, path)
        # A name that only pydantic takes is in no schema.
        if place is not None and path[place[0]] not in tool.declaration.aliases:
            at, known = place
            where = f" in {'.'.join(path[:at])!r}" if at else ""
            raise ValueError(
                f"the display of {tool.name!r} names {path[at]!r}{where}; expected properties of "
                f"its arguments ({', '.join(map(repr, known)) or 'it has none'})"
            )
