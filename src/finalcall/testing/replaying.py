"""Settles one recorded stream from its file: a pure function, to be mapped over many files.

What it returns is small and plain, can be pickled, and holds no argument text. It needs no extra.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack, final

from finalcall.ending import TurnVerdict
from finalcall.errors import RefusedStream
from finalcall.events import Event, ExternalState
from finalcall.observe.settled import OutcomeName, keywords, outcome_name
from finalcall.options import SettlerOptions
from finalcall.outcomes import Cause, Failed, Outcome, Reason
from finalcall.providers import UnrecognisedStream
from finalcall.settler import Settler
from finalcall.stop_reasons import StopReason
from finalcall.testing.recorded_lines import (
    CUT,
    EXPECTED,
    LEFT,
    RecordedEnd,
    RecordedLines,
    is_end,
    read_lines,
    seconds,
    sort_lines,
    times_of,
)
from finalcall.testing.recordings import RecordedEvent, Recording
from finalcall.tools import ToolsLike

__all__ = [
    "EXPECTED",
    "PASSED",
    "ReplayedCall",
    "ReplayedStream",
    "StoredStream",
    "Told",
    "UnreadableRecording",
    "end_stream",
    "read_stream",
    "replay_file",
    "tell",
]

PASSED: Final[frozenset[TurnVerdict]] = frozenset({"done", "dispatch", "resume"})
"""The verdicts of streams that came to a proper end, and of which every call may be run."""


@final
class UnreadableRecording(ValueError):  # noqa: N818 - says what the file is
    """A file holds no stream that could be settled. The message quotes none of its content."""


@final
@dataclass(frozen=True, slots=True)
class StoredStream:
    """A stream as a file holds it.

    Attributes:
        natives: Its native events; of a raw dump its bytes, a line each. Those that were read ahead
            of the turn when that ended are left out.
        times: When each event arrived, in seconds on any scale that never goes back; `None` where
            not every event says so, and for a raw dump.
        requested: When the request was made, on the same scale, or `None`.
        ended: How it ended; `None` where nobody knows, as of a raw dump: then it just ends.
        provider: Whose stream the file says it is, or `None`.
        untimed: Why there are no times; `""` where there are.
    """

    natives: tuple[Any, ...]
    times: tuple[float, ...] | None = None
    requested: float | None = None
    ended: RecordedEnd | None = None
    provider: str | None = None
    untimed: str = ""

    @property
    def begun(self) -> float:
        """When the times begin: at the request, else at the first event; 0 without times."""
        if self.requested is not None:
            return self.requested
        return self.times[0] if self.times else 0.0

    @property
    def over(self) -> float | None:
        """When it ended, as far as that is known; `None` without times."""
        if self.times is None:
            return None
        last = self.times[-1] if self.times else self.begun
        at = None if self.ended is None else self.ended.at
        return last if at is None else max(last, at)

    @property
    def is_cut(self) -> bool:
        """Whether its file ends in the middle of a line."""
        return self.ended is not None and self.ended.how == CUT


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """What one call settled as.

    Attributes:
        key: Unique in its stream.
        call_id: The provider's id, or `None`.
        tool: The name that the model used, or `None`.
        outcome: `"dispatchable"`, `"schema_error"` or `"failed"`.
        reason: Of a failed call, else `None`.
        cause: Of a failed call, else `None`.
        violations: Of an invalid call, the keywords that failed, most relevant first.
    """

    key: str
    call_id: str | None
    tool: str | None
    outcome: OutcomeName
    reason: Reason | None = None
    cause: Cause | None = None
    violations: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStream:
    """What became of one file.

    Attributes:
        file: Its path, as it was given.
        unreadable: Why it could not be settled; `None` where it could, and only then the rest is
            known.
        provider: Whose stream it is.
        events: How many native events it has.
        verdict: What a turn of it says to do next.
        stop_reason: The provider's word, or `None` where none came or an error voided it.
        ending: Why it ended as it must not; `None` for a proper end.
        code: The provider's error code where it reported one, else `""`.
        calls: Its calls, in order of announcement.
        external_calls: How many calls somebody else ran, or began to run.
        unknown_external_calls: How many of these may have run: the stream ended before it said so.
        anomalies: The names of what was odd, each once.
        cut: Whether the file ends in the middle of a line, as when its writer died. What comes
            before that is settled as a stream that ended there.
    """

    file: str
    unreadable: str | None = None
    provider: str | None = None
    events: int = 0
    verdict: TurnVerdict | None = None
    stop_reason: StopReason | None = None
    ending: Cause | None = None
    code: str = ""
    calls: tuple[ReplayedCall, ...] = ()
    external_calls: int = 0
    unknown_external_calls: int = 0
    anomalies: tuple[str, ...] = ()
    cut: bool = False

    @property
    def passed(self) -> bool:
        """Whether it could be read, came to a proper end, and each of its calls may be run."""
        return self.verdict in PASSED

    def as_json(self) -> dict[str, Any]:
        """All of it as what `json.dumps` takes, in the order of the attributes."""
        return asdict(self)


@final
class Told(NamedTuple):
    """What a settler said when it was told the next of a stream.

    Attributes:
        number: Which native event it was, from 1; of the end, the number of the last one.
        at: Seconds since the times begin, or `None` where the stream has none.
        events: What the settler said.
        ended: Whether this was the end of the file.
    """

    number: int
    at: float | None
    events: list[Event]
    ended: bool = False


def replay_file(
    path: str | Path,
    *,
    tools: ToolsLike | None = None,
    **options: Unpack[SettlerOptions],
) -> ReplayedStream:
    """Settle the stream that a file holds. The file's content never makes it raise.

    Args:
        path: A recording (see `finalcall.testing.Recording`) or a dump of a response's raw bytes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing. Over many
            files, build the `ToolSet` once.
        options: Those of `Settler`, such as `provider` where it is not recognised. There are no
            idle limits unless `idle_timeout` is given.

    Raises:
        ValueError: An option is bad, such as an unknown provider.
    """
    options.setdefault("idle_timeout", None)
    settler = Settler(tools=tools, **options)
    try:
        stream = read_stream(path)
        for _ in tell(settler, stream):
            pass
    except UnreadableRecording as error:
        return ReplayedStream(file=str(path), unreadable=str(error))
    return _row(str(path), settler, cut=stream.is_cut)


def _row(file: str, settler: Settler, *, cut: bool) -> ReplayedStream:
    ending, external = settler.ending, settler.external_calls
    return ReplayedStream(
        file=file,
        provider=settler.provider,
        events=settler.stats.events,
        verdict=settler.verdict,
        stop_reason=settler.stop_reason,
        ending=None if ending is None else ending.cause,
        code="" if ending is None else ending.code,
        calls=tuple(map(_call, settler.outcomes)),
        external_calls=len(external),
        unknown_external_calls=sum(one.state is ExternalState.UNKNOWN for one in external),
        anomalies=tuple(dict.fromkeys(anomaly.name for anomaly in settler.anomalies)),
        cut=cut,
    )


def _call(outcome: Outcome) -> ReplayedCall:
    failed = outcome if isinstance(outcome, Failed) else None
    return ReplayedCall(
        key=outcome.key,
        call_id=outcome.call_id,
        tool=outcome.name,
        outcome=outcome_name(outcome),
        reason=None if failed is None else failed.reason,
        cause=None if failed is None else failed.cause,
        violations=keywords([outcome]),
    )


def tell(settler: Settler, stream: StoredStream) -> Iterator[Told]:
    """Feed a stream to a settler, and end it.

    Args:
        settler: A new one.
        stream: What to feed it, with its times.

    Yields:
        What the settler said, for each native event (or line of a dump), and at the end.

    Raises:
        UnreadableRecording: The stream is no known provider's.
    """
    begun, at = stream.begun, None
    if stream.requested is not None:
        settler.deadline(stream.requested)
    for native, time in zip(stream.natives, stream.times or repeat(None), strict=False):
        with _unreadable():
            events = settler.feed(native, time)
        if time is not None:
            at = time - begun
            settler.deadline(time)
        yield Told(settler.stats.events, at, events)
    with _unreadable():  # a dump may end in the middle of its first event
        events = end_stream(settler, stream)
    if stream.over is not None:
        at = stream.over - begun
    if settler.provider is None:
        raise UnreadableRecording(f"it holds no event of a known provider; {EXPECTED}")
    yield Told(settler.stats.events, at, events, ended=True)


def end_stream(settler: Settler, stream: StoredStream) -> list[Event]:
    """End a settler as the stream ended that it was fed.

    Args:
        settler: It.
        stream: The stream.

    Returns:
        What the settler said.
    """
    end = stream.ended
    # A message that was whole is left as a matter of course.
    if end is None or (end.how == LEFT and settler.stop_reason is not None):
        return settler.end(now=stream.over)
    error = type(end.exception, (_RecordedError,), {})() if end.exception else None
    return settler.end(end.cause, error, stream.over)


class _RecordedError(ConnectionError):
    """Stands for what the stream raised: of that the recording has the type's name alone."""


