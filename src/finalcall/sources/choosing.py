"""Chooses how to read whatever a caller holds: in its own thread where that can be ended."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast, final

from finalcall.clock import is_moved_by_hand
from finalcall.iterating import iterate_of, whole
from finalcall.pacing import Pacing, PacingChoice
from finalcall.sources.closing import close_if_possible, close_quietly
from finalcall.sources.connection import connection_of
from finalcall.sources.direct import DirectSource, MemorySource
from finalcall.sources.handover import Handover
from finalcall.sources.opening import Opening
from finalcall.sources.pumped import PumpedSource
from finalcall.sources.waiting import Broken, Overdue, Source, Waiting


def open_source(stream: Any, waiting: Waiting, choice: PacingChoice = "auto") -> Source:
    """Choose how to read whatever a caller holds.

    Args:
        stream: An SDK stream, a context manager of one, an open httpx response, or an iterable of
            native events, dicts or bytes.
        waiting: What the source must know of time.
        choice: `"thread"` reads in a thread where the caller's own would do, too.

    Raises:
        TypeError: It is nothing that can be iterated here; the message says what to do.
    """
    if isinstance(stream, Opening):
        return OpeningSource(stream, waiting, choice)
    stream = whole(stream)
    if type(stream) is list or type(stream) is tuple:
        return MemorySource(iter(cast("list[Any]", stream)))
    if isinstance(stream, list | tuple):
        return DirectSource(cast("list[Any]", stream).__iter__, _nothing, waiting)
    if not hasattr(stream, "__iter__") and hasattr(stream, "__enter__"):
        return _enter(stream, waiting, choice)
    return _read(stream, iterate_of(stream), waiting, choice)


def _read(
    stream: Any, iterate: Callable[[], Iterator[Any]], waiting: Waiting, choice: PacingChoice
) -> Source:
    is_generator = hasattr(stream, "gi_frame")
    close = _nothing if is_generator else functools.partial(close_if_possible, stream)
    connection = connection_of(stream)
    if connection is None or choice == "thread":
        pumped = PumpedSource(iterate, close, waiting, connection=connection)
        pumped.listen_to(stream)
        return pumped
    direct = DirectSource(iterate, close, waiting, connection=connection)
    # A clock that is moved by hand would not end the wait for what follows the message.
    direct.listen_to(stream, rest=not is_moved_by_hand(waiting.clock))
    return direct


def _nothing() -> None:
    return None


def _enter(manager: Any, waiting: Waiting, choice: PacingChoice) -> Source:
    stream = manager.__enter__()
    try:
        return _Managed(open_source(stream, waiting, choice), manager)
    except BaseException:
        manager.__exit__(None, None, None)
        raise


@final
class _Managed:
    """A source inside the context manager that an SDK's helper returned."""

    def __init__(self, source: Source, manager: Any) -> None:
        self.natives = source.natives
        self._source = source
        self._manager = manager

    @property
    def pacing(self) -> Pacing:
        """How the source inside waits."""
        return self._source.pacing

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

    Args:
        opening: The request.
        waiting: What the source must know of time.
        choice: As for `open_source`.
    """

    def __init__(self, opening: Opening, waiting: Waiting, choice: PacingChoice = "auto") -> None:
        self._opening = opening
        self._waiting = waiting
        self._choice: PacingChoice = choice
        self._opened: Handover | None = None
        self._source: Source | None = None

    @property
    def pacing(self) -> Pacing:
        """How the source waits: for the request at first, then for its stream."""
        return Pacing("thread", "events") if self._source is None else self._source.pacing

    def natives(self) -> Iterator[Any]:
        """The events that are left; the first waits for the request's headers."""
        if self._source is None:
            self._waiting.clocks.wait(self._waiting.clock())
            try:
                self._source = self._open()
            except Overdue:
                raise
            except Exception as error:
                raise Broken(error) from None
        yield from self._source.natives()

    def _open(self) -> Source:
        if self._opened is None:
            self._opened = Handover(self._waiting)
            threading.Thread(
                target=self._run, args=(self._opened,), name="finalcall-request", daemon=True
            ).start()
        stream = self._opened.get()
        self._opened.close()
        try:
            return open_source(stream, self._waiting, self._choice)
        except TypeError:
            close_quietly(stream)
            raise

    def _run(self, opened: Handover) -> None:
        stream: Any = None
        error: BaseException | None = None
        try:
            stream = self._opening()
        except BaseException as raised:
            error = raised
        if not opened.end(stream, error):
            close_quietly(stream)

    def close(self) -> None:
        """Close the stream, or leave it to be closed as it arrives."""
        if self._source is not None:
            self._source.close()
        elif self._opened is not None:
            for untaken in self._opened.close():
                close_if_possible(untaken)
