"""Numbers that look like infinity where strict parsing searches for it, and numbers that are."""

from __future__ import annotations

import json

import pytest

from finalcall.strict import NotStrictJSON, parse_strict

LOOKS_INFINITE = 0x7FF0 << 45
"""Holds the bytes of infinity, as an integer is written down."""


def test_a_number_that_only_looks_infinite_is_parsed() -> None:
    """Wherever it stands, and whatever stands beside it."""
    value = {"a": [LOOKS_INFINITE, 1.5, "x", {"b": LOOKS_INFINITE}], "c": None}
    assert parse_strict(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["1e999", "[1, -1e400]", '{"a": [0.5, {"b": 1E999}]}'])
def test_a_number_that_overflows_is_refused(text: str) -> None:
    """Either infinity, at any depth."""
    with pytest.raises(NotStrictJSON):
        parse_strict(text)


def test_a_number_that_overflows_by_its_digits_is_refused() -> None:
    """No exponent is needed for it."""
    with pytest.raises(NotStrictJSON):
        parse_strict("1" * 400 + ".0")
