"""Other parsers as oracles: what jiter's partial mode shows of a prefix, and where it differs."""

from __future__ import annotations

import re
from typing import Any

import jiter
import pytest
from hypothesis import given, settings

from finalcall.preview import Preview, best_effort_partial
from tests.test_preview_model import documents

QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')


def partial(text: str) -> Any:
    """What jiter shows of a text whose last string is open."""
    return jiter.from_json(text.encode(), partial_mode="trailing-strings")


def without_open_number(text: str) -> str:
    """The text without a number at its very end, which jiter shows and may have to take back."""
    if len(QUOTE.findall(text)) % 2:
        return text
    return text.rstrip("0123456789+-.eE") if not text.endswith(("true", "false")) else text


@settings(deadline=None, max_examples=200)
@given(documents())
def test_every_prefix_shows_what_jiter_shows(text: str) -> None:
    """At every prefix of a document the value is jiter's, but for a number that may go on."""
    for end in range(len(text)):
        prefix = without_open_number(text[:end])
        preview = Preview()
        preview.feed(text[:end])
        if preview.value.begun:
            assert repr(preview.value.plain()) == repr(partial(prefix))


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ('{"a": 12', {}, {"a": 12}),
        ('{"a": 1.', {}, {}),
        ("[1, 23", [1], [1, 23]),
        ('{"a": 1, "a": 2}', {"a": 1}, {"a": 2}),
        ("[1, 1e999]", [1], [1, float("inf")]),
        ("[1, NaN]", [1], pytest.approx([1, float("nan")], nan_ok=True)),
        ('{"a": 1} x', {"a": 1}, {"a": 1}),
    ],
)
def test_where_jiter_differs(text: str, ours: Any, theirs: Any) -> None:
    """An open number, a repeated name and a number that is none are shown by jiter, not by us."""
    assert best_effort_partial(text).plain() == ours
    assert partial(text) == theirs


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("", None),
        ('["a\\q', ["a"]),
        ('["a\x01b"]', ["a"]),
        ('["a\\ud800b"]', ["a"]),
        ("[1, x]", [1]),
        ("[" * 300, None),
    ],
)
def test_where_jiter_raises(text: str, ours: Any) -> None:
    """Where jiter has nothing to show but an exception, the last good value stays."""
    with pytest.raises(ValueError, match="at line"):
        partial(text)
    value = best_effort_partial(text)
    assert value.begun is bool(text)
    assert ours is None or value.plain() == ours
