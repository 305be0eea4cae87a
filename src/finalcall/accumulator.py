"""Keeps one buffer a call: what was announced, what arrived, which stop reason covers it.

It applies events and answers questions; it neither parses nor judges.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import final

from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallKind,
    CallWithdrawn,
    Event,
    MessageStopped,
    StreamFault,
)
from finalcall.lifecycle import Input, State, advance
from finalcall.limits import DEFAULT_LIMITS, Limits
from finalcall.outcomes import Cause
from finalcall.stop_reasons import StopReason, Verdict, worst


@final
class Buffer:
    """One call's argument text, and what the stream said about the call.

    Attributes:
        call: Who the call is.
        given: Input that came with the announcement, as JSON text.
        state: ANNOUNCED, ACCUMULATING or FINISHED: outcomes are not written back here.
        fragments: Non-empty pieces received.
        size: Characters received, those over the limit included.
        overflowed: The text passed `Limits.arguments`; what came after was dropped.
        covered: A stop reason came with or after the announcement.
        withdrawn: The provider went back on the call.
        fixed: The call's end restated the whole text: later pieces are stale.
    """

    __slots__ = (
        "_limit",
        "_replay",
        "_replay_given",
        "_text",
        "call",
        "covered",
        "fixed",
        "fragments",
        "given",
        "overflowed",
        "size",
        "state",
        "withdrawn",
    )

    def __init__(self, call: Call, given: str, limit: int) -> None:
        self.call: Call = call
        self.given: str = given
        self.state: State = State.ANNOUNCED
        self.fragments: int = 0
        self.size: int = 0
        self.overflowed: bool = False
        self.covered: bool = False
        self.fixed: bool = False
        self.withdrawn: bool = False
        self._limit = limit
        # Grows in place at C speed on every Python; a str attribute would be copied a piece.
        self._text = io.StringIO(newline="\n")
        self._replay: io.StringIO | None = None
        self._replay_given = ""

    @property
    def call_id(self) -> str | None:
        """The provider's id, or `None`."""
        return self.call.call_id

    @property
    def name(self) -> str | None:
        """The tool's name, or `None`."""
        return self.call.name

    @property
    def kind(self) -> CallKind:
        """Whether the arguments are JSON or free text."""
        return self.call.kind

    @property
    def raw(self) -> str:
        """The text so far. Costs a copy: read it when it is needed, not at every piece."""
        return self._text.getvalue()

    @property
    def arguments(self) -> str:
        """The text that counts: what arrived, else the input given at the announcement."""
        raw = self.raw
        return self.given if not raw or raw.isspace() else raw

    @property
    def empty(self) -> bool:
        """Nothing says what the arguments are: no text and no input, or an object of no members."""
        text = self.arguments.strip()
        if self.kind is not CallKind.CUSTOM and text.startswith("{") and text.endswith("}"):
            text = text[1:-1].strip()
        return not self.overflowed and not text

    @property
    def replay(self) -> str | None:
        """The text of the call's replay, or the input that came with it; `None` without one."""
        return None if self._replay is None else self._replay.getvalue() or self._replay_given

    @property
    def replay_differs(self) -> bool:
        """A replay of the call came, and its text is not the first one."""
        return self.replay not in (None, self.arguments)

    @property
    def told_by_input(self) -> bool:
        """The call or its replay is told by input that was given, not by a text of its own."""
        raw = self.raw
        given = not raw or raw.isspace()
        return given or (self._replay is not None and not self._replay.tell())

    def append(self, text: str) -> None:
        """Add a piece, or match it if the call is being replayed. A stale piece is dropped."""
        if self._replay is not None:
            if self._replay.tell() + len(text) > self._limit:
                self.overflowed = True
                return
            self._replay.write(text)
            return
        if self.fixed:
            return
        self.size += len(text)
        if self.size > self._limit:
            self.overflowed = True
            return
        if text:
            self.fragments += 1
            self._text.write(text)
            self.state = advance(self.state, Input.DELTA)

    @property
    def only_writes(self) -> bool:
        """Whether the next pieces are only written: nothing is compared, dropped or cut."""
        return self._replay is None and not self.fixed and not self.overflowed

    @property
    def room(self) -> int:
        """Characters that it may still hold."""
        return self._limit - self.size

    @property
    def write(self) -> Callable[[str], int]:
        """Writes a piece, and nothing more: for a run of them, of which `note` is told after."""
        return self._text.write

    def note(self, pieces: int, size: int) -> None:
        """Be told of pieces that were written.

        Args:
            pieces: How many, none of them empty.
            size: Their characters.
        """
        if pieces:
            self.fragments += pieces
            self.size += size
            self.state = advance(self.state, Input.DELTA)

    def restate(self, text: str) -> None:
        """Replace the text by the one the provider states as the whole."""
        if self._replay is not None or self.fixed or self.covered:
            # Already whole, or stopped: a second whole text is compared with the first.
            self._replay = io.StringIO(newline="\n")
            self._replay.write(text[: self._limit + 1])
            return
        self._text = io.StringIO(newline="\n")
        self.size = 0
        self.overflowed = False
        self.append(text)

    def announce_again(self, given: str) -> None:
        """Take a second announcement: what follows is compared with what is there."""
        if self.size or self.given or self.state is State.FINISHED:
            self._replay = io.StringIO(newline="\n")
            self._replay_given = given
        else:
            self.given = given

    def __repr__(self) -> str:
        return f"Buffer({self.call!r}, state={self.state.value!r}, size={self.size})"


