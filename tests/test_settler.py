"""The sans-I/O whole: recognition, the end of a message, anomalies, limits, history."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from finalcall import (
    Anomaly,
    CallSettled,
    Cause,
    Dispatchable,
    Failed,
    Idle,
    Limits,
    Other,
    ProviderFault,
    RefusedStream,
    SchemaError,
    Settler,
    StreamEndedEarly,
    StreamFault,
    StreamIdle,
    StreamQuiet,
    ToolResult,
    UnrecognisedStream,
    Verdict,
)
from finalcall.blocks import Blocks
from finalcall.listeners import LOG_FAILURES
from tests.chat_chunks import calls, chunk, entry
from tests.messages import CLEAN, ERROR, TOOLS, call, message_start, stopped, text, to_sse
from tests.responses_events import call as responses_call
from tests.responses_events import created, ending


def feed(events: list[Any], **options: Any) -> Settler:
    settler = Settler(**{"tools": TOOLS, **options})
    for event in events:
        settler.feed(event)
    return settler


def test_the_message_ends_at_its_own_marker() -> None:
    """The call that ends the message gives every CallSettled; no end() is needed."""
    settler = Settler(tools=TOOLS)
    *_, last = [settler.feed(event) for event in CLEAN]
    assert [type(event) for event in last] == [Other, CallSettled]
    assert settler.verdict == "dispatch"
    assert settler.end() == []


def test_a_settling_that_raised_has_ended_nothing() -> None:
    """No ending is told while outcomes are missing, and it can still be ended."""
    interrupts = [KeyboardInterrupt()]

    class Ticket(BaseModel):
        """Is interrupted in its first check."""

        title: str

        @field_validator("title")
        @classmethod
        def check(cls, title: str) -> str:
            """Be interrupted, once."""
            if interrupts:
                raise interrupts.pop()
            return title

    settler = feed(CLEAN[:-1], tools={"create_ticket": Ticket})
    with pytest.raises(KeyboardInterrupt):
        settler.feed(CLEAN[-1])
    assert settler.ending is None
    settler.end(Cause.CANCELLED)
    assert [type(outcome) for outcome in settler.outcomes] == [Dispatchable]


def test_outcomes_are_not_there_before_the_end() -> None:
    """Nothing is settled while the stream goes on."""
    settler = feed(CLEAN[:-1])
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = settler.outcomes


def test_exactly_one_event_carries_the_native_one() -> None:
    """Whoever passes natives on passes each once."""
    settler = Settler(tools=TOOLS)
    for native in CLEAN:
        carriers = [event for event in settler.feed(native) if event.native is not None]
        assert [event.native for event in carriers] == [native]


@pytest.mark.parametrize("first", [{"surprise": 1}, {"type": "surprise"}, object(), 7, ["a"]])
def test_an_unrecognised_stream_says_what_was_seen_and_what_is_known(first: Any) -> None:
    """The message names fields and providers, never content."""
    with pytest.raises(UnrecognisedStream, match="anthropic"):
        Settler(tools=None).feed(first)


@pytest.mark.parametrize("first", ["S3NT1N3L", "", "event: message_start"])
def test_a_stream_of_text_is_refused(first: str) -> None:
    """It was decoded, and perhaps cut into lines: the bytes, or the dicts, are to be given."""
    with pytest.raises(UnrecognisedStream, match=r"text was given; .*use iter_bytes\(\)") as raised:
        Settler(tools=None).feed(first)
    assert "S3NT1N3L" not in str(raised.value)


@pytest.mark.parametrize("marker", ["", " ", "[DONE]", "[START]\n"])
def test_a_marker_is_no_text(marker: str) -> None:
    """Services, and SDKs, have words of their own around a stream, and may begin it with one."""
    begun = [marker] if marker.strip() else []
    events = [*begun, message_start(), marker, *call(0), *stopped()]
    assert feed(events).verdict == "dispatch"


@pytest.mark.parametrize(
    ("chunks", "provider", "told"),
    [
        ([], None, "nothing came at all: it may have been read before"),
        ([], "anthropic", "nothing came at all: it may have been read before"),
        ([b": waiting\n\n"], None, "the bytes that came hold no event"),
        (CLEAN, "cohere", "no event said anything of a call, text or the end: provider= may be"),
        (CLEAN[:3], "anthropic", "the message is cut"),
        (CLEAN[:3], None, "the message is cut"),
    ],
)
def test_an_early_end_says_what_came(chunks: list[Any], provider: str | None, told: str) -> None:
    """Nothing, no event, nothing that was understood, or a part."""
    settler = feed(chunks, provider=provider)
    settler.end()
    assert isinstance(settler.error, StreamEndedEarly)
    assert told in str(settler.error)


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([message_start(), *call(0)], None),
        ([message_start(), *call(0), *call(1, "b", stop=False)], StreamEndedEarly),
        ([message_start(), *text("no call")], StreamEndedEarly),
    ],
)
def test_an_end_that_need_not_be_confirmed_raises_nothing_where_every_call_went_on(
    events: list[Any], error: type[Exception] | None
) -> None:
    """It is the proper end of a service that never sends a stop reason."""
    settler = feed(events, unconfirmed="dispatch")
    settler.end()
    assert type(settler.error) is (error or type(None))
    assert settler.ending is not None
    assert settler.ending.cause is Cause.ENDED_EARLY


def test_an_unknown_provider_says_which_are_known() -> None:
    """A typo is an error at construction."""
    with pytest.raises(ValueError, match=r"known are .*anthropic"):
        Settler("antropic", tools=None)


def test_provider_overrides_recognition() -> None:
    """A stream that begins oddly can be named."""
    settler = feed([{"type": "surprise"}, *CLEAN], provider="anthropic")
    assert settler.verdict == "dispatch"


def test_leading_nothing_is_skipped() -> None:
    """None before the first event says nothing."""
    assert feed([None, *CLEAN]).verdict == "dispatch"


@pytest.mark.parametrize(
    ("keep_alive", "events"),
    [
        ({"type": "ping"}, CLEAN),
        ({"type": "vertex_event"}, CLEAN),
        ({"type": "codex.rate_limits"}, [created(), *responses_call(), ending()]),
        ({"type": "keepalive", "sequence_number": 0}, [created(), *responses_call(), ending()]),
        ({"type": "ping"}, [chunk({"content": "x"}), chunk(finish="stop"), "[DONE]"]),
        ({}, CLEAN),
        (b": keep-alive\n\n", to_sse(CLEAN)),
        (b"event: ping\ndata: {}\n\n", to_sse(CLEAN)),
        (b'data: {"type":"keepalive","sequence_number":0}\n\n', to_sse([created(), ending()])),
    ],
)
def test_a_keep_alive_may_come_first(keep_alive: Any, events: Any) -> None:
    """It is handed on, and whose stream it is shows later."""
    settler = Settler(tools=None)
    leading = settler.feed(keep_alive)
    assert [type(event) for event in leading] == [Other] * len(leading)
    for event in [events] if isinstance(events, bytes) else events:
        settler.feed(event)
    assert settler.ending is not None
    assert settler.ending.clean


def test_a_stream_of_nothing_ended_early() -> None:
    """An empty stream has no outcomes, and is no success."""
    settler = feed([])
    settler.end()
    assert (settler.outcomes, settler.verdict) == ([], "fail")
    assert isinstance(settler.error, StreamEndedEarly)
    assert settler.history() == []


ENDINGS = {
    None: (Cause.ENDED_EARLY, StreamEndedEarly),
    Cause.DISCONNECTED: (Cause.DISCONNECTED, ConnectionResetError),
    Cause.CANCELLED: (Cause.CANCELLED, None),
    Cause.PROVIDER_ERROR: (Cause.PROVIDER_ERROR, ConnectionResetError),
}


@pytest.mark.parametrize("cause", ENDINGS)
def test_an_end_before_the_stop_reason_abandons(cause: Cause | None) -> None:
    """Whatever ended the stream, each open call has its outcome and its cause."""
    expected, error_type = ENDINGS[cause]
    settler = feed([message_start(), *call(0)])
    exception = ConnectionResetError() if error_type is ConnectionResetError else None
    (event,) = settler.end(cause, exception)[-1:]
    assert isinstance(event, CallSettled)
    assert isinstance(event.outcome, Failed)
    assert (event.outcome.reason, event.outcome.cause) == ("abandoned", expected)
    assert type(settler.error) is (error_type or type(None))
    assert settler.verdict == "fail"


@pytest.mark.parametrize("cause", [Cause.PROVIDER_ERROR, Cause.MALFORMED])
@pytest.mark.parametrize(("exception", "code"), [(None, ""), (KeyError(), "KeyError")])
def test_an_end_has_a_code_only_where_an_exception_was_given(
    cause: Cause, exception: Exception | None, code: str
) -> None:
    """Without one nothing names the error, and the fault says no more than its cause."""
    settler = feed([message_start(), *call(0)])
    events = settler.end(cause, exception)
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (cause, code)
    assert [event.code for event in events if isinstance(event, StreamFault)] == [code]
    if exception is None:
        assert isinstance(settler.error, ProviderFault)
        assert settler.error.code == ""
        assert str(settler.error).startswith(f"the stream reported an error ({cause.value}); ")


@pytest.mark.parametrize("cause", [OSError("S3NT1N3L"), "disconnected", Cause])
def test_an_end_by_anything_but_a_cause_is_refused(cause: Any) -> None:
    """An exception in the place of the cause would disappear."""
    settler = feed(CLEAN[:-1])
    with pytest.raises(TypeError, match="expected a Cause; an exception goes second") as raised:
        settler.end(cause)
    assert "S3NT1N3L" not in str(raised.value)
    assert settler.ending is None


def test_the_ending_shows_no_more_of_an_exception_than_its_type() -> None:
    """An SDK's exception may quote the arguments that it could not parse."""
    settler = feed([message_start(), *call(0)])
    settler.end(Cause.MALFORMED, ValueError('unable to parse: {"title": "S3NT1N3L"}'))
    assert "exception=ValueError, code='ValueError'" in repr(settler.ending)
    assert "S3NT1N3L" not in repr(settler.ending)


