"""What people see of a tool: its name, which arguments in which order, and what stays hidden.

Nothing here changes what a provider is told, nor what arguments are valid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from finalcall.narrow import is_object
from finalcall.tools.tool import Tool

FieldPath: TypeAlias = str | tuple[str, ...]
"""A property of the arguments, or a path to one further down; `"*"` is any index or name."""

_COMBINING: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})
"""Keywords by which an object may have properties that do not stand in its own list."""


@final
@dataclass(frozen=True, slots=True)
class Display:
    """What people see of one tool, where its schema does not say it.

    Attributes:
        label: The tool's name for people; `None` keeps its title, or else its name.
        fields: The properties to show, in this order: their names, or a mapping of names to what
            people call them. `None` shows all, in the order in which the model writes them.
        sensitive: Properties that must not be shown or kept, on top of those that the schema names.
    """

    label: str | None = None
    fields: Mapping[str, str] | Sequence[str] | None = None
    sensitive: Iterable[FieldPath] = ()


def apply_display(compiled: dict[str, Tool], display: Mapping[str, Display]) -> dict[str, Tool]:
    """Give tools what people see of them.

    Returns:
        All tools in the same order; those of which `display` says nothing, unchanged.

    Raises:
        ValueError: A name is no client tool's, or a field is none of its tool's properties: a
            misspelt one would leave what it means in sight.
        TypeError: `fields` or `sensitive` is one string.
    """
    unknown = sorted(display.keys() - compiled.keys())
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
    _check_names(tool, [*(fields or {}), *(path[0] for path in paths if path)])
    return dataclasses.replace(
        tool,
        label=display.label or tool.label,
        fields=fields,
        sensitive=tool.sensitive | frozenset(paths),
    )


def _check_names(tool: Tool, names: Iterable[str]) -> None:
    schema: dict[str, Any] = tool.schema or {}
    properties = schema.get("properties")
    if not is_object(properties) or _COMBINING & schema.keys():
        return
    unknown = sorted({name for name in names if name not in properties} - {"*"})
    if unknown:
        raise ValueError(
            f"the display of {tool.name!r} names {', '.join(map(repr, unknown))}; expected "
            f"properties of its arguments ({', '.join(map(repr, properties)) or 'it has none'})"
        )