@final
class Accumulator:
    """The calls of one message.

    Args:
        limits: Bounds on each call's text.
    """

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._buffers: dict[str, Buffer] = {}
        self.reported: StopReason | None = None
        """The worst stop reason received, before faults are taken into account."""
        self.fault: Cause | None = None
        """The cause of the first fault the stream reported, which voids a good stop reason."""

    def feed(self, event: Event) -> None:
        """Apply one event; events about other things are ignored. Never raises.

        Args:
            event: An event of this message, in the stream's order.
        """
        if isinstance(event, ArgumentsDelta):
            buffer = self._buffers.get(event.call.key)
            if buffer is not None:
                buffer.append(event.text)
        else:
            self._feed_rare(event)

    def _feed_rare(self, event: Event) -> None:
        match event:
            case CallAnnounced(call, given):
                known = self._buffers.get(call.key)
                if known is None:
                    self._buffers[call.key] = Buffer(call, given, self.limits.arguments)
                else:
                    known.announce_again(given)
            case ArgumentsRestated(call, text):
                if call.key in self._buffers:
                    self._buffers[call.key].restate(text)
            case CallCompleted(call, whole):
                if call.key in self._buffers:
                    buffer = self._buffers[call.key]
                    buffer.state = advance(buffer.state, Input.COMPLETED)
                    buffer.fixed = buffer.fixed or whole
            case CallWithdrawn(call):
                if call.key in self._buffers:
                    self._buffers[call.key].withdrawn = True
            case MessageStopped(stop_reason):
                self.reported = worst(self.reported, stop_reason)
                for buffer in self._buffers.values():
                    buffer.covered = True
            case StreamFault(cause):
                self.fault = self.fault or cause
            case _:
                pass

    @property
    def stop_reason(self) -> StopReason | None:
        """The message's stop reason: the worst received, none if a fault voids a good one."""
        if self.fault and self.reported and self.reported.verdict is Verdict.COMPLETE:
            return None
        return self.reported

    @property
    def announced(self) -> list[Buffer]:
        """Every announced call, in order of announcement."""
        return list(self._buffers.values())

    @property
    def completed(self) -> list[Buffer]:
        """The calls that got their own end."""
        return [buffer for buffer in self._buffers.values() if buffer.state is State.FINISHED]

    def live_buffers(self) -> list[Buffer]:
        """The calls that were announced and never got their own end."""
        return [buffer for buffer in self._buffers.values() if buffer.state is not State.FINISHED]

    def announced_as(self, key: str) -> Buffer:
        """The buffer of an announced call.

        Raises:
            KeyError: No call of that key was announced.
        """
        return self._buffers[key]