@pytest.mark.parametrize("cause", [None, Cause.DISCONNECTED, Cause.CANCELLED, Cause.IDLE])
def test_after_the_stop_reason_an_end_does_no_harm(cause: Cause | None) -> None:
    """A drop, silence or a cancel after the stop reason leaves a whole message whole."""
    settler = feed(CLEAN[:-1])
    settler.end(cause)
    assert [type(outcome) for outcome in settler.outcomes] == [Dispatchable]
    assert settler.error is None


@pytest.mark.parametrize("cause", [Cause.DISCONNECTED, Cause.IDLE, Cause.STALLED])
def test_a_call_that_the_stop_reason_does_not_cover_fails_for_what_cut_it(cause: Cause) -> None:
    """Only a clean end can stand for a stop reason, and only where the caller lets it."""
    late = [*CLEAN[:-1], *call(1, "late")]
    for end, lets_go in ((None, True), (cause, False)):
        settler = feed(late, unconfirmed="dispatch")
        settler.end(end)
        first, second = settler.outcomes
        assert isinstance(first, Dispatchable)
        assert isinstance(second, Dispatchable) is lets_go
    assert isinstance(second, Failed)
    assert (second.reason, second.cause) == ("abandoned", cause)


@pytest.mark.parametrize(
    ("cause", "expected", "unconfirmed"),
    [
        (None, Cause.ENDED_EARLY, "fail"),
        (Cause.DISCONNECTED, Cause.DISCONNECTED, "fail"),
        (Cause.IDLE, Cause.IDLE, "fail"),
        (Cause.DISCONNECTED, Cause.DISCONNECTED, "dispatch"),
    ],
)
def test_the_stop_reason_of_one_choice_hides_no_cut_of_another(
    cause: Cause | None, expected: Cause, unconfirmed: Any
) -> None:
    """Where every choice is settled, each must have stopped for the end to be proper."""
    settler = Settler("openai-chat", tools=None, choices="all", unconfirmed=unconfirmed)
    for choice, finish in ((0, "tool_calls"), (1, None)):
        settler.feed(calls(entry("{}", "pay", f"call_{choice}"), choice=choice, finish=finish))
    settler.end(cause)
    first, second = settler.outcomes
    assert isinstance(first, Dispatchable)
    assert isinstance(second, Failed)
    assert (second.reason, second.cause) == ("abandoned", expected)
    assert settler.ending is not None
    assert settler.ending.cause is expected


