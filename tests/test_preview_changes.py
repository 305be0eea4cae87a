"""What changed between two looks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings

from finalcall.preview import Path, Preview, PreviewChange
from tests.test_preview_model import cuts

BEGINS: dict[str, Any] = {"object": dict, "array": list}


def apply(screen: list[Any], changes: Iterable[PreviewChange]) -> None:
    """Do to a screen what the changes say. The screen is empty, or one value."""
    for change in changes:
        if change.kind == "restart":
            screen.clear()
            continue
        if change.kind == "end":
            continue
        place: Any = screen
        *outer, key = (0, *change.path)
        for step in outer:
            place = place[step]
        if change.kind == "text":
            place[key] += change.text
            continue
        if change.kind in BEGINS:
            value = BEGINS[change.kind]()
        elif change.kind == "string":
            value = change.text
        else:
            value = json.loads(change.text)
        if isinstance(place, list):
            place.append(value)
        else:
            place[key] = value


def read(*fragments: str, **options: Any) -> list[list[tuple[Path, str, str]]]:
    """The changes after each fragment."""
    preview = Preview(**options)
    found: list[list[tuple[Path, str, str]]] = []
    for fragment in fragments:
        preview.feed(fragment)
        found.append([(change.path, change.kind, change.text) for change in preview.changes()])
    return found


def test_a_form_field_by_field() -> None:
    """A form tells where each fragment goes and when a field is whole."""
    assert read('{"to": "B', 'ob", "am', 'ount": 12', '0, "ok": tr', 'ue, "tags": ["x', '"]}') == [
        [((), "object", ""), (("to",), "string", "B")],
        [(("to",), "text", "ob"), (("to",), "end", "")],
        [],
        [(("amount",), "number", "120")],
        [(("ok",), "boolean", "true"), (("tags",), "array", ""), (("tags", 0), "string", "x")],
        [(("tags", 0), "end", ""), (("tags",), "end", ""), ((), "end", "")],
    ]


def test_a_long_wait_between_two_looks_gives_one_text() -> None:
    """However many fragments came in, a string is told in one piece."""
    preview = Preview()
    preview.feed('["')
    assert [change.kind for change in preview.changes()] == ["array", "string"]
    for _ in range(50):
        preview.feed("ab")
    assert preview.changes() == [PreviewChange((0,), "text", "ab" * 50)]


def test_a_whole_document_is_told_from_its_beginning() -> None:
    """Where the first look comes late, everything is told in the order of the text."""
    assert read('{"a": [1, {"b": null}], "c": -0.5}') == [
        [
            ((), "object", ""),
            (("a",), "array", ""),
            (("a", 0), "number", "1"),
            (("a", 1), "object", ""),
            (("a", 1, "b"), "null", "null"),
            (("a", 1), "end", ""),
            (("a",), "end", ""),
            (("c",), "number", "-0.5"),
            ((), "end", ""),
        ]
    ]


@pytest.mark.parametrize("text", ['"ab"', '"ab', "true ", "12 ", "[]", "{}"])
def test_a_root_of_any_type(text: str) -> None:
    """The path of the root is empty, whatever it is."""
    assert {path for changes in read(*text) for path, _, _ in changes} == {()}


def test_malformed_text_ends_nothing() -> None:
    """What was open when the text became malformed stays open, and nothing more is told."""
    assert read('{"a": ["x', "\x01", '"]}') == [
        [((), "object", ""), (("a",), "array", ""), (("a", 0), "string", "x")],
        [],
        [],
    ]


def test_restart_is_told_first() -> None:
    """After a restart the screen is told to forget, then gets the new text."""
    preview = Preview()
    preview.feed('{"a": "x')
    assert preview.changes()
    preview.restart()
    preview.feed("[1]")
    assert [(change.path, change.kind) for change in preview.changes()] == [
        ((), "restart"),
        ((), "array"),
        ((0,), "number"),
        ((), "end"),
    ]


def test_a_restart_before_the_first_look_is_not_told() -> None:
    """A screen that has shown nothing has nothing to forget."""
    preview = Preview()
    preview.feed('{"a": "x')
    preview.restart()
    assert preview.changes() == []


def test_a_sensitive_value_is_told_as_its_mask() -> None:
    """A mask comes once the value begins, ends when it ends, and has no text of its own."""
    assert read('{"pin": {"a', '": "secret', '"}', ', "x": 1', "}", sensitive={("pin",)}) == [
        [((), "object", ""), (("pin",), "string", "•••")],
        [],
        [(("pin",), "end", "")],
        [],
        [(("x",), "number", "1"), ((), "end", "")],
    ]


def test_containers_too_deep_are_not_told() -> None:
    """Containers below the depth that a strict parser allows are left out, the rest is told."""
    [changes] = read("[" * 300 + "]" * 299 + ", 7]")
    assert sum(kind == "array" for _, kind, _ in changes) == 200
    assert changes[-2:] == [((1,), "number", "7"), ((), "end", "")]


@settings(deadline=None)
@given(cuts())
def test_every_end_ends_what_began(fragments: list[str]) -> None:
    """Ends come innermost first, each once, and all of them by the end of a document."""
    preview = Preview()
    begun: list[Path] = []
    for fragment in fragments:
        preview.feed(fragment)
        for change in preview.changes():
            if change.kind in ("object", "array", "string"):
                begun.append(change.path)
            elif change.kind == "end":
                assert begun.pop() == change.path
    assert not (preview.complete and begun)


def test_a_change_shows_no_text_in_its_repr() -> None:
    """The repr names the kind, and nothing of the arguments."""
    assert repr(PreviewChange(("secret",), "text", "hidden")) == "<PreviewChange text>"
