"""What single services add to chat completions: calls of another form, calls that they ran."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall import ExternalState
from tests.chat_chunks import DONE, calls, chunk, entry, oddities, settle, words

F, G = ("f", "dispatchable"), ("g", "dispatchable")


@pytest.mark.parametrize(
    ("unconfirmed", "outcomes"),
    [
        ("fail", [("a", "f", "abandoned", None), ("b", "f", "abandoned", None)]),
        ("dispatch", [("a", *F, {"x": 1}), ("b", *F, {"x": 2})]),
    ],
)
def test_calls_whose_fields_stand_in_the_delta(unconfirmed: Any, outcomes: list[Any]) -> None:
    """Snowflake sends them so, and never a reason."""
    deltas = [
        {"type": "text", "content": "On it."},
        {"type": "tool_use", "tool_use_id": "a", "name": "f"},
        {"type": "tool_use", "input": '{"x":'},
        {"type": "tool_use", "input": "1}"},
        {"type": "tool_use", "tool_use_id": "b", "name": "f"},
        {"type": "tool_use", "input": '{"x":2}'},
    ]
    settler = settle(*map(chunk, deltas), DONE, unconfirmed=unconfirmed)
    assert settler.text == "On it."
    assert words(settler) == outcomes


def answer(call_id: str, **fields: Any) -> dict[str, Any]:
    """A chunk in which an agent behind the service shows what came of a call."""
    return chunk({"role": "tool", "tool_call_id": call_id, "content": "found"} | fields)


CALL = calls(entry('{"x":1}', "f", "a"))

ANSWERED: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "before the reason": ([CALL, answer("a")], [("a", "f", "abandoned", None)], [("a", "f")]),
    "behind a reason": (
        [CALL, chunk(finish="tool_calls"), answer("a")],
        [("a", "f", "abandoned", None)], [("a", "f")],
    ),
    "in pieces": ([CALL, answer("a"), answer("a")], [("a", "f", "abandoned", None)], [("a", "f")]),
    "a call without arguments": (
        [calls(entry("", "f", "a")), answer("a")], [("a", "f", "abandoned", None)], [("a", "f")],
    ),
    "one of two": (
        [CALL, calls(entry("{}", "g", "b", 1)), answer("a")],
        [("a", "f", "abandoned", None), ("b", *G, {})], [("a", "f")],
    ),
    "two rounds under one index": (
        [CALL, answer("a"), calls(entry("{}", "g", "b")), answer("b")],
        [("a", "f", "abandoned", None), ("b", "g", "abandoned", None)], [("a", "f"), ("b", "g")],
    ),
    "text behind it": (
        [CALL, answer("a"), calls(entry('{"y":1}'))],
        [("a", "f", "abandoned", None)], [("a", "f")],
    ),
    "a call that is external already": (
        [calls(entry("{}", "f", "srvtoolu_1")), answer("srvtoolu_1")], [], [("srvtoolu_1", "f")],
    ),
    "a call that was not told": ([answer("a", name="g")], [], [("a", "g")]),
    "a call that nobody named": ([answer("a")], [], [("a", "tool")]),
}  # fmt: skip


@pytest.mark.parametrize("way", ANSWERED)
def test_a_call_whose_answer_stands_in_the_message(way: str) -> None:
    """The service ran it: it must not run again, and its answer is no text of the model."""
    natives, outcomes, external = ANSWERED[way]
    settler = settle(*natives, chunk({"content": "Hi"}), chunk(finish="stop"), DONE)
    assert words(settler) == outcomes
    assert settler.text == "Hi"
    assert [(call.call_id, call.name) for call in settler.external_calls] == external
    assert {call.state for call in settler.external_calls} == {ExternalState.DONE}
    assert not oddities(settler)


def test_history_leaves_out_a_call_that_was_answered() -> None:
    """The text that the service made of the answer stays."""
    settler = settle(CALL, answer("a"), chunk({"content": "Hi"}), chunk(finish="stop"), DONE)
    assert settler.history({}) == [{"role": "assistant", "content": "Hi"}]


@pytest.mark.parametrize("delta", [{"role": "tool"}, {"role": "tool", "tool_call_id": None}])
def test_a_role_alone_answers_no_call(delta: dict[str, Any]) -> None:
    """Zhipu sends that role with calls too."""
    settler = settle(CALL, chunk(delta), chunk(finish="tool_calls"), DONE)
    assert words(settler) == [("a", *F, {"x": 1})]
