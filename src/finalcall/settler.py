"""The whole of a turn without I/O and without a clock: feed it, end it, read the outcomes.

For people with their own loop. It recognises the provider, applies events, watches limits, and
settles every call exactly once, in the call that ends the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast, final

from finalcall.beginning import provider_of
from finalcall.clock import Clock
from finalcall.consecutive import Consecutive, expected_after
from finalcall.ending import Ending, cause_of_end
from finalcall.errors import StreamIdle
from finalcall.events import (
    Anomaly,
    ArgumentsDelta,
    CallAnnounced,
    CallSettled,
    Event,
    ExternalCallChanged,
    ExternalState,
    Other,
    PreviewChanged,
    ReasoningDelta,
    StreamFault,
    StreamQuiet,
    TextDelta,
)
from finalcall.finalizing import TruncationPolicy, UnconfirmedPolicy
from finalcall.idle import AFTER_STOP, ALARM_CAUSES, DEFAULT_IDLE, Alarm, Clocks, Idle, Phase
from finalcall.limits import DEFAULT_LIMITS, Limits
from finalcall.listeners import WARNING, log
from finalcall.message import Choices, Message
from finalcall.narrow import expect
from finalcall.observation import BORDERS, Observation
from finalcall.option_checks import check_options
from finalcall.options import OnSettled
from finalcall.outcomes import Cause
from finalcall.previews import PreviewFactory
from finalcall.providers import provider_named
from finalcall.providers.base import Context
from finalcall.providers.native import size_of
from finalcall.shown import Shown
from finalcall.stop_reasons import Verdict
from finalcall.tools import ToolSet, ToolsLike
from finalcall.wire.undecodable import Undecodable
from finalcall.wire.unwrapping import unwrapped

if TYPE_CHECKING:
    from finalcall.blocks import Blocks

_BYTES: Final = (bytes, bytearray, memoryview)
_DELTAS: Final = frozenset({ArgumentsDelta, TextDelta, ReasoningDelta})
"""Events whose text is nearly all that their native event holds. The message counts it."""

_FAULTS: Final = frozenset({Cause.PROVIDER_ERROR, Cause.MALFORMED})
"""Endings that void a good stop reason: the provider, or the stream itself, said that it failed."""


@final
class Settler(Shown):
    """One message of a model, from native events or bytes to outcomes.

    Args:
        provider: A provider's name; `None` recognises it from the first event.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        ceiling: The request's output token limit, where known: usage that reaches it means
            truncated, whatever the service says.
        truncation: `"last"` trusts, at a token ceiling only, the finished calls before the last.
        unconfirmed: `"dispatch"` lets finished calls go on after a clean end without a stop
            reason, for services that never send one.
        choices: `"all"` settles every choice, not only the first.
        stop_reasons: Your own words for stop reasons: `{"my_word": Verdict.COMPLETE}`.
        limits: Bounds on the message.
        idle_timeout: Seconds between events, an `Idle`, or `None` for no limit.
        after_stop: Seconds of silence after a stop reason that end the message.
        on_settled: Called exactly once a call, whatever ends the turn. What it raises is logged
            (by the type alone): every other call is still reported.
        preview: `finalcall.preview.Preview` to get a `PreviewChanged` after every piece of
            arguments, for screens; `None` costs nothing.
        blocks: What people see of the calls, with texts of your own. It is told of everything,
            whatever ends the turn. Left out, it is made when `blocks` is first asked for.

    Attributes:
        tools: The tools as a `ToolSet`, or `None`.
        clocks: The idle clocks, for loops that wait by themselves.

    Raises:
        TypeError: An option is of the wrong type; the text says what was expected.
        ValueError: An option is nothing that there is, or a tool's schema is bad.
    """

    def __init__(
        self,
        provider: str | None = None,
        *,
        tools: ToolsLike | None,
        ceiling: int | None = None,
        truncation: TruncationPolicy = "all",
        unconfirmed: UnconfirmedPolicy = "fail",
        choices: Choices = "first",
        stop_reasons: Mapping[str, Verdict] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        idle_timeout: float | Idle | None = DEFAULT_IDLE,
        after_stop: float = AFTER_STOP,
        on_settled: OnSettled | None = None,
        preview: PreviewFactory | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        check_options(
            {
                "ceiling": ceiling,
                "truncation": truncation,
                "unconfirmed": unconfirmed,
                "choices": choices,
                "stop_reasons": stop_reasons,
                "limits": limits,
                "after_stop": after_stop,
                "on_settled": on_settled,
                "preview": preview,
                "blocks": blocks,
            }
        )
        known_tools = ToolSet.of(tools)
        self._context = Context.of(known_tools, stop_reasons or {})
        named = None if provider is None else provider_named(provider)
        super().__init__(
            Message(limits, choices),
            None if named is None else named.normaliser(self._context),
            ceiling,
            tools=known_tools,
            preview=preview,
            blocks=blocks,
        )
        self._consecutive: Consecutive | None = None
        self._truncation: TruncationPolicy = truncation
        self._unconfirmed = unconfirmed
        self.clocks: Clocks = Clocks(Idle.of(idle_timeout), after_stop, self.stats.gaps)
        self._on_settled = on_settled
        self._observation = Observation(self, self.clocks, self._stats.gaps)
        self._timeline = self._observation.timeline

    # Feeding

    def feed(self, native: Any, now: float | None = None) -> list[Event]:
        """Apply one native event, or a chunk of the provider's bytes.

        Args:
            native: An SDK object, a dict, the string `"[DONE]"`, or bytes cut anywhere.
            now: The time, for the idle clocks; leave it out if you keep time yourself.

        Returns:
            What happened, in order. Where it ended the message, the `CallSettled` of every call
            comes last. Empty after the end.

        Raises:
            UnrecognisedStream: The first event is no known provider's, or is text.
            RefusedStream: It is of a stream whose calls an SDK runs itself.
        """
        if now is None:
            if isinstance(native, _BYTES):
                return self._tell_late() + self._feed(native, None)
            return [*self.feed_all((native,))]
        self.clocks.pause(now)
        self.clocks.quiet_for = None  # a caller that keeps time was told by `tick`
        return [*self.feed_all((native,), lambda: now)]

    def feed_all(self, natives: Iterable[Any], clock: Clock | None = None) -> Iterator[Event]:
        """Apply native events as they come, until the message is over.

        The same as `feed` for each of them until then, and faster.

        Args:
            natives: The native events. What iterating them raises goes on, and no more is lost
                than that: other events may follow.
            clock: Tells the time, for the idle clocks: whoever iterates `natives` calls their
                `wait` before it waits and their `pause` after it. `None` if you keep time yourself.

        Yields:
            What happened, in order, and the `CallSettled` of every call last. A silence that was
            long enough for a `StreamQuiet` is told before what came after it.

        Raises what `feed` raises.
        """
        clocks = self.clocks
        for native in natives:
            if clocks.quiet_for is not None:
                yield from self._tell_late()
            pieces = self._consecutive
            if pieces is None or (text := pieces.follow(native)) is None:
                yield from self._feed(native, None if clock is None else clock())
            else:  # nearly every event: a call of a method would be seen beside a client's work
                if clocks.unsettled:
                    clocks.arrived(progress=True)
                piece = ArgumentsDelta(pieces.call, text, native)
                if len(text) > pieces.room:
                    yield from self._overfill(piece, None if clock is None else clock())
                else:
                    pieces.room -= len(text)
                    pieces.count += 1
                    pieces.write(text)
                    if pieces.preview is None:
                        yield piece
                    else:
                        pieces.preview.feed(text)
                        yield piece
                        yield PreviewChanged(pieces.call, pieces.preview)
            if self.ending is not None:  # by this event, or by whoever was given one
                return

    def _feed(self, native: Any, now: float | None) -> list[Event]:
        """Take one native event, or a chunk of bytes, the long way, which knows every case."""
        if now is not None:
            self._timeline.now = now
        native = unwrapped(native, begun=self._normaliser is not None)
        if self.ending is not None:
            self._note_late(native)
            return []
        if isinstance(native, _BYTES):
            events = self._feed_bytes(bytes(cast("bytes", native)))
        else:
            events = self._apply(native)
        if now is not None:
            self._note_arrival(events)
        return events

    def _tell_late(self) -> list[Event]:
        """A silence that was over before anybody could tell of it."""
        seconds, self.clocks.quiet_for = self.clocks.quiet_for, None
        if seconds is None or self.ending is not None:
            return []
        told: list[Event] = [StreamQuiet(seconds)]
        self._tell(told)
        return told

    def _feed_bytes(self, data: bytes) -> list[Event]:
        if self._decoder is None:
            from finalcall.wire.decoder import Decoder  # most turns are of an SDK's objects

            self._decoder = Decoder(max_event_bytes=self._message.limits.event)
        natives = iter(self._decoder.feed(data))
        events = list(self.feed_all(natives))
        for late in natives:
            self._note_late(late)
        return events

    def _note_arrival(self, events: list[Event]) -> None:
        """Set the clocks by what came: it moved the output unless all of it says nothing."""
        self.clocks.arrived(progress=any(type(event) is not Other for event in events))
        if self._timeline.moved:
            self._timeline.mark()
        self.clocks.phase = self._phase()

    def _overfill(self, piece: ArgumentsDelta, now: float | None) -> list[Event]:
        """Take a piece for which its call, or the whole message, has no room."""
        if now is not None:
            self._timeline.now = now
        self._catch_up()
        self._stats.events += 1
        self._message.take(piece)
        return self._conclude([piece])

    def _catch_up(self) -> None:
        """Tell everybody else of the pieces that took the short way, and end it."""
        pieces, self._consecutive = self._consecutive, None
        if pieces is not None:
            self._stats.events += pieces.count
            self._message.note(pieces.size)
            pieces.end()

    def _apply(self, native: Any) -> list[Event]:
        """Apply a native event whole, then say what happened."""
        self._catch_up()
        self._stats.events += 1
        message, normaliser = self._message, self._normaliser
        if normaliser is None or type(native) is Undecodable:
            events = self._take_all(self._begin(native))
        else:
            events = normaliser.feed(native)
            if len(events) > 1 or type(events[0]) not in _DELTAS or normaliser.kept_more:
                message.note_other(size_of(native))  # the history may keep any of it
                normaliser.kept_more = False
            if len(events) > 1 or not message.take(events[0]):
                events = self._take_all(events)
            elif type(events[0]) is ArgumentsDelta:
                if self._blocks is None:  # blocks are told of every piece, one by one
                    self._consecutive = expected_after(
                        events[0], normaliser, message, self._previews
                    )
            elif type(events[0]) in BORDERS:
                self._observation.border(self, events[0])
        return self._conclude(events)

    def _conclude(self, events: list[Event]) -> list[Event]:
        """Say what else events lead to: previews, a limit passed, the end of the message."""
        message, normaliser = self._message, self._normaliser
        if self._previews is not None:
            events = self._previews.beside(events)
        self._tell(events)
        if message.past_limits and not message.over:
            events.append(message.pass_limit())
        if message.over or (normaliser is not None and normaliser.ended):
            events += self._settle(self._ending_of(None, marker=not message.over))
        return events

    def _begin(self, native: Any) -> list[Event]:
        """Translate an event before which no provider is known, or one that none can read."""
        if isinstance(native, Undecodable):
            return [StreamFault(native.cause, native.code, native=native)]
        provider = provider_of(native)
        if provider is None:
            return [Other(native)]
        self._normaliser = provider.normaliser(self._context)
        return self._normaliser.feed(native)

    def _take_all(self, translated: list[Event]) -> list[Event]:
        """Apply events to the message; those of other choices only carry their native one on."""
        events: list[Event] = []
        for event in translated:
            if self._message.take(event):
                events.append(event)
                if type(event) in BORDERS:
                    self._observation.border(self, event)
            elif event.native is not None:
                events.append(Other(event.native))
        return events

    def _note_late(self, native: Any) -> None:
        """After the end: a call that is announced there is named, and never run."""
        if self._normaliser is None or isinstance(native, (*_BYTES, Undecodable)):
            return
        stranger = type(self._normaliser)(self._context)
        late = Anomaly("call_after_end")
        if late not in self._anomalies and any(
            isinstance(event, CallAnnounced) for event in stranger.feed(native)
        ):
            self._anomalies.append(late)

    # Time

    def deadline(self, now: float, *, hard: bool = False) -> float:
        """Begin to wait (or go on waiting) for the source, and say until when.

        Args:
            now: The time, on any clock whose unit is a second.
            hard: Leave `StreamQuiet` out: for a wait that cannot be interrupted without harm.

        Returns:
            When to call `tick`, on the same clock; infinity for never.
        """
        self.clocks.wait(now)
        return self.clocks.deadline(hard=hard)

    def tick(self, now: float) -> list[Event]:
        """Act on a deadline that has passed; does nothing before.

        Args:
            now: The time.

        Returns:
            A `StreamQuiet`, or the `CallSettled` of every call where a limit ended the turn.
        """
        self._timeline.now = now
        return self._tell_late() + self._act(now)

    def _act(self, now: float) -> list[Event]:
        alarm = None if self.ending is not None else self.clocks.expired(now)
        if alarm is None:
            return []
        waited = self.clocks.waited(now, alarm)
        if alarm is Alarm.QUIET:
            quiet = StreamQuiet(waited)
            self._tell([quiet])
            return [quiet]
        if alarm is Alarm.AFTER_STOP:
            return self.end()
        cause, open_calls = ALARM_CAUSES[alarm], tuple(sorted(self._message.open_calls))
        self._error = StreamIdle(cause, waited, self.stats.events, open_calls)
        return self.end(cause)

    def _phase(self) -> Phase:
        if self._message.stopped:
            return Phase.STOPPED
        return Phase.IN_CALL if self._message.open_calls else Phase.BETWEEN

    # Ending

    def _cancel(self) -> None:
        self.end(Cause.CANCELLED)

    def end(
        self,
        cause: Cause | None = None,
        exception: BaseException | None = None,
        now: float | None = None,
    ) -> list[Event]:
        """The source is over: settle every call that is still open. A second end does nothing.

        Args:
            cause: `None` for a clean end of the stream, else what cut it: `DISCONNECTED`,
                `CANCELLED`, `IDLE`, `STALLED`, or `PROVIDER_ERROR` and `MALFORMED` (raised by the
                SDK), which void a good stop reason.
            exception: What the source raised, kept in `ending`.
            now: The time, for what is recorded of the calls; see `feed`.

        Returns:
            The last events: the `CallSettled` of every call comes last.

        Raises:
            TypeError: `cause` is no `Cause`.
        """
        if cause is not None:
            what = "a Cause; an exception goes second: end(Cause.DISCONNECTED, error)"
            expect(cause, Cause, "cause=", what)
        if now is not None:
            self._timeline.now = now
        events = self._tell_late()
        if cause is None and self.ending is None:
            events += self._flush()
        return events if self.ending is not None else events + self._finish(cause, exception)

    def _flush(self) -> list[Event]:
        """What the bytes still hold; not half an event: that is what a cut looks like."""
        events: list[Event] = []
        for native in [] if self._decoder is None else self._decoder.end():
            if isinstance(native, Undecodable):
                self._unconfirmed = "fail"
            else:
                events += self.feed(native)
        return events

    def _finish(self, cause: Cause | None, exception: BaseException | None) -> list[Event]:
        normaliser = self._normaliser
        events = [] if normaliser is None else self._take_all(normaliser.end())
        if cause in _FAULTS:
            code = "" if exception is None else type(exception).__name__
            events += self._take_all([StreamFault(cause or Cause.MALFORMED, code)])
        self._tell(events)
        return events + self._settle(self._ending_of(cause, exception=exception), cause)

    def _ending_of(
        self,
        cause: Cause | None,
        *,
        marker: bool = False,
        exception: BaseException | None = None,
    ) -> Ending:
        fault, stopped = self._message.fault, self._message.stopped
        if fault is not None:
            return Ending(fault.cause, marker, exception, fault.code)
        return Ending(cause_of_end(cause, stopped=stopped), marker, exception)

    def _settle(self, ending: Ending, cut: Cause | None = None) -> list[Event]:
        if self.ending is not None:  # whoever was told of the last events has ended it
            return []
        self._catch_up()
        self.ending: Ending | None = ending  # now, so that nobody who is asked ends it again
        message = self._message
        try:
            settled = message.settle(
                tools=self.tools,
                truncation=self._truncation,
                unconfirmed=self._unconfirmed,
                cause=ending.cause or cut or Cause.ENDED_EARLY,
                at_ceiling=self._at_ceiling(),
            )
        except BaseException:
            self.ending = None  # nothing is settled: it can still be ended
            raise
        self._outcomes = [outcome for _, outcome in settled]
        self._stats.other_choices = len(message.other_choices)
        self._close_accounts()
        lost = [one for one in self.external_calls if one.state is ExternalState.RUNNING]
        for external in lost:
            external.state = ExternalState.UNKNOWN
        events = [CallSettled(call, outcome) for call, outcome in settled]
        told: list[Event] = [*map(ExternalCallChanged, lost), *events]
        self._tell(told)
        for event in events:
            self._report(event)
        self._observation.end(self, message, self._outcomes)
        return told

    def _report(self, event: CallSettled) -> None:
        if self._on_settled is None:
            return
        try:
            self._on_settled(event)
        except Exception as error:  # a handler of the user's must not keep other calls unreported
            log(
                WARNING,
                "on_settled raised %s for the call %s; the call is settled all the same: look at "
                "turn.outcomes",
                type(error).__name__,
                event.call.key,
            )
