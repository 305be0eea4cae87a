"""The fingerprint of a call: equal for equal calls, however spelled, and for no others."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import Dispatchable, settle
from finalcall.fingerprints import canonical, fingerprint
from finalcall.strict import parse_strict
from tests import messages
from tests.test_import import loaded_by

EXACT = 2**53
"""Up to here every whole number is a double, so that it can be spelled with a point."""

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | st.text()


def nested(scalars: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> Any:
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )


VALUES = nested(SCALARS, st.text())
CONFUSABLE = nested(
    st.sampled_from([None, False, True, 0, -0.0, 1, 1.0, 1.5, "", "1", "null", EXACT, EXACT + 1]),
    st.sampled_from(["", "a", "b"]),
)
"""Values of few kinds, so that two of them are often equal or nearly so."""


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same to JSON: an independent model, slow and recursive."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    kinds = [
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
        for value in (one, other)
    ]
    return kinds[0] == kinds[1] and bool(one == other)


@st.composite
def spellings(draw: st.DrawFn, value: Any) -> str:
    """A JSON text of the value: any order, white space, escapes and spelling of numbers."""
    if isinstance(value, dict):
        items = draw(st.permutations(list(value.items())))
        parts = [f"{draw(spellings(name))}:{draw(spellings(inner))}" for name, inner in items]
        text = f"{{{','.join(parts)}}}"
    elif isinstance(value, list):
        text = f"[{','.join(draw(spellings(inner)) for inner in value)}]"
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    elif isinstance(value, float):
        text = draw(st.sampled_from([repr(value), f"{value:.17e}", f"{value:.20E}"]))
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) <= EXACT:
        spelled = [f"{value}", f"{value}.0", f"{value}.000", f"{value}e0", f"{value}0E-1"]
        text = draw(st.sampled_from(spelled))
    else:
        text = json.dumps(value)
    before, after = draw(st.tuples(*[st.sampled_from(["", " ", "\n\t", "\r\n"])] * 2))
    return before + text + after


@given(st.data(), st.dictionaries(st.text(), VALUES, max_size=4))
def test_a_spelling_makes_no_difference(data: st.DataObject, args: dict[str, Any]) -> None:
    """Order of names, white space, escapes and the spelling of numbers change no fingerprint."""
    given_text = data.draw(spellings(args))
    assert fingerprint("pay", parse_strict(given_text)) == fingerprint("pay", args)


@given(CONFUSABLE, CONFUSABLE)
def test_only_equal_values_are_equal(one: Any, other: Any) -> None:
    """Two values have the same form exactly where JSON's own equality says that they are equal."""
    assert (canonical(one) == canonical(other)) is equal(one, other)


@given(VALUES)
def test_the_form_is_json_of_the_same_value(value: Any) -> None:
    """The canonical form reads back as what was written, and its form is itself."""
    read = json.loads(canonical(value))
    assert equal(read, value)
    assert canonical(read) == canonical(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ({"a": None}, {"a": "null"}),
        ({"a": ""}, {"a": None}),
        ({"a": []}, {"a": {}}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [1, [2]]}, {"a": [[1], 2]}),
        ({"a": 12}, {"a": [1, 2]}),
        ({"a": "x"}, {"A": "x"}),
        ({"a": "x"}, {"a": "x "}),
        ({"a": "\u00e9"}, {"a": "e\u0301"}),
        ({"a": 0.1}, {"a": 0.10000000000000002}),
        ({"a": EXACT}, {"a": EXACT + 1}),
        ({"a": 10**400}, {"a": 10**400 + 1}),
        ({"a": {"b": 1}, "c": 2}, {"a": {"b": 1, "c": 2}}),
        ({"a": '","b":"'}, {"a": "", "b": ""}),
    ],
)
def test_any_change_of_a_value_is_another_call(one: Any, other: Any) -> None:
    """A changed value, type, name, order of an array or nesting is told apart."""
    assert fingerprint("pay", one) != fingerprint("pay", other)


@pytest.mark.parametrize("other", ["Pay", "pay ", "", "pay\u0301", 'pay",{"'])
def test_another_tool_is_another_call(other: str) -> None:
    """The tool's name counts, to the letter."""
    assert fingerprint(other, {"a": 1}) != fingerprint("pay", {"a": 1})


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ({}, "{}"),
        ([], "[]"),
        ([[], {}, [{}]], "[[],{},[{}]]"),
        ({"b": [1, {"a": None}], "a": "x"}, '{"a":"x","b":[1,{"a":null}]}'),
        (-0.0, "0"),
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (1e-7, "1e-07"),
        (-1.5, "-1.5"),
        (2**64 + 1, "18446744073709551617"),
        ('"\\/\b\f\n\r\t\x00\x1f\x7f', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f"'),
        ("\u20ac\U0001f600", '"\u20ac\U0001f600"'),
    ],
)
def test_the_form_is_fixed(value: Any, form: str) -> None:
    """The form never changes: a ledger's entries must still be found by the next version."""
    assert canonical(value) == form


def test_names_are_in_the_order_of_their_utf_16_code_units() -> None:
    """A character beyond the first 65,536 sorts by its surrogates, before U+E000 and above."""
    ordered = ["\r", "1", "\x80", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    form = canonical(dict.fromkeys(reversed(ordered), 0))
    assert list(json.loads(form)) == ordered


def test_no_depth_is_too_deep() -> None:
    """Values may be nested deeper than Python can call."""
    value: Any = []
    for _ in range(20_000):
        value = [{"a": value}]
    assert canonical(value) == '[{"a":' * 20_000 + "[]" + "}]" * 20_000


@pytest.mark.parametrize(
    ("args", "error", "says"),
    [
        ({"a": {1, 2}}, TypeError, "hold a set"),
        ({"a": [b"x"]}, TypeError, "hold a bytes"),
        ({"a": {4711: "x"}}, TypeError, "a name of type int"),
        ({"a": float("nan")}, ValueError, "not finite"),
        ({"a": [float("-inf")]}, ValueError, "not finite"),
    ],
)
def test_what_is_no_json_has_no_fingerprint(args: Any, error: type[Exception], says: str) -> None:
    """What no parser gave raises, and the value is not told."""
    with pytest.raises(error, match=says) as raised:
        fingerprint("pay", args)
    assert "4711" not in str(raised.value)


def test_text_that_is_no_unicode_has_one() -> None:
    """A lone half of a surrogate pair, as a hand-made call may hold, is a character like others."""
    assert fingerprint("pay", {"\ud800": "\udc00"}) != fingerprint("pay", {"\ud800": "\udc01"})


def dispatched(
    arguments: str = '{"amount": 1}', *, name: str = "pay", call_id: str = "toolu_1"
) -> Dispatchable:
    """A call as a turn settles it."""
    call = messages.call(0, call_id, arguments, name)
    turn = settle([messages.message_start(), *call, *messages.stopped()], tools=None)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Dispatchable)
    return outcome


def test_a_dispatchable_has_the_fingerprint_of_its_name_and_arguments() -> None:
    """It is the SHA-256 of the canonical form; the call's id and spelling are no part of it."""
    once = dispatched('{"to": "Ann", "amount": 1e0}')
    again = dispatched('{ "amount": 1, "to": "\\u0041nn" }', call_id="toolu_2")
    form = b'["pay",{"amount":1,"to":"Ann"}]'
    assert once.fingerprint == again.fingerprint == hashlib.sha256(form).hexdigest()
    assert once.call_id != again.call_id
    assert dispatched('{"to": "Ann", "amount": 1}', name="refund").fingerprint != once.fingerprint


def test_a_fingerprint_that_nobody_asks_for_costs_nothing() -> None:
    """Settling a call loads none of what a fingerprint needs."""
    loaded = loaded_by(
        "from finalcall import settle\n"
        "from tests import messages\n"
        "settle(messages.CLEAN, tools=None).outcomes"
    )
    assert "finalcall.settler" in loaded
    assert "finalcall.fingerprints" not in loaded
