"""Drives the rule of asking again: opens the streams, shows their events, runs the calls."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from types import AsyncGeneratorType, TracebackType
from typing import Any, Literal, Self, TypeAlias, Unpack, cast, final

from finalcall.aio import AsyncTurn
from finalcall.attempts import AttemptStarted
from finalcall.correction.budget import Corrections
from finalcall.correction.ledger import AlreadyDispatched
from finalcall.correction.observed import observed
from finalcall.correction.options import (
    DispatchFunction,
    Request,
    RunOptions,
    asynchronous_here,
    is_asynchronous,
    set_up,
)
from finalcall.correction.result import RunResult
from finalcall.correction.rule import Ask, Dispatch, Progress, Step, rule
from finalcall.events import Event
from finalcall.outcomes import Dispatchable
from finalcall.results import ToolResult
from finalcall.tools import ToolsLike
from finalcall.turn import SettledTurn, Turn

_Phase: TypeAlias = Literal["new", "under way", "left", "over"]


class _Run:
    """What both drivers share, and what can be read of a run at any time."""

    def __init__(
        self,
        request: Request,
        messages: Sequence[Any],
        dispatch: DispatchFunction | None,
        tools: ToolsLike | None,
        options: RunOptions,
        *,
        synchronous: bool,
    ) -> None:
        self._setup = setup = set_up(
            request, messages, dispatch, tools, options, synchronous=synchronous
        )
        self._blocks = setup.turn_options.get("blocks")
        self._progress = Progress(setup.messages, setup.ceiling, setup.tools, setup.rules)
        self._steps = observed(rule(self._progress))
        self._turn: SettledTurn | None = None
        self._result: RunResult | None = None
        self._phase: _Phase = "new"
        self._failure: BaseException | None = None

    # What is known at any time

    @property
    def turns(self) -> tuple[SettledTurn, ...]:
        """Every message of the model that ended so far, in order."""
        return tuple(self._progress.turns)

    @property
    def messages(self) -> list[Any]:
        """The conversation so far, as `RunResult.messages`: the provider takes it at any time.

        A call that was begun and gave no result is answered as one that may have had its effect.
        """
        return self._progress.messages()

    @property
    def results(self) -> dict[Any, Any]:
        """What `dispatch` returned so far for the last message's calls, by their keys."""
        return dict(self._progress.results)

    @property
    def dispatched(self) -> tuple[str, ...]:
        """Keys of the calls that `dispatch` was given to run so far, over all messages."""
        return tuple(self._progress.dispatched)

    @property
    def corrections(self) -> Corrections:
        """The budget, with its counts."""
        return self._progress.rules.corrections

    def _known_result(self) -> RunResult:
        if self._result is not None:
            return self._result
        what = {
            "new": "the run has not begun: iterate it or await it",
            "under way": "the run is not over: it is iterated elsewhere, by this loop or another "
            "task; let it come to its end there",
            "left": "the run was left before its end and has no result",
            "over": f"the run ended with {type(self._failure).__name__} before it had a result",
        }[self._phase]
        raise RuntimeError(
            f"{what}; how far it came is in run.turns, run.results, run.dispatched and run.messages"
        )

    # What drivers do

    def _begin(self) -> None:
        if self._phase != "new":
            raise RuntimeError("a run is iterated once; what came of it is in its result")
        self._phase = "under way"

    @contextlib.contextmanager
    def _iterating(self) -> Generator[None]:
        """Know how the iteration ended; no further attempt comes, however it did."""
        try:
            yield
            self._phase = "left" if self._result is None else "over"
        except GeneratorExit:
            self._phase = "left"
            raise
        except BaseException as error:
            self._phase = "over"
            self._failure = error
            raise
        finally:
            self._end()

    def _end(self) -> None:
        """No further attempt comes; what the last one brought is kept."""
        turn = self._turn
        if turn is not None and turn.ending is not None and turn not in self._progress.turns:
            self._progress.take(turn)
        if self._blocks is not None:
            self._blocks.end()

    def _left(self) -> None:
        """The run was closed, and nobody iterates it any more."""
        if self._phase in ("new", "under way"):
            self._phase = "left"
            self._end()

    def _next(self, answer: Any) -> Step | None:
        """The next step, once the last one was answered; `None` where there is none."""
        try:
            step = self._steps.send(answer)
        except StopIteration as stop:
            self._result = stop.value
            return None
        return None if self._progress.stopped else step

    def _start(self, ask: Ask) -> AttemptStarted:
        started = AttemptStarted(ask.number, ask.why)
        if self._blocks is not None:
            self._blocks.apply(started)
        return started

    def _asked(self, ask: Ask) -> dict[str, Any]:
        """The keyword arguments with which a turn opens its stream.

        Raises:
            TypeError: `request` cannot take what the provider wants repeated.
        """
        takes = self._setup.takes
        parameters: dict[str, Any] = {}
        if ask.ceiling is not None and takes("ceiling"):
            parameters["ceiling"] = ask.ceiling
        for name, value in ask.fields.items():
            if not takes(name):
                raise TypeError(
                    f"the provider wants {name!r} repeated in the next request: let request take "
                    f"it, as in `def request(messages, *, {name}=None): ...`; the conversation so "
                    "far is in run.messages"
                )
            parameters[name] = value
        options = {**self._setup.turn_options, "tools": self._setup.tools, "ceiling": ask.ceiling}
        return {"turn_options": options, **parameters}

    @contextlib.contextmanager
    def _running(
        self, call: Dispatchable | AlreadyDispatched
    ) -> Generator[Callable[[Any], object]]:
        """Tell whoever looks on that a call runs; what it gives is to be passed to what this gives.

        So a tool that reports its failure in its result is not told as one that succeeded.
        """
        if self._blocks is None:
            yield _is_failure
            return
        block = self._blocks[(call.call if isinstance(call, AlreadyDispatched) else call).key]
        with block.running():
            yield lambda result: block.fail() if _is_failure(result) else None

    def _raise_unclean(self) -> None:
        error = None if self._result is None else self._result.turn.error
        if self._setup.raises and error is not None:
            raise error


