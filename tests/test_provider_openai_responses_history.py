"""OpenAI Responses: what the next request repeats, after every kind of turn."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from typing_extensions import get_type_hints

from finalcall import Dispatchable, Settler, ToolResult
from finalcall.providers.base import Answered, Context
from finalcall.providers.openai_responses import OpenAIResponsesNormaliser
from finalcall.providers.openai_responses.history import REPEATED_FIELDS
from tests.history_rules.openai_responses import check
from tests.responses_events import (
    added,
    call,
    created,
    custom,
    delta,
    done,
    ending,
    incomplete,
    reasoning,
    words,
)
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "openai-responses")
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
TOOLS = [
    {"type": "custom", "name": "run_sql"},
    {"type": "function", "name": "get_tide", "parameters": {"type": "object"}},
]
CONTAINER = {"type": "container_reference", "container_id": "cntr_1"}


def settle(*events: Any, tools: Any = None) -> Settler:
    settler = Settler("openai-responses", tools=tools)
    for event in copy.deepcopy(events):
        settler.feed(event)
    settler.end()
    return settler


def history(settler: Settler, result: Any = "ok") -> list[dict[str, Any]]:
    """The turn's history with one result for each dispatchable call, checked."""
    results = {one: result for one in settler.outcomes if isinstance(one, Dispatchable)}
    items = settler.history(results)
    assert check(items) == []
    for item in items:
        ITEM.validate_python(item)
    return items


def types(items: Sequence[dict[str, Any]]) -> list[str]:
    return [item["type"] for item in items]


def shell(index: int, **more: Any) -> dict[str, Any]:
    content = {"id": "sh_1", "call_id": "call_s", "action": {"commands": ["ls"]}}
    return done(index, "shell_call", **content | {"status": "completed"} | more)


