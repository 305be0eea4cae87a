"""The rule of asking again, as one generator: it says what to do next and is told what came of it.

It opens nothing, waits for nothing and runs nothing: two short drivers do, one for each kind of
loop. Everything that may be asked, and when, is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from finalcall.attempts import Why
from finalcall.clock import Clock
from finalcall.correction.budget import Corrections
from finalcall.correction.ledger import AlreadyDispatched, Ledger, noted, recalled
from finalcall.correction.policies import Abandoned, Truncated
from finalcall.correction.result import RunEnding, RunResult
from finalcall.listeners import WARNING, log
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

_NOT_REACHED: Final = ToolResult("Not run: the turn was stopped before.", is_error=True)
"""The answer to a call that nobody began to run, where somebody runs calls."""

_NO_RESULT: Final = ToolResult(
    "The tool was begun and gave no result: whether it had its effect is unknown.", is_error=True
)
"""The answer to a call whose run never came back."""

_UNSENDABLE: Final = ToolResult(
    "The tool ran, but what it returned cannot be sent. Whether it did its work is not known from "
    "that.",
    is_error=True,
)
"""The answer to a call that returned what no message can hold."""

_Place: TypeAlias = tuple[str, str, int]
"""Where a ledger keeps a call: the run key, the fingerprint, and the occurrence."""


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


def rule(run: Progress) -> Generator[Step, Any, RunResult]:
    """Ask until no invalid call remains, or until nothing more may be asked.

    Args:
        run: What the run has come to; it is kept up to date, so that it says how far it came
            wherever this is left.

    Yields:
        An `Ask`, to be answered with the settled turn; or a `Dispatch`, to be answered with the
        call's result.

    Returns:
        What came of it.
    """
    why: Why = "first"
    while True:
        turn = yield run.ask(why)
        run.take(turn)
        yield from run.dispatch(turn)
        again = run.after(turn)
        if isinstance(again, RunEnding):
            return run.result(again)
        why = again


@final
class Progress:
    """What a run has come to. May be read at any time, also after the run was left or failed.

    Args:
        messages: The conversation so far; it is not changed.
        ceiling: The request's output token limit, where known.
        tools: What was offered.
        rules: What may be done.

    Attributes:
        rules: What may be done.
        turns: Every message of the model that ended, in order.
        results: What `dispatch` returned for the last message's calls, by their keys.
        dispatched: Keys of the calls that `dispatch` was given to run, over all messages.
        stopped: No further call is begun.
    """

    def __init__(
        self, messages: list[Any], ceiling: int | None, tools: ToolSet | None, rules: Rules
    ) -> None:
        self.rules: Final = rules
        self.turns: list[SettledTurn] = []
        self.results: dict[str, Any] = {}
        self.dispatched: list[str] = []
        self.stopped = False
        self._messages = messages
        self._ceiling = ceiling
        self._tools = tools
        self._last: SettledTurn | None = None
        self._answers: dict[str, ToolResult] = {}
        self._fields: dict[str, Any] = {}
        self._resumes = 0
        self._repeats = 0
        self._corrected = 0

    def messages(self) -> list[Any]:
        """The conversation so far: what the provider takes, whatever has become of the run.

        A call that was begun and gave no result is answered as one that may have had its effect.
        Calls that are the caller's to run are left out, with their message.
        """
        turn = self._last
        if turn is None or (not self.rules.dispatches and turn.verdict == "dispatch"):
            return list(self._messages)
        return self._messages + turn.history(self._answers)

    def ask(self, why: Why) -> Ask:
        """The next request."""
        self._last = None
        number = len(self.turns) + 1
        return Ask(list(self._messages), number, why, self._ceiling, dict(self._fields))

    def take(self, turn: SettledTurn) -> None:
        """A message came, and none of its calls is run so far."""
        self.turns.append(turn)
        self._last = turn
        self.results = {}
        bad = [one for one in turn.outcomes if isinstance(one, SchemaError)]
        good = [one.key for one in turn.outcomes if isinstance(one, Dispatchable)]
        if turn.verdict == "fail":
            self._answers = dict.fromkeys(good, _LOST)
        elif self.rules.dispatches:
            self._answers = dict.fromkeys(good, _NOT_REACHED)
        else:
            self._answers = dict.fromkeys(good, not_run(bad))
        budget = self.rules.corrections
        budget.announced += len(turn.outcomes)
        for error in bad:
            budget.invalid.update({violation.keyword for violation in error.errors})

    def dispatch(self, turn: SettledTurn) -> Generator[Step, Any, None]:
        """Run what may run, where somebody runs calls.

        Of a message that failed nothing is run: it may be asked for again, and then bring the
        same calls.
        """
        if turn.verdict == "fail" or not self.rules.dispatches:
            return
        seen: Counter[str] = Counter()
        for call in turn.outcomes:
            if isinstance(call, Dispatchable) and not self.stopped:
                yield from self._dispatch(call, self._place(call, seen))

    def _place(self, call: Dispatchable, seen: Counter[str]) -> _Place | None:
        """Where a call that must not run twice is noted; `None` for any other."""
        tool = None if self._tools is None else self._tools.get(call.name)
        if tool is None or not tool.once:
            return None
        fingerprint = call.fingerprint
        seen[fingerprint] += 1
        return self.rules.run_key, fingerprint, seen[fingerprint] - 1

    def _dispatch(self, call: Dispatchable, place: _Place | None) -> Generator[Step, Any, None]:
        previous = None if place is None else self.rules.ledger.begin(*place)
        self._answers[call.key] = _NO_RESULT
        if previous is None:
            self.dispatched.append(call.key)
            result = yield Dispatch(call)
        else:
            result = yield Dispatch(AlreadyDispatched(call, recalled(previous)))
        self.results[call.key] = result
        told = self._answers[call.key] = _told(call, result)
        if place is not None and previous is None:
            self._note(call, place, told if told is _UNSENDABLE else result)

    def _note(self, call: Dispatchable, place: _Place, result: Any) -> None:
        try:
            self.rules.ledger.finish(*place, noted(result))
        except ValueError:  # the call has run, so its result must not be lost
            log(
                WARNING,
                "the result of the call %s is nothing JSON can hold: it goes to the model, but the "
                "ledger keeps the call as begun, which reads as unknown if it is asked for again",
                call.key,
            )

    def after(self, turn: SettledTurn) -> Why | RunEnding:
        """Decide what comes next: why to ask again, or how the run ends."""
        budget = self.rules.corrections
        if turn.verdict == "fail":
            return self._after_failure(turn)
        if turn.verdict == "resume":
            self._resumes += 1
            return RunEnding.PAUSED if self._resumes > MAX_RESUMES else self._go_on(turn, "resume")
        if turn.verdict == "correct":
            errors = [one for one in turn.outcomes if isinstance(one, SchemaError)]
            spent = budget.spend(errors, self.rules.clock)
            if spent is not None:
                return RunEnding(spent.value)
            self._corrected += 1
            return self._go_on(turn, "correction")
        if turn.verdict == "dispatch":
            budget.recovered[self._corrected] += 1
        return RunEnding.COMPLETE

    def _after_failure(self, turn: SettledTurn) -> Why | RunEnding:
        """Ask a failed message again, where that was chosen, may help, and there is time."""
        retry, rules = turn.retry, self.rules
        larger = rules.on_truncated if retry.change == "larger budget" else None
        again = rules.on_abandoned if retry.change == "same request" else None
        chosen = larger is not None or again is not None
        if chosen and self._corrected and rules.corrections.is_overdue(rules.clock()):
            return RunEnding.DEADLINE
        if larger is not None:
            ceiling = larger(self._ceiling)
            # One that does not grow would be met again, and for ever.
            if ceiling is not None and ceiling > (self._ceiling or 0):
                self._ceiling = ceiling
                return "larger budget"
        if again is not None and again(retry, self._repeats):
            self._repeats += 1
            return "same request"
        return RunEnding.FAILED

    def _go_on(self, turn: SettledTurn, why: Why) -> Why:
        self._messages += turn.history(self._answers)
        self._last = None
        self._fields |= turn.request_fields
        return why

    def result(self, ending: RunEnding) -> RunResult:
        """Say what came of it."""
        return RunResult(
            ending=ending,
            turns=tuple(self.turns),
            messages=self.messages(),
            results=dict(self.results),
            dispatched=tuple(self.dispatched),
            corrections=self.rules.corrections,
        )


def _told(call: Dispatchable, result: Any) -> ToolResult:
    """What the model is told of a result, whatever it is."""
    try:
        return as_result(result)
    except Exception:  # whatever reading it raises, the tool has run
        log(
            WARNING,
            "dispatch returned a value of type %s for the call %s, which cannot be sent: the model "
            "is told that the tool ran and gave no result",
            type(result).__name__,
            call.key,
        )
        return _UNSENDABLE
