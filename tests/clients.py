"""The providers' real clients, pointed at the loopback server that replays a recording.

One row a dialect: how to open its streams, every way the client offers. A client may drop what the
wire carries; `DIFFERENCES` lists by dialect and way what does not reach the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anthropic

from finalcall import AsyncTurn, Turn
from finalcall.testing import FaultServer
from tests.streams import Case, outcomes_of

MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100_000,
    "messages": [{"role": "user", "content": "go"}],
}

Open = Callable[[str], Any]
OpenAsync = Callable[[str], "Awaitable[Any] | Any"]


def _anthropic(base_url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0)


def _async_anthropic(base_url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=base_url, api_key="none", max_retries=0)


CLIENTS: Mapping[str, Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Any]]]] = {
    "anthropic": {
        "raw": (_anthropic, lambda client: client.messages.create(stream=True, **MESSAGES)),
        "helper": (_anthropic, lambda client: client.messages.stream(**MESSAGES)),
        "beta": (_anthropic, lambda client: client.beta.messages.create(stream=True, **MESSAGES)),
        "beta helper": (_anthropic, lambda client: client.beta.messages.stream(**MESSAGES)),
        "async raw": (
            _async_anthropic,
            lambda client: client.messages.create(stream=True, **MESSAGES),
        ),
        "async helper": (_async_anthropic, lambda client: client.messages.stream(**MESSAGES)),
    },
}
"""By dialect, by way: the client, and the stream it opens."""

DIFFERENCES: Mapping[tuple[str, str], str] = {
    ("anthropic", "helper"): "raises on an event it cannot build a snapshot from",
    ("anthropic", "beta helper"): "raises on an event it cannot build a snapshot from",
    ("anthropic", "async helper"): "raises on an event it cannot build a snapshot from",
}
"""Where a client gives less than the wire: the helpers keep a snapshot that some streams break."""


def check_client(case: Case) -> int:
    """Every way of a dialect's client gives the outcomes of the wire, or raises where listed."""
    dialect = case.recording.header["dialect"]
    expected = case.expected()
    for way, (connect, open_stream) in CLIENTS[dialect].items():
        with FaultServer(case.recording.to_script("sse")) as server:
            turn = _run(way, server.base_url, connect, open_stream, case.tools())
        raised = turn.ending is not None and turn.ending.exception is not None
        if raised and (dialect, way) in DIFFERENCES:
            assert all(settled[2] == "abandoned" for settled in outcomes_of(turn)), (case.name, way)
            continue
        assert outcomes_of(turn) == expected, (case.name, way)
    return len(CLIENTS[dialect])


def _run(
    way: str,
    base_url: str,
    connect: Callable[[str], Any],
    open_stream: Callable[[Any], Any],
    tools: Any,
) -> Turn | AsyncTurn:
    if not way.startswith("async"):
        with connect(base_url) as client:
            with Turn(open_stream(client), tools=tools, choices="all", raises=False) as turn:
                for _ in turn:
                    pass
            return turn

    async def run() -> AsyncTurn:
        async with connect(base_url) as client:
            stream = open_stream(client)
            async with AsyncTurn(stream, tools=tools, choices="all", raises=False) as turn:
                async for _ in turn:
                    pass
            return turn

    return asyncio.run(run())
