"""The clocks as arithmetic, stepped by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from finalcall.idle import AFTER_END, Alarm, Clocks, Idle, Phase

IDLE = Idle(first=30, between=20, in_call=60, progress=100, quiet=5)


def arrive(clocks: Clocks, now: float, *, progress: bool) -> None:
    """An event comes, and ends the wait for it."""
    clocks.pause(now)
    clocks.arrived(progress=progress)


def test_each_phase_has_its_silence() -> None:
    """What silence is legitimate depends on what the turn waits for."""
    for phase, limit in ((Phase.FIRST, 30), (Phase.BETWEEN, 20), (Phase.IN_CALL, 60)):
        clocks = Clocks(IDLE)
        clocks.phase = phase
        clocks.wait(1000.0)
        assert clocks.deadline(hard=True) == 1000.0 + limit
        assert clocks.expired(1000.0 + limit) is Alarm.IDLE


def test_any_event_resets_silence() -> None:
    """A keep-alive is an event."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    now = 0.0
    for _ in range(4):
        clocks.wait(now)
        now += 19
        assert clocks.expired(now) in (None, Alarm.QUIET)
        arrive(clocks, now, progress=False)
    clocks.wait(now)
    assert clocks.expired(now + 20) is Alarm.IDLE


def test_keep_alives_do_not_reset_progress() -> None:
    """A dead generation behind a pinging proxy still ends."""
    clocks = Clocks(Idle(between=20, progress=50, quiet=None))
    clocks.phase = Phase.BETWEEN
    now, alarms = 0.0, []
    for _ in range(6):
        clocks.wait(now)
        now += 10
        alarms.append(clocks.expired(now))
        arrive(clocks, now, progress=False)
    assert alarms == [None, None, None, None, Alarm.STALLED, Alarm.STALLED]


def test_progress_resets_both() -> None:
    """Output that moves starts the progress clock anew."""
    clocks = Clocks(Idle(between=20, progress=50, quiet=None))
    clocks.phase = Phase.BETWEEN
    now = 0.0
    for step in range(20):
        clocks.wait(now)
        now += 15
        assert clocks.expired(now) is None
        arrive(clocks, now, progress=step % 3 == 2)


def test_only_waiting_counts() -> None:
    """A caller that thinks for an hour between two events kills nothing."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    now = 0.0
    for _ in range(5):
        clocks.wait(now)
        now += 1
        arrive(clocks, now, progress=True)
        now += 3600
        assert clocks.deadline() == math.inf
        assert clocks.expired(now) is None


def test_quiet_is_told_each_time_it_passes_and_before_any_limit() -> None:
    """The soft alarm repeats until the hard one."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    clocks.wait(0.0)
    alarms = []
    while not alarms or alarms[-1] is Alarm.QUIET:
        alarms.append(clocks.expired(clocks.deadline()))
    assert alarms == [Alarm.QUIET, Alarm.QUIET, Alarm.QUIET, Alarm.IDLE]


def test_quiet_begins_anew_with_each_wait() -> None:
    """An event makes the stream loud again."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    clocks.wait(0.0)
    assert clocks.expired(5.0) is Alarm.QUIET
    arrive(clocks, 6.0, progress=True)
    clocks.wait(6.0)
    assert clocks.deadline() == 11.0


def test_after_a_stop_reason_silence_ends_the_message_well() -> None:
    """It is then no idle timeout at all."""
    clocks = Clocks(IDLE, after_stop=2.0)
    clocks.phase = Phase.STOPPED
    clocks.wait(0.0)
    assert clocks.deadline(hard=True) == 2.0
    assert clocks.expired(2.0) is Alarm.AFTER_STOP


def test_everything_can_be_off() -> None:
    """None is off: nothing is ever due."""
    clocks = Clocks(Idle(first=None, between=None, in_call=None, progress=None, quiet=None))
    clocks.wait(0.0)
    assert clocks.deadline() == math.inf
    assert clocks.expired(1e9) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (7.0, Idle(between=7.0, in_call=7.0)),
        (None, Idle(first=None, between=None, in_call=None, progress=None)),
        (IDLE, IDLE),
    ],
)
def test_an_idle_timeout_may_be_short(given: float | Idle | None, expected: Idle) -> None:
    """Seconds set the limits between events; None turns all limits off."""
    assert Idle.of(given) == expected


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_that_would_end_every_turn_is_refused(value: float) -> None:
    """Zero is not a way to say never."""
    with pytest.raises(ValueError, match="None to turn it off"):
        Idle(between=value)


def test_a_phase_that_is_set_again_changes_nothing() -> None:
    """The limits are worked out when something changes."""
    clocks = Clocks(IDLE)
    clocks.phase = clocks.phase
    assert clocks.phase is Phase.FIRST
    assert clocks.shortest == 2.0


@pytest.mark.parametrize(
    ("wrong", "error", "found"),
    [
        ("10", TypeError, "of type str; expected seconds as a number, or "),
        (True, TypeError, "of type bool; expected seconds as a number, or "),
        (0, ValueError, "0; expected seconds above 0, or "),
    ],
)
def test_what_is_no_time_to_wait_is_named_as_it_was_given(
    wrong: Any, error: type[Exception], found: str
) -> None:
    """A string from a configuration file is not compared, and a flag is no second."""
    with pytest.raises(error, match=f"^Idle.first is {found}None"):
        Idle(first=wrong)
    with pytest.raises(error, match=f"^idle_timeout= is {found}an Idle, or None"):
        Idle.of(wrong)


def test_bytes_reset_silence_and_not_progress() -> None:
    """They say that the line is alive, and nothing of the model."""
    clocks = Clocks(Idle(between=20, progress=50, quiet=5))
    clocks.phase = Phase.BETWEEN
    assert clocks.waited(7.0) == 0.0
    clocks.wait(0.0)
    clocks.heard_at = -1.0  # before the wait began
    assert clocks.deadline(hard=True) == 20.0
    assert clocks.expired(15.0) is Alarm.QUIET
    clocks.heard_at = 15.0
    assert clocks.waited(16.0) == 1.0
    assert clocks.waited(16.0, Alarm.STALLED) == 16.0
    assert clocks.deadline(hard=True) == 35.0
    assert clocks.deadline() == 20.0
    clocks.heard_at = 34.0
    assert clocks.deadline(hard=True) == 50.0
    assert clocks.expired(50.0) is Alarm.STALLED


def test_who_looks_late_is_told_of_a_silence_once() -> None:
    """And again at the next multiple."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.IN_CALL
    clocks.wait(0.0)
    assert clocks.expired(17.0) is Alarm.QUIET
    assert clocks.expired(17.0) is None
    assert clocks.deadline() == 20.0