HISTORIES: dict[str, tuple[Sequence[Any], list[str]]] = {
    "clean": (
        [created(), *reasoning(0), *words(1, "On it."), *call(2), ending()],
        ["reasoning", "message", "function_call", "function_call_output"],
    ),
    "two calls": (
        [created(), *reasoning(0), *call(1, "a"), *call(2, "b"), ending()],
        ["reasoning", *["function_call"] * 2, *["function_call_output"] * 2],
    ),
    "reasoning that the service keeps": (
        [created(), *reasoning(0, None), *call(1), ending()],
        ["reasoning", "function_call", "function_call_output"],
    ),
    "reasoning that nobody keeps": (
        [created(store=False), *reasoning(0, None), *words(1, "On it."), *call(2), ending()],
        ["message", "function_call", "function_call_output"],
    ),
    "a failed call beside a good one": (
        [created(), *reasoning(0), *call(1, "a", "{"), *call(2, "b"), ending()],
        ["reasoning", "function_call", "function_call_output"],
    ),
    "a failed call alone with its reasoning": (
        [created(), *words(0, "On it."), *reasoning(1), *call(2, "a", "{"), ending()],
        ["message"],
    ),
    "an invalid call": (
        [created(), *call(0, "a", "[]"), *call(1, "b"), ending()],
        [*["function_call"] * 2, *["function_call_output"] * 2],
    ),
    "truncated": (
        [created(), *reasoning(0), *words(1, "On it."), *call(2), incomplete("max_output_tokens")],
        ["reasoning", "message"],
    ),
    "steered": (
        [created(), *words(0, "On it."), *call(1), incomplete("steered")],
        ["message"],
    ),
    "failed": ([created(), *words(0, "On it."), *call(1), ending("failed")], ["message"]),
    "cut in its text": (
        [created(), *reasoning(0), *words(1, "On", finished=False)],
        ["message"],
    ),
    "cut behind its text": ([created(), *reasoning(0, None), *words(1, "On it.")], ["message"]),
    "cut in its reasoning": ([created(), *reasoning(0)[:2]], []),
    "cut before any text": ([created(), *words(0, "x", finished=False)[:1]], []),
    "empty": ([], []),
    "a message without parts": ([created(), done(0, "message", id="m"), ending()], []),
    "a message without an id": (
        [created(), *words(0, "On it.", id=None, phase="commentary"), ending()],
        ["message"],
    ),
    "one id for all": (
        [
            created(),
            *words(0, "On it.", id="__fake_id__"),
            *call(1, "a", id="__fake_id__"),
            *call(2, "b", id="__fake_id__"),
            ending(),
        ],
        ["message", *["function_call"] * 2, *["function_call_output"] * 2],
    ),
    "reasoning without an id": (
        [created(), *reasoning(0, id=None), *call(1), ending()],
        ["function_call", "function_call_output"],
    ),
    "a call without an id": (
        [created(), added(0, "function_call", name="f"), done(0, "function_call"), ending()],
        [],
    ),
    "a call that has no end of its own": (
        [created(), *call()[:-1], ending()],
        ["function_call", "function_call_output"],
    ),
    "a refusal": (
        [
            created(),
            done(
                0,
                "message",
                id="m",
                content=[{"type": "refusal", "refusal": "No."}, {"type": "output_text"}],
            ),
            ending(),
        ],
        ["message"],
    ),
    "calls of the provider's": (
        [
            created(),
            *reasoning(0),
            done(
                1,
                "web_search_call",
                id="ws_1",
                action={"type": "search", "query": "x"},
                status="completed",
            ),
            done(
                2,
                "code_interpreter_call",
                id="ci_1",
                code=None,
                outputs=None,
                container_id="c",
                status="completed",
            ),
            added(3, "mcp_call", id="mcp_1"),
            done(4, "item_of_next_year", id="n_1", whatever=1),
            done(5, "item_of_next_year"),
            *words(6, "Done."),
            ending(),
        ],
        [
            "reasoning",
            "web_search_call",
            "code_interpreter_call",
            "item_of_next_year",
            "message",
        ],
    ),
    "a custom call of the provider's": (
        [created(), *custom(name="x_keyword_search"), *words(1, "Done."), ending()],
        ["message"],
    ),
    "a shell call in a container": (
        [
            created(),
            shell(0, environment=CONTAINER),
            done(1, "shell_call_output", id="sho_1", call_id="call_s", output=[]),
            ending(),
        ],
        ["shell_call", "shell_call_output"],
    ),
    "a shell call in a container, cut before its output": (
        [created(), shell(0, environment=CONTAINER)],
        [],
    ),
    "an output whose call is gone": (
        [
            created(),
            *call(0, "a"),
            done(1, "function_call_output", id="fco_1", call_id="a", output="x"),
            ending(),
        ],
        [],
    ),
    "a program and its call": (
        [
            created(),
            done(0, "program", id="p_1", call_id="p", code="x", fingerprint="f"),
            *call(1, caller={"type": "program", "caller_id": "p"}),
            ending(),
        ],
        ["program", "function_call", "function_call_output"],
    ),
    "a program whose call failed": (
        [
            created(),
            done(0, "program", id="p_1", call_id="p", code="x", fingerprint="f"),
            *call(1, arguments="{", caller={"type": "program", "caller_id": "p"}),
            ending(),
        ],
        [],
    ),
    "a program that ran": (
        [
            created(),
            done(0, "program", id="p_1", call_id="p", code="x", fingerprint="f"),
            done(1, "program_output", id="po_1", call_id="p", result="1", status="completed"),
            ending(),
        ],
        ["program", "program_output"],
    ),
}


