"""What a turn does to a stream's connection: it bounds its reads, wakes them, and lets go of it."""

from __future__ import annotations

import math
import socket
import time
from types import SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest

from finalcall.sources.connection import connection_of
from finalcall.testing import FaultServer, Pause, Script, Send

LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


class Network:
    """A network stream whose reads say what time they were given."""

    def __init__(self, plain: object) -> None:
        self.plain = plain

    def get_extra_info(self, info: str) -> object:
        assert info == "socket"
        return self.plain

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return f"{max_bytes} {timeout}".encode()


def response(version: bytes, network: object, **more: Any) -> Any:
    facts = {"http_version": version, "network_stream": network}
    return SimpleNamespace(extensions=facts, **more)


def test_only_an_http_1_connection_that_can_be_reached_is_touched() -> None:
    """An HTTP/2 connection is shared; one that cannot be reached is left alone."""
    near, far = socket.socketpair()
    with near, far:
        assert connection_of(response(b"HTTP/2", Network(near))) is None
        assert connection_of(response(b"HTTP/1.1", Network(None))) is None
        assert connection_of(response(b"HTTP/1.1", None)) is None
        assert connection_of(response(b"HTTP/1.1", SimpleNamespace(read=None))) is None
        assert connection_of(SimpleNamespace(extensions={})) is None
        assert connection_of(object()) is None
        connection = connection_of(response(b"HTTP/1.1", Network(near)))
        assert connection is not None
        connection.shut_down()
        assert far.recv(1) == b""
    connection.shut_down()  # it is gone by now, which is as good


def test_a_connection_that_was_given_back_is_not_shut_down() -> None:
    """Another request may be using it."""
    near, far = socket.socketpair()
    with near, far:
        connection = connection_of(response(b"HTTP/1.1", Network(near), is_closed=True))
        assert connection is not None
        connection.shut_down()
        near.send(b"still open")
        assert far.recv(100) == b"still open"


def test_a_read_lasts_no_longer_than_its_turn_and_its_client_allow() -> None:
    """The shorter of both; no time at all would mean something else, so there is always some."""
    left = math.inf
    near, far = socket.socketpair()
    with near, far:
        network = Network(near)
        connection = connection_of(response(b"HTTP/1.1", network))
        assert connection is not None
        connection.limit_reads(lambda: left)
        assert network.read(7) == b"7 None"
        assert network.read(7, timeout=600.0) == b"7 600.0"
        left = 30.0
        assert network.read(7) == b"7 30.0"
        assert network.read(7, 600.0) == b"7 30.0"
        assert network.read(7, timeout=5.0) == b"7 5.0"
        left = 1e-9
        assert network.read(7, timeout=5.0) == b"7 0.001"
        connection.release()
        connection.release()
        assert network.read(7, timeout=600.0) == b"7 600.0"
        assert "read" not in vars(network)


def test_when_the_time_is_over_nothing_more_is_read() -> None:
    """However much is there: a flood of keep-alives would hold a turn up for ever."""
    near, far = socket.socketpair()
    with near, far:
        network = Network(near)
        connection = connection_of(response(b"HTTP/1.1", network))
        assert connection is not None
        connection.limit_reads(lambda: -1.0)
        with pytest.raises(TimeoutError, match="a limit of the turn has passed"):
            network.read(7, timeout=5.0)


class ReadTimeout(Exception):  # noqa: N818
    """Named as httpcore's."""


@pytest.mark.parametrize("raised", [ReadTimeout, TimeoutError, ConnectionResetError])
def test_the_turns_own_clock_says_when_the_time_is_over(raised: type[Exception]) -> None:
    """Where it goes slower than the system's, a read goes on; the client's limit stays its own."""
    given: list[float | None] = []
    lefts = iter([3.0, 1.0, 1.0, 0.5, 9.0])

    def slow(_: int, timeout: float | None = None) -> bytes:
        given.append(timeout)
        raise raised

    near, far = socket.socketpair()
    with near, far:
        network: Any = Network(near)
        network.read = slow
        connection = connection_of(response(b"HTTP/1.1", network))
        assert connection is not None
        connection.limit_reads(lambda: next(lefts))
        with pytest.raises(raised):
            network.read(7, timeout=10.0)
    assert given == ([3.0] if raised is ConnectionResetError else [3.0, 1.0, 6.0])


def test_what_else_stood_before_a_read_stands_there_again() -> None:
    """Somebody may measure the connections of a pool; the turn leaves them as they were."""

    def measured(*_: object) -> bytes:
        return b"measured"

    near, far = socket.socketpair()
    with near, far:
        network: Any = Network(near)
        network.read = measured
        first, second = (connection_of(response(b"HTTP/1.1", network)) for _ in range(2))
        assert first is not None
        assert second is not None
        first.limit_reads(lambda: 1.0)
        second.limit_reads(lambda: 1.0)
        assert network.read(7) == b"measured"
        first.release()
        second.release()
        assert network.read is measured


def test_a_connection_serves_its_next_request_as_if_no_turn_had_been_there() -> None:
    """Also where the turn before was never closed: its response was, and that is what counts."""
    near, far = socket.socketpair()
    with near, far:
        network = Network(near)
        first, second = (response(b"HTTP/1.1", network, is_closed=False) for _ in range(2))
        before, after = connection_of(first), connection_of(second)
        assert before is not None
        assert after is not None
        before.limit_reads(lambda: 1.0)
        assert network.read(7, timeout=600.0) == b"7 1.0"
        first.is_closed = True
        assert network.read(7, timeout=600.0) == b"7 600.0"
        after.limit_reads(lambda: 2.0)
        before.release()
        assert network.read(7, timeout=600.0) == b"7 2.0"
        after.release()
        assert "read" not in vars(network)


@LIBRARIES
def test_each_read_of_a_real_connection_is_given_the_time_that_is_left(library: Any) -> None:
    """The limit may change while the body is read, and what has come by then is there."""
    steps = (Send(b"a"), Pause(0.3), Send(b"b"), Pause(30))
    body: list[bytes] = []
    over = math.inf
    with (
        FaultServer(Script(steps)) as server,
        library.Client(timeout=60) as client,
        client.stream("POST", server.base_url) as opened,
    ):
        connection = connection_of(opened)
        assert connection is not None
        connection.limit_reads(lambda: over - time.monotonic())
        with pytest.raises((library.ReadTimeout, TimeoutError)):
            for chunk in opened.iter_bytes():
                body.append(chunk)
                over = time.monotonic() + 0.2 if len(body) == 2 else math.inf
    assert body == [b"a", b"b"]


@LIBRARIES
def test_a_clients_own_limit_is_read_once_for_a_body(library: Any) -> None:
    """Set before the body is read it holds; set later it does nothing: it cannot follow a turn."""
    steps = (Send(b"a"), Pause(0.2), Send(b"b"))

    def read(limit_at: str) -> bytes:
        body = b""
        with (
            FaultServer(Script(steps)) as server,
            library.Client(timeout=30) as client,
            client.stream("POST", server.base_url) as opened,
        ):
            limits = opened.request.extensions["timeout"]
            limits["read"] = 0.05 if limit_at == "start" else 30
            for chunk in opened.iter_bytes():
                body += chunk
                limits["read"] = 0.05
        return body

    with pytest.raises(library.ReadTimeout):
        read("start")
    assert read("first chunk") == b"ab"
