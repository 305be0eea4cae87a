"""Sensitive values: where they are, the mask is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.observe import redact
from finalcall.preview import MASK, Preview
from tests.test_preview_changes import apply
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
        {"cards": [{"number": MASK}, {"name": "x", "number": MASK}, MASK]},
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
        {"m": [[MASK] * 2, MASK, [MASK]]},
    ),
    "one item": ({("m", "1", "k")}, '{"m": [{"k": 1}, {"k": 2}]}', {"m": [{"k": 1}, {"k": MASK}]}),
    "root": ({()}, '{"a": {"b": [1]}}', MASK),
    "root array": ({("*",)}, '["a", 2]', [MASK, MASK]),
    "twice covered": ({("a",), ("a", "b")}, '{"a": {"b": 1}}', {"a": MASK}),
    "escaped name": ({("pin",)}, r'{"p\u0069n": 1}', {"pin": MASK}),
    "not there": ({("x", "y")}, '{"y": {"x": {"y": 2}}}', {"y": {"x": {"y": 2}}}),
    "an object as text": ({("a", "b")}, r'{"a": "{\"b\": 1}", "c": 2}', {"a": MASK, "c": 2}),
    "an object as a number": ({("a", "b")}, '{"a": 12, "c": 2}', {"a": MASK, "c": 2}),
    "an object as null": ({("a", "b")}, '{"a": null, "c": 2}', {"a": None, "c": 2}),
    "an object as an array": ({("a", "b")}, '{"a": [{"b": 1}], "c": [2]}', {"a": MASK, "c": [2]}),
    "an array as an object": (
        {("a", "*", "b")},
        '{"a": {"b": 1, "c": {"b": 2}}}',
        {"a": {"b": MASK, "c": {"b": MASK}}},
    ),
    "one item itself": ({("a", "1")}, '{"a": [1, 2, 3]}', {"a": [1, MASK, 3]}),
    "all as text": ({("a",)}, r'"{\"a\": 1}"', MASK),
    "all as an array": ({("a",)}, '[{"a": 1}]', MASK),
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


STEPS = st.sampled_from(["a", "b", "0", "1", "*"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", '{"a": "x"}']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "0", "c"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    TREES,
    st.sets(st.lists(STEPS, max_size=3).map(tuple), min_size=1, max_size=3),
    st.lists(st.integers(0, 80), max_size=4),
)
def test_a_screen_sees_what_a_record_keeps(
    value: Any, sensitive: set[tuple[str, ...]], places: list[int]
) -> None:
    """Whatever shape a model gives to what is sensitive, both mask the same of it."""
    text = json.dumps(value)
    preview = Preview(sensitive=sensitive)
    screen: list[Any] = []
    for fragment in cut(text, places):
        preview.feed(fragment)
        apply(screen, preview.changes())
    preview.end()
    apply(screen, preview.changes())
    assert preview.complete
    assert screen[0] == preview.value.plain() == json.loads(redact(text, sensitive))
