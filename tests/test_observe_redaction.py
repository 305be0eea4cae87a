"""Sensitive values in argument text that may be cut or malformed: nothing of them is left."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall.observe import MASK, redact

Paths = set[tuple[str, ...]]

PIN: Paths = {("pin",)}
CARD: Paths = {("card", "number")}
CARDS: Paths = {("cards", "*", "number")}

TEXTS: dict[str, tuple[Paths, str, str]] = {
    "nothing sensitive": (set(), '{"pin": 1 nonsense', '{"pin": 1 nonsense'),
    "empty": (PIN, "", ""),
    "blank": (PIN, " \n", " \n"),
    "string": (PIN, '{"pin": "1234", "to": "Bob"}', '{"pin": "•••", "to": "Bob"}'),
    "number": (PIN, '{ "pin" : -1.5e3 , "n": 1}', '{ "pin" : "•••" , "n": 1}'),
    "null": (PIN, '{"pin": null}', '{"pin": "•••"}'),
    "object": (PIN, '{"pin": {"a": [{}, [], "}"]}, "b": 2}', '{"pin": "•••", "b": 2}'),
    "array": (PIN, '{"pin": ["a]", {"b": 1}], "b": 2}', '{"pin": "•••", "b": 2}'),
    "repeated": (PIN, '{"pin": 1, "pin": "2"}', '{"pin": "•••", "pin": "•••"}'),
    "escaped name": (PIN, r'{"p\u0069n": 1}', r'{"p\u0069n": "•••"}'),
    "escaped quote": (PIN, r'{"to": "\"", "pin": "\\\""}', r'{"to": "\"", "pin": "•••"}'),
    "split name": ({("🔑",)}, '{"\ud83d\udd11": 1}', '{"\ud83d\udd11": "•••"}'),
    "root": ({()}, ' {"a": 1} ', ' "•••" '),
    "nested": (CARD, '{"card": {"number": 4, "n": 1}}', '{"card": {"number": "•••", "n": 1}}'),
    "elsewhere": (CARD, '{"number": 4, "d": {"number": 4}}', '{"number": 4, "d": {"number": 4}}'),
    "in items": (CARDS, '{"cards": [{"number": 1}, 2]}', '{"cards": [{"number": "•••"}, "•••"]}'),
    "one item": ({("m", "1")}, '{"m": [1, 2, 3]}', '{"m": [1, "•••", 3]}'),
    "empty array": ({("m", "*")}, '{"m": [ ], "e": {}}', '{"m": [ ], "e": {}}'),
    "any name": (
        {("env", "*")},
        '{"env": {"A": 1, "B": [2]}}',
        '{"env": {"A": "•••", "B": "•••"}}',
    ),
    # What should be a container of sensitive values, and is none of that kind.
    "object as a string": (CARD, r'{"card": "{\"number\": 4}", "n": 1}', '{"card": "•••", "n": 1}'),
    "object as a number": (CARD, '{"card": 4111, "n": 1}', '{"card": "•••", "n": 1}'),
    "object as an array": (CARD, '{"card": [{"number": 4}], "n": 1}', '{"card": "•••", "n": 1}'),
    "array as an object": (CARDS, '{"cards": {"number": 4}}', '{"cards": {"number": "•••"}}'),
    "no object": (CARD, '{"card": null, "n": 1}', '{"card": null, "n": 1}'),
    "all as a string": (PIN, r'"{\"pin\": 1}"', '"•••"'),
    "all in an array": (PIN, '[{"pin": 1}]', '"•••"'),
    # Cut.
    "cut in a string": (PIN, '{"pin": "12', '{"pin": •••'),
    "cut in an escape": (PIN, '{"pin": "12\\', '{"pin": •••'),
    "cut in a number": (PIN, '{"pin": 12', '{"pin": "•••"'),
    "cut in a container": (PIN, '{"pin": {"a": [1', '{"pin": •••'),
    "cut in its string": (PIN, '{"pin": {"a": "1', '{"pin": •••'),
    "cut in its name": (PIN, '{"pin": {"a', '{"pin": •••'),
    "cut in a name": (PIN, '{"to": 1, "pi', '{"to": 1, •••'),
    "cut after a name": (PIN, '{"to": 1, "pin"', '{"to": 1, •••'),
    "cut after a colon": (PIN, '{"to": 1, "pin":', '{"to": 1, "pin":'),
    "cut in what is not sensitive": (PIN, '{"to": "Bo', '{"to": "Bo'),
    "cut in a name that does not matter": (PIN, '{"to": {"na', '{"to": {"na'),
    "cut after a name that does not matter": (PIN, '{"to": {"na"', '{"to": {"na"'),
    # Malformed.
    "no JSON": (PIN, "Sure: pin 1234", '"•••"•••'),
    "other quotes": (PIN, "{'pin': '1234'}", "{•••"),
    "after the string": (PIN, '{"pin": "12"34", "to": 1}', '{"pin": "•••"•••'),
    "after the document": (PIN, '{"pin": 1} {"pin": 2}', '{"pin": "•••"} •••'),
    "no end of a name": (PIN, '{"pin: 1234, "to": 1}', "{•••"),
    "no end of a string": (PIN, '{"to": "Bob, "pin": "12"}', '{"to": "Bob, "•••'),
    "no colon": (PIN, '{"a": 1, "pin" "12"}', '{"a": 1, •••'),
    "no comma": (PIN, '{"a": 1 "pin": 2}', '{"a": 1 •••'),
    "comma before the end": (PIN, '{"a": 1,}', '{"a": 1,•••'),
    "comma before the end of an array": (PIN, '{"a": [1,]}', '{"a": [1,•••'),
    "wrong bracket": (PIN, '{"a": [1}, "pin": 2}', '{"a": [1•••'),
    "a bracket too many": (PIN, '{"a": 1}}', '{"a": 1}•••'),
    "bad escape in a name": (PIN, r'{"p\x69n": 1}', "{•••"),
    "half a character in a name": (PIN, '{"\ud83d": 1}', "{•••"),
    "inside of a container": (PIN, '{"pin": {"a" 1}, "b": 2}', '{"pin": •••'),
    "unknown word": (PIN, '{"n": NaN, "pin": 1}', '{"n": NaN, "pin": "•••"}'),
    "a line in a string": (PIN, '{"n": "a\nb", "pin": 1}', '{"n": "a\nb", "pin": "•••"}'),
}


@pytest.mark.parametrize(("paths", "raw", "shown"), TEXTS.values(), ids=TEXTS.keys())
def test_masks_stand_in_place_of_secrets(paths: Paths, raw: str, shown: str) -> None:
    """What is not sensitive stays as it is; in doubt, what follows is masked."""
    assert redact(raw, paths) == shown


SENTINEL = "QZXJKVWYHPFM"
"""No four of its characters in a row are in any other part of a document below."""

PLAIN = st.text('abc 0189_"\\/é😀\n', max_size=6)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('ab"\\é', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
SECRETS = st.sampled_from(
    [SENTINEL, [1, SENTINEL], {"a": {"b": SENTINEL}}, {"deep": [[SENTINEL], {}]}]
)
TAILS = st.text('"\\{}[]:,ab 1', max_size=8)


def holding(document: Any, secret: Any, draw: random.Random) -> tuple[Any, list[str]]:
    """A document with a secret somewhere in it, under a name or an index, and where that is."""
    if isinstance(document, list) and document:
        index = draw.randrange(len(document))
        inner, path = holding(document[index], secret, draw)
        return [*document[:index], inner, *document[index + 1 :]], [str(index), *path]
    if isinstance(document, dict) and document and draw.random() < 0.7:
        name = draw.choice(list(document))
        inner, path = holding(document[name], secret, draw)
        return {**document, name: inner}, [name, *path]
    return {**document, "pwd": secret} if isinstance(document, dict) else {"pwd": secret}, ["pwd"]


def spelled(document: Any, draw: random.Random) -> str:
    """JSON of a document, with some characters of its names escaped."""
    text = json.dumps(document, ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 1]))
    if draw.random() < 0.5:
        text = text.replace('"pwd"', draw.choice([r'"p\u0077d"', r'"\u0070wd"']))
    return text


def leaks(text: str) -> bool:
    return any(SENTINEL[at : at + 4] in text for at in range(len(SENTINEL) - 3))


@settings(deadline=None, max_examples=100)
@given(DOCUMENTS, SECRETS, TAILS, st.randoms(use_true_random=False))
def test_nothing_of_a_secret_is_left(
    document: Any, secret: Any, tail: str, draw: random.Random
) -> None:
    """Cut anywhere, and with anything behind the cut, no four characters of it are shown."""
    if not isinstance(document, dict):
        document = {"a": document}
    document, path = holding(document, secret, draw)
    raw = spelled(document, draw)
    paths = {tuple(draw.choice([step, step, "*"]) for step in path), ("c", "d")}
    for end in range(len(raw) + 1):
        assert not leaks(redact(raw[:end], paths))
        assert not leaks(redact(raw[:end] + tail, paths))
    assert json.loads(redact(raw, paths)) == masked(document, paths)


def masked(document: Any, paths: Paths) -> Any:
    """What a whole document is to be shown as, worked out from its value."""
    if () in paths:
        return MASK
    if isinstance(document, dict):
        items: list[tuple[Any, Any]] = list(document.items())
    elif isinstance(document, list):
        if any(path[0] != "*" and not path[0].isdecimal() for path in paths):
            return MASK
        items = list(enumerate(document))
    else:
        harmless = document is None or isinstance(document, bool)
        return MASK if paths and not harmless else document
    shown = {
        step: masked(inner, {path[1:] for path in paths if path[0] in ("*", str(step))})
        for step, inner in items
    }
    return shown if isinstance(document, dict) else list(shown.values())


@settings(deadline=None, max_examples=100)
@given(DOCUMENTS, st.integers(0, 400))
def test_what_is_not_sensitive_stays(document: Any, end: int) -> None:
    """Where nothing in a text can be sensitive, a cut of it is shown to its last character."""
    raw = json.dumps({"x": document})[:end]
    shown = redact(raw, {("pwd",)})
    assert shown == raw or shown == raw[:1] + MASK  # a cut in or after the name x


def test_depth_and_length_are_no_matter() -> None:
    """Neither deep nesting nor a long string with no end runs out of anything."""
    deep = '{"a":' * 20_000
    assert redact(deep + '"x', {("pin",)}) == deep + '"x'
    assert redact('{"pin":' + "[" * 20_000, {("pin",)}) == '{"pin":' + MASK
    assert redact('{"a": "' + '\\"' * 20_000, {("pin",)}).endswith('\\"')
