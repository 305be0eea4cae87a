"""The gateway runs as it stands: a real server between a real client and a scripted provider."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx
import pytest
import uvicorn

from finalcall import CallSettled, Cause, Dispatchable, Failed, Outcome, SchemaError, Turn
from finalcall.testing import FAULTS, FaultServer, Reply, Script, Send
from tests.example_scripts import example

TICKET = {"title": "Night run 🌙"}
TOOLS = [
    {
        "name": "create_ticket",
        "input_schema": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
    }
]
ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "go"}],
    "tools": TOOLS,
    "stream": True,
}
REPLY = Reply().text("One moment.").call("create_ticket", TICKET)
PATIENCE = 30.0  # seconds until a test gives up

Settled = queue.SimpleQueue[Outcome]


@contextmanager
def gateway(upstream: str) -> Iterator[tuple[str, Settled]]:
    """The gateway in a thread of its own: its address, and what settles in it."""
    settled: Settled = queue.SimpleQueue()

    def told(event: CallSettled) -> None:
        settled.put(event.outcome)

    app = example("gateway_proxy")["create_app"](upstream, told)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, log_level="critical", ws="none", http="h11")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="gateway")
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", settled
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def between(replies: Any) -> Iterator[tuple[str, Settled, FaultServer]]:
    with FaultServer(replies) as provider, gateway(provider.base_url) as (address, settled):
        yield address, settled, provider


def test_a_client_sees_no_difference() -> None:
    """The SDK's own client gets the whole message, and the gateway settles the same call."""
    with between(REPLY) as (address, settled, provider):
        with (
            anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client,
            Turn(client.messages.create(**ASKED), tools=TOOLS) as turn,
        ):
            assert list(turn)
        assert turn.verdict == "dispatch"
        assert [settled.get(timeout=PATIENCE)] == turn.outcomes
        assert settled.empty()
        assert provider.requests[0].headers["anthropic-version"]
        assert provider.requests[0].json == ASKED


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "gemini"])
def test_every_byte_is_the_providers(dialect: str) -> None:
    """Whoever the provider is: nothing is parsed and written again."""
    recording = REPLY.to_recording(dialect)
    with between(recording) as (address, settled, _):
        answer = httpx.post(f"{address}/any/path?alt=sse", json={}, trust_env=False)
        assert answer.content == recording.to_bytes()
        assert answer.headers["content-type"] == "text/event-stream"
        assert isinstance(settled.get(timeout=PATIENCE), Dispatchable)


def test_calls_are_checked_against_the_requests_own_tools() -> None:
    """What the request offered is what the gateway knows."""
    with between(Reply().call("create_ticket", {})) as (address, settled, _):
        httpx.post(f"{address}/v1/messages", json=ASKED, trust_env=False)
        assert isinstance(settled.get(timeout=PATIENCE), SchemaError)


@pytest.mark.parametrize("content", [b"", b"[1]", b"no json"])
def test_what_is_no_stream_is_handed_on(content: bytes) -> None:
    """An answer that means nothing to the settler, and a request that is no object."""
    script = Script((Send(b'data: {"hello": 1}\n\n'),), "text/event-stream")
    with between(script) as (address, settled, _):
        answer = httpx.post(f"{address}/other", content=content, trust_env=False)
        assert answer.content == b'data: {"hello": 1}\n\n'
        assert settled.empty()


def test_a_client_that_leaves_cancels_its_calls() -> None:
    """The provider has gone silent amid the call; its stream is closed, the call is cancelled."""
    stalled = REPLY.to_recording("anthropic").to_script().with_faults(FAULTS["stall"])
    with between(stalled) as (address, settled, _):
        with httpx.stream("POST", f"{address}/v1/messages", json=ASKED, trust_env=False) as answer:
            for line in answer.iter_lines():
                if "partial_json" in line:
                    break
        outcome = settled.get(timeout=PATIENCE)
        assert isinstance(outcome, Failed)
        assert outcome.cause is Cause.CANCELLED


def test_a_provider_that_is_lost_is_lost_to_the_client() -> None:
    """The client's stream is cut where the provider's was; it never looks like a proper end."""
    lost = REPLY.to_recording("anthropic").to_script().with_faults(FAULTS["connection-lost"])
    with between(lost) as (address, settled, _):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(f"{address}/v1/messages", json=ASKED, trust_env=False)
        outcome = settled.get(timeout=PATIENCE)
        assert isinstance(outcome, Failed)
        assert outcome.cause is Cause.DISCONNECTED


def test_no_more_is_read_than_the_client_takes() -> None:
    """A client that stops reading holds the provider up, and nobody else's stream."""
    many = "x" * 64 * 1024
    long = Reply().call("create_ticket", TICKET).text([many] * 512)
    replies = [long.to_recording("anthropic"), REPLY.to_recording("anthropic")]
    with between(replies) as (address, settled, _):
        where = f"{address}/v1/messages"
        with httpx.stream("POST", where, json=ASKED, trust_env=False) as answer:
            chunks = answer.iter_raw()
            assert next(chunks)
            httpx.post(where, json=ASKED, trust_env=False)
            assert isinstance(settled.get(timeout=PATIENCE), Dispatchable)  # of the second
            assert settled.empty()
        outcome = settled.get(timeout=PATIENCE)
        assert isinstance(outcome, Failed)
        assert outcome.cause is Cause.CANCELLED
