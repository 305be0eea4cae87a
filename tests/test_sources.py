"""Where native events come from: what can be woken, and what is closed on which path."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from finalcall.idle import Clocks, Idle
from finalcall.opening import Opening
from finalcall.sources import (
    DirectSource,
    Exhausted,
    OpeningSource,
    Overdue,
    PumpedSource,
    Waiting,
    shutdown_of,
)

NEVER = Waiting(Clocks(), lambda: 0.0)


class Stream:
    """An iterable that says when it was closed."""

    def __init__(self, *natives: Any) -> None:
        self.natives = natives
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.natives)

    def close(self) -> None:
        self.closed.set()


def response(version: bytes, connection: object) -> Any:
    network = SimpleNamespace(get_extra_info=lambda _: connection)
    return SimpleNamespace(extensions={"http_version": version, "network_stream": network})


def test_only_an_http_1_connection_of_its_own_is_shut_down() -> None:
    """An HTTP/2 connection is shared; one that cannot be reached is left alone."""
    near, far = socket.socketpair()
    with near, far:
        assert shutdown_of(response(b"HTTP/2", near)) is None
        assert shutdown_of(response(b"HTTP/1.1", None)) is None
        assert shutdown_of(object()) is None
        shut_down = shutdown_of(response(b"HTTP/1.1", near))
        assert shut_down is not None
        shut_down()
        assert far.recv(1) == b""


def test_an_event_that_comes_as_the_limit_passes_comes_too_late() -> None:
    """The connection is shut already: the turn ends as overdue, not on a broken read."""
    woken = threading.Event()
    clocks = Clocks(Idle(first=1.0))
    now = [0.0]

    def natives() -> Iterator[Any]:
        now[0] = 5.0
        source._watch.look_again()  # type: ignore[union-attr]
        assert woken.wait(30)
        yield "late"

    source = DirectSource(
        natives(), lambda: None, wake=woken.set, waiting=Waiting(clocks, lambda: now[0])
    )
    clocks.wait(0.0)
    with pytest.raises(Overdue):
        source.get()
    source.close()


def test_a_pumped_stream_is_closed_by_whoever_is_last() -> None:
    """By the turn where nothing is being read, else by the reading thread after its next()."""
    unread = Stream(1)
    PumpedSource(unread.__iter__, unread.close, NEVER).close()
    assert unread.closed.is_set()

    reading, release, blocked = Stream(), threading.Event(), threading.Event()

    def natives() -> Iterator[Any]:
        yield 1
        blocked.set()
        release.wait(30)
        yield 2

    source = PumpedSource(natives, reading.close, NEVER)
    assert source.get() == 1
    assert blocked.wait(30)
    source.close()
    assert not reading.closed.is_set()
    release.set()
    assert reading.closed.wait(30)


def test_a_request_that_fails_raises_what_it_raised() -> None:
    """The client's own exception, unchanged."""

    def create() -> Any:
        raise LookupError("refused")

    with pytest.raises(LookupError, match="refused"):
        OpeningSource(Opening(create, (), {}), NEVER).get()


def test_a_request_that_is_answered_after_the_turn_is_closed_as_it_arrives() -> None:
    """Nobody is left to read it."""
    late, answer = Stream(1), threading.Event()

    def create() -> Any:
        answer.wait(30)
        return late

    clocks = Clocks(Idle(first=1.0))
    clocks.wait(0.0)
    source = OpeningSource(Opening(create, (), {}), Waiting(clocks, lambda: 9.0))
    with pytest.raises(Overdue):
        source.get()
    source.close()
    answer.set()
    assert late.closed.wait(30)


def test_a_request_that_was_answered_and_not_taken_is_closed() -> None:
    """It had arrived when the turn closed."""
    stream, made = Stream(1), threading.Event()
    clocks = Clocks(Idle(first=1.0))
    clocks.wait(0.0)
    begun = threading.Event()

    def create() -> Any:
        begun.wait(30)
        return stream

    source = OpeningSource(Opening(create, (), {}), Waiting(clocks, lambda: 9.0))
    with pytest.raises(Overdue):
        source.get()
    begun.set()
    while source._opened is not None and source._opened.empty():
        made.wait(0.01)
    source.close()
    assert stream.closed.is_set()


def test_an_opened_stream_is_read_to_its_end() -> None:
    """The request first, then what it gives."""
    source = OpeningSource(Opening(lambda: [1, 2], (), {}), NEVER)
    assert [source.get(), source.get()] == [1, 2]
    with pytest.raises(Exhausted):
        source.get()
    source.close()
