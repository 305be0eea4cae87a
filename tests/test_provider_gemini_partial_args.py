"""Gemini arguments that stream as paths and values: the text is the tree, whatever the order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.limits import DEFAULT_LIMITS, MAX_DEPTH
from finalcall.providers import gemini_partial_args
from finalcall.providers.gemini_partial_args import PartialArguments, read_path
from finalcall.strict import NotStrictJSON, parse_strict
from tests.gemini_chunks import number, string


def written(*entries: Any) -> tuple[str, bool]:
    """The final text, and whether it had to be restated."""
    arguments = PartialArguments()
    text = "".join([arguments.add(entry) for entry in entries])
    closing = arguments.close()
    return (closing.text if closing.restated else text + closing.text), closing.restated


def null(path: str) -> dict[str, Any]:
    return {"jsonPath": path, "nullValue": "NULL_VALUE"}


# The text while it grows


def test_values_in_order_are_written_at_once() -> None:
    """A screen can follow: a string stays open until something else comes."""
    arguments = PartialArguments()
    steps = [
        (string("$.to.name", "Bo", goes_on=True), '{"to":{"name":"Bo'),
        (string("$.to.name", 'b"\n', goes_on=True), 'b\\"\\n'),
        (string("$.to.name", ""), ""),
        (number("$.to.age", 7.0), '","age":7'),
        (string("$.tags[0]", "é🌊"), '},"tags":["é🌊'),
        (null("$.tags[1]"), '",null'),
        (number("$.rows[0].x[0][0]", 0.5), '],"rows":[{"x":[[0.5'),
        (number("$.rows[0].x[0][1]", 1), ",1"),
        (number("$.rows[0].x[1][0]", 2), "],[2"),
        ({"jsonPath": "$.rows[1].ok", "boolValue": True}, ']]},{"ok":true'),
    ]
    assert [arguments.add(entry) for entry, _ in steps] == [text for _, text in steps]
    assert arguments.close() == ("}]}", False)


OUT_OF_ORDER = {
    "back in a closed object": (
        [number("$.a.x", 1), number("$.b", 2), number("$.a.y", 3)],
        {"a": {"x": 1, "y": 3}, "b": 2},
    ),
    "back in a string": (
        [string("$.a", "x"), number("$.b", 2), string("$.a", "y")],
        {"a": "xy", "b": 2},
    ),
    "a number again": ([number("$.a", 1), number("$.a", 2)], {"a": 2}),
    "an item again": (
        [number("$.a[0]", 1), number("$.a[1]", 2), number("$.a[0]", 3)],
        {"a": [3, 2]},
    ),
}


@pytest.mark.parametrize("form", OUT_OF_ORDER)
def test_out_of_order_values_are_restated_at_the_end(form: str) -> None:
    """Nothing more is written until then."""
    entries, expected = OUT_OF_ORDER[form]
    text, restated = written(*entries)
    assert restated
    assert json.loads(text) == expected


NUMBERS = [
    (2, "2"), (2.0, "2"), (-0.0, "0"), (0.5, "0.5"), (1e300, "1e+300"),
    (2.0**53 - 1, "9007199254740991"), (2.0**53, "9007199254740992.0"),
    (12345678901234567890, "12345678901234567890"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), NUMBERS)
def test_integral_doubles_are_integers(value: float, expected: str) -> None:
    """Where every double is exactly one: 2 arrives as 2.0, and a schema may ask for an integer."""
    assert written(number("$.n", value)) == (f'{{"n":{expected}}}', False)


def test_no_value_at_all_is_an_empty_object() -> None:
    """The text says so."""
    assert written() == ("{}", False)


# Paths


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$.a", ("a",)),
        ("$.a.b[0].c", ("a", "b", 0, "c")),
        ("$.a[0][12]", ("a", 0, 12)),
        ("$['a b'].c", ("a b", "c")),
        ("$['it\\'s \"x\"']", ('it\'s "x"',)),
        ('$["a.b"]', ("a.b",)),
        ('$["\\u00e9\\n"]', ("é\n",)),
        ("$.é-ü 1", ("é-ü 1",)),
        ("$.a" + ".b" * (MAX_DEPTH - 1), ("a", *["b"] * (MAX_DEPTH - 1))),
    ],
)
def test_paths_are_read(text: str, path: tuple[Any, ...]) -> None:
    """Names after dots or in quotes, indexes in brackets."""
    assert read_path(text) == path


BAD_PATHS = [
    "", "$", "a", ".a", "a.b", "$a", "$.", "$..a", "$.a.", "$.a..b", "$.*", "$[*]", "$.a[*]",
    "$[0]", "$.a[-1]", "$.a[1:2]", "$.a[]", "$.a[0", "$.a[0x1]", "$.a[٣]", "$.a[99999999999]",
    "$.a[?(@.b)]", "$['a", "$['a'", "$['a\"]", "$['\\x']", '$["\n"]', "$.a]", "$.a[b]",
    "$.__proto__", "$.a['__proto__'].b", "$.a" + ".b" * MAX_DEPTH, "$.a" + "[0]" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS, ids=lambda path: path[:20])
def test_hostile_paths_break_their_call(path: str) -> None:
    """They never raise, and the text can be no document, not even an empty one."""
    assert read_path(path) is None
    for before in ([], [number("$.x", 1)]):
        text, _ = written(*before, number(path, 1), number("$.y", 2))
        with pytest.raises(NotStrictJSON):
            parse_strict(text)


BROKEN: dict[str, list[Any]] = {
    "an index that leaves a gap": [number("$.a[1]", 1)],
    "an index far away": [number("$.a[0]", 1), number("$.a[1000000]", 1)],
    "a name in a list": [number("$.a[0]", 1), number("$.a.b", 1)],
    "an index in an object": [number("$.a.b", 1), number("$.a[0]", 1)],
    "a path through a number": [number("$.a", 1), number("$.a.b", 1)],
    "a path through a string": [string("$.a", "x"), number("$.a.b", 1)],
    "a string over an object": [number("$.a.b", 1), string("$.a", "x")],
    "a string over a number": [number("$.a", 1), string("$.a", "x")],
    "a number over a string": [string("$.a", "x"), number("$.a", 1)],
    "a number over null": [null("$.a"), number("$.a", 1)],
    "a bool over a number": [number("$.a", 1), {"jsonPath": "$.a", "boolValue": True}],
    "two values": [{"jsonPath": "$.a", "stringValue": "x", "numberValue": 1}],
    "no value that is known": [{"jsonPath": "$.a", "structValue": {}}],
    "no path": [{"numberValue": 1}],
    "a path of another type": [{"jsonPath": 5, "numberValue": 1}],
    "text as a number": [number("$.a", "2")],
    "a bool as a number": [number("$.a", True)],
    "a number as text": [string("$.a", 2)],
    "a number as a bool": [{"jsonPath": "$.a", "boolValue": 1}],
    "no number": [number("$.a", float("nan"))],
    "infinity": [number("$.a", float("-inf"))],
    "too great a number": [number("$.a", 10**5000)],
    "no entry": [None],
    "a string that never ended": [string("$.a", "x", goes_on=True)],
    "a string that never ended, then more": [string("$.a", "x", goes_on=True), number("$.b", 1)],
}


@pytest.mark.parametrize("form", BROKEN)
def test_pieces_that_make_no_document_are_no_document(form: str) -> None:
    """The text stays open, so that no parser takes it, and nothing raises."""
    text, restated = written(*BROKEN[form])
    assert not restated
    with pytest.raises(NotStrictJSON):
        parse_strict(text)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of order, where nothing is written that others could count."""
    limits = type(DEFAULT_LIMITS)(arguments=1_000)
    monkeypatch.setattr(gemini_partial_args, "DEFAULT_LIMITS", limits)
    entries = [number("$.b", 1), number("$.a", 1), *[string("$.b2", "x" * 50)] * 30]
    with pytest.raises(NotStrictJSON):
        parse_strict(written(*entries)[0])
    many = [number(f"$.k{index}", 1) for index in range(1_000)]
    with pytest.raises(NotStrictJSON):
        parse_strict(written(*many)[0])


