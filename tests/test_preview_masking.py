"""Sensitive values: where they are, the mask is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.preview import MASK, Preview
from finalcall.preview.masking import is_sensitive
from tests.test_preview_model import cut, spell, values

SECRETS: dict[str, tuple[set[tuple[str, ...]], str, Any]] = {
    "member": ({("pin",)}, '{"pin": "1234", "to": "Bob"}', {"pin": MASK, "to": "Bob"}),
    "number": ({("pin",)}, '{"pin": 1234, "to": "Bob"}', {"pin": MASK, "to": "Bob"}),
    "last number": ({("pin",)}, '{"to": "Bob", "pin": -1.5e3 }', {"to": "Bob", "pin": MASK}),
    "literal": ({("pin",)}, '{"pin": null}', {"pin": MASK}),
    "object": ({("pin",)}, '{"pin": {"a": {"pin": [1]}}, "b": 2}', {"pin": MASK, "b": 2}),
    "array": ({("pin",)}, '{"pin": [{"a": 1}, "x", []] , "b": 2}', {"pin": MASK, "b": 2}),
    "nested": (
        {("card", "number")},
        '{"card": {"number": "4111", "name": "Ada"}, "number": 7}',
        {"card": {"number": MASK, "name": "Ada"}, "number": 7},
    ),
    "in every item": (
        {("cards", "*", "number")},
        '{"cards": [{"number": 1}, {"name": "x", "number": [2]}, 5]}',
        {"cards": [{"number": MASK}, {"name": "x", "number": MASK}, 5]},
    ),
    "every item": (
        {("codes", "*")},
        '{"codes": ["a", 1, {"b": 2}, [], null], "n": [1]}',
        {"codes": [MASK] * 5, "n": [1]},
    ),
    "every item of an empty array": ({("codes", "*")}, '{"codes": [ ]}', {"codes": []}),
    "every name": (
        {("env", "*")},
        '{"env": {"A": "a", "B": {"c": 1}}, "x": {"A": 1}}',
        {"env": {"A": MASK, "B": MASK}, "x": {"A": 1}},
    ),
    "items of items": (
        {("m", "*", "*")},
        '{"m": [[1, 2], 3, [[4]]]}',
        {"m": [[MASK] * 2, 3, [MASK]]},
    ),
    "one item": ({("m", "1", "k")}, '{"m": [{"k": 1}, {"k": 2}]}', {"m": [{"k": 1}, {"k": MASK}]}),
    "root": ({()}, '{"a": {"b": [1]}}', MASK),
    "root array": ({("*",)}, '["a", 2]', [MASK, MASK]),
    "twice covered": ({("a",), ("a", "b")}, '{"a": {"b": 1}}', {"a": MASK}),
    "escaped name": ({("pin",)}, r'{"p\u0069n": 1}', {"pin": MASK}),
    "not there": ({("x", "y")}, '{"x": 1, "y": {"x": {"y": 2}}}', {"x": 1, "y": {"x": {"y": 2}}}),
}


@pytest.mark.parametrize(("sensitive", "text", "shown"), SECRETS.values(), ids=SECRETS.keys())
def test_masks_stand_where_the_secrets_are(
    sensitive: set[tuple[str, ...]], text: str, shown: Any
) -> None:
    """Whole and a character at a time, the same masks are shown, and the text is as complete."""
    for fragments in ([text], list(text)):
        preview = Preview(sensitive=sensitive)
        for fragment in fragments:
            preview.feed(fragment)
        assert preview.complete
        assert preview.value.plain() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"pin": ', {}),
        ('{"pin": "', {"pin": MASK}),
        ('{"pin": {', {"pin": MASK}),
        ('{"pin": 12', {}),
        ('{"pin": 12,', {"pin": MASK}),
        ('{"pin": nul', {}),
        ('{"pin": null', {"pin": MASK}),
        ('{"pin": "\\q', {"pin": MASK}),
        ('{"pin": 1, "pin"', {"pin": MASK}),
    ],
)
def test_a_mask_appears_once_the_value_has_begun(text: str, shown: Any) -> None:
    """A mask keeps the promises of the value that it stands for."""
    preview = Preview(sensitive={("pin",)})
    preview.feed(text)
    assert preview.value.plain() == shown


def test_completed_keys_count_a_masked_value_when_it_is_whole() -> None:
    """The mask is completed when the value behind it is."""
    preview = Preview(sensitive={("a", "pin"), ("a", "codes", "*")})
    preview.feed('{"a": {"pin": ["x')
    assert preview.completed_keys(("a",)) == []
    preview.feed('"]')
    assert preview.completed_keys(("a",)) == ["pin"]
    preview.feed(', "codes": ["y')
    assert preview.completed_keys(("a",)) == ["pin"]
    preview.feed('"]}')
    assert preview.completed_keys(("a",)) == ["pin", "codes"]
    assert preview.completed_keys(("a", "pin")) == []


def test_malformed_text_leaves_the_masks() -> None:
    """Where the text breaks inside a secret or behind it, the mask stays and is as complete."""
    for text, completed in (('{"pin": ["x"!', []), ('{"pin": "x"!', ["pin"])):
        preview = Preview(sensitive={("pin",)})
        preview.feed(text)
        assert preview.malformed
        assert preview.value.plain() == {"pin": MASK}
        assert preview.completed_keys() == completed


def test_restart_keeps_the_sensitive_paths() -> None:
    """A restated text is masked as the first was."""
    for sensitive, shown in (({("pin",)}, {"pin": MASK}), ({()}, MASK)):
        preview = Preview(sensitive=sensitive)
        preview.feed('{"pin": "ab')
        preview.restart()
        preview.feed('{"pin": "cd"}')
        assert preview.value.plain() == shown


@settings(deadline=None)
@given(values, st.integers(0, 2**32), st.lists(st.integers(0, 500), max_size=5))
def test_no_cut_shows_any_of_a_masked_root(value: Any, seed: int, places: list[int]) -> None:
    """With the root masked there is never anything but the mask."""
    preview = Preview(sensitive={()})
    for fragment in cut(spell(value, seed), places):
        preview.feed(fragment)
        assert not preview.value.begun or preview.value.plain() == MASK
    preview.end()
    assert preview.value.plain() == MASK


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (["a"], True),
        (["b"], False),
        (["c", "0", "d"], True),
        (["c", "0", "e"], False),
        (["c", "0"], False),
        ([], False),
    ],
)
def test_paths_match_name_by_name(path: list[str], expected: bool) -> None:
    """A star stands for any one name or index, and a path matches whole or not at all."""
    assert is_sensitive(path, frozenset({("a",), ("c", "*", "d")})) is expected
