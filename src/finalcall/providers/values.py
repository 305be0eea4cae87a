"""Arguments that a service may send as text or as a value, read as text."""

from __future__ import annotations

from typing import Any

from finalcall.providers.native import to_json


def text_of(value: Any) -> str:
    """A value as JSON text, text as it is, `None` as none. Never raises."""
    if isinstance(value, str):
        return value
    return "" if value is None else to_json(value)


def given_text(value: Any) -> str:
    """The same where `{}` is only a placeholder for arguments that come later, if any do."""
    return "" if value == {} else text_of(value)
