"""What a turn's reader needs of trio. Imported when a turn begins in a trio task."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, ClassVar, final

import trio


@final
class TrioTask:
    """The reading task of one turn. `ReadingTask` says what its methods do.

    It is a system task: the turn needs no nursery of its caller's, and what happens to it stays
    its own. It ends at the latest with the run.

    Args:
        clean_up: Seconds that a stream may take to close.
    """

    cancelled: ClassVar[type[BaseException]] = trio.Cancelled

    def __init__(self, clean_up: float) -> None:
        self._clean_up = clean_up
        self._token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()
        self._alarm = trio.CancelScope()
        self._ended = trio.Event()

    def start(
        self, read: Callable[[], Coroutine[Any, Any, None]], look: Callable[[], None]
    ) -> None:
        """Start the task, with the caller's context variables."""
        trio.lowlevel.spawn_system_task(
            self._run, read, look, name="finalcall-reader", context=contextvars.copy_context()
        )

    async def _run(
        self, read: Callable[[], Coroutine[Any, Any, None]], look: Callable[[], None]
    ) -> None:
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watch, look, name="finalcall-idle-limit")
                    await read()
                    nursery.cancel_scope.cancel()
        finally:
            self._ended.set()

    async def _watch(self, look: Callable[[], None]) -> None:
        while True:
            with self._alarm:
                await trio.sleep_forever()
            self._alarm = trio.CancelScope()
            look()

    def alarm(self, seconds: float) -> None:
        """Move the deadline of the turn's one timer."""
        self._alarm.deadline = trio.current_time() + seconds

    def signal(self) -> trio.Event:
        """A new event."""
        return trio.Event()

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call it in the run; a run that is over has nobody who listens."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call)

    def cancel(self, *, pausing: bool) -> None:
        """Cancel the task, or give it a deadline where it ends by itself."""
        if pausing:
            self._scope.deadline = trio.current_time() + self._clean_up
        else:
            self._scope.cancel()

    async def join(self) -> None:
        """Wait for the task's end; a cancellation is raised at the caller's next checkpoint."""
        with trio.CancelScope(shield=True):
            await self._ended.wait()

    def shield(self) -> AbstractContextManager[object]:
        """A cancel scope that lets nothing in but its own deadline."""
        return trio.move_on_after(self._clean_up, shield=True)
