"""What people see of a tool: its name, which arguments in which order, and what stays hidden.

Nothing here changes what a provider is told, nor what arguments are valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

FieldPath: TypeAlias = str | tuple[str, ...]
"""A property of the arguments, or a path to one further down; `"*"` is any index or name."""


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
