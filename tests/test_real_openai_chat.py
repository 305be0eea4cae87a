"""The real clients of chat completions, openai's and groq's, against a server of recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import groq
import openai
import pytest

from finalcall import AsyncTurn, Cause, Failed, Turn
from finalcall.testing import FaultServer, Reset, Script, cut_after, stall_after
from tests.streams import FIXTURES, Case, cases, outcomes_of

CASES = cases(FIXTURES / "openai-chat")
NAMED = {case.path.name: case for case in CASES}

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}

Connect = Callable[..., Any]
Open = Callable[[Any], Any]


def raw(client: Any) -> Any:
    return client.chat.completions.create(stream=True, **REQUEST)


def helper(client: Any) -> Any:
    return client.chat.completions.stream(**REQUEST)


SYNC: Mapping[str, tuple[Connect, Open]] = {
    "openai": (openai.OpenAI, raw),
    "openai helper": (openai.OpenAI, helper),
    "groq": (groq.Groq, raw),
}
ASYNC: Mapping[str, tuple[Connect, Open]] = {
    "openai": (openai.AsyncOpenAI, raw),
    "openai helper": (openai.AsyncOpenAI, helper),
    "groq": (groq.AsyncGroq, raw),
}

NO_INDEX = "its snapshot needs an index for every call"
IN_TURN = "its snapshot wants the first call at index 0"
FIRST_NULL = "its snapshot cannot add to arguments that were null"

HELPER_RAISES: Mapping[str, str] = {
    "google-openai-compat-001-magentic-test-openai-chat-model-gemini-acomplete-return-true-output"
    "-type.jsonl": NO_INDEX,
    "mistral-035-magentic-test-mistral-chat-model-complete-parallel-function-call.jsonl": NO_INDEX,
    "mistral-070-semantic-kernel-chat-completions-streaming-function-call-response.jsonl": NO_INDEX,
    "ollama-openai-compat-008-magentic-test-openai-chat-model-acomplete-ollama-return-true-output"
    "-type.jsonl": NO_INDEX,
    "openai-chat-164-axonhub-openai-multiple-choice-tool-2-stream.jsonl": IN_TURN,
    "writer-001-openllmetry-test-writer-async-streaming-chat-multiple-tool-call-requests.jsonl": (
        FIRST_NULL
    ),
    "writer-002-openllmetry-test-writer-async-streaming-chat-tool-call-request-legacy.jsonl": (
        FIRST_NULL
    ),
}
"""The streams of dialects on which the client's helper raises, and why. Nothing of them runs."""


def connect(client: Connect, server: FaultServer) -> Any:
    return client(base_url=server.base_url, api_key="none", max_retries=0)


def serve(script: Script | None = None) -> FaultServer:
    """A server of one script, or of every recording in order."""
    return FaultServer(script or [case.recording.to_script("sse") for case in CASES])


def run(stream: Any, **options: Any) -> Turn:
    with Turn(stream, **{"tools": None, "choices": "all", "raises": False, **options}) as turn:
        for _ in turn:
            pass
    return turn


async def arun(stream: Any, **options: Any) -> AsyncTurn:
    options = {"tools": None, "choices": "all", "raises": False, **options}
    async with AsyncTurn(stream, **options) as turn:
        async for _ in turn:
            pass
    return turn


def differing(way: str, turns: Mapping[str, Turn | AsyncTurn]) -> set[str]:
    """The recordings that a client gives in another way than the wire; none of their calls runs."""
    found = set()
    for name, turn in turns.items():
        if outcomes_of(turn) != NAMED[name].expected():
            assert all(isinstance(one, Failed) for one in turn.outcomes), (way, name)
            assert turn.ending is not None
            assert turn.ending.exception is not None, (way, name)
            found.add(name)
    return found


def expected_differences(way: str) -> set[str]:
    return set(HELPER_RAISES) if way.endswith("helper") else set()


@pytest.mark.parametrize("way", SYNC)
def test_a_client_gives_what_the_wire_gives(way: str) -> None:
    """SDK objects settle as dicts and bytes do, but where the table says why not."""
    client, open_stream = SYNC[way]
    with serve() as server, connect(client, server) as connected:
        turns = {case.path.name: run(open_stream(connected), tools=case.tools()) for case in CASES}
    assert differing(way, turns) == expected_differences(way)


@pytest.mark.parametrize("way", ASYNC)
async def test_an_async_client_gives_what_the_wire_gives(way: str) -> None:
    """The same, asynchronously."""
    client, open_stream = ASYNC[way]
    with serve() as server:
        async with connect(client, server) as connected:
            turns = {
                case.path.name: await arun(open_stream(connected), tools=case.tools())
                for case in CASES
            }
    assert differing(way, turns) == expected_differences(way)


def plain() -> Case:
    """A stream of OpenAI's own, its call in pieces."""
    return NAMED["openai-chat-014-rig-streaming-gpt4o-parallel-agent.jsonl"]


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("events", [1, 3, 6, 10])
def test_a_clean_cut(way: str, events: int) -> None:
    """The clients end quietly; every call that was announced by then is abandoned."""
    client, open_stream = SYNC[way]
    script = plain().recording.to_script("sse").with_faults(cut_after(events))
    with serve(script) as server, connect(client, server) as connected:
        turn = run(open_stream(connected))
    assert {one[2] for one in outcomes_of(turn)} <= {"abandoned"}
    assert turn.ending is not None
    assert turn.ending.cause is Cause.ENDED_EARLY


@pytest.mark.parametrize("way", SYNC)
def test_a_lost_connection(way: str) -> None:
    """What the transport raises is kept, and nothing runs."""
    client, open_stream = SYNC[way]
    script = plain().recording.to_script("sse").with_faults(cut_after(6, Reset()))
    with serve(script) as server, connect(client, server) as connected:
        turn = run(open_stream(connected))
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.DISCONNECTED


@pytest.mark.parametrize("way", SYNC)
def test_silence_inside_a_call(way: str) -> None:
    """The turn ends by its own clock while the client still waits."""
    client, open_stream = SYNC[way]
    script = plain().recording.to_script("sse").with_faults(stall_after(6))
    with serve(script) as server, connect(client, server) as connected:
        turn = run(open_stream(connected), idle_timeout=0.2)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE


@pytest.mark.parametrize("way", ASYNC)
async def test_silence_inside_a_call_asynchronously(way: str) -> None:
    """The same in a loop."""
    client, open_stream = ASYNC[way]
    script = plain().recording.to_script("sse").with_faults(stall_after(6))
    with serve(script) as server:
        async with connect(client, server) as connected:
            turn = await arun(open_stream(connected), idle_timeout=0.2)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE
