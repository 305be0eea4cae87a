"""Chat completions that say a thing twice: a whole message, a call sent again, its old form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat_chunks import ABSENT, DONE, calls, chunk, entry, message, oddities, settle, words

F, G = ("f", "dispatchable"), ("g", "dispatchable")


def test_a_service_that_does_not_stream_after_all() -> None:
    """One object with a `message` is read as one chunk."""
    whole = {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hi",
                    "tool_calls": [entry("{}", "f", "a")],
                },
                "finish_reason": "tool_calls",
            }
        ],
    }
    settler = settle(whole)
    assert settler.text == "Hi"
    assert words(settler) == [("a", "f", "dispatchable", {})]


def test_a_message_beside_the_delta_is_not_read() -> None:
    """Writer sends every piece twice; a last chunk may say the whole once more."""
    pieces = entry("", "f", "a"), entry('{"q":"x"}')
    twice = [
        chunk({"content": "Hi"}, beside={"message": {"content": "Hi"}}),
        *[
            native
            | {"choices": [choice | {"message": choice["delta"]} for choice in native["choices"]]}
            for native in message(*pieces)[:-1]
        ],
    ]
    last = chunk(
        None, beside={"message": {"content": "Hi", "tool_calls": [entry('{"q":"x"}', "f", "a")]}}
    )
    settler = settle(*twice, last, DONE)
    assert settler.text == "Hi"
    assert words(settler) == [("a", "f", "dispatchable", {"q": "x"})]


@pytest.mark.parametrize("empty", [{}, {"role": "assistant", "content": "", "tool_calls": []}])
def test_a_message_beside_an_empty_delta(empty: dict[str, Any]) -> None:
    """Where the delta says nothing, the message is what there is, but for what came before."""
    whole = {"content": "Hi", "reasoning": "hm", "tool_calls": [entry("{}", "f", "a")]}
    last = chunk(empty, "tool_calls", beside={"message": whole})
    for before in ([], [chunk({"reasoning": "hm"})], [chunk({"content": "Hi"})]):
        settler = settle(*before, last, DONE)
        assert settler.text == "Hi"
        assert words(settler) == [("a", "f", "dispatchable", {})]


def test_a_replay_under_another_index() -> None:
    """Id, name and text say that it is the same call."""
    natives = message(entry('{"x":1}', "f", "a"))[:-1]
    settler = settle(*natives, *message(entry('{"x":1}', "f", "a", 1)))
    assert words(settler) == [("a", *F, {"x": 1})]
    assert oddities(settler) == {"call_replayed"}


WHOLE = entry('{"x":1}', "f", "a")


@pytest.mark.parametrize(
    ("pieces", "said", "expected"),
    [
        ([WHOLE], [entry('{"x":1}', "f", index=ABSENT)], [("a", *F, {"x": 1})]),
        ([WHOLE], [entry({"x": 1}, "f", "other")], [("a", "f", "unparseable", None)]),
        ([WHOLE], [entry('{"x":1}', "f", "other")], [("a", *F, {"x": 1})]),
        ([entry('{"x":1}', "f")], [WHOLE], [("a", *F, {"x": 1})]),
        ([entry("", "f", "a")], [entry('{"x":1}', "f", "other")], [("a", *F, {"x": 1})]),
        ([WHOLE], [entry('{"x":2}', "f", "other")], [("a", "f", "unparseable", None)]),
        (
            [WHOLE, entry("{}", "g", "b", 1)],
            [entry("{}", "g", "d"), entry('{"x":1}', "f", "c")],
            [("a", *F, {"x": 1}), ("b", *G, {})],
        ),
        ([WHOLE], [WHOLE, entry("{}", "g", "b", 1)], [("a", *F, {"x": 1}), ("b", *G, {})]),
    ],
)
def test_a_message_after_pieces(pieces: list[Any], said: list[Any], expected: list[Any]) -> None:
    """It adds no call whose name and text are there, whatever its id; what differs fails."""
    last = chunk(None, "tool_calls", beside={"message": {"tool_calls": said}})
    assert words(settle(*map(calls, pieces), last, DONE)) == expected


@pytest.mark.parametrize(
    ("said", "steps", "expected"),
    [
        ('{"x":1}', [WHOLE], [("a", *F, {"x": 1})]),
        ('{"x":1}', [entry("", "f", "a"), entry('{"x":'), entry("1}")], [("a", *F, {"x": 1})]),
        ("", [WHOLE], [("a", *F, {"x": 1})]),
        (
            '{"x":1}', [entry('{"x":2}', "f", "a")],
            [(None, *F, {"x": 1}), ("a", *F, {"x": 2})],
        ),
    ],
)  # fmt: skip
def test_a_function_call_and_then_its_twin(
    said: str, steps: list[Any], expected: list[Any]
) -> None:
    """A gateway may send the deprecated form first and the usual one in later chunks."""
    first = chunk({"function_call": {"name": "f", "arguments": said}})
    assert words(settle(first, *message(*steps))) == expected


def test_a_repeat_may_come_in_pieces_of_its_own() -> None:
    """Each of them stands where it stood the first time, so it is the same call all along."""
    pieces = ['{"q":', '"x"', "}"]
    settler = settle(
        calls(entry("", "f", "a")),
        *[calls(entry(text, index=0)) for text in pieces[:2]],
        calls(entry("}", index=0)),
        calls(entry("", "f", "a", 1)),
        *[calls(entry(text, index=1)) for text in pieces],
        chunk(finish="tool_calls"),
    )
    assert words(settler) == [("a", "f", "dispatchable", {"q": "x"})]


def test_a_repeat_may_be_sent_again_itself() -> None:
    """However often the whole call comes."""
    again = calls(entry('{"q":"x"}', "f", "a", 1))
    settler = settle(calls(entry('{"q":"x"}', "f", "a")), again, again, chunk(finish="tool_calls"))
    assert words(settler) == [("a", "f", "dispatchable", {"q": "x"})]


def test_a_function_call_that_another_call_cuts_off() -> None:
    """An ordinary call of another name is no twin of it, and does not go on with it."""
    settler = settle(
        chunk({"function_call": {"name": "f", "arguments": '{"q":'}}),
        calls(entry("{}", "g", "b")),
        chunk(finish="tool_calls"),
    )
    assert [one[1:3] for one in words(settler)] == [("f", "unparseable"), G]


def test_an_id_of_a_piece_that_names_another_call_after_the_end() -> None:
    """What was proved by then stays so; what comes after a stop reason is not covered by it."""
    settler = settle(
        calls(entry("", "f", "a")),
        calls(entry('{"q":"x"}', call_id="b")),
        chunk(finish="tool_calls"),
        calls(entry("{}", "g", "b", 1)),
    )
    assert [one[1:3] for one in words(settler)] == [F, ("g", "abandoned")]
