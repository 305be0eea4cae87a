"""What type checkers must accept, and (marked lines) what they must refuse.

Nothing here runs. A marked line that is accepted is an unused ignore, and fails the check.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never, assert_type

from finalcall import (
    AsyncTurn,
    CallSettled,
    Dispatchable,
    Event,
    Failed,
    Outcome,
    SchemaError,
    Turn,
    Violation,
    asettle,
    settle,
)
from finalcall.preview import PreviewValue


def dispatch(call: Dispatchable) -> Any:
    """Stands for code that runs a tool."""
    return call.args


def pay(*, euros: int) -> None:
    """Stands for a tool."""


def an_outcome_must_be_narrowed(outcome: Outcome, value: PreviewValue) -> None:
    """Neither an outcome as it comes nor what a screen shows can be dispatched."""
    dispatch(outcome)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    dispatch(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pay(**value)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    dispatch(outcome.args)  # type: ignore[union-attr, arg-type]  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType, reportUnknownMemberType]
    if isinstance(outcome, Dispatchable):
        dispatch(outcome)
        pay(**outcome.args)


def a_match_is_exhaustive(outcome: Outcome) -> str:
    """Three patterns are all there are, and their positions are typed."""
    match outcome:
        case Dispatchable(call_id, name, args):
            assert_type(call_id, str | None)
            assert_type(args, dict[str, Any])
            return name
        case SchemaError(_, _, some_args, errors):
            assert_type(some_args, dict[str, Any] | None)
            assert_type(errors, tuple[Violation, ...])
            return errors[0].message
        case Failed(reason):
            return reason
        case _:
            assert_never(outcome)


def a_verdict_is_exhaustive(turn: Turn | AsyncTurn) -> bool:
    """Five verdicts are all there are."""
    match turn.verdict:
        case "dispatch" | "correct" | "resume":
            return True
        case "done" | "fail":
            return False
        case _:
            assert_never(turn.verdict)


def outcomes_are_read_only(outcome: Failed, call: Dispatchable) -> None:
    """A settled call stays as it is."""
    outcome.reason = "truncated"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    call.name = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def tools_must_be_given(stream: Iterator[Any]) -> None:
    """Checking nothing is said, never the default."""
    Turn(stream)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    settle(stream)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Turn(stream, tools=None, idle_timeout="10")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    settle(stream, tools=None, idle_timeout=10.0, raises=False)


async def both_kinds_of_turn(stream: Any) -> None:
    """Sync and async are read alike."""
    for event in Turn(stream, tools=None):
        assert_type(event, Event)
        if isinstance(event, CallSettled):
            assert_type(event.outcome, Outcome)
    async for event in AsyncTurn(stream, tools=None):
        assert_type(event, Event)
    assert_type(settle(stream, tools=None), Turn)
    assert_type(await asettle(stream, tools=None), AsyncTurn)
    for _event in AsyncTurn(stream, tools=None):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        raise AssertionError
