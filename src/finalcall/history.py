"""What a turn adds to the conversation: always something the provider accepts.

Text and reasoning stay, failed calls go, and every call that stays has exactly one answer.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from finalcall.accumulator import Buffer
from finalcall.events import CallKind
from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Dispatchable, Failed, Outcome, SchemaError
from finalcall.providers.base import Answered, Normaliser
from finalcall.results import Results, find_result
from finalcall.strict import encodable, join_surrogates, parse_strict

_REFUSED_IN_NAMES: Final = re.compile(r"\A(?=[0-9])|[^a-zA-Z0-9_]")
"""What some service refuses in a tool's name: Cohere takes the least."""

_LONGEST_NAME: Final = 64
"""Characters of a name that every service takes."""


def build_history(
    normaliser: Normaliser,
    outcomes: Sequence[Outcome],
    buffers: Mapping[str, Buffer],
    results: Results,
    *,
    paused: bool,
    stored: bool,
) -> list[dict[str, Any]]:
    """Pair every call that stays with its answer and let the provider's normaliser lay them out.

    Args:
        normaliser: The turn's own.
        outcomes: Its outcomes.
        buffers: Its calls' texts, by key.
        results: What the tools gave back.
        paused: The provider wants the message back unchanged.
        stored: The provider keeps the conversation: send only what it lacks.

    Raises:
        ValueError: A dispatchable call has no result, a result is for no call that stays, or the
            provider keeps nothing.
    """
    answers: dict[str, Answered] = {}
    _refuse_strays(outcomes, results)
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            continue
        result = find_result(results, outcome)
        if result is not None and isinstance(outcome, SchemaError) and not result.is_error:
            raise ValueError(
                f"a result was given for the call {outcome.name!r} ({outcome.key}), whose "
                "arguments were invalid: it did not run; leave it out to have its violations "
                "answered, or give an exception or a ToolResult with is_error=True"
            )
        if result is None:
            if not isinstance(outcome, SchemaError):
                raise ValueError(
                    f"no result for the call {outcome.name!r} ({outcome.key}); every dispatchable "
                    "call needs one: pass what it returned, its exception, or a ToolResult saying "
                    "that it was not run"
                )
            from finalcall.wording import answer_for

            result = answer_for(outcome)
        buffer = buffers[outcome.key]
        answers[outcome.key] = Answered(
            buffer.call, _sent_name(outcome), buffer.arguments, _arguments(buffer), result
        )
    if stored and not normaliser.keeps_conversation:
        raise ValueError(
            f"{normaliser.provider} keeps no conversation on its server; leave stored= out to get "
            "the whole message"
        )
    return _sendable(normaliser.history(answers, paused=paused, stored=stored))


def _sent_name(outcome: Dispatchable | SchemaError) -> str:
    """A tool's name; where no such tool was offered, one that every service takes."""
    name = outcome.name or ""
    if isinstance(outcome, SchemaError) and outcome.misnamed:
        name = _REFUSED_IN_NAMES.sub("_", name)[:_LONGEST_NAME]
    return name


def _arguments(buffer: Buffer) -> dict[str, Any]:
    """The arguments as the model wrote them: who ran the call may have changed its outcome's."""
    if buffer.kind is CallKind.CUSTOM:
        return {"input": join_surrogates(buffer.raw or buffer.given)}
    value = parse_strict(buffer.arguments or "{}")
    return value if is_object(value) else {}


def _refuse_strays(outcomes: Sequence[Outcome], results: Results) -> None:
    staying = [outcome for outcome in outcomes if not isinstance(outcome, Failed)]
    known = {name for one in staying for name in (one, one.key, one.call_id)}
    strays = [name for name in results if name not in known]
    if strays:
        keys = ", ".join(outcome.key for outcome in staying) or "none"
        raise ValueError(
            f"{len(strays)} of the results given are for no call that stays in the conversation; "
            f"pass results by outcome, key or call id; the keys are: {keys}"
        )


def _sendable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages whose text can be encoded: split surrogate pairs joined, lone halves replaced.

    What was copied from native events may hold such text at any depth.
    """
    sent: list[dict[str, Any]] = list(messages)
    pending: list[Any] = [sent]
    while pending:
        holder: Any = pending.pop()
        places: Any = holder.items() if is_object(holder) else enumerate(holder)
        for place, value in tuple(places):
            if isinstance(value, str):
                holder[place] = encodable(value)
            elif is_object(value) or is_array(value):
                holder[place] = inner = copy.copy(value)
                pending.append(inner)
    return sent
