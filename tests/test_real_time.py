"""Each clock on the real synchronous clients: what they swallow is heard, who waits is woken."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import anthropic
import cohere
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import types

import tests.chat_chunks as chat
import tests.responses_events as responses
from finalcall import (
    CallAnnounced,
    Cause,
    Failed,
    Idle,
    Pacing,
    StreamIdle,
    StreamQuiet,
    Turn,
    hear,
)
from finalcall.testing import FakeClock, FaultServer, Pause, Pings, Script, Send, Stall, Step
from tests import messages
from tests.gemini_chunks import call as gemini_call
from tests.gemini_chunks import chunk as gemini_chunk
from tests.streams import FIXTURES, cases

COMMENT = b": keep-alive\n\n"
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


def sse(events: Sequence[Any], *, named: bool = True) -> list[bytes]:
    return [
        (f"event: {event['type']}\n" if named else "").encode()
        + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
        for event in events
    ]


@dataclass(frozen=True)
class Client:
    """A client, and a stream of its service in pieces.

    Args:
        connect: Makes it, for an address.
        open_stream: Makes its request.
        begun: What opens a message.
        in_call: What opens a call after that, and leaves it open.
        rest: What ends both.
        reasoning: One piece of reasoning.
        keep_alives: What the service or a proxy sends that says nothing.
    """

    connect: Callable[[str], Any]
    open_stream: Callable[[Any], Any]
    begun: list[bytes]
    in_call: list[bytes]
    rest: list[bytes]
    reasoning: bytes
    keep_alives: Mapping[str, bytes]


def _anthropic() -> Client:
    thinking = {"type": "thinking_delta", "thinking": "hm"}
    block = {"type": "thinking", "thinking": "", "signature": ""}
    begun = [
        messages.message_start(),
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    return Client(
        lambda url: anthropic.Anthropic(base_url=url, api_key="none", max_retries=0),
        lambda client: client.messages.create(stream=True, max_tokens=1000, **REQUEST),
        sse(begun),
        sse([{"type": "content_block_stop", "index": 0}, *messages.call(1, stop=False)]),
        sse([*messages.call(1)[-1:], *messages.stopped()]),
        sse([{"type": "content_block_delta", "index": 0, "delta": thinking}])[0],
        {"pings": sse([{"type": "ping"}])[0], "comments": COMMENT},
    )


def _openai_chat() -> Client:
    good = sse(chat.GOOD, named=False)
    return Client(
        lambda url: openai.OpenAI(base_url=url, api_key="none", max_retries=0),
        lambda client: client.chat.completions.create(stream=True, **REQUEST),
        good[:1],
        good[1:2],
        good[2:],
        sse([chat.chunk({"reasoning_content": "hm"})], named=False)[0],
        {"comments": COMMENT},
    )


def _openai_responses() -> Client:
    begun = [responses.created(), responses.reasoning(0)[0]]
    call, end = responses.call(1), responses.ending()
    keep_alive = {"type": "keepalive", "sequence_number": 3}
    return Client(
        lambda url: openai.OpenAI(base_url=url, api_key="none", max_retries=0),
        lambda client: client.responses.create(stream=True, model="m", input="go"),
        sse(responses.numbered(begun)),
        sse(responses.numbered(call[:3], 10)),
        sse(responses.numbered([*call[3:], end], 20)),
        sse(responses.reasoning(0)[1:2])[0],
        {"pings": sse([keep_alive])[0], "comments": COMMENT},
    )


CLIENTS = {
    "anthropic": _anthropic(),
    "openai-chat": _openai_chat(),
    "openai-responses": _openai_responses(),
}
KEEP_ALIVES = [(name, kind) for name, client in CLIENTS.items() for kind in client.keep_alives]


def sends(chunks: Sequence[bytes]) -> list[Step]:
    return [Send(chunk) for chunk in chunks]


def run(client: Client, steps: Sequence[Step], idle: Idle, **options: Any) -> Turn:
    """A turn over what a server does, to its end; nothing of it is left."""
    with FaultServer(Script(tuple(steps))) as server, client.connect(server.base_url) as connected:
        stream = client.open_stream(connected)
        with Turn(stream, tools=None, raises=False, idle_timeout=idle, **options) as turn:
            for _ in turn:
                pass
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        assert connection.fileno() == -1  # closed
        assert threads() == []
    return turn


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "finalcall" in thread.name]


def idle_of(turn: Turn) -> StreamIdle:
    error = turn._settler.error
    assert isinstance(error, StreamIdle)
    return error


LIMITS = dict.fromkeys(("first", "between", "in_call"), 0.8)
PHASES: Mapping[str, Callable[[Client], list[bytes]]] = {
    "first": lambda _: [],
    "between": lambda client: client.begun,
    "in_call": lambda client: client.begun + client.in_call,
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", CLIENTS)
def test_silence_fires_the_silence_clock_of_its_phase(name: str, phase: str) -> None:
    """The other phases' limits would have let it live."""
    client, patient = CLIENTS[name], dict.fromkeys(LIMITS, 60.0)
    before = PHASES[phase](client)
    turn = run(client, [Send(b"".join(before)), Stall()], Idle(**{**patient, phase: 0.2}))
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE
    assert turn.pacing == Pacing("transport", "bytes")
    error = idle_of(turn)
    assert (error.cause, error.events) == (Cause.IDLE, len(before))
    assert 0.2 <= error.seconds < 30
    assert len(error.open_calls) == (phase == "in_call")
    assert [type(outcome) for outcome in turn.outcomes] == [Failed] * (phase == "in_call")


@pytest.mark.parametrize(
    ("name", "kind", "phase"),
    [*((name, kind, "in_call") for name, kind in KEEP_ALIVES), ("anthropic", "pings", "first")],
)
def test_keep_alives_alone_fire_the_progress_clock(name: str, kind: str, phase: str) -> None:
    """They keep the silence clock down, whether the client swallows them or hands them on."""
    client = CLIENTS[name]
    steps = [*sends(PHASES[phase](client)), Pings(0.02, client.keep_alives[kind])]
    turn = run(client, steps, Idle(**LIMITS, progress=1.2, quiet=None))
    error = idle_of(turn)
    assert error.cause is Cause.STALLED
    assert 1.2 <= error.seconds < 30


@pytest.mark.parametrize(("name", "kind"), KEEP_ALIVES)
def test_silence_after_keep_alives_is_silence(name: str, kind: str) -> None:
    """A connection that goes dead while it was pinging is found by the silence clock."""
    client = CLIENTS[name]
    pinging = [Send(client.keep_alives[kind]), Pause(0.05)] * 4
    steps = [*sends(client.begun + client.in_call), *pinging, Stall()]
    error = idle_of(run(client, steps, Idle(in_call=0.2, progress=60.0)))
    assert error.cause is Cause.IDLE
    assert len(error.open_calls) == 1


@pytest.mark.parametrize(("name", "kind"), KEEP_ALIVES)
def test_a_keep_alive_may_come_first(name: str, kind: str) -> None:
    """Whatever the client makes of it, the stream is recognised by what follows."""
    client = CLIENTS[name]
    whole = [*client.begun, *client.in_call, *client.rest]
    turn = run(client, sends([client.keep_alives[kind], *whole]), Idle())
    assert turn.provider == name
    assert turn.verdict == "dispatch"


@pytest.mark.parametrize("name", CLIENTS)
def test_reasoning_is_progress(name: str) -> None:
    """However long it goes on, neither clock fires."""
    client = CLIENTS[name]
    thinking = [Send(client.reasoning), Pause(0.1)] * 12
    steps = [*sends(client.begun), *thinking, *sends(client.in_call + client.rest)]
    turn = run(client, steps, Idle(between=1.0, in_call=1.0, progress=1.0))
    assert turn.ending is not None
    assert turn.ending.cause is None
    assert turn.verdict == "dispatch"


def test_a_silence_is_told_live_where_a_thread_reads_and_late_where_none_does() -> None:
    """Either way before the turn ends, and either way nothing else changes."""
    client = CLIENTS["anthropic"]
    steps = [*sends(client.begun + client.in_call), Stall()]
    idle = Idle(in_call=0.4, quiet=0.05)
    for pacing in ("auto", "thread"):
        with (
            FaultServer(Script(tuple(steps))) as server,
            client.connect(server.base_url) as connected,
        ):
            stream = client.open_stream(connected)
            turn = Turn(stream, tools=None, idle_timeout=idle, pacing=pacing, raises=False)
            with turn:
                events = list(turn)
        quiet = [event.seconds for event in events if isinstance(event, StreamQuiet)]
        assert isinstance(events[-2], StreamQuiet)
        assert len(quiet) == 1 if pacing == "auto" else len(quiet) > 1
        assert turn.pacing == Pacing("transport" if pacing == "auto" else "thread", "bytes")
        assert idle_of(turn).cause is Cause.IDLE
        assert stream.response.is_closed


@pytest.mark.parametrize("name", CLIENTS)
def test_the_users_own_limit_stays_the_users_own(name: str) -> None:
    """A client whose read limit is shorter raises what it always raises."""
    client = CLIENTS[name]
    steps = [*sends(client.begun), Stall()]
    with (
        FaultServer(Script(tuple(steps))) as server,
        client.connect(server.base_url) as connected,
        pytest.raises(Exception, match=r"(?i)timed out") as caught,
        Turn(client.open_stream(connected.with_options(timeout=1.0)), tools=None) as turn,
    ):
        list(turn)
    assert type(caught.value).__name__ in ("ReadTimeout", "APITimeoutError")
    assert turn.ending is not None
    assert turn.ending.exception is caught.value


HOOKS: dict[str, Any] = {"response": [hear]}


