"""The shortest way: settle a whole stream and read the turn, for people without a screen."""

from __future__ import annotations

from typing import Any, Unpack

from finalcall.aio import AsyncTurn
from finalcall.tools import ToolsLike
from finalcall.turn import Turn, TurnOptions


def settle(stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]) -> Turn:
    """Read a stream to its end.

    Args:
        stream: What `Turn` takes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        options: See `Turn`.

    Returns:
        The ended turn: branch on its `verdict`.

    Raises:
        Exception: What iterating a `Turn` raises; `raises=False` turns that off.
    """
    with Turn(stream, tools=tools, **options) as turn:
        for _ in turn:
            pass
    return turn


async def asettle(
    stream: Any, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]
) -> AsyncTurn:
    """Read a stream to its end, in asyncio.

    Args:
        stream: What `AsyncTurn` takes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        options: See `AsyncTurn`.

    Returns:
        The ended turn: branch on its `verdict`.

    Raises:
        Exception: What iterating an `AsyncTurn` raises; `raises=False` turns that off.
    """
    async with AsyncTurn(stream, tools=tools, **options) as turn:
        async for _ in turn:
            pass
    return turn
