"""How late a dead stream surfaces on every real client: seconds from the limit to `StreamIdle`.

`python -m benchmarks.dead_streams` prints the table; `--write` puts it into `docs/performance.md`.
A server in this process sends a message up to the middle of its call, then nothing, or nothing but
keep-alives.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import boto3
import cohere
import groq
import httpx
import ollama
import openai
from botocore.config import Config
from google import genai
from google.genai import types
from mistralai.client import Mistral

from benchmarks import report
from benchmarks.bars import Row, Table, bar_for, markdown
from benchmarks.measuring import estimate
from finalcall import AsyncTurn, CallAnnounced, Idle, Settler, StreamIdle, Turn, ahear, hear
from finalcall.testing import FaultServer, Pings, RecordedEvent, Recording, Script, Stall, Step

LIMIT = 0.5
EVERY = 0.05
ROUNDS = 7
FIXTURES = Path(__file__).parent.parent / "tests" / "fixtures"

SILENCE = Idle(first=30.0, between=LIMIT, in_call=LIMIT, progress=30.0)
STALLING = Idle(first=30.0, between=30.0, in_call=30.0, progress=LIMIT)
"""The limit of the clock that must fire, alone within reach."""

_MESSAGES: list[Any] = [{"role": "user", "content": "go"}]
_REQUEST: dict[str, Any] = {"model": "m", "messages": _MESSAGES}
_COMMENT = b": keep-alive\n\n"
_HOOKS: dict[str, Any] = {"response": [hear]}
_ASYNC_HOOKS: dict[str, Any] = {"response": [ahear]}

Opened = Callable[[str], AbstractContextManager[Any]]
AsyncOpened = Callable[[str], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Client:
    """How a client opens a stream, and what its service sends.

    Attributes:
        recording: A recorded stream with a call, in the fixtures.
        opened: Opens the stream and closes the client.
        aopened: The same, asynchronous; `None` where the client has no such half.
        keep_alive: What says nothing; `None` where the client takes nothing of the kind.
    """

    recording: str
    opened: Opened
    aopened: AsyncOpened | None
    keep_alive: bytes | None


def _closing(connect: Callable[[str], Any], open_stream: Callable[[Any], Any]) -> Opened:
    @contextmanager
    def opened(url: str) -> Iterator[Any]:
        with connect(url) as client:
            yield open_stream(client)

    return opened


def _aclosing(connect: Callable[[str], Any], open_stream: Callable[[Any], Any]) -> AsyncOpened:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Any]:
        async with connect(url) as client:
            yield open_stream(client)

    return opened


def _messages(client: Any) -> Any:
    return client.messages.create(stream=True, max_tokens=999, **_REQUEST)


def _chat(client: Any) -> Any:
    return client.chat.completions.create(stream=True, **_REQUEST)


def _responses(client: Any) -> Any:
    return client.responses.create(stream=True, model="m", input="go")


def _of_openai(kind: Any) -> Callable[[str], Any]:
    return lambda url: kind(base_url=url, api_key="none", max_retries=0)


@contextmanager
def _google(url: str) -> Iterator[Any]:
    options = types.HttpOptions(base_url=url, client_args={"event_hooks": _HOOKS})
    with genai.Client(api_key="none", http_options=options) as client:
        yield client.models.generate_content_stream(model="m", contents="go")


@asynccontextmanager
async def _agoogle(url: str) -> AsyncIterator[Any]:
    async with httpx.AsyncClient(event_hooks=_ASYNC_HOOKS) as http:
        options = types.HttpOptions(base_url=url, httpx_async_client=http)
        client = genai.Client(api_key="none", http_options=options).aio
        yield client.models.generate_content_stream(model="m", contents="go")


def _mistral(url: str) -> Mistral:
    return Mistral(api_key="none", server_url=url)


@contextmanager
def _cohere(url: str) -> Iterator[Any]:
    with httpx.Client(event_hooks=_HOOKS) as http:
        yield cohere.ClientV2("none", base_url=url, httpx_client=http).chat_stream(**_REQUEST)


@asynccontextmanager
async def _acohere(url: str) -> AsyncIterator[Any]:
    async with httpx.AsyncClient(event_hooks=_ASYNC_HOOKS) as http:
        client = cohere.AsyncClientV2("none", base_url=url, httpx_client=http)
        yield client.chat_stream(**_REQUEST)


@contextmanager
def _bedrock(url: str) -> Iterator[Any]:
    # A stream that is being read can only be closed once its read returns: the client's own limit.
    config = Config(retries={"total_max_attempts": 1}, read_timeout=2)
    client: Any = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        config=config,
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    messages = [{"role": "user", "content": [{"text": "go"}]}]
    with contextlib.closing(client):
        yield client.converse_stream(modelId="m", messages=messages)["stream"]


CLIENTS: Mapping[str, Client] = {
    "anthropic": Client(
        "anthropic/081-*",
        _closing(_of_openai(anthropic.Anthropic), _messages),
        _aclosing(_of_openai(anthropic.AsyncAnthropic), _messages),
        b'event: ping\ndata: {"type": "ping"}\n\n',
    ),
    "openai chat": Client(
        "openai-chat/*",
        _closing(_of_openai(openai.OpenAI), _chat),
        _aclosing(_of_openai(openai.AsyncOpenAI), _chat),
        _COMMENT,
    ),
    "openai responses": Client(
        "openai-responses/*",
        _closing(_of_openai(openai.OpenAI), _responses),
        _aclosing(_of_openai(openai.AsyncOpenAI), _responses),
        _COMMENT,
    ),
    "groq": Client(
        "openai-chat/*",
        _closing(_of_openai(groq.Groq), _chat),
        _aclosing(_of_openai(groq.AsyncGroq), _chat),
        _COMMENT,
    ),
    "google-genai, with a hook": Client("gemini/*", _google, _agoogle, b"\n\n"),
    "mistralai": Client(
        "mistral/*",
        _closing(_mistral, lambda client: client.chat.stream(**_REQUEST)),
        _aclosing(_mistral, lambda client: client.chat.stream_async(**_REQUEST)),
        _COMMENT,
    ),
    "cohere, with a hook": Client("cohere/*-003-*", _cohere, _acohere, _COMMENT),
    "ollama, with a hook": Client(
        "ollama/*-013-*",
        _closing(
            lambda url: ollama.Client(url, event_hooks=_HOOKS),
            lambda client: client.chat(stream=True, **_REQUEST),
        ),
        _aclosing(
            lambda url: ollama.AsyncClient(url, event_hooks=_ASYNC_HOOKS),
            lambda client: client.chat(stream=True, **_REQUEST),
        ),
        None,
    ),
    "boto3": Client("bedrock-converse/*-020-*", _bedrock, None, None),
}


def tables(*, quick: bool) -> Iterator[Table]:
    """Let every client's stream die, in both ways, and measure when that surfaces."""
    rows: list[Row] = []
    for name, client in CLIENTS.items():
        rows += _rows(name, client, "silent", Stall(), SILENCE, quick=quick)
        if client.keep_alive is not None:
            pings = Pings(EVERY, client.keep_alive)
            rows += _rows(name, client, "pinging", pings, STALLING, quick=quick)
    remark = f"Seconds from the limit ({LIMIT} s) to `StreamIdle`, inside a call."
    yield Table("A dead stream", tuple(rows), remark)


