"""What a provider's normaliser is, and the bookkeeping that all of them share.

A normaliser translates native events and remembers what must be echoed. It never parses argument
text to decide anything and never judges a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, final

from finalcall.events import (
    Anomaly,
    AnomalyName,
    ArgumentsDelta,
    Call,
    CallAnnounced,
    CallIdentity,
    CallKind,
    Event,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    Other,
    StreamFault,
)
from finalcall.outcomes import Cause
from finalcall.providers.reported import error_code, error_in
from finalcall.results import ToolResult
from finalcall.stop_reasons import StopReason, Verdict
from finalcall.tools import ToolSet
from finalcall.usage import Usage


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a normaliser may know beyond the stream.

    Attributes:
        tool_names: The names on offer, or `None` where they are unknown.
        custom_names: Those of them that take free text.
        stop_reasons: The caller's own words for stop reasons, before the provider's table.
    """

    tool_names: frozenset[str] | None = None
    custom_names: frozenset[str] = frozenset()
    stop_reasons: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])

    @classmethod
    def of(cls, tools: ToolSet | None, stop_reasons: Mapping[str, object]) -> Context:
        """What there is to know where these tools are offered; `None` says nothing of them.

        Raises:
            TypeError: A stop reason is given what is no verdict.
        """
        verdicts: dict[str, Verdict] = {}
        for word, verdict in stop_reasons.items():
            if not isinstance(verdict, Verdict):
                raise TypeError(
                    f"the stop reason {word!r} has the verdict {verdict!r}; expected one of "
                    f"{', '.join(f'Verdict.{known.name}' for known in Verdict)}"
                )
            verdicts[word] = verdict
        if tools is None:
            return cls(stop_reasons=verdicts)
        return cls(
            tool_names=tools.name_set,
            custom_names=tools.custom_names,
            stop_reasons=verdicts,
        )


@final
@dataclass(frozen=True, slots=True, repr=False)
class Answered:
    """A call that stays in the conversation, with its answer.

    Attributes:
        call: Who the call is.
        name: The tool's name as it is sent. Of a tool that was not offered the model may have
            written anything, and services refuse what no tool of theirs can be called.
        text: Its argument text as received.
        args: The arguments as received, `{}` where they were no object.
        result: What to answer.
    """

    call: Call
    name: str
    text: str
    args: dict[str, Any]
    result: ToolResult


Following: TypeAlias = Callable[[Any], str | None]
"""Reads the next piece of one call's arguments: its text, never empty, of which the normaliser has
then taken note; or `None`, with nothing done, where a native event is anything else at all."""


