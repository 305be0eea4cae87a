"""At most once: what a ledger is asked, and what `dispatch` is handed instead."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall import Dispatchable, ToolResult
from finalcall.correction import AlreadyDispatched, MemoryLedger, run_turn
from tests.asking import ASKED, GOOD, NO_TITLE, TOOLS, Model, Run, both, reply
from tests.messages import call, message_start, stopped


def pay(amount: int) -> list[Any]:
    return reply(f'{{"amount": {amount}}}', name="pay")


@both
def test_a_call_that_must_not_run_twice_is_handed_over_as_dispatched(run: Run) -> None:
    """In a second try of the same message, and in a correction of it."""
    ledger = MemoryLedger()
    handed: list[Any] = []

    def dispatch(one: Any) -> Any:
        handed.append(one)
        return one.previous.result if isinstance(one, AlreadyDispatched) else {"paid": True}

    both_calls = [
        message_start(),
        *call(0, "toolu_0", arguments='{"amount": 5}', name="pay"),
        *call(1, "toolu_1", arguments=NO_TITLE),
        *stopped(),
    ]
    model = Model(both_calls, pay(5))
    result = run(model, dispatch=dispatch, ledger=ledger, run_key="turn/1")
    assert [type(one) for one in handed] == [Dispatchable, AlreadyDispatched]
    assert result.results == {"toolu_0": {"paid": True}}
    assert result.dispatched == ("toolu_0",)
    run(Model(pay(5)), dispatch=dispatch, ledger=ledger, run_key="turn/1")
    run(Model(pay(5)), dispatch=dispatch, ledger=ledger, run_key="turn/2")
    assert [type(one) for one in handed[2:]] == [AlreadyDispatched, Dispatchable]


@both
def test_equal_calls_of_one_message_are_two(run: Run) -> None:
    """Each has its own place in the ledger."""
    handed: list[Any] = []
    model = Model(reply('{"amount": 5}', '{"amount":5}', name="pay"))
    run(model, dispatch=handed.append, ledger=MemoryLedger(), run_key="turn/1")
    assert [type(one) for one in handed] == [Dispatchable, Dispatchable]


@both
def test_a_tool_that_may_run_often_is_never_held_back(run: Run) -> None:
    """Only tools that ask for it are looked up."""
    ledger = MemoryLedger()
    handed: list[Any] = []
    for _ in range(2):
        run(Model(reply(GOOD)), dispatch=handed.append, ledger=ledger, run_key="turn/1")
    assert [type(one) for one in handed] == [Dispatchable, Dispatchable]


@both
def test_a_crash_in_the_middle_is_reported_as_unknown(run: Run) -> None:
    """What was begun and never finished may have had its effect."""
    ledger = MemoryLedger()

    def crash(_one: Any) -> Any:
        raise OSError("the process died")

    with pytest.raises(OSError, match="died"):
        run(Model(pay(5)), dispatch=crash, ledger=ledger, run_key="turn/1")
    handed: list[Any] = []
    run(Model(pay(5)), dispatch=handed.append, ledger=ledger, run_key="turn/1")
    (again,) = handed
    assert again.previous.state == "unknown"


@both
def test_an_error_that_the_model_is_told_is_noted_as_what_it_was_told(run: Run) -> None:
    """An exception is no JSON: its text is, and what comes back is an error again."""
    ledger = MemoryLedger()
    handed: list[Any] = []
    run(Model(pay(5)), dispatch=lambda _: OSError("no money"), ledger=ledger, run_key="1")
    run(Model(pay(5)), dispatch=handed.append, ledger=ledger, run_key="1")
    assert handed[0].previous.result == ToolResult("OSError: no money", is_error=True)


@both
def test_a_result_that_no_ledger_can_keep_is_not_lost(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """The call has run: the model gets the result, and the ledger says that it was begun."""
    ledger = MemoryLedger()

    def dispatch(one: Any) -> Any:
        if isinstance(one, AlreadyDispatched):
            return one.previous.state
        one.args.clear()
        return ToolResult([{"type": "text", "text": object()}])

    result = run(
        Model(
            pay(5),
        ),
        dispatch=dispatch,
        ledger=ledger,
        run_key="1",
    )
    assert list(result.results) == ["toolu_0"]
    assert "nothing JSON can hold" in caplog.text
    again = run(Model(pay(5)), dispatch=dispatch, ledger=ledger, run_key="1")
    assert again.results == {"toolu_0": "unknown"}


def test_a_ledger_needs_a_key_and_a_key_a_ledger() -> None:
    """One without the other would remember nothing, or everything as the same message."""
    for options in ({"ledger": MemoryLedger()}, {"run_key": "1"}):
        with pytest.raises(TypeError, match="go together"):
            run_turn(Model(), ASKED, tools=TOOLS, **options)


class Countable:
    """A ledger that is false while it is empty, as a container is."""

    def __init__(self) -> None:
        self._ledger = MemoryLedger()
        self._noted = 0

    def __len__(self) -> int:
        return self._noted

    def begin(self, run_key: str, fingerprint: str, occurrence: int) -> Any:
        """Note a call."""
        self._noted += 1
        return self._ledger.begin(run_key, fingerprint, occurrence)

    def finish(self, run_key: str, fingerprint: str, occurrence: int, result: Any) -> None:
        """Note its result."""
        self._ledger.finish(run_key, fingerprint, occurrence, result)


@both
def test_a_ledger_that_is_empty_is_used(run: Run) -> None:
    """Whatever its truth is."""
    ledger = Countable()
    run(Model(pay(5)), dispatch=lambda _: "paid", ledger=ledger, run_key="1")
    assert len(ledger) == 1
