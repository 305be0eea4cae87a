"""Reads a stream in a task of the turn's own and hands its events over, until a deadline.

The same for asyncio and trio; what differs between them is a `ReadingTask`. A limit that passes
only wakes whoever waits here, and a cancellation only passes through: neither touches the other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Protocol, final

from finalcall.clock import is_moved_by_hand, watch
from finalcall.pacing import Pacing
from finalcall.sources.closing import close_quietly_awaiting, tell_settled
from finalcall.sources.hooks import listen
from finalcall.sources.opening import Opening
from finalcall.sources.threaded import Signal, ThreadedStream
from finalcall.sources.transport import tap
from finalcall.sources.waiting import Exhausted, Overdue, Waiting

_QUEUED_EVENTS: Final = 128
"""Native events read ahead: enough to hide hand-over, little to hold."""


_CLEAN_UP: Final = 5.0
"""Seconds that a stream may take to close: a cancellation that comes meanwhile waits for it."""


class ReadingTask(Protocol):
    """What a reader needs of the event loop that runs it."""

    cancelled: ClassVar[type[BaseException]]
    """What the loop raises in a task that is cancelled: it must go on."""

    def start(
        self, read: Callable[[], Coroutine[Any, Any, None]], look: Callable[[], None]
    ) -> None:
        """Run `read` in a task of its own, and `look` each time the alarm is due."""
        ...

    def alarm(self, seconds: float) -> None:
        """Have `look` called after so many seconds, and not when it was due before."""
        ...

    def signal(self) -> Signal:
        """Something to wait for, once."""
        ...

    def call_soon(self, call: Callable[[], object]) -> None:
        """Have the loop call something; for any thread. A loop that is over calls nothing."""
        ...

    def cancel(self, *, pausing: bool) -> None:
        """End the task, now or, where it pauses and ends by itself, if it has not in time."""
        ...

    async def join(self) -> None:
        """Wait for the task's end; a cancellation that comes meanwhile goes on after it."""
        ...

    def shield(self) -> AbstractContextManager[object]:
        """Keep a cancellation out of a clean-up, for a bounded time."""
        ...


def reading_task() -> ReadingTask:
    """A task, not yet started, of the event loop that runs the caller."""
    if _in_trio():
        from finalcall.sources.trio_reader import TrioTask

        return TrioTask(_CLEAN_UP)
    from finalcall.sources.asyncio_reader import AsyncioTask

    return AsyncioTask(_CLEAN_UP)


def _in_trio() -> bool:
    # Trio loads the library that tells event loops apart, and keeps it told; so where that is not
    # loaded, there is no trio.
    detector = sys.modules.get("sniffio")
    return detector is not None and detector.current_async_library() == "trio"


