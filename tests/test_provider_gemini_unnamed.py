"""Gemini: parts whose name does not say which call they are of, as gateways in front of it send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.gemini_chunks import (
    ARGUMENTS,
    CLOSE,
    GOOD,
    STOP,
    call,
    chunk,
    number,
    opened,
    outcomes,
    piece,
    settle,
    string,
)


def bare(name: str = "get_tide", **more: Any) -> dict[str, Any]:
    return call(name, {}, **more)


def unnamed(args: Any = ARGUMENTS, **more: Any) -> dict[str, Any]:
    """A part with arguments, of no call that it names."""
    return {"functionCall": {"args": args, **more}}


AFTER_A_BARE_CALL: dict[str, tuple[Sequence[Any], list[tuple[Any, ...]]]] = {
    "in the next chunk": ([bare(), unnamed()], [GOOD]),
    "with an empty name": ([bare(), call("")], [GOOD]),
    "with its id": ([bare(id="7"), unnamed(id="7")], [("7", *GOOD[1:])]),
    "the id only before": ([bare(id="7"), unnamed()], [("7", *GOOD[1:])]),
    "as paths": ([bare(), piece(string("$.port", "Brest"), goes_on=False)], [GOOD]),
    "as text": ([bare(), unnamed('{"port": "Brest"}')], [GOOD]),
    "call by call": (
        [bare(), unnamed(), bare("now"), unnamed({"utc": True})],
        [GOOD, (None, "now", "dispatchable", {"utc": True})],
    ),
    "none after all": (
        [bare(), unnamed({}), bare("now"), CLOSE],
        [(None, "get_tide", "dispatchable", {}), (None, "now", "dispatchable", {})],
    ),
    "with another id": (
        [bare(id="7"), unnamed(id="8")],
        [("7", "get_tide", "abandoned"), ("8", None, "unparseable")],
    ),
    "after another call": (
        [bare("now"), call(), unnamed({"utc": True})],
        [(None, "now", "abandoned"), GOOD, (None, None, "unparseable")],
    ),
    "twice": (
        [bare(), unnamed(), unnamed({"utc": True})],
        [GOOD, (None, None, "unparseable")],
    ),
    "as a stream": (
        [bare(), piece(string("$.port", "Brest")), CLOSE],
        [(None, "get_tide", "abandoned"), (None, None, "unparseable")],
    ),
}


@pytest.mark.parametrize("form", AFTER_A_BARE_CALL)
def test_arguments_that_come_after_a_call_without_any_are_its_own(form: str) -> None:
    """Where they may be another's, a call without arguments is not proved to have none."""
    parts, expected = AFTER_A_BARE_CALL[form]
    settler = settle(*map(chunk, parts), STOP)
    found = [one if one[2] == "dispatchable" else one[:3] for one in outcomes(settler)]
    assert found == expected


NAMED_AGAIN: dict[str, Sequence[Any]] = {
    "with its last piece": [
        opened(),
        piece(string("$.port", "Brest"), name="get_tide", goes_on=False),
    ],
    "with every part": [
        opened(),
        piece(string("$.port", "Br", goes_on=True), name="get_tide"),
        piece(string("$.port", "est"), name="get_tide"),
        {"functionCall": {"name": "get_tide"}},
    ],
    "with its end": [opened(), piece(string("$.port", "Brest")), bare()],
}


@pytest.mark.parametrize("form", NAMED_AGAIN)
def test_a_call_that_was_to_go_on_goes_on_though_its_name_comes_again(form: str) -> None:
    """Neither its tail nor nothing at all is run as a call of that tool."""
    assert outcomes(settle(*map(chunk, NAMED_AGAIN[form]), STOP)) == [GOOD]


def test_a_stream_that_opens_again_is_another_call() -> None:
    """And the first never got its end."""
    parts = [opened(), piece(number("$.n", 1)), opened(), piece(number("$.n", 2), goes_on=False)]
    found = outcomes(settle(*map(chunk, parts), STOP))
    assert found == [
        (None, "get_tide", "abandoned", None),
        (None, "get_tide", "dispatchable", {"n": 2}),
    ]
