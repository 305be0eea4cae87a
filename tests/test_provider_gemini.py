"""Gemini: what announces, ends and judges a call, and whose calls are not the client's."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pytest

from finalcall import Settler
from finalcall.events import ArgumentsDelta, CallAnnounced, CallCompleted, Other
from finalcall.providers import PROVIDERS, recognise
from tests.gemini_chunks import (
    ARGUMENTS,
    CLOSE,
    GOOD,
    STOP,
    as_object,
    call,
    chunk,
    kinds,
    names,
    number,
    opened,
    outcomes,
    piece,
    settle,
    string,
)

ONE_CALL: dict[str, Sequence[Any]] = {
    "whole, with its reason": [chunk(call(), reason="STOP")],
    "its reason in the next chunk": [chunk(call()), chunk({"text": ""}, reason="STOP")],
    "its reason in a candidate without content": [chunk(call()), STOP],
    "its reason repeated": [chunk(call(), reason="STOP"), STOP],
    "its reason as a number": [chunk(call(), reason=1)],
    "candidates without an index": [{"candidates": [{"content": {"parts": [call()]}}]}, STOP],
    "wrapped in a response": [{"response": chunk(call(), reason="STOP")}],
    "an id that is empty": [chunk(call(id="")), STOP],
    "an id that is the word null": [chunk(call(id="null")), STOP],
    "arguments as text": [chunk(call(args='{"port": "Brest"}')), STOP],
    "a continuation that is denied": [chunk(call(willContinue=False)), STOP],
    "no paths at all": [chunk(call(partialArgs=[])), STOP],
    "sent again after the stop": [chunk(call(), reason="STOP"), chunk(call(), reason="STOP")],
    "closed once more": [chunk(call()), chunk(CLOSE), STOP],
    "after a separator that separates nothing": [
        chunk({"functionCall": {"willContinue": True}}),
        chunk(call(), reason="STOP"),
    ],
    "streamed in one part": [
        chunk(piece(string("$.port", "Brest"), name="get_tide", goes_on=False)),
        STOP,
    ],
    "streamed in pieces": [
        chunk(opened()),
        chunk(piece(string("$.port", "Br", goes_on=True))),
        chunk({"functionCall": {"willContinue": True}}),
        chunk(piece(string("$.port", "est", goes_on=True))),
        chunk(piece(string("$.port", ""))),
        chunk(CLOSE),
        STOP,
    ],
    "streamed, and ended by its last piece": [
        chunk(opened()),
        chunk(piece(string("$.port", "Brest"), goes_on=False)),
        chunk({"text": ""}, reason="STOP"),
    ],
    "opened as a stream, and whole after all": [
        chunk(opened()),
        chunk({"functionCall": {"args": ARGUMENTS}}),
        STOP,
    ],
    "streamed, then stated whole": [
        chunk(opened()),
        chunk(piece(string("$.port", "Br", goes_on=True))),
        chunk({"functionCall": {"args": ARGUMENTS}}),
        STOP,
    ],
}


@pytest.mark.parametrize("form", ONE_CALL)
def test_one_call_in_every_form(form: str) -> None:
    """However the service tells it, it is one call with these arguments."""
    settler = settle(*ONE_CALL[form])
    assert outcomes(settler) == [GOOD]
    assert settler.stop_reason is not None
    assert settler.stop_reason.raw == "STOP"


WIRE_ONLY = {"arguments as text", "its reason as a number"}
"""What the SDK's classes refuse to hold."""


@pytest.mark.parametrize("form", [form for form in ONE_CALL if form not in WIRE_ONLY])
def test_objects_settle_as_dicts(form: str) -> None:
    """The SDK's objects say the same."""
    natives = [as_object(native.get("response", native)) for native in ONE_CALL[form]]
    assert outcomes(settle(*natives)) == [GOOD]


def snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): (
                snake(inner)
            )
            for name, inner in value.items()
        }
    return [snake(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", ONE_CALL)
@pytest.mark.parametrize("make", [OrderedDict, snake], ids=lambda make: make.__name__)
def test_other_dicts_settle_alike(form: str, make: Any) -> None:
    """Dicts of other classes, and with the names of the SDK's fields."""
    assert outcomes(settle(*map(make, ONE_CALL[form]))) == [GOOD]


NO_ARGUMENTS = {
    "empty": call(args={}),
    "null": call(args=None),
    "absent": {"functionCall": {"name": "get_tide"}},
    "blank text": call(args=" "),
}


@pytest.mark.parametrize("form", NO_ARGUMENTS)
def test_a_call_without_arguments_has_empty_ones(form: str) -> None:
    """All forms of none are `{}`."""
    settler = settle(chunk(NO_ARGUMENTS[form], reason="STOP"))
    assert outcomes(settler) == [(None, "get_tide", "dispatchable", {})]


def test_a_streamed_call_may_have_no_arguments() -> None:
    """It opens and closes."""
    settler = settle(chunk(opened()), chunk(CLOSE), STOP)
    assert outcomes(settler) == [(None, "get_tide", "dispatchable", {})]


def test_calls_are_whole_wherever_they_stand() -> None:
    """Several in a chunk, over chunks, beside text, between streamed ones; ids stay theirs."""
    settler = settle(
        chunk({"text": "On it."}, call("a", {}, id="1"), call("a", {"x": 1})),
        chunk(opened("b", id="2")),
        chunk(piece(number("$.n", 2.0), goes_on=False)),
        chunk(call("c", {})),
        chunk(opened("b")),
        chunk(piece(number("$.n", 0.5))),
        chunk(CLOSE, reason="STOP"),
    )
    assert outcomes(settler) == [
        ("1", "a", "dispatchable", {}),
        (None, "a", "dispatchable", {"x": 1}),
        ("2", "b", "dispatchable", {"n": 2}),
        (None, "c", "dispatchable", {}),
        (None, "b", "dispatchable", {"n": 0.5}),
    ]
    assert settler.text == "On it."


FAILING: dict[str, tuple[Sequence[Any], list[str]]] = {
    "no reason": ([chunk(call())], ["abandoned"]),
    "a reason that is unset": ([chunk(call(), reason=0)], ["abandoned"]),
    "a reason of the wrong type": ([chunk(call(), reason={"a": 1})], ["abandoned"]),
    "an unknown reason": ([chunk(call(), reason="NEXT_YEAR")], ["truncated"]),
    "an unknown number": ([chunk(call(), reason=17)], ["truncated"]),
    "a worse reason before": ([chunk(call(), reason="MAX_TOKENS"), STOP], ["truncated"]),
    "a worse reason after": ([chunk(call(), reason="STOP"), chunk(reason="SAFETY")], ["truncated"]),
    "a blocked prompt": (
        [chunk(call()), {"promptFeedback": {"blockReason": "OTHER"}}, STOP],
        ["truncated"],
    ),
    "a call after the last reason": ([STOP, chunk(call())], ["abandoned"]),
    "no name": ([chunk(call("")), STOP], ["unparseable"]),
    "only an id": ([chunk({"functionCall": {"id": "1"}}), STOP], ["unparseable"]),
    "pieces of no call": ([chunk(piece(number("$.n", 1), goes_on=False)), STOP], ["unparseable"]),
    "never closed": ([chunk(opened()), chunk(piece(number("$.n", 1))), STOP], ["abandoned"]),
    "never closed before the next": (
        [chunk(opened()), chunk(piece(number("$.n", 1))), chunk(call(), reason="STOP")],
        ["abandoned", "dispatchable"],
    ),
    "never closed before the next that streams": (
        [chunk(opened()), chunk(opened("b")), chunk(CLOSE), STOP],
        ["abandoned", "dispatchable"],
    ),
    "a first piece before its call": (
        [
            chunk(piece(string("$.port", "Br", goes_on=True))),
            chunk(opened()),
            chunk(piece(string("$.port", "est"))),
            chunk(CLOSE),
            STOP,
        ],
        ["abandoned", "abandoned"],
    ),
    "a piece after its call's end": (
        [chunk(opened()), chunk(CLOSE), chunk(piece(string("$.port", "Brest"))), STOP],
        ["abandoned", "abandoned"],
    ),
    "a piece after its call's end, and an end": (
        [
            chunk(opened()),
            chunk(CLOSE),
            chunk(piece(string("$.port", "Brest"), goes_on=False)),
            STOP,
        ],
        ["abandoned", "unparseable"],
    ),
    "a piece of no call beside a whole one": (
        [chunk(call()), chunk(piece(string("$.port", "Brest"))), STOP],
        ["dispatchable", "abandoned"],
    ),
    "a string that was to go on": (
        [chunk(opened()), chunk(piece(string("$.port", "Br", goes_on=True))), chunk(CLOSE), STOP],
        ["unparseable"],
    ),
    "a hostile path": (
        [chunk(opened()), chunk(piece(number("$.a[1000000000]", 1))), chunk(CLOSE), STOP],
        ["unparseable"],
    ),
    "stated whole twice, differently": (
        [
            chunk(opened()),
            chunk({"functionCall": {"args": {"a": 1}, "willContinue": True}}),
            chunk({"functionCall": {"args": {"a": 2}}}),
            STOP,
        ],
        ["unparseable"],
    ),
    "another text after the stop": (
        [chunk(call(id="1"), reason="STOP"), chunk(call(args={}, id="1"), reason="STOP")],
        ["unparseable"],
    ),
    "not a number": ([chunk(call(args={"x": float("nan")})), STOP], ["unparseable"]),
    "no JSON": ([chunk(call(args={"x": object()})), STOP], ["unparseable"]),
    "no object": ([chunk(call(args=[1])), STOP], ["schema_error"]),
    "text that is no JSON": ([chunk(call(args="{")), STOP], ["unparseable"]),
    "an error": (
        [chunk(call(), reason="STOP"), {"error": {"code": 503, "status": "UNAVAILABLE"}}],
        ["abandoned"],
    ),
    "an error in an array": (
        [chunk(call(), reason="STOP"), [{"error": {"code": 503, "status": "UNAVAILABLE"}}]],
        ["abandoned"],
    ),
    "an error beside candidates": (
        [chunk(call(), reason="STOP", error={"code": 500, "status": "INTERNAL"})],
        ["abandoned"],
    ),
}


@pytest.mark.parametrize("fault", FAILING)
def test_what_is_not_proved_whole_does_not_run(fault: str) -> None:
    """Each fault ends its own call in an explicit outcome and leaves the others alone."""
    chunks, expected = FAILING[fault]
    assert kinds(settle(*chunks)) == expected


def test_deep_arguments_do_not_raise() -> None:
    """However deep they are."""
    deep: Any = 1
    for _ in range(20_000):
        deep = {"a": deep}
    assert kinds(settle(chunk(call(args=deep)), STOP)) == ["unparseable"]


def test_an_id_that_comes_late_is_the_calls() -> None:
    """With a later part of a streamed call."""
    settler = settle(chunk(opened()), chunk(piece(id="7")), chunk(CLOSE), STOP)
    assert outcomes(settler) == [("7", "get_tide", "dispatchable", {})]


def test_a_part_with_the_streamed_calls_id_goes_on_with_it() -> None:
    """Though it says the name again."""
    more = piece(string("$.port", "Brest"), name="get_tide", id="7", goes_on=False)
    settler = settle(chunk(opened(id="7")), chunk(more), STOP)
    assert outcomes(settler) == [("7", *GOOD[1:])]


def port(text: str, call_id: str, *, goes_on: bool = True) -> dict[str, Any]:
    return piece(string("$.port", text), id=call_id, goes_on=goes_on)


IDS: dict[str, tuple[Sequence[Any], list[tuple[Any, ...]]]] = {
    "another call's id": (
        [opened("f", id="A"), port("B", "B", goes_on=False)],
        [("A", "f", "abandoned"), ("B", None, "unparseable")],
    ),
    "another call's id, and then the call's own": (
        [opened("f", id="A"), port("B", "B"), port("A", "A", goes_on=False)],
        [("A", "f", "dispatchable", {"port": "A"}), ("B", None, "abandoned")],
    ),
    "another id than the late one": (
        [opened("f"), piece(id="A"), port("B", "B", goes_on=False)],
        [("A", "f", "abandoned"), ("B", None, "unparseable")],
    ),
    "two calls in turns": (
        [
            opened("f", id="A"),
            opened("g", id="B"),
            port("A", "A", goes_on=False),
            port("B", "B", goes_on=False),
        ],
        [("A", "f", "dispatchable", {"port": "A"}), ("B", "g", "dispatchable", {"port": "B"})],
    ),
    "without an id, after the part before": (
        [opened("f", id="A"), opened("g", id="B"), port("A", "A"), CLOSE],
        [("A", "f", "dispatchable", {"port": "A"}), ("B", "g", "abandoned")],
    ),
    "a whole call between": (
        [opened("f", id="A"), call("g", {}, id="B"), port("A", "A", goes_on=False)],
        [("A", "f", "dispatchable", {"port": "A"}), ("B", "g", "dispatchable", {})],
    ),
    "another tool under the id": (
        [opened("f", id="A"), opened("g", id="A"), port("A", "A", goes_on=False)],
        [("A", "f", "abandoned"), ("A", "g", "dispatchable", {"port": "A"})],
    ),
    "more after the end": (
        [opened("f", id="A"), CLOSE, port("A", "A", goes_on=False)],
        [("A", "f", "abandoned")],
    ),
    "nothing more after the end": (
        [opened("f", id="A"), CLOSE, {"functionCall": {"id": "A"}}],
        [("A", "f", "dispatchable", {})],
    ),
}


@pytest.mark.parametrize("head", [call("f", {}), {"functionCall": {"name": "f", "args": None}}])
def test_arguments_in_a_part_without_a_name_may_be_the_calls_before(head: Any) -> None:
    """Some send the name first and the arguments alone behind it: neither is a whole call."""
    settler = settle(chunk(head, call("g", {"x": 1})), chunk(call("", {"port": "Brest"})), STOP)
    found = [one[1:3] for one in outcomes(settler)]
    assert found == [("f", "abandoned"), ("g", "dispatchable"), (None, "unparseable")]


@pytest.mark.parametrize("form", IDS)
def test_a_part_with_an_id_goes_to_no_other_call(form: str) -> None:
    """It goes to the call of its id, or is a call of its own that nothing named."""
    parts, expected = IDS[form]
    settler = settle(*map(chunk, parts), STOP)
    found = [one if one[2] == "dispatchable" else one[:3] for one in outcomes(settler)]
    assert found == expected


TWO = {"port": "Brest", "at": {"day": 1, "hour": 2}}
OTHER_ORDER = {"at": {"hour": 2, "day": 1}, "port": "Brest"}

REPEATS: dict[str, tuple[Sequence[Any], int]] = {
    "without an id, before the stop": ([chunk(call()), chunk(call()), STOP], 2),
    "without an id, after the stop": ([chunk(call(), reason="STOP"), chunk(call()), STOP], 1),
    "with its id and its text": ([chunk(call(id="1")), chunk(call(id="1")), STOP], 1),
    "with its id, in another order": (
        [chunk(call(args=TWO, id="1")), chunk(call(args=OTHER_ORDER, id="1")), STOP],
        1,
    ),
    "with its id, in another order, after the stop": (
        [chunk(call(args=TWO, id="1"), reason="STOP"), chunk(call(args=OTHER_ORDER, id="1"))],
        1,
    ),
    "without an id, in another order, after the stop": (
        [chunk(call(args=TWO), reason="STOP"), chunk(call(args=OTHER_ORDER))],
        1,
    ),
    "its id on a list in another order": (
        [chunk(call(args={"a": [1, 2]}, id="1")), chunk(call(args={"a": [2, 1]}, id="1")), STOP],
        2,
    ),
    "its id on another call": ([chunk(call(id="1")), chunk(call(args={}, id="1")), STOP], 2),
    "its id on another tool": ([chunk(call(id="1")), chunk(call("b", id="1")), STOP], 2),
    "streamed again after the stop": (
        [
            chunk(opened(id="1"), piece(string("$.port", "Brest"), goes_on=False), reason="STOP"),
            chunk(opened(id="1"), piece(string("$.port", "Brest"), goes_on=False), reason="STOP"),
        ],
        1,
    ),
    "another call after the stop": ([chunk(call(), reason="STOP"), chunk(call("b")), STOP], 2),
}


@pytest.mark.parametrize("form", REPEATS)
def test_a_call_that_is_sent_again_is_one_call(form: str) -> None:
    """Only where it can be told from one that is made again."""
    chunks, expected = REPEATS[form]
    settler = settle(*chunks)
    assert kinds(settler) == ["dispatchable"] * expected
    assert ("call_replayed" in names(settler)) == (expected == 1)


def test_text_and_thoughts_are_told_apart() -> None:
    """Empty ones are no events."""
    settler = Settler("gemini", tools=None)
    events = [
        (type(event).__name__, getattr(event, "text", None))
        for native in (
            chunk({"text": "Hm.", "thought": True}),
            chunk({"text": ""}),
            chunk({"text": "So"}, {"text": ": high."}),
        )
        for event in settler.feed(native)
    ]
    assert events == [
        ("ReasoningDelta", "Hm."),
        ("Other", None),
        ("TextDelta", "So"),
        ("TextDelta", ": high."),
    ]
    assert settler.text == "So: high."


def several(*candidates: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": list(candidates)}


def test_candidates_are_settled_each_by_its_own_reason() -> None:
    """The text is the first one's."""
    natives = [
        several(
            {"index": 0, "content": {"parts": [{"text": "A"}, call("a", {})]}},
            {"index": 1, "content": {"parts": [{"text": "B"}, call("b", {})]}},
        ),
        several({"index": 1, "finishReason": "STOP"}),
        several({"index": 0, "finishReason": "MAX_TOKENS"}),
    ]
    settler = settle(*natives)
    assert outcomes(settler) == [
        (None, "a", "truncated", None),
        (None, "b", "dispatchable", {}),
    ]
    assert settler.text == "A"
    first = settle(*natives, choices="first")
    assert kinds(first) == ["truncated"]
    assert "other_choices" in names(first)


def test_an_array_of_responses_is_read_one_by_one() -> None:
    """Who reads the wire without SSE by hand has arrays."""
    settler = Settler(tools=None)
    native = [chunk({"text": "On it."}, call()), STOP]
    assert sum(event.native is native for event in settler.feed(native)) == 1
    settler.end()
    assert outcomes(settler) == [GOOD]


def test_candidates_without_an_index_are_told_apart_by_position() -> None:
    """As the SDK's own accessor does."""
    part = [call("a", {})]
    settler = settle(
        several({"content": {"parts": part}}, {"content": {"parts": part}}),
        several({"finishReason": "STOP"}, {"finishReason": "SAFETY"}),
    )
    assert kinds(settler) == ["dispatchable", "truncated"]


def test_usage_counts_thoughts_and_tools() -> None:
    """Neither is in the counts that it stands beside."""
    counts = {"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 30}
    settler = settle(
        chunk({"text": "x"}, usageMetadata={"promptTokenCount": 9, "thoughtsTokenCount": 30}),
        chunk(call(), usageMetadata={**counts, "toolUsePromptTokenCount": 100}, reason="STOP"),
        {"usageMetadata": {"promptTokenCount": "x", "trafficType": "ON_DEMAND"}},
    )
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (109, 35)


def test_usage_at_the_ceiling_is_a_cut() -> None:
    """Whatever the reason says: thoughts count against the request's limit."""
    usage = {"candidatesTokenCount": 5, "thoughtsTokenCount": 30}
    assert kinds(settle(chunk(call(), reason="STOP", usageMetadata=usage), ceiling=35)) == [
        "truncated"
    ]


def test_a_chunk_becomes_events_in_the_order_of_its_parts() -> None:
    """Announced, its text, its end, then the reason; one of them carries the chunk."""
    settler = Settler("gemini", tools=None)
    native = chunk(call(), reason="STOP")
    events = settler.feed(native)
    assert [type(event).__name__ for event in events] == [
        "CallAnnounced",
        "ArgumentsDelta",
        "CallCompleted",
        "MessageStopped",
    ]
    assert [event.native for event in events] == [native, None, None, None]
    assert isinstance(events[0], CallAnnounced)
    assert isinstance(events[1], ArgumentsDelta)
    assert isinstance(events[2], CallCompleted)
    assert events[1].text == '{"port": "Brest"}'
    assert events[0].call.size == len(events[1].text)


@pytest.mark.parametrize("native", [None, "x", 5, [], {}, {"candidates": None}, object()])
def test_an_event_that_says_nothing_is_passed_on(native: Any) -> None:
    """Whatever it is."""
    settler = Settler("gemini", tools=None)
    assert settler.feed(native) == [Other(native)]
    assert settler.ending is None


def test_the_marker_of_other_services_ends_the_message() -> None:
    """Proxies add it."""
    settler = Settler("gemini", tools=None)
    settler.feed(chunk(call(), reason="STOP"))
    settler.feed("[DONE]")
    assert outcomes(settler) == [GOOD]


FIRST_EVENTS: dict[str, Any] = {
    "candidates": chunk({"text": "x"}),
    "an object": as_object(chunk({"text": "x"})),
    "wrapped": {"response": chunk({"text": "x"})},
    "a blocked prompt": {"promptFeedback": {"blockReason": "SAFETY"}},
    "only usage": {"usageMetadata": {}, "modelVersion": "gemini-3"},
    "an object with usage only": as_object({"usageMetadata": {}, "modelVersion": "gemini-3"}),
    "an error": {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"}},
    "an array": [chunk({"text": "x"})],
    "an error in an array": [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}],
}


@pytest.mark.parametrize("form", FIRST_EVENTS)
def test_a_stream_is_recognised_by_its_first_event(form: str) -> None:
    """Bare or wrapped, dict or object."""
    assert recognise(FIRST_EVENTS[form]).name == "gemini"


@pytest.mark.parametrize(
    "native",
    [
        None,
        "data",
        {"type": "ping"},
        {"error": {"type": "x", "message": "y"}},
        {"error": "x"},
        {"usageMetadata": {}},
        {"response": {"id": "resp_1", "status": "in_progress"}},
        {},
        [],
        [[chunk()]],
    ],
)
def test_other_events_are_not_claimed(native: Any) -> None:
    """Other providers' errors and envelopes."""
    assert not PROVIDERS["gemini"].recognises(native)