def test_a_silence_that_was_never_told_is_told_before_its_limit() -> None:
    """Who could not be interrupted acts at the moment at which it was due, then at the limit's."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    assert clocks.moment(3.0) == 3.0
    clocks.wait(0.0)
    assert clocks.moment(12.0) == 12.0
    assert clocks.moment(400.0) == 5.0
    assert clocks.expired(5.0) is Alarm.QUIET
    assert clocks.moment(400.0) == 400.0
    clocks.phase = Phase.STOPPED
    assert clocks.moment(400.0) == 400.0


def test_after_a_stop_reason_keep_alives_do_not_hold_the_message_open() -> None:
    """They are no progress, and neither are bytes."""
    clocks = Clocks(IDLE, after_stop=2.0)
    clocks.phase = Phase.STOPPED
    clocks.wait(0.0)
    clocks.heard_at = 1.0
    arrive(clocks, 1.5, progress=False)
    clocks.wait(1.5)
    assert clocks.expired(1.9) is None
    assert clocks.expired(2.0) is Alarm.AFTER_STOP


def test_the_next_deadline_may_be_near_once_much_was_waited_in_vain() -> None:
    """`slack` says from when on a timer must be told to look again."""
    clocks = Clocks(IDLE)
    assert clocks.slack == 98.0
    arrive(clocks, 50.0, progress=False)  # nobody waited
    assert clocks.unproductive == 0.0
    clocks.wait(50.0)
    arrive(clocks, 149.0, progress=False)
    assert clocks.unproductive > clocks.slack


def test_of_silences_that_nobody_could_tell_the_longest_is_kept() -> None:
    """Bytes without an event ended them; one that was told while it lasted is none of them."""
    clocks = Clocks(Idle(quiet=5.0))
    for begin, end in ((0.0, 4.0), (10.0, 22.0), (30.0, 37.0)):
        clocks.wait(begin)
        clocks.pause(end)
    assert clocks.quiet_for == 12.0
    clocks.quiet_for = None
    clocks.wait(50.0)
    assert clocks.expired(55.0) is Alarm.QUIET
    clocks.pause(56.0)
    assert clocks.quiet_for is None


def test_a_silence_that_ends_when_it_is_due_to_be_told_is_kept() -> None:
    """Who looks at that moment is told of it; who looks after it must be, too."""
    clocks = Clocks(Idle(quiet=5.0))
    clocks.wait(0.0)
    clocks.pause(5.0)
    assert clocks.quiet_for == 5.0


def test_silence_after_a_stop_reason_is_not_kept() -> None:
    """Nobody waits for more of the message."""
    clocks = Clocks(Idle(quiet=1.0))
    clocks.phase = Phase.STOPPED
    clocks.wait(0.0)
    clocks.pause(1.5)
    assert clocks.quiet_for is None


def test_who_goes_on_waiting_does_not_begin_anew() -> None:
    """A wait that is announced twice has the deadline of the first."""
    clocks = Clocks(IDLE)
    clocks.phase = Phase.BETWEEN
    clocks.wait(0.0)
    clocks.wait(10.0)
    assert clocks.deadline(hard=True) == 20.0


@pytest.mark.parametrize(("after_stop", "limit"), [(2.0, AFTER_END), (0.01, 0.01)])
def test_the_wait_for_the_end_of_the_body_is_short(after_stop: float, limit: float) -> None:
    """It begins anew, may be shorter still, and nothing that arrives prolongs it."""
    clocks = Clocks(IDLE, after_stop=after_stop)
    clocks.wait(0.0)
    arrive(clocks, 7.0, progress=False)
    clocks.wait(7.0)
    clocks.wait_last(10.0)
    clocks.heard_at = 10.0 + limit / 2
    assert clocks.deadline() == 10.0 + limit
    assert clocks.expired(10.0 + limit) is Alarm.AFTER_STOP


def test_limits_count_at_the_moment_that_they_name() -> None:
    """Progress like silence; a limit that ends a silence untold is preceded by its telling."""
    clocks = Clocks(Idle(between=None, progress=50, quiet=5))
    clocks.phase = Phase.BETWEEN
    clocks.wait(0.0)
    assert clocks.moment(50.0) == 5.0
    assert clocks.expired(50.0) is Alarm.STALLED


def test_a_gap_is_all_that_was_waited_between_two_events() -> None:
    """Pieces of an event that come one by one are in one gap."""
    clocks = Clocks(IDLE)
    clocks.wait(0.0)
    clocks.pause(3.0)
    clocks.wait(10.0)
    clocks.pause(14.0)
    clocks.wait(20.0)
    assert clocks.gap(21.0) == 8.0
    arrive(clocks, 21.0, progress=True)
    assert clocks.gap(30.0) == 0.0
