"""The six formats that are asserted, through both validators, and those that are not."""

from __future__ import annotations

import pytest

from finalcall.tools import ToolSet
from finalcall.tools.formats import ANNOTATIONS, DESCRIPTIONS, FORMATS

GOOD = {
    "date": ["2026-01-31", "2024-02-29", "0001-01-01"],
    "date-time": [
        "2026-01-31T14:30:00Z",
        "2026-01-31t14:30:00.123456789z",
        "2026-01-31T14:30:00+05:30",
        "2026-01-31T23:59:59-00:00",
    ],
    "email": [
        "a@b.co",
        "first.last+tag@sub.example.com",
        "o'neil@example.com",
        "a@localhost",
        '"two words"@example.com',
        "a@[127.0.0.1]",
    ],
    "time": ["14:30:00Z", "00:00:00.5+00:00", "23:59:59-12:00"],
    "uri": [
        "https://example.com",
        "http://user:pw@example.com:8080/a/b;c?q=1&r=%20#frag",
        "http://[::1]:80/",
        "urn:isbn:0451450523",
        "mailto:a@b.co",
        "file:///etc/hosts",
        "tel:+1-816-555-1212",
    ],
    "uuid": [
        "123e4567-e89b-12d3-a456-426614174000",
        "123E4567-E89B-12D3-A456-426614174000",
        "00000000-0000-0000-0000-000000000000",
    ],
}
BAD = {
    "date": ["2026-02-30", "2025-02-29", "20260131", "2026-W05-6", "2026-1-31", "31.01.2026"],
    "date-time": [
        "2026-01-31",
        "2026-01-31 14:30:00Z",
        "2026-01-31T14:30:00",
        "2026-01-31T14:30Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T23:59:60Z",
        "2026-02-30T00:00:00Z",
        "2026-01-31T14:30:00+0530",
    ],
    "email": [
        "a",
        "@b.co",
        "a@",
        "a b@c.co",
        ".a@b.co",
        "a..b@c.co",
        "a@b..co",
        "a@-b.co",
        "a@b.co, c@d.co",
        "<a@b.co>",
        "a@" + "b" * 64 + ".co",
        "a" * 250 + "@b.co",
    ],
    "time": ["14:30:00", "14:30Z", "24:00:00Z", "14:60:00Z", "14:30:00+24:00", "2pm"],
    "uri": [
        "example.com",
        "/path",
        "//example.com/x",
        "http://a b",
        "http://example.com/%zz",
        "http://exa[mple.com",
        "http://example.com:port/",
        'http://example.com/"quoted"',
        "http://é.com",
        "1http://x",
    ],
    "uuid": [
        "123e4567e89b12d3a456426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567-e89b-12d3-a456",
    ],
}
EVERYWHERE_BAD = ["", " ", "\n", "x", "\u0662\u0660\u0662\u0666-01-31"]


def tool_set(name: str, fast: bool) -> ToolSet:
    schema = {"type": "object", "properties": {"value": {"format": name}}}
    return ToolSet({"tool": schema}, fast=fast)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_asserted(name: str, fast: bool) -> None:
    """Good texts pass; bad ones, and good ones with something around them, are violations."""
    tools = tool_set(name, fast)
    for good in GOOD[name]:
        assert tools.check("tool", {"value": good}).errors == (), good
    spoiled = [wrong for good in GOOD[name] for wrong in (good + "\n", " " + good, good + " ")]
    for bad in [*BAD[name], *EVERYWHERE_BAD, *spoiled]:
        (error,) = tools.check("tool", {"value": bad}).errors
        assert (error.path, error.keyword, error.expected) == (("value",), "format", name), bad
        assert error.message == f"expected {DESCRIPTIONS[name]}; found a string in another form"


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", [*FORMATS, *sorted(ANNOTATIONS), "made-up"])
def test_a_format_says_nothing_of_other_types(name: str, fast: bool) -> None:
    """Numbers, objects and the like are the business of `type`."""
    tools = tool_set(name, fast)
    for value in (None, True, 5, 0.5, [], {}):
        assert tools.check("tool", {"value": value}).errors == ()


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", [*sorted(ANNOTATIONS), "made-up"])
def test_every_other_format_is_an_annotation(name: str, fast: bool) -> None:
    """What is installed does not change the answer."""
    assert tool_set(name, fast).check("tool", {"value": "?? ["}).errors == ()


def test_every_asserted_format_is_described() -> None:
    """A model that missed a format is told what it looks like."""
    assert FORMATS.keys() <= DESCRIPTIONS.keys()
    assert not FORMATS.keys() & ANNOTATIONS
