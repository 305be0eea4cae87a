"""The ollama client, synchronous and asynchronous, against recordings."""

from __future__ import annotations

from typing import Any

import ollama
import pytest

from finalcall import AsyncTurn, Turn
from finalcall.testing import RecordedEvent, Recording
from tests.real_clients import arun, differences, run, serve
from tests.streams import FIXTURES, cases, outcomes_of

CASES = cases(FIXTURES / "ollama")
CALL = next(case for case in CASES if "-013-" in case.path.name)

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}

DIFFERENCE = "the client's models have no field for a call's id, so every id is None"


def chat(reply: Any, **options: Any) -> Turn:
    """A turn over the stream of one request, to its end."""
    with serve(reply) as server, ollama.Client(server.base_url) as client:
        return run(client.chat(stream=True, **REQUEST), **options)


async def achat(reply: Any, **options: Any) -> AsyncTurn:
    """The same, asynchronously."""
    with serve(reply) as server:
        async with ollama.AsyncClient(server.base_url) as client:
            return await arun(client.chat(stream=True, **REQUEST), **options)


def test_the_client_gives_what_the_wire_gives_but_for_the_ids() -> None:
    """See DIFFERENCE; everything else is alike."""
    turns = {case.path.name: chat(case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES, ids=False) == {}
    outcomes = [one for turn in turns.values() for one in outcomes_of(turn)]
    assert outcomes
    assert {one[0] for one in outcomes} == {None}, DIFFERENCE
    assert {turn.provider for turn in turns.values()} == {"ollama"}


async def test_the_asynchronous_client_gives_what_the_wire_gives_but_for_the_ids() -> None:
    """The same, asynchronously."""
    turns = {case.path.name: await achat(case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES, ids=False) == {}


@pytest.mark.parametrize("arguments", ['{"a": 1}', None])
def test_where_the_client_raises_nothing_runs(arguments: Any) -> None:
    """Its models want an object, where the wire's text could be read."""
    call = {"function": {"name": "f", "arguments": arguments}}
    line = {"model": "m", "message": {"role": "assistant", "tool_calls": [call]}, "done": False}
    turn = chat(Recording({"dialect": "ollama"}, (RecordedEvent(None, line),)))
    assert turn.outcomes == []
    assert turn.ending is not None
    assert turn.ending.exception is not None


def test_an_error_line() -> None:
    """The client raises what the dicts and bytes report: the calls settle alike."""
    failed = (*CALL.recording.events[:-1], RecordedEvent(None, {"error": "S3NT1N3L"}))
    recording = Recording(CALL.recording.header, failed)
    turn = chat(recording)
    assert turn.ending is not None
    assert isinstance(turn.ending.exception, ollama.ResponseError)
    kinds = [[one[2] for one in outcomes_of(turn)]]
    kinds += [
        [one[2] for one in outcomes_of(run(form))]
        for form in (recording.to_dicts(), [recording.to_bytes()])
    ]
    assert kinds == [["abandoned"]] * 3
