"""What a turn raises when its stream ends uncleanly. Bad model output is a value, never raised.

By the time one of these is raised every call has settled: `turn.outcomes`, `turn.verdict` and
`turn.history()` work. A transport's own exception passes through unchanged and is none of these.
`RefusedStream` alone is raised before anything was read.
"""

from __future__ import annotations

from typing import Any, final

from finalcall.outcomes import Cause


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


@final
class StreamEndedEarly(ConnectionError):  # noqa: N818 - the name says what happened
    """The stream ended cleanly and no stop reason had come."""

    def __init__(self, events: int) -> None:
        super().__init__(
            f"the stream ended without a stop reason (events before: {events}): the message is "
            "cut; every call is settled and none of them runs"
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
        code: The provider's error type or code, or our word for the contradiction.
        cause: `PROVIDER_ERROR`, `MALFORMED` or `LIMIT`.
        native: The provider's own event, or `None`.
    """

    def __init__(self, cause: Cause, code: str, native: Any = None) -> None:
        super().__init__(
            f"the stream reported {code!r} ({cause.value}); every call is settled and none of "
            "them runs"
        )
        self.code = code
        self.cause = cause
        self.native = native
