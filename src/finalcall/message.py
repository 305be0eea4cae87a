"""The calls of one message, choice by choice: which events count, what is open, what bounds it.

It knows no provider and no clock; it says what has happened, `finalize` says what it means.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, final

from finalcall.accumulator import Accumulator, Buffer
from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallWithdrawn,
    Event,
    MessageStopped,
    ReasoningDelta,
    StreamFault,
    TextDelta,
)
from finalcall.finalizing import TruncationPolicy, UnconfirmedPolicy, finalize
from finalcall.limits import Limits
from finalcall.outcomes import Cause, Outcome
from finalcall.stop_reasons import StopReason, Verdict, worst
from finalcall.tools import ToolSet

Choices: TypeAlias = Literal["first", "all"]
"""Which choices (or candidates) of a message are settled."""


@final
class Message:
    """The calls of one message.

    Args:
        limits: Bounds on it.
        choices: `"first"` takes the choice that is seen first; others are only counted.

    Attributes:
        limits: Bounds on it.
        fault: The first fault of the stream, or `None`.
        over: A fault ended the message.
        past_limits: It has grown past its limits: `pass_limit` ends it.
        other_choices: The choices that were seen and not taken.
        reasons_disagree: Stop reasons of different verdicts were seen.
        open_calls: The keys of calls that have not got their own end.
    """

    def __init__(self, limits: Limits, choices: Choices) -> None:
        self.fault: StreamFault | None = None
        self.over: bool = False
        self.past_limits: bool = False
        self.other_choices: set[int] = set()
        self.reasons_disagree: bool = False
        self.open_calls: set[str] = set()
        self.limits: Final = limits
        self._choices: Choices = choices
        self._accumulators: dict[int, Accumulator] = {}
        self._of_call: dict[str, Accumulator] = {}
        self._buffers: dict[str, Buffer] = {}
        self._size = 0
        self._other = 0

    def take(self, event: Event) -> bool:
        """Apply an event.

        Returns:
            Whether the event is of a choice that this message settles.
        """
        if isinstance(event, ArgumentsDelta):
            # The one event that comes thousands of times goes to its buffer straight.
            buffer = self._buffers.get(event.call.key)
            if buffer is None:
                return False
            buffer.append(event.text)
            self.note(len(event.text))
            return True
        if isinstance(event, TextDelta) or isinstance(event, ReasoningDelta):  # noqa: SIM101 - a union is slow to ask
            self.note(len(event.text))
            return event.choice in self._accumulators or self._accumulator(event.choice) is not None
        return self._take_rare(event)

    @property
    def room(self) -> int:
        """Characters that it may still hold."""
        return self.limits.message - self._size

    def note(self, size: int) -> None:
        """Be told of characters that it holds."""
        self._size += size
        if self._size > self.limits.message:
            self.past_limits = True

    def note_other(self, size: int) -> None:
        """Be told of characters that came in an event without text, reasoning or arguments."""
        self._other += size
        if self._other > self.limits.other:
            self.past_limits = True

    def _take_rare(self, event: Event) -> bool:
        if isinstance(event, ArgumentsRestated):
            self.note(len(event.text))
            return self._feed_call(event.call, event)
        if isinstance(event, CallAnnounced):
            return self._announce(event)
        if isinstance(event, CallCompleted | CallWithdrawn):
            self.open_calls.discard(event.call.key)
            return self._feed_call(event.call, event)
        if isinstance(event, MessageStopped):
            return self._stop(event)
        if isinstance(event, StreamFault):
            self._fail(event)
        return True

    def pass_limit(self) -> StreamFault:
        """End a message that has grown past its limits."""
        past = "calls"
        if self._size > self.limits.message:
            past = "message"
        elif self._other > self.limits.other:
            past = "other"
        fault = StreamFault(Cause.LIMIT, f"{past}_limit")
        self._fail(fault)
        return fault

    def _accumulator(self, choice: int) -> Accumulator | None:
        known = self._accumulators.get(choice)
        if known is None:
            if self._choices == "first" and self._accumulators:
                self.other_choices.add(choice)
                self.past_limits = self.past_limits or len(self.other_choices) > self.limits.calls
                return None
            known = self._accumulators[choice] = Accumulator(limits=self.limits)
        return known

    def _feed_call(self, call: Call, event: Event) -> bool:
        accumulator = self._of_call.get(call.key)
        if accumulator is None:
            return False
        accumulator.feed(event)
        return True

    def _announce(self, event: CallAnnounced) -> bool:
        accumulator = self._accumulator(event.call.choice)
        if accumulator is None:
            return False
        accumulator.feed(event)
        key = event.call.key
        if key not in self._buffers:
            self._of_call[key] = accumulator
            self._buffers[key] = accumulator.announced_as(key)
            self.open_calls.add(key)
            self.past_limits = self.past_limits or len(self._buffers) > self.limits.calls
        return True

    def _stop(self, event: MessageStopped) -> bool:
        accumulator = self._accumulator(event.choice)
        if accumulator is None:
            return False
        before = accumulator.reported
        if before is not None and before.verdict is not event.stop_reason.verdict:
            self.reasons_disagree = True
        accumulator.feed(event)
        return True

    def _fail(self, event: StreamFault) -> None:
        if not self._accumulators:
            self._accumulator(0)
        for accumulator in self._accumulators.values():
            accumulator.feed(event)
        self.fault = self.fault or event
        self.over = self.over or event.ends

    @property
    def announced(self) -> int:
        """How many calls were announced."""
        return len(self._buffers)

    @property
    def begun(self) -> bool:
        """Text, reasoning, a call, a stop reason or a fault has come."""
        return bool(self._accumulators)

    @property
    def stopped(self) -> bool:
        """Every choice has its stop reason."""
        accumulators = self._accumulators.values()
        return bool(accumulators) and all(one.reported is not None for one in accumulators)

    @property
    def stop_reason(self) -> StopReason | None:
        """The worst stop reason of the choices; none if a fault voids a good one."""
        found: StopReason | None = None
        for accumulator in self._accumulators.values():
            found = worst(found, accumulator.stop_reason)
        return found

    @property
    def calls(self) -> list[Call]:
        """The announced calls, in order."""
        return [buffer.call for buffer in self._buffers.values()]

    def buffer(self, key: str) -> Buffer | None:
        """A call's buffer by its key."""
        return self._buffers.get(key)

    def settle(
        self,
        *,
        tools: ToolSet | None,
        truncation: TruncationPolicy,
        unconfirmed: UnconfirmedPolicy,
        cause: Cause,
        at_ceiling: bool,
    ) -> list[tuple[Call, Outcome]]:
        """Settle every call of every choice.

        Args:
            tools: What was offered.
            truncation: See `finalize`.
            unconfirmed: See `finalize`.
            cause: How the stream ended.
            at_ceiling: The usage report reached the request's ceiling.
        """
        settled: list[tuple[Call, Outcome]] = []
        for accumulator in self._accumulators.values():
            outcomes = finalize(
                accumulator,
                at_least_truncated(accumulator.stop_reason, at_ceiling),
                tools=tools,
                truncation=truncation,
                # Usage at the ceiling says that something was cut, even where nothing else does.
                unconfirmed="fail" if at_ceiling else unconfirmed,
                cause=cause,
            )
            calls = (buffer.call for buffer in accumulator.announced)
            settled += zip(calls, outcomes, strict=True)
        return settled


def at_least_truncated(stop_reason: StopReason | None, at_ceiling: bool) -> StopReason | None:
    """A stop reason that the usage report contradicts: some services relabel a cut message."""
    if stop_reason is None or not at_ceiling:
        return stop_reason
    return worst(stop_reason, StopReason(stop_reason.raw, Verdict.TRUNCATED))
