"""The numbered promises of `Preview`, each a property of the sequence of values."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.preview import MASK, Path, Preview
from finalcall.strict import parse_strict
from tests.test_preview_changes import apply
from tests.test_preview_model import cuts, documents, model, texts, values


def show(preview: Preview) -> list[Any]:
    """What is shown now, as a copy: empty, or one value."""
    return [preview.value.copy()] if preview.value.begun else []


def sequence(fragments: list[str]) -> list[list[Any]]:
    """What is shown after each fragment."""
    preview = Preview()
    shown = [show(preview)]
    for fragment in fragments:
        preview.feed(fragment)
        shown.append(show(preview))
    return shown


def flatten(root: list[Any]) -> dict[Path, Any]:
    """Every value by its path."""
    found: dict[Path, Any] = {}
    todo: list[tuple[Path, Any]] = [((), value) for value in root]
    while todo:
        path, value = todo.pop()
        found[path] = value
        if isinstance(value, dict):
            todo += [((*path, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            todo += [((*path, index), item) for index, item in enumerate(value)]
    return found


def steps(fragments: list[str]) -> list[tuple[dict[Path, Any], dict[Path, Any]]]:
    """What is shown before and after each fragment, by path."""
    return list(pairwise(flatten(shown) for shown in sequence(fragments)))


@settings(deadline=None)
@given(cuts())
def test_1_a_value_never_changes_its_type(fragments: list[str]) -> None:
    """1: what is shown at a path keeps its type for good."""
    for before, after in steps(fragments):
        assert {path: type(after[path]) for path in before} == {
            path: type(value) for path, value in before.items()
        }


@settings(deadline=None)
@given(cuts())
def test_2_strings_only_grow(fragments: list[str]) -> None:
    """2: a shown string stays the beginning of what it becomes, and is always Unicode text."""
    for before, after in steps(fragments):
        for path, value in before.items():
            if isinstance(value, str):
                assert after[path].startswith(value)
                assert after[path].encode().decode() == after[path]


@settings(deadline=None)
@given(cuts())
def test_3_numbers_and_literals_appear_whole(fragments: list[str]) -> None:
    """3: a number or literal never changes once it is shown."""
    for before, after in steps(fragments):
        for path, value in before.items():
            if not isinstance(value, str | list | dict):
                assert repr(after[path]) == repr(value)


@settings(deadline=None)
@given(documents())
def test_4_a_name_appears_once_its_value_has_begun(text: str) -> None:
    """4: the character that makes a name appear is one that begins a value, or makes it whole."""
    for character, (before, after) in zip(text, steps(list(text)), strict=True):
        for path in after.keys() - before.keys():
            begins = {str: '"', dict: "{", list: "[", bool: "e", type(None): "l"}
            assert character in begins.get(type(after[path]), ",]} \t\n\r")


@settings(deadline=None)
@given(cuts())
def test_5_containers_only_grow_at_their_end(fragments: list[str]) -> None:
    """5: names and items that are shown stay, in their order, before those that come."""
    for before, after in steps(fragments):
        for path, value in before.items():
            if isinstance(value, dict | list):
                assert len(after[path]) >= len(value)
            if isinstance(value, dict):
                assert list(after[path])[: len(value)] == list(value)


@settings(deadline=None)
@given(cuts())
def test_6_a_completed_value_never_changes(fragments: list[str]) -> None:
    """6: a name that is completed stays so, and its value with it; at the end all are."""
    preview = Preview()
    completed: dict[tuple[Path, str], str] = {}
    for fragment in fragments:
        preview.feed(fragment)
        objects = {p: v for p, v in flatten(show(preview)).items() if isinstance(v, dict)}
        now = {
            (path, name): repr(value[name])
            for path, value in objects.items()
            for name in preview.completed_keys(path)
        }
        assert completed.items() <= now.items()
        assert not preview.complete or len(now) == sum(map(len, objects.values()))
        completed = now


@settings(deadline=None)
@given(texts)
def test_6_completed_is_all_but_what_is_being_written(text: str) -> None:
    """6: in an object, every name is completed but the one whose value is open."""
    preview = Preview()
    preview.feed(text)
    shown = model(text)
    for path, value in flatten(shown.root).items():
        if isinstance(value, dict):
            open_path = () if shown.writing is None else shown.writing
            open_name = (
                open_path[len(path) : len(path) + 1] if open_path[: len(path)] == path else ()
            )
            assert preview.completed_keys(path) == [name for name in value if (name,) != open_name]


@settings(deadline=None)
@given(st.text("ab", max_size=3), values, documents())
def test_7_a_repeated_name_is_malformed_and_the_first_value_stays(
    name: str, first: Any, second: str
) -> None:
    """7: the quote that ends a repeated name freezes the preview, with the first value in it."""
    preview = Preview()
    preview.feed(json.dumps({"x": 0, name: first})[:-1] + ", " + json.dumps(name)[:-1])
    assert not preview.malformed
    preview.feed('"')
    assert preview.malformed
    preview.feed(":" + second + "}")
    assert repr(preview.value.plain()) == repr({"x": 0, name: first})


@settings(deadline=None, max_examples=300)
@given(texts)
def test_8_malformed_at_the_first_character_that_cannot_be(text: str) -> None:
    """8: at every prefix the preview is malformed exactly where the model says so, and shows it."""
    preview = Preview()
    for end, character in enumerate(text, 1):
        preview.feed(character)
        shown = model(text[:end])
        assert (preview.malformed, preview.complete) == (shown.malformed, shown.complete)
        assert repr(show(preview)) == repr(shown.root)


@settings(deadline=None)
@given(texts, texts)
def test_8_what_is_malformed_is_frozen(text: str, later: str) -> None:
    """8: nothing that comes after malformed text changes anything."""
    preview = Preview()
    preview.feed(text + "\0")
    shown = repr(show(preview)), preview.completed_keys()
    assert preview.malformed
    preview.feed(later)
    preview.end()
    assert preview.malformed
    assert not preview.complete
    assert (repr(show(preview)), preview.completed_keys()) == shown


@settings(deadline=None)
@given(cuts(documents()))
def test_9_a_valid_document_ends_as_the_strict_parse(fragments: list[str]) -> None:
    """9: after the last fragment the value is the strict parser's and the standard library's."""
    preview = Preview()
    for fragment in fragments:
        preview.feed(fragment)
    preview.end()
    text = "".join(fragments)
    assert preview.complete
    assert repr(preview.value.plain()) == repr(parse_strict(text)) == repr(json.loads(text))


@settings(deadline=None, max_examples=300)
@given(cuts())
def test_10_only_the_text_counts(fragments: list[str]) -> None:
    """10: after any cut of a text the preview is as the model of the whole text."""
    preview = Preview()
    for fragment in fragments:
        preview.feed(fragment)
    shown = model("".join(fragments))
    assert (preview.malformed, preview.complete) == (shown.malformed, shown.complete)
    assert repr(show(preview)) == repr(shown.root)


@settings(deadline=None)
@given(cuts(documents(st.fixed_dictionaries({"open": values, "secret": values, "rest": values}))))
def test_11_nothing_of_a_sensitive_value_is_shown(fragments: list[str]) -> None:
    """11: in place of a sensitive value there is only ever the mask; the rest is as it was."""
    preview = Preview(sensitive={("secret",)})
    plain = Preview()
    for fragment in fragments:
        preview.feed(fragment)
        plain.feed(fragment)
        masked = {
            name: MASK if name == "secret" else value
            for root in show(plain)
            for name, value in root.items()
        }
        assert repr(preview.value.plain() or {}) == repr(masked)
        assert preview.completed_keys() == plain.completed_keys()
        assert preview.malformed == plain.malformed
        assert preview.complete == plain.complete


@settings(deadline=None)
@given(cuts(), st.lists(st.booleans(), min_size=10, max_size=10))
def test_12_the_changes_give_the_value(fragments: list[str], looks: list[bool]) -> None:
    """12: applied in order, the changes give the value, however rarely they are asked for."""
    preview = Preview()
    screen: list[Any] = []
    for fragment, look in zip(fragments, looks, strict=False):
        preview.feed(fragment)
        if look:
            apply(screen, preview.changes())
            assert repr(screen) == repr(show(preview))
    apply(screen, preview.changes())
    assert repr(screen) == repr(show(preview))
    assert preview.changes() == []