def test_a_choice_that_was_cut_in_its_text_is_not_done() -> None:
    """A message without calls is done only where every choice has stopped."""
    settler = Settler("openai-chat", tools=None, choices="all")
    settler.feed(chunk({"content": "whole"}, "stop"))
    settler.feed(chunk({"content": "cu"}, choice=1))
    settler.end(Cause.DISCONNECTED, ConnectionResetError())
    assert settler.verdict == "fail"
    assert isinstance(settler.error, ConnectionResetError)


@pytest.mark.parametrize("cause", [Cause.PROVIDER_ERROR, Cause.MALFORMED])
def test_an_error_after_the_stop_reason_voids_it(cause: Cause) -> None:
    """What the provider says failed does not run."""
    settler = feed(CLEAN[:-1])
    settler.end(cause, ValueError())
    (outcome,) = settler.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)


def test_an_in_band_error_ends_the_message() -> None:
    """The error's type is told, its message (which may quote arguments) is not."""
    settler = feed([message_start(), *call(0), ERROR])
    (outcome,) = settler.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.PROVIDER_ERROR
    assert isinstance(settler.error, ProviderFault)
    assert settler.error.code == "overloaded_error"
    assert "S3NT1N3L" not in str(settler.error)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"type":"overloaded_error","message":"S3NT1N3L"}', "overloaded_error"),
        (b'{"type":"server_error","error":{"code":"busy"}}', "busy"),
        (b'{"type":"ping"}', "ping"),
        (b"[DONE]", "error"),
        (b"", "error"),
    ],
)
def test_an_event_named_error_is_one_whatever_its_data_says(data: bytes, code: str) -> None:
    """After a good stop reason, too: the name alone voids it."""
    settler = Settler(tools=TOOLS)
    settler.feed(to_sse(CLEAN[:-1]))
    settler.feed(b"event: error\ndata: " + data + b"\n\n")
    settler.end()
    assert [type(outcome) for outcome in settler.outcomes] == [Failed]
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (Cause.PROVIDER_ERROR, code)


