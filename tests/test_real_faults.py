"""Real clients whose stream fails inside a call, or just after it: nothing of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from finalcall import AsyncTurn, Cause, Turn
from finalcall.testing import CloseAbruptly, Script, cut_after, stall_after
from tests.every_client import EVERY_CLIENT
from tests.real_clients import arun, run, serve
from tests.streams import FIXTURES, Case, cases, outcomes_of

CALLS = {"cohere": ("-003-", 5), "ollama": ("-013-", 1)}
"""By client: a recording with one call, and how many of its events follow what is open of it."""


def recorded(name: str) -> tuple[Case, int]:
    """The recording, and after how many of its events the call is announced and unproved."""
    number, after = CALLS[name]
    (case,) = (case for case in cases(FIXTURES / name) if number in case.path.name)
    return case, len(case.recording.events) - after


@contextmanager
def connected(name: str, script: Script) -> Iterator[Any]:
    client = EVERY_CLIENT[name]
    with serve(script) as server:
        opened = client.connect(server.base_url)
        try:
            yield client.stream(opened)
        finally:
            client.close(opened)


def told(turn: Turn | AsyncTurn) -> tuple[list[str], Cause | None]:
    """What became of the calls, and why the turn ended."""
    assert turn.ending is not None
    return [one[2] for one in outcomes_of(turn)], turn.ending.cause


@pytest.mark.parametrize("name", CALLS)
def test_a_clean_cut(name: str) -> None:
    """The client ends quietly; every call that was announced by then is abandoned."""
    case, inside = recorded(name)
    for events in (*range(1, inside, 6), inside):
        script = case.recording.to_script().with_faults(cut_after(events))
        with connected(name, script) as stream:
            kinds, cause = told(run(stream))
        assert cause is Cause.ENDED_EARLY, events
        assert kinds in ([], ["abandoned"]), events
    assert kinds == ["abandoned"]


@pytest.mark.parametrize("name", CALLS)
def test_a_lost_connection(name: str) -> None:
    """What the transport raises is kept, and nothing runs."""
    case, inside = recorded(name)
    script = case.recording.to_script().with_faults(cut_after(inside, CloseAbruptly()))
    with connected(name, script) as stream:
        assert told(run(stream)) == (["abandoned"], Cause.DISCONNECTED)


@pytest.mark.parametrize("name", CALLS)
def test_silence(name: str) -> None:
    """The turn ends by its own clock while the client still waits."""
    case, inside = recorded(name)
    script = case.recording.to_script().with_faults(stall_after(inside))
    with connected(name, script) as stream:
        assert told(run(stream, idle_timeout=0.3)) == (["abandoned"], Cause.IDLE)


@pytest.mark.parametrize("name", CALLS)
async def test_silence_asynchronously(name: str) -> None:
    """The same in a loop."""
    case, inside = recorded(name)
    client = EVERY_CLIENT[name]
    with serve(case.recording.to_script().with_faults(stall_after(inside))) as server:
        opened = client.connect_async(server.base_url)
        try:
            turn = await arun(client.stream_async(opened), idle_timeout=0.3)
        finally:
            await client.close_async(opened)
    assert told(turn) == (["abandoned"], Cause.IDLE)
