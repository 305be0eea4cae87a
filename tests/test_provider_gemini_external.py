"""Gemini: the calls of a stream that are not the client's to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from finalcall import ExternalState, Settler
from finalcall.refused import refusal
from tests.gemini_chunks import (
    GOOD,
    STOP,
    answer,
    as_object,
    call,
    chunk,
    kinds,
    outcomes,
    settle,
)

TOOLS = [{"functionDeclarations": [{"name": "get_tide"}]}]

CALLED_AUTOMATICALLY: dict[str, Any] = {
    "the SDK's history": chunk(
        {"text": "High."}, reason="STOP", automaticFunctionCallingHistory=[{"role": "user"}]
    ),
    "the user's response": answer(role="user"),
}


@pytest.mark.parametrize("form", CALLED_AUTOMATICALLY)
def test_calls_that_the_sdk_runs_are_not_run_again(form: str) -> None:
    """What shows it comes only after the call: then the stream is refused."""
    sign = CALLED_AUTOMATICALLY[form]
    for native in (sign, as_object(sign)):
        settler = settle(chunk(call(), reason="STOP"), native, native, STOP)
        assert kinds(settler) == ["abandoned"]
        assert settler.ending is not None
        assert settler.ending.code == "calls_run_by_sdk"


@pytest.mark.parametrize(
    "native",
    [
        chunk(call()),
        answer(),
        chunk(automaticFunctionCallingHistory=[]),
        STOP,
        {},
        None,
        "x",
        5,
        {"candidates": [None, {"content": {"role": "user", "parts": [None]}}]},
    ],
)
def test_other_events_show_no_automatic_calling(native: Any) -> None:
    """The model's own calls, and responses that the service itself gives."""
    settler = settle(chunk(call()), native, STOP)
    assert settler.ending is not None
    assert settler.ending.clean
    assert refusal(native) is None


def states(settler: Settler) -> list[tuple[str | None, str, ExternalState]]:
    return [(one.call_id, one.name, one.state) for one in settler.external_calls]


CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}


def with_id(part: dict[str, Any], call_id: str) -> dict[str, Any]:
    ((name, inner),) = part.items()
    return {name: {**inner, "id": call_id}}


EXTERNAL: dict[str, tuple[Sequence[Any], list[Any]]] = {
    "code": ([chunk(CODE), chunk(RESULT)], [(None, "code_execution", "done")]),
    "code with ids": (
        [chunk(with_id(CODE, "1"), with_id(CODE, "2"), with_id(RESULT, "1"))],
        [("1", "code_execution", "done"), ("2", "code_execution", "unknown")],
    ),
    "code that failed": (
        [chunk(CODE, {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}})],
        [(None, "code_execution", "failed")],
    ),
    "code that failed, as a number": (
        [chunk(CODE, {"codeExecutionResult": {"outcome": 2}})],
        [(None, "code_execution", "failed")],
    ),
    "code without a result": ([chunk(CODE)], [(None, "code_execution", "unknown")]),
    "a result without code": ([chunk(RESULT)], [(None, "code_execution", "done")]),
    "two of them": (
        [chunk(CODE, RESULT, CODE, RESULT)],
        [(None, "code_execution", "done"), (None, "code_execution", "done")],
    ),
    "a search": (
        [
            chunk({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "args": {}}}),
            chunk({"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1"}}),
        ],
        [("1", "GOOGLE_SEARCH_WEB", "done")],
    ),
    "a search that left no part": (
        [{"candidates": [{"groundingMetadata": {"webSearchQueries": ["x"]}}]}],
        [(None, "grounding", "done")],
    ),
    "a page that was read": (
        [{"candidates": [{"urlContextMetadata": {}}]}],
        [(None, "url_context", "done")],
    ),
    "a search that left both": (
        [chunk(CODE, RESULT), {"candidates": [{"groundingMetadata": {}}]}],
        [(None, "code_execution", "done")],
    ),
}


@pytest.mark.parametrize("form", EXTERNAL)
def test_calls_that_the_service_runs_are_never_outcomes(form: str) -> None:
    """They are external calls, whose end the stream tells."""
    natives, expected = EXTERNAL[form]
    settler = settle(*natives, STOP)
    assert settler.outcomes == []
    assert states(settler) == expected


def test_a_call_on_a_remote_server_is_the_services() -> None:
    """Chunks of such a stream carry a turn token, and the response comes in the stream."""
    asked = chunk(call("tides_get"), reason="STOP", turnToken="v1")
    done = answer("tides_get") | {"turnToken": "v1"}
    for tools in (None, TOOLS):
        settler = settle(asked, done, chunk({"text": "High."}, reason="STOP"), tools=tools)
        assert settler.outcomes == []
        assert states(settler) == [(None, "tides_get", "done")]
        assert [list(part) for part in settler.history()[0]["parts"]] == [
            ["functionCall"],
            ["functionResponse"],
            ["text"],
        ]


def test_a_tool_on_offer_is_the_clients_even_there() -> None:
    """The token says only that the service may run calls."""
    settler = settle(chunk(call(), reason="STOP", turnToken="v1"), tools=TOOLS)
    assert outcomes(settler) == [GOOD]


ANSWERED = {
    "by name": (call(), {}),
    "by id": (call(id="1"), {"id": "1"}),
    "by name, where only the answer has an id": (call(), {"id": "1"}),
}


@pytest.mark.parametrize("form", ANSWERED)
def test_a_call_that_the_stream_answers_does_not_run(form: str) -> None:
    """The SDK's objects lack the token, so it looked like the client's."""
    part, more = ANSWERED[form]
    settler = settle(chunk(part, reason="STOP"), answer(**more), STOP)
    assert kinds(settler) == ["abandoned"]
    assert [one.state for one in settler.external_calls] == ["done"]
    assert settler.history() == []


def test_an_answer_withdraws_only_its_own_call() -> None:
    """Its siblings run; an error in it is a failure."""
    failed = answer("b", response={"error": "down"})
    settler = settle(chunk(call(), call("b"), reason="STOP"), failed, STOP)
    assert kinds(settler) == ["dispatchable", "abandoned"]
    assert states(settler) == [(None, "b", "failed")]
