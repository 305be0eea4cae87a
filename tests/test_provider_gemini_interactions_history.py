"""Gemini Interactions: what a turn adds to the conversation is accepted, after failures too."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.genai._gaos.types.interactions import createmodelinteraction
from google.genai._gaos.types.interactions.step import Step
from pydantic import TypeAdapter

from finalcall import Dispatchable, ExternalState, Settler, ToolResult
from tests.history_rules.gemini_interactions import check
from tests.interaction_events import (
    ARGUMENTS,
    as_objects,
    call,
    completed,
    created,
    delta,
    opened,
    settle,
    start,
    stop,
    thought,
    words,
)
from tests.streams import FIXTURES, cases

CASES = cases(FIXTURES / "gemini-interactions")
STEPS: TypeAdapter[list[Any]] = TypeAdapter(list[Step])


def add(settler: Settler) -> list[dict[str, Any]]:
    """The history with a result for every call that ran, checked both ways."""
    results = {one: "high" for one in settler.outcomes if isinstance(one, Dispatchable)}
    steps = settler.history(results)
    assert check(steps) == []
    assert not any(getattr(step, "is_unknown", False) for step in STEPS.validate_python(steps))
    createmodelinteraction.CreateModelInteraction.model_validate({"model": "m", "input": steps})
    json.dumps(steps)
    return steps


def test_a_turn_adds_its_steps_and_one_result_a_call() -> None:
    """In the order of the calls; a result has an error's flag and media of its own."""
    settler = settle(
        created(),
        *thought(0),
        *words(1, "On it."),
        delta(1, "image", data="AA", mime_type="image/png"),
        delta(1, "text", text="Look."),
        delta(1, "text_annotation_delta", annotations=[]),
        start(2, "function_call", id="fc_1", name="a", arguments={}, signature="c2ln"),
        stop(2),
        *call(3, "fc_2"),
        completed(),
    )
    first, second = settler.outcomes
    blocks = [{"type": "text", "text": "no tide"}]
    steps = settler.history({first: ToolResult(blocks), second: ValueError("no tide")})
    assert check(steps) == []
    assert steps == [
        {
            "type": "thought",
            "signature": "c2ln",
            "summary": [{"type": "text", "text": "Hm."}],
        },
        {
            "type": "model_output",
            "content": [
                {"type": "text", "text": "On it."},
                {"type": "image", "data": "AA", "mime_type": "image/png"},
                {"type": "text", "text": "Look."},
            ],
        },
        {"type": "function_call", "id": "fc_1", "name": "a", "arguments": {}, "signature": "c2ln"},
        {"type": "function_call", "id": "fc_2", "name": "get_tide", "arguments": ARGUMENTS},
        {"type": "function_result", "call_id": "fc_1", "name": "a", "result": blocks},
        {
            "type": "function_result",
            "call_id": "fc_2",
            "name": "get_tide",
            "result": "ValueError: no tide",
            "is_error": True,
        },
    ]


HISTORIES: dict[str, Sequence[Any]] = {
    "clean": [created(), *thought(0), *words(1, "On it."), *call(2), completed()],
    "one unparseable": [*thought(0), *call(1, text="{"), *call(2, "fc_2"), completed()],
    "truncated": [*words(0, "On it."), *call(1), completed("incomplete")],
    "truncated without text": [*thought(0), *call(1), completed("incomplete")],
    "cut": [*words(0, "On it.")[:-1], opened(1)],
    "cut in a thought": thought(0)[:3],
    "an unsigned thought": [*thought(0, ""), *words(1, "x"), completed("completed")],
    "an empty output": [start(0, "model_output"), stop(0), completed("completed")],
    "no id": [*call(call_id=""), *words(1, "x"), completed()],
    "results of nothing": [
        start(0, "google_search_result", call_id="9", result=[]),
        start(1, "function_result", call_id="9", result="x"),
        completed("completed"),
    ],
    "unknown content": [start(0, "model_output", content=[{"type": "text"}, 5, {}]), completed()],
    "failed": [*words(0, "x"), completed("failed")],
    "empty": [],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    steps = add(settle(*copy.deepcopy(HISTORIES[name])))
    assert isinstance(steps, list)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Any) -> None:
    """Whole and cut at every event, the same from dicts and from the SDK's objects."""
    natives = case.recording.to_dicts()
    for length in range(len(natives) + 1):
        assert add(settle(*natives[:length])) == add(settle(*as_objects(natives[:length])))


STORED: dict[str, tuple[Sequence[Any], bool]] = {
    "complete": ([created(), *thought(0), *call(1), completed()], True),
    "without calls": ([created(), *words(0, "x"), completed("completed")], True),
    "truncated": ([created(), *words(0, "x"), completed("incomplete")], False),
    "with a failed call": ([created(), *call(0, text="{"), *call(1, "fc_2"), completed()], False),
    "where nothing is stored": ([created(""), *call(), completed(interaction_id="")], False),
}


