"""Every fault, every provider, every way to read: each call settles once, none runs unproved.

The way through objects is each provider's real client against a `FaultServer`; the silences of
these streams are the only ones that take real time.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest

from finalcall import (
    AsyncTurn,
    CallSettled,
    Dispatchable,
    Idle,
    Turn,
)
from finalcall.testing import (
    FAULTS,
    CloseAbruptly,
    FakeClock,
    FaultServer,
    NotApplicable,
    Pause,
    Pings,
    Reply,
    Reset,
    Script,
    Send,
    Stall,
    acancel_after,
    cancel_after,
)
from finalcall.testing.rendering import RENDERERS
from finalcall.wire.decoder import Decoder
from finalcall.wire.undecodable import Undecodable
from tests.every_client import EVERY_CLIENT

REPLY = (
    Reply()
    .text("Öl 🌊")
    .call("create_ticket", {"title": "Sète 🌊", "floor": 12})
    .call("get_tide", {"port": "Brest"})
)
HEALTHY = [("create_ticket", {"title": "Sète 🌊", "floor": 12}), ("get_tide", {"port": "Brest"})]
"""What runs of it where nothing goes wrong."""

CANCEL = "cancel"
"""The client's own fault: it leaves in the middle of the stream. It may run nothing then."""

FAULT_NAMES = (*FAULTS, CANCEL)
PROVIDERS = tuple(sorted(RENDERERS))
MODES = ("sync", "async")
FORMS = ("objects", "dicts", "bytes")

NO_FILTER = {"cohere", "gemini-interactions", "mistral", "ollama", "xai"}
WHOLE_CALLS = {"gemini", "mistral", "ollama", "xai"}

NOT_APPLICABLE: Mapping[str, set[str]] = {
    "stall-with-pings": {"bedrock-converse"},
    "pings": {"bedrock-converse"},
    "ceiling-without-call-end": {"openai-chat", *WHOLE_CALLS},
    "content-filter": NO_FILTER,
    "refusal": NO_FILTER,
    "in-band-error": {"xai"},
    "duplicate-key": {"gemini", "ollama"},
    "missing-index": {"gemini", "xai"},
    "same-index": {"gemini", "xai"},
    "repeated-id": set(PROVIDERS) - {"openai-chat"},
    "repeated-name": set(PROVIDERS) - {"openai-chat"},
    "double-delivery": {"openai-responses", *WHOLE_CALLS},
    "spliced": {"ollama", "xai"},
}
"""By fault: the providers whose dialect has no place for it. The fault itself says why."""

NO_CLIENT = {"xai"}
"""Providers whose client the loopback server does not speak with."""

LOST: Mapping[tuple[str, str, str], str] = {
    ("missing-id", "cohere", "objects"): "the client drops an announcement without an id",
    ("pings", "gemini", "objects"): "the client takes a comment for an error",
    ("pings", "ollama", "objects"): "the client takes an empty line for an error",
}
"""Harmless faults that keep every call from running all the same, and why."""

SKIPPED: Mapping[tuple[str, str, str], str] = {
    ("garbage-byte", "gemini-interactions", "objects"): "the client skips what it cannot read",
}
"""Where a fault of the message reaches only its first call, and why."""

COMBINATIONS = [
    (fault, provider, mode, form)
    for fault in FAULT_NAMES
    for provider in PROVIDERS
    if provider not in NOT_APPLICABLE.get(fault, ())
    for mode in MODES
    for form in FORMS
    if form != "objects" or provider not in NO_CLIENT
]

PATIENCE = Idle(first=30, between=0.06, in_call=0.06, progress=0.3, quiet=None)
"""For the silences that are real."""


def expected(fault: str, provider: str, form: str) -> list[Any]:
    """What runs under a fault."""
    if (fault, provider, form) in SKIPPED:
        return HEALTHY[1:]
    if fault == CANCEL or not FAULTS[fault].lets_run or (fault, provider, form) in LOST:
        return []
    if FAULTS[fault].harm == "call":
        return HEALTHY[1:]
    return HEALTHY


@functools.cache
def faulty(fault: str, provider: str) -> Script:
    """The stream of the reply with the fault in it."""
    script = REPLY.to_recording(provider).to_script()
    return script if fault == CANCEL else FAULTS[fault](script)


# -- streams without a client ----------------------------------------------------------------------


def play(script: Script, form: str, clock: FakeClock) -> Iterator[Any]:
    """What a client's stream gives of a script; waits move the clock and take no time."""
    decoder = Decoder()

    def given(data: bytes) -> list[Any]:
        if form == "bytes":
            return [data]
        natives = decoder.feed(data)
        if any(isinstance(native, Undecodable) for native in natives):
            raise ValueError("what a client raises that cannot read an event")
        return natives

    for step in script.steps:
        match step:
            case Send(data):
                yield from given(data)
            case Pause(seconds):
                clock.advance(seconds)
            case Pings(_, data):
                for _ in range(1000):
                    clock.advance(1.0)
                    yield from given(data)
            case Stall():
                clock.advance(1000.0)
            case Reset() | CloseAbruptly():
                raise ConnectionResetError("what a client raises that loses its connection")
            case _:
                return