@final
class TurnRun(_Run):
    """A message of the model, asked for until no invalid call remains. Made by `run_turn`.

    Iterate it for the events of every attempt, each begun by an `AttemptStarted`; or ask for its
    `result` at once. A stream that ended uncleanly, and is not asked again, raises as a `Turn`
    does, after the last event; `result` still holds everything. Leaving its `with` block, or
    `close()`, ends it wherever it is.

    `turns`, `messages`, `results`, `dispatched` and `corrections` say how far it has come, at any
    time: also after `dispatch`, `request` or the ledger raised, and after the loop was left.
    """

    _iteration: weakref.ref[Generator[Any, None, None]] | None = None

    def __iter__(self) -> Iterator[Event | AttemptStarted]:
        self._begin()
        iteration = self._events()
        # Only weakly: a loop that is left without `with` then closes the stream at once.
        self._iteration = weakref.ref(iteration)
        return iteration

    def _events(self) -> Generator[Event | AttemptStarted, None, None]:
        answer: Any = None
        with self._iterating():
            while (step := self._next(answer)) is not None:
                if isinstance(step, Dispatch):
                    with self._running(step.call) as seen:
                        answer = self._dispatch(step.call)
                        seen(answer)
                    continue
                yield self._start(step)
                with Turn.open(self._request, step.messages, **self._asked(step)) as answer:
                    self._turn = answer
                    yield from answer
        self._raise_unclean()

    def _request(self, *arguments: Any, **parameters: Any) -> Any:
        return _refuse_asynchronous("request", self._setup.request(*arguments, **parameters))

    def _dispatch(self, call: Dispatchable | AlreadyDispatched) -> Any:
        assert self._setup.dispatch is not None
        return _refuse_asynchronous("dispatch", self._setup.dispatch(call))

    @property
    def result(self) -> RunResult:
        """What came of the run; runs it first if nobody has iterated it.

        Raises:
            RuntimeError: It is under way, was left before its end, or raised before it.
            Exception: What iterating raises, where this runs it.
        """
        if self._phase == "new":
            for _ in self:
                pass
        return self._known_result()

    def close(self) -> None:
        """End the run wherever it is and close its stream. May be called twice, from any thread.

        A call that runs is not interrupted: its result is noted, and no other call begins.
        """
        self._progress.stopped = True
        iteration = None if self._iteration is None else self._iteration()
        elsewhere = False
        if iteration is not None:
            try:
                iteration.close()
            except ValueError:  # it is running, in another thread, and ends there with its stream
                elsewhere = True
        if isinstance(self._turn, Turn):
            self._turn.close()
        if not elsewhere:
            self._left()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@final