def test_two_generations_in_one_stream_run_nothing() -> None:
    """Every call of both is abandoned, and the anomaly says why."""
    settler = feed(
        [
            message_start("a"),
            *call(0, "toolu_a"),
            message_start("b"),
            *call(0, "toolu_b"),
            *stopped(),
        ]
    )
    assert [outcome.reason for outcome in settler.outcomes if isinstance(outcome, Failed)] == [
        "abandoned",
        "abandoned",
    ]
    assert Anomaly("spliced_stream") in settler.anomalies
    assert isinstance(settler.error, ProviderFault)


def test_a_promise_of_calls_without_calls_is_an_anomaly() -> None:
    """A stop reason that hands over to tools, and no tool."""
    settler = feed([message_start(), *text("hm"), *stopped("tool_use")])
    assert Anomaly("promised_calls_missing") in settler.anomalies
    assert settler.verdict == "done"


def test_a_call_after_the_end_is_named_and_not_run() -> None:
    """Pushing on after the end changes no outcome."""
    settler = feed([*CLEAN, *call(2, "toolu_late")])
    assert len(settler.outcomes) == 1
    assert Anomaly("call_after_end") in settler.anomalies


@pytest.mark.parametrize(
    ("ceiling", "verdict"), [(20, "fail"), (21, "dispatch"), (None, "dispatch")]
)
def test_usage_at_the_ceiling_is_truncated_whatever_the_service_says(
    ceiling: int | None, verdict: str
) -> None:
    """Some services relabel a cut message."""
    settler = feed(CLEAN, ceiling=ceiling)
    assert settler.verdict == verdict
    if verdict == "fail":
        assert settler.stop_reason is not None
        assert settler.stop_reason.verdict is Verdict.TRUNCATED


