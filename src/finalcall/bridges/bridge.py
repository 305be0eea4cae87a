"""What is told of a turn, in which order: the same for every front end, each in its own words.

Every call that is announced to a front end is told one end there. It tells, and never decides.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from finalcall.attempts import AttemptStarted, expect_shown
from finalcall.block_states import (
    BLOCK_TRANSITIONS,
    EXTERNAL_INPUTS,
    SIBLING,
    BlockInput,
    BlockState,
    Why,
    advance_block,
    judge_outcome,
)
from finalcall.bridges.told import ToldCall
from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallKind,
    CallSettled,
    Event,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    ReasoningDelta,
    TextDelta,
)
from finalcall.narrow import described, expect
from finalcall.observe.redaction import redact
from finalcall.outcomes import Cause, Dispatchable, Outcome
from finalcall.results import ToolResult, as_result
from finalcall.settler import Settler
from finalcall.texts import UNNAMED, Texts, complete, line
from finalcall.tools import ToolSet, ToolsLike
from finalcall.turn import SettledTurn

Part: TypeAlias = dict[str, Any]
"""One part of a front end's stream, which `json.dumps` takes."""

SensitiveChoice: TypeAlias = Literal["mask", "send"]
"""Whether sensitive arguments are masked, or sent to the front end as they are."""

FAILURES: Final[Mapping[Cause, str]] = {
    Cause.TOKEN_CEILING: "the reply was cut short",
    Cause.SAFETY: "stopped by a safety filter",
    Cause.PAUSED: "the service paused",
    Cause.PROVIDER_ERROR: "the service failed",
    Cause.UNKNOWN_STOP: "stopped for an unknown reason",
    Cause.ENDED_EARLY: "the reply ended early",
    Cause.DISCONNECTED: "connection lost",
    Cause.IDLE: "the connection went silent",
    Cause.STALLED: "the service made no progress",
    Cause.MALFORMED: "the reply was garbled",
    Cause.LIMIT: "the reply was too large",
}
"""What is told of a message that came to no proper end and was not cancelled."""


