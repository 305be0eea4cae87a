"""Sensitive values: read as any other, but out of sight, with a mask shown in their place.

Nothing of a sensitive value is ever in the structure that a screen gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, final

__all__ = ["MASK", "Hidden", "SensitivePaths", "is_sensitive"]

MASK: Final = "•••"
"""What is shown in place of a sensitive value, whatever its type and length."""

SensitivePaths: TypeAlias = frozenset[tuple[str, ...]]
"""Paths from the root; `"*"` is any name or index. A tool's `sensitive` has this form."""


@final
class Hidden(list[Any]):
    """Where sensitive values are read to. Each that begins puts a mask where it can be seen.

    Args:
        shown_in: The object or array that a screen sees.
        name: Where in that object the mask goes; None where it is an array's next item.
    """

    __slots__ = ("name", "shown_in")

    def __init__(self, shown_in: Any, name: str | None = None) -> None:
        super().__init__()
        self.shown_in: Any = shown_in
        self.name: str | None = name

    def append(self, value: Any, /) -> None:
        """Take a value that has begun, and show the mask for it."""
        if self.name is None:
            self.shown_in.append(MASK)
        else:
            self.shown_in[self.name] = MASK
        super().append(value)


def is_sensitive(path: Sequence[str], sensitive: SensitivePaths) -> bool:
    """Whether one of the sensitive paths is this path."""
    return any(
        len(pattern) == len(path)
        and all(wanted in ("*", step) for wanted, step in zip(pattern, path, strict=True))
        for pattern in sensitive
    )