@contextlib.contextmanager
def _unreadable() -> Generator[None]:
    """Say of a stream that is nobody's, or an SDK's own, that it cannot be read."""
    try:
        yield
    except UnrecognisedStream:
        raise UnreadableRecording(
            "the first event is no known provider's; say whose it is if you know"
        ) from None
    except RefusedStream as error:
        raise UnreadableRecording(str(error)) from None


def read_stream(path: str | Path) -> StoredStream:
    """Read the stream that a file holds.

    Args:
        path: A recording, or a dump of a response's raw bytes in any framing.

    Raises:
        UnreadableRecording: The file cannot be read, or is none of these. Of a line that is broken
            the message says which; one that is cut at the file's end is left out instead.
    """
    try:
        return _stream(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableRecording(error.strerror or type(error).__name__) from None
    except ValueError as error:
        raise UnreadableRecording(str(error)) from None


def _stream(content: bytes) -> StoredStream:
    if not content.strip():
        raise UnreadableRecording(f"empty; {EXPECTED}")
    if not content.lstrip().startswith(b"{"):
        return _raw(content)
    (header, *lines), is_cut = read_lines(content)
    if lines and not any("data" in line.fields or is_end(line.fields) for line in lines):
        return _raw(content)  # JSON lines off the wire
    events, ended = sort_lines(RecordedLines(lines, is_cut))
    if not events:
        raise UnreadableRecording(f"a header, and no whole event after it; {EXPECTED}")
    if ended is not None and ended.events is not None:
        events = events[: ended.events]
    named = tuple(RecordedEvent(event["event"], event["data"]) for event in events)
    natives = tuple(Recording(header.fields, named).to_dicts())
    provider = header.fields.get("provider")
    stream = StoredStream(
        natives, ended=ended, provider=provider if isinstance(provider, str) else None
    )
    times = times_of(header.fields, events)
    if isinstance(times, str):
        return replace(stream, untimed=times)
    return replace(stream, times=times, requested=seconds(header.fields.get("at")))


def _raw(content: bytes) -> StoredStream:
    lines = tuple(content.splitlines(keepends=True))
    return StoredStream(lines, untimed="a response's raw bytes carry no times")
