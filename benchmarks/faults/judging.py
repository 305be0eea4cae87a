"""What the recorded facts of a run come to: the decisions, each from the facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from benchmarks.faults.cases import Case
from benchmarks.faults.running import MOST_REQUESTS, Facts


@final
@dataclass(frozen=True, slots=True)
class Judged:
    """A run and its case.

    Attributes:
        case: What was sent.
        facts: What happened.
    """

    case: Case
    facts: Facts

    @property
    def ran_unproved(self) -> bool:
        """A tool ran that no reply proves, or with other arguments than a reply proves."""
        return any(run not in self.case.proved for run in self.facts.runs)

    @property
    def ran_cut(self) -> bool:
        """A tool ran with arguments that the stream cut."""
        return self.case.cut and self.ran_unproved

    @property
    def was_right(self) -> bool:
        """Exactly the proved runs took place, and the agent came to its end."""
        return self.facts.returned and tuple(self.facts.runs) == self.case.proved

    @property
    def vanished(self) -> bool:
        """The agent returned as if all were well, and one of the calls had no end whatever.

        Ends are: its run, something that the package gave its caller about it, or a result for it
        in the next request.
        """
        return self.facts.returned and bool(self._open())

    @property
    def left_open(self) -> bool:
        """A screen that showed the call had nothing to take it down for: it vanished or hangs."""
        return self.facts.raised is None and not self.facts.capped and bool(self._open())

    @property
    def noticed(self) -> bool:
        """The package said anything: an exception, a warning in a log, a word to its caller."""
        return bool(self.facts.raised or self.facts.warned or self.facts.noticed)

    @property
    def cell(self) -> str:
        """The run in a few words."""
        facts = self.facts
        words: list[str] = []
        if self.ran_unproved:
            words.append("**ran cut**" if self.case.cut else "**ran**")
        elif facts.runs:
            words.append("right")
        elif self.case.announced and not self._open():
            words.append("told")
        if facts.raised:
            words.append("raised")
        if self.vanished:
            words.append("**vanished**")
        if facts.hung:
            words.append("**nothing**")
        if not self.case.announced:
            words.append("noticed" if self.noticed else "**unnoticed**")
        if not self.case.replies_end:
            words.append(requests(facts))
        return ", ".join(words)

    def _open(self) -> Sequence[str]:
        """The calls of the first reply that had no end; a run of any tool is taken for theirs."""
        ends = {call_id for call_id, _ in self.facts.ended} | set(self.facts.answered)
        if self.facts.runs:
            return []
        return [call_id for call_id in self.case.announced if call_id not in ends]


def requests(facts: Facts) -> str:
    """How many requests were made until the agent stopped by itself."""
    if facts.capped:
        return f"{MOST_REQUESTS} requests and on"
    return f"{facts.requests} request{'' if facts.requests == 1 else 's'}"
