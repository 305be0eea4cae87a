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
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, final

from finalcall.opening import Opening

Clock: TypeAlias = Callable[[], float]

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

    def get(self, deadline: float, hard: float) -> Any:
        """The next native event.

        Args:
            deadline: When to stop waiting, where waiting can go on afterwards.
            hard: When to stop waiting for good.

        Raises:
            Overdue: The deadline passed.
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
class _Watch:
    """A thread that calls `wake` when a deadline passes. One a turn; gone when closed."""

    def __init__(self, wake: Callable[[], None], clock: Clock) -> None:
        self.fired = False
        self._wake = wake
        self._clock = clock
        self._due = math.inf
        self._sleeping_until = -math.inf
        self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def set(self, due: float) -> None:
        """Expect something until `due`. Costs an assignment unless `due` came nearer."""
        self._due = due
        if due < self._sleeping_until:
            with self._changed:
                self._changed.notify()
        elif self._thread is None and due < math.inf:
            self._thread = threading.Thread(
                target=self._run, name="finalcall-idle-limit", daemon=True
            )
            self._thread.start()

    def rest(self) -> None:
        """Expect nothing for now."""
        self._due = math.inf

    def close(self) -> None:
        """End the thread and wait for it."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                due = self._due
                left = due - self._clock()
                if left <= 0:
                    self.fired = True
                    self._wake()
                    return
                self._sleeping_until = due
                self._changed.wait(None if due == math.inf else left)


@final
class DirectSource:
    """Reads an iterator in the caller's thread; a hard deadline shuts its connection down."""

    def __init__(
        self,
        iterator: Iterator[Any],
        close: Callable[[], None],
        *,
        wake: Callable[[], None] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.pacing: Pacing = "memory" if wake is None else "transport"
        self._iterator = iterator
        self._close = close
        self._wake = wake
        self._watch = None if wake is None else _Watch(wake, clock)
        self._reading = False

    def get(self, deadline: float, hard: float) -> Any:  # noqa: ARG002 - see Source
        """The next native event; only the hard deadline can end the wait."""
        watch = self._watch
        if watch is None:
            return self._next()
        watch.set(hard)
        self._reading = True
        try:
            native = self._next()
        except Exception:
            if watch.fired:
                raise Overdue from None
            raise
        finally:
            self._reading = False
            watch.rest()
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
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self.pacing: Pacing = "thread"
        self._iterate = iterate
        self._close = close
        self._clock = clock
        self._queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(_QUEUED_EVENTS)
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def get(self, deadline: float, hard: float) -> Any:  # noqa: ARG002 - see Source
        """The next native event; either deadline ends the wait, and waiting can go on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="finalcall-reader", daemon=True)
            self._thread.start()
        try:
            native, error = self._queue.get_nowait()
        except queue.Empty:
            native, error = self._wait(deadline)
        if error is not None:
            raise error
        return native

    def _wait(self, deadline: float) -> tuple[Any, BaseException | None]:
        left = None if deadline == math.inf else max(0.0, deadline - self._clock())
        try:
            return self._queue.get(timeout=left)
        except queue.Empty:
            raise Overdue from None

    def _run(self) -> None:
        try:
            iterator = self._iterate()
            try:
                for native in iterator:
                    self._queue.put((native, None))
                    if self._closed.is_set():
                        return
            finally:
                # A generator can only be closed by the thread that runs it.
                close_if_possible(iterator)
            self._queue.put((None, Exhausted()))
        except BaseException as error:
            self._queue.put((None, error))

    def close(self) -> None:
        """Tell the thread to stop and close the stream; the thread ends with its `next()`."""
        self._closed.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put_nowait((None, Exhausted()))
        self._close()


def close_if_possible(stream: Any) -> None:
    """Call `close()` where there is one."""
    close = getattr(stream, "close", None)
    if callable(close):
        close()


def open_source(stream: Any, clock: Clock) -> Source:
    """Choose how to read whatever a caller holds.

    Args:
        stream: An SDK stream, a context manager of one, an open httpx response, or an iterable of
            native events, dicts or bytes.
        clock: The turn's clock, in seconds.

    Raises:
        TypeError: It is nothing that can be iterated here; the message says what to do.
    """
    if isinstance(stream, Opening):
        return OpeningSource(stream, clock)
    if isinstance(stream, bytes | bytearray):
        stream = [bytes(stream)]
    if isinstance(stream, list | tuple):
        return DirectSource(iter(cast("list[Any]", stream)), _nothing, clock=clock)
    if not hasattr(stream, "__iter__") and hasattr(stream, "__enter__"):
        manager = stream
        stream = manager.__enter__()
        inner = open_source(stream, clock)
        return _Managed(inner, manager)
    iterate = getattr(stream, "iter_bytes", None) or getattr(stream, "__iter__", None)
    if not callable(iterate):
        raise TypeError(_not_iterable(stream))
    wake = shutdown_of(stream)
    is_generator = hasattr(stream, "gi_frame")
    close = _nothing if is_generator else functools.partial(close_if_possible, stream)
    if wake is None:
        return PumpedSource(cast("Callable[[], Iterator[Any]]", iterate), close, clock=clock)
    return DirectSource(iter(cast("Iterator[Any]", iterate())), close, wake=wake, clock=clock)


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

    def get(self, deadline: float, hard: float) -> Any:
        """The next native event of the source inside."""
        return self._source.get(deadline, hard)

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

    def __init__(self, opening: Opening, clock: Clock) -> None:
        self.pacing: Pacing = "thread"
        self._opening = opening
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._opened: queue.Queue[tuple[Any, BaseException | None]] | None = None
        self._source: Source | None = None

    def get(self, deadline: float, hard: float) -> Any:
        """The next native event; the first waits for the request's headers."""
        if self._source is None:
            stream = self._open(deadline)
            self._source = open_source(stream, self._clock)
            self.pacing = self._source.pacing
        return self._source.get(deadline, hard)

    def _open(self, deadline: float) -> Any:
        if self._opened is None:
            self._opened = queue.Queue()
            threading.Thread(target=self._run, name="finalcall-request", daemon=True).start()
        left = None if deadline == math.inf else max(0.0, deadline - self._clock())
        try:
            stream, error = self._opened.get(timeout=left)
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
