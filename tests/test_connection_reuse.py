"""After a proper end the connection goes back to the client, and a server that stays costs little.

A turn here keeps a clock of its own: where what follows the message must be read however slow the
machine is, a slow one; where it must not be read at all, the same one would show it by hanging.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anthropic
import httpx
import openai
import pytest
import trio

import tests.chat_chunks as chat
import tests.responses_events as responses
from finalcall import (
    Anomaly,
    AsyncTurn,
    CallSettled,
    Cause,
    Dispatchable,
    ProviderFault,
    Turn,
)
from finalcall.testing import (
    CloseAbruptly,
    FakeClock,
    FaultServer,
    KeepOpen,
    Pings,
    Script,
    Send,
    Stall,
    Step,
)
from tests.messages import CLEAN, ERROR, call, message_start, to_sse

REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "go"}],
    "stream": True,
}
RESPONSE = responses.numbered([responses.created(), *responses.call(), responses.ending()])


BODIES = {
    "anthropic": to_sse(CLEAN),
    "openai-chat": b"".join(
        f"data: {event if event == chat.DONE else json.dumps(event)}\n\n".encode()
        for event in chat.GOOD
    ),
    "openai-responses": to_sse(RESPONSE),
}


def slow_clock() -> float:
    """Passes in hours what others pass in seconds."""
    return time.monotonic() / 3600


class Service:
    """A service: its real clients, its request and the bytes of one message with a call."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_anthropic = name == "anthropic"
        self.body = BODIES[name]

    def connect(self, url: str) -> Any:
        kind = anthropic.Anthropic if self.is_anthropic else openai.OpenAI
        return kind(base_url=url, api_key="none", max_retries=0)

    def connect_async(self, url: str) -> Any:
        kind = anthropic.AsyncAnthropic if self.is_anthropic else openai.AsyncOpenAI
        return kind(base_url=url, api_key="none", max_retries=0)

    def ask(self, client: Any) -> Any:
        """The request; of an asynchronous client, what it is awaited by."""
        if self.is_anthropic:
            return client.messages.create(**REQUEST)
        if self.name == "openai-chat":
            return client.chat.completions.create(**REQUEST)
        return client.responses.create(model="m", input="go", stream=True)

    def script(self, *after: Step) -> Script:
        return Script((Send(self.body), *after))


SERVICES = {name: Service(name) for name in BODIES}
WITH_MARKERS = [name for name in SERVICES if name != "openai-chat"]
ANTHROPIC = SERVICES["anthropic"]


def two_turns(service: Service, script: Script, **options: Any) -> tuple[int, list[Turn]]:
    """Two turns, one after the other over one client, and how many connections they took."""
    with FaultServer(script) as server, service.connect(server.base_url) as client:
        turns: list[Turn] = []
        for _ in range(2):
            with Turn(service.ask(client), tools=None, **options) as turn:
                assert isinstance(list(turn)[-1], CallSettled)
            turns.append(turn)
        assert [thread.name for thread in threading.enumerate() if "finalcall" in thread.name] == []
        return server.connections, turns


async def two_async_turns(service: Service, script: Script, **options: Any) -> int:
    async with FaultServer(script) as server, service.connect_async(server.base_url) as client:
        for _ in range(2):
            async with AsyncTurn(service.ask(client), tools=None, **options) as turn:
                events = [event async for event in turn]
            assert isinstance(events[-1], CallSettled)
            assert turn.verdict == "dispatch"
        return server.connections


@pytest.mark.parametrize(
    ("name", "pacing"),
    [*itertools.product(WITH_MARKERS, ["auto", "thread"]), ("openai-chat", "auto")],
)
def test_the_next_request_uses_the_same_connection(name: str, pacing: Any) -> None:
    """The end of the body is read, so that the client can keep the connection.

    By the turn where the client shows the message's last event, else before the client sees it.
    """
    service = SERVICES[name]
    options = {"pacing": pacing, "clock": slow_clock}
    connections, turns = two_turns(service, service.script(KeepOpen()), **options)
    assert connections == 1
    for turn in turns:
        assert turn.ending is not None
        assert (turn.ending.clean, turn.ending.marker) == (True, name in WITH_MARKERS)
        assert turn.verdict == "dispatch"


