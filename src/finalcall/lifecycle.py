"""The life of a tool call as one table: which state each input leads to from each state.

Facts only. What an input *is* (a fragment, a verdict) is decided elsewhere: by the accumulator
while the stream runs, by `finalize` when it is over.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import final


@final
class State(enum.StrEnum):
    """Where a call stands."""

    ANNOUNCED = "announced"
    ACCUMULATING = "accumulating"
    FINISHED = "finished"
    DISPATCHABLE = "dispatchable"
    SCHEMA_ERROR = "schema_error"
    UNPARSEABLE = "unparseable"
    TRUNCATED = "truncated"
    ABANDONED = "abandoned"


@final
class Input(enum.StrEnum):
    """What can happen to a call."""

    DELTA = "delta"
    """A piece of its arguments arrived."""
    COMPLETED = "completed"
    """Its own end arrived."""
    CUT = "cut"
    """A stop reason covers it whose verdict is not COMPLETE."""
    UNPROVED = "unproved"
    """The message is over and nothing proves that the call was finished."""
    UNPARSEABLE = "unparseable"
    """The text of a finished call is not one strict JSON document."""
    INVALID = "invalid"
    """The document of a finished call misses its tool's schema."""
    VALID = "valid"
    """The document of a finished call satisfies its tool's schema."""


TERMINAL: frozenset[State] = frozenset(
    {
        State.DISPATCHABLE,
        State.SCHEMA_ERROR,
        State.UNPARSEABLE,
        State.TRUNCATED,
        State.ABANDONED,
    }
)
"""The five outcomes. Nothing leaves them."""

_OPEN: Mapping[Input, State] = {
    Input.DELTA: State.ACCUMULATING,
    Input.COMPLETED: State.FINISHED,
    Input.CUT: State.TRUNCATED,
    Input.UNPROVED: State.ABANDONED,
}

TRANSITIONS: Mapping[State, Mapping[Input, State]] = {
    State.ANNOUNCED: _OPEN,
    State.ACCUMULATING: _OPEN,
    State.FINISHED: {
        # Some services send pieces after a stop reason that had already ended the call. They
        # belong to the text, and strict parsing judges the whole.
        Input.DELTA: State.FINISHED,
        Input.COMPLETED: State.FINISHED,
        Input.CUT: State.TRUNCATED,
        Input.UNPROVED: State.ABANDONED,
        Input.UNPARSEABLE: State.UNPARSEABLE,
        Input.INVALID: State.SCHEMA_ERROR,
        Input.VALID: State.DISPATCHABLE,
    },
    State.DISPATCHABLE: {},
    State.SCHEMA_ERROR: {},
    State.UNPARSEABLE: {},
    State.TRUNCATED: {},
    State.ABANDONED: {},
}
"""The whole lifecycle. A missing entry is a forbidden step; only FINISHED can be judged."""


def advance(state: State, given: Input) -> State:
    """Return the state that an input leads to.

    Raises:
        ValueError: The table has no such step. A call's outcome is final, and only a finished
            call can be judged by its text.
    """
    try:
        return TRANSITIONS[state][given]
    except KeyError:
        allowed = ", ".join(TRANSITIONS[state]) or "nothing, the state is final"
        raise ValueError(
            f"a call that is {state.value} cannot take {given.value!r}; possible: {allowed}"
        ) from None
