"""The synchronous turn on the real client: every way a stream and its reader can end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from finalcall import (
    Anomaly,
    AsyncTurn,
    CallAnnounced,
    CallSettled,
    Cause,
    Dispatchable,
    Event,
    Failed,
    Idle,
    Pacing,
    RefusedStream,
    SchemaError,
    StreamIdle,
    StreamQuiet,
    Turn,
    UnrecognisedStream,
    settle,
)
from finalcall.testing import CloseAbruptly, FaultServer, Script, Send, Stall
from tests.messages import CLEAN, ERROR, TOOLS, call, message_start, stopped, to_sse

PARAMETERS: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "go"}],
}
OPEN_CALL = [message_start(), *call(0, stop=False)]
SHORT = Idle(first=0.4, between=0.4, in_call=0.4, quiet=0.15)


def script(events: list[dict[str, Any]], *steps: Any) -> Script:
    return Script((*(Send(to_sse([event])) for event in events), *steps))


@pytest.fixture
def connect() -> Iterator[Any]:
    """A function that serves a script and opens a real client's raw stream of it."""
    opened: list[Any] = []

    def open_stream(served: Script, *, helper: bool = False) -> Any:
        server = FaultServer(served)
        server.__enter__()
        client = anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0)
        opened.extend((client, server))
        if helper:
            return client.messages.stream(**PARAMETERS)
        return client.messages.create(stream=True, **PARAMETERS)

    yield open_stream
    for thing in reversed(opened):
        thing.__exit__(None, None, None)
    assert [thread.name for thread in threading.enumerate() if "finalcall" in thread.name] == []


@pytest.mark.parametrize("helper", [False, True])
def test_a_clean_stream(connect: Any, helper: bool) -> None:
    """Raw stream and helper give the same; the helper's second telling is not counted."""
    with Turn(connect(script(CLEAN), helper=helper), tools=TOOLS) as turn:
        events = list(turn)
    assert turn.verdict == "dispatch"
    assert turn.text == "On it."
    assert [type(event) for event in events if isinstance(event, CallAnnounced | CallSettled)] == [
        CallAnnounced,
        CallSettled,
    ]
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Dispatchable)
    assert outcome.args == {"title": "x"}
    assert turn.pacing == Pacing("transport", "bytes")
    assert turn.usage.output_tokens == 20
    assert turn.provider == "anthropic"


def test_the_socket_is_not_waited_for(connect: Any) -> None:
    """A connection that stays open after the message's end holds nothing up."""
    with Turn(connect(script(CLEAN, Stall())), tools=TOOLS, idle_timeout=None) as turn:
        assert isinstance(list(turn)[-1], CallSettled)


UNCLEAN = {
    "dropped": (script(OPEN_CALL, CloseAbruptly()), "RemoteProtocolError", Cause.DISCONNECTED),
    "ended early": (script(OPEN_CALL), "StreamEndedEarly", Cause.ENDED_EARLY),
    "silent": (script(OPEN_CALL, Stall()), "StreamIdle", Cause.IDLE),
    "in-band error": (script([*OPEN_CALL, ERROR]), "APIStatusError", Cause.PROVIDER_ERROR),
    "garbage": (
        script(OPEN_CALL, Send(b"event: content_block_delta\ndata: {bad\n\n")),
        "JSONDecodeError",
        Cause.MALFORMED,
    ),
}


@pytest.mark.parametrize("helper", [False, True])
@pytest.mark.parametrize("name", UNCLEAN)
def test_an_unclean_ending_is_loud_after_every_call_has_settled(
    connect: Any, name: str, helper: bool
) -> None:
    """First the CallSettled of every open call, then the exception, unchanged."""
    served, error_name, cause = UNCLEAN[name]
    events: list[Event] = []
    reported: list[CallSettled] = []
    with (
        pytest.raises(Exception, match=r".") as caught,
        Turn(
            connect(served, helper=helper),
            tools=TOOLS,
            idle_timeout=SHORT,
            on_settled=reported.append,
        ) as turn,
    ):
        events.extend(turn)
    assert type(caught.value).__name__ == error_name
    assert isinstance(events[-1], CallSettled)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)
    assert [event.outcome for event in reported] == [outcome]
    assert turn.verdict == "fail"


@pytest.mark.parametrize("name", UNCLEAN)
def test_raises_false_is_quiet_and_says_it_in_ending(connect: Any, name: str) -> None:
    """The same ending, as a value."""
    served, _, cause = UNCLEAN[name]
    turn = settle(connect(served), tools=TOOLS, idle_timeout=SHORT, raises=False)
    assert turn.ending is not None
    assert turn.ending.cause is cause
    assert not turn.ending.clean


def test_a_token_ceiling_is_no_unclean_ending(connect: Any) -> None:
    """It is said by the outcomes, not raised."""
    events = [
        message_start(),
        *call(0, arguments='{"title": "x', stop=False),
        *stopped("max_tokens"),
    ]
    turn = settle(connect(script(events)), tools=TOOLS)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("truncated", Cause.TOKEN_CEILING)


