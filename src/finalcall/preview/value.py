"""The type of what a preview shows: a value that can be looked at and nothing else.

It cannot be run, unpacked or serialised; `plain()` is the one door, and it is for screens.
"""

from __future__ import annotations

from typing import Any, TypeAlias, final

__all__ = ["PlainValue", "PreviewValue"]

PlainValue: TypeAlias = "dict[str, PlainValue] | list[PlainValue] | str | int | float | bool | None"
"""What a JSON text means, in plain Python."""


@final
class PreviewValue:
    """What can be shown of a JSON text that may be cut anywhere. For screens only.

    It is a live view: it always shows what the preview has read so far. It is deliberately no
    mapping and no sequence: it cannot be unpacked with `**`, indexed, iterated or dumped, and its
    `repr` shows nothing of what it holds. That a value can be shown says nothing about whether the
    call will ever be whole.
    """

    __slots__ = ("_root",)

    def __init__(self, root: list[Any]) -> None:
        self._root: list[PlainValue] = root

    @property
    def begun(self) -> bool:
        """Whether there is anything to show yet. Tells an empty text from a `null`."""
        return bool(self._root)

    def plain(self) -> PlainValue:
        """Hand out the live structure, in O(1). For screens only: never act on it.

        The containers are the preview's own and go on growing while text comes in: do not change
        them. Keeping a string that is still growing makes the next fragment copy it; `copy()` is
        for what is to be kept.

        Returns:
            Plain dicts, lists, strings, numbers, booleans and None; None where nothing has begun.
        """
        try:
            return self._root[0]
        except IndexError:
            return None

    def copy(self) -> PlainValue:
        """Copy the structure as it is now, in time proportional to its size. For screens only.

        Returns:
            As `plain()`, but it shares no container with the preview and never changes by itself.
        """
        top: list[Any] = []
        todo: list[tuple[Any, Any]] = [(self._root, top)]
        while todo:
            source, target = todo.pop()
            for key, item in source.items() if target.__class__ is dict else enumerate(source):
                copied: Any = item
                if item.__class__ is dict:
                    copied = {}
                elif item.__class__ is list:
                    copied = []
                if copied is not item:
                    todo.append((item, copied))
                if target.__class__ is dict:
                    target[key] = copied
                else:
                    target.append(copied)
        return top[0] if top else None

    def __repr__(self) -> str:
        return "<PreviewValue>"