# Entries


@pytest.mark.parametrize(
    "entry",
    [
        {"jsonPath": "$.a", "nullValue": None},
        {"json_path": "$.a", "null_value": "NULL_VALUE", "string_value": None},
        types.PartialArg(json_path="$.a", null_value="NULL_VALUE"),
        types.PartialArg.model_validate({"jsonPath": "$.a", "nullValue": None}),
    ],
    ids=["null", "snake case", "an object", "an object of null"],
)
def test_null_is_told_from_no_value(entry: Any) -> None:
    """It comes as its word or as itself."""
    assert written(entry) == ('{"a":null}', False)


def test_an_objects_value_that_the_sdk_dropped_is_no_null() -> None:
    """An unknown kind of value leaves an object without any."""
    with pytest.raises(NotStrictJSON):
        parse_strict(written(types.PartialArg(json_path="$.a"))[0])


def test_an_entry_without_a_value_may_open_or_close_a_string() -> None:
    """It says only whether the string goes on."""
    text, _ = written(
        {"jsonPath": "$.a", "willContinue": True},
        string("$.a", "x", goes_on=True),
        {"jsonPath": "$.a"},
        number("$.b", 1),
    )
    assert text == '{"a":"x","b":1}'


def test_surrogate_halves_join_over_pieces() -> None:
    """As over the fragments of every other protocol."""
    text, _ = written(string("$.a", "\ud83c", goes_on=True), string("$.a", "\udf0a"))
    assert parse_strict(text) == {"a": "🌊"}