@pytest.mark.parametrize("name", WITH_MARKERS)
async def test_the_next_asynchronous_request_does_so_too(name: str) -> None:
    """The task that reads the message reads the end of the body."""
    service = SERVICES[name]
    script = service.script(KeepOpen())
    assert await two_async_turns(service, script, clock=slow_clock) == 1


def test_it_does_so_under_trio() -> None:
    """The two event loops agree, whatever the server does after the end."""
    reused = functools.partial(two_async_turns, ANTHROPIC, clock=slow_clock)
    assert trio.run(reused, ANTHROPIC.script(KeepOpen())) == 1
    assert trio.run(two_async_turns, ANTHROPIC, ANTHROPIC.script(Stall())) == 2


def test_bytes_of_an_open_response_leave_their_connection_too() -> None:
    """It needs no SDK."""
    with FaultServer(ANTHROPIC.script(KeepOpen())) as server, httpx.Client() as client:
        for _ in range(2):
            with (
                client.stream("POST", server.base_url) as response,
                Turn(response, tools=None, clock=slow_clock) as turn,
            ):
                assert isinstance(list(turn)[-1], CallSettled)
        assert server.connections == 1


AFTERWARDS = {
    "silence": Stall(),
    "keep-alives": Pings(0.01),
    "events": Pings(0.01, to_sse(CLEAN)),
    "cut": CloseAbruptly(),
}


@pytest.mark.parametrize("pacing", ["auto", "thread"])
@pytest.mark.parametrize("after", AFTERWARDS)
@pytest.mark.parametrize("name", SERVICES)
def test_a_server_that_does_not_end_the_body_is_left(name: str, after: str, pacing: Any) -> None:
    """Its connection is closed after a moment, and the message is none the worse."""
    service = SERVICES[name]
    connections, turns = two_turns(service, service.script(AFTERWARDS[after]), pacing=pacing)
    assert connections == 2
    assert [(turn.verdict, turn.error) for turn in turns] == [("dispatch", None)] * 2


@pytest.mark.parametrize("after", AFTERWARDS)
@pytest.mark.parametrize("name", SERVICES)
async def test_a_server_that_does_not_end_the_body_is_left_by_a_task(name: str, after: str) -> None:
    """The wait for it is bounded, and nothing of the caller's is cancelled."""
    service = SERVICES[name]
    assert await two_async_turns(service, service.script(AFTERWARDS[after])) == 2


def test_a_clock_that_is_moved_by_hand_waits_for_nothing_after_the_end() -> None:
    """Nobody would move it meanwhile."""
    connections, _ = two_turns(ANTHROPIC, ANTHROPIC.script(Stall()), clock=FakeClock())
    assert connections == 2


def test_leaving_at_the_last_event_reads_no_further() -> None:
    """Every call was handed out before anything is read after the message."""
    script = ANTHROPIC.script(Stall())
    with FaultServer(script) as server, ANTHROPIC.connect(server.base_url) as client:
        with Turn(ANTHROPIC.ask(client), tools=None, clock=slow_clock) as turn:
            for event in turn:
                if isinstance(event, CallSettled):
                    break
        assert turn.verdict == "dispatch"


async def test_leaving_an_asynchronous_turn_at_the_last_event_reads_no_further() -> None:
    """The same for a task."""
    script = ANTHROPIC.script(Stall())
    async with (
        FaultServer(script) as server,
        ANTHROPIC.connect_async(server.base_url) as client,
        AsyncTurn(ANTHROPIC.ask(client), tools=None, clock=slow_clock) as turn,
    ):
        async for event in turn:
            if isinstance(event, CallSettled):
                break
    assert turn.verdict == "dispatch"


