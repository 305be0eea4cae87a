"""Takes what a caller holds for a synchronous stream, or says what it is instead and what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from finalcall.narrow import is_mapping

TEXT_GIVEN: Final = (
    "text was given; expected bytes or dicts: use iter_bytes(), not iter_text() or iter_lines()"
)
"""What to say of text: where it was cut into lines, their borders cannot be had back."""


def whole(stream: Any) -> Any:
    """Take a response that is there whole for a stream of one chunk.

    Args:
        stream: Whatever the caller holds.

    Returns:
        A list with the bytes, or what was given.

    Raises:
        TypeError: It is a single event, or text.
    """
    if is_mapping(stream):
        raise TypeError("a single event was given; expected an iterable of events: wrap it in []")
    if isinstance(stream, str):
        raise TypeError(TEXT_GIVEN)
    return [bytes(stream)] if isinstance(stream, bytes | bytearray) else stream


def iterate_of(stream: Any) -> Callable[[], Iterator[Any]]:
    """What makes the iterator of a stream's events, or of a response's bytes.

    Args:
        stream: Whatever the caller holds, opened where it is a context manager.

    Raises:
        TypeError: It is nothing that can be iterated here; the message says what to do.
    """
    iterate = getattr(stream, "iter_bytes", None) or getattr(stream, "__iter__", None)
    if not callable(iterate):
        raise TypeError(_not_iterable(stream))
    return cast("Callable[[], Iterator[Any]]", iterate)


def _not_iterable(stream: Any) -> str:
    if inspect.isroutine(stream):
        return (
            f"{stream.__qualname__} is a function, and no stream: call it, or let the turn make "
            "the request with open()"
        )
    found = f"{type(stream).__module__}.{type(stream).__qualname__}"
    if hasattr(stream, "__aiter__") or hasattr(stream, "__await__"):
        return f"{found} is asynchronous; wrap it in AsyncTurn, or settle it with asettle()"
    return (
        f"{found} is not a stream: expected an SDK stream (was stream=True passed?), an iterable "
        "of its events, dicts or bytes, or a context manager of one"
    )