def test_the_callers_words_for_stop_reasons_come_first() -> None:
    """A line makes a dialect's word known."""
    events = [message_start(), *call(0), *stopped("handed_over")]
    assert feed(events).verdict == "fail"
    known = feed(events, stop_reasons={"handed_over": Verdict.COMPLETE})
    assert known.verdict == "dispatch"


@pytest.mark.parametrize(
    ("limits", "code"),
    [(Limits(calls=3), "calls_limit"), (Limits(message=50), "message_limit")],
)
def test_a_message_past_its_limits_ends(limits: Limits, code: str) -> None:
    """Every call is abandoned with the cause LIMIT, and the turn is over."""
    events = [message_start()]
    for number in range(6):
        events += call(number, f"toolu_{number}")
    settler = feed(events, limits=limits)
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (Cause.LIMIT, code)
    assert {outcome.cause for outcome in settler.outcomes if isinstance(outcome, Failed)} == {
        Cause.LIMIT
    }


def test_undecodable_bytes_end_the_turn() -> None:
    """What was lost with a broken event may have been a fragment, so nothing runs."""
    data = to_sse(CLEAN).replace(b'"partial_json"', b'"partial_json', 1)
    settler = feed([data])
    (outcome,) = settler.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.MALFORMED
    assert isinstance(settler.error, ProviderFault)


def test_bytes_without_a_last_blank_line_are_read_at_the_end() -> None:
    """A server that stops after its last line has still said it."""
    settler = feed([to_sse(CLEAN).rstrip()])
    settler.end()
    assert settler.verdict == "dispatch"


def test_on_settled_is_called_once_a_call() -> None:
    """On a clean end, on a cut, and never again."""
    for events in (CLEAN, CLEAN[:-3]):
        seen: list[str] = []
        settler = feed(events, on_settled=lambda event, seen=seen: seen.append(event.outcome.key))
        settler.end(Cause.CANCELLED)
        settler.end()
        assert seen == ["toolu_1"]


def test_a_failing_handler_keeps_no_other_call_unreported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What on_settled raises is logged, by its type alone."""
    seen: list[str] = []

    def handler(event: CallSettled) -> None:
        seen.append(event.outcome.key)
        raise KeyError("S3NT1N3L")

    events = [message_start(), *call(0, "a"), *call(1, "b"), *stopped()]
    settler = feed(events, on_settled=handler)
    assert "on_settled raised KeyError" in caplog.text
    assert "S3NT1N3L" not in caplog.text
    assert seen == ["a", "b"]
    assert settler.verdict == "dispatch"


class _FullDisk(logging.Handler):
    """A handler that lets out what it meets."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError(28, record.levelname)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that is logged can be written, not even the warning of it."""
    loggers = [logging.getLogger("finalcall"), logging.getLogger("py.warnings")]
    handler = _FullDisk()
    for logger in loggers:
        logger.addHandler(handler)
    shown = logging.getLogger("py.warnings").warning
    monkeypatch.setattr("warnings.showwarning", lambda *told, **_: shown("%s", told[0]))
    monkeypatch.setattr(LOG_FAILURES, "count", 0)
    yield
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.filterwarnings("always")
def test_no_warning_of_the_library_breaks_a_turn() -> None:
    """Where it cannot be logged, that is counted; where that cannot be told, it is not."""
    seen: list[str] = []

    def handler(event: CallSettled) -> None:
        seen.append(event.outcome.key)
        raise KeyError

    def watcher(_: object) -> None:
        raise KeyError

    blocks = Blocks(tools=TOOLS)
    blocks.watch(watcher)
    events = [message_start(), *call(0, "a"), *call(1, "b"), *stopped()]
    settler = feed(events, on_settled=handler, blocks=blocks)
    assert seen == ["a", "b"]
    assert settler.verdict == "dispatch"
    assert LOG_FAILURES.count >= 3