def checked(events: Sequence[Any], tools: Any) -> list[dict[str, Any]]:
    settler = settle(*events, tools=tools)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    items = settler.history(results)
    assert check(items) == []
    for item in items:
        if item["type"] != "item_of_next_year":
            ITEM.validate_python(item)
    return items


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    events, expected = HISTORIES[name]
    assert types(checked(events, TOOLS)) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every twentieth of its length, or at every event if it is short."""
    natives = case.recording.to_dicts()
    for length in (*range(0, len(natives), max(1, len(natives) // 20)), len(natives)):
        history(settle_natives(natives[:length]))
    whole = settle_natives(natives)
    if whole.stop_reason is not None and whole.stop_reason.raw == "completed":
        assert len(history(whole)) >= len(whole.outcomes) * 2


def test_arguments_go_back_as_they_came() -> None:
    """Byte for byte, blank ones as an empty object, and a namespace with its name."""
    text = '{ "port":"S\\u00e8te" }'
    settler = settle(
        created(), *call(0, "a", text, namespace="tides"), *call(1, "b", "  "), ending()
    )
    items = history(settler)
    assert [item["arguments"] for item in items[:2]] == [text, "{}"]
    assert items[0]["namespace"] == "tides"


def test_what_only_replies_have_stays_out() -> None:
    """Fields that the helper or the service adds are refused in a request."""
    settler = settle(
        created(),
        *reasoning(0, status="completed"),
        *words(1, "On it.", created_by="x"),
        *call(2, parsed_arguments={"a": 1}, created_by="x", sequence_number=-1),
        ending(),
    )
    items = history(settler)
    assert "status" not in items[0]
    assert "created_by" not in items[1]
    assert set(items[2]) == {"type", "id", "call_id", "name", "arguments", "status"}


def test_every_field_of_the_sdk_is_repeated() -> None:
    """A field that is new in the SDK's parameters fails here; a reasoning's status is refused."""
    for param in get_args(ResponseInputItemParam):
        hints = get_type_hints(param)
        for kind in get_args(hints["type"]):
            refused = {"status"} if kind == "reasoning" else set[str]()
            assert set(hints) - refused <= REPEATED_FIELDS.get(kind, set(hints)), kind


# The service keeps the conversation


def stored(*events: Any, results: Any = "ok") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The history of a conversation that the service keeps, and the request's fields."""
    settler = settle(*events)
    normaliser = OpenAIResponsesNormaliser(Context())
    calls = {}
    for event in copy.deepcopy(events):
        for found in normaliser.feed(event):
            if type(found).__name__ == "CallAnnounced":
                calls[found.call.key] = found.call  # type: ignore[union-attr]
    answers = {
        one.key: Answered(calls[one.key], one.name, "{}", {}, ToolResult(results))
        for one in settler.outcomes
        if isinstance(one, Dispatchable)
    }
    items = normaliser.history(answers, paused=False, stored=True)
    return items, normaliser.request_fields


def test_a_stored_response_is_continued_by_its_id() -> None:
    """Only the answers are sent: an item twice would be refused."""
    items, fields = stored(created(), *reasoning(0), *words(1, "x"), *call(2), ending())
    assert check(items, stored=True) == []
    assert types(items) == ["function_call_output"]
    assert fields == {"previous_response_id": "resp_1"}


@pytest.mark.parametrize(
    "events",
    [
        [*call(0, "a"), *call(1, "b", "{"), ending()],
        [*call(0, "a"), incomplete("max_output_tokens")],
        [*call(0, "a")],
        [*call(0, "a"), ending("failed")],
    ],
    ids=["a failed call", "truncated", "cut", "failed"],
)
def test_a_response_that_cannot_be_continued(events: list[Any]) -> None:
    """An unanswered call would be refused, so the last good response is continued instead."""
    start = created(previous_response_id="resp_0")
    items, fields = stored(start, *words(5, "On it."), *events)
    assert check(items) == []
    assert types(items)[0] == "message"
    assert fields == {"previous_response_id": "resp_0"}
    assert stored(created(), *events)[1] == {}


def test_a_response_that_was_not_stored_cannot_be_continued() -> None:
    """The service says so at its start."""
    items, fields = stored(created(store=False), *call(), ending())
    assert types(items) == ["function_call", "function_call_output"]
    assert fields == {}


BROKEN: dict[str, list[dict[str, Any]]] = {
    "the same id twice": [{"type": "web_search_call", "id": "a"}] * 2,
    "an answer without its call": [{"type": "function_call_output", "call_id": "a", "output": "x"}],
    "a call without its answer": [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    ],
    "a field that only replies have": [
        {"type": "message", "role": "assistant", "content": [{"text": "x", "parsed": None}]}
    ],
    "an empty call id": [{"type": "function_call_output", "call_id": "", "output": "x"}],
    "arguments that are no text": [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": {}}
    ],
    "a message without content": [{"type": "message", "role": "assistant", "content": []}],
    "reasoning with a status": [{"type": "reasoning", "id": "a", "status": "completed"}],
    "reasoning without the item that followed it": [{"type": "reasoning", "id": "a"}],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check(BROKEN[rule])


def test_the_checker_knows_what_a_service_keeps() -> None:
    """With a previous response, its items may not come again."""
    message = {"type": "message", "role": "assistant", "content": "x"}
    assert check([message], stored=True) == ["an item that the service has"]


def test_a_call_whose_pieces_came_without_an_end_keeps_its_own_name() -> None:
    """What is repeated of it is made of what the stream said."""
    items = history(settle(created(), *call()[:-1], ending()))
    assert items[0] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "get_tide",
        "arguments": '{"port": "Brest"}',
    }
    unknown = settle(created(), delta(0, "fc_1", "{}"), ending())
    assert history(unknown) == []
