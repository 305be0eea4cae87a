"""Where native events come from: who reads, what ends a wait, and who closes on which path."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from finalcall.idle import Clocks, Idle, Phase
from finalcall.pacing import Pacing
from finalcall.sources.choosing import OpeningSource, open_source
from finalcall.sources.connection import Connection
from finalcall.sources.direct import DirectSource
from finalcall.sources.opening import Opening
from finalcall.sources.pumped import PumpedSource
from finalcall.sources.waiting import Broken, Overdue, Source, Waiting
from finalcall.testing import FakeClock


class Stream:
    """An iterable that says when it was closed."""

    def __init__(self, *natives: Any) -> None:
        self.natives = natives
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.natives)

    def close(self) -> None:
        self.closed.set()


def waiting(idle: Idle | None = None, clock: Callable[[], float] | None = None) -> Waiting:
    """What a source is told of a turn that has just begun to wait."""
    told = Waiting(Clocks(idle or Idle()), clock or (lambda: 0.0))
    told.clocks.wait(told.clock())
    return told


def drain(source: Source) -> list[Any]:
    """All that a source gives, to its end."""
    return list(source.natives())


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "finalcall" in thread.name]


# Read directly


def connection(plain: socket.socket) -> Connection:
    """The connection of an open response whose socket is this one."""
    return Connection(SimpleNamespace(), SimpleNamespace(read=plain.recv), plain)


def test_an_event_that_comes_as_the_limit_passes_comes_too_late() -> None:
    """The connection is shut already: the turn ends as overdue, not on a broken read."""
    near, far = socket.socketpair()
    clock = FakeClock()
    told = waiting(Idle(first=1.0, quiet=None), clock)

    def natives() -> Iterator[Any]:
        clock.advance(5.0)
        assert far.recv(1) == b""
        yield "late"

    with near, far:
        source = DirectSource(natives, lambda: None, told, connection=connection(near))
        for _ in range(2):  # nothing more is read of a stream that is over
            with pytest.raises(Overdue):
                next(source.natives())
        source.close()


def test_a_list_with_an_iterator_of_its_own_is_read_without_a_thread() -> None:
    """It may raise, and take its time: nothing could wake it, and nothing watches it."""

    class Listed(list[int]):
        def __iter__(self) -> Iterator[int]:
            assert threads() == []
            yield 1
            raise LookupError

    source = open_source(Listed(), waiting())
    natives = source.natives()
    assert next(natives) == 1
    with pytest.raises(Broken):
        next(natives)
    assert source.pacing == Pacing("memory", "events")
    source.close()


def test_an_event_that_slips_in_as_the_connection_is_shut_is_no_silence() -> None:
    """It is handed over, and what the broken stream raises after it is the stream's own."""
    near, far = socket.socketpair()
    clock = FakeClock()
    told = waiting(Idle(first=1.0, between=1.0), clock)

    def natives() -> Iterator[Any]:
        clock.advance(1.0)
        told.clocks.heard_at = clock()
        yield "just in time"
        raise LookupError("shut")

    with near, far:
        source = DirectSource(natives, lambda: None, told, connection=connection(near))
        left = source.natives()
        assert next(left) == "just in time"
        with pytest.raises(Broken) as raised:
            next(left)
        source.close()
    assert isinstance(raised.value.error, LookupError)


def test_each_read_is_given_what_is_left_of_the_nearest_limit() -> None:
    """Waiting without progress adds up over events, so the next deadline may be very near."""
    now = [0.0]
    told = waiting(Idle(first=20.0, between=60.0, progress=50.0), lambda: now[0])
    given: list[float | None] = []
    network = SimpleNamespace(read=lambda _, timeout: given.append(timeout))

    def natives() -> Iterator[Any]:
        for native in range(3):
            network.read(1, timeout=600.0)
            yield native

    near, far = socket.socketpair()
    with near, far:
        limited = Connection(SimpleNamespace(), network, near)
        source = DirectSource(natives, lambda: None, told, connection=limited)
        left = source.natives()
        assert next(left) == 0
        told.clocks.phase = Phase.BETWEEN
        told.clocks.wait(0.0)
        now[0] = 49.0
        told.clocks.pause(49.0)
        assert next(left) == 1
        told.clocks.arrived(progress=True)
        assert next(left) == 2
        source.close()
    assert given == [20.0, 1.0, 50.0]