@pytest.mark.parametrize("told", range(1, 9))
def test_a_screen_that_ends_the_turn_settles_each_call_once(told: int) -> None:
    """At whatever moment a watcher ends it, the turn reports no call twice."""
    seen: list[str] = []
    blocks = Blocks(tools=TOOLS)
    count = 0

    def watcher(_: object) -> None:
        nonlocal count
        count += 1
        if count == told:
            blocks.end()

    blocks.watch(watcher)
    events = [message_start(), *call(0, "a"), *call(1, "b"), *stopped()]
    settler = feed(events, on_settled=lambda event: seen.append(event.outcome.key), blocks=blocks)
    settler.end()
    assert seen == [outcome.key for outcome in settler.outcomes]
    assert all(not block.open for block in blocks)


def test_a_screen_that_ends_the_turn_at_its_last_event_settles_it_once() -> None:
    """The silence that is over is told with the event that would have ended the message."""
    seen: list[str] = []
    blocks = Blocks(tools=TOOLS)

    def watcher(_: object) -> None:
        blocks.end()

    settler = Settler(
        tools=TOOLS, blocks=blocks, on_settled=lambda event: seen.append(event.outcome.key)
    )
    *events, last = CLEAN
    for native in events:
        settler.feed(native)
    blocks.apply(StreamQuiet(10.0))
    blocks.watch(watcher)
    settler.feed(last)
    assert seen == ["toolu_1"]
    assert settler.ending is not None
    assert settler.ending.cause is Cause.CANCELLED


def test_time_is_told_not_read() -> None:
    """deadline() begins a wait, tick() acts on it: first quiet, then the end."""
    settler = Settler(tools=TOOLS, idle_timeout=Idle(in_call=25, quiet=10))
    now = 100.0
    for event in [message_start(), *call(0, stop=False)]:
        settler.deadline(now)
        settler.feed(event, now)
    kinds = []
    while settler.ending is None:
        now = settler.deadline(now)
        kinds += [type(event) for event in settler.tick(now)]
    assert kinds == [StreamQuiet, StreamQuiet, CallSettled]
    assert now == 125.0
    error = settler.error
    assert isinstance(error, StreamIdle)
    assert (error.cause, error.seconds, error.open_calls) == (Cause.IDLE, 25.0, ("toolu_1",))


@pytest.mark.parametrize("whole", [True, False], ids=["an event", "bytes"])
def test_an_event_that_comes_late_says_nothing_of_the_silence(whole: bool) -> None:
    """Who keeps time is told of it by tick(), and a keep-alive that came late is no progress."""
    settler = Settler(tools=TOOLS, idle_timeout=Idle(progress=40, quiet=10))
    ping = {"type": "ping"}
    for now, native in ((0.0, message_start()), (25.0, ping), (50.0, ping)):
        settler.deadline(now - 25.0)
        events = settler.feed(native if whole else to_sse([native]), now)
        assert [type(event) for event in events] == [Other]
    assert settler.clocks.unproductive == 75.0


@pytest.mark.parametrize("ends", [True, False], ids=["its end", "a limit"])
def test_a_silence_that_bytes_ended_is_told_before_what_follows(ends: bool) -> None:
    """Where no event comes any more, it is the end or a limit that follows."""
    settler = Settler(tools=TOOLS, idle_timeout=Idle(in_call=40, quiet=10))
    list(settler.feed_all([message_start(), *call(0, stop=False)], lambda: 0.0))
    settler.clocks.wait(0.0)
    settler.clocks.pause(25.0)  # a keep-alive, which is no event
    settler.clocks.wait(25.0)
    events = settler.end() if ends else settler.tick(65.0)
    assert [type(event) for event in events] == [StreamQuiet, CallSettled]
    assert isinstance(events[0], StreamQuiet)
    assert events[0].seconds == 25.0


def test_a_tick_before_the_deadline_does_nothing() -> None:
    """Timers may fire early."""
    settler = Settler(tools=TOOLS)
    settler.deadline(0.0)
    assert settler.tick(5.0) == []


