"""What a turn raises when its stream ends uncleanly. Bad model output is a value, never raised.

By the time one of these is raised every call has settled: `turn.outcomes`, `turn.verdict` and
`turn.history()` work. A transport's own exception passes through unchanged and is none of these.
`RefusedStream` alone is raised before anything was settled: it is about what the stream is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, final

from finalcall.outcomes import Cause
from finalcall.wire.undecodable import Undecodable


@final
class StreamIdle(TimeoutError):  # noqa: N818 - the name says what happened
    """Nothing arrived, or nothing but keep-alives, for longer than the limit.

    Attributes:
        cause: `IDLE` (silence) or `STALLED` (no progress).
        seconds: How long the turn had waited.
        events: Native events received before.
        open_calls: Keys of the calls that were open.
    """

    def __init__(
        self, cause: Cause, seconds: float, events: int, open_calls: tuple[str, ...]
    ) -> None:
        what = "sent nothing" if cause is Cause.IDLE else "made no progress"
        super().__init__(
            f"the stream {what} for {seconds:.1f} s (events before: {events}, open calls: "
            f"{len(open_calls)}); every call is settled: look at the turn's outcomes"
        )
        self.cause = cause
        self.seconds = seconds
        self.events = events
        self.open_calls = open_calls


Seen: TypeAlias = Literal["nothing", "no event", "nothing of this provider", "a part"]
"""What came of a stream that ended early."""

_ENDED_EARLY: Final[Mapping[Seen, str]] = {
    "nothing": "nothing came at all: it may have been read before",
    "no event": "the bytes that came hold no event",
    "nothing of this provider": "no event said anything of a call, text or the end: provider= may "
    "be wrong",
    "a part": "the message is cut",
}
"""By what came: what is wrong."""


@final
class StreamEndedEarly(ConnectionError):  # noqa: N818 - the name says what happened
    """The stream ended cleanly and no stop reason had come.

    Attributes:
        events: Native events received before.
    """

    def __init__(self, events: int, seen: Seen = "a part") -> None:
        super().__init__(
            f"the stream ended without a stop reason (events before: {events}): "
            f"{_ENDED_EARLY[seen]}; every call is settled: look at the turn's outcomes"
        )
        self.events = events


@final
class RefusedStream(TypeError):  # noqa: N818 - the name says what happened
    """The calls of this stream are run by an SDK, or come to hand too late to be settled.

    Nothing was read of it beyond its first event. The message says what to wrap instead; naming
    the provider with `provider=` settles such a stream all the same.
    """


@final
class ProviderFault(RuntimeError):  # noqa: N818 - the name says what happened
    """The provider reported an error in the stream, or the stream contradicted itself.

    Attributes:
        code: The provider's error type or code, or our word for the contradiction; `""` where
            whoever ended the turn gave no exception.
        cause: `PROVIDER_ERROR`, `MALFORMED` or `LIMIT`.
        native: The provider's own event, or `None`.
    """

    def __init__(self, cause: Cause, code: str, native: Any = None) -> None:
        reported = repr(code) if code else "an error"
        super().__init__(
            f"the stream reported {reported} ({cause.value}){_unreadable(native)}; every call is "
            "settled and none of them runs"
        )
        self.code = code
        self.cause = cause
        self.native = native


def _unreadable(native: Any) -> str:
    """Which frame could not be read, and why, without anything of what is in it."""
    return f": {native.what}" if isinstance(native, Undecodable) else ""
