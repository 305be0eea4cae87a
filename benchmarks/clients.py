"""The services' real clients over a transport in memory: no socket's time is in any figure.

What the transport answers looks like an open HTTP/1.1 connection, so that a turn finds what it
finds on a real one.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anthropic
import httpx2
import openai

_HEADERS: Final = {"content-type": "text/event-stream"}
_MESSAGES: Final[list[Any]] = [{"role": "user", "content": "go"}]

_ends = socket.socketpair()
"""Stands for the connection; nothing is ever read from it or written to it."""


class _Connection:
    """As much of httpcore's network stream as can be asked for."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        raise NotImplementedError

    def get_extra_info(self, info: str) -> Any:
        return _ends[0] if info == "socket" else None


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


class _Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        extensions = {"http_version": b"HTTP/1.1", "network_stream": _Connection()}
        stream = _Body(self._chunks)
        return httpx2.Response(
            200, headers=_HEADERS, stream=stream, extensions=extensions, request=request
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


def _anthropic(chunks: list[bytes]) -> anthropic.Anthropic:
    http_client = httpx2.Client(transport=_Transport(chunks))
    return anthropic.Anthropic(api_key="none", http_client=http_client)


def _async_anthropic(chunks: list[bytes]) -> anthropic.AsyncAnthropic:
    http_client = httpx2.AsyncClient(transport=_Transport(chunks))
    return anthropic.AsyncAnthropic(api_key="none", http_client=http_client)


def _openai(chunks: list[bytes]) -> openai.OpenAI:
    http_client = httpx2.Client(transport=_Transport(chunks))
    return openai.OpenAI(api_key="none", http_client=http_client)


def _async_openai(chunks: list[bytes]) -> openai.AsyncOpenAI:
    http_client = httpx2.AsyncClient(transport=_Transport(chunks))
    return openai.AsyncOpenAI(api_key="none", http_client=http_client)


@dataclass(frozen=True, slots=True)
class Client:
    """How a service's client is made and asked.

    Attributes:
        connect: Makes a client that is answered with these chunks.
        aconnect: The same, asynchronous.
        raw: Opens the plain stream of events (an awaitable of it on an asynchronous client).
        helper: Gives the context manager of the SDK's own accumulating stream.
        finish: What the helper is asked for at the end, by its method's name.
    """

    connect: Callable[[list[bytes]], Any]
    aconnect: Callable[[list[bytes]], Any]
    raw: Callable[[Any], Any]
    helper: Callable[[Any], Any]
    finish: str


CLIENTS: Final[Mapping[str, Client]] = {
    "anthropic": Client(
        _anthropic,
        _async_anthropic,
        lambda c: c.messages.create(model="m", max_tokens=99, messages=_MESSAGES, stream=True),
        lambda c: c.messages.stream(model="m", max_tokens=99, messages=_MESSAGES),
        "get_final_message",
    ),
    "openai-chat": Client(
        _openai,
        _async_openai,
        lambda c: c.chat.completions.create(model="m", messages=_MESSAGES, stream=True),
        lambda c: c.chat.completions.stream(model="m", messages=_MESSAGES),
        "get_final_completion",
    ),
    "openai-responses": Client(
        _openai,
        _async_openai,
        lambda c: c.responses.create(model="m", input="go", stream=True),
        lambda c: c.responses.stream(model="m", input="go"),
        "get_final_response",
    ),
}
"""By provider."""
