"""A native node of a chunk as a mapping of its fields, so that looking for absent ones is cheap.

Dialects add fields that the client's classes do not declare. Asking such an object for one that it
lacks costs more than everything else that is done with a chunk, so its fields are looked up in
what it holds, never through the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast, final

from finalcall.narrow import is_array, is_mapping, is_object

_ABSENT: Final = object()


def fields_of(node: Any) -> Mapping[str, Any]:
    """The fields of a dict or an SDK object; of anything else, the attributes it has."""
    if type(node) is dict:
        return cast("dict[str, Any]", node)
    undeclared: Any = getattr(node, "__pydantic_extra__", _ABSENT)
    if undeclared is not _ABSENT:
        declared: Any = getattr(node, "__dict__", None)
        if is_object(declared) and (undeclared is None or is_object(undeclared)):
            return {**declared, **undeclared} if undeclared else declared
    return node if is_mapping(node) else _Attributes(node)


def entries_of(calls: Any) -> Sequence[Any]:
    """The entries of `tool_calls`: some services send their one call bare, outside of a list."""
    if is_array(calls):
        return calls
    return [calls] if is_mapping(calls) else []


@final
class _Attributes(Mapping[str, Any]):
    """The attributes of an object that keeps its fields in its own way."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def __getitem__(self, name: str) -> Any:
        value = getattr(self._node, name, _ABSENT)
        if value is _ABSENT:
            raise KeyError(name)
        return value

    def __getattr__(self, name: str) -> Any:
        # Whoever reads a field of a dict by its key reads one of anything else so.
        return getattr(self._node, name)

    def __iter__(self) -> Iterator[str]:
        names = (name for name in dir(self._node) if not name.startswith("_"))
        return (name for name in names if getattr(self._node, name, _ABSENT) is not _ABSENT)

    def __len__(self) -> int:
        return sum(1 for _ in self)
