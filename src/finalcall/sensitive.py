"""Which values of arguments are out of sight: one rule, for records and for screens."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, TypeAlias, final

MASK: Final = "•••"
"""What stands in place of a sensitive value, whatever its type and length."""

Paths: TypeAlias = tuple[tuple[str, ...], ...]
"""What is left of the sensitive paths below a place; the empty path is the place itself."""


@final
class Form(Enum):
    """What a value is, as far as it matters here."""

    OBJECT = auto()
    ARRAY = auto()
    LITERAL = auto()
    """`true`, `false` or `null`: it tells nothing of what should have been there."""
    TEXT = auto()
    """A string or a number, which may hold anything."""


def below(paths: Iterable[tuple[str, ...]], step: str) -> Paths:
    """What is sensitive at, or below, a member or an item.

    Args:
        paths: The paths of its object or array; `"*"` is any index or name.
        step: The name, or the index as text.
    """
    return tuple(path[1:] for path in paths if path and path[0] in ("*", step))


def is_in_sight(form: Form, paths: Paths) -> bool:
    """Whether a value may be seen, but for what is sensitive further down.

    A value that should hold sensitive ones, and is a string, a number or another kind of
    container, is out of sight as a whole: a model may have written the object as a string.

    Args:
        form: What the value is.
        paths: What is sensitive at it, or should be below it.
    """
    if not paths:
        return True
    if () in paths or form is Form.TEXT:
        return False
    return form is not Form.ARRAY or all(path[0] == "*" or path[0].isdecimal() for path in paths)
