"""Gives a call a fingerprint: equal for equal names and equal arguments, however they were spelled.

Never reads argument text, only parsed values: what counts is what a tool would be given.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Final

from finalcall.narrow import is_array, is_object

_CLOSE: Final = object()
"""Stands in the list of what is still to be written for a bracket that closes."""

_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def fingerprint(name: str, args: dict[str, Any]) -> str:
    """Give the fingerprint of a call.

    Args:
        name: The tool's name.
        args: The parsed arguments.

    Returns:
        64 hexadecimal digits: the SHA-256 of the canonical form of `[name, args]` in UTF-8.

    Raises:
        TypeError: The arguments hold something that is no JSON.
        ValueError: They hold a number that is not finite.
    """
    return hashlib.sha256(canonical([name, args]).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> str:
    """Write a JSON value in the one way that equal values have in common.

    The form is that of RFC 8785 (JSON Canonicalization Scheme) but for numbers:

    1. No white space. Strings are escaped only where JSON demands it, and not normalised.
    2. The names of an object are in the order of their UTF-16 code units.
    3. A number that is whole is written with all its digits and nothing else, however it was
       spelled: `1`, `1.0` and `1e0` are `1`, and `-0.0` is `0`. No digit of an integer is lost.
    4. Any other number is the shortest decimal that reads back as the same double.

    A number spelled with a point or an exponent has been read as a double, so beyond 2**53 it is
    the whole number nearest to what was spelled.

    Args:
        value: What a JSON parser gives. Depth does not matter.

    Raises:
        TypeError: It holds something that is no JSON.
        ValueError: It holds a number that is not finite.
    """
    written: list[str] = []
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        before, node = pending.pop()
        written.append(before)
        if node is _CLOSE:
            continue
        if is_object(node):
            written.append("{")
            pending.append(("}", _CLOSE))
            pending.extend(_members(node))
        elif is_array(node):
            written.append("[")
            pending.append(("]", _CLOSE))
            pending.extend(_elements(node))
        else:
            written.append(_scalar(node))
    return "".join(written)


def _members(node: dict[str, Any]) -> list[tuple[str, Any]]:
    """The members of an object, last first, each with what is written before its value."""
    members = [
        (f"{',' if index else ''}{_quoted(name)}:", node[name])
        for index, name in enumerate(sorted(node, key=_code_units))
    ]
    return members[::-1]


def _elements(node: list[Any]) -> list[tuple[str, Any]]:
    """The elements of an array, last first, each with what is written before it."""
    elements = [("," if index else "", element) for index, element in enumerate(node)]
    return elements[::-1]


def _code_units(name: Any) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"an object has a name of type {type(name).__name__}; JSON has only text")
    return name.encode("utf-16-be", "surrogatepass")


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _number(value)
    raise TypeError(f"arguments hold a {type(value).__name__}; expected what a JSON parser gives")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("arguments hold a number that is not finite; JSON has none")
    return int.__repr__(int(value)) if value.is_integer() else float.__repr__(value)