def test_a_flood_of_keep_alives_is_ended_by_the_limit_on_progress() -> None:
    """There is always something to be read, and nothing in it."""
    told = Waiting(Clocks(Idle(progress=0.05)), time.monotonic)
    network = SimpleNamespace(read=lambda *_, **__: b": keep-alive")

    def natives() -> Iterator[Any]:
        while network.read(1, timeout=600.0):
            pass
        yield

    near, far = socket.socketpair()
    with near, far:
        limited = Connection(SimpleNamespace(), network, near)
        source = DirectSource(natives, lambda: None, told, connection=limited)
        with pytest.raises(Overdue):
            next(source.natives())
        source.close()


def test_only_a_read_is_woken_by_closing() -> None:
    """A turn that waits for nothing leaves the connection to whoever closes the stream."""
    for reading in (False, True):
        near, far = socket.socketpair()
        with near, far:
            told = waiting()
            source = DirectSource(
                lambda: iter([1]), lambda: None, told, connection=connection(near)
            )
            assert next(source.natives()) == 1
            if reading:
                told.clocks.wait(0.0)
            source.close()
            near.setblocking(False)
            if reading:
                assert near.recv(1) == b""
            else:
                with pytest.raises(BlockingIOError):
                    near.recv(1)


# Read by a thread


def test_a_pumped_stream_is_closed_by_whoever_is_last() -> None:
    """By the turn where nothing is being read, else by the reading thread after its next()."""
    unread = Stream(1)
    source = PumpedSource(unread.__iter__, unread.close, waiting())
    source.close()
    source.close()
    assert unread.closed.is_set()

    finished = Stream(1, 2)
    source = PumpedSource(finished.__iter__, finished.close, waiting())
    assert drain(source) == [1, 2]
    assert source._thread is not None
    source._thread.join(30)
    source.close()
    assert finished.closed.is_set()

    reading, release, blocked = Stream(), threading.Event(), threading.Event()

    def natives() -> Iterator[Any]:
        yield 1
        blocked.set()
        release.wait(30)
        yield 2

    source = PumpedSource(natives, reading.close, waiting())
    assert next(source.natives()) == 1
    assert blocked.wait(30)
    source.close()
    source.close()
    assert not reading.closed.is_set()
    release.set()
    assert reading.closed.wait(30)


def test_a_thread_reads_a_bounded_number_ahead_and_ends_at_once_where_it_pauses() -> None:
    """What nobody takes is not read without end, and a close leaves no thread."""
    read: list[int] = []
    closed: list[bool] = []

    def natives() -> Iterator[int]:
        try:
            for number in range(1000):
                read.append(number)
                yield number
        finally:
            closed.append(True)

    source = PumpedSource(natives, lambda: None, waiting())
    assert list(islice(source.natives(), 70)) == list(range(70))
    while not source._handover.paused:
        threading.Event().wait(0.001)
    assert len(read) <= 2 * 64
    source.close()
    assert threads() == []
    assert closed == [True]


def test_closing_in_another_thread_lets_go_of_who_waits() -> None:
    """And a thread that cannot close its stream afterwards tells nobody: the turn is over."""
    blocked, release, ended = threading.Event(), threading.Event(), threading.Event()

    def natives() -> Iterator[Any]:
        blocked.set()
        release.wait(30)
        yield 1

    def fail() -> None:
        raise LookupError

    def take() -> None:
        assert list(source.natives()) == []
        ended.set()

    source = PumpedSource(natives, fail, waiting())
    taker = threading.Thread(target=take)
    taker.start()
    assert blocked.wait(30)
    source.close()
    assert ended.wait(30)
    taker.join()
    release.set()
    assert source._thread is not None
    source._thread.join(30)
    assert threads() == []


