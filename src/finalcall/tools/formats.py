"""The string formats that are asserted, as small checks. Every other format is an annotation.

A format is checked by the same function whether or not the fast validator is installed.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Final, TypeAlias

FormatCheck: TypeAlias = Callable[[object], bool]

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# A leap second is refused: RFC 3339 allows it, but no handler's `datetime` can hold it.
_TIME: Final = re.compile(
    r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL: Final = re.compile(
    rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\r\n]|\\.)+")'
    rf"@(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])",
    re.ASCII,
)
_UNIT: Final = r"[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}"
_AUTHORITY: Final = rf"(?:(?:{_UNIT}|:)*@)?(?:\[[0-9A-Fa-f:.]+\]|(?:{_UNIT})*)(?::\d*)?(?=[/?#]|\Z)"
_URI: Final = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}|(?!//))"
    rf"(?:{_UNIT}|[:@/])*(?:\?(?:{_UNIT}|[:@/?])*)?(?:#(?:{_UNIT}|[:@/?])*)?",
    re.ASCII,
)
_MAX_EMAIL: Final = 254
"""Characters of an address (RFC 5321)."""


def is_date(value: object) -> bool:
    """Is it a calendar date, `2026-01-31`?"""
    if not isinstance(value, str):
        return True
    if not _DATE.fullmatch(value):
        return False
    try:
        dt.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_time(value: object) -> bool:
    """Is it a time with seconds and an offset, `14:30:00Z`?"""
    return not isinstance(value, str) or _TIME.fullmatch(value) is not None


def is_date_time(value: object) -> bool:
    """Is it a date and a time with an offset, `2026-01-31T14:30:00Z`?"""
    if not isinstance(value, str):
        return True
    return value[10:11] in {"T", "t"} and is_date(value[:10]) and is_time(value[11:])


def is_uuid(value: object) -> bool:
    """Is it a UUID in its hyphenated form?"""
    return not isinstance(value, str) or _UUID.fullmatch(value) is not None


def is_email(value: object) -> bool:
    """Is it one address, `name@example.com`?"""
    if not isinstance(value, str):
        return True
    return len(value) <= _MAX_EMAIL and _EMAIL.fullmatch(value) is not None


def is_uri(value: object) -> bool:
    """Is it an absolute URI, `https://example.com/x`?"""
    return not isinstance(value, str) or _URI.fullmatch(value) is not None


FORMATS: Final[dict[str, FormatCheck]] = {
    "date": is_date,
    "date-time": is_date_time,
    "email": is_email,
    "time": is_time,
    "uri": is_uri,
    "uuid": is_uuid,
}
"""Each check takes any JSON value and passes what is not a string."""

DESCRIPTIONS: Final[dict[str, str]] = {
    "date": "a date like 2026-01-31",
    "date-time": "a date and time with an offset, like 2026-01-31T14:30:00Z",
    "duration": "an ISO 8601 duration like PT1H30M",
    "email": "an e-mail address like name@example.com",
    "time": "a time with seconds and an offset, like 14:30:00Z",
    "uri": "an absolute URI like https://example.com/path",
    "uuid": "a UUID like 123e4567-e89b-12d3-a456-426614174000",
}

ANNOTATIONS: Final = frozenset(
    {
        "duration",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "uri-reference",
        "uri-template",
    }
)
"""Formats that the fast validator would assert by itself: switched off, so that an outcome does
not depend on what is installed."""
