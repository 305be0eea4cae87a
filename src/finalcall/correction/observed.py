"""Tells whoever observes this process what came of each correction. Passes every step on."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from finalcall.correction.result import RunResult
from finalcall.correction.rule import Ask, Step
from finalcall.listeners import is_logging, listeners
from finalcall.outcomes import SchemaError
from finalcall.turn import SettledTurn


def observed(
    steps: Generator[Step, Any, RunResult],
) -> Generator[Step, Any, RunResult]:
    """Drive the rule of asking again, and tell of each correction once it was answered.

    Args:
        steps: What `rule` gives.

    Yields:
        Its steps, to be answered as it wants them answered.

    Returns:
        What it returns.
    """
    before: SettledTurn | None = None
    corrections = 0
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            result: RunResult = stop.value
            return result
        answer = yield step
        if isinstance(step, Ask):
            if before is not None and step.why == "correction":
                corrections += 1
                _tell(before, answer, step.number, corrections)
            before = answer


def _tell(before: SettledTurn, after: SettledTurn, attempt: int, number: int) -> None:
    if not listeners() and not is_logging():
        return
    from finalcall.observe.settled import Correction, keywords
    from finalcall.observe.telling import tell_correction

    invalid = [one for one in before.outcomes if isinstance(one, SchemaError)]
    tell_correction(
        Correction(
            provider=after.provider,
            attempt=attempt,
            round=number,
            tools=tuple(dict.fromkeys(one.name for one in invalid)),
            violations=keywords(invalid),
            verdict=after.verdict,
        )
    )
