"""Asks of a value that could be anything whether it is a JSON object or array."""

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
