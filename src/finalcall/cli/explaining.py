"""Finds out why calls settled as they did: the facts of the stream, the rule, and what to do.

It says what happened and never what a model wrote. Nothing here decides: what settled a call is
read back from its outcome and from the events that came.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from finalcall.ending import TurnVerdict
from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    CallAnnounced,
    CallCompleted,
    CallWithdrawn,
    Event,
    MessageStopped,
    StreamFault,
)
from finalcall.outcomes import Cause, Failed, Outcome, SchemaError
from finalcall.settler import Settler
from finalcall.strict import NotStrictJSON, join_surrogates
from finalcall.testing.replaying import StoredStream, tell
from finalcall.texts import printable

RULES: Final[Mapping[int, str]] = {
    1: "the stop reason is not a complete one: every call of the message is truncated",
    2: "no stop reason covers the call: it is abandoned, whether it looks finished or not",
    3: "the stop reason is a complete one, but the call never got its own end: it is abandoned",
    4: "the call is finished, but its text is not one strict JSON document: it is unparseable",
    5: "the call is finished and its text is JSON, but it is no valid call of a tool on offer",
    6: "the call is finished, its text is strict JSON, and nothing speaks against it: it may run",
}
"""The rules of settling, in their order: the first that applies decides."""

ADVICE: Final[Mapping[Cause, str]] = {
    Cause.TOKEN_CEILING: "ask again with a larger output limit; never ask to continue a cut call",
    Cause.SAFETY: "the same request will be stopped again: change what is asked, or tell the user",
    Cause.PAUSED: "ask again with the same request: a pause with a call of yours in it "
    "cannot be sent back; one without is a resume and no failure",
    Cause.PROVIDER_ERROR: "ask again with the same request, later if the service is overloaded",
    Cause.UNKNOWN_STOP: "if the word is known to be a good end, say so: stop_reasons={word: "
    "Verdict.COMPLETE}; asking again changes nothing",
    Cause.ENDED_EARLY: "ask again with the same request; for a service that never sends a stop "
    'reason there is unconfirmed="dispatch"',
    Cause.DISCONNECTED: "ask again with the same request",
    Cause.IDLE: "ask again with the same request; the command gaps says whether the limit is "
    "too low for this service",
    Cause.STALLED: "ask again with the same request; the command gaps says whether the limit is "
    "too low for this service",
    Cause.CANCELLED: "nothing: whoever stopped listening did not want it any more",
    Cause.MALFORMED: "ask again with the same request; a model that does this often is a poor "
    "match for the schema",
    Cause.LIMIT: "if arguments of this size are meant, raise limits=Limits(...)",
}
"""What to do about a call that failed, by its cause."""

OF_A_VALID_CALL: Final[Mapping[TurnVerdict, str]] = {
    "dispatch": "run it",
    "correct": "do not run it yet: a call beside it is invalid, and all are answered in one go",
    "fail": "decide for yourself: a call beside it failed, and asking again may bring it twice",
    "resume": "send the message back unchanged; the provider then goes on",
    "done": "nothing",
}
"""What to do about a call that may run, by its turn's verdict."""

OF_AN_INVALID_CALL: Final[Mapping[TurnVerdict, str]] = {
    "correct": "tell the model what was wrong and ask again: run_turn does, a bounded number of "
    "times",
    "fail": "ask for the whole message again: a call beside it failed, and that comes first",
}
"""What to do about an invalid call, by its turn's verdict."""

ENDINGS: Final[Mapping[Cause, str]] = {
    Cause.DISCONNECTED: "the connection broke",
    Cause.IDLE: "nothing came for longer than the limit",
    Cause.STALLED: "only keep-alives came for longer than the limit",
    Cause.CANCELLED: "whoever read it left",
    Cause.PROVIDER_ERROR: "the fault ended it",
    Cause.MALFORMED: "the fault ended it",
}
"""How a message ended that has no end marker, by the cause; else its stream was over."""

