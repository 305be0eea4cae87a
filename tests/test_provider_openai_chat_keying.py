"""Which call each piece belongs to, whatever a dialect does with indexes, ids and names."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from finalcall import Anomaly
from tests.chat_chunks import (
    DONE,
    calls,
    chunk,
    entry,
    message,
    oddities,
    settle,
    tools,
    words,
)

F, G = ("f", "dispatchable"), ("g", "dispatchable")

KEYING: dict[str, tuple[list[Any], list[Any]]] = {
    "index only": (
        [entry("", "f", "a"), entry('{"x":'), entry("1}")],
        [("a", *F, {"x": 1})],
    ),
    "interleaved by index": (
        [entry("", "f", "a"), entry("", "g", "b", 1), entry('{"x":1}'), entry('{"y":2}', index=1)],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 2})],
    ),
    "first index is 1": (
        [entry("", "f", "a", 1), entry("{}", index=1)],
        [("a", *F, {})],
    ),
    "index -1": (
        [entry('{"x":', "f", "a", -1), entry("1}", index=-1)],
        [("a", *F, {"x": 1})],
    ),
    "no index, one call": (
        [entry("", "f", "a", None), entry('{"x":1}', index=None)],
        [("a", *F, {"x": 1})],
    ),
    "float index": (
        [entry("", "f", "a", 0.0), entry('{"x":1}', index=0.0)],
        [("a", *F, {"x": 1})],
    ),
    "index always 0": (
        [entry('{"x":1}', "f", "a"), entry('{"x":2}', "f", "b"), entry(" ")],
        [("a", *F, {"x": 1}), ("b", *F, {"x": 2})],
    ),
    "index always 0, no ids": (
        [entry('{"x":1}', "f"), entry('{"x":2}', "f"), entry("{}", "g")],
        [(None, *F, {"x": 1}), (None, *F, {"x": 2}), (None, *G, {})],
    ),
    "index renumbered a chunk": (
        [[entry("", "f", "a")], [entry("", "g", "b")], [entry('{"x":1}', call_id="a")],
         [entry('{"y":1}', call_id="b")]],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 1})],
    ),
    "pieces under another index than their head": (
        [entry("", "f", "a"), entry('{"x":', index=1), entry("1}", index=1)],
        [("a", *F, {"x": 1})],
    ),
    "head and first piece in one chunk": (
        [[entry(name="f", call_id="a"), entry('{"x"')], entry(":1}")],
        [("a", *F, {"x": 1})],
    ),
    "id and name on every piece": (
        [entry('{"x":', "f", "a"), entry("1", "f", "a"), entry("}", "f", "a")],
        [("a", *F, {"x": 1})],
    ),
    "another id on every piece": (
        [entry("", "f", "a-1"), entry('{"x":', call_id="a-2"), entry("1}", "", "a-3"),
         entry("", "", "a-4")],
        [("a-1", *F, {"x": 1})],
    ),
    "another id on every piece of two calls": (
        [entry("", "f", "1"), entry('{"x":1}', call_id="2"), entry("", "g", "3", 1),
         entry("{}", call_id="4", index=1)],
        [("1", *F, {"x": 1}), ("3", *G, {})],
    ),
    "no ids, the name on every piece": (
        [entry('{"x"', "f"), entry(":", "f"), entry("1}", "f")],
        [(None, *F, {"x": 1})],
    ),
    "no ids, no indexes, whole calls": (
        [[entry("{}", "f", "", None), entry("{}", "f", "", None)], entry('{"x":1}', "f", "", None)],
        [(None, *F, {}), (None, *F, {}), (None, *F, {"x": 1})],
    ),
    "no ids, no indexes, head first": (
        [entry("", "f", "", None), entry('{"x":1}', "f", "", None)],
        [(None, *F, {"x": 1})],
    ),
    "no ids, no indexes, the name on every piece": (
        [entry('{"x":{"y":', "f", "", None), entry('{"z":1}', "f", "", None),
         entry("}", "f", "", -1), entry("}", "f", "", -1), entry('{"x":2}', "f", "", None)],
        [(None, *F, {"x": {"y": {"z": 1}}}), (None, *F, {"x": 2})],
    ),
    "heads one index ahead of their text": (
        [entry("", "f", "a", 1), entry('{"x":1}'), entry("", "g", "b", 2),
         entry('{"y":', index=1), entry("1}", index=1)],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 1})],
    ),
    "the index counts pieces": (
        [entry("", "f", "a"), entry('{"x":', index=1), entry("1}", index=2),
         entry("", "g", "b", 1), entry('{"y":', index=2), entry("1}", index=3)],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 1})],
    ),
    "another id and the name on every piece": (
        [entry("", "f", "a-1"), entry('{"x":', "f", "a-2"), entry("1}", "f", "a-3")],
        [("a-1", "f", "abandoned", None), ("a-2", "f", "unparseable", None),
         ("a-3", "f", "unparseable", None)],
    ),
    "no text for one call, and a cut one of another tool": (
        [entry("", "f", "a"), entry('{"y":', "g", "b", 1)],
        [("a", *F, {}), ("b", "g", "unparseable", None)],
    ),
    "two heads, then text that nothing gives to either": (
        [entry("", "f", "a", 1), entry("", "g", "b", 2), entry('{"x":1}'),
         entry('{"y":1}', index=1)],
        [("a", "f", "abandoned", None), ("b", "g", "abandoned", None)],
    ),
    "text sent twice, or two calls' alike": (
        [entry('{"x":1}', "f", "a"), entry("", "g", "b", 1), entry('{"x":1}')],
        [("a", *F, {"x": 1}), ("b", "g", "abandoned", None)],
    ),
    "two documents for one of two calls": (
        [entry("", "f", "a", None), entry("", "g", "b", None), entry('{"x":1}', index=None),
         entry('{"y":1}', index=None)],
        [("a", "f", "abandoned", None), ("b", "g", "unparseable", None)],
    ),
    "heads without indexes in one list, then text in the same order": (
        [[entry("", "f", "a", None), entry("", "g", "b", None)],
         [entry('{"x":', index=None), entry('{"y":', index=None)],
         [entry("1}", index=None), entry("2}", index=None)]],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 2})],
    ),
    "heads without indexes in one list, then text with their places as indexes": (
        [[entry('{"x":', "f", "a", None), entry('{"y":', "g", "b", None)],
         [entry("2}", index=1), entry("1}", index=0)]],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 2})],
    ),
    "heads with indexes, then text without them in the same order": (
        [entry("", "f", "a"), entry("", "g", "b", 1),
         [entry('{"x":1}', index=None), entry('{"y":2}', index=None)]],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 2})],
    ),
    "heads without indexes in one list, then text that may be either's": (
        [[entry("", "f", "a", None), entry("", "g", "b", None)], entry('{"x":', index=None),
         entry("1}", index=None)],
        [("a", "f", "abandoned", None), ("b", "g", "abandoned", None)],
    ),
    "a whole call and a head without indexes in one list": (
        [[entry("{}", "f", "a", None), entry("", "g", "b", None)], entry('{"y":', index=None),
         entry("2}", index=None)],
        [("a", *F, {}), ("b", *G, {"y": 2})],
    ),
    "two lists of whole calls without ids and indexes": (
        [[entry("{}", "f", "", None), entry("{}", "g", "", None)],
         [entry("{}", "f", "", None), entry("{}", "g", "", None)]],
        [(None, *F, {}), (None, *G, {}), (None, *F, {}), (None, *G, {})],
    ),
    "an index as text": (
        [entry("", "f", "a", "0"), entry("", "g", "b", "1"), entry('{"x":1}', index="0"),
         entry('{"y":1}', index="1")],
        [("a", *F, {"x": 1}), ("b", *G, {"y": 1})],
    ),
    "another id and index on every piece": (
        [entry("", "f", "1"), entry('{"x":', call_id="2", index=1),
         entry("1}", call_id="3", index=2), entry("{}", "g", "4", 3)],
        [("1", *F, {"x": 1}), ("4", *G, {})],
    ),
    "another id and index, and then a name of its own": (
        [entry("", "f", "a"), entry('{"y":1}', call_id="b", index=1), entry("", "g", "b", 1)],
        [("a", "f", "abandoned", None), ("b", "g", "abandoned", None)],
    ),
    "the word null as id": (
        [entry("{}", "f", "null"), entry("{}", "g", "null", 1)],
        [(None, *F, {}), (None, *G, {})],
    ),
    "an id inside the function": (
        [entry("{}", function={"id": "a", "name": "f", "arguments": "{}"})],
        [("a", *F, {})],
    ),
    "the id comes late": (
        [entry('{"x":', "f"), entry("1}", "f", "a"), entry("{}", "g", "b", 1)],
        [("a", *F, {"x": 1}), ("b", *G, {})],
    ),
    "the name comes late": (
        [entry('{"x":', call_id="a"), entry(name="f"), entry("1}")],
        [("a", *F, {"x": 1})],
    ),
    "id and name come last": (
        [entry('{"x":1}'), entry("", "f", "a"), entry("{}", "g", "b", 1)],
        [("a", *F, {"x": 1}), ("b", *G, {})],
    ),
    "an empty name first": (
        [entry("", "", "a"), entry('{"x":1}', "f")],
        [("a", *F, {"x": 1})],
    ),
    "one id for two tools": (
        [entry("{}", "f", "same"), entry("{}", "g", "same")],
        [("same", *F, {}), ("same", *G, {})],
    ),
    "one id for two tools, heads first": (
        [entry(name="f", call_id="same"), entry(name="g", call_id="same", index=1),
         entry('{"x":1}'), entry('{"y":1}', index=1)],
        [("same", *F, {"x": 1}), ("same", *G, {"y": 1})],
    ),
    "one id for two tools, nothing for the first": (
        [entry(name="f", call_id="same"), entry("", "", "same"),
         entry(name="g", call_id="same", index=1), entry('{"y":1}', "", "same", 1)],
        [("same", *F, {}), ("same", *G, {"y": 1})],
    ),
    "one id for two indexes": (
        [entry('{"x":1}', "f", "same"), entry('{"x":2}', "f", "same", 1)],
        [("same", *F, {"x": 1}), ("same", *F, {"x": 2})],
    ),
    "one id for two indexes, heads first": (
        [entry("", "f", "same"), entry('{"x":1}'), entry("", "f", "same", 1),
         entry('{"x":', index=1), entry("2}", index=1)],
        [("same", *F, {"x": 1}), ("same", *F, {"x": 2})],
    ),
    "one id for two indexes, the second cut": (
        [entry('{"x":1}', "f", "same"), entry('{"x":', "f", "same", 1)],
        [("same", *F, {"x": 1}), ("same", "f", "unparseable", None)],
    ),
    "a call sent again under another index": (
        [entry("", "f", "a"), entry('{"x":1}'), entry('{"x":1}', "f", "a", 1),
         entry('{"x":1}', "f", "a", 2)],
        [("a", *F, {"x": 1})],
    ),
    "head and text sent again under another index": (
        [entry("", "f", "a"), entry('{"x":1}', call_id="a"), entry("", "f", "a", 1),
         entry('{"x":', call_id="a", index=1), entry("1}", index=1), entry("", "f", "a", 2)],
        [("a", *F, {"x": 1})],
    ),
    "one id, one tool, two texts": (
        [entry('{"x":1}', "f", "same"), entry('{"x":2}', "f", "same")],
        [("same", "f", "unparseable", None)],
    ),
    "a whole text sent twice": (
        [entry('{"x":', "f", "a"), entry("1}"), entry('{"x":1}')],
        [("a", *F, {"x": 1})],
    ),
    "a call sent twice without ids": (
        [entry('{"x":1}', "f"), entry('{"x":1}', "f")],
        [(None, *F, {"x": 1})],
    ),
    "an empty object before the text": (
        [entry("{}", "f", "a"), entry('{"x":1}')],
        [("a", "f", "unparseable", None)],
    ),
    "an empty object before the text, named without id": (
        [entry("{}", "f"), entry('{"x":1}', "f")],
        [(None, "f", "unparseable", None)],
    ),
    "a piece for a call that nobody announced": (
        [entry('{"x":1}', "f", "a"), entry('{"y":1}', index=7)],
        [("a", *F, {"x": 1}), (None, None, "unparseable", None)],
    ),
    "an id that nobody names": (
        [entry('{"x":1}', "f", "a"), entry("{}", call_id="b")],
        [("a", *F, {"x": 1}), ("b", None, "unparseable", None)],
    ),
    "entries that say nothing": (
        [[entry(), None, {}, entry("", "", "")], entry("{}", "f", "a"), entry("", index=3)],
        [("a", *F, {})],
    ),
    "braces and quotes inside strings": (
        [entry('{"x":"}{\\', "f", "a"), entry('""', "", "b"), entry("}", "", "c")],
        [("a", *F, {"x": '}{"'})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("oddity", KEYING)
def test_which_call_an_entry_goes_on_with(oddity: str) -> None:
    """Whatever the service does with indexes, ids and names, each piece finds its call."""
    steps, expected = KEYING[oddity]
    assert words(settle(*message(*steps))) == expected


@pytest.mark.parametrize("oddity", KEYING)
def test_keying_is_a_choices_own_matter(oddity: str) -> None:
    """Two choices that say the same, chunk by chunk in turn, give the same twice."""
    steps, expected = KEYING[oddity]
    natives = []
    for native in message(*steps)[:-1]:
        other = copy.deepcopy(native)
        other["choices"][0]["index"] = 1
        natives += [native, other]
    found = words(settle(*natives, DONE, choices="all"))
    assert found[: len(expected)] == found[len(expected) :] == expected


NAMES: dict[str, tuple[list[Any], tuple[str, ...] | None, list[str]]] = {
    "in pieces": ([entry("", "edit_", "a"), entry("", "file"), entry("{}")], None, ["edit_file"]),
    "in three pieces": (
        [entry("", "edit_", "a"), entry("", "my_"), entry("", "file"), entry("{}")],
        ("edit_my_file",),
        ["edit_my_file"],
    ),
    "in pieces, the first of them another tool's": (
        [entry("", "edit", "a"), entry("", "_file"), entry("{}")],
        ("edit", "edit_file"),
        ["edit_file"],
    ),
    "longer each time": (
        [entry("", "edit", "a"), entry("", "edit_file"), entry("{}")], None, ["edit_file"],
    ),
    "longer each time, offered": (
        [entry("", "edit", "a"), entry("", "edit_file"), entry("{}")],
        ("edit_file",),
        ["edit_file"],
    ),
    "repeated": ([entry("", "go", "a"), entry("", "go"), entry("{}", "go")], None, ["go"]),
    "another tool's": (
        [entry("", "f", "a"), entry("", "g", "a"), entry("{}")], ("f", "g"), ["f", "g"],
    ),
    "another tool's, no id": (
        [entry("", "f"), entry("{}", "g")], ("f", "g"), ["f", "g"],
    ),
    "no tool's, after the text began": (
        [entry('{"x"', "f", "a"), entry(":1}", "zzz", "a")], ("f",), ["f"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("oddity", NAMES)
def test_a_name_is_known_in_whatever_pieces_it_comes(oddity: str) -> None:
    """A name comes once, again with every piece, in pieces, or a little longer each time."""
    steps, offered, expected = NAMES[oddity]
    options = {"tools": None if offered is None else tools(*offered)}
    assert [outcome.name for outcome in settle(*message(*steps), **options).outcomes] == expected


def test_two_open_calls_with_one_id() -> None:
    """The index decides which of the two a piece with that id belongs to."""
    heads = [entry("", "f", "same"), entry("", "g", "same", 1)]
    pieces = [entry('{"x":1}', call_id="same"), entry('{"y":1}', call_id="same", index=1)]
    settler = settle(*message(*heads, *pieces), tools=tools("f", "g"))
    assert words(settler) == [("same", *F, {"x": 1}), ("same", *G, {"y": 1})]


ARGUMENTS: dict[str, tuple[list[Any], Any]] = {
    "null": ([entry(None, "f", "a")], ("dispatchable", {})),
    "null, then text": ([entry(None, "f", "a"), entry('{"x":1}')], ("dispatchable", {"x": 1})),
    "absent": ([entry(name="f", call_id="a")], ("dispatchable", {})),
    "blank": ([entry(" \n", "f", "a")], ("dispatchable", {})),
    "an object": ([entry({"x": 1}, "f", "a")], ("dispatchable", {"x": 1})),
    "an empty object": ([entry({}, "f", "a")], ("dispatchable", {})),
    "an empty object, then text": (
        [entry({}, "f", "a"), entry('{"x":1}')], ("dispatchable", {"x": 1}),
    ),
    "an object twice": ([entry({"x": 1}, "f", "a"), entry({"x": 1})], ("dispatchable", {"x": 1})),
    "text, then the whole as an object": (
        [entry('{"x":', "f", "a"), entry({"x": 2})], ("dispatchable", {"x": 2}),
    ),
    "a list": ([entry([1], "f", "a")], ("schema_error", None)),
    "a number": ([entry(5, "f", "a")], ("schema_error", None)),
    "an object that JSON cannot hold": (
        [entry({"x": float("nan")}, "f", "a")], ("unparseable", None),
    ),
    "function null": (
        [entry('{"x":1}', "f", "a"), {"index": 0, "function": None}], ("dispatchable", {"x": 1}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("oddity", ARGUMENTS)
def test_arguments_are_known_in_whatever_form_they_come(oddity: str) -> None:
    """Text is added, a value is the whole, nothing is nothing."""
    steps, expected = ARGUMENTS[oddity]
    (one,) = words(settle(*message(*steps)))
    assert one[2:] == expected


# -- after a stop reason ---------------------------------------------------------------------------

HEAD, TEXT = entry("", "f", "a"), entry('{"q":"x"}')


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        ([calls(HEAD), calls(TEXT), chunk(finish="tool_calls")], "dispatchable"),
        ([calls(entry('{"q":"x"}', "f", "a"), finish="tool_calls")], "dispatchable"),
        ([calls(HEAD), calls(entry('{"q":')), calls(entry('"x"}'))], "dispatchable"),
        ([calls(HEAD)], "dispatchable"),
        ([calls(HEAD), calls(entry('{"q":'))], "unparseable"),
        ([calls(HEAD), calls(entry('{"q":"y"}'))], "unparseable"),
        ([calls(entry('{"q":"x"}'))], "dispatchable"),
        ([calls(entry("}"))], "unparseable"),
    ],
)
def test_a_call_named_again_after_a_stop_reason(again: list[Any], outcome: str) -> None:
    """It is a replay: equal to the first text or nothing; pieces without a head are late ones."""
    settler = settle(calls(HEAD), calls(TEXT), chunk(finish="tool_calls"), *again, DONE)
    assert [one[2] for one in words(settler)] == [outcome]


def test_a_replay_without_ids() -> None:
    """The index and the name say which call it is."""
    natives = message(entry('{"q":"x"}', "f"))[:-1]
    assert [one[2] for one in words(settle(*natives, *natives, DONE))] == ["dispatchable"]
    other = message(entry('{"q":"y"}', "f"))
    assert [one[2] for one in words(settle(*natives, *other))] == ["unparseable"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("a", "f", "abandoned"), ("b", "g", "abandoned")]),
        ("{}", [("a", "f", "dispatchable"), ("b", "g", "dispatchable")]),
    ],
)
def test_a_head_that_comes_after_text_at_its_index(text: str, expected: list[Any]) -> None:
    """The text went to the call before, which had none: it may be the other's, if that gets none.

    Some services give a call's head and its text different indexes, so it is not refused at once.
    """
    head, early = entry("", "f", "a"), entry('{"q":"x"}', index=1)
    settler = settle(*message(head, early, entry(text, "g", "b", 1)))
    assert [one[:3] for one in words(settler)] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("f", [("a", "f", {"q": "x"})]), ("g", [("a", "f", {}), (None, "g", {"q": "x"})])],
)
def test_a_head_without_an_index(name: str, expected: list[Any]) -> None:
    """The pieces that have one, and the name again, are its own; those of another name are not."""
    pieces = entry('{"q":', name), entry('"x"}', name)
    settler = settle(*message(entry("", "f", "a", None), *pieces))
    assert [(one[0], one[1], one[3]) for one in words(settler)] == expected


def test_late_pieces_are_noted() -> None:
    """They belong to the text, and somebody should know."""
    settler = settle(*message(entry('{"x":1', "f", "a"))[:-1], calls(entry("}")), DONE)
    assert words(settler) == [("a", "f", "dispatchable", {"x": 1})]
    assert oddities(settler) == {"delta_after_end"}


def test_a_late_id_is_no_missing_id() -> None:
    """Only a call that never got one is named."""
    late = settle(*message(entry('{"x":', "f"), entry("1}", "f", "a")))
    assert late.anomalies == []
    never = settle(*message(entry("{}", "f")))
    assert never.anomalies == [Anomaly("no_call_id", never.outcomes[0].key)]


# -- two generations in one stream -----------------------------------------------------------------


def generation(chunk_id: str, call_id: str, finish: str | None = "tool_calls") -> list[Any]:
    return [
        chunk({"role": "assistant", "content": ""}, chunk_id=chunk_id),
        calls(entry("", "f", call_id), chunk_id=chunk_id),
        calls(entry("{}"), chunk_id=chunk_id),
        *([chunk(finish=finish, chunk_id=chunk_id)] if finish else []),
    ]


SPLICED = {
    "the first one whole in one chunk and cut": [
        chunk({"role": "assistant"}, chunk_id="A"),
        calls(entry("{}", "f", "a"), chunk_id="A"),
        *generation("B", "b"),
    ],
    "one after the other": [*generation("A", "a"), *generation("B", "b")],
    "the first one cut": [*generation("A", "a", None), *generation("B", "b")],
    "the first one cut, the second only text": [
        *generation("A", "a", None),
        chunk({"content": "Sorry, "}, chunk_id="B"),
        chunk({"content": "again."}, chunk_id="B"),
        chunk(finish="stop", chunk_id="B"),
    ],
    "in turns": [
        native
        for pair in zip(generation("A", "a"), generation("B", "b"), strict=True)
        for native in pair
    ],
    "in turns, and the first one's text after the second one's reason": [
        calls(entry("", "f", "a"), chunk_id="A"),
        *generation("B", "b"),
        calls(entry('{"q":"x"}'), chunk_id="A"),
    ],
}


@pytest.mark.parametrize("way", SPLICED)
def test_two_generations_in_one_stream(way: str) -> None:
    """No call of either is trusted."""
    settler = settle(*SPLICED[way], DONE)
    assert {one[2] for one in words(settler)} == {"abandoned"}
    assert "spliced_stream" in oddities(settler)
    assert settler.verdict == "fail"


INNOCENT = {
    "an id a chunk": [
        native | {"id": f"c{position}"} for position, native in enumerate(message(HEAD, TEXT)[:-1])
    ],
    "another id for the first chunk": [
        chunk({"content": ""}, chunk_id="first"), *message(HEAD, TEXT)[:-1],
    ],
    "another id for a chunk that keeps the connection alive": [
        chunk({"content": ""}, chunk_id="alive"), *generation("A", "a", None)[:2],
        chunk({"role": "assistant", "content": ""}, chunk_id="alive"),
        *generation("A", "a")[2:],
    ],
    "another id for the last two chunks": [
        *generation("A", "a", None), chunk(chunk_id="last"),
        chunk(finish="tool_calls", chunk_id="last"),
    ],
    "another id for the last chunk": [
        *generation("A", "a", None), chunk(finish="tool_calls", chunk_id="last"),
    ],
    "no id here and there": [native | {"id": ""} if position % 2 else native
                             for position, native in enumerate(message(HEAD, TEXT)[:-1])],
}  # fmt: skip


@pytest.mark.parametrize("way", INNOCENT)
def test_ids_that_change_for_other_reasons(way: str) -> None:
    """Services give ids by the chunk, or forget them: that is no second generation."""
    settler = settle(*INNOCENT[way], DONE)
    assert [one[2] for one in words(settler)] == ["dispatchable"]
    assert oddities(settler) == set()
