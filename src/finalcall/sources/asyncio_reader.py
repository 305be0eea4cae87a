"""What a turn's reader needs of asyncio. Imported when a turn begins in an asyncio task."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, ClassVar, final


@final
class _Signal:
    """What `asyncio.Event` is for one task that waits once, in a tenth of the memory."""

    __slots__ = ("_future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._future = loop.create_future()

    def set(self) -> None:
        """Let whoever waits go on."""
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._future


@final
class AsyncioTask:
    """The reading task of one turn. `ReadingTask` says what its methods do.

    Args:
        clean_up: Seconds that a stream may take to close.
    """

    cancelled: ClassVar[type[BaseException]] = asyncio.CancelledError

    def __init__(self, clean_up: float) -> None:
        self._clean_up = clean_up
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._look: Callable[[], None] | None = None

    def start(
        self, read: Callable[[], Coroutine[Any, Any, None]], look: Callable[[], None]
    ) -> None:
        """Start the task."""
        self._look = look
        self._task = self._loop.create_task(read(), name="finalcall-reader")

    def alarm(self, seconds: float) -> None:
        """Set the turn's one timer."""
        assert self._look is not None
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._look)

    def signal(self) -> _Signal:
        """A new signal."""
        return _Signal(self._loop)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call it in the loop; a loop that is closed has nobody who listens."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def cancel(self, *, pausing: bool) -> None:
        """Cancel the task, unless it ends by itself; and (again) once the clean-up lasts long."""
        assert self._task is not None
        assert self._timer is not None
        if not pausing:
            self._task.cancel()
        self._timer.cancel()
        self._timer = self._loop.call_later(self._clean_up, self._task.cancel)

    async def join(self) -> None:
        """Wait for the task's end; a cancellation that comes meanwhile is raised after it.

        It may come again and again: scopes of anyio cancel who stays in them in every turn of the
        loop. To pass it on would disturb the clean-up.
        """
        assert self._task is not None
        assert self._timer is not None
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:
                cancelled = error
        self._timer.cancel()
        if cancelled is not None:
            raise cancelled

    def shield(self) -> AbstractContextManager[object]:
        """Nothing: a cancellation is delivered once, so that a clean-up after it can wait."""
        return contextlib.nullcontext()
