"""The asynchronous turn on the real client: every way a stream and its reader can end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import pytest

from finalcall import (
    AsyncTurn,
    CallAnnounced,
    CallSettled,
    Cause,
    Event,
    Failed,
    Idle,
    StreamIdle,
    StreamQuiet,
    asettle,
)
from finalcall.pacing import Pacing
from finalcall.testing import FaultServer, Script, Stall
from tests.messages import CLEAN, TOOLS, call, message_start
from tests.test_turn import OPEN_CALL, PARAMETERS, SHORT, UNCLEAN, script


@pytest.fixture
async def connect() -> AsyncIterator[Any]:
    """A function that serves a script and opens a real client's raw stream of it."""
    opened: list[Any] = []

    async def open_stream(served: Script, *, helper: bool = False) -> Any:
        server = FaultServer(served)
        server.__enter__()
        client = anthropic.AsyncAnthropic(base_url=server.base_url, api_key="none", max_retries=0)
        opened.extend((client, server))
        if helper:
            return client.messages.stream(**PARAMETERS)
        return await client.messages.create(stream=True, **PARAMETERS)

    yield open_stream
    for thing in reversed(opened):
        if isinstance(thing, FaultServer):
            thing.__exit__(None, None, None)
        else:
            await thing.close()
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert [name for name in names if "finalcall" in name] == []


@pytest.mark.parametrize("helper", [False, True])
async def test_a_clean_stream(connect: Any, helper: bool) -> None:
    """Raw stream and helper give the same."""
    turn = await asettle(await connect(script(CLEAN, Stall()), helper=helper), tools=TOOLS)
    assert turn.verdict == "dispatch"
    assert turn.text == "On it."
    assert turn.pacing == Pacing("task", "bytes")


@pytest.mark.parametrize("helper", [False, True])
@pytest.mark.parametrize("name", UNCLEAN)
async def test_an_unclean_ending_is_loud_after_every_call_has_settled(
    connect: Any, name: str, helper: bool
) -> None:
    """First the CallSettled of every open call, then the exception, unchanged."""
    served, error_name, cause = UNCLEAN[name]
    events: list[Event] = []
    reported: list[CallSettled] = []
    turn = AsyncTurn(
        await connect(served, helper=helper),
        tools=TOOLS,
        idle_timeout=SHORT,
        on_settled=reported.append,
    )
    with pytest.raises(Exception, match=r".") as caught:
        async with turn:
            async for event in turn:
                events.append(event)
    assert type(caught.value).__name__ == error_name
    assert isinstance(events[-1], CallSettled)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)
    assert [event.outcome for event in reported] == [outcome]


@pytest.mark.parametrize("name", UNCLEAN)
async def test_raises_false_is_quiet_and_says_it_in_ending(connect: Any, name: str) -> None:
    """The same ending, as a value."""
    served, _, cause = UNCLEAN[name]
    turn = await asettle(await connect(served), tools=TOOLS, idle_timeout=SHORT, raises=False)
    assert turn.ending is not None
    assert turn.ending.cause is cause


async def test_silence_is_told_before_it_ends_the_turn(connect: Any) -> None:
    """StreamQuiet while waiting, StreamIdle at the limit."""
    events: list[Event] = []
    turn = AsyncTurn(await connect(script(OPEN_CALL, Stall())), tools=TOOLS, idle_timeout=SHORT)
    with pytest.raises(StreamIdle):
        async with turn:
            async for event in turn:
                events.append(event)
    assert any(isinstance(event, StreamQuiet) for event in events)


async def test_a_cancelled_task_settles_every_open_call(connect: Any) -> None:
    """CancelledError goes on, and is never mistaken for a limit of the turn's own."""
    reported: list[CallSettled] = []
    stream = await connect(script(OPEN_CALL, Stall()))
    announced = asyncio.Event()

    async def read() -> None:
        async with AsyncTurn(stream, tools=TOOLS, on_settled=reported.append) as turn:
            async for event in turn:
                if isinstance(event, CallAnnounced):
                    announced.set()

    task = asyncio.create_task(read())
    await announced.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event.outcome.cause for event in reported] == [Cause.CANCELLED]  # type: ignore[union-attr]
    assert stream.response.is_closed


async def test_an_outer_timeout_stays_the_callers(connect: Any) -> None:
    """The caller's deadline raises the caller's TimeoutError, with every call settled."""
    stream = await connect(script(OPEN_CALL, Stall()))
    turn = AsyncTurn(stream, tools=TOOLS)
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.3), turn:
            async for _ in turn:
                pass
    assert not isinstance(caught.value, StreamIdle)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CANCELLED