def test_whole_arguments_take_the_place_of_pieces() -> None:
    """Stated with nothing written they only add; with another whole they contradict."""
    for pieces, restated in (([], False), ([number("$.a", 1)], True)):
        arguments = PartialArguments()
        for entry in pieces:
            arguments.add(entry)
        arguments.state_whole('{"b": 2}')
        arguments.state_whole('{"b": 2}')
        assert arguments.close() == ('{"b": 2}', restated)
    arguments.state_whole('{"b": 3}')
    assert arguments.close() == ("", False)
    after = PartialArguments()
    after.state_whole('{"b": 2}')
    assert after.add(number("$.a", 1)) == "{"
    assert after.close() == ("", False)


# Any tree, in any order

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = st.none() | st.booleans() | st.floats(-1e6, 1e6) | st.integers(-9, 9) | TEXTS
NAMES = st.from_regex(r"[a-zé_][a-z0-9 -]{0,3}", fullmatch=True).filter(lambda x: x != "__proto__")
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def entries_of(tree: Any, path: str, draw: Any) -> list[Any]:
    """The entries of a tree in document order, its strings cut into pieces."""
    if isinstance(tree, dict):
        return [
            x for name, inner in tree.items() for x in entries_of(inner, f"{path}.{name}", draw)
        ]
    if isinstance(tree, list):
        return [
            x for at, inner in enumerate(tree) for x in entries_of(inner, f"{path}[{at}]", draw)
        ]
    if isinstance(tree, str):
        cut = draw(st.integers(0, len(tree)))
        pieces = [string(path, tree[:cut], goes_on=True), string(path, tree[cut:], goes_on=True)]
        return [*pieces, string(path, "")]
    if isinstance(tree, bool):
        return [{"jsonPath": path, "boolValue": tree}]
    return [null(path) if tree is None else number(path, float(tree))]


@settings(max_examples=200, deadline=None)
@given(tree=st.dictionaries(NAMES, TREES, max_size=4), data=st.data())
def test_the_text_is_the_tree(tree: dict[str, Any], data: st.DataObject) -> None:
    """In document order it is never restated, and every prefix of it is a prefix of the whole."""
    entries = entries_of(tree, "$", data.draw)
    text, restated = written(*entries)
    assert not restated
    assert parse_strict(text) == tree


@settings(max_examples=200, deadline=None)
@given(tree=st.dictionaries(NAMES, TREES, max_size=4), data=st.data())
def test_the_order_of_members_makes_no_difference(
    tree: dict[str, Any], data: st.DataObject
) -> None:
    """Entries of different members in any order: the value is the same, written or restated."""
    groups = [entries_of({name: inner}, "$", data.draw) for name, inner in tree.items()]
    shuffled: list[Any] = []
    while any(groups):
        chosen = data.draw(st.sampled_from([group for group in groups if group]))
        shuffled.append(chosen.pop(0))
    assert parse_strict(written(*shuffled)[0]) == tree


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "jsonPath": st.sampled_from(["$.a", "$.a.b", "$.a[0]", "$.b[1]", "$"]) | ANYTHING,
        "stringValue": ANYTHING,
        "numberValue": ANYTHING,
        "boolValue": ANYTHING,
        "nullValue": ANYTHING,
        "willContinue": ANYTHING,
    },
)


@settings(max_examples=200, deadline=None)
@given(entries=st.lists(ENTRIES | ANYTHING, max_size=6))
def test_no_entry_raises(entries: list[Any]) -> None:
    """Whatever comes, there is a text, and it is an object or no document."""
    text, _ = written(*entries)
    try:
        value = parse_strict(text)
    except NotStrictJSON:
        return
    assert isinstance(value, dict)