@final
class Reader:
    """The source of one asynchronous turn.

    Args:
        stream: Whatever the caller holds.
        waiting: What the source must know of time.

    Attributes:
        pacing: How the turn waits, as far as it is known.
    """

    __slots__ = (
        "_ahead",
        "_armed",
        "_arrival",
        "_arrived",
        "_closed",
        "_ended",
        "_moved",
        "_room",
        "_stream",
        "_task",
        "_unwatch",
        "_waiting",
        "pacing",
    )

    def __init__(self, stream: Any, waiting: Waiting) -> None:
        self.pacing: Pacing = Pacing("task", "events")
        self._stream = stream
        self._waiting = waiting
        self._task: ReadingTask | None = None
        self._arrived: list[Any] = []
        self._ended: BaseException | None = None
        self._arrival: Signal | None = None
        self._room: Signal | None = None
        self._closed = False
        self._armed = False
        # A clock that is moved by hand stands for a stream in lockstep with its turn: what was
        # read before the move must be taken before it.
        self._moved = False
        self._ahead = 1 if is_moved_by_hand(waiting.clock) else _QUEUED_EVENTS
        self._unwatch: Callable[[], None] | None = None

    @property
    def started(self) -> bool:
        """Whether reading has begun."""
        return self._task is not None

    async def take(self) -> list[Any]:
        """All native events that have arrived; waits where there are none.

        Raises:
            Overdue: A deadline of the turn's clocks passed; waiting can go on.
            Exhausted: There is nothing more.
            BaseException: What the stream raised.
        """
        if not self._arrived:
            await self._wait()
            self._waiting.clocks.pause(self._waiting.clock())
        natives, self._arrived = self._arrived, []
        return natives

    async def _wait(self) -> None:
        if self._ended is not None:
            raise self._ended
        clocks = self._waiting.clocks
        clocks.wait(self._waiting.clock())
        task = self._task or self._start()
        if self._room is not None:
            self._room.set()
        while True:
            # Again each time: bytes that come just as the alarm goes off leave nothing to act on,
            # and the alarm must go off once more.
            if not self._armed or clocks.unproductive > clocks.slack:
                self._arm(task)
            self._arrival = arrival = task.signal()
            try:
                await arrival.wait()
            finally:
                self._arrival = None
            if self._moved or not (self._arrived or self._ended):
                self._moved = False
                if self._waiting.left() <= 0:
                    raise Overdue
            if self._arrived:
                return
            if self._ended is not None:
                raise self._ended

    def _start(self) -> ReadingTask:
        self._task = task = reading_task()
        self._unwatch = watch(self._waiting.clock, self._clock_moved)
        task.start(self._read, self._look)
        return task

    # Time

    def _arm(self, task: ReadingTask) -> None:
        """One timer a turn: it is left alone while events arrive, and looks again when it fires."""
        self._armed = True
        task.alarm(max(0.0, min(self._waiting.left(), self._waiting.clocks.shortest)))

    def _look(self) -> None:
        self._armed = False
        if self._arrival is None or self._task is None:
            return
        if self._waiting.left() <= 0:
            self._notify()
        else:
            self._arm(self._task)

    def _listen_to(self, stream: Any) -> None:
        """Hear the bytes of a stream, or of a response that a client's hook shows."""
        if tap(stream, self._waiting.hearing()):
            self.pacing = dataclasses.replace(self.pacing, hears="bytes")

    def _clock_moved(self) -> None:
        assert self._task is not None
        self._moved = True
        self._task.call_soon(self._notify)

    # Reading

    def _notify(self) -> None:
        arrival, self._arrival = self._arrival, None
        if arrival is not None:
            arrival.set()

    async def _read(self) -> None:
        assert self._task is not None
        listen(self._listen_to)
        try:
            await self._open_and_read(self._task)
            self._ended = Exhausted()
        except BaseException as error:
            self._ended = Exhausted() if self._closed else error
            if isinstance(error, self._task.cancelled):
                raise
        finally:
            self._notify()

    async def _open_and_read(self, task: ReadingTask) -> None:
        stream = self._stream
        if isinstance(stream, Opening):
            stream = stream()
        if inspect.isawaitable(stream):
            stream = await stream
        if hasattr(stream, "__aiter__") or not hasattr(stream, "__aenter__"):
            await self._read_from(stream, task)
        else:
            async with stream as inner:
                await self._read_from(inner, task)

    async def _read_from(self, stream: Any, task: ReadingTask) -> None:
        iterate = getattr(stream, "aiter_bytes", None) or getattr(stream, "__aiter__", None)
        iterator: AsyncIterator[Any]
        self._listen_to(stream)
        if iterate is None:
            self.pacing = dataclasses.replace(self.pacing, ended_by="thread")
            iterator = stream = ThreadedStream(stream, self._ahead, task.signal, task.call_soon)
        else:
            iterator = iterate()
        try:
            async for native in iterator:
                self._arrived.append(native)
                if self._arrival is not None:
                    self._notify()
                if len(self._arrived) >= self._ahead:
                    await self._pause(task)
                    if self._closed:
                        break
        finally:
            await _close(iterator, task)
            if iterator is not stream:
                await _close(stream, task)

    async def _pause(self, task: ReadingTask) -> None:
        """Until the turn has taken all that arrived and waits for more."""
        if self._closed:
            return
        self._room = room = task.signal()
        try:
            await room.wait()
        finally:
            self._room = None

    # Closing

    def tell(self, settler: object) -> None:
        """Tell the stream, where it asks for that, that its message has settled."""
        tell_settled(self._stream, settler)

    async def close(self) -> None:
        """End the task, the timer and the stream. May be called twice."""
        closing, self._closed = not self._closed, True
        task = self._task
        if task is None:
            if closing:
                await _close(self._stream, reading_task())
            return
        if closing:
            assert self._unwatch is not None
            self._unwatch()
            self._ahead = 0  # a stream that swallows its cancellation is stopped at its next event
            if self._room is not None:
                self._room.set()
            task.cancel(pausing=self._room is not None)
        await task.join()


async def _close(stream: Any, task: ReadingTask) -> None:
    # A generator that is left inside a cancel scope of its own must not be closed from within
    # another one; it can look after itself.
    with contextlib.nullcontext() if inspect.isasyncgen(stream) else task.shield():
        await close_quietly_awaiting(stream)