_LONGEST: Final = 60
"""Characters of a provider's word that are shown."""


@final
@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the stream did, or never did.

    Attributes:
        said: What, in words. Never argument text.
        event: The number of the native event, from 1; `None` for what never came.
        at: Seconds since the request (or the first event), where the recording says so.
    """

    said: str
    event: int | None = None
    at: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one call ended so.

    Attributes:
        outcome: What it settled as.
        rule: The number of the rule that decided.
        facts: What decided, in order.
        advice: What to do.
    """

    outcome: Outcome
    rule: int
    facts: tuple[Fact, ...]
    advice: str


def explain(settler: Settler, stream: StoredStream) -> list[Explanation]:
    """Settle a stream, and say of each call why it ended so.

    Args:
        settler: A new one.
        stream: What to settle.

    Returns:
        One explanation a call, in order of announcement.

    Raises:
        UnreadableRecording: The stream is no known provider's.
    """
    witness = _Witness()
    for told in tell(settler, stream):
        for event in told.events:
            witness.see(event, told.number, told.at)
        if told.ended:
            witness.end(settler, told.at)
    return [
        Explanation(
            outcome,
            rule_of(outcome, settler, covered=witness.stories[outcome.key].covered),
            (*witness.stories[outcome.key].facts, *_facts_of_text(outcome)),
            advice_for(outcome, settler.verdict),
        )
        for outcome in settler.outcomes
    ]


def rule_of(outcome: Outcome, settler: Settler, *, covered: bool) -> int:
    """The number of the rule that settled a call.

    Args:
        outcome: What the call settled as.
        settler: The settled turn.
        covered: Whether a stop reason came with or after the call's announcement.
    """
    if not isinstance(outcome, Failed):
        return 5 if isinstance(outcome, SchemaError) else 6
    if outcome.reason != "abandoned":
        return 1 if outcome.reason == "truncated" else 4
    return 3 if covered and settler.stop_reason is not None else 2


def advice_for(outcome: Outcome, verdict: TurnVerdict) -> str:
    """What to do about a call, in a turn of that verdict."""
    if isinstance(outcome, Failed):
        return ADVICE[outcome.cause]
    return (OF_AN_INVALID_CALL if isinstance(outcome, SchemaError) else OF_A_VALID_CALL)[verdict]


# What is seen


@final
@dataclass(slots=True)
class _Story:
    """What was seen of one call."""

    choice: int
    facts: list[Fact] = field(default_factory=list[Fact])
    covered: bool = False
    completed: bool = False
    pieces: int = 0
    size: int = 0
    untold: Fact | None = None

    def grow(self, size: int, event: int, at: float | None) -> None:
        """Take a piece of its arguments. It is told with the next fact: there may be thousands."""
        self.pieces += 1
        self.size += size
        plural = "" if self.pieces == 1 else "s"
        told = f"arguments so far: {self.size:,} characters in {self.pieces:,} piece{plural}"
        self.untold = Fact(told, event, at)

    def tell(self, said: str, event: int | None = None, at: float | None = None) -> None:
        """Take a fact."""
        if self.untold is not None:
            self.facts.append(self.untold)
            self.untold = None
        self.facts.append(Fact(said, event, at))

    @property
    def told_last(self) -> str:
        """The last fact: some services say the same of every call."""
        return self.facts[-1].said


