"""The provider-agnostic vocabulary of a stream: what happened, in the same words for every model.

Nothing here knows a provider, keeps a buffer or decides an outcome.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    Self,
    TypeAlias,
    final,
)

from finalcall.outcomes import Cause, Outcome
from finalcall.stop_reasons import StopReason

if TYPE_CHECKING:
    from finalcall.preview import Preview


class _Event:  # noqa: PLW1641 - what happens to a stream is compared, never looked up
    """What all events share: a plain slotted class, for one is made for every fragment.

    Fields are read-only to a type checker. None is shown that holds what a model wrote.
    """

    __slots__: tuple[str, ...] = ()

    def carrying(self, native: Any) -> Self:
        """The same event with another native one."""
        fields = (native if name == "native" else getattr(self, name) for name in self.__slots__)
        return type(self)(*fields)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = [f"{name}={_shown(name, getattr(self, name))}" for name in self.__slots__]
        return f"{type(self).__name__}({', '.join(fields)})"


def _shown(name: str, value: Any) -> str:
    """A field of an event as its `repr` shows it."""
    if name in {"text", "given"}:
        return f"<{len(value)} characters>"
    if name in {"native", "preview"}:
        return f"<{type(value).__name__}>"
    return repr(value)


@final
class CallKind(enum.StrEnum):
    """What a call's arguments are."""

    FUNCTION = "function"
    """A JSON document."""
    CUSTOM = "custom"
    """Free text, settled as `{"input": text}`."""


@dataclass(slots=True)
class CallIdentity:
    """Who a call is as far as the stream has told: written by a provider's normaliser alone.

    Some services send the id or the name late, in pieces, or never.
    """

    key: str
    call_id: str | None
    name: str | None
    kind: CallKind = CallKind.FUNCTION
    choice: int = 0
    size: int = 0
    namespace: str | None = None


@final
class Call:
    """A read-only view of one announced tool call: who it is, not what it says."""

    __slots__ = ("_identity", "key")

    def __init__(self, identity: CallIdentity) -> None:
        self._identity = identity
        self.key: Final = identity.key
        """Unique in the turn; the same on the call's outcome. Looked up for every fragment."""

    @property
    def call_id(self) -> str | None:
        """The provider's id, or `None` while (or where) there is none."""
        return self._identity.call_id

    @property
    def name(self) -> str | None:
        """The tool's name as far as it has arrived, or `None`."""
        return self._identity.name

    @property
    def kind(self) -> CallKind:
        """Whether the arguments are JSON or free text."""
        return self._identity.kind

    @property
    def choice(self) -> int:
        """The index of the choice (or candidate) that the call belongs to."""
        return self._identity.choice

    @property
    def namespace(self) -> str | None:
        """The toolset or namespace that scopes the name, where the provider has such."""
        return self._identity.namespace

    @property
    def size(self) -> int:
        """Characters of argument text so far."""
        return self._identity.size

    def __repr__(self) -> str:
        return f"Call(key={self.key!r}, call_id={self.call_id!r}, name={self.name!r})"


@final
class ExternalState(enum.StrEnum):
    """How a call that somebody else runs stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The stream ended first: the call may have run."""


@final
@dataclass(slots=True, eq=False)
class ExternalCall:
    """A call that the provider (or its SDK) runs itself: shown and echoed, never dispatched.

    Attributes:
        call_id: The provider's id, or `None`.
        name: The tool's name, or its block or item type.
        state: How it stands; settled to an end state when the turn ends.
    """

    call_id: str | None
    name: str
    state: ExternalState = ExternalState.RUNNING


@final
class CallAnnounced(_Event):
    """A tool call exists: it will have exactly one outcome. Only its arguments are still open.

    A second announcement of a known key is a replay: its text is compared, not appended.

    Attributes:
        call: Who the call is.
        given: Input given with the announcement, as JSON text; fragments, if any come, replace it.
        native: The provider's own event, where this event is the one that carries it.
    """

    __slots__ = __match_args__ = ("call", "given", "native")

    def __init__(self, call: Call, given: str = "", native: Any = None) -> None:
        self.call: Final = call
        self.given: Final = given
        self.native: Final = native


@final
class ArgumentsDelta(_Event):
    """The next piece of a call's argument text."""

    __slots__ = __match_args__ = ("call", "text", "native")

    def __init__(self, call: Call, text: str, native: Any = None) -> None:
        self.call: Final = call
        self.text: Final = text
        self.native: Final = native


@final
class ArgumentsRestated(_Event):
    """The provider stated the whole text, which differs from what had come: it replaces it."""

    __slots__ = __match_args__ = ("call", "text", "native")

    def __init__(self, call: Call, text: str, native: Any = None) -> None:
        self.call: Final = call
        self.text: Final = text
        self.native: Final = native


@final
class CallCompleted(_Event):
    """The call's own end: no more fragments will come. It does not say that the call may run.

    Attributes:
        call: Who the call is.
        whole: The end restated the whole text, so fragments that straggle in later are stale.
        native: The provider's own event, where this event is the one that carries it.
    """

    __slots__ = __match_args__ = ("call", "whole", "native")

    def __init__(self, call: Call, whole: bool = False, native: Any = None) -> None:
        self.call: Final = call
        self.whole: Final = whole
        self.native: Final = native