def test_a_message_that_failed_is_not_read_any_further() -> None:
    """After the provider's own error there is nothing to give back."""
    failed = Script((Send(to_sse([message_start(), *call(0), ERROR])), Stall()))
    with (
        FaultServer(failed) as server,
        httpx.Client() as client,
        client.stream("POST", server.base_url) as response,
        Turn(response, tools=None, clock=slow_clock) as turn,
        pytest.raises(ProviderFault),
    ):
        list(turn)
    assert turn.ending is not None
    assert turn.ending.cause is Cause.PROVIDER_ERROR


def test_closing_in_another_thread_ends_the_reading_after_the_end() -> None:
    """Whoever closes the turn waits for no server."""
    settled = threading.Event()
    script = ANTHROPIC.script(Stall())
    with FaultServer(script) as server, ANTHROPIC.connect(server.base_url) as client:
        turn = Turn(ANTHROPIC.ask(client), tools=None, clock=slow_clock)

        def read() -> None:
            for event in turn:
                if isinstance(event, CallSettled):
                    settled.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert settled.wait(30)
        turn.close()
        reader.join(30)
        assert not reader.is_alive()
    assert turn.verdict == "dispatch"


async def test_a_cancellation_ends_the_reading_after_the_end() -> None:
    """It goes on to the caller, and every call stays settled as it was."""
    settled = asyncio.Event()
    script = ANTHROPIC.script(Stall())
    async with FaultServer(script) as server, ANTHROPIC.connect_async(server.base_url) as client:
        turn = AsyncTurn(ANTHROPIC.ask(client), tools=None, clock=slow_clock)

        async def read() -> None:
            async with turn:
                async for event in turn:
                    if isinstance(event, CallSettled):
                        settled.set()

        task = asyncio.create_task(read())
        await settled.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [type(outcome) for outcome in turn.outcomes] == [Dispatchable]


def endless() -> Iterator[Any]:
    """A message, a second one that must not be read, and keep-alives for ever."""
    yield from CLEAN
    yield from [message_start(), *call(0)]
    yield from itertools.repeat({"type": "ping"})


async def endless_async() -> AsyncIterator[Any]:
    for native in endless():
        yield native


def settled(natives: Any, **options: Any) -> Turn:
    with Turn(natives, tools=None, clock=slow_clock, **options) as turn:
        list(turn)
    return turn


async def asettled(natives: Any) -> AsyncTurn:
    async with AsyncTurn(natives, tools=None, clock=slow_clock) as turn:
        async for _ in turn:
            pass
    return turn


SYNCHRONOUS: Sequence[Callable[[], Turn]] = (
    lambda: settled(endless()),
    lambda: settled(list(itertools.islice(endless(), 100))),
)


@pytest.mark.parametrize("run", SYNCHRONOUS)
def test_what_follows_a_message_is_bounded_and_changes_nothing(run: Callable[[], Turn]) -> None:
    """A call that is announced there is named, and never settled."""
    turn = run()
    assert [type(outcome) for outcome in turn.outcomes] == [Dispatchable]
    assert turn.anomalies == [Anomaly("call_after_end")]


@pytest.mark.parametrize("make", [endless_async, lambda: [*CLEAN, message_start(), *call(0)]])
async def test_what_follows_it_for_a_task_is_bounded_too(make: Callable[[], Any]) -> None:
    """Whether it was read before the end was seen or after."""
    turn = await asettled(make())
    assert [type(outcome) for outcome in turn.outcomes] == [Dispatchable]
    assert turn.anomalies == [Anomaly("call_after_end")]


def test_what_fails_after_the_end_is_nobodys_failure() -> None:
    """The message was over before the stream broke."""

    def breaks() -> Iterator[Any]:
        yield from CLEAN
        raise ConnectionResetError

    turn = settled(breaks())
    assert turn.error is None
    assert turn.verdict == "dispatch"