def test_history_answers_every_call_that_stays() -> None:
    """Results by outcome, key or id; an invalid call gets its violations as an error."""
    settler = feed(
        [
            message_start(),
            *text("On it."),
            *call(1, "a"),
            *call(2, "b", '{"title": 7}'),
            *call(3, "c", '{"title": '),
            *stopped(),
        ]
    )
    good, bad, failed = settler.outcomes
    assert isinstance(good, Dispatchable)
    assert isinstance(bad, SchemaError)
    assert isinstance(failed, Failed)
    for results in ({good: "done"}, {good.key: "done"}, {"a": ToolResult("done")}):
        assistant, user = settler.history(results)
        assert [block.get("id") for block in assistant["content"]] == [None, "a", "b"]
        answers = user["content"]
        assert [answer["tool_use_id"] for answer in answers] == ["a", "b"]
        assert answers[0]["content"] == "done"
        assert answers[1]["is_error"] is True
        assert "title" in answers[1]["content"]


def test_history_refuses_an_unanswered_call_and_a_stray_result() -> None:
    """A call without a result would be refused by the provider one request later."""
    settler = feed(CLEAN)
    with pytest.raises(ValueError, match="no result for the call 'create_ticket'"):
        settler.history()
    with pytest.raises(ValueError, match="1 of the results given are for no call"):
        settler.history({"toolu_1": "done", "toolu_9": "?"})


def test_a_provider_that_keeps_nothing_refuses_stored_history() -> None:
    """The next request would lack the message."""
    with pytest.raises(ValueError, match="anthropic keeps no conversation"):
        feed(CLEAN).history({"toolu_1": "done"}, stored=True)


@pytest.mark.parametrize(
    ("value", "content", "is_error"),
    [
        ("text", "text", False),
        ({"id": 7}, '{"id": 7}', False),
        (None, "null", False),
        (["a"], '["a"]', False),
        ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}], False),
        (LookupError("gone"), "LookupError: gone", True),
        (ToolResult("no", is_error=True), "no", True),
    ],
)
def test_a_result_may_be_anything_that_can_be_sent(
    value: Any, content: Any, is_error: bool
) -> None:
    """Strings, JSON values, content blocks, exceptions, and ToolResult."""
    (_, user) = feed(CLEAN).history({"toolu_1": value})
    (answer,) = user["content"]
    assert answer["content"] == content
    assert answer.get("is_error", False) is is_error


def test_a_result_that_cannot_be_sent_is_refused() -> None:
    """Its type is named, its content is not."""
    with pytest.raises(TypeError, match="of type object cannot be sent"):
        feed(CLEAN).history({"toolu_1": object()})


def test_a_stream_whose_calls_an_sdk_runs_is_refused() -> None:
    """The message says what to wrap; naming the provider overrides it."""
    with pytest.raises(RefusedStream, match="instead"):
        Settler(tools=None).feed({"event_kind": "part_start", "index": 0})


def test_anything_after_the_end_of_nothing_is_ignored() -> None:
    """No provider is known that could read it."""
    settler = feed([])
    settler.end()
    assert settler.feed(CLEAN[0]) == []


def test_silence_after_a_stop_reason_ends_the_message_well() -> None:
    """An end marker that never comes holds nothing up."""
    settler = Settler(tools=TOOLS, after_stop=2.0)
    for native in CLEAN[:-1]:
        settler.deadline(0.0)
        settler.feed(native, 0.0)
    events = settler.tick(settler.deadline(0.0))
    assert [type(event) for event in events] == [CallSettled]
    assert settler.ending is not None
    assert settler.ending.clean


def test_a_result_does_not_show_itself() -> None:
    """What tools return is the user's data too."""
    assert "S3NT1N3L" not in repr(ToolResult("S3NT1N3L"))


def test_history_refuses_a_result_for_a_call_that_did_not_run() -> None:
    """An invalid call is answered as an error, or not by the caller at all."""
    settler = feed([message_start(), *call(0, "a", '{"title": 7}'), *stopped()])
    with pytest.raises(ValueError, match="it did not run"):
        settler.history({"a": "done"})
    (_, user) = settler.history({"a": ToolResult("give a title", is_error=True)})
    assert user["content"][0]["content"] == "give a title"
