"""Closes whatever a stream is, where it can be closed; one that asks for it is told first."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, cast


def tell_settled(stream: Any, settler: object) -> None:
    """Tell a stream that its message has settled, where its class asks for that.

    Args:
        stream: Whatever the caller of a turn holds. A recorded one writes how its turn ended.
        settler: What the turn knows.
    """
    # Of the class, for a stream that stands for another one passes on what that one has.
    kind = cast("Any", type(stream))
    told = getattr(kind, "finalcall_settled", None)
    if told is not None:
        told(stream, settler)


def close_if_possible(stream: Any) -> None:
    """Call `close()` where there is one."""
    close = getattr(stream, "close", None)
    if callable(close):
        close()


def close_quietly(stream: Any) -> None:
    """Close a stream whose own exception, if it raised one, must not be replaced."""
    with contextlib.suppress(Exception):
        close_if_possible(stream)


def close_without_waiting(stream: Any) -> None:
    """The same for a stream that stays open where its closing would have to be awaited."""
    close = getattr(stream, "close", None)
    if callable(close):
        with contextlib.suppress(Exception):
            closing: Any = close()
            if inspect.iscoroutine(closing):
                closing.close()  # nothing of it has run


async def close_quietly_awaiting(stream: Any) -> None:
    """The same for a stream whose closing may have to be awaited."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if callable(close):
        with contextlib.suppress(Exception):
            closing: Any = close()
            if inspect.isawaitable(closing):
                await closing
