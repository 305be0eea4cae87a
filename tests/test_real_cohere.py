"""The cohere client, of both versions, synchronous and asynchronous, against recordings."""

from __future__ import annotations

from typing import Any

import cohere
import httpx
import pytest

from finalcall import AsyncTurn, Turn
from finalcall.testing import RecordedEvent, Recording
from tests.real_clients import arun, differences, run, serve
from tests.streams import FIXTURES, cases, outcomes_of

CASES = cases(FIXTURES / "cohere")

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