class InMemory(list[Any]):
    """A stream that a synchronous turn reads itself: no thread stands between the two."""

    def __init__(self, script: Script, form: str, clock: FakeClock) -> None:
        super().__init__()
        self.items = play(script, form, clock)

    def __iter__(self) -> Iterator[Any]:
        return self.items


async def aplay(script: Script, form: str, clock: FakeClock) -> AsyncIterator[Any]:
    for item in play(script, form, clock):
        yield item


# -- streams of the real clients -------------------------------------------------------------------


class Bench:
    """A server whose next answer can be set, and one client of each kind for each provider."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.script = Script(())
        self.server = FaultServer(lambda _: self.script)
        self.clients: dict[tuple[str, str], Any] = {}

    def stream(self, provider: str, mode: str, script: Script) -> Any:
        """The stream of the next request, not begun yet."""
        self.script = script
        client = EVERY_CLIENT[provider]
        connect, opened = (
            (client.connect, client.stream)
            if mode == "sync"
            else (client.connect_async, client.stream_async)
        )
        if (provider, mode) not in self.clients:
            self.clients[provider, mode] = connect(self.server.base_url)
        return opened(self.clients[provider, mode])

    def close(self) -> None:
        for (provider, mode), client in self.clients.items():
            row = EVERY_CLIENT[provider]
            if mode == "sync":
                row.close(client)
            else:
                self.runner.run(row.close_async(client))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with asyncio.Runner() as runner:
        made = Bench(runner)
        with made.server:
            yield made
            made.close()
        for thread in threading.enumerate():
            if "finalcall" in thread.name:
                thread.join(10)
                assert not thread.is_alive()


# -- the matrix ------------------------------------------------------------------------------------


def read(turn: Turn, fault: str) -> list[Any]:
    if fault == CANCEL:
        return cancel_after(turn, 4)
    with turn:
        return list(turn)


async def aread(make: Callable[[], AsyncTurn], fault: str) -> tuple[AsyncTurn, list[Any]]:
    turn = make()
    if fault == CANCEL:
        return turn, await acancel_after(turn, 4)
    async with turn:
        return turn, [event async for event in turn]


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize(("fault", "provider", "mode", "form"), COMBINATIONS)
def test_every_call_settles_once_and_none_runs_unproved(
    bench: Bench, fault: str, provider: str, mode: str, form: str
) -> None:
    """The turn ends, each call has one outcome, and only what the fault leaves whole may run."""
    script = faulty(fault, provider)
    told: list[CallSettled] = []
    options: dict[str, Any] = {
        "tools": None,
        "provider": provider,
        "raises": False,
        "on_settled": told.append,
    }
    if form == "objects":
        waits = any(isinstance(step, Stall | Pings) for step in script.steps)
        options |= {"idle_timeout": PATIENCE, "after_stop": 0.05} if waits else {}
        stream: Callable[[], Any] = functools.partial(bench.stream, provider, mode, script)
    else:
        options["clock"] = clock = FakeClock()
        player: Callable[..., Any] = InMemory if mode == "sync" else aplay
        stream = functools.partial(player, script, form, clock)
    turn: Turn | AsyncTurn
    if mode == "sync":
        turn = Turn(stream(), **options)
        events = read(turn, fault)
    else:
        turn, events = bench.runner.run(aread(lambda: AsyncTurn(stream(), **options), fault))
    assert turn.ending is not None
    keys = [outcome.key for outcome in turn.outcomes]
    assert len(keys) == len(set(keys)) == turn.stats.announced
    assert sorted(settled.outcome.key for settled in told) == sorted(keys)
    if fault != CANCEL:
        assert [one.outcome.key for one in events if isinstance(one, CallSettled)] == keys
    ran = [(one.name, one.args) for one in turn.outcomes if isinstance(one, Dispatchable)]
    assert ran == expected(fault, provider, form), turn.ending


def test_the_matrix_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """No pair is left out but those that are listed, of which each fault says why."""
    refused: dict[str, set[str]] = {}
    for fault in FAULTS:
        for provider in PROVIDERS:
            try:
                faulty(fault, provider)
            except NotApplicable:
                refused.setdefault(fault, set()).add(provider)
    assert refused == NOT_APPLICABLE
    pairs = len(FAULT_NAMES) * len(PROVIDERS)
    missing = sum(map(len, refused.values()))
    clientless = sum(
        provider in NO_CLIENT and provider not in NOT_APPLICABLE.get(fault, ())
        for fault in FAULT_NAMES
        for provider in PROVIDERS
    )
    whole = (pairs - missing) * len(MODES) * len(FORMS) - clientless * len(MODES)
    assert len(COMBINATIONS) == len(set(COMBINATIONS)) == whole
    with capsys.disabled():
        print(
            f"\nfault matrix: {whole} combinations of {len(FAULT_NAMES)} faults, "
            f"{len(PROVIDERS)} providers, {len(MODES)} modes and {len(FORMS)} forms; "
            f"{missing} of {pairs} pairs mean nothing, {clientless} have no client"
        )