class Normaliser(ABC):
    """One message of one provider's stream.

    Attributes:
        ended: The message's own end marker was seen.
        text: The pieces of the message's text.
        external_calls: Calls that the provider runs itself.
        anomalies: What was odd.
        usage: Token counts so far.
        kept_more: Set where an event that holds a delta held more than its text, and the history
            keeps that: signatures, for example. Whoever counts what is kept takes it back.
    """

    provider: ClassVar[str]
    stop_reasons: ClassVar[Mapping[str, Verdict]]
    promises_calls: ClassVar[frozenset[str]] = frozenset()
    """The stop reasons that say that a call was made."""
    keeps_conversation: ClassVar[bool] = False
    """The provider can keep the conversation on its server."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.ended: bool = False
        self.text: list[str] = []
        self.external_calls: list[ExternalCall] = []
        self.anomalies: list[Anomaly] = []
        self.usage: Usage = Usage()
        self.kept_more: bool = False
        self.request_fields: dict[str, Any] = {}
        self._keys: set[str] = set()
        self._ids: set[str] = set()
        self._noted: set[Anomaly] = set()
        self._external_by_id: dict[str, ExternalCall] = {}
        self._strays: dict[int | None, OpenCall] = {}

    @abstractmethod
    def feed(self, native: Any) -> list[Event]:
        """Translate one native event.

        Args:
            native: An SDK object, a dict, or a decoded wire event.

        Returns:
            At least one event; exactly one of them carries `native`. Never raises for what a
            service sends: fields that are missing or of the wrong type read as absent.
        """

    def following(self, key: str) -> Following | None:
        """How to read the pieces that follow the one that was just read, in one step each.

        Args:
            key: The call that the last native event brought a piece of, and nothing besides.

        Returns:
            What may be used until another event goes through `feed`; `None` where the provider
            has no such way, and every piece goes through `feed`.
        """
        return None

    def end(self) -> list[Event]:
        """The source is exhausted: events that only the end of the stream can give."""
        return []

    @abstractmethod
    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """The messages that this message adds to the conversation, in the provider's shape.

        Args:
            answers: The calls that stay, by key. Calls that are not in it are left out.
            paused: The provider wants the message back unchanged.
            stored: The provider keeps the conversation: send only what it lacks, and put what
                refers to the rest into `request_fields`. Only asked of those that keep it.
        """

    def anomaly(self, name: AnomalyName, key: str | None = None) -> None:
        """Note an oddity, once a kind and call."""
        anomaly = Anomaly(name, key)
        if anomaly not in self._noted:
            self._noted.add(anomaly)
            self.anomalies.append(anomaly)

    def identify(
        self,
        call_id: str | None,
        name: str | None,
        *,
        kind: CallKind = CallKind.FUNCTION,
        choice: int = 0,
        namespace: str | None = None,
    ) -> CallIdentity:
        """Make the identity of a new call, with a key that is unique in the turn.

        Args:
            call_id: The provider's id; an empty one is no id.
            name: The tool's name as far as it is known.
            kind: What its arguments are.
            choice: The choice it belongs to.
            namespace: What scopes the name.
        """
        number = len(self._keys)
        key = call_id if call_id and call_id not in self._keys else f"call-{number}"
        while key in self._keys:
            number += 1
            key = f"call-{number}"
        self._keys.add(key)
        identity = CallIdentity(key, call_id or None, name or None, kind, choice, 0, namespace)
        if not identity.call_id:
            self.anomaly("no_call_id", key)
        elif identity.call_id in self._ids:
            self.anomaly("duplicate_call_id", key)
        else:
            self._ids.add(identity.call_id)
        return identity

    def replays(self, known: CallIdentity, call_id: str, name: str, *, closed: bool) -> bool:
        """Whether an announcement where a call is already is that call's own, once more.

        Args:
            known: The call.
            call_id: The announcement's id; an empty one is no id. Without one, what follows a
                closed call is another of its name, but where the whole message is told again.
            name: The announcement's name.
            closed: The call got its own end.
        """
        if (known.call_id, known.name) != (call_id or None, name or None):
            return False
        return bool(call_id) or not closed or Anomaly("message_restarted") in self._noted

    def stray(self, index: int | None, text: str, native: Any) -> list[Event]:
        """Argument text that came where no call is: kept as that of a call without a name.

        Such a call fails. Beside it no call that has no text of its own is proved whole, because
        the text may belong there.

        Args:
            index: Where it came; what comes there later belongs to it too.
            text: The piece.
            native: The event that brought it.
        """
        events: list[Event] = []
        known = self._strays.get(index)
        if known is None:
            known = self._strays[index] = OpenCall(self.identify(None, None))
            self.anomaly("delta_for_unknown_call", known.identity.key)
            events.append(known.announced(None))
        return [*events, known.delta(text, native)]

    def stopped(self, raw: str, native: Any, choice: int = 0) -> MessageStopped:
        """Read a stop reason: the caller's words first, then the provider's table."""
        verdict = self.context.stop_reasons.get(raw) or self.stop_reasons.get(raw)
        return MessageStopped(StopReason(raw, verdict or Verdict.UNKNOWN), choice, native)

    def fault(self, error: Any, native: Any) -> StreamFault:
        """An error that the provider reported in the stream: it ends the message."""
        self.ended = True
        return StreamFault(Cause.PROVIDER_ERROR, error_code(error), native=native)

    def unknown(self, native: Any, inner: Any = None) -> list[Event]:
        """An event of no known kind: the error that it reports, in whatever form, or nothing new.

        Args:
            native: The event.
            inner: What stands in it, where that is not the event itself.
        """
        error = error_in(native if inner is None else inner)
        return only_native(native) if error is None else [self.fault(error, native)]

    def external(
        self, call_id: str | None, name: str, native: Any, state: ExternalState | None = None
    ) -> ExternalCallChanged:
        """A call that the provider runs began, or (same id) changed its state."""
        known = self._external_by_id.get(call_id or "")
        if known is not None:
            known.state = state or known.state
            return ExternalCallChanged(known, native)
        made = ExternalCall(call_id or None, name, state or ExternalState.RUNNING)
        self.external_calls.append(made)
        if call_id:
            self._external_by_id[call_id] = made
        return ExternalCallChanged(made, native)


@final
class OpenCall:
    """A call whose pieces are arriving: makes its events and keeps its size."""

    __slots__ = ("call", "identity")

    def __init__(self, identity: CallIdentity) -> None:
        self.identity: CallIdentity = identity
        self.call: Call = Call(identity)

    def announced(self, native: Any, given: str = "") -> CallAnnounced:
        """The announcement."""
        return CallAnnounced(self.call, given, native)

    def delta(self, text: str, native: Any) -> ArgumentsDelta:
        """A piece of its text."""
        self.identity.size += len(text)
        return ArgumentsDelta(self.call, text, native)


def only_native(native: Any) -> list[Event]:
    """A native event that says nothing new."""
    return [Other(native)]


def carrying(events: list[Event], native: Any) -> list[Event]:
    """Let exactly one event carry the native one: an `Other` where none of them does."""
    if not events:
        return only_native(native)
    if any(event.native is not None for event in events):
        return events
    return [*events, Other(native)]


Framing: TypeAlias = Literal["sse", "ndjson", "aws"]
"""How a provider's bytes are cut into events."""


@final
@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the provider table.

    Attributes:
        name: The provider's name, as `provider=` takes it.
        normaliser: The class that reads one message of it.
        recognises: Whether a first native event is this provider's.
        framing: Its wire format.
    """

    name: str
    normaliser: type[Normaliser]
    recognises: Callable[[Any], bool]
    framing: Framing