@pytest.mark.parametrize("error_type", [ValueError, KeyError])
async def test_the_callers_exception_is_never_masked(
    connect: Any, error_type: type[Exception]
) -> None:
    """It goes through unchanged, after every open call has settled."""
    stream = await connect(script(OPEN_CALL, Stall()))
    turn = AsyncTurn(stream, tools=TOOLS)
    with pytest.raises(error_type, match="mine"):
        async with turn:
            async for event in turn:
                if isinstance(event, CallAnnounced):
                    raise error_type("mine")
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CANCELLED
    assert stream.response.is_closed


async def test_leaving_the_loop_settles_and_closes(connect: Any) -> None:
    """break, then the end of the block."""
    stream = await connect(script(OPEN_CALL, Stall()))
    async with AsyncTurn(stream, tools=TOOLS) as turn:
        async for event in turn:
            if isinstance(event, CallAnnounced):
                break
    assert turn.verdict == "fail"
    assert stream.response.is_closed
    await turn.aclose()


async def test_closing_without_iterating_closes_the_stream(connect: Any) -> None:
    """A turn that was never read still releases what it was given."""
    stream = await connect(script(CLEAN))
    await AsyncTurn(stream, tools=TOOLS).aclose()
    assert stream.response.is_closed


async def test_iterating_twice_is_refused() -> None:
    """The stream cannot be read again."""
    turn = await asettle(CLEAN, tools=TOOLS)
    with pytest.raises(RuntimeError, match="iterated once"):
        aiter(turn)


async def test_native_events_are_the_sdks_own(connect: Any) -> None:
    """A loop that wants the SDK's events gets each once and unchanged."""
    async with AsyncTurn(await connect(script(CLEAN)), tools=TOOLS) as turn:
        kinds = [native.type async for native in turn.native_events()]
    assert kinds == [event["type"] for event in CLEAN]


async def test_open_makes_the_request_and_reads_its_parameters() -> None:
    """Tools and ceiling come from the request."""
    with FaultServer(script(CLEAN)) as server:
        async with anthropic.AsyncAnthropic(base_url=server.base_url, api_key="none") as client:
            for ceiling, verdict in ((1000, "dispatch"), (20, "fail")):
                turn = AsyncTurn.open(
                    client.messages.create,
                    stream=True,
                    tools=TOOLS,
                    **(PARAMETERS | {"max_tokens": ceiling}),
                )
                async with turn:
                    async for _ in turn:
                        pass
                assert turn.verdict == verdict


async def test_open_counts_the_wait_for_the_headers() -> None:
    """A request that is never answered ends with the first limit."""
    turn = AsyncTurn.open(asyncio.sleep, 30, turn_options={"tools": None, "idle_timeout": SHORT})
    with pytest.raises(StreamIdle):
        async with turn:
            async for _ in turn:
                pass


async def test_a_synchronous_stream_is_read_in_a_thread() -> None:
    """It settles as its asynchronous twin does, silence included."""
    release = threading.Event()

    def stream() -> Iterator[dict[str, Any]]:
        yield message_start()
        yield from call(0, stop=False)
        release.wait(30)

    with pytest.raises(StreamIdle):
        await asettle(stream(), tools=TOOLS, idle_timeout=SHORT)
    release.set()
    assert (await asettle(iter(CLEAN), tools=TOOLS)).verdict == "dispatch"
    assert (await asettle((event for event in CLEAN), tools=TOOLS)).verdict == "dispatch"


async def test_a_real_synchronous_stream_that_stalls_is_woken() -> None:
    """The thread that reads a reachable connection ends with the turn."""
    with (
        FaultServer(script(OPEN_CALL, Stall())) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none") as client,
    ):
        stream = client.messages.create(stream=True, **PARAMETERS)
        with pytest.raises(StreamIdle):
            await asettle(stream, tools=TOOLS, idle_timeout=SHORT)
    for thread in threading.enumerate():
        if "finalcall" in thread.name:
            thread.join(10)
            assert not thread.is_alive()


async def test_what_is_no_stream_is_refused_with_advice() -> None:
    """A whole message instead of a stream is the usual mistake."""
    with pytest.raises(TypeError, match="stream=True"):
        await asettle(object(), tools=None)


