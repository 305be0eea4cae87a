"""The rule of asking again, as one generator: it says what to do next and is told what came of it.

It opens nothing, waits for nothing and runs nothing: two short drivers do, one for each kind of
loop. Everything that may be asked, and when, is decided here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from finalcall.clock import Clock
from finalcall.correction.budget import Corrections
from finalcall.correction.ledger import AlreadyDispatched, Ledger
from finalcall.correction.policies import Abandoned, Truncated
from finalcall.correction.result import RunEnding, RunResult
from finalcall.outcomes import Dispatchable, SchemaError
from finalcall.results import ToolResult, as_result
from finalcall.tools import ToolSet
from finalcall.turn import SettledTurn
from finalcall.wording import not_run

MAX_RESUMES: Final = 8
"""How often a paused message is sent back: services pause a long turn a few times, not more."""

_LOST: Final = ToolResult(
    "Not run: another call of the message was lost before it was whole.\n"
    "Make this call again if it is still needed.",
    is_error=True,
)
"""The answer to a whole call of a message that failed."""

Why: TypeAlias = Literal["first", "correction", "larger budget", "same request", "resume"]
"""Why a message of the model is asked for."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Ask:
    """Ask the model for a message, and send the settled turn back.

    Attributes:
        messages: The conversation.
        number: The attempt's number, from 1.
        why: Why it is asked for.
        ceiling: The output token limit to ask with, `None` where none is known.
        fields: Parameters that the request must repeat.
    """

    messages: list[Any]
    number: int
    why: Why
    ceiling: int | None
    fields: Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True, repr=False)
class Dispatch:
    """Run a call, and send its result back.

    Attributes:
        call: The call; or, where it must not run twice and was dispatched before, that it was.
    """

    call: Dispatchable | AlreadyDispatched


Step: TypeAlias = Ask | Dispatch


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rules:
    """What a run may do.

    Attributes:
        corrections: The budget of the user's turn.
        on_truncated: Whether a cut message may be asked for again.
        on_abandoned: Whether another failed one may.
        dispatches: Whether somebody runs the calls.
        ledger: Where calls that must not run twice are noted.
        run_key: Names this message in the ledger.
        clock: The time.
    """

    corrections: Corrections
    on_truncated: Truncated | None = None
    on_abandoned: Abandoned | None = None
    dispatches: bool = False
    ledger: Ledger
    run_key: str
    clock: Clock


def rule(
    messages: Sequence[Any], ceiling: int | None, tools: ToolSet | None, rules: Rules
) -> Generator[Step, Any, RunResult]:
    """Ask until no invalid call remains, or until nothing more may be asked.

    Args:
        messages: The conversation so far; it is not changed.
        ceiling: The request's output token limit, where known.
        tools: What was offered.
        rules: What may be done.

    Yields:
        An `Ask`, to be answered with the settled turn; or a `Dispatch`, to be answered with the
        call's result.

    Returns:
        What came of it.
    """
    run = _Run(list(messages), ceiling, tools, rules)
    why: Why = "first"
    while True:
        turn = yield run.ask(why)
        run.take(turn)
        results = yield from run.dispatch(turn)
        again = run.after(turn, results)
        if isinstance(again, RunEnding):
            return run.result(again, results)
        why = again


