"""What can be reached of a stream's connection: its bytes, and a way to wake who reads it.

Works on any HTTP response that looks like httpx's, without importing httpx; says what it could do.
"""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, cast, final

_BASES: Final = ("SyncByteStream", "AsyncByteStream")
"""The names of the classes that a response checks its byte stream against."""


def tap(stream: Any, heard: Callable[[], None]) -> bool:
    """Be told of each chunk of bytes that a stream's connection gives, keep-alives included.

    What is read stays as it was. Does nothing where the bytes cannot be reached, or were begun.

    Args:
        stream: An SDK stream with a public `.response`, or an HTTP response.
        heard: Called, in the thread or task that reads, before each chunk is handed on.

    Returns:
        Whether the bytes will be heard.
    """
    response = getattr(stream, "response", stream)
    body = getattr(response, "stream", None)
    if body is None or getattr(response, "is_stream_consumed", True):
        return False
    bases = tuple(cls for cls in type(body).__mro__ if cls.__name__ in _BASES)
    if not bases:
        return False
    response.stream = _tapped_class(bases)(body, heard)
    return True


class _Tapped:
    """A byte stream that tells of each chunk; all else is the stream's own."""

    def __init__(self, body: Any, heard: Callable[[], None]) -> None:
        self._body = body
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        # SDKs keep an observer on the body, and the body knows how long it took.
        return getattr(self._body, name)


class _SyncTapped(_Tapped):
    def __iter__(self) -> Iterator[bytes]:
        heard = self._heard
        for chunk in self._body:
            heard()
            yield chunk

    def close(self) -> None:
        self._body.close()


class _AsyncTapped(_Tapped):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        heard = self._heard
        chunks = self._body.__aiter__()
        try:
            async for chunk in chunks:
                heard()
                yield chunk
        finally:
            # Left to the garbage collector, it would end at a time of its own.
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    async def aclose(self) -> None:
        await self._body.aclose()


@functools.cache
def _tapped_class(bases: tuple[type, ...]) -> Callable[[Any, Callable[[], None]], Any]:
    """A class that passes for what the response expects of its byte stream."""
    ours = tuple(
        tapped
        for name, tapped in zip(_BASES, (_SyncTapped, _AsyncTapped), strict=True)
        if any(base.__name__ == name for base in bases)
    )
    return cast("Callable[..., Any]", type("Tapped", (*ours, *bases), {}))


@final
class Connection:
    """The open HTTP/1.1 connection of a response that is being read.

    Args:
        response: The response.
        plain: Its socket.
    """

    def __init__(self, response: Any, plain: socket.socket) -> None:
        self._response = response
        self._plain = plain

    def shut_down(self) -> None:
        """Wake a read that is blocked on the connection; the reader sees it end."""
        # A response that is over has given its connection back: it may be another request's now.
        if getattr(self._response, "is_closed", False):
            return
        # The plain socket's method: a TLS socket's own would tear its state away from the reader.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._plain, socket.SHUT_RDWR)


def connection_of(stream: Any) -> Connection | None:
    """The connection by which a blocked read can be woken, or `None` where there is none.

    Only for HTTP/1.1: an HTTP/2 connection is shared with other requests.

    Args:
        stream: An SDK stream with a public `.response`, or an HTTP response.
    """
    response = getattr(stream, "response", stream)
    extensions = getattr(response, "extensions", None)
    if not isinstance(extensions, dict):
        return None
    facts = cast("dict[str, Any]", extensions)
    network, version = facts.get("network_stream"), facts.get("http_version")
    if network is None or version not in (b"HTTP/1.1", b"HTTP/1.0"):
        return None
    plain = network.get_extra_info("socket")
    return Connection(response, plain) if isinstance(plain, socket.socket) else None