async def test_many_events_pass_a_slow_reader_in_order() -> None:
    """Reading ahead is bounded, and nothing is lost or reordered."""
    pieces = [str(number) for number in range(1000)]
    read = 0

    async def stream() -> AsyncIterator[dict[str, Any]]:
        nonlocal read
        yield message_start()
        yield {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        }
        for piece in pieces:
            read += 1
            yield {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }

    seen = 0
    async with AsyncTurn(stream(), tools=None, raises=False) as turn:
        async for _ in turn:
            seen += 1
            await asyncio.sleep(0)
            assert read - seen < 300
    assert turn.text == "".join(pieces)


async def test_a_timer_that_fires_while_nobody_waits_ends_nothing() -> None:
    """A reader that thinks longer than every limit kills nothing."""

    async def stream() -> AsyncIterator[Any]:
        for native in CLEAN:
            await asyncio.sleep(0)
            yield native

    idle = Idle(first=0.2, between=0.2, in_call=0.2, progress=0.2, quiet=None)
    async with AsyncTurn(stream(), tools=TOOLS, idle_timeout=idle) as turn:
        async for event in turn:
            if isinstance(event, CallAnnounced):
                await asyncio.sleep(0.5)
    assert turn.verdict == "dispatch"


async def test_a_synchronous_stream_that_raises_raises_here() -> None:
    """The thread hands its exception over."""

    def stream() -> Iterator[Any]:
        yield message_start()
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        await asettle(stream(), tools=None)


async def test_whatever_was_given_is_closed_as_it_can_be() -> None:
    """By close() where there is no aclose(), and not at all where there is neither."""
    closed: list[bool] = []

    class Stream:
        def close(self) -> None:
            closed.append(True)

    await AsyncTurn(Stream(), tools=None).aclose()
    await AsyncTurn(object(), tools=None).aclose()
    assert closed == [True]


class Open:
    """A stream that is open already."""

    def __init__(self) -> None:
        self.closed = False

    def __aiter__(self) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Note that it was closed, and fail as a connection may."""
        self.closed = True
        raise OSError


@pytest.mark.parametrize("options", [{"ceiling": "9"}, {"idle_timout": 3}, {"tools": 3}])
async def test_a_stream_that_no_turn_comes_of_is_closed(options: dict[str, Any]) -> None:
    """Whoever opened it within the call has no other way to."""
    stream = Open()
    with pytest.raises(TypeError):
        await asettle(stream, **{"tools": None, **options})
    assert stream.closed


@pytest.mark.parametrize("closes", [False, True])
async def test_a_synchronous_stream_that_no_turn_comes_of_is_closed(closes: bool) -> None:
    """Where it can be, and without waiting for it."""
    stream = iter(CLEAN)
    natives = (native for native in stream) if closes else stream
    with pytest.raises(TypeError, match="ceiling"):
        await asettle(natives, tools=None, ceiling="9")  # type: ignore[arg-type]
    assert list(natives) == ([] if closes else CLEAN)


class ClosedByAwaiting(Open):
    """A stream whose `close` is a coroutine, as that of several SDKs."""

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True


async def requested(made: list[bool]) -> None:
    made.append(True)


WRONG: dict[str, Callable[[Any], Any]] = {
    "an option": lambda stream: AsyncTurn(stream, tools=None, ceiling="9"),  # type: ignore[arg-type]
    "a checkpoint": lambda stream: AsyncTurn.resume({"version": 0}, stream, tools=None),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG.keys())
async def test_what_is_closed_without_awaiting_is_where_no_turn_comes_of_it(
    make: Callable[[Any], Any],
) -> None:
    """A synchronous stream, and a request that nobody has awaited: it is never made."""
    made: list[bool] = []
    natives = (native for native in CLEAN)
    for stream in (natives, requested(made), object()):
        with pytest.raises((TypeError, ValueError)):
            make(stream)
    assert list(natives) == []
    assert made == []


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", [Open, ClosedByAwaiting])
async def test_what_is_closed_by_awaiting_stays_open_where_no_turn_comes_of_it(
    make: Callable[[Any], Any], kind: type[Open]
) -> None:
    """Nothing is begun of it, and its owner can still close it."""
    stream = kind()
    with pytest.raises((TypeError, ValueError)):
        make(stream)
    assert not stream.closed


async def test_a_turn_that_makes_its_request_has_nothing_to_close() -> None:
    """Its options are wrong before there is a request."""
    made: list[bool] = []
    with pytest.raises(TypeError, match="ceiling"):
        AsyncTurn.open(requested, made, turn_options={"ceiling": "9"})
    assert made == []
