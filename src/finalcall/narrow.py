"""Asks of a value that could be anything what it is: a JSON object or array, or of what type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Is it a mapping, so that it can stand for a JSON object?"""
    return isinstance(value, Mapping)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Is it a parsed JSON object?"""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Is it a parsed JSON array?"""
    return isinstance(value, list)


def described(value: object) -> str:
    """What a value is, for a message: by its type alone, for nothing that is in it may be told."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def expect(
    value: object, kind: type[Any] | tuple[type[Any], ...], what: str, expected: str
) -> None:
    """Refuse a value of another type than was asked for, where the caller gave it.

    Args:
        value: What was given.
        kind: The types that it may have.
        what: What it is: the message begins with that.
        expected: What was expected, and what to do.

    Raises:
        TypeError: It has none of them.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {described(value)}; expected {expected}")
