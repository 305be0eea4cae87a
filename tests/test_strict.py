"""What strict parsing bounds, and numbers that look like infinity where it searches for that."""

from __future__ import annotations

import json

import pytest

from finalcall.limits import MAX_DEPTH, MAX_DIGITS
from finalcall.outcomes import Cause
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


@pytest.mark.parametrize(
    ("at", "past"),
    [
        ("9" * MAX_DIGITS, "9" * (MAX_DIGITS + 1)),
        ("-" + "9" * MAX_DIGITS, "-" + "9" * (MAX_DIGITS + 1)),
        (
            "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH,
            "[" * (MAX_DEPTH + 1) + "1" + "]" * (MAX_DEPTH + 1),
        ),
    ],
    ids=["digits", "digits below 0", "depth"],
)
def test_a_bound_is_parsed_and_what_is_past_it_says_so(at: str, past: str) -> None:
    """At the bound nothing is lost."""
    assert json.dumps(parse_strict(at)) == at
    with pytest.raises(NotStrictJSON) as raised:
        parse_strict(past)
    assert raised.value.cause is Cause.LIMIT
