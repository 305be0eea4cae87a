"""Hears the bytes that a stream's connection gives, the keep-alives that SDKs swallow included.

Works on any HTTP response that looks like httpx's, without importing httpx; says what it could do.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

_BASES: Final = ("SyncByteStream", "AsyncByteStream")
"""The names of the classes that a response checks its byte stream against."""

_DONE: Final = b"data: [DONE]\n\n"
"""The last event of services that have no better one. SDKs close the response as they see it, and
with it the connection, unless the end of the body was read before."""

_REST: Final = 16
"""Chunks to read after it."""


def tap(
    stream: Any,
    heard: Callable[[], None],
    *,
    waits: Callable[[], None] | None = None,
    ended: Callable[[], None] | None = None,
) -> bool:
    """Be told of each chunk of bytes that a stream's connection gives, keep-alives included.

    What is read stays as it was. Does nothing where the bytes cannot be reached, or were begun.

    Args:
        stream: An SDK stream with a public `.response`, or an HTTP response.
        heard: Called, in the thread or task that reads, before each chunk is handed on.
        waits: Called there before each chunk is read. Synchronous streams only.
        ended: Called before the end of the body is read that follows an SDK's `[DONE]`; it must
            bound the wait for it. `None` reads it only as the SDK does. Synchronous streams only.

    Returns:
        Whether the bytes will be heard.
    """
    response = getattr(stream, "response", stream)
    body = getattr(response, "stream", None)
    if body is None or getattr(response, "is_stream_consumed", True):
        return False
    tapped_class = _tapped_class(body.__class__)
    fields = getattr(body, "__dict__", None)
    if tapped_class is None or fields is None:
        return False
    # The same body in all but its class, so that what SDKs keep on it, and ask of it at every
    # event, is found where it was and as fast.
    tapped = tapped_class.__new__(tapped_class)
    tapped.__dict__ = fields
    tapped.heard = heard
    tapped.waits = waits or _nothing
    tapped.ended = None if response is stream else ended
    response.stream = tapped
    return True


@functools.cache
def _tapped_class(kind: Any) -> Any:
    """A class of byte streams that tell of each chunk; `None` where the class is none of those."""
    names = {base.__name__ for base in kind.__mro__}
    tapped: dict[str, Any] = {"__slots__": ("ended", "heard", "waits")}
    if _BASES[0] in names:
        tapped["__iter__"] = _telling(kind.__iter__)
    if _BASES[1] in names:
        tapped["__aiter__"] = _telling_asynchronously(kind.__aiter__)
    return type("Tapped", (kind,), tapped) if len(tapped) > 1 else None


def _telling(iterate: Callable[[Any], Iterator[bytes]]) -> Callable[[Any], Iterator[bytes]]:
    def telling(self: Any) -> Iterator[bytes]:
        heard, waits, ended = self.heard, self.waits, self.ended
        chunks = iter(iterate(self))
        waits()
        for chunk in chunks:
            heard()
            if ended is not None and chunk.endswith(_DONE):
                yield chunk[: -len(_DONE)]
                ended()
                yield _DONE + _rest_of(chunks)
            else:
                yield chunk
            waits()

    return telling


def _nothing() -> None:
    return None


def _rest_of(chunks: Iterator[bytes]) -> bytes:
    rest = b""
    with contextlib.suppress(Exception):  # the message was over before
        for chunk in itertools.islice(chunks, _REST):
            rest += chunk
    return rest


def _telling_asynchronously(
    iterate: Callable[[Any], AsyncIterator[bytes]],
) -> Callable[[Any], AsyncIterator[bytes]]:
    async def telling(self: Any) -> AsyncIterator[bytes]:
        heard = self.heard
        chunks = iterate(self)
        try:
            async for chunk in chunks:
                heard()
                yield chunk
        finally:
            # Left to the garbage collector, it would end at a time of its own.
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    return telling
