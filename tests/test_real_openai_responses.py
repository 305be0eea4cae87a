"""OpenAI's real client against a loopback server: objects settle as dicts and bytes do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import openai
import pytest

from finalcall import AsyncTurn, Cause, Dispatchable, Failed, Turn
from finalcall.testing import (
    Fault,
    FaultServer,
    RecordedEvent,
    Recording,
    cut_after,
    reset_after,
    stall_after,
)
from tests.history_rules.openai_responses import check
from tests.responses_events import call, created, custom, done, ending, numbered, reasoning, words
from tests.streams import FIXTURES, Case, cases, outcomes_of, settle_natives

CASES = cases(FIXTURES / "openai-responses")
REQUEST: dict[str, Any] = {"model": "m", "input": "go"}

WAYS: Mapping[str, Callable[[Any], Any]] = {
    "raw": lambda client: client.responses.create(stream=True, **REQUEST),
    "helper": lambda client: client.responses.stream(**REQUEST),
    "resumed": lambda client: client.responses.retrieve("resp_1", stream=True, starting_after=0),
}
"""How the client opens a stream, with and without waiting."""

HELPER_RAISES: Mapping[str, str] = {
    "llamacpp-084-fast-agent-tool-use-weather-stream": "output index",
    "openai-085-fast-agent-tool-use-weather-stream": "identity",
}
"""Recordings that the helper's snapshot cannot take, with a word of what it says: an index that
all items share, an id that changes. The raw stream gives all of them."""


def run(
    script: Any, way: str, *, waits: bool, tools: Any = None, idle: float | None = 30.0
) -> Turn | AsyncTurn:
    """Iterate a turn over the client's stream to its end."""
    options: dict[str, Any] = {"tools": tools, "raises": False, "idle_timeout": idle}

    async def run_async(base_url: str) -> AsyncTurn:
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            async with AsyncTurn(WAYS[way](client), **options) as turn:
                async for _ in turn:
                    pass
            return turn

    with FaultServer(script) as server:
        if waits:
            return asyncio.run(run_async(server.base_url))
        with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            with Turn(WAYS[way](client), **options) as turn:
                for _ in turn:
                    pass
            return turn


def script_of(events: Sequence[dict[str, Any]], *faults: Fault) -> Any:
    recorded = tuple(RecordedEvent(event["type"], event) for event in numbered(events))
    header = {"provider": "openai-responses", "dialect": "openai-responses", "framing": "sse"}
    return Recording(header, recorded).to_script("sse").with_faults(*faults)


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_objects_settle_as_dicts_do(case: Case, waits: bool) -> None:
    """Every recording, raw and through the helper: outcomes, text and external calls agree."""
    recording, tools = case.recording, case.tools()
    dicts = settle_natives(recording.to_dicts(), tools)
    for way in ("raw", "helper"):
        turn = run(recording.to_script("sse"), way, waits=waits, tools=tools)
        assert turn.ending is not None
        if way == "helper" and case.path.stem in HELPER_RAISES:
            assert HELPER_RAISES[case.path.stem] in str(turn.ending.exception)
            assert all(isinstance(outcome, Failed) for outcome in turn.outcomes)
            continue
        assert turn.ending.exception is None
        assert outcomes_of(turn) == outcomes_of(dicts)
        assert turn.text == dicts.text
        assert turn.usage == dicts.usage
        assert [(one.call_id, one.name, one.state) for one in turn.external_calls] == [
            (one.call_id, one.name, one.state) for one in dicts.external_calls
        ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
def test_the_history_of_objects_is_that_of_dicts(way: str, waits: bool) -> None:
    """What the helper adds to its objects is not sent back."""
    events = [
        created(),
        *reasoning(0),
        *words(1, "On it."),
        *call(2),
        *custom(3, "call_2"),
        ending(),
    ]
    tools = [
        {"type": "custom", "name": "run_sql"},
        {"type": "function", "name": "get_tide", "parameters": {"type": "object"}},
    ]
    turn = run(script_of(events), way, waits=waits, tools=tools)
    assert turn.verdict == "dispatch"
    results = {one: "ok" for one in turn.outcomes if isinstance(one, Dispatchable)}
    dicts = settle_natives(numbered(events), tools)
    items = turn.history(results)
    assert check(items) == []
    assert items == dicts.history({one.key: "ok" for one in dicts.outcomes})


BUILT_IN = [
    ("apply_patch_call", {"operation": {"type": "delete_file", "path": "a"}}),
    ("computer_call", {"action": {"type": "wait"}, "pending_safety_checks": []}),
    ("local_shell_call", {"action": {"type": "exec", "command": ["ls"], "env": {}}}),
    ("shell_call", {"action": {"commands": ["ls"]}}),
    ("tool_search_call", {"arguments": {"goal": "x"}, "execution": "client"}),
    ("call_of_next_year_call", {"whatever": 1}),
]


@pytest.mark.parametrize(("kind", "content"), BUILT_IN)
def test_built_in_calls_come_through_the_client(kind: str, content: dict[str, Any]) -> None:
    """The client's models of them read as dicts do, those of unknown types too."""
    events = [
        created(),
        done(0, kind, id="i", call_id="c", status="completed", **content),
        ending(),
    ]
    turn = run(script_of(events), "raw", waits=False)
    dicts = settle_natives(events)
    assert outcomes_of(turn) == outcomes_of(dicts)
    results = {one.key: "ok" for one in dicts.outcomes}
    assert turn.history(results) == dicts.history(results)


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("fault", "causes"),
    [
        (cut_after(4), {Cause.ENDED_EARLY}),
        (reset_after(4), {Cause.DISCONNECTED}),
        (stall_after(4), {Cause.IDLE}),
    ],
    ids=["cut", "reset", "stalled"],
)
@pytest.mark.parametrize("way", ["raw", "helper"])
def test_a_stream_that_dies_inside_a_call(
    fault: Fault, causes: set[Cause], way: str, waits: bool
) -> None:
    """Ended, lost or silent: the call is abandoned, and the turn says why."""
    script = script_of([created(), *call(), ending()], fault)
    turn = run(script, way, waits=waits, idle=0.3)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.reason == "abandoned"
    assert {outcome.cause} == causes
    assert turn.ending is not None
    assert turn.ending.cause in causes


@pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "x", "param": None},
        {"type": "error", "error": {"type": "server_error", "code": None, "message": "x"}},
    ],
    ids=["flat", "nested"],
)
def test_an_error_in_the_stream(error: dict[str, Any], waits: bool) -> None:
    """The client yields a flat one and raises a nested one: either way no call runs."""
    script = script_of([created(), *call(), error, ending("failed")])
    turn = run(script, "raw", waits=waits)
    assert [settled[2] for settled in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.PROVIDER_ERROR
    assert isinstance(turn.ending.exception, openai.APIError) is ("error" in error)
