"""Drives the rule of asking again: opens the streams, shows their events, runs the calls."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict, Unpack, final

from finalcall.aio import AsyncTurn
from finalcall.correction.budget import Corrections
from finalcall.correction.ledger import AlreadyDispatched, Ledger, MemoryLedger
from finalcall.correction.observed import observed
from finalcall.correction.policies import Abandoned, Truncated
from finalcall.correction.result import RunResult
from finalcall.correction.rule import Ask, Dispatch, Rules, Step, Why, rule
from finalcall.events import Event
from finalcall.outcomes import Dispatchable
from finalcall.tools import ToolSet, ToolsLike
from finalcall.turn import Turn, TurnOptions

Request: TypeAlias = Callable[..., Any]
"""Opens a stream: `request(messages)`, with any provider's client. Where it takes `ceiling=`, the
output token limit is given there; what a provider wants repeated (`turn.request_fields`) comes
under its own name."""

DispatchFunction: TypeAlias = Callable[[Dispatchable | AlreadyDispatched], Any]
"""Runs a call and returns its result. What it raises ends the run: to let the model know of a
failure, return the exception."""


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run_turn` and `arun_turn`.

    corrections: The budget of the user's turn; a new one of two round trips if left out.
    ceiling: The request's output token limit. It is given to a `request` that takes `ceiling=`.
    on_truncated: `larger_budget(...)` asks a cut message again with more tokens.
    on_abandoned: `same_request()` asks a message that died again, where nothing of it can have run.
    ledger: Where calls of `once` tools are noted: share one between runs, or nothing is remembered
        from one to the next. If left out, they are noted within the run alone.
    run_key: Names this message of the model in the ledger: the same when it is asked for again,
        after a crash for example, another for every other message. Needed with a ledger.
    turn_options: Keyword arguments for every turn, such as `preview` or `idle_timeout`.
    """

    corrections: Corrections
    ceiling: int | None
    on_truncated: Truncated
    on_abandoned: Abandoned
    ledger: Ledger
    run_key: str
    turn_options: TurnOptions


