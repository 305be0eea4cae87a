"""The open connection of a stream: bounds its reads, and wakes whoever is blocked in one.

Works on any HTTP response that looks like httpx's, without importing httpx.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, final

if TYPE_CHECKING:
    import socket

_SHORTEST: Final = 0.001
"""Seconds that a read may last at least: none at all would ask a socket not to wait, which is
another thing."""


class _Read(Protocol):
    """The `read` of the network streams of httpcore, which its documents describe."""

    def __call__(self, max_bytes: int, timeout: float | None = None) -> bytes: ...


@final
class _LimitedRead:
    """Stands before the `read` of a network stream, while one response is read from it.

    Args:
        network: The network stream.
        response: The response. Once it is closed, its connection may be another request's.
        left: Seconds that a read may last from now on, by the turn's clock; infinity for ever.

    Attributes:
        found: What else stood there before, if anything did.
    """

    __slots__ = ("_left", "_read", "_response", "found")

    def __init__(self, network: Any, response: Any, left: Callable[[], float]) -> None:
        found = _own_read(network)
        self._read: _Read = network.read
        if type(found) is _LimitedRead:  # of the turn before on this connection: nobody closed it
            found, self._read = found.found, found._read
        self.found: Final[Any] = found
        self._response = response
        self._left = left

    def __call__(self, max_bytes: int, timeout: float | None = None) -> bytes:
        allowed = math.inf if timeout is None else timeout
        while True:
            left = math.inf if _is_closed(self._response) else self._left()
            if left >= allowed:
                return self._read(max_bytes, None if allowed == math.inf else allowed)
            if left <= 0:  # however much is there to be read: it would go on for ever
                raise TimeoutError("a limit of the turn has passed")
            given = max(left, _SHORTEST)
            try:
                return self._read(max_bytes, given)
            except Exception as error:
                # A read that timed out took nothing. The turn's clock may be another than the
                # system's: only where it says so, too, the time is over.
                if not _is_timeout(error) or self._left() <= 0:
                    raise
            allowed = max(allowed - given, _SHORTEST)


def _own_read(network: Any) -> Any:
    """The `read` that was put on a network stream, `None` where it has only that of its class."""
    return cast("dict[str, Any]", vars(network)).get("read")


def _is_timeout(error: Exception) -> bool:
    """Whether a read took too long, by the words of httpcore and of Python."""
    return any(base.__name__ in ("ReadTimeout", "TimeoutError") for base in type(error).__mro__)


@final
class Connection:
    """The open HTTP/1.1 connection of a response that is being read.

    Args:
        response: The response.
        network: Its network stream, as httpcore calls it.
        plain: Its socket.
    """

    def __init__(self, response: Any, network: Any, plain: socket.socket) -> None:
        self._response = response
        self._network = network
        self._plain = plain
        self._limited: _LimitedRead | None = None

    def limit_reads(self, left: Callable[[], float]) -> None:
        """From now on, let each read of the response end in time, as if by its own read timeout.

        A client reads its own timeout once for a whole body, so that it could follow neither the
        phases of a message nor what was waited in vain. The one that each read is given can.

        Args:
            left: Asked before each read: the seconds that it may last; infinity for ever. Where
                none are left, the read raises `TimeoutError`.
        """
        self._limited = _LimitedRead(self._network, self._response, left)
        self._network.read = self._limited

    def release(self) -> None:
        """Leave the connection as it was found. May be called twice, or for nothing."""
        limited = self._limited
        if limited is None or _own_read(self._network) is not limited:
            return
        if limited.found is None:
            del self._network.read
        else:
            self._network.read = limited.found

    def shut_down(self) -> None:
        """Wake a read that is blocked on the connection; the reader sees it end."""
        # A response that is over has given its connection back: it may be another request's now.
        if _is_closed(self._response):
            return
        import socket

        # The plain socket's method: a TLS socket's own would tear its state away from the reader.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._plain, socket.SHUT_RDWR)


def connection_of(stream: Any) -> Connection | None:
    """The connection by which reads can be bounded and woken, or `None` where there is none.

    Only for HTTP/1.1: an HTTP/2 connection is shared with other requests.

    Args:
        stream: An SDK stream with a public `.response`, or an HTTP response.
    """
    response = getattr(stream, "response", stream)
    extensions = getattr(response, "extensions", None)
    if not isinstance(extensions, dict):
        return None
    facts = cast("dict[str, Any]", extensions)
    network: Any = facts.get("network_stream")
    version = facts.get("http_version")
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or not _can_be_limited(network):
        return None
    import socket  # whoever has a connection has loaded it already

    plain = network.get_extra_info("socket")
    return Connection(response, network, plain) if isinstance(plain, socket.socket) else None


def _can_be_limited(network: Any) -> bool:
    return callable(getattr(network, "read", None)) and hasattr(network, "__dict__")


def _is_closed(response: Any) -> bool:
    return bool(getattr(response, "is_closed", False))
