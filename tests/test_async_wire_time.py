"""The clocks on real asynchronous clients, under asyncio and trio: what the SDKs swallow counts.

Limits far apart, and far from how long the server pauses; only the cause is looked at, never how
long it took.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import anthropic
import anyio
import openai
import pytest

from finalcall import AsyncTurn, CallAnnounced, Cause, Event, Failed, Idle, Pacing, StreamQuiet
from finalcall.testing import FaultServer, Pause, Pings, Script, Send, Stall
from tests import chat_chunks, messages, responses_events
from tests.loops import LOOPS, run


class Dialect(NamedTuple):
    """How a provider's messages look, and how its client opens one."""

    start: list[Any]
    open_call: list[Any]
    reasoning: list[Any]
    rest: list[Any]
    ping: bytes
    connect: Callable[[str], Any]
    create: Callable[[Any], Any]


COMMENT = b": keep-alive\n\n"


def _anthropic_reasoning(words: str) -> dict[str, Any]:
    delta = {"type": "thinking_delta", "thinking": words}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


_THINKING = {"type": "thinking", "thinking": "", "signature": ""}
_ITEM = responses_events.call()

DIALECTS = {
    "anthropic": Dialect(
        start=[messages.message_start()],
        open_call=messages.call(1, stop=False),
        reasoning=[
            {"type": "content_block_start", "index": 0, "content_block": _THINKING},
            *(_anthropic_reasoning("hm") for _ in range(7)),
            {"type": "content_block_stop", "index": 0},
        ],
        rest=[*messages.call(1)[-1:], *messages.stopped()],
        ping=messages.to_sse([{"type": "ping"}]),
        connect=lambda url: anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0),
        create=lambda client: client.messages.create(
            stream=True, model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]
        ),
    ),
    "openai-chat": Dialect(
        start=[chat_chunks.chunk({"role": "assistant", "content": None})],
        open_call=[
            chat_chunks.calls(chat_chunks.entry("", "create_ticket", "call_1")),
            chat_chunks.calls(chat_chunks.entry('{"title": "x"}')),
        ],
        reasoning=[chat_chunks.chunk({"reasoning_content": "hm"}) for _ in range(8)],
        rest=[chat_chunks.chunk(finish="tool_calls"), chat_chunks.DONE],
        ping=COMMENT,
        connect=lambda url: openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0),
        create=lambda client: client.chat.completions.create(
            stream=True, model="m", messages=[{"role": "user", "content": "go"}]
        ),
    ),
    "openai-responses": Dialect(
        start=[responses_events.created()],
        open_call=_ITEM[:3],
        reasoning=[
            responses_events.added(1, "reasoning", id="rs_1", summary=[]),
            *(
                responses_events.delta(1, "rs_1", "hm", "response.reasoning_summary_text.delta")
                for _ in range(7)
            ),
        ],
        rest=[*_ITEM[3:], responses_events.ending()],
        ping=COMMENT,
        connect=lambda url: openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0),
        create=lambda client: client.responses.create(stream=True, model="m", input="go"),
    ),
}

LIMITS = Idle(first=1.2, between=1.2, in_call=1.2, progress=2.4, quiet=1.1)


def sends(natives: Sequence[Any]) -> list[Send]:
    """Each event in a chunk of its own."""
    sent: list[Send] = []
    for native in natives:
        name = f"event: {native['type']}\n" if "type" in native else ""
        data = native if isinstance(native, str) else json.dumps(native)
        sent.append(Send(f"{name}data: {data}\n\n".encode()))
    return sent


def slowly(natives: Sequence[Any]) -> list[Any]:
    """A pause before each, well within the limit on silence; all together beyond both limits."""
    return [step for send in sends(natives) for step in (Pause(0.35), send)]


SCENES: dict[str, tuple[Callable[[Dialect], list[Any]], Cause | None]] = {
    "pings only": (lambda d: [Pings(0.04, d.ping)], Cause.STALLED),
    "comments only": (lambda _: [Pings(0.04, COMMENT)], Cause.STALLED),
    "nothing": (lambda _: [Stall()], Cause.IDLE),
    "reasoning only": (
        lambda d: [*sends(d.start), *slowly(d.reasoning), *sends([*d.open_call, *d.rest])],
        None,
    ),
    "silence outside": (lambda d: [*sends([*d.start, *d.reasoning[:2]]), Stall()], Cause.IDLE),
    "silence inside a call": (lambda d: [*sends([*d.start, *d.open_call]), Stall()], Cause.IDLE),
    "pings inside a call": (
        lambda d: [*sends([*d.start, *d.open_call]), Pings(0.04, d.ping)],
        Cause.STALLED,
    ),
    "comments inside a call": (
        lambda d: [*sends([*d.start, *d.open_call]), Pings(0.04, COMMENT)],
        Cause.STALLED,
    ),
}
"""By what the wire carries: the steps of the server, and what ends the turn."""


async def play_all(dialect: Dialect) -> dict[str, tuple[AsyncTurn, list[Event]]]:
    """Every scene at the same time.

    All are opened first, and a turn reads a whole message: what a client and a turn do only once,
    when they meet a kind of event, keeps the loop busy for longer than a limit.
    """
    played: dict[str, tuple[AsyncTurn, list[Event]]] = {}

    async def play(scene: str, stream: Any) -> None:
        turn = AsyncTurn(stream, tools=None, idle_timeout=LIMITS, raises=False)
        async with turn:
            played[scene] = turn, [event async for event in turn]
        assert stream.response.is_closed

    whole = sends([*dialect.start, *dialect.reasoning, *dialect.open_call, *dialect.rest])
    scripts = [Script(tuple(steps(dialect))) for steps, _ in SCENES.values()]
    with FaultServer([Script(tuple(whole)), *scripts]) as server:
        async with dialect.connect(server.base_url) as client:
            async with AsyncTurn(await dialect.create(client), tools=None) as turn:
                assert [event async for event in turn]
            streams = {scene: await dialect.create(client) for scene in SCENES}
            async with anyio.create_task_group() as group:
                for scene, stream in streams.items():
                    group.start_soon(play, scene, stream)
    return played


# What the clients leave to the garbage collector is theirs.
@pytest.mark.filterwarnings("ignore:Async generator '(?!finalcall):ResourceWarning")
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", DIALECTS)
def test_each_clock_fires_when_it_should_whatever_the_sdk_swallows(name: str, loop: str) -> None:
    """Bare bytes break a silence, and never count as progress."""
    for scene, (turn, events) in run(loop, play_all, DIALECTS[name]).items():
        cause = SCENES[scene][1]
        assert turn.pacing == Pacing("task", "bytes")
        assert turn.ending is not None
        assert (scene, turn.ending.cause) == (scene, cause)
        calls = sum(isinstance(event, CallAnnounced) for event in events)
        assert calls == len(turn.outcomes) == ("call" in scene or cause is None)
        failed = [one.cause for one in turn.outcomes if isinstance(one, Failed)]
        assert failed == [cause for _ in turn.outcomes if cause is not None]
        quiet = any(isinstance(event, StreamQuiet) for event in events)
        assert (scene, quiet) == (scene, cause is Cause.IDLE)