class Bridge(ABC):
    """What all bridges do. Not made directly: see `AGUI` and `UIMessageStream`.

    One bridge tells one response to a front end: a message of the model, or all messages of an
    agent's loop or of a run, one after the other.

    Args:
        tools: What was offered, with its display: give what the turn is given.
        texts: Texts in another language or of your own, such as `finalcall.texts.GERMAN`.
        sensitive: `"mask"` sends nothing of the arguments of a tool with sensitive ones while they
            are written, and masks those values at the end. `"send"` sends all, for front ends that
            run such tools themselves.

    Raises:
        TypeError: `sensitive` is no string.
        ValueError: It is neither of the two; a text is for nothing that is ever told; or a tool's
            schema is bad.
    """

    def __init__(
        self,
        *,
        tools: ToolsLike | None,
        texts: Texts | None = None,
        sensitive: SensitiveChoice = "mask",
    ) -> None:
        _check_choice(sensitive)
        self._tools = ToolSet.of(tools)
        self._texts = complete(texts or {})
        self._sensitive: SensitiveChoice = sensitive
        self._told: list[ToldCall] = []
        self._current: dict[str | ExternalCall, ToldCall] = {}
        self._ids: set[str] = set()
        self._begun = False
        self._over = False
        self._between_messages = True
        self._messages = 0
        self._speech: tuple[type[TextDelta | ReasoningDelta], int] | None = None
        self._speeches = 0

    # What the caller says

    def feed(self, event: Event | AttemptStarted) -> list[Part]:
        """Tell the next event of a turn or a run.

        Args:
            event: Whatever the turn or the run yields.

        Returns:
            The parts to send, in order; often none. None at all after the end.

        Raises:
            TypeError: It is something else. Nothing was told.
        """
        expect_shown(event)
        if self._over:
            return []
        return [*self._begin(), *self._tell(event)]

    def result(self, outcome: Dispatchable, value: Any) -> list[Part]:
        """Tell what a call gave back, where your server ran it; without one, the front end runs it.

        Args:
            outcome: The call.
            value: As for `turn.history`. Of an exception, and of a `ToolResult` that is an error,
                the front end is told only that the call failed.

        Raises:
            ValueError: The front end was not told that the call may run, or knows its result.
            TypeError: The call is no `Dispatchable`, or the value is nothing JSON can hold.
        """
        if not isinstance(cast("object", outcome), Dispatchable):
            raise TypeError(
                f"the call of a result is {described(outcome)}; expected a Dispatchable of "
                "turn.outcomes, and then what its tool gave"
            )
        told = self._current.get(outcome.key)
        if told is None or not told.answerable or self._over:
            raise ValueError(
                f"the call {outcome.key!r} awaits no result here; expected one that was fed as "
                "settled, without a result so far, before the end"
            )
        result = as_result(value)
        told.answerable = False
        if result.is_error:
            return self._failed(told, BlockState.FAILED)
        return self._succeeded(told, value.content if isinstance(value, ToolResult) else value)

    def end(self, turn: SettledTurn | Settler) -> list[Part]:
        """Tell the end, after which nothing more is told. A second time tells nothing.

        Calls whose end was not fed, because the loop was left, are told theirs.

        Args:
            turn: The last turn, which says how it ended. One that has not ended is cancelled.

        Raises:
            TypeError: It is something else. Nothing was told.
        """
        expect(
            turn,
            (SettledTurn, Settler),
            "the last turn",
            "a Turn, an AsyncTurn or a Settler (of a run, run.result.turn)",
        )
        if self._over:
            return []
        parts = [*self._begin(), *self._hush()]
        settled = {} if turn.ending is None else {one.key: one for one in turn.outcomes}
        for told in self._told:
            if isinstance(told.call, ExternalCall):
                parts += self._end_external(told, ExternalState.UNKNOWN)
            elif self._current[told.call.key] is told:
                parts += self._settle(told, settled.get(told.call.key))
            else:  # of an earlier message, which was left
                parts += self._settle(told, None)
        self._over = True
        return [*parts, *self._closing(turn)]

    # What happens

    def _begin(self) -> list[Part]:
        if self._begun:
            return []
        self._begun = True
        return self._opening()

    def _tell(self, event: Event | AttemptStarted) -> list[Part]:
        match event:
            case TextDelta(text, choice) | ReasoningDelta(text, choice):
                return [*self._message(), *self._speak(type(event), choice, text)]
            case CallAnnounced(call):
                told = self._call(call)
                return [*self._message(), *self._announce_if(told, self._is_named(call))]
            case ArgumentsDelta(call, text):
                return self._write(self._call(call), text)
            case ArgumentsRestated(call, text):
                told = self._call(call)
                told.held.clear()
                told.restated = True
                return []
            case CallSettled(call, outcome):
                return self._settle(self._call(call), outcome)
            case ExternalCallChanged(external):
                return self._follow(external)
            case MessageStopped():
                return self._pause()
            case AttemptStarted():
                return [*self._pause(), *self._retract()]
            case _:
                return []

    def _pause(self) -> list[Part]:
        """A message is over; what comes next but its calls' ends belongs to another one."""
        self._between_messages = True
        return self._hush()

    def _retract(self) -> list[Part]:
        """Another attempt begins: what may have run and did not is made again, or is left out."""
        left = [told for told in self._told if told.answerable]
        for told in left:
            told.answerable = False
        return [part for told in left for part in self._failed(told, BlockState.NOT_RUN, SIBLING)]

    def _message(self) -> list[Part]:
        """Something of a message's content comes: begin the message, if it is a new one."""
        if not self._between_messages:
            return []
        self._between_messages = False
        self._messages += 1
        return self._next_message()

    def _speak(self, kind: type[TextDelta | ReasoningDelta], choice: int, text: str) -> list[Part]:
        if self._speech == (kind, choice):
            return self._say(kind, text)
        parts = self._hush()
        self._speech = (kind, choice)
        self._speeches += 1
        return [*parts, *self._open_speech(kind), *self._say(kind, text)]

    def _hush(self) -> list[Part]:
        """Close the text or reasoning that is open."""
        speech, self._speech = self._speech, None
        return [] if speech is None else self._close_speech(speech[0])

    # Calls

    def _call(self, call: Call) -> ToldCall:
        """What was told of a call: keys come again in later messages."""
        known = self._current.get(call.key)
        if known is None or known.call is not call:
            known = self._remember(call.key, call, call.call_id or call.key)
        return known

    def _remember(
        self, key: str | ExternalCall, call: Call | ExternalCall, wanted: str
    ) -> ToldCall:
        made = self._current[key] = ToldCall(call, self._unused(wanted))
        self._told.append(made)
        return made

    def _unused(self, wanted: str) -> str:
        """An id that no other call of the stream has."""
        found, number = wanted, 1
        while found in self._ids:
            number += 1
            found = f"{wanted}-{number}"
        self._ids.add(found)
        return found

    def _is_named(self, call: Call) -> bool:
        """Whether the name has surely arrived: some services send it in pieces."""
        return bool(call.name) and (self._tools is None or call.name in self._tools)

    def _announce_if(self, told: ToldCall, known: bool) -> list[Part]:
        if told.announced or not known:
            return []
        told.announced = True
        parts = [*self._hush(), *self._announce(told, self._name(told))]
        held = "".join(told.held)
        told.held.clear()
        return [*parts, *self._write(told, held)] if held else parts

    def _write(self, told: ToldCall, text: str) -> list[Part]:
        """The next piece of argument text, sent where nothing in it can be sensitive."""
        call = told.call
        assert isinstance(call, Call)
        if not told.announced:
            told.held.append(text)
            return self._announce_if(told, bool(call.name))
        if told.restated or not self._may_send(call):
            return []
        told.sent = True
        return [self._piece(told, text)]

    def _may_send(self, call: Call) -> bool:
        if call.kind is CallKind.CUSTOM:  # free text, where front ends expect JSON
            return False
        if self._tools is None or self._sensitive == "send":
            return True
        tool = self._tools.get(call.name)
        return tool is not None and not tool.sensitive

    def _settle(self, told: ToldCall, outcome: Outcome | None) -> list[Part]:
        """Tell the one end of a call; without an outcome it is cancelled."""
        if told.ended:
            return []
        parts = self._announce_if(told, known=True)
        told.ended = True
        if isinstance(outcome, Dispatchable):
            told.answerable = True
            return [*parts, *self._available(told, outcome.name, self._input(outcome))]
        given, why = (BlockInput.CANCELLED, None) if outcome is None else judge_outcome(outcome)
        state = BLOCK_TRANSITIONS[BlockState.PREPARING][given]
        return [*parts, *self._refused(told, state, why)]

    def _input(self, outcome: Dispatchable) -> Any:
        """A call's arguments as the front end may see them."""
        tool = None if self._tools is None else self._tools.get(outcome.name)
        if tool is None or not tool.sensitive or self._sensitive == "send":
            return outcome.args
        return json.loads(redact(json.dumps(outcome.args), tool.sensitive))

    def _follow(self, external: ExternalCall) -> list[Part]:
        """A call that somebody else runs: announced when it is first heard of, ended with it."""
        told, parts = self._current.get(external), list[Part]()
        if told is None:
            told = self._remember(external, external, external.call_id or "external")
            parts = [*self._message(), *self._announce_if(told, known=True)]
        return [*parts, *self._end_external(told, external.state)]

    def _end_external(self, told: ToldCall, reached: ExternalState) -> list[Part]:
        given = EXTERNAL_INPUTS[reached]
        if given is None or told.ended:
            return []
        told.ended = True
        state = advance_block(BlockState.RUNNING, given)
        if state is BlockState.DONE:
            return self._ran(told)
        return self._failed(told, state)

    # Texts

    def _name(self, told: ToldCall) -> str:
        return told.call.name or self._texts[UNNAMED]

    def _line(self, told: ToldCall, state: BlockState, why: Why | None = None) -> str:
        """The line that a block of the call would show."""
        tool = None if self._tools is None or told.external else self._tools.get(told.call.name)
        return line(state, why, told.call.name if tool is None else tool.label, self._texts)

    # What each front end calls it

    @abstractmethod
    def _opening(self) -> list[Part]:
        """The response begins."""

    @abstractmethod
    def _next_message(self) -> list[Part]:
        """A message of the model begins; `_messages` counts it."""

    @abstractmethod
    def _open_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        """Text or reasoning begins; `_speeches` counts it."""

    @abstractmethod
    def _say(self, kind: type[TextDelta | ReasoningDelta], text: str) -> list[Part]:
        """The next piece of it."""

    @abstractmethod
    def _close_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        """It is over."""

    @abstractmethod
    def _announce(self, told: ToldCall, name: str) -> list[Part]:
        """A call exists."""

    @abstractmethod
    def _piece(self, told: ToldCall, text: str) -> Part:
        """The next piece of its argument text."""

    @abstractmethod
    def _available(self, told: ToldCall, name: str, arguments: Any) -> list[Part]:
        """It is proved whole and may run."""

    @abstractmethod
    def _refused(self, told: ToldCall, state: BlockState, why: Why | None) -> list[Part]:
        """It did not run and never will."""

    @abstractmethod
    def _ran(self, told: ToldCall) -> list[Part]:
        """Somebody else ran it."""

    @abstractmethod
    def _succeeded(self, told: ToldCall, value: Any) -> list[Part]:
        """Your server ran it."""

    @abstractmethod
    def _failed(self, told: ToldCall, state: BlockState, why: Why | None = None) -> list[Part]:
        """It ran and failed, nobody saw its end, or it will not run after all."""

    @abstractmethod
    def _closing(self, turn: SettledTurn | Settler) -> list[Part]:
        """The response is over."""


def _check_choice(sensitive: object) -> None:
    choices = get_args(SensitiveChoice)
    expected = " or ".join(map(repr, choices))
    expect(
        sensitive,
        str,
        "sensitive=",
        f"{expected}; which arguments are sensitive is said where the tools are, as in "
        "ToolSet(tools, display={name: Display(sensitive=...)})",
    )
    if sensitive not in choices:
        raise ValueError(f"sensitive={sensitive!r}; expected {expected}")
