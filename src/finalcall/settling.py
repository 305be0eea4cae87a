"""The shortest way: settle a whole stream and read the turn, for people without a screen."""

from __future__ import annotations

from typing import Any, Unpack

from finalcall.aio import AsyncTurn
from finalcall.pacing import PacingChoice
from finalcall.sources.closing import close_quietly_awaiting
from finalcall.tools import ToolsLike
from finalcall.turn import Turn, TurnOptions


def settle(
    stream: Any,
    *,
    tools: ToolsLike | None,
    pacing: PacingChoice = "auto",
    **options: Unpack[TurnOptions],
) -> Turn:
    """Read a stream to its end.

    Args:
        stream: What `Turn` takes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        pacing: See `Turn`.
        options: See `Turn`.

    Returns:
        The ended turn: branch on its `verdict`.

    Raises:
        Exception: What iterating a `Turn` raises; `raises=False` turns that off.
    """
    with Turn(stream, tools=tools, pacing=pacing, **options) as turn:
        for _ in turn:
            pass
    return turn


async def asettle(
    stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]
) -> AsyncTurn:
    """Read a stream to its end, in asyncio or trio.

    Args:
        stream: What `AsyncTurn` takes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        options: See `AsyncTurn`.

    Returns:
        The ended turn: branch on its `verdict`.

    Raises:
        Exception: What iterating an `AsyncTurn` raises; `raises=False` turns that off.
    """
    try:
        made = AsyncTurn(stream, tools=tools, **options)
    except BaseException:
        await close_quietly_awaiting(stream)  # nobody else can, where it was opened within the call
        raise
    async with made as turn:
        async for _ in turn:
            pass
    return turn
