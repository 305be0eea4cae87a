"""Waits for the next native event of a synchronous stream, and never longer than it is told.

A stream whose open connection can be reached is read directly, and a watching thread shuts the
connection down when a hard deadline passes. Any other iterator is read by a thread of its own.
Nothing here knows what an event means.
"""

from __future__ import annotations

import contextlib
import functools
import math
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, final

from finalcall.clock import Clock
from finalcall.idle import Clocks
from finalcall.narrow import is_mapping
from finalcall.opening import Opening

Pacing: TypeAlias = Literal["transport", "thread", "memory"]
"""How a wait is bounded: the connection is shut down, a thread reads, or there is no wait."""

_QUEUED_EVENTS: Final = 64
"""Native events read ahead by a reading thread: enough to hide hand-over, little to hold."""


@final
class Overdue(Exception):  # noqa: N818 - a signal between two modules, not an error
    """The deadline passed and nothing came."""


@final
class Exhausted(Exception):  # noqa: N818 - StopIteration cannot pass through a generator
    """The source is at its end."""


class Source(Protocol):
    """Where native events come from."""

    pacing: Pacing

    def get(self) -> Any:
        """The next native event.

        Raises:
            Overdue: A deadline of the turn's clocks passed.
            Exhausted: There is nothing more.
        """
        ...

    def close(self) -> None:
        """Release the stream and everything made to read it. May be called twice."""
        ...


def shutdown_of(stream: Any) -> Callable[[], None] | None:
    """How to wake a read that is blocked on a stream's connection, or `None` where there is no way.

    Only for HTTP/1.1: an HTTP/2 connection is shared with other requests.

    Args:
        stream: An SDK stream with a public `.response`, or an httpx response.
    """
    response = getattr(stream, "response", stream)
    extensions = getattr(response, "extensions", None)
    if not isinstance(extensions, dict):
        return None
    facts = cast("dict[str, Any]", extensions)
    network, version = facts.get("network_stream"), facts.get("http_version")
    if network is None or version not in (b"HTTP/1.1", b"HTTP/1.0"):
        return None
    connection = network.get_extra_info("socket")
    if not isinstance(connection, socket.socket):
        return None

    def shut_down() -> None:
        # The plain socket's method: a TLS socket's own would tear its state away from the reader.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    return shut_down


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    """What a source must know of time.

    Attributes:
        clocks: The turn's idle clocks.
        clock: The time, in seconds.
    """

    clocks: Clocks
    clock: Clock

    def left(self, *, hard: bool = False) -> float:
        """Seconds until the next deadline; infinity where nothing is expected."""
        return self.clocks.deadline(hard=hard) - self.clock()

    def timeout(self) -> float | None:
        """The same for a lock: `None` for ever, and never below zero."""
        left = self.left()
        return None if left == math.inf else max(0.0, left)


@final
class _Watch:
    """A thread that calls `wake` when a hard deadline passes. One a turn; gone when closed.

    Nothing is told to it for an event: it looks at the clocks by itself, at the deadline that it
    knows of and at least as often as the shortest limit.
    """

    def __init__(self, wake: Callable[[], None], waiting: Waiting) -> None:
        self.fired = False
        self._wake = wake
        self._waiting = waiting
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="finalcall-idle-limit", daemon=True)
        self._thread.start()

    def look_again(self) -> None:
        """A deadline may have come nearer than the shortest limit."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """End the thread and wait for it."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        shortest = self._waiting.clocks.shortest
        with self._changed:
            while not self._closed:
                left = self._waiting.left(hard=True)
                if left <= 0:
                    self.fired = True
                    self._wake()
                    return
                self._changed.wait(min(left, shortest))


@final
class DirectSource:
    """Reads an iterator in the caller's thread; a hard deadline shuts its connection down."""

    def __init__(
        self,
        iterator: Iterator[Any],
        close: Callable[[], None],
        *,
        wake: Callable[[], None] | None = None,
        waiting: Waiting,
    ) -> None:
        self.pacing: Pacing = "memory" if wake is None else "transport"
        self._iterator = iterator
        self._close = close
        self._wake = wake
        self._clocks = waiting.clocks
        self._watch = None if wake is None else _Watch(wake, waiting)
        self._reading = False

    def get(self) -> Any:
        """The next native event; only a hard deadline can end the wait."""
        watch = self._watch
        if watch is None:
            return self._next()
        if self._clocks.unproductive:
            watch.look_again()
        self._reading = True
        try:
            native = self._next()
        except Exception:
            if watch.fired:
                raise Overdue from None
            raise
        finally:
            self._reading = False
        if watch.fired:  # it came as the limit passed: the connection is already shut
            raise Overdue
        return native

    def _next(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            raise Exhausted from None

    def close(self) -> None:
        """End the watching thread, wake a read in another thread, then close the stream."""
        if self._watch is not None:
            self._watch.close()
        if self._reading and self._wake is not None:
            self._wake()
        self._close()


@final
class PumpedSource:
    """Reads an iterator in a thread of its own, a bounded number of events ahead."""

    def __init__(
        self,
        iterate: Callable[[], Iterator[Any]],
        close: Callable[[], None],
        waiting: Waiting,
    ) -> None:
        self.pacing: Pacing = "thread"
        self._iterate = iterate
        self._close = close
        self._waiting = waiting
        self._queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(_QUEUED_EVENTS)
        self._lock = threading.Lock()
        self._closed = False
        self._reading = False
        self._thread: threading.Thread | None = None

    def get(self) -> Any:
        """The next native event; any deadline ends the wait, and waiting can go on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="finalcall-reader", daemon=True)
            self._reading = True
            self._thread.start()
        try:
            native, error = self._queue.get_nowait()
        except queue.Empty:
            native, error = self._wait()
        if error is not None:
            raise error
        return native

    def _wait(self) -> tuple[Any, BaseException | None]:
        try:
            return self._queue.get(timeout=self._waiting.timeout())
        except queue.Empty:
            raise Overdue from None

    def _run(self) -> None:
        try:
            iterator = self._iterate()
            try:
                for native in iterator:
                    self._queue.put((native, None))
                    if self._closed:
                        break
            finally:
                # A generator can only be closed by the thread that runs it.
                _close_quietly(iterator)
            self._queue.put((None, Exhausted()))
        except BaseException as error:
            self._queue.put((None, error))
        with self._lock:
            self._reading = False
            closing = self._closed
        if closing:
            with contextlib.suppress(Exception):  # nobody is left to tell
                self._close()

    def close(self) -> None:
        """Tell the thread to stop; the stream is closed now, or by the thread after its `next()`.

        Some streams hold a lock while they are read: to close them here would wait for the read.
        """
        with self._lock:
            self._closed = True
            reading = self._reading
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put_nowait((None, Exhausted()))
        if not reading:
            self._close()


def close_if_possible(stream: Any) -> None:
    """Call `close()` where there is one."""
    close = getattr(stream, "close", None)
    if callable(close):
        close()


def _close_quietly(stream: Any) -> None:
    """Close a stream whose own exception, if it raised one, must not be replaced."""
    with contextlib.suppress(Exception):
        close_if_possible(stream)


def open_source(stream: Any, waiting: Waiting) -> Source:
    """Choose how to read whatever a caller holds.

    Args:
        stream: An SDK stream, a context manager of one, an open httpx response, or an iterable of
            native events, dicts or bytes.
        waiting: What the source must know of time.

    Raises:
        TypeError: It is nothing that can be iterated here; the message says what to do.
    """
    if isinstance(stream, Opening):
        return OpeningSource(stream, waiting)
    if is_mapping(stream):
        raise TypeError("a single event was given; expected an iterable of events: wrap it in []")
    if isinstance(stream, bytes | bytearray):
        stream = [bytes(stream)]
    if isinstance(stream, list | tuple):
        return DirectSource(iter(cast("list[Any]", stream)), _nothing, waiting=waiting)
    if not hasattr(stream, "__iter__") and hasattr(stream, "__enter__"):
        manager = stream
        try:
            return _Managed(open_source(manager.__enter__(), waiting), manager)
        except BaseException:
            manager.__exit__(None, None, None)
            raise
    iterate = getattr(stream, "iter_bytes", None) or getattr(stream, "__iter__", None)
    if not callable(iterate):
        raise TypeError(_not_iterable(stream))
    wake = shutdown_of(stream)
    is_generator = hasattr(stream, "gi_frame")
    close = _nothing if is_generator else functools.partial(close_if_possible, stream)
    if wake is None:
        return PumpedSource(cast("Callable[[], Iterator[Any]]", iterate), close, waiting)
    return DirectSource(iter(cast("Iterator[Any]", iterate())), close, wake=wake, waiting=waiting)


def _nothing() -> None:
    return None


def _not_iterable(stream: Any) -> str:
    found = f"{type(stream).__module__}.{type(stream).__qualname__}"
    if hasattr(stream, "__aiter__") or hasattr(stream, "__await__"):
        return f"{found} is asynchronous; wrap it in AsyncTurn, or settle it with asettle()"
    return (
        f"{found} is not a stream: expected an SDK stream (was stream=True passed?), an iterable "
        "of its events, dicts or bytes, or a context manager of one"
    )


@final
class _Managed:
    """A source inside the context manager that an SDK's helper returned."""

    def __init__(self, source: Source, manager: Any) -> None:
        self.pacing: Pacing = source.pacing
        self._source = source
        self._manager = manager

    def get(self) -> Any:
        """The next native event of the source inside."""
        return self._source.get()

    def close(self) -> None:
        """Close the source, then leave the context manager."""
        try:
            self._source.close()
        finally:
            self._manager.__exit__(None, None, None)


@final
class OpeningSource:
    """Makes a request in a thread, so that waiting for its headers is bounded too, then reads it.

    A request that is still under way when the turn closes is closed by its thread as it arrives.
    """

    def __init__(self, opening: Opening, waiting: Waiting) -> None:
        self.pacing: Pacing = "thread"
        self._opening = opening
        self._waiting = waiting
        self._lock = threading.Lock()
        self._closed = False
        self._opened: queue.Queue[tuple[Any, BaseException | None]] | None = None
        self._source: Source | None = None

    def get(self) -> Any:
        """The next native event; the first waits for the request's headers."""
        if self._source is None:
            stream = self._open()
            try:
                self._source = open_source(stream, self._waiting)
            except TypeError:
                _close_quietly(stream)
                raise
            self.pacing = self._source.pacing
        return self._source.get()

    def _open(self) -> Any:
        if self._opened is None:
            self._opened = queue.Queue()
            threading.Thread(target=self._run, name="finalcall-request", daemon=True).start()
        try:
            stream, error = self._opened.get(timeout=self._waiting.timeout())
        except queue.Empty:
            raise Overdue from None
        if error is not None:
            raise error
        return stream

    def _run(self) -> None:
        assert self._opened is not None
        try:
            stream = self._opening()
        except BaseException as error:
            self._opened.put((None, error))
            return
        with self._lock:
            if not self._closed:
                self._opened.put((stream, None))
                return
        close_if_possible(stream)

    def close(self) -> None:
        """Close the stream, or leave it to be closed as it arrives."""
        with self._lock:
            self._closed = True
            late: Any = None
            if self._source is None and self._opened is not None and not self._opened.empty():
                late, _ = self._opened.get_nowait()
        if self._source is not None:
            self._source.close()
        elif late is not None:
            close_if_possible(late)
