"""The clocks of a turn, moved by hand: each limit alone, each way to be read, and no real wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from finalcall import CallSettled, Cause, Event, Failed, Idle, StreamIdle, StreamQuiet, Turn
from finalcall.testing import FakeClock
from tests.messages import CLEAN, call, message_start, stopped

OFF: dict[str, None] = dict.fromkeys(("first", "between", "in_call", "progress", "quiet"))
OPEN_CALL = [message_start(), *call(0, stop=False)]
PING = {"type": "ping"}

Script = list["dict[str, Any] | float"]
"""Events, and between them the seconds that pass."""


class InMemory(list[Any]):
    """A list that moves the clock while it is read: no thread stands between it and the turn."""

    def __init__(self, play: Callable[[], Iterator[Any]]) -> None:
        super().__init__()
        self.play = play

    def __iter__(self) -> Iterator[Any]:
        return self.play()


WAYS: dict[str, Callable[[Callable[[], Iterator[Any]]], Iterable[Any]]] = {
    "memory": InMemory,
    "thread": lambda play: play(),
}
"""How the turn reads the script, by what ends its wait."""


def play(way: str, script: Script, idle: Idle, **options: Any) -> tuple[list[Event], Turn]:
    """What a turn gives of a script, whose pauses move the clock inside of the stream."""
    clock = FakeClock(1000.0)

    def stream() -> Iterator[Any]:
        for step in script:
            if isinstance(step, dict):
                yield step
            else:
                clock.advance(step)

    options = {"raises": False, "tools": None, **options}
    with Turn(WAYS[way](stream), idle_timeout=idle, clock=clock, **options) as turn:
        events = list(turn)
    assert turn.pacing is not None
    assert turn.pacing.ended_by == way
    return events, turn


def ends(turn: Turn) -> Cause | None:
    assert turn.ending is not None
    return turn.ending.cause


PHASES: dict[str, Script] = {
    "first": [],
    "between": [message_start()],
    "in_call": list(OPEN_CALL),
}
"""What comes before a silence, by the limit that is for it."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", PHASES)
def test_silence_ends_at_the_limit_of_its_phase_and_at_no_other(limit: str, way: str) -> None:
    """A second less is none; each limit is for its own phase; None is off."""
    rest: Script = list(CLEAN[len(PHASES[limit]) :])
    for silence, idle, cause in (
        (30.0, Idle(**{**OFF, limit: 30.0}), Cause.IDLE),
        (29.0, Idle(**{**OFF, limit: 30.0}), None),
        (1e9, Idle(**OFF), None),
        (1e9, Idle(**{**OFF, **dict.fromkeys(PHASES, 30.0), limit: None}), None),
    ):
        if limit == "in_call":
            rest = [*call(0)[-1:], *stopped()]
        _, turn = play(way, [*PHASES[limit], silence, *rest], idle)
        assert ends(turn) is cause, (silence, idle)


@pytest.mark.parametrize("way", WAYS)
def test_keep_alives_reset_silence_and_not_progress(way: str) -> None:
    """With pings alone the stream stalls at the progress limit, to the second; None is off."""
    pings: Script = [10.0, PING] * 5
    rest: Script = [*call(0)[-1:], *stopped()]
    for progress, in_call, cause in (
        (50.0, 11.0, Cause.STALLED),
        (50.0, None, Cause.STALLED),
        (51.0, 11.0, None),
        (None, 11.0, None),
        (51.0, 10.0, Cause.IDLE),
    ):
        idle = Idle(**{**OFF, "progress": progress, "in_call": in_call})
        _, turn = play(way, [*OPEN_CALL, *pings, *rest], idle)
        assert ends(turn) is cause, (progress, in_call)


@pytest.mark.parametrize("way", WAYS)
def test_quiet_is_told_while_it_lasts_and_before_the_limit(way: str) -> None:
    """However a stream is read; a silence that nobody could tell of is told once."""
    pauses: Script = [*OPEN_CALL, 10.0, 2.0, PING, 400.0]
    events, turn = play(way, pauses, Idle(in_call=60.0, quiet=10.0))
    assert [event.seconds for event in events if isinstance(event, StreamQuiet)] == (
        [10.0, 10.0] if way == "thread" else [12.0, 10.0]
    )
    assert isinstance(events[-2], StreamQuiet)
    assert isinstance(events[-1], CallSettled)
    assert ends(turn) is Cause.IDLE

    events, _ = play(way, pauses, Idle(in_call=60.0, quiet=None))
    assert [event for event in events if isinstance(event, StreamQuiet)] == []


@pytest.mark.parametrize("way", WAYS)
def test_a_silence_that_is_no_more_than_quiet_ends_nothing(way: str) -> None:
    """The event that ends it comes next, and nothing is lost."""
    events, turn = play(way, [CLEAN[0], 25.0, *CLEAN[1:]], Idle(quiet=10.0))
    natives = [event.native for event in events if event.native is not None]
    assert natives == CLEAN
    assert [event.seconds for event in events if isinstance(event, StreamQuiet)] == [25.0]
    assert turn.verdict == "dispatch"
    assert ends(turn) is None


