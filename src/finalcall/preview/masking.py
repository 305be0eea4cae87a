"""Sensitive values: read as any other, but out of sight, with a mask shown in their place.

Nothing of a sensitive value is ever in the structure that a screen gets.
"""

from __future__ import annotations

from typing import Any, TypeAlias, final

from finalcall.sensitive import MASK, Form, Paths, below, is_in_sight

__all__ = ["MASK", "Hidden", "SensitivePaths"]

SensitivePaths: TypeAlias = frozenset[tuple[str, ...]]
"""Paths from the root; `"*"` is any name or index. A tool's `sensitive` has this form."""


@final
class Hidden(list[Any]):
    """Where values are read to that are sensitive, or should hold sensitive ones.

    Each that begins puts a mask where it can be seen, or is seen itself where it may be.

    Args:
        shown_in: The object or array that a screen sees.
        paths: What is sensitive: at or below the member; below the array.
        name: Where in that object the value goes; None where it is an array's next item.
    """

    __slots__ = ("name", "paths", "shown_in")

    def __init__(self, shown_in: Any, paths: Paths, name: str | None = None) -> None:
        super().__init__()
        self.shown_in: Any = shown_in
        self.paths: Paths = paths
        self.name: str | None = name

    def shows(self, value: Any) -> bool:
        """Whether a screen may see a value that begins here."""
        paths = self.paths if self.name is not None else below(self.paths, str(len(self)))
        return is_in_sight(_form(value), paths)

    def append(self, value: Any, /) -> None:
        """Take a value that has begun, and show it or the mask for it."""
        shown = value if self.shows(value) else MASK
        if self.name is None:
            self.shown_in.append(shown)
        else:
            self.shown_in[self.name] = shown
        super().append(value)

    def has_shown(self, container: Any) -> bool:
        """Whether a screen sees a container that was read as the last item."""
        if container.__class__ is Hidden:
            container = container.shown_in
        return self.name is None and self.shown_in[-1] is container


def _form(value: Any) -> Form:
    if value.__class__ is dict:
        return Form.OBJECT
    if value.__class__ is list:
        return Form.ARRAY
    return Form.LITERAL if value is None or value.__class__ is bool else Form.TEXT
