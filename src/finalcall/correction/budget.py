"""How often a model may be told of its mistakes: a budget that belongs to one turn of the user."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, final

from finalcall.clock import Clock
from finalcall.fingerprints import canonical
from finalcall.outcomes import SchemaError


@final
class Spent(enum.StrEnum):
    """Why no further correction is asked for."""

    ROUNDS = "rounds"
    """All round trips of the budget were used."""
    KIND = "kind"
    """All round trips that this kind of violation may have were used."""
    REPEATED = "repeated"
    """The same tool was called with the same arguments and violations once more."""
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
        deadline: Seconds from the first invalid call after which no further correction is begun;
            `None` for no limit.

    Attributes:
        used: Round trips used so far.
        announced: Calls settled under this budget, all attempts together.
        invalid: How many calls had a violation of each kind, by keyword, over all attempts.
        recovered: How many messages were free of invalid calls after so many corrections: `{1: 3}`
            says three after the first. Those right at once are under 0.

    Raises:
        ValueError: A number is negative.
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
        self.max: Final = max
        self.deadline: Final = deadline
        self.used = 0
        self.announced = 0
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
        if self.deadline is not None and now - self._began > self.deadline:
            return Spent.DEADLINE
        if self.used >= self.max:
            return Spent.ROUNDS
        if any(self._asked[kind] >= self._per_kind.get(kind, self.max) for kind in kinds):
            return Spent.KIND
        self.used += 1
        self._asked.update(kinds)
        return None

    def __repr__(self) -> str:
        return f"Corrections(max={self.max}, used={self.used})"


def _mistake(error: SchemaError) -> tuple[object, ...]:
    """What makes two invalid calls the same mistake."""
    violations = tuple((violation.path, violation.keyword) for violation in error.errors)
    # However it is spelled: white space and the order of names make no other mistake of it.
    said = error.raw if error.args is None else canonical(error.args)
    return error.name, said, violations
