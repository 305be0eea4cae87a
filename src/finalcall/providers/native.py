"""Reads fields of native events, whether they are SDK objects or plain dicts.

An SDK is never imported and a class is never looked at: fields are read by name, and a value of
the wrong type reads as absent. Services send `None`, floats for indexes and objects for strings.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final, cast

from finalcall.narrow import is_array, is_mapping, is_object


def read(node: Any, name: str) -> Any:
    """The field of a dict or an object, `None` where it is absent."""
    # Asked several times an event: an exact check is far cheaper than an abstract Mapping's.
    if isinstance(node, dict):
        return cast("dict[str, Any]", node).get(name)
    return getattr(node, name, None)


def read_text(node: Any, name: str) -> str:
    """The field as a string, `""` where it is anything else."""
    value = read(node, name)
    return value if isinstance(value, str) else ""


def read_index(node: Any, name: str) -> int | None:
    """The field as an index from 0, `None` where it is anything else. `2.0` is an index."""
    value = read(node, name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def read_count(node: Any, name: str) -> int | None:
    """The field as a number of tokens, `None` where it is anything else."""
    return read_index(node, name)


def is_done(text: str) -> bool:
    """Whether a native event that is text is the closing marker of several services."""
    return text.strip() == "[DONE]"


def read_either(node: Any, camel: str, snake: str) -> Any:
    """A field that is camelCase on the wire, and snake_case in an SDK's objects and dumps."""
    if not is_object(node):
        return getattr(node, snake, None)
    value = node.get(camel)
    return node.get(snake) if value is None else value


def read_list(node: Any, name: str) -> list[Any]:
    """The field as a list, empty where it is anything else."""
    value = read(node, name)
    return value if is_array(value) else []


_MAX_COPIED_DEPTH: Final = 250
"""Deeper than strict parsing allows, so that a copy that was cut there can never be dispatched."""

_NOT_JSON: Final = "<not JSON>"


def to_plain(node: Any, depth: int = 0) -> Any:
    """A copy of a native value as plain JSON-compatible dicts and lists, unset fields left out."""
    if depth > _MAX_COPIED_DEPTH:
        return None
    if is_mapping(node):
        return {key: to_plain(value, depth + 1) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [to_plain(item, depth + 1) for item in cast("Sequence[Any]", node)]
    dump = getattr(node, "model_dump", None)
    if callable(dump):
        try:
            # Its warnings would quote the arguments, and so might its exceptions.
            return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
        except Exception:
            return {}
    return node


def to_json(value: Any) -> str:
    """Arguments that came as a value, as text; what JSON cannot hold becomes text that is no JSON.

    NaN and Infinity are written as such: strict parsing refuses them.
    """
    try:
        return json.dumps(to_plain(value), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return _NOT_JSON


_TEXTS: Final = (str, bytes)
_SHORT: Final = (int, float, type(None))
"""Types of values that take no room worth counting; a Boolean is an `int`."""


def size_of(native: Any) -> int:
    """Characters (or bytes) that a native event holds, whatever it is made of.

    Args:
        native: An SDK object, a dict, or any value inside one. A message of protocol buffers says
            its own size.
    """
    size = 0
    todo: list[Any] = [native]
    seen: set[int] = set()  # an object may refer back to itself
    while todo:
        node = todo.pop()
        if isinstance(node, _TEXTS):
            size += len(node)
        elif isinstance(node, _SHORT) or id(node) in seen:
            continue
        else:
            seen.add(id(node))
            if is_object(node):
                todo += node
                todo += node.values()
            elif isinstance(node, list | tuple):
                todo += cast("Sequence[Any]", node)
            elif _says_its_size(node.__class__):
                size += cast("int", node.ByteSize())
            else:
                todo += getattr(node, "__dict__", {}).values()
    return size


@functools.lru_cache(maxsize=1024)
def _says_its_size(kind: type[Any]) -> bool:
    """Whether objects of a class are messages of protocol buffers."""
    return callable(getattr(kind, "ByteSize", None))