@final
class CallWithdrawn(_Event):
    """The provider went back on a call that may have been cut: nothing will prove it finished."""

    __slots__ = __match_args__ = ("call", "native")

    def __init__(self, call: Call, native: Any = None) -> None:
        self.call: Final = call
        self.native: Final = native


@final
class TextDelta(_Event):
    """The next piece of the message's text."""

    __slots__ = __match_args__ = ("text", "choice", "native")

    def __init__(self, text: str, choice: int = 0, native: Any = None) -> None:
        self.text: Final = text
        self.choice: Final = choice
        self.native: Final = native


@final
class ReasoningDelta(_Event):
    """The next piece of the model's reasoning, where the provider shows it."""

    __slots__ = __match_args__ = ("text", "choice", "native")

    def __init__(self, text: str, choice: int = 0, native: Any = None) -> None:
        self.text: Final = text
        self.choice: Final = choice
        self.native: Final = native


@final
class ExternalCallChanged(_Event):
    """A call that somebody else runs began, or its state changed."""

    __slots__ = __match_args__ = ("external", "native")

    def __init__(self, external: ExternalCall, native: Any = None) -> None:
        self.external: Final = external
        self.native: Final = native


@final
class MessageStopped(_Event):
    """A stop reason arrived. It covers the calls announced before or with it.

    Attributes:
        stop_reason: The reason and its verdict.
        choice: The choice it belongs to.
        native: The provider's own event, where this event is the one that carries it.
    """

    __slots__ = __match_args__ = ("stop_reason", "choice", "native")

    def __init__(self, stop_reason: StopReason, choice: int = 0, native: Any = None) -> None:
        self.stop_reason: Final = stop_reason
        self.choice: Final = choice
        self.native: Final = native


@final
class StreamFault(_Event):
    """The stream reported an error or contradicted itself: no call of it will run.

    Attributes:
        cause: `PROVIDER_ERROR` for a reported error, `MALFORMED` for spliced or undecodable
            streams, `LIMIT` for a limit passed.
        code: The provider's error type or code, or our word for the contradiction. Never the
            provider's message, which may quote arguments. `""` where nothing named the error.
        ends: Whether the message is over with it.
        native: The provider's own event, where this event is the one that carries it.
    """

    __slots__ = __match_args__ = ("cause", "code", "ends", "native")

    def __init__(self, cause: Cause, code: str, ends: bool = True, native: Any = None) -> None:
        self.cause: Final = cause
        self.code: Final = code
        self.ends: Final = ends
        self.native: Final = native


@final
class StreamQuiet(_Event):
    """Nothing has arrived for a while. Settles nothing; a screen may say "still waiting".

    Attributes:
        seconds: How long the turn has waited.
    """

    __slots__ = __match_args__ = ("seconds", "native")

    def __init__(self, seconds: float, native: Any = None) -> None:
        self.seconds: Final = seconds
        self.native: Final = native


@final
class CallSettled(_Event):
    """A call's one outcome.

    Attributes:
        call: Who the call was.
        outcome: What it settled as.
    """

    __slots__ = __match_args__ = ("call", "outcome", "native")

    def __init__(self, call: Call, outcome: Outcome, native: Any = None) -> None:
        self.call: Final = call
        self.outcome: Final = outcome
        self.native: Final = native


@final
class PreviewChanged(_Event):
    """What a screen shows of a call's arguments may have grown. Not for dispatch.

    Attributes:
        call: Who the call is.
        preview: The call's own preview: ask it for `changes()` since you last asked, or for its
            `value`. It costs nothing while nobody asks.
    """

    __slots__ = __match_args__ = ("call", "preview", "native")

    def __init__(self, call: Call, preview: Preview, native: Any = None) -> None:
        self.call: Final = call
        self.preview: Final = preview
        self.native: Final = native


@final
class Other(_Event):
    """A native event that says nothing about calls, text or the end: a ping, usage, metadata."""

    __slots__ = __match_args__ = ("native",)

    def __init__(self, native: Any = None) -> None:
        self.native: Final = native


Event: TypeAlias = (
    CallAnnounced
    | ArgumentsDelta
    | ArgumentsRestated
    | CallCompleted
    | CallWithdrawn
    | TextDelta
    | ReasoningDelta
    | ExternalCallChanged
    | MessageStopped
    | StreamFault
    | StreamQuiet
    | CallSettled
    | PreviewChanged
    | Other
)
"""Everything a turn yields."""

AnomalyName: TypeAlias = Literal[
    "call_after_end",
    "call_replayed",
    "delta_after_end",
    "delta_for_unknown_call",
    "duplicate_call_id",
    "message_restarted",
    "no_call_id",
    "no_index",
    "no_name",
    "other_choices",
    "promised_calls_missing",
    "sequence_gap",
    "spliced_stream",
    "stop_reasons_disagree",
    "undecodable_event",
]


@final
@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something odd in the stream that the outcomes already take into account.

    Attributes:
        name: What kind of oddity.
        key: The call it concerns, or `None`.
    """

    name: AnomalyName
    key: str | None = None
