"""Over TLS a blocked read is woken at its limit too, and an ended message leaves its connection."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import anthropic
import httpx
import httpx2
import pytest
import trustme

from finalcall import AsyncTurn, CallSettled, Cause, Failed, Idle, StreamIdle, Turn
from finalcall.testing import FaultServer, KeepOpen, Script, Send, Stall
from tests.messages import CLEAN, call, message_start, to_sse

REQUEST: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "go"}],
    "stream": True,
}
SILENT = Script((Send(to_sse([message_start(), *call(0, stop=False)])), Stall()))
LIMITS = Idle(in_call=0.2)


class Contexts(NamedTuple):
    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="module")
def tls() -> Contexts:
    """Both sides of a certificate that is made for this run."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return Contexts(server, client)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a thread behind."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def socket_of(response: Any) -> Any:
    """The open socket of a response, to see later whether it was closed."""
    found = response.extensions["network_stream"].get_extra_info("socket")
    assert found.fileno() > 0
    return found


def expect_silence(turn: Turn | AsyncTurn, raised: StreamIdle) -> None:
    assert raised.cause is Cause.IDLE
    assert [type(outcome) for outcome in turn.outcomes] == [Failed]
    assert turn.verdict == "fail"


@pytest.mark.parametrize("pacing", ["auto", "thread"])
def test_a_read_of_an_open_response_is_woken(tls: Contexts, pacing: Any) -> None:
    """The caller's own thread is, and one that reads for it."""
    with (
        FaultServer(SILENT, tls=tls.server) as server,
        httpx.Client(verify=tls.client) as client,
        client.stream("POST", server.base_url) as response,
        Turn(response, tools=None, pacing=pacing, idle_timeout=LIMITS) as turn,
    ):
        connection = socket_of(response)
        with pytest.raises(StreamIdle) as raised:
            list(turn)
        assert connection.fileno() == -1
    expect_silence(turn, raised.value)
    assert turn.pacing is not None
    assert turn.pacing.ended_by == ("transport" if pacing == "auto" else "thread")


@pytest.mark.parametrize("pacing", ["auto", "thread"])
def test_a_read_of_a_client_is_woken(tls: Contexts, pacing: Any) -> None:
    """A real client sees its connection end, and the turn says why."""
    with (
        FaultServer(SILENT, tls=tls.server) as server,
        httpx2.Client(verify=tls.client) as http,
        anthropic.Anthropic(base_url=server.base_url, api_key="none", http_client=http) as client,
    ):
        stream = client.messages.create(**REQUEST)
        connection = socket_of(stream.response)
        with (
            Turn(stream, tools=None, pacing=pacing, idle_timeout=LIMITS) as turn,
            pytest.raises(StreamIdle) as raised,
        ):
            list(turn)
        assert connection.fileno() == -1
    expect_silence(turn, raised.value)


async def test_a_task_that_reads_an_open_response_is_woken(tls: Contexts) -> None:
    """Its task is cancelled, the caller's is not."""
    async with (
        FaultServer(SILENT, tls=tls.server) as server,
        httpx.AsyncClient(verify=tls.client) as client,
        client.stream("POST", server.base_url) as response,
        AsyncTurn(response, tools=None, idle_timeout=LIMITS) as turn,
    ):
        connection = socket_of(response)
        with pytest.raises(StreamIdle) as raised:
            [event async for event in turn]
        assert connection.fileno() == -1
    expect_silence(turn, raised.value)


async def test_a_task_that_reads_a_client_is_woken(tls: Contexts) -> None:
    """The same with a real client."""
    async with (
        FaultServer(SILENT, tls=tls.server) as server,
        httpx2.AsyncClient(verify=tls.client) as http,
        anthropic.AsyncAnthropic(
            base_url=server.base_url, api_key="none", http_client=http
        ) as client,
    ):
        stream = await client.messages.create(**REQUEST)
        connection = socket_of(stream.response)
        async with AsyncTurn(stream, tools=None, idle_timeout=LIMITS) as turn:
            with pytest.raises(StreamIdle) as raised:
                [event async for event in turn]
        assert connection.fileno() == -1
    expect_silence(turn, raised.value)


def test_the_next_request_needs_no_new_handshake(tls: Contexts) -> None:
    """After a proper end the client keeps the connection, TLS and all."""
    script = Script((Send(to_sse(CLEAN)), KeepOpen()))
    with (
        FaultServer(script, tls=tls.server) as server,
        httpx2.Client(verify=tls.client) as http,
        anthropic.Anthropic(base_url=server.base_url, api_key="none", http_client=http) as client,
    ):
        for _ in range(2):
            stream = client.messages.create(**REQUEST)
            # A clock that hardly moves, so that a slow machine has the time to read the end.
            with Turn(stream, tools=None, clock=lambda: time.monotonic() / 3600) as turn:
                assert isinstance(list(turn)[-1], CallSettled)
        assert server.connections == 1