@final
class _Witness:
    """Looks on while a stream is settled.

    Attributes:
        stories: What was seen of each call, by its key.
    """

    def __init__(self) -> None:
        self.stories: dict[str, _Story] = {}
        self._stopped: set[int] = set()

    def see(self, event: Event, number: int, at: float | None) -> None:
        """See what happened at a native event."""
        match event:
            case CallAnnounced(call, given):
                self._announced(call.key, call.choice, given, number, at)
            case ArgumentsDelta(call, text) if text:
                self.stories[call.key].grow(len(text), number, at)
            case ArgumentsRestated(call, text):
                said = f"the provider stated the whole text: {len(text):,} characters"
                self.stories[call.key].tell(said, number, at)
            case CallCompleted(call):
                story = self.stories[call.key]
                if not story.completed:
                    story.tell("the call's own end", number, at)
                story.completed = True
            case CallWithdrawn(call):
                said = "the provider went back on the call, which may have been cut"
                self.stories[call.key].tell(said, number, at)
            case MessageStopped(reason, choice):
                self._stopped.add(choice)
                said = f"stop reason {word(reason.raw)}: {reason.verdict}"
                for story in self.stories.values():
                    if story.choice == choice and story.told_last != said:
                        story.tell(said, number, at)
                    story.covered = story.covered or story.choice == choice
            case StreamFault(cause, code):
                for story in self.stories.values():
                    said = f"fault {word(code)}: {cause}; it voids a complete stop reason"
                    story.tell(said, number, at)
            case _:
                pass

    def _announced(self, key: str, choice: int, given: str, number: int, at: float | None) -> None:
        known = self.stories.get(key)
        if known is not None:
            known.tell("announced again: what follows is compared with the first", number, at)
            return
        story = self.stories[key] = _Story(choice)
        text = f", with {len(given):,} characters of arguments" if given else ""
        story.tell(f"announced{text}", number, at)

    def end(self, settler: Settler, at: float | None) -> None:
        """See the end, and what never came."""
        ending = settler.ending
        assert ending is not None
        over = "the stream was over"
        if ending.cause is not None:
            over = ENDINGS.get(ending.cause, over)
        if ending.exception is not None:
            over += f" ({type(ending.exception).__name__})"
        how = "its end marker came" if ending.marker else over
        for story in self.stories.values():
            if not story.completed:
                story.tell("the call's own end never came")
            if not story.covered:
                before = story.choice in self._stopped
                story.tell(f"no stop reason came{' after the call' if before else ''}")
            story.tell(f"the message ended: {how}", settler.stats.events, at)


def word(text: str) -> str:
    """A provider's word, quoted; it may hold anything."""
    shown = printable(text[:_LONGEST])
    return f"'{shown}{'…' if len(text) > _LONGEST else ''}'"


# What is wrong with a text


def _facts_of_text(outcome: Outcome) -> list[Fact]:
    if not isinstance(outcome, Failed) or outcome.reason != "unparseable":
        return []
    if not outcome.name:
        return [Fact("the name of a tool never came")]
    if outcome.cause is Cause.LIMIT:
        return [Fact("the text is longer, or nests deeper, than the limits allow")]
    return [Fact(what_is_wrong(outcome.raw))]


@final
class _NotStrictError(ValueError):
    """Something that only a lenient parser takes. Its message says what."""


def what_is_wrong(text: str) -> str:
    """Say why text is not one strict JSON document, without quoting it.

    Args:
        text: Text that a strict parser refused, or that differs from its own repetition.
    """
    try:
        value = json.loads(
            join_surrogates(text),
            object_pairs_hook=_unique,
            parse_constant=_constant,
            parse_float=_finite,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except _NotStrictError as error:
        return str(error)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return f"the text ends before its document does, after {len(text):,} characters"
        what = "the text goes on after its document" if "Extra" in error.msg else "no JSON"
        return f"{what}, from character {error.pos + 1:,} of {len(text):,} on"
    except (NotStrictJSON, UnicodeEncodeError):
        return "the text holds half of a surrogate pair: it is no Unicode text"
    except (RecursionError, ValueError):
        return "the text holds more than a parser can take"
    return "the text was sent twice, and the second one differs"


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotStrictError("one object of the text has a name twice")
    return found


def _constant(_: str) -> float:
    raise _NotStrictError("the text has NaN or Infinity, which JSON does not know")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NotStrictError("the text has a number that is too large for a float")
    return number
