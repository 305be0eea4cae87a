"""What a run is given: its options, checked before anything is asked."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypedDict, cast, final

from finalcall.correction.budget import Corrections
from finalcall.correction.ledger import AlreadyDispatched, Ledger, MemoryLedger
from finalcall.correction.policies import Abandoned, Truncated
from finalcall.correction.rule import Rules
from finalcall.narrow import is_mapping
from finalcall.option_checks import CEILING, OPTIONS, Expected, check_options
from finalcall.options import refuse_unknown
from finalcall.outcomes import Dispatchable
from finalcall.tools import ToolSet, ToolsLike
from finalcall.turn import TurnOptions

Request: TypeAlias = Callable[..., Any]
"""Opens a stream: `request(messages, **fields)`, with any provider's client. Where it takes
`ceiling`, the output token limit comes by that keyword; what a provider wants repeated
(`turn.request_fields`, such as Anthropic's `container`) comes by its own name."""

DispatchFunction: TypeAlias = Callable[[Dispatchable | AlreadyDispatched], Any]
"""Runs a call and returns its result. What it raises ends the run: to let the model know of a
failure, return the exception."""


@final
class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run_turn` and `arun_turn`. `None` is the same as left out.

    corrections: The budget of the user's turn; a new one of two round trips if left out.
    ceiling: The request's output token limit. It is given to a `request` that takes `ceiling=`.
    on_truncated: `larger_budget(...)` asks a cut message again with more tokens; see `Truncated`.
    on_abandoned: `same_request()` asks a message that died again, where nothing of it can have
        run; see `Abandoned`.
    ledger: Where calls of `once` tools are noted: share one between runs, or nothing is remembered
        from one to the next. If left out, they are noted within the run alone.
    run_key: Names this message of the model in the ledger: the same when it is asked for again,
        after a crash for example, another for every other message. Needed with a ledger.
    turn_options: Keyword arguments for every turn, such as `preview` or `idle_timeout`.
    """

    corrections: Corrections | None
    ceiling: int | None
    on_truncated: Truncated | None
    on_abandoned: Abandoned | None
    ledger: Ledger | None
    run_key: str | None
    turn_options: TurnOptions | None


_OPTIONS: Final = frozenset(RunOptions.__optional_keys__)
_TURN_OPTIONS: Final = frozenset(TurnOptions.__optional_keys__) - {"ceiling"}
_SYNC_TURN_OPTIONS: Final = _TURN_OPTIONS | {"pacing"}


def _is_ledger(value: Any) -> bool:
    operations = [getattr(value, name, None) for name in ("begin", "finish")]
    return all(callable(one) and not is_asynchronous_function(one) for one in operations)


_EXPECTED: Final[Mapping[str, Expected]] = {
    "corrections": Expected(
        "a budget, such as Corrections(max=2)", lambda value: isinstance(value, Corrections)
    ),
    "ceiling": CEILING,
    "on_truncated": Expected("a function, such as larger_budget(ceiling=8192)", callable),
    "on_abandoned": Expected("a function, such as same_request()", callable),
    "ledger": Expected("an object with synchronous methods begin and finish", _is_ledger),
    "run_key": Expected(
        "text, such as f'{user_turn}/{step}'", lambda value: isinstance(value, str)
    ),
    "turn_options": Expected("a mapping of keyword arguments for turns", is_mapping),
}
"""By option: what it may be where it is given."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Setup:
    """What a run works with.

    Attributes:
        request: Opens a stream.
        dispatch: Runs a call, or `None`.
        messages: The conversation so far.
        tools: What is offered.
        ceiling: The request's output token limit, where known.
        rules: What may be done.
        turn_options: For every turn; none of them raises by itself.
        raises: An unclean end of the last turn raises.
        takes: Whether `request` takes a keyword argument.
    """

    request: Request
    dispatch: DispatchFunction | None
    messages: list[Any]
    tools: ToolSet | None
    ceiling: int | None
    rules: Rules
    turn_options: TurnOptions
    raises: bool
    takes: Callable[[str], bool]


def set_up(
    request: Request,
    messages: Sequence[Any],
    dispatch: DispatchFunction | None,
    tools: ToolsLike | None,
    options: RunOptions,
    *,
    synchronous: bool,
) -> Setup:
    """Check what a run was given.

    Args:
        request: Opens a stream.
        messages: The conversation so far.
        dispatch: Runs a call, or `None`.
        tools: What is offered.
        options: What is left out or `None` takes its default.
        synchronous: Nothing can be awaited.

    Raises:
        TypeError: Something is missing, of the wrong type, or unknown; the text says what.
        ValueError: The ceiling is not above 0, or a tool's schema is bad.
    """
    given = _checked(options)
    turn_options: TurnOptions = given.get("turn_options") or {}
    refuse_unknown(
        turn_options, _SYNC_TURN_OPTIONS if synchronous else _TURN_OPTIONS, "turn_options"
    )
    check_options({name: one for name, one in turn_options.items() if name in OPTIONS})
    functions = (
        {"request": request} if dispatch is None else {"request": request, "dispatch": dispatch}
    )
    _check_functions(functions, synchronous=synchronous)
    takes = _parameters(request)
    if "on_truncated" in given and not takes("ceiling"):
        raise TypeError(
            "on_truncated= needs a request that takes the new limit: "
            "def request(messages, ceiling): ..."
        )
    if ("ledger" in given) is not ("run_key" in given):
        raise TypeError(
            "ledger= and run_key= go together: the key names this message of the model in the "
            "ledger, for example f'{user_turn}/{step}'"
        )
    return Setup(
        request=request,
        dispatch=dispatch,
        messages=_conversation(messages),
        tools=ToolSet.of(tools),
        ceiling=given.get("ceiling"),
        rules=_rules(given, dispatches=dispatch is not None),
        turn_options={**turn_options, "raises": False},
        raises=turn_options.get("raises", True),
        takes=takes,
    )


def _rules(given: RunOptions, *, dispatches: bool) -> Rules:
    ledger = given.get("ledger")
    turn_options: TurnOptions = given.get("turn_options") or {}
    return Rules(
        corrections=given.get("corrections") or Corrections(),
        on_truncated=given.get("on_truncated"),
        on_abandoned=given.get("on_abandoned"),
        dispatches=dispatches,
        ledger=MemoryLedger() if ledger is None else ledger,  # an empty one may be false
        run_key=given.get("run_key") or "",
        clock=turn_options.get("clock") or time.monotonic,
    )


def _checked(options: RunOptions) -> RunOptions:
    """The options that are given, each of its type."""
    refuse_unknown(options, _OPTIONS, "options of a run")
    given = {name: value for name, value in options.items() if value is not None}
    check_options(given, _EXPECTED)
    return cast("RunOptions", given)


def _check_functions(functions: Mapping[str, Any], *, synchronous: bool) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name}= is of type {type(function).__name__}; expected a function")
        if synchronous and is_asynchronous_function(function):
            raise TypeError(asynchronous_here(name))


def _conversation(messages: Any) -> list[Any]:
    if isinstance(messages, str | bytes) or is_mapping(messages):
        raise TypeError(
            f"messages= is of type {type(messages).__name__}; expected a list of messages in the "
            'provider\'s shape, such as [{"role": "user", "content": "..."}]'
        )
    return list(messages)


# What is asynchronous


def is_asynchronous_function(function: Any) -> bool:
    """Whether what a function gives must be awaited, as far as it tells."""
    return any(
        inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one)
        for one in (function, getattr(function, "__call__", None))  # noqa: B004
    )


def is_asynchronous(value: Any) -> bool:
    """Whether a value can only be used by asynchronous code."""
    awaited = (
        hasattr(value, "__await__") or hasattr(value, "__aiter__") or hasattr(value, "__aenter__")
    )
    return awaited and not (hasattr(value, "__iter__") or hasattr(value, "__enter__"))


def asynchronous_here(name: str) -> str:
    """Say that a function is asynchronous and cannot be.

    Args:
        name: Its argument's name.
    """
    return f"{name}= is asynchronous, and run_turn cannot await it: use arun_turn"


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
