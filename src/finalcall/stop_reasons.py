"""Why a message stopped, in the provider's word and as one of six verdicts.

The tables of words live with their providers; here is only what a verdict is and which of two
is the worse. A word that no table holds is `UNKNOWN`, and `UNKNOWN` lets nothing run.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from finalcall.outcomes import Cause


@final
class Verdict(enum.StrEnum):
    """What a stop reason says about the calls of its message."""

    COMPLETE = "complete"
    """The model ended by itself or handed over to the tools."""
    UNKNOWN = "unknown"
    """The word is in no table: fails closed."""
    PAUSED = "paused"
    """The provider wants the same turn sent back to go on."""
    TRUNCATED = "truncated"
    """A token limit cut the output."""
    FILTERED = "filtered"
    """A safety system, a refusal or a guardrail ended it."""
    ERROR = "error"
    """The provider failed, or the model emitted something unusable."""


_WORSE = {verdict: rank for rank, verdict in enumerate(Verdict)}
"""The order of declaration is the order of badness: the worst of several reasons wins."""

CAUSES: Mapping[Verdict, Cause] = {
    Verdict.UNKNOWN: Cause.UNKNOWN_STOP,
    Verdict.PAUSED: Cause.PAUSED,
    Verdict.TRUNCATED: Cause.TOKEN_CEILING,
    Verdict.FILTERED: Cause.SAFETY,
    Verdict.ERROR: Cause.PROVIDER_ERROR,
}
"""The cause of a call that its message's verdict keeps from running."""


@final
@dataclass(frozen=True, slots=True)
class StopReason:
    """The provider's own word for why the message stopped, with its verdict.

    Attributes:
        raw: The word as sent, for example `"tool_use"` or `"length"`.
        verdict: What it means for the message's calls.
    """

    raw: str
    verdict: Verdict


def worst(first: StopReason | None, second: StopReason | None) -> StopReason | None:
    """The worse of two reasons, the first where they are equally bad; `None` is no reason."""
    if first is None or second is None:
        return second if first is None else first
    return second if _WORSE[second.verdict] > _WORSE[first.verdict] else first