def _ollama(url: str, stack: ExitStack) -> Any:
    client = stack.enter_context(ollama.Client(url, event_hooks=HOOKS))
    return client.chat(stream=True, **REQUEST)


def _cohere(url: str, stack: ExitStack) -> Any:
    http = stack.enter_context(httpx.Client(event_hooks=HOOKS))
    return cohere.ClientV2("none", base_url=url, httpx_client=http).chat_stream(**REQUEST)


def _google(url: str, stack: ExitStack) -> Any:
    options = types.HttpOptions(base_url=url, client_args={"event_hooks": HOOKS})
    client = stack.enter_context(genai.Client(api_key="none", http_options=options))
    return client.models.generate_content_stream(model="m", contents="go")


def recorded(dialect: str, number: str) -> Script:
    (case,) = (case for case in cases(FIXTURES / dialect) if f"-{number}-" in case.path.name)
    return case.recording.to_script()


GEMINI = sse([gemini_chunk(gemini_call())], named=False)

HOOKED: Mapping[str, tuple[Callable[[str, ExitStack], Any], Script, bytes]] = {
    "ollama": (_ollama, recorded("ollama", "013"), b""),
    "cohere": (_cohere, recorded("cohere", "003"), COMMENT),
    "google-genai": (_google, Script(tuple(sends(GEMINI))), b"\n\n"),
}
"""Clients that show their response to nobody: how they open a stream, what is sent, a ping."""


@pytest.mark.parametrize("name", HOOKED)
def test_a_hook_lets_the_turn_hear_and_wake_a_client_that_shows_no_response(name: str) -> None:
    """The thread that reads ends with the turn, and keep-alives are told from silence."""
    open_stream, script, ping = HOOKED[name]
    first = script.steps[:2]
    endings: list[tuple[Step, Idle, Cause]] = [(Stall(), Idle(**LIMITS), Cause.IDLE)]
    if ping:
        endings.append((Pings(0.02, ping), Idle(**LIMITS, progress=1.2, quiet=None), Cause.STALLED))
    for step, idle, cause in endings:
        served = Script((*first, step), script.content_type)
        with FaultServer(served) as server, ExitStack() as stack:
            stream = open_stream(server.base_url, stack)
            with Turn(stream, tools=None, idle_timeout=idle, raises=False) as turn:
                list(turn)
            assert threads() == []
        assert turn.pacing == Pacing("thread", "bytes")
        assert idle_of(turn).cause is cause


def test_leaving_early_wakes_the_thread_of_a_client_with_a_hook() -> None:
    """A turn that is left by break leaves no thread in a read."""
    open_stream, script, _ = HOOKED["ollama"]
    served = Script((*script.steps[:2], Stall()), script.content_type)
    with FaultServer(served) as server, ExitStack() as stack:
        with Turn(open_stream(server.base_url, stack), tools=None) as turn:
            for _ in turn:
                break
        assert threads() == []
    assert turn.verdict == "fail"


def test_closing_in_another_thread_wakes_the_reader() -> None:
    """The loop that is blocked in its read ends, and its calls are settled."""
    client = CLIENTS["anthropic"]
    steps = [*sends(client.begun + client.in_call), Stall()]
    announced = threading.Event()
    with FaultServer(Script(tuple(steps))) as server, client.connect(server.base_url) as connected:
        turn = Turn(client.open_stream(connected), tools=None, idle_timeout=None, raises=False)

        def read() -> None:
            for event in turn:
                if isinstance(event, CallAnnounced):
                    announced.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert announced.wait(30)
        turn.close()
        reader.join(30)
        assert not reader.is_alive()
    assert [outcome.cause for outcome in turn.outcomes if isinstance(outcome, Failed)] == [
        Cause.CANCELLED
    ]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_clock_that_is_moved_by_hand_wakes_a_real_read(name: str) -> None:
    """Nothing waits for real, and no thread is made for a clock that tells by itself."""
    client, clock = CLIENTS[name], FakeClock()
    before = client.begun + client.in_call
    seen: list[list[str]] = []

    def move(turn: Turn) -> None:
        while turn.stats.events < len(before) or not turn._settler.clocks.waiting:
            threading.Event().wait(0.001)
        seen.append(threads())
        clock.advance(30.0)
        clock.advance(400.0)

    with (
        FaultServer(Script((*sends(before), Stall()))) as server,
        client.connect(server.base_url) as connected,
        Turn(client.open_stream(connected), tools=None, clock=clock, raises=False) as turn,
    ):
        mover = threading.Thread(target=move, args=(turn,))
        mover.start()
        events = list(turn)
        mover.join()
    assert seen == [[]]
    assert [event.seconds for event in events if isinstance(event, StreamQuiet)] == [10.0]
    error = idle_of(turn)
    assert (error.cause, error.seconds, error.events) == (Cause.IDLE, 430.0, len(before))
