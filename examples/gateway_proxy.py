"""A gateway: hands a provider's stream on byte for byte, and settles its calls beside it.

    UPSTREAM=https://api.anthropic.com uvicorn --factory gateway_proxy:create_app

Point a client's base URL at it. Only as much is read from the provider as the client takes, and a
client that leaves settles every open call as cancelled and closes the provider's stream.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from finalcall import CallSettled, Cause, RefusedStream, Settler, UnrecognisedStream

SILENCE = 60.0  # seconds without a byte after which the provider is given up

OWN_HEADERS = frozenset(
    {"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding"}
)
"""What each of the two connections says of itself."""


class Relay(StreamingResponse):
    """An answer of the provider, handed on as it comes."""

    def __init__(self, answer: httpx.Response, settler: Settler) -> None:
        super().__init__(self._chunks(), answer.status_code, passed_on(answer.headers))
        self._answer = answer
        self._settler = settler

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.aiter_raw():
                # What is no model's stream is handed on all the same.
                with contextlib.suppress(RefusedStream, UnrecognisedStream):
                    self._settler.feed(chunk, time.monotonic())
                yield chunk
        except httpx.TimeoutException as error:
            self._settler.end(Cause.IDLE, error)
            raise  # the client's stream is cut too, as the provider's was
        except httpx.TransportError as error:
            self._settler.end(Cause.DISCONNECTED, error)
            raise
        self._settler.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the client; however that ends, every call is settled."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._settler.end(Cause.CANCELLED)  # does nothing where the message has ended
            await self._answer.aclose()


def passed_on(headers: Any) -> dict[str, str]:
    """The headers that go from one connection to the other."""
    return {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}


def offered_tools(body: bytes) -> Any:
    """The tools of a request, so that its calls are checked against them."""
    with contextlib.suppress(ValueError):
        request = json.loads(body)
        return request.get("tools") if isinstance(request, dict) else None
    return None


def show(event: CallSettled) -> None:
    """Tell what became of a call: here a log or a metric of yours would be told."""
    print(event.outcome)


def create_app(
    upstream: str | None = None, told: Callable[[CallSettled], object] = show
) -> Starlette:
    """Make the gateway.

    Args:
        upstream: The provider's base URL; by default the environment's `UPSTREAM`.
        told: Called once a call, whatever ends its stream.
    """

    @contextlib.asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        base_url = upstream or os.environ["UPSTREAM"]
        timeout = httpx.Timeout(10.0, read=SILENCE)
        async with httpx.AsyncClient(base_url=base_url, timeout=timeout) as client:
            app.state.client = client
            yield

    async def forward(request: Request) -> Relay:
        client: httpx.AsyncClient = request.app.state.client
        body = await request.body()
        headers = passed_on(request.headers) | {"accept-encoding": "identity"}
        url = httpx.URL(path=request.url.path, query=request.url.query.encode())
        sent = client.build_request(request.method, url, headers=headers, content=body)
        # Nobody waits here for bytes, so the idle clock is the transport's.
        settler = Settler(tools=offered_tools(body), idle_timeout=None, on_settled=told)
        return Relay(await client.send(sent, stream=True), settler)

    methods = ["DELETE", "GET", "PATCH", "POST", "PUT"]
    return Starlette(routes=[Route("/{path:path}", forward, methods=methods)], lifespan=connected)
