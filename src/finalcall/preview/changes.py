"""What changed between two looks, so that a screen appends instead of rendering anew.

The finder compares what it has reported with what is there now, at the open end only: containers
grow at their end, so nothing that is closed is ever looked at twice. It keeps no strings, for a
string that somebody holds cannot grow in place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias, final

__all__ = ["DEEPEST", "ChangeFinder", "ChangeKind", "Path", "PreviewChange"]

Path: TypeAlias = tuple[str | int, ...]
"""Where a value is: names and indexes from the root down. The root is `()`."""

ChangeKind: TypeAlias = Literal[
    "object", "array", "string", "number", "boolean", "null", "text", "end", "restart"
]
"""`object`, `array`, `string`: a value of this type began. `number`, `boolean`, `null`: a value
appeared, whole. `text`: the string grew. `end`: the object, array or string is whole. `restart`:
the text began anew; forget everything."""

DEEPEST: Final = 200
"""Containers nested deeper are not reported: no strict parser takes them, and a path costs its
depth."""

_KINDS: Final[dict[type[Any], ChangeKind]] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


@final
@dataclass(frozen=True, slots=True, repr=False)
class PreviewChange:
    """One thing that is new since the last look. For screens only.

    Attributes:
        path: Where.
        kind: What happened there.
        text: The characters to append to what is shown there: the first characters of a string, a
            whole number or literal as JSON writes it, the new characters of a string; else empty.
    """

    path: Path
    kind: ChangeKind
    text: str = ""

    def __repr__(self) -> str:
        return f"<PreviewChange {self.kind}>"


@final
class _Level:
    """A container that was open at the last look, and how much of it has been reported."""

    __slots__ = ("container", "fresh", "path", "reported")

    def __init__(self, container: Any, path: Path) -> None:
        self.container = container
        self.path = path
        self.reported = 0
        self.fresh: list[Any] = []

    def next_key(self) -> Any:
        """The key of the next value to report; None where all are."""
        if not self.fresh:
            missing = len(self.container) - self.reported
            if not missing:
                return None
            if self.container.__class__ is dict:
                self.fresh = list(islice(reversed(self.container), missing))
            else:
                self.fresh = list(range(len(self.container) - 1, self.reported - 1, -1))
        self.reported += 1
        return self.fresh.pop()


@final
class ChangeFinder:
    """Finds what is new in one preview's structure since it was last asked."""

    __slots__ = ("_key", "_levels", "_restarted", "_root", "_shown")

    def __init__(self, root: list[Any]) -> None:
        self._root = root
        self._restarted = False
        self._begin()

    def _begin(self) -> None:
        self._levels = [_Level(self._root, ())]
        self._shown: int | None = None  # characters reported of the string at the open end
        self._key: Any = None  # and where in the deepest container it is

    def restart(self) -> None:
        """Forget everything; the next changes begin with a `restart`."""
        self._begin()
        self._restarted = True

    def find(self, containers: Sequence[Any], writing: Any) -> list[PreviewChange]:
        """Report what is new, in the order of the text.

        Args:
            containers: The containers that are open now, from the root down.
            writing: The one whose last value is a string that is open; None where none is.
        """
        changes: list[PreviewChange] = []
        if self._restarted:
            changes.append(PreviewChange((), "restart"))
            self._restarted = False
        while True:
            level = self._levels[-1]
            if self._shown is not None and not self._string_ended(level, writing, changes):
                return changes
            key = level.next_key()
            if key is not None:
                self._report(level, key, changes)
                continue
            depth = len(self._levels) - 1
            if not depth or (depth < len(containers) and containers[depth] is level.container):
                return changes
            changes.append(PreviewChange(level.path, "end"))
            self._levels.pop()

    def _report(self, level: _Level, key: Any, changes: list[PreviewChange]) -> None:
        path = (*level.path, key) if len(self._levels) > 1 else ()
        item = level.container[key]
        kind = _KINDS[item.__class__]
        if item.__class__ is dict or item.__class__ is list:
            if len(path) < DEEPEST:
                changes.append(PreviewChange(path, kind))
                self._levels.append(_Level(item, path))
        elif kind == "string":
            changes.append(PreviewChange(path, kind, item))
            self._shown, self._key = len(item), key
        else:
            changes.append(PreviewChange(path, kind, json.dumps(item)))

    def _string_ended(self, level: _Level, writing: Any, changes: list[PreviewChange]) -> bool:
        path = (*level.path, self._key) if len(self._levels) > 1 else ()
        string = level.container[self._key]
        if len(string) > (self._shown or 0):
            changes.append(PreviewChange(path, "text", string[self._shown :]))
        if writing is level.container and level.reported == len(level.container):
            self._shown = len(string)
            return False
        changes.append(PreviewChange(path, "end"))
        self._shown = None
        return True