def _rows(
    name: str, client: Client, how: str, last: Step, idle: Idle, *, quick: bool
) -> Iterator[Row]:
    begun = _begun(client)
    script = Script((*begun.steps, last), begun.content_type)
    yield _row(name, f"sync, {how}", lambda: _late(client, script, idle), quick=quick)
    if client.aopened is not None:
        yield _row(
            name,
            f"async, {how}",
            lambda: asyncio.run(_alate(client, script, idle)),
            quick=quick,
        )


def _row(name: str, where: str, measure: Callable[[], tuple[float, str]], *, quick: bool) -> Row:
    found = [measure() for _ in range(1 if quick else ROUNDS)]
    late = [seconds for seconds, _ in found]
    return Row(
        name,
        where,
        estimate(late),
        "s",
        bar_for("dead stream"),
        f"worst {max(late):.3f} s; {found[0][1]}",
    )


def _late(client: Client, script: Script, idle: Idle) -> tuple[float, str]:
    with FaultServer(script) as server, client.opened(server.base_url) as stream:
        turn = Turn(stream, tools=None, idle_timeout=idle)
        last = time.monotonic()
        try:
            with turn:
                for event in turn:
                    if event.native is not None:
                        last = time.monotonic()
        except StreamIdle as error:
            return time.monotonic() - last - LIMIT, _seen(turn, error)
    raise AssertionError("the stream did not die")


async def _alate(client: Client, script: Script, idle: Idle) -> tuple[float, str]:
    assert client.aopened is not None
    with FaultServer(script) as server:
        async with client.aopened(server.base_url) as stream:
            turn = AsyncTurn(stream, tools=None, idle_timeout=idle)
            last = time.monotonic()
            try:
                async with turn:
                    async for event in turn:
                        if event.native is not None:
                            last = time.monotonic()
            except StreamIdle as error:
                return time.monotonic() - last - LIMIT, _seen(turn, error)
    raise AssertionError("the stream did not die")


def _seen(turn: Turn | AsyncTurn, error: StreamIdle) -> str:
    pacing = turn.pacing
    assert pacing is not None
    return f"{error.cause.value}; ended by {pacing.ended_by}, hears {pacing.hears}"


@functools.cache
def _begun(client: Client) -> Script:
    """A recorded stream up to the event that announces a call, and without a stop reason in it."""
    for path in sorted(FIXTURES.glob(f"{client.recording}.jsonl")):
        if path.name == "EXPECTED.jsonl":
            continue
        recorded = Recording.read(path)
        recording = Recording(recorded.header, tuple(map(_unstopped, recorded.events)))
        script, settler = recording.to_script(), Settler(tools=None)
        for count, native in enumerate(recording.to_dicts(), 1):
            events = settler.feed(native)
            if settler.stop_reason is not None or settler.ending is not None:
                break
            if any(isinstance(event, CallAnnounced) for event in events):
                return Script(script.steps[:count], script.content_type)
    raise LookupError(f"no recording of {client.recording} announces a call before it stops")


def _unstopped(event: RecordedEvent) -> RecordedEvent:
    """Mistral says why it stopped in the chunk with its calls; here it has not stopped yet."""
    data = event.data
    if not isinstance(data, dict) or not data.get("choices"):
        return event
    choices = [choice | {"finish_reason": None} for choice in data["choices"]]
    return event._replace(data=data | {"choices": choices})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dead_streams", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write into docs/performance.md")
    options = parser.parse_args()
    written = [report.circumstances(), *map(markdown, tables(quick=False))]
    print("\n\n".join(written))
    if options.write:
        report.write(report.DOCUMENT, "dead streams", "\n\n".join(written))


if __name__ == "__main__":
    main()