def test_a_schema_error_asks_for_a_correction(connect: Any) -> None:
    """The verdict is read before the outcomes."""
    events = [message_start(), *call(0, arguments='{"title": "x", "priority": "P1"}'), *stopped()]
    turn = settle(connect(script(events)), tools=TOOLS)
    assert turn.verdict == "correct"
    assert isinstance(turn.outcomes[0], SchemaError)


def test_pings_do_not_hide_a_dead_generation() -> None:
    """As dicts, keep-alives are seen, and the progress clock runs on."""
    clock = FakeClock()

    def stream() -> Iterator[dict[str, Any]]:
        yield from OPEN_CALL
        while True:
            clock.now += 5
            yield {"type": "ping"}

    idle = Idle(in_call=60, progress=30, quiet=None)
    with (
        pytest.raises(StreamIdle, match="no progress"),
        Turn(stream(), tools=TOOLS, idle_timeout=idle, clock=clock) as turn,
    ):
        list(turn)
    assert turn.outcomes[0].cause is Cause.STALLED  # type: ignore[union-attr]


class FakeClock:
    """A clock that a test steps by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_iterator_without_a_handle_is_read_by_a_thread() -> None:
    """Silence is told, then ended, and the caller waits no longer than the limit."""
    release = threading.Event()

    def stream() -> Iterator[dict[str, Any]]:
        yield from OPEN_CALL
        release.wait(30)

    events: list[Event] = []
    with pytest.raises(StreamIdle), Turn(stream(), tools=TOOLS, idle_timeout=SHORT) as turn:
        events.extend(turn)
    release.set()
    assert turn.pacing == Pacing("thread", "events")
    assert any(isinstance(event, StreamQuiet) for event in events)
    assert isinstance(events[-1], CallSettled)


def test_leaving_the_loop_settles_and_closes(connect: Any) -> None:
    """break: every open call is cancelled, and the connection is closed."""
    reported: list[CallSettled] = []
    stream = connect(script(OPEN_CALL, Stall()))
    with Turn(stream, tools=TOOLS, on_settled=reported.append) as turn:
        for event in turn:
            if isinstance(event, CallAnnounced):
                break
    assert [event.outcome.cause for event in reported] == [Cause.CANCELLED]  # type: ignore[union-attr]
    assert stream.response.is_closed


def test_leaving_the_loop_without_a_with_block_settles_too(connect: Any) -> None:
    """A forgotten with is forgiven where the interpreter counts references."""
    reported: list[CallSettled] = []
    stream = connect(script(OPEN_CALL, Stall()))
    turn = Turn(stream, tools=TOOLS, on_settled=reported.append)
    for event in turn:
        if isinstance(event, CallAnnounced):
            break
    assert len(reported) == 1
    assert turn.verdict == "fail"
    assert stream.response.is_closed


@pytest.mark.parametrize("error_type", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_callers_exception_is_never_masked(
    connect: Any, error_type: type[BaseException]
) -> None:
    """It goes through unchanged, after every open call has settled."""
    stream = connect(script(OPEN_CALL, Stall()))
    with pytest.raises(error_type, match="mine"), Turn(stream, tools=TOOLS) as turn:
        for event in turn:
            if isinstance(event, CallAnnounced):
                raise error_type("mine")
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.CANCELLED


def test_closing_without_iterating_closes_the_stream(connect: Any) -> None:
    """A turn that was never read still releases what it was given."""
    stream = connect(script(CLEAN))
    turn = Turn(stream, tools=TOOLS)
    turn.close()
    turn.close()
    assert stream.response.is_closed
    assert turn.outcomes == []


def test_iterating_twice_is_refused(connect: Any) -> None:
    """The stream cannot be read again."""
    turn = settle(connect(script(CLEAN)), tools=TOOLS)
    with pytest.raises(RuntimeError, match="iterated once"):
        iter(turn)


def test_native_events_are_the_sdks_own(connect: Any) -> None:
    """A loop that wants the SDK's events gets each once and unchanged."""
    with Turn(connect(script(CLEAN)), tools=TOOLS) as turn:
        kinds = [native.type for native in turn.native_events()]
    assert kinds == [event["type"] for event in CLEAN]
    assert turn.verdict == "dispatch"


def test_open_makes_the_request_and_reads_its_parameters() -> None:
    """Tools and ceiling come from the request; usage at the ceiling is truncated."""
    with (
        FaultServer(script(CLEAN)) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none") as client,
    ):
        for ceiling, verdict in ((1000, "dispatch"), (20, "fail")):
            with Turn.open(
                client.messages.create,
                stream=True,
                tools=TOOLS,
                **(PARAMETERS | {"max_tokens": ceiling}),
            ) as turn:
                list(turn)
            assert turn.verdict == verdict
    assert len(server.requests) == 2


