"""Synchronous streams under an event loop: read in a thread, which ends with its turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from finalcall import AsyncTurn, CallAnnounced, Cause, Idle, Pacing, StreamIdle, asettle
from finalcall.testing import FaultServer, Script, Send, Stall
from tests.loops import LOOPS, run
from tests.messages import CLEAN, TOOLS, call, message_start, to_sse

SHORT = Idle(first=0.2, between=0.2, in_call=0.2, quiet=None)
OPEN_CALL = [message_start(), *call(0, stop=False)]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_synchronous_stream_is_read_in_a_thread(loop: str) -> None:
    """It settles as its asynchronous twin does, silence and exceptions included."""
    release = threading.Event()

    def stalls() -> Iterator[Any]:
        yield from OPEN_CALL
        release.wait(30)

    def raises() -> Iterator[Any]:
        yield message_start()
        raise ConnectionResetError("gone")

    async def main() -> None:
        for stream in (CLEAN, iter(CLEAN), (native for native in CLEAN), to_sse(CLEAN)):
            turn = await asettle(stream, tools=TOOLS)
            assert turn.verdict == "dispatch"
            assert turn.pacing == Pacing("thread", "events")
        with pytest.raises(StreamIdle):
            await asettle(stalls(), tools=TOOLS, idle_timeout=SHORT)
        release.set()
        with pytest.raises(ConnectionResetError, match="gone"):
            await asettle(raises(), tools=TOOLS)
        for wrong, advice in (({"type": "ping"}, "wrap it in"), (object(), "stream=True")):
            with pytest.raises(TypeError, match=advice):
                await asettle(wrong, tools=None)

    run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("helper", [False, True])
def test_a_real_synchronous_stream_that_stalls_is_woken(loop: str, helper: bool) -> None:
    """The thread that reads a reachable connection ends with the turn, and the stream is closed."""

    async def main() -> None:
        stream: Any = (
            client.messages.stream(**request)
            if helper
            else client.messages.create(stream=True, **request)
        )
        idle = Idle(first=None, between=0.3, in_call=0.3, quiet=None)
        turn = await asettle(stream, tools=TOOLS, idle_timeout=idle, raises=False)
        assert turn.ending is not None
        assert turn.ending.cause is Cause.IDLE

    request: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": []}
    steps = [Send(to_sse([native])) for native in OPEN_CALL]
    with (
        FaultServer(Script((*steps, Stall()))) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        run(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_thread_is_told_to_stop_wherever_it_is(loop: str) -> None:
    """While it opens the stream, and while it waits for its events to be taken."""
    opening, release = threading.Event(), threading.Event()
    closed: list[str] = []

    class Manager:
        def __enter__(self) -> Iterator[Any]:
            opening.set()
            release.wait(30)
            return iter(CLEAN)

        def __exit__(self, *error: object) -> None:
            closed.append("manager")

    def many() -> Iterator[Any]:
        try:
            yield from [*CLEAN[:5], *[{"type": "ping"}] * 1000]
        finally:
            closed.append("generator")

    async def main() -> None:
        with pytest.raises(StreamIdle):
            await asettle(Manager(), tools=None, idle_timeout=SHORT)
        assert opening.is_set()
        release.set()
        async with AsyncTurn(many(), tools=TOOLS) as turn:
            async for event in turn:
                if isinstance(event, CallAnnounced):
                    break

    run(loop, main)
    assert sorted(closed) == ["generator", "manager"]