@final
@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A message of the model is asked for. Comes before its events.

    Attributes:
        number: From 1.
        why: `"first"`, `"correction"`, `"larger budget"`, `"same request"` or `"resume"`. After a
            correction, the blocks of the calls that were invalid wait for their corrected ones.
    """

    number: int
    why: Why


class _Run:
    """What both drivers share."""

    def __init__(
        self,
        request: Request,
        messages: Sequence[Any],
        dispatch: DispatchFunction | None,
        tools: ToolsLike | None,
        options: RunOptions,
    ) -> None:
        self._request = request
        self._dispatch = dispatch
        self._takes = _parameters(request)
        if "on_truncated" in options and not self._takes("ceiling"):
            raise TypeError(
                "on_truncated= needs a request that takes the new limit: "
                "def request(messages, ceiling): ..."
            )
        if ("ledger" in options) is not ("run_key" in options):
            raise TypeError(
                "ledger= and run_key= go together: the key names this message of the model in the "
                "ledger, for example f'{user_turn}/{step}'"
            )
        self._tools = ToolSet.of(tools)
        self._turn_options: TurnOptions = {**options.get("turn_options", {}), "raises": False}
        self._raises = options.get("turn_options", {}).get("raises", True)
        self._blocks = self._turn_options.get("blocks")
        self._result: RunResult | None = None
        self._begun = False
        rules = Rules(
            corrections=options.get("corrections", Corrections()),
            on_truncated=options.get("on_truncated"),
            on_abandoned=options.get("on_abandoned"),
            dispatches=dispatch is not None,
            ledger=options.get("ledger", MemoryLedger()),
            run_key=options.get("run_key", ""),
            clock=self._turn_options.get("clock", time.monotonic),
        )
        self._steps = observed(rule(messages, options.get("ceiling"), self._tools, rules))

    def _start(self) -> Generator[Step, Any, RunResult]:
        if self._begun:
            raise RuntimeError("a run is iterated once; what came of it is in its result")
        self._begun = True
        return self._steps

    def _begin(self, ask: Ask) -> AttemptStarted:
        started = AttemptStarted(ask.number, ask.why)
        if self._blocks is not None:
            self._blocks.apply(started)
        return started

    def _running(
        self, call: Dispatchable | AlreadyDispatched
    ) -> contextlib.AbstractContextManager[None]:
        """Tell whoever looks on that a call runs."""
        if self._blocks is None:
            return contextlib.nullcontext()
        made = call.call if isinstance(call, AlreadyDispatched) else call
        return self._blocks[made.key].running()

    def _end(self) -> None:
        """No further attempt comes, however the run ended."""
        if self._blocks is not None:
            self._blocks.end()

    def _asked(self, ask: Ask) -> tuple[dict[str, Any], dict[str, Any]]:
        """The keyword arguments for the request, and those for its turn."""
        parameters: dict[str, Any] = {}
        if ask.ceiling is not None and self._takes("ceiling"):
            parameters["ceiling"] = ask.ceiling
        for name, value in ask.fields.items():
            if not self._takes(name):
                raise TypeError(
                    f"the provider wants {name!r} repeated in the next request: let request take "
                    f"it, as in `def request(messages, *, {name}=None): ...`"
                )
            parameters[name] = value
        return parameters, {**self._turn_options, "tools": self._tools, "ceiling": ask.ceiling}

    def _finish(self, result: RunResult) -> None:
        self._result = result
        error = result.turn.error
        if self._raises and error is not None:
            raise error


@final
class TurnRun(_Run):
    """A message of the model, asked for until no invalid call remains. Made by `run_turn`.

    Iterate it for the events of every attempt, each begun by an `AttemptStarted`; or ask for its
    `result` at once. A stream that ended uncleanly, and is not asked again, raises as a `Turn`
    does, after the last event; `result` still holds everything.
    """

    def __iter__(self) -> Iterator[Event | AttemptStarted]:
        steps = self._start()
        answer: Any = None
        try:
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration as stop:
                    self._finish(stop.value)
                    return
                if isinstance(step, Dispatch):
                    assert self._dispatch is not None
                    with self._running(step.call):
                        answer = self._dispatch(step.call)
                    continue
                yield self._begin(step)
                parameters, options = self._asked(step)
                with Turn.open(
                    self._request, step.messages, turn_options=options, **parameters
                ) as answer:
                    yield from answer
        finally:
            self._end()

    @property
    def result(self) -> RunResult:
        """What came of the run; runs it first if nobody has iterated it.

        Raises:
            RuntimeError: The iteration was left before its end.
            Exception: What iterating raises, where this runs it.
        """
        if not self._begun:
            for _ in self:
                pass
        return _known(self._result)


@final
class AsyncTurnRun(_Run):
    """The same for asynchronous clients. Made by `arun_turn`; `await` it for its result."""

    async def __aiter__(self) -> AsyncIterator[Event | AttemptStarted]:
        steps = self._start()
        answer: Any = None
        try:
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration as stop:
                    self._finish(stop.value)
                    return
                if isinstance(step, Dispatch):
                    assert self._dispatch is not None
                    with self._running(step.call):
                        answer = self._dispatch(step.call)
                        if inspect.isawaitable(answer):
                            answer = await answer
                    continue
                yield self._begin(step)
                parameters, options = self._asked(step)
                async with AsyncTurn.open(
                    self._request, step.messages, turn_options=options, **parameters
                ) as answer:
                    async for event in answer:
                        yield event
        finally:
            self._end()

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._drain().__await__()

    async def _drain(self) -> RunResult:
        if not self._begun:
            async for _ in self:
                pass
        return self.result

    @property
    def result(self) -> RunResult:
        """What came of the run.

        Raises:
            RuntimeError: It is not over: iterate it to its end, or await it.
        """
        return _known(self._result)


def run_turn(
    request: Request,
    messages: Sequence[Any],
    *,
    tools: ToolsLike | None,
    dispatch: DispatchFunction | None = None,
    **options: Unpack[RunOptions],
) -> TurnRun:
    """Ask for one message of the model, and again while calls of it are invalid.

    Args:
        request: Opens a stream, with any provider's client.
        messages: The conversation so far; it is not changed.
        tools: What is offered.
        dispatch: Runs a call that is proved whole. Without it, the calls of a good message are
            left to you, and the good siblings of invalid ones are answered "not run".
        options: See `RunOptions`.

    Returns:
        What to iterate; nothing is asked before.

    Raises:
        TypeError: `request` cannot take what the options need.
        ValueError: A tool's schema is bad.
    """
    return TurnRun(request, messages, dispatch, tools, options)


def arun_turn(
    request: Request,
    messages: Sequence[Any],
    *,
    tools: ToolsLike | None,
    dispatch: DispatchFunction | None = None,
    **options: Unpack[RunOptions],
) -> AsyncTurnRun:
    """The same for asynchronous clients: `async for` it, or `await` it.

    Args:
        request: Opens a stream: a function, or an asynchronous one.
        messages: As for `run_turn`.
        tools: As for `run_turn`.
        dispatch: As for `run_turn`; it may be asynchronous.
        options: See `RunOptions`.

    Raises:
        TypeError: `request` cannot take what the options need.
        ValueError: A tool's schema is bad.
    """
    return AsyncTurnRun(request, messages, dispatch, tools, options)


def _known(result: RunResult | None) -> RunResult:
    if result is None:
        raise RuntimeError("the run is not over: iterate it to its end to have its result")
    return result


def _parameters(request: Request) -> Callable[[str], bool]:
    """Whether a function takes a keyword argument of some name."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(request).parameters
    except (TypeError, ValueError):
        return lambda _: True
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    named = {
        name
        for name, one in parameters.items()
        if one.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    }
    return lambda name: anything or name in named