def test_open_counts_the_wait_for_the_headers() -> None:
    """A request that is never answered ends with the first limit."""
    never = threading.Event()
    with (
        pytest.raises(StreamIdle),
        Turn.open(never.wait, 30, turn_options={"tools": None, "idle_timeout": SHORT}) as turn,
    ):
        list(turn)
    never.set()
    assert turn.outcomes == []


@pytest.mark.parametrize(
    ("stream", "advice"),
    [
        (7, "stream=True"),
        (object(), "stream=True"),
        (CLEAN[0], "a single event"),
        ("data: {}", r"text was given; expected bytes or dicts: use iter_bytes\(\)"),
        (lambda: iter(CLEAN), r"is a function, and no stream: call it"),
        (CLEAN.copy, r"list.copy is a function, and no stream: call it"),
        (Turn(CLEAN, tools=None), "this is Turn, a turn already: iterate it, or give its stream"),
        (AsyncTurn(CLEAN, tools=None), "this is AsyncTurn, a turn already"),
    ],
)
def test_what_is_no_stream_is_refused_with_advice(stream: Any, advice: str) -> None:
    """A whole message instead of a stream is the usual mistake."""
    with pytest.raises(TypeError, match=advice):
        settle(stream, tools=None)


class Open:
    """A stream that is open already."""

    def __init__(self) -> None:
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        return iter(CLEAN)

    def close(self) -> None:
        """Note that it was closed, and fail as a connection may."""
        self.closed += 1
        raise OSError


@pytest.mark.parametrize(
    "options",
    [{"ceiling": "9"}, {"idle_timout": 3}, {"pacing": "x"}, {"tools": 3}, {"provider": "x"}],
)
@pytest.mark.parametrize("make", [settle, Turn])
def test_a_stream_that_no_turn_comes_of_is_closed(make: Any, options: dict[str, Any]) -> None:
    """Whoever opened it within the call has no other way to."""
    stream = Open()
    with pytest.raises((TypeError, ValueError)):
        make(stream, **{"tools": None, **options})
    assert stream.closed


async def test_an_async_stream_is_sent_to_the_async_turn() -> None:
    """The message names what to use."""

    async def stream() -> Any:
        yield CLEAN[0]

    with pytest.raises(TypeError, match="AsyncTurn"):
        settle(stream(), tools=None)


@pytest.mark.parametrize(
    "stream",
    [
        CLEAN,
        tuple(CLEAN),
        iter(CLEAN),
        to_sse(CLEAN),
        [to_sse(CLEAN)[:100], to_sse(CLEAN)[100:]],
        (event for event in CLEAN),
    ],
    ids=["list", "tuple", "iterator", "bytes", "chunks", "generator"],
)
def test_any_iterable_of_events_or_bytes_is_a_stream(stream: Any) -> None:
    """Dicts and bytes need no SDK."""
    assert settle(stream, tools=TOOLS).verdict == "dispatch"


def test_a_stream_that_runs_its_calls_itself_is_refused_before_it_is_read() -> None:
    """The tool runner of an SDK is recognised by what it offers."""

    class Runner:
        def until_done(self) -> None:
            """Run to the end."""

        def generate_tool_call_response(self) -> None:
            """Run the tools."""

    with pytest.raises(RefusedStream, match="instead"):
        Turn(Runner(), tools=None)


def test_anomalies_are_the_settlers() -> None:
    """A turn names what was odd."""
    turn = settle([message_start(), *stopped("tool_use")], tools=None)
    assert turn.anomalies == [Anomaly("promised_calls_missing")]


def test_a_turn_may_be_closed_inside_its_loop(connect: Any) -> None:
    """What is open is cancelled, and the loop ends."""
    turn = Turn(connect(script(OPEN_CALL, Stall())), tools=TOOLS)
    for event in turn:
        if isinstance(event, CallAnnounced):
            turn.close()
    assert [outcome.cause for outcome in turn.outcomes if isinstance(outcome, Failed)] == [
        Cause.CANCELLED
    ]


def test_a_misspelt_option_is_named() -> None:
    """The message says what there is, and what was meant."""
    with pytest.raises(TypeError, match=r"'idle_timout' is none of .*mean 'idle_timeout'"):
        Turn([], tools=None, idle_timout=3)  # type: ignore[call-arg]


def test_a_verdict_that_there_is_not_is_refused() -> None:
    """At once, and not when the word comes."""
    with pytest.raises(TypeError, match="'done' has the verdict 'complete'; expected one of V"):
        Turn([], tools=None, stop_reasons={"done": "complete"})


def test_a_whole_response_is_told_from_a_stream() -> None:
    """An SDK's response iterates over its fields: that is no stream of anybody's."""
    with pytest.raises(UnrecognisedStream, match="was stream=True passed"):
        list(Turn([("id", "msg_1"), ("content", [])], tools=None))
