"""How often a model may be told of its mistakes: a budget that belongs to one turn of the user."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, final

from finalcall.clock import Clock
from finalcall.fingerprints import canonical
from finalcall.outcomes import SchemaError
from finalcall.tools.violations import KEYWORDS


@final
class Spent(enum.StrEnum):
    """Why no further correction is asked for."""

    ROUNDS = "rounds"
    """All round trips of the budget were used."""
    KIND = "kind"
    """All round trips that this kind of violation may have were used."""
    REPEATED = "repeated"
    """The same tool was called with the same arguments and violations once more, in this message
    or in an earlier one under the same budget."""
    DEADLINE = "deadline"
    """The time for corrections is over."""


@final
class Corrections:
    """A budget of corrective round trips. Make one for each turn of the user, and carry it along.

    A round trip answers every invalid call of a message at once, and counts once. Calls that are
    right in between do not give it back.

    Args:
        max: Round trips, 0 or more. Two suffice where a correction helps at all.
        per_kind: Fewer for some kinds of violation, by their keyword: `{"required": 0}` never asks
            for a field that was left out, since a model that has to guess it will guess it.
        deadline: Seconds, by the clock of the turns, from the first invalid call under this
            budget. After them no correction is begun, and a message that failed in one is not
            asked for again. What is under way goes on. `None` for no limit.

    Attributes:
        used: Round trips used so far.
        announced: Calls settled under this budget, all attempts together.
        invalid: How many calls had a violation of each kind, by keyword, over all attempts.
        recovered: How many messages brought calls that were all valid after so many corrections:
            `{1: 3}` says three after the first. Those right at once are under 0; a message that
            gives up with plain text is under none.

    Raises:
        ValueError: A number is negative, or `per_kind` names no kind of violation.
    """

    def __init__(
        self,
        max: int = 2,  # noqa: A002 - the word that says it
        *,
        per_kind: Mapping[str, int] | None = None,
        deadline: float | None = None,
    ) -> None:
        for name, value in {"max": max, "deadline": deadline, **(per_kind or {})}.items():
            if value is not None and value < 0:
                raise ValueError(f"Corrections: {name} is {value!r}; expected 0 or more")
        for kind in per_kind or {}:
            if kind not in KEYWORDS:
                raise ValueError(
                    f"Corrections: per_kind names {kind!r}; the kinds of violation are: "
                    f"{', '.join(sorted(KEYWORDS))}"
                )
        self.max: Final = max
        self.deadline: Final = deadline
        self.used: int = 0
        self.announced: int = 0
        self.invalid: Counter[str] = Counter()
        self.recovered: Counter[int] = Counter()
        self._per_kind = dict(per_kind or {})
        self._asked: Counter[str] = Counter()
        self._seen: set[tuple[object, ...]] = set()
        self._began: float | None = None

    @property
    def left(self) -> int:
        """Round trips left."""
        return self.max - self.used

    def spend(self, errors: Sequence[SchemaError], clock: Clock) -> Spent | None:
        """Use one round trip for the invalid calls of a message.

        Args:
            errors: Those calls, at least one.
            clock: The time.

        Returns:
            `None` where the model may be told; else why it may not, and nothing was used.
        """
        now = clock()
        if self._began is None:
            self._began = now
        kinds = {violation.keyword for error in errors for violation in error.errors}
        mistakes = {_mistake(error) for error in errors}
        repeated = not mistakes.isdisjoint(self._seen)
        self._seen |= mistakes
        if repeated:
            return Spent.REPEATED
        if self.is_overdue(now):
            return Spent.DEADLINE
        if self.used >= self.max:
            return Spent.ROUNDS
        if any(self._asked[kind] >= self._per_kind.get(kind, self.max) for kind in kinds):
            return Spent.KIND
        self.used += 1
        self._asked.update(kinds)
        return None

    def is_overdue(self, now: float) -> bool:
        """Whether the time for corrections is over.

        Args:
            now: The time, on the scale of the clock that `spend` was given.
        """
        if self.deadline is None or self._began is None:
            return False
        return now - self._began > self.deadline

    def __repr__(self) -> str:
        return f"Corrections(max={self.max}, used={self.used})"


def _mistake(error: SchemaError) -> tuple[object, ...]:
    """What makes two invalid calls the same mistake."""
    violations = tuple((violation.path, violation.keyword) for violation in error.errors)
    # However it is spelled: white space and the order of names make no other mistake of it.
    said = error.raw if error.args is None else canonical(error.args)
    return error.name, said, violations
