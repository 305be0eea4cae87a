"""Turns that are left in the middle, as a person who goes away or a server that gives up does."""

from __future__ import annotations

import asyncio

from finalcall.aio import AsyncTurn
from finalcall.events import Event
from finalcall.turn import Turn


def cancel_after(turn: Turn, events: int) -> list[Event]:
    """Read a turn's first events, then leave its block, as a loop does with `break`.

    Args:
        turn: A turn that was not read yet.
        events: How many events; a turn that has fewer comes to its own end.

    Returns:
        The events that came. The turn has ended then, and all its calls are settled.

    Raises:
        Exception: What the turn raises, where it ends before.
    """
    came: list[Event] = []
    with turn:
        if events > 0:
            for event in turn:
                came.append(event)
                if len(came) >= events:
                    break
    return came


async def acancel_after(turn: AsyncTurn, events: int) -> list[Event]:
    """Read a turn's first events in a task, then cancel the task, as a server does.

    Needs asyncio. A turn that has fewer events comes to its own end.

    Args:
        turn: A turn that was not read yet.
        events: How many events.

    Returns:
        The events that came. The turn has ended then, and all its calls are settled.

    Raises:
        Exception: What the turn raises, where it ends before.
    """
    came: list[Event] = []

    async def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def read() -> None:
        async with turn:
            if events <= 0:
                await cancel()
            async for event in turn:
                came.append(event)
                if len(came) == events:
                    await cancel()

    task = asyncio.ensure_future(read())
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
    return came
