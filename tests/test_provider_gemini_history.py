"""Gemini: what a turn adds to the conversation is accepted, after failures too."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import Dispatchable, Settler, ToolResult
from tests.gemini_chunks import (
    CLOSE,
    STOP,
    as_object,
    call,
    chunk,
    number,
    opened,
    piece,
    settle,
    string,
)
from tests.history_rules.gemini import check
from tests.mutations import mutated
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "gemini")


def add(settler: Settler) -> list[dict[str, Any]]:
    """The history with a result for every call that ran, checked both ways."""
    results = {one: "high" for one in settler.outcomes if isinstance(one, Dispatchable)}
    contents = settler.history(results)
    assert check(contents) == []
    for content in contents:
        types.Content.model_validate(content)
    json.dumps(contents)
    return contents


def signed(part: dict[str, Any], signature: Any = "c2ln") -> dict[str, Any]:
    return {**part, "thoughtSignature": signature}


def test_a_turn_adds_the_models_message_and_one_with_every_result() -> None:
    """In the order of the calls, ids where they were given, the error's key where one failed."""
    settler = settle(
        chunk({"text": "Hm.", "thought": True}),
        chunk({"text": "On "}, {"text": "it."}),
        chunk(signed(call("a", {"x": 1}, id="1")), call("b", {})),
        chunk(signed({"text": ""}, "ZW5k"), reason="STOP"),
    )
    first, second = settler.outcomes
    assert settler.history({first: "high", second: ValueError("no tide")}) == [
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "On it."},
                {
                    "functionCall": {"name": "a", "id": "1", "args": {"x": 1}},
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"name": "b", "args": {}}},
                {"text": "", "thoughtSignature": "ZW5k"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "a",
                        "id": "1",
                        "response": {"output": "high"},
                    }
                },
                {
                    "functionResponse": {
                        "name": "b",
                        "response": {"error": "ValueError: no tide"},
                    }
                },
            ],
        },
    ]


def test_signed_texts_stay_apart() -> None:
    """A signature belongs to the part that it came on."""
    settler = settle(chunk({"text": "a"}), chunk(signed({"text": "b"})), chunk({"text": "c"}), STOP)
    assert [part["text"] for part in add(settler)[0]["parts"]] == ["a", "b", "c"]


def test_bytes_of_objects_go_back_as_the_wire_has_them() -> None:
    """The SDK decodes signatures; the text of dicts is the same."""
    signature = base64.b64encode(b"\xfb\xff\xfe sig").decode()
    natives = [
        chunk(signed(call(), signature), signed({"text": "x"}, signature)),
        chunk({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        STOP,
    ]
    dicts = add(settle(*natives))
    assert add(settle(*map(as_object, natives))) == dicts
    assert dicts[0]["parts"][0]["thoughtSignature"] == signature
    assert dicts[0]["parts"][2] == {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def test_a_streamed_call_goes_back_whole() -> None:
    """With the signature of whichever of its parts had one, first wins."""
    settler = settle(
        chunk(opened()),
        chunk(signed(piece(string("$.port", "Brest")))),
        chunk(signed(CLOSE, "bm8=")),
        STOP,
    )
    assert add(settler)[0]["parts"] == [signed(call())]


def test_the_first_signature_passes_on_where_its_call_goes() -> None:
    """Parallel calls share it, and the first that stays must have it."""
    settler = settle(chunk(signed(call("bad", "{")), call("a", {}), call("b", {})), STOP)
    parts = add(settler)[0]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["c2ln", None]
    assert [part["functionCall"]["name"] for part in parts] == ["a", "b"]


def test_media_goes_beside_the_response() -> None:
    """Text is the output, files are parts of it, other things have no place."""
    settler = settle(chunk(call()), STOP)
    image = {"mimeType": "image/png", "data": "AAAA"}
    blocks = [{"text": "a"}, {"type": "image", "inlineData": image}, {"text": "b"}, 5, {"x": 1}]
    (outcome,) = settler.outcomes
    contents = settler.history({outcome: ToolResult(blocks)})
    response = contents[1]["parts"][0]["functionResponse"]
    assert response["response"] == {"output": "ab"}
    assert response["parts"] == [{"inlineData": image}]
    types.Content.model_validate(contents[1])


CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
SEARCH = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "args": {}}}
FOUND = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "response": {}}}


def test_what_the_service_ran_goes_back_with_its_result() -> None:
    """And only with it: unanswered, and answers to nothing, are left out."""
    settler = settle(
        chunk(signed(CODE), RESULT, signed(SEARCH), FOUND, CODE, {"text": "One."}), STOP
    )
    assert add(settler)[0]["parts"] == [
        signed(CODE),
        RESULT,
        signed(SEARCH),
        FOUND,
        {"text": "One."},
    ]
    lone = settle(chunk(RESULT, CODE, {"text": "One."}), STOP)
    assert add(lone)[0]["parts"] == [{"text": "One."}]


