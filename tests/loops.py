"""Runs the same test under asyncio and under trio, and cancels as each of them does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import trio

Result = TypeVar("Result")

LOOPS: Final = ("asyncio", "trio")


def run(loop: str, main: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
    """Run an asynchronous function, and check that nothing of a turn outlives it."""

    async def checked() -> Result:
        result = await main(*arguments)
        assert tasks_of_turns(loop) == []
        return result

    result = anyio.run(checked, backend=loop)
    for thread in threading.enumerate():
        if "finalcall" in thread.name:
            thread.join(10)
            assert not thread.is_alive()
    return result


def tasks_of_turns(loop: str) -> list[str]:
    """The names of the tasks that turns have begun and not ended."""
    if loop == "asyncio":
        names = [task.get_name() for task in asyncio.all_tasks()]
    else:
        root, names = trio.lowlevel.current_root_task(), []
        waiting = [] if root is None else [root]
        while waiting:
            task = waiting.pop()
            names.append(task.name)
            waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return [name for name in names if "finalcall" in name]


async def _cancel_task(body: Callable[[], Awaitable[object]], when: anyio.Event) -> None:
    task = asyncio.ensure_future(body())
    await when.wait()
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def _cancel_scope(body: Callable[[], Awaitable[object]], when: anyio.Event) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(body)
        await when.wait()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()


CANCELLATIONS: Final[Mapping[str, tuple[str, Callable[..., Awaitable[None]]]]] = {
    "asyncio": ("asyncio", _cancel_task),
    "anyio on asyncio": ("asyncio", _cancel_scope),
    "trio": ("trio", _cancel_scope),
}
"""By name: the loop, and what runs a function and cancels it once an event is set.

asyncio delivers a cancellation once; a scope of anyio or trio delivers it again at every wait.
"""
