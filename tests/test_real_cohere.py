"""The cohere client, of both versions, synchronous and asynchronous, against recordings."""

from __future__ import annotations

from typing import Any

import cohere
import httpx
import pytest

from finalcall import AsyncTurn, Cause, Turn
from finalcall.testing import CloseAbruptly, RecordedEvent, Recording, cut_after, stall_after
from tests.real_clients import arun, differences, run, serve
from tests.streams import FIXTURES, cases, outcomes_of

CASES = cases(FIXTURES / "cohere")
CALL = next(case for case in CASES if "-003-" in case.path.name)

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


def chat(reply: Any, **options: Any) -> Turn:
    """A turn over the stream of one request of version 2, to its end. There is no helper."""
    with serve(reply) as server, httpx.Client() as http:
        client = cohere.ClientV2("none", base_url=server.base_url, httpx_client=http)
        return run(client.chat_stream(**REQUEST), **options)


async def achat(reply: Any, **options: Any) -> AsyncTurn:
    """The same with the asynchronous client."""
    with serve(reply) as server:
        async with httpx.AsyncClient() as http:
            client = cohere.AsyncClientV2("none", base_url=server.base_url, httpx_client=http)
            return await arun(client.chat_stream(**REQUEST), **options)


def test_the_client_gives_what_the_wire_gives() -> None:
    """SDK objects settle as dicts and bytes do: nothing differs."""
    turns = {case.path.name: chat(case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES) == {}
    assert {turn.provider for turn in turns.values()} == {"cohere"}


async def test_the_asynchronous_client_gives_what_the_wire_gives() -> None:
    """The same, asynchronously."""
    turns = {case.path.name: await achat(case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES) == {}


SEARCH = {"name": "search", "parameters": {"q": "x"}}
V1 = Recording(
    {"dialect": "cohere"},
    tuple(
        RecordedEvent(None, event)
        for event in (
            {"event_type": "stream-start", "generation_id": "g", "is_finished": False},
            {
                "event_type": "tool-calls-chunk",
                "tool_call_delta": {"name": "search", "index": 0},
                "is_finished": False,
            },
            {
                "event_type": "tool-calls-chunk",
                "tool_call_delta": {"index": 0, "parameters": '{"q": "x"}'},
                "is_finished": False,
            },
            {"event_type": "tool-calls-generation", "tool_calls": [SEARCH], "is_finished": False},
            {
                "event_type": "stream-end",
                "finish_reason": "COMPLETE",
                "response": {"text": "", "generation_id": "g", "tool_calls": [SEARCH]},
                "is_finished": True,
            },
        )
    ),
)


@pytest.mark.parametrize("framing", ["ndjson", "sse"])
def test_version_1_settles_alike_in_every_form(framing: Any) -> None:
    """The old client's objects, dicts and bytes."""
    with serve(V1.to_script("ndjson")) as server, httpx.Client() as http:
        client = cohere.Client("none", base_url=server.base_url, httpx_client=http)
        turn = run(client.chat_stream(message="go", model="m"))
    assert outcomes_of(turn) == [(None, "search", "dispatchable", {"q": "x"})]
    assert outcomes_of(run(V1.to_dicts())) == outcomes_of(turn)
    assert outcomes_of(run([V1.to_bytes(framing)])) == outcomes_of(turn)


@pytest.mark.parametrize("events", range(1, len(CALL.recording.events), 6))
def test_a_clean_cut(events: int) -> None:
    """The client ends quietly; every call that was announced by then is abandoned."""
    turn = chat(CALL.recording.to_script().with_faults(cut_after(events)))
    assert {one[2] for one in outcomes_of(turn)} <= {"abandoned"}
    assert turn.ending is not None
    assert turn.ending.cause is Cause.ENDED_EARLY


def test_a_lost_connection() -> None:
    """What the transport raises is kept, and nothing runs."""
    lost = cut_after(len(CALL.recording.events) - 5, CloseAbruptly())
    turn = chat(CALL.recording.to_script().with_faults(lost))
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.DISCONNECTED


STALLED = CALL.recording.to_script().with_faults(stall_after(len(CALL.recording.events) - 5))


def test_silence_inside_a_call() -> None:
    """The turn ends by its own clock while the client still waits."""
    turn = chat(STALLED, idle_timeout=0.3)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE


async def test_silence_inside_a_call_asynchronously() -> None:
    """The same in a loop."""
    turn = await achat(STALLED, idle_timeout=0.3)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE
