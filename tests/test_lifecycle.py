"""The lifecycle table: every state by every input."""

from __future__ import annotations

import itertools

import pytest

from finalcall.lifecycle import TERMINAL, TRANSITIONS, Input, State, advance

LEGAL = {
    (State.ANNOUNCED, Input.DELTA): State.ACCUMULATING,
    (State.ANNOUNCED, Input.COMPLETED): State.FINISHED,
    (State.ANNOUNCED, Input.CUT): State.TRUNCATED,
    (State.ANNOUNCED, Input.UNPROVED): State.ABANDONED,
    (State.ACCUMULATING, Input.DELTA): State.ACCUMULATING,
    (State.ACCUMULATING, Input.COMPLETED): State.FINISHED,
    (State.ACCUMULATING, Input.CUT): State.TRUNCATED,
    (State.ACCUMULATING, Input.UNPROVED): State.ABANDONED,
    (State.FINISHED, Input.DELTA): State.FINISHED,
    (State.FINISHED, Input.COMPLETED): State.FINISHED,
    (State.FINISHED, Input.CUT): State.TRUNCATED,
    (State.FINISHED, Input.UNPROVED): State.ABANDONED,
    (State.FINISHED, Input.UNPARSEABLE): State.UNPARSEABLE,
    (State.FINISHED, Input.INVALID): State.SCHEMA_ERROR,
    (State.FINISHED, Input.VALID): State.DISPATCHABLE,
}
"""Every step that may happen, written out once more."""


@pytest.mark.parametrize(("state", "given"), list(itertools.product(State, Input)))
def test_every_state_by_every_input(state: State, given: Input) -> None:
    """A step is taken exactly where it is legal, and refused with what was possible elsewhere."""
    if (state, given) in LEGAL:
        assert advance(state, given) is LEGAL[state, given]
    else:
        with pytest.raises(ValueError, match=f"{state.value} cannot take '{given.value}'"):
            advance(state, given)


def test_the_table_has_a_row_for_every_state() -> None:
    """A state without a row could be neither left nor called final."""
    assert set(TRANSITIONS) == set(State)


def test_outcomes_are_final() -> None:
    """Nothing leaves an outcome, and everything else can be left."""
    assert {state for state, row in TRANSITIONS.items() if not row} == TERMINAL


def test_a_dispatchable_comes_only_from_a_finished_call() -> None:
    """There is one way into DISPATCHABLE."""
    ways = [(state, given) for state, row in TRANSITIONS.items() for given in row]
    into = [way for way in ways if TRANSITIONS[way[0]][way[1]] is State.DISPATCHABLE]
    assert into == [(State.FINISHED, Input.VALID)]


@pytest.mark.parametrize("state", [state for state in State if state not in TERMINAL])
def test_every_open_state_answers_every_ending(state: State) -> None:
    """Whatever ends the stream, a call that is open has somewhere to go."""
    assert {Input.CUT, Input.UNPROVED} <= set(TRANSITIONS[state])
