"""What is reached of a connection: bytes are heard unchanged, and only its own read is woken."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx
import httpx2
import pytest

from finalcall.sources.hooks import ahear, hear, listen
from finalcall.sources.transport import tap
from finalcall.testing import FaultServer, Script, Send
from tests.messages import CLEAN, to_sse

CHUNKS = [to_sse([event]) for event in CLEAN]
BODY = b"".join(CHUNKS)
SCRIPT = Script(tuple(Send(chunk) for chunk in CHUNKS))

LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


@LIBRARIES
def test_bytes_are_heard_and_read_as_they_were(library: Any) -> None:
    """Each chunk once, before it is handed on; the response can still say how long it took."""
    heard: list[bool] = []
    with (
        FaultServer(SCRIPT) as server,
        library.Client() as client,
        client.stream("POST", server.base_url) as response,
    ):
        assert tap(response, lambda: heard.append(True))
        assert b"".join(response.iter_bytes()) == BODY
        assert not tap(response, lambda: None)
    assert 1 <= len(heard) <= len(CHUNKS)
    assert response.is_closed
    assert response.elapsed.total_seconds() > 0


@LIBRARIES
async def test_bytes_are_heard_and_read_as_they_were_asynchronously(library: Any) -> None:
    """The same."""
    heard: list[bool] = []
    with FaultServer(SCRIPT) as server:
        async with (
            library.AsyncClient() as client,
            client.stream("POST", server.base_url) as response,
        ):
            assert tap(response, lambda: heard.append(True))
            assert b"".join([chunk async for chunk in response.aiter_bytes()]) == BODY
    assert 1 <= len(heard) <= len(CHUNKS)
    assert response.is_closed
    assert response.elapsed.total_seconds() > 0


@LIBRARIES
def test_a_body_for_both_kinds_of_client_stays_one(library: Any) -> None:
    """What a transport in memory answers can be read either way, and is."""
    heard: list[bool] = []

    def respond() -> Any:
        response = library.Response(200, content=b"abc")
        del response._content
        response.is_stream_consumed = False
        response.is_closed = False
        assert tap(response, lambda: heard.append(True))
        return response

    assert b"".join(respond().iter_raw()) == b"abc"

    async def read() -> bytes:
        return b"".join([chunk async for chunk in respond().aiter_raw()])

    assert asyncio.run(read()) == b"abc"
    assert heard == [True, True]


@LIBRARIES
async def test_a_reader_that_leaves_early_closes_what_it_was_reading(library: Any) -> None:
    """As without a tap: the body's own iterator is ended, and not left to the collector."""
    ended: list[str] = []

    class Body(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            try:
                yield from CHUNKS
            finally:
                ended.append("iterator")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                for chunk in CHUNKS:
                    yield chunk
            finally:
                ended.append("async iterator")

        def close(self) -> None:
            ended.append("body")

        async def aclose(self) -> None:
            ended.append("async body")

    response = library.Response(200, stream=Body())
    tap(response, lambda: None)
    reading = iter(response.stream)
    assert next(reading) == CHUNKS[0]
    reading.close()
    response.close()
    assert ended == ["iterator", "body"]

    response = library.Response(200, stream=Body())
    tap(response, lambda: None)
    areading = response.stream.__aiter__()
    assert await anext(areading) == CHUNKS[0]
    await areading.aclose()
    await response.aclose()
    assert ended[2:] == ["async iterator", "async body"]


async def test_an_iterator_that_cannot_be_closed_is_read_all_the_same() -> None:
    """A body need not be a generator."""

    class Chunks:
        def __init__(self) -> None:
            self.left = list(CHUNKS)

        def __aiter__(self) -> Chunks:
            return self

        async def __anext__(self) -> bytes:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    class Body(httpx.AsyncByteStream):
        def __aiter__(self) -> Any:
            return Chunks()

    response = httpx.Response(200, stream=Body())
    assert tap(response, lambda: None)
    assert b"".join([chunk async for chunk in response.aiter_bytes()]) == BODY


@pytest.mark.parametrize(
    "stream",
    [
        object(),
        [1],
        SimpleNamespace(response=None),
        SimpleNamespace(stream=[b"x"]),
        SimpleNamespace(stream=[b"x"], is_stream_consumed=True),
        SimpleNamespace(stream=[b"x"], is_stream_consumed=False),
        httpx.Response(200, content=b"read already"),
    ],
    ids=[
        "a bare object",
        "a list",
        "no response",
        "no bytes",
        "read",
        "begun unseen",
        "read already",
    ],
)
def test_what_has_no_bytes_to_hear_is_left_alone(stream: Any) -> None:
    """A list, a stream without a response, a body that is nobody's, one that was begun."""
    before = dict(getattr(stream, "__dict__", {}))
    assert not tap(stream, lambda: None)
    assert dict(getattr(stream, "__dict__", {})) == before


@pytest.mark.parametrize("helper", [False, True], ids=["raw", "helper"])
def test_an_sdk_reads_what_it_read_before(helper: bool) -> None:
    """Its own observer of the body is still found; events and ending are the same."""
    with (
        FaultServer(SCRIPT) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none") as client,
    ):
        kinds: list[list[str]] = []
        for tapped in (False, True):
            messages: Any = client.messages
            opened = messages.stream if helper else messages.create
            request = {"model": "m", "max_tokens": 9, "messages": []}
            with opened(**request, **({} if helper else {"stream": True})) as stream:
                assert not tapped or tap(stream, lambda: None)
                kinds.append([event.type for event in stream])
            assert stream.response.is_closed
    assert kinds[0] == kinds[1]


# Hooks


@LIBRARIES
async def test_a_hook_shows_each_response_to_who_listens(library: Any) -> None:
    """And to nobody where nobody does; the listening is the thread's or the task's own."""
    found: list[Any] = []

    def answer(_: Any) -> Any:
        return library.Response(200, content=b"x")

    def listening() -> None:
        listen(found.append)
        with library.Client(transport=transport, event_hooks={"response": [hear]}) as client:
            client.get("http://x")

    async def alistening() -> None:
        listen(found.append)
        hooks = {"response": [ahear]}
        async with library.AsyncClient(transport=transport, event_hooks=hooks) as client:
            await client.get("http://x")

    transport = library.MockTransport(answer)
    contextvars.copy_context().run(listening)
    await asyncio.create_task(alistening())
    assert [type(one) for one in found] == [library.Response] * 2
    hear(library.Response(200))
    assert len(found) == 2
