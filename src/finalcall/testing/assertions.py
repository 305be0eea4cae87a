"""What a test of an agent asserts of its turns, with messages for whoever reads a failed test."""

from __future__ import annotations

from finalcall.settler import Settler
from finalcall.turn import SettledTurn


def assert_settled(turn: SettledTurn | Settler) -> None:
    """Assert that a turn is over, and that nothing of it was left open.

    Once a turn has ended, that holds for each of its calls; so this finds the turn that was not
    read to its end and not closed, such as one that a loop left without `with`.

    Args:
        turn: A `Turn`, an `AsyncTurn`, or a `Settler`.

    Raises:
        AssertionError: It goes on, a call has not exactly one outcome, or a block is still open.
    """
    announced = turn.stats.announced
    if turn.ending is None:
        raise AssertionError(
            f"the turn has not ended, and {_calls(announced)} announced so far; "
            "iterate it to its end, or leave it by its with block"
        )
    settled = [outcome.key for outcome in turn.outcomes]
    if len(settled) != announced or len(set(settled)) != announced:
        raise AssertionError(
            f"{_calls(announced)} announced, and the outcomes are of {settled}; "
            "expected one outcome for each call"
        )
    still_open = [block.line() for block in turn.blocks if block.open]
    if still_open:
        raise AssertionError(
            f"blocks still show {', '.join(map(repr, still_open))}; "
            "expected each to have reached a stated end"
        )


def _calls(count: int) -> str:
    return f"{count} call{' was' if count == 1 else 's were'}"