class AsyncTurnRun(_Run):
    """The same for asynchronous clients. Made by `arun_turn`; `await` it for its result.

    A loop that is left by `break` without `async with` leaves its stream to the event loop, which
    closes it a little later.
    """

    _iteration: weakref.ref[AsyncGeneratorType[Any, None]] | None = None

    def __aiter__(self) -> AsyncIterator[Event | AttemptStarted]:
        self._begin()
        iteration = cast("AsyncGeneratorType[Event | AttemptStarted, None]", self._events())
        self._iteration = weakref.ref(iteration)
        return iteration

    async def _events(self) -> AsyncGenerator[Event | AttemptStarted, None]:
        answer: Any = None
        with self._iterating():
            while (step := self._next(answer)) is not None:
                if isinstance(step, Dispatch):
                    with self._running(step.call) as seen:
                        answer = await self._dispatch(step.call)
                        seen(answer)
                    continue
                yield self._start(step)
                async with AsyncTurn.open(
                    self._setup.request, step.messages, **self._asked(step)
                ) as answer:
                    self._turn = answer
                    async for event in answer:
                        yield event
        self._raise_unclean()

    async def _dispatch(self, call: Dispatchable | AlreadyDispatched) -> Any:
        assert self._setup.dispatch is not None
        result = self._setup.dispatch(call)
        return await result if inspect.isawaitable(result) else result

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._drain().__await__()

    async def _drain(self) -> RunResult:
        if self._phase == "new":
            async for _ in self:
                pass
        return self._known_result()

    @property
    def result(self) -> RunResult:
        """What came of the run.

        Raises:
            RuntimeError: It is not over: iterate it to its end, or await it. Or it was left before
                its end, or raised before it.
        """
        return self._known_result()

    async def aclose(self) -> None:
        """End the run wherever it is and close its stream. May be called twice, from any task.

        A call that runs is not interrupted: its result is noted, and no other call begins.
        """
        self._progress.stopped = True
        iteration = None if self._iteration is None else self._iteration()
        # In another task the iteration may be running: it ends there, with its stream.
        elsewhere = iteration is not None and iteration.ag_running
        if iteration is not None and not elsewhere:
            await iteration.aclose()
        if isinstance(self._turn, AsyncTurn):
            await self._turn.aclose()
        if not elsewhere:
            self._left()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


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
        request: Opens a stream, with any provider's client: `def request(messages, **fields)`.
        messages: The conversation so far; it is not changed.
        tools: What is offered.
        dispatch: Runs a call that is proved whole. Without it, the calls of a good message are
            left to you, and the good siblings of invalid ones are answered "not run".
        options: See `RunOptions`.

    Returns:
        What to iterate; nothing is asked before.

    Raises:
        TypeError: An option is unknown or of the wrong type, `request` cannot take what the options
            need, or a function is asynchronous.
        ValueError: An option is nothing that there is, or a tool's schema is bad.
    """
    return TurnRun(request, messages, dispatch, tools, options, synchronous=True)


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
        TypeError: An option is unknown or of the wrong type, or `request` cannot take what the
            options need.
        ValueError: An option is nothing that there is, or a tool's schema is bad.
    """
    return AsyncTurnRun(request, messages, dispatch, tools, options, synchronous=False)


def _is_failure(result: Any) -> bool:
    """Whether a tool reports its failure in its result."""
    return isinstance(result, BaseException) or (isinstance(result, ToolResult) and result.is_error)


def _refuse_asynchronous(name: str, value: Any) -> Any:
    """Give back what a function gave, unless it had to be awaited."""
    if not is_asynchronous(value):
        return value
    if inspect.iscoroutine(value):
        value.close()  # it has not begun, and never will
    raise TypeError(asynchronous_here(name))