HISTORIES: dict[str, list[Any]] = {
    "clean": [chunk({"text": "On it."}), chunk(signed(call()), call("b", {}), reason="STOP")],
    "one invalid": [chunk(signed(call(args=[1])), call("b", {}), reason="STOP")],
    "one unparseable": [chunk(call("", {}), call("b", {}), reason="STOP")],
    "one never closed": [chunk(opened()), chunk(call("b", {}), reason="STOP")],
    "truncated": [chunk({"text": "On it."}), chunk(call(), reason="MAX_TOKENS")],
    "truncated without text": [chunk(signed(call()), reason="MAX_TOKENS")],
    "cut": [chunk({"text": "On it."}), chunk(opened()), chunk(piece(number("$.a", 1)))],
    "cut in thoughts": [chunk({"text": "Hm.", "thought": True})],
    "cut in code": [chunk({"text": "x"}, CODE)],
    "only a signature": [chunk(signed({"text": ""}), reason="STOP")],
    "refused": [chunk({"text": "No."}, reason="SAFETY")],
    "blocked": [{"promptFeedback": {"blockReason": "SAFETY"}}],
    "sent again": [chunk(call(), reason="STOP"), chunk(call(), reason="STOP")],
    "empty": [],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    contents = add(settle(*copy.deepcopy(HISTORIES[name])))
    assert [content["role"] for content in contents] in ([], ["model"], ["model", "user"])


def test_parts_of_unknown_kinds_go_back_as_they_came() -> None:
    """Under the wire's names, whatever is set in them."""
    native = chunk({"new_part": {"a": 1}, "other": None}, {"text": None}, {"functionCall": None})
    assert settle(native, STOP).history() == [{"role": "model", "parts": [{"newPart": {"a": 1}}]}]


class Hostile:
    """An object whose dump is of no use."""

    def __init__(self, dumped: Any) -> None:
        self.dumped = dumped

    def model_dump(self, **_: Any) -> Any:
        if isinstance(self.dumped, Exception):
            raise self.dumped
        return self.dumped


@pytest.mark.parametrize("dumped", [ValueError("no"), RecursionError(), None, [], "x"], ids=repr)
def test_parts_that_cannot_be_copied_are_left_out(dumped: Any) -> None:
    """They are no reason to fail."""
    assert settle(chunk({"text": "x"}), chunk(Hostile(dumped)), STOP).history() == [
        {"role": "model", "parts": [{"text": "x"}]}
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole and cut at every event, as dicts and as the SDK's objects."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        dicts = add(settle_natives(natives[:length]))
        if "server-side-mcp" not in case.name:  # the objects lack what tells whose call it is
            objects = [as_object(native) for native in natives[:length]]
            assert shape(add(settle_natives(objects))) == shape(dicts)


def shape(contents: list[dict[str, Any]]) -> Any:
    """Contents without signatures: those of some recordings are placeholders, and no base64."""
    return [
        [
            {name: value for name, value in part.items() if name != "thoughtSignature"}
            for part in content["parts"]
        ]
        for content in contents
    ]


MODEL = {"role": "model"}
CALL = {"functionCall": {"name": "f", "args": {}}}
BROKEN: dict[str, list[dict[str, Any]]] = {
    "an unknown role": [{"role": "assistant", "parts": [{"text": "x"}]}],
    "a content without parts": [{**MODEL, "parts": []}],
    "a part that does not hold exactly one thing": [{**MODEL, "parts": [{"thought": False}]}],
    "an empty text": [{**MODEL, "parts": [{"text": ""}]}],
    "a call or a response without a name": [{**MODEL, "parts": [{"functionCall": {"args": {}}}]}],
    "an empty id": [{**MODEL, "parts": [{"functionCall": {"name": "f", "id": ""}}]}],
    "arguments that are no object": [{**MODEL, "parts": [{"functionCall": {"args": []}}]}],
    "a response that says nothing": [
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
    ],
    "thoughts alone": [{**MODEL, "parts": [{"text": "x", "thought": True}]}],
    "calls and responses differ": [{**MODEL, "parts": [CALL]}],
    "a first call without its signature": [{**MODEL, "parts": [CALL, signed(CALL)]}],
    "a call of the service's without its result": [{**MODEL, "parts": [CODE]}],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check(BROKEN[rule])


EXTRA = [
    chunk(opened("f", id="1")),
    chunk(piece(string("$.a", "x", goes_on=True))),
    chunk(piece(number("$.b[0]", 2.0), goes_on=False)),
    chunk(CODE, RESULT, SEARCH, FOUND),
    chunk(call("f", {}, id="1"), reason="STOP"),
    chunk({"functionResponse": {"name": "f", "response": {}}}),
    {"error": {"code": 500}},
    {"promptFeedback": {"blockReason": "OTHER"}},
]


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from(CASES), extra=st.lists(st.sampled_from(EXTRA), max_size=4), data=st.data()
)
def test_whatever_a_service_sends_nothing_is_lost(
    case: Case, extra: list[Any], data: st.DataObject
) -> None:
    """Nothing raises, one event carries each native one, announced = outcomes, history holds."""
    natives = case.recording.to_dicts()
    settler = Settler("gemini", tools=None, choices="all")
    for native in mutated([*natives[:2], *extra, *natives[2:]], data):
        over = settler.ending is not None
        events = settler.feed(native)
        assert over or [event.native is native for event in events].count(True) >= 1
        assert len([event for event in events if event.native is not None]) <= 1
    settler.end()
    assert settler.stats.announced == len(settler.outcomes)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert isinstance(settler.history(results), list)
