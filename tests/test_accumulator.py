"""One buffer a call: what it keeps, what it drops, what covers it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import (
    Accumulator,
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallWithdrawn,
    Cause,
    Limits,
    MessageStopped,
    Other,
    State,
    StopReason,
    StreamFault,
    TextDelta,
    Verdict,
)
from finalcall.events import CallIdentity
from finalcall.stop_reasons import worst

GOOD = StopReason("tool_use", Verdict.COMPLETE)


def announce(accumulator: Accumulator, key: str = "k") -> Call:
    made = Call(CallIdentity(key, key, "tool"))
    accumulator.feed(CallAnnounced(made))
    return made


def test_a_buffer_moves_through_the_lifecycle() -> None:
    """Announced, accumulating, finished; live until finished, completed after."""
    accumulator = Accumulator()
    made = announce(accumulator)
    (buffer,) = accumulator.announced
    assert buffer.state is State.ANNOUNCED
    accumulator.feed(ArgumentsDelta(made, "{}"))
    assert buffer.state is State.ACCUMULATING
    assert accumulator.live_buffers() == [buffer]
    accumulator.feed(CallCompleted(made))
    assert buffer.state is State.FINISHED
    assert (accumulator.live_buffers(), accumulator.completed) == ([], [buffer])


def test_a_buffer_says_who_and_how_much() -> None:
    """Empty pieces are no fragments."""
    accumulator = Accumulator()
    made = announce(accumulator)
    for piece in ("", '{"a', "", '": 1}'):
        accumulator.feed(ArgumentsDelta(made, piece))
    (buffer,) = accumulator.announced
    assert (buffer.call_id, buffer.name, buffer.raw) == ("k", "tool", '{"a": 1}')
    assert (buffer.fragments, buffer.size) == (2, 8)
    assert "1" not in repr(buffer).replace("size", "")


def test_events_about_unknown_calls_and_other_things_change_nothing() -> None:
    """An accumulator may be fed everything a turn yields."""
    accumulator = Accumulator()
    stranger = Call(CallIdentity("x", "x", "x"))
    for event in (
        ArgumentsDelta(stranger, "{}"),
        CallCompleted(stranger),
        TextDelta("hello"),
        Other({"type": "ping"}),
    ):
        accumulator.feed(event)
    assert accumulator.announced == []


def test_interleaved_calls_keep_their_own_text() -> None:
    """Fragments find their call by its key."""
    accumulator = Accumulator()
    calls = [announce(accumulator, key) for key in "abc"]
    pieces = [(made, letter) for letter in "123" for made in calls]
    random.Random(7).shuffle(pieces)
    for made, letter in pieces:
        accumulator.feed(ArgumentsDelta(made, letter))
    for buffer in accumulator.announced:
        own = [letter for made, letter in pieces if made.key == buffer.call.key]
        assert buffer.raw == "".join(own)


@given(st.lists(st.text(), max_size=20))
def test_the_text_is_the_pieces_joined(pieces: list[str]) -> None:
    """Line ends and surrogates included: nothing is translated."""
    accumulator = Accumulator()
    made = announce(accumulator)
    for piece in [*pieces, "\r\n", "\ud83d"]:
        accumulator.feed(ArgumentsDelta(made, piece))
    assert accumulator.announced[0].raw == "".join(pieces) + "\r\n\ud83d"


def test_a_buffer_is_bounded() -> None:
    """What goes over the limit is counted and not kept; siblings are unharmed."""
    accumulator = Accumulator(limits=Limits(arguments=10))
    big, small = announce(accumulator, "big"), announce(accumulator, "small")
    for _ in range(1000):
        accumulator.feed(ArgumentsDelta(big, "xxxx"))
    accumulator.feed(ArgumentsDelta(small, "{}"))
    first, second = accumulator.announced
    assert (first.raw, first.size, first.overflowed) == ("xxxxxxxx", 4000, True)
    assert (second.raw, second.overflowed) == ("{}", False)


VERDICTS_WORST_FIRST = ["error", "filtered", "truncated", "paused", "unknown", "complete"]


@pytest.mark.parametrize("first", VERDICTS_WORST_FIRST)
@pytest.mark.parametrize("second", VERDICTS_WORST_FIRST)
def test_the_worst_of_several_stop_reasons_wins(first: str, second: str) -> None:
    """In whatever order they come."""
    accumulator = Accumulator()
    for word in (first, second):
        accumulator.feed(MessageStopped(StopReason(word, Verdict(word))))
    assert accumulator.stop_reason is not None
    assert accumulator.stop_reason.raw == min(first, second, key=VERDICTS_WORST_FIRST.index)


def test_no_reason_is_no_reason() -> None:
    """The worse of nothing and something is something."""
    assert worst(None, None) is None
    assert worst(GOOD, None) is GOOD
    assert worst(None, GOOD) is GOOD


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_fault_voids_a_good_reason_and_no_other(verdict: Verdict) -> None:
    """A reported error outweighs a good stop reason, seen before or after it."""
    reason = StopReason("word", verdict)
    for events in (
        [MessageStopped(reason), StreamFault(Cause.PROVIDER_ERROR, "x")],
        [StreamFault(Cause.PROVIDER_ERROR, "x"), MessageStopped(reason)],
    ):
        accumulator = Accumulator()
        for event in events:
            accumulator.feed(event)  # type: ignore[arg-type]
        voided = verdict is Verdict.COMPLETE
        assert accumulator.stop_reason == (None if voided else reason)


def test_events_about_calls_that_nobody_announced_are_ignored() -> None:
    """Whatever they say."""
    accumulator = Accumulator()
    stranger = Call(CallIdentity("x", "x", "x"))
    for event in (ArgumentsRestated(stranger, "{}"), CallWithdrawn(stranger)):
        accumulator.feed(event)
    assert accumulator.announced == []


def test_a_replay_is_bounded_too() -> None:
    """A second telling longer than the limit is no equal of the first."""
    accumulator = Accumulator(limits=Limits(arguments=4))
    made = announce(accumulator)
    accumulator.feed(ArgumentsDelta(made, "{}"))
    accumulator.feed(CallAnnounced(made))
    for piece in ("{}", "   "):
        accumulator.feed(ArgumentsDelta(made, piece))
    assert accumulator.announced[0].overflowed