@pytest.mark.parametrize("way", WAYS)
def test_a_quiet_stream_that_fails_is_told_to_be_quiet_first(way: str) -> None:
    """The failure is the stream's own."""
    clock = FakeClock()

    def stream() -> Iterator[Any]:
        yield from OPEN_CALL
        clock.advance(25.0)
        raise LookupError("broken")

    events: list[Event] = []
    with (
        pytest.raises(LookupError, match="broken"),
        Turn(WAYS[way](stream), tools=None, clock=clock) as turn,
    ):
        events.extend(turn)
    assert [type(event) for event in events[-2:]] == [StreamQuiet, CallSettled]
    assert ends(turn) is Cause.DISCONNECTED


@pytest.mark.parametrize("way", WAYS)
def test_only_waiting_counts(way: str) -> None:
    """A person who thinks for hours between two events kills nothing and silences nothing."""
    clock = FakeClock()
    stream = WAYS[way](lambda: iter(CLEAN))
    with Turn(stream, tools=None, idle_timeout=1.0, clock=clock) as turn:
        for event in turn:
            assert not isinstance(event, StreamQuiet)
            clock.advance(3600.0)
    assert turn.verdict == "dispatch"


@pytest.mark.parametrize("way", WAYS)
def test_after_a_stop_reason_what_is_no_output_holds_nothing_up(way: str) -> None:
    """The message ends well, though keep-alives go on for ever."""
    pings: Script = [1.5, PING] * 40
    _, turn = play(way, [*CLEAN[:-1], *pings], Idle(), after_stop=2.0)
    assert turn.verdict == "dispatch"
    assert ends(turn) is None
    assert turn.stats.events == len(CLEAN)


@pytest.mark.parametrize("way", WAYS)
def test_the_exception_says_which_clock_how_long_where_and_with_what_open(way: str) -> None:
    """Silence and stalling are worded apart, and the wait is that of the clock that ended it."""
    two = [message_start(), *call(0, stop=False), *call(1, call_id="b", stop=False)]
    for script, cause, seconds, events, calls, words in (
        ([70.0], Cause.IDLE, 70.0, 0, 0, "sent nothing for 70.0 s"),
        ([message_start(), 70.0], Cause.IDLE, 70.0, 1, 0, "sent nothing"),
        ([*two, 3.0, PING, 71.5], Cause.IDLE, 71.5, len(two) + 1, 2, "sent nothing for 71.5 s"),
        ([*two, *[30.0, PING] * 4], Cause.STALLED, 90.0, len(two) + 2, 2, "no progress for 90.0"),
    ):
        idle = Idle(**{**OFF, **dict.fromkeys(PHASES, 60.0), "progress": 90.0})
        with pytest.raises(StreamIdle, match=words) as caught:
            play(way, script, idle, raises=True)
        error = caught.value
        assert (error.cause, error.seconds, error.events) == (cause, seconds, events)
        assert len(error.open_calls) == calls
        assert f"events before: {events}, open calls: {calls}" in str(error)


@pytest.mark.parametrize("limit", [Idle(in_call=30.0), Idle(in_call=None, quiet=5.0)])
def test_a_clock_that_another_thread_moves_wakes_who_waits(limit: Idle) -> None:
    """Nothing waits for real, and what is blocked in its read is let go."""
    clock, blocked, release = FakeClock(), threading.Event(), threading.Event()

    def stream() -> Iterator[Any]:
        yield from OPEN_CALL
        blocked.set()
        release.wait(30)

    def move() -> None:
        blocked.wait(30)
        clock.advance(10.0)
        clock.advance(390.0)

    mover = threading.Thread(target=move)
    mover.start()
    with Turn(stream(), tools=None, idle_timeout=limit, clock=clock, raises=False) as turn:
        for event in turn:
            if isinstance(event, StreamQuiet):
                release.set()
    mover.join()
    release.set()
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause in (Cause.IDLE, Cause.STALLED, Cause.ENDED_EARLY)


def test_the_clock_runs_while_a_request_is_made() -> None:
    """`first` covers the headers."""
    clock, options = FakeClock(), {"tools": None, "idle_timeout": Idle(first=30.0)}

    def create() -> Any:
        clock.advance(30.0)
        return CLEAN

    with (
        pytest.raises(StreamIdle) as caught,
        Turn.open(create, turn_options={**options, "clock": clock}) as turn,
    ):
        list(turn)
    assert caught.value.seconds == 30.0
    assert turn.outcomes == []


def test_a_closed_turn_watches_its_clock_no_more() -> None:
    """Whatever the way: nothing is left among those that the clock tells."""
    for stream in (CLEAN, iter(CLEAN)):
        clock = FakeClock()
        with Turn(stream, tools=None, clock=clock) as turn:
            list(turn)
        assert clock._watchers == []
    with Turn.open(lambda: CLEAN, turn_options={"clock": clock}) as turn:
        list(turn)
    assert clock._watchers == []