def test_a_response_that_is_found_after_the_turn_has_closed_is_shut_at_once() -> None:
    """The request was under way: its stream is not read for nobody."""
    near, far = socket.socketpair()
    network = SimpleNamespace(get_extra_info=lambda _: near, read=near.recv)
    facts = {"http_version": b"HTTP/1.1", "network_stream": network}
    with near, far:
        source = PumpedSource(lambda: iter(()), lambda: None, waiting())
        source.close()
        source._found(SimpleNamespace(extensions=facts))
        assert far.recv(1) == b""
    assert source.pacing == Pacing("thread", "events")


# Opened by the turn


def test_a_request_that_fails_raises_what_it_raised() -> None:
    """The client's own exception, unchanged."""

    def create() -> Any:
        raise LookupError("refused")

    with pytest.raises(Broken) as raised:
        next(OpeningSource(Opening(create, (), {}), waiting()).natives())
    assert isinstance(raised.value.error, LookupError)


def test_a_request_that_is_answered_after_the_turn_is_closed_as_it_arrives() -> None:
    """Nobody is left to read it."""
    late, answer, now = Stream(1), threading.Event(), [0.0]

    def create() -> Any:
        now[0] = 9.0
        answer.wait(30)
        return late

    source = OpeningSource(
        Opening(create, (), {}), waiting(Idle(first=0.01, quiet=None), lambda: now[0])
    )
    assert source.pacing == Pacing("thread", "events")
    with pytest.raises(Overdue):
        next(source.natives())
    source.close()
    answer.set()
    assert late.closed.wait(30)


def test_a_request_that_was_answered_and_not_taken_is_closed() -> None:
    """It had arrived when the turn closed."""
    stream, begun = Stream(1), threading.Event()

    def create() -> Any:
        begun.wait(30)
        return stream

    source = OpeningSource(
        Opening(create, (), {}), waiting(Idle(first=0.001, quiet=None), lambda: 0.0)
    )
    source._waiting.clocks.since = -9.0
    with pytest.raises(Overdue):
        next(source.natives())
    begun.set()
    while source._opened is not None and not source._opened._ready:
        begun.wait(0.001)
    source.close()
    assert stream.closed.is_set()


def test_an_opened_stream_is_read_to_its_end() -> None:
    """The request first, then what it gives."""
    source = OpeningSource(Opening(lambda: [1, 2], (), {}), waiting())
    assert drain(source) == [1, 2]
    assert source.pacing == Pacing("memory", "events")
    source.close()


def test_a_request_that_gives_no_stream_is_closed_and_refused() -> None:
    """What was opened is not leaked."""
    closed: list[bool] = []
    whole = SimpleNamespace(close=lambda: closed.append(True))
    source = OpeningSource(Opening(lambda: whole, (), {}), waiting())
    with pytest.raises(Broken) as raised:
        next(source.natives())
    assert "not a stream" in str(raised.value.error)
    source.close()
    assert closed == [True]


def test_a_source_that_was_never_read_closes_nothing_that_it_did_not_open() -> None:
    """No request was made, so none is cut."""
    source = OpeningSource(Opening(lambda: [1], (), {}), waiting())
    source.close()
    assert threads() == []


def test_a_context_manager_is_left_on_every_path() -> None:
    """Also where what it gives is no stream."""
    left: list[bool] = []

    class Manager:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

        def __enter__(self) -> Any:
            return self.inside

        def __exit__(self, *_: object) -> None:
            left.append(True)

    source = open_source(Manager([1]), waiting())
    assert drain(source) == [1]
    assert source.pacing == Pacing("memory", "events")
    source.close()
    with pytest.raises(TypeError):
        open_source(Manager(7), waiting())
    assert left == [True, True]