@pytest.mark.parametrize("form", STORED)
def test_a_conversation_that_the_service_keeps_gets_only_results(form: str) -> None:
    """Where its copy is what stays; else the steps go as usual."""
    events, continues = STORED[form]
    settler = settle(*events)
    results = {one: "high" for one in settler.outcomes if isinstance(one, Dispatchable)}
    usual = settler.history(results)
    assert settler.request_fields == {}
    steps = settler.history(results, stored=True)
    if continues:
        assert check(steps, stored=True) == []
        assert steps == [step for step in usual if step["type"] == "function_result"]
        assert settler.request_fields == {"previous_interaction_id": "v1_1"}
    else:
        assert steps == usual
        assert settler.request_fields == {}


def test_a_stored_pause_names_its_interaction() -> None:
    """Its token is good only with it."""
    settler = settle(created(), completed("requires_continuation", continuation_token="t"))
    assert settler.history(stored=True) == []
    assert settler.request_fields == {
        "continuation_token": "t",
        "previous_interaction_id": "v1_1",
    }


BROKEN: dict[str, list[dict[str, Any]]] = {
    "a call or a result without a name": [
        {"type": "function_result", "call_id": "1", "result": ""}
    ],
    "an empty id": [{"type": "google_search_call", "id": ""}],
    "arguments that are no object": [{"type": "function_call", "id": "1", "arguments": "{}"}],
    "a result of the wrong type": [{"type": "function_result", "call_id": "1", "result": 5}],
    "a thought without its signature": [{"type": "thought"}],
    "an output without content": [{"type": "model_output"}],
    "thoughts alone": [{"type": "thought", "signature": "x"}],
    "calls and results differ": [{"type": "function_call", "id": "1", "arguments": {}}],
    "a call of the service's without its result": [{"type": "google_search_call", "id": "1"}],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check(BROKEN[rule])


def test_the_checker_refuses_what_the_service_has() -> None:
    """Beside a stored interaction there are only results."""
    assert check([{"type": "model_output", "content": []}], stored=True) == [
        "an output without content",
        "a step that the service has",
    ]


def test_the_result_of_a_services_call_ends_it() -> None:
    """The result may say only in a delta that it failed."""
    settler = settle(
        start(0, "google_search_call", id="1", signature=""),
        delta(0, "google_search_call", arguments={"queries": ["x"]}),
        stop(0),
        start(1, "google_search_result", call_id="1", signature="c2ln"),
        delta(1, "google_search_result", result=[{"title": "y"}]),
        start(2, "code_execution_call", id="2", arguments={"code": "1"}),
        start(3, "code_execution_result", call_id="2"),
        delta(3, "code_execution_result", result="no", is_error=True),
        start(4, "url_context_call", id="3", arguments={"urls": []}),
        *words(5, "Found."),
        completed("completed"),
    )
    assert [(one.call_id, one.name, one.state) for one in settler.external_calls] == [
        ("1", "google_search_call", ExternalState.DONE),
        ("2", "code_execution_call", ExternalState.FAILED),
        ("3", "url_context_call", ExternalState.UNKNOWN),
    ]
    assert add(settler) == [
        {"type": "google_search_call", "id": "1", "arguments": {"queries": ["x"]}},
        {
            "type": "google_search_result",
            "call_id": "1",
            "signature": "c2ln",
            "result": [{"title": "y"}],
        },
        {"type": "code_execution_call", "id": "2", "arguments": {"code": "1"}},
        {"type": "code_execution_result", "call_id": "2", "result": "no", "is_error": True},
        {"type": "model_output", "content": [{"type": "text", "text": "Found."}]},
    ]


def test_steps_of_unknown_types_go_back_as_they_came() -> None:
    """Those that say something; what the service compacted, for one."""
    settler = settle(start(0, "compaction", data="x"), stop(0), *words(1, "x"), completed())
    assert settler.history()[0] == {"type": "compaction", "data": "x"}


class Hostile:
    """A step whose dump is of no use."""

    type = "compaction"

    def __init__(self, dumped: Any) -> None:
        self.dumped = dumped

    def model_dump(self, **_: Any) -> Any:
        if isinstance(self.dumped, Exception):
            raise self.dumped
        return self.dumped


@pytest.mark.parametrize("dumped", [ValueError("no"), None, []], ids=repr)
def test_steps_that_cannot_be_copied_are_left_out(dumped: Any) -> None:
    """They are no reason to fail."""
    event = {"event_type": "step.start", "index": 0, "step": Hostile(dumped)}
    settler = settle(event, *words(1, "x"), completed("completed"))
    assert [step["type"] for step in settler.history()] == ["model_output"]
