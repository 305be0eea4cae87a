"""The life of a block, what a person sees of one call, as one table: what leads where.

Facts in the table, and in one function what an outcome means to a person. No text is here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, TypeAlias, final

from finalcall.events import ExternalState
from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome


@final
class BlockState(enum.StrEnum):
    """What a person is told of a call."""

    PREPARING = "preparing"
    """The model is writing it."""
    WAITING = "waiting"
    """It did not run, and the model is asked again: the next attempt replaces it."""
    READY = "ready"
    """It is proved whole and may be run."""
    RUNNING = "running"
    """It runs."""
    DONE = "done"
    """It ran."""
    FAILED = "failed"
    """It ran, and reported a failure."""
    UNKNOWN = "unknown"
    """It was begun and nobody saw its end: it may have run."""
    NOT_RUN = "not run"
    """It did not run and never will."""
    CANCELLED = "cancelled"
    """It did not run, because somebody stopped it."""
    SUPERSEDED = "superseded"
    """It did not run, and a corrected call took its place."""


@final
class BlockInput(enum.StrEnum):
    """What can happen to a block."""

    VALID = "valid"
    """The call settled as one that may be run."""
    REFUSED = "refused"
    """The call settled as one that can never run."""
    CANCELLED = "cancelled"
    """The call settled because somebody stopped it."""
    HELD = "held"
    """The call will not run as it is, and another attempt may bring it again."""
    SUPERSEDED = "superseded"
    """A later attempt brought the call again."""
    STARTED = "started"
    """Somebody began to run it."""
    FINISHED = "finished"
    """It has run."""
    BROKE = "broke"
    """It has run, and reported a failure."""
    LOST = "lost"
    """Whoever ran it was interrupted, or was never heard of again."""
    ENDED = "ended"
    """Nothing more will come: what is still open is over."""


BLOCK_TRANSITIONS: Final[Mapping[BlockState, Mapping[BlockInput, BlockState]]] = {
    BlockState.PREPARING: {
        BlockInput.VALID: BlockState.READY,
        BlockInput.REFUSED: BlockState.NOT_RUN,
        BlockInput.CANCELLED: BlockState.CANCELLED,
        BlockInput.HELD: BlockState.WAITING,
        BlockInput.ENDED: BlockState.CANCELLED,
    },
    BlockState.WAITING: {
        BlockInput.SUPERSEDED: BlockState.SUPERSEDED,
        BlockInput.ENDED: BlockState.NOT_RUN,
    },
    BlockState.READY: {
        BlockInput.STARTED: BlockState.RUNNING,
        BlockInput.HELD: BlockState.WAITING,
    },
    BlockState.RUNNING: {
        BlockInput.FINISHED: BlockState.DONE,
        BlockInput.BROKE: BlockState.FAILED,
        BlockInput.LOST: BlockState.UNKNOWN,
        BlockInput.ENDED: BlockState.UNKNOWN,
    },
    # What was not known may still become known: a tool can outlive the screen that showed it.
    BlockState.UNKNOWN: {
        BlockInput.FINISHED: BlockState.DONE,
        BlockInput.BROKE: BlockState.FAILED,
        BlockInput.LOST: BlockState.UNKNOWN,
    },
    BlockState.DONE: {},
    BlockState.FAILED: {},
    BlockState.NOT_RUN: {},
    BlockState.CANCELLED: {},
    BlockState.SUPERSEDED: {},
}
"""The whole life of a block. A missing entry is a forbidden step."""

OPEN: Final = frozenset({BlockState.PREPARING, BlockState.WAITING, BlockState.RUNNING})
"""The states of which a person expects something more. All others are stated ends: `READY` is the
stream's last word, and whoever runs the call goes on from it."""

EXTERNAL_INPUTS: Final[Mapping[ExternalState, BlockInput | None]] = {
    ExternalState.RUNNING: None,
    ExternalState.DONE: BlockInput.FINISHED,
    ExternalState.FAILED: BlockInput.BROKE,
    ExternalState.UNKNOWN: BlockInput.LOST,
}
"""What the state of a call that somebody else runs does to its block, which begins as running."""

Why: TypeAlias = Cause | str
"""Why a call did not run: its cause, `INVALID` or `SIBLING`."""

INVALID: Final = "invalid"
"""The call was whole, and its arguments (or its name) were wrong."""

SIBLING: Final = "sibling"
"""The call could have run, but not beside another one of its message."""


def judge_outcome(outcome: Outcome, *, asked_again: bool = False) -> tuple[BlockInput, Why | None]:
    """Say what a call's outcome does to its block.

    Args:
        outcome: What the call settled as.
        asked_again: The model may be asked to correct an invalid call.

    Returns:
        The input, and why the call does not run where it does not.
    """
    match outcome:
        case Dispatchable():
            return BlockInput.VALID, None
        case Failed(cause=Cause.CANCELLED):
            return BlockInput.CANCELLED, Cause.CANCELLED
        case Failed():
            return BlockInput.REFUSED, outcome.cause
        case _:
            return BlockInput.HELD if asked_again else BlockInput.REFUSED, INVALID


def advance_block(state: BlockState, given: BlockInput) -> BlockState:
    """Return the state that an input leads to.

    Raises:
        ValueError: The table has no such step: a person was told otherwise already.
    """
    try:
        return BLOCK_TRANSITIONS[state][given]
    except KeyError:
        allowed = ", ".join(BLOCK_TRANSITIONS[state]) or "nothing, the state is final"
        raise ValueError(
            f"a call that a person sees as {state.value!r} cannot take {given.value!r}; "
            f"possible: {allowed}"
        ) from None