@final
class _Run:
    """What a run has come to."""

    def __init__(
        self, messages: list[Any], ceiling: int | None, tools: ToolSet | None, rules: Rules
    ) -> None:
        self._messages = messages
        self._ceiling = ceiling
        self._tools = tools
        self._rules = rules
        self._turns: list[SettledTurn] = []
        self._fields: dict[str, Any] = {}
        self._dispatched: list[str] = []
        self._resumes = 0
        self._repeats = 0
        self._corrected = 0

    def ask(self, why: Why) -> Ask:
        """The next request."""
        number = len(self._turns) + 1
        return Ask(list(self._messages), number, why, self._ceiling, dict(self._fields))

    def take(self, turn: SettledTurn) -> None:
        """A message came."""
        self._turns.append(turn)
        budget = self._rules.corrections
        budget.announced += len(turn.outcomes)
        for outcome in turn.outcomes:
            if isinstance(outcome, SchemaError):
                budget.invalid.update({violation.keyword for violation in outcome.errors})

    def dispatch(self, turn: SettledTurn) -> Generator[Step, Any, dict[str, Any]]:
        """Run what may run, where somebody runs calls; else say why a good sibling did not.

        Of a message that failed nothing is run: it may be asked for again, and then bring the
        same calls.
        """
        good = [one for one in turn.outcomes if isinstance(one, Dispatchable)]
        if turn.verdict == "fail":
            return dict.fromkeys((one.key for one in good), _LOST)
        if not self._rules.dispatches:
            bad = [one for one in turn.outcomes if isinstance(one, SchemaError)]
            return dict.fromkeys((one.key for one in good), not_run(bad)) if bad else {}
        results: dict[str, Any] = {}
        seen: Counter[str] = Counter()
        for call in good:
            results[call.key] = yield from self._dispatch_once(call, seen)
        return results

    def _dispatch_once(self, call: Dispatchable, seen: Counter[str]) -> Generator[Step, Any, Any]:
        ledger, run_key = self._rules.ledger, self._rules.run_key
        tool = None if self._tools is None else self._tools.get(call.name)
        if tool is None or not tool.once:
            self._dispatched.append(call.key)
            return (yield Dispatch(call))
        fingerprint = call.fingerprint  # now: who runs the call may change its arguments
        occurrence = seen[fingerprint]
        seen[fingerprint] += 1
        previous = ledger.begin(run_key, fingerprint, occurrence)
        if previous is not None:
            return (yield Dispatch(AlreadyDispatched(call, previous)))
        self._dispatched.append(call.key)
        result = yield Dispatch(call)
        try:
            ledger.finish(run_key, fingerprint, occurrence, _noted(result))
        except ValueError:  # the call has run, so its result must not be lost
            logging.getLogger("finalcall").warning(
                "the result of the call %s is nothing JSON can hold: it goes to the model, but the "
                "ledger keeps the call as begun, which reads as unknown if it is asked for again",
                call.key,
            )
        return result

    def after(self, turn: SettledTurn, results: Mapping[Any, Any]) -> Why | RunEnding:
        """Decide what comes next: why to ask again, or how the run ends."""
        if turn.verdict == "fail":
            return self._after_failure(turn)
        if turn.verdict == "resume":
            self._resumes += 1
            if self._resumes > MAX_RESUMES:
                return RunEnding.PAUSED
            return self._go_on(turn, results, "resume")
        if turn.verdict == "correct":
            errors = [one for one in turn.outcomes if isinstance(one, SchemaError)]
            spent = self._rules.corrections.spend(errors, self._rules.clock)
            if spent is not None:
                return RunEnding(spent.value)
            self._corrected += 1
            return self._go_on(turn, results, "correction")
        self._rules.corrections.recovered[self._corrected] += 1
        return RunEnding.COMPLETE

    def _after_failure(self, turn: SettledTurn) -> Why | RunEnding:
        retry = turn.retry
        if retry.change == "larger budget" and self._rules.on_truncated is not None:
            larger = self._rules.on_truncated(self._ceiling)
            if larger is not None:
                self._ceiling = larger
                return "larger budget"
        again = self._rules.on_abandoned
        if again is not None and again(retry, self._repeats):
            self._repeats += 1
            return "same request"
        return RunEnding.FAILED

    def _go_on(self, turn: SettledTurn, results: Mapping[Any, Any], why: Why) -> Why:
        self._messages += turn.history(results)
        self._fields |= turn.request_fields
        return why

    def result(self, ending: RunEnding, results: Mapping[Any, Any]) -> RunResult:
        """Say what came of it."""
        turn = self._turns[-1]
        left_to_caller = not self._rules.dispatches and turn.verdict == "dispatch"
        return RunResult(
            ending=ending,
            turns=tuple(self._turns),
            messages=self._messages + ([] if left_to_caller else turn.history(results)),
            results=dict(results),
            dispatched=tuple(self._dispatched),
            corrections=self._rules.corrections,
        )


def _noted(result: Any) -> Any:
    """A result as a ledger keeps it: what JSON can hold; of an error, what the model was told."""
    if isinstance(result, ToolResult | BaseException):
        told = as_result(result)
        return {"content": told.content, "is_error": told.is_error}
    return result
