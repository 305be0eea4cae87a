"""Settles one recorded stream from its file: a pure function, to be mapped over many files.

What it returns is small and plain, can be pickled, and holds no argument text. It needs no extra.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack, cast, final

from finalcall.ending import TurnVerdict
from finalcall.errors import RefusedStream
from finalcall.events import Event, ExternalState
from finalcall.observe.settled import OutcomeName, keywords, outcome_name
from finalcall.options import SettlerOptions
from finalcall.outcomes import Cause, Failed, Outcome, Reason
from finalcall.providers import UnrecognisedStream
from finalcall.settler import Settler
from finalcall.stop_reasons import StopReason
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
    "read_stream",
    "replay_file",
    "tell",
]

EXPECTED: Final = "expected a recording (JSON lines, a header first) or a response's raw bytes"
"""What every message about another file says."""

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
        natives: Its native events; of a raw dump its bytes, a line each.
        times: When each event arrived, in seconds on any scale that never goes back; `None` where
            not every event says so, and for a raw dump.
        requested: When the request was made, on the same scale, or `None`.
    """

    natives: tuple[Any, ...]
    times: tuple[float, ...] | None = None
    requested: float | None = None

    @property
    def begun(self) -> float:
        """When the times begin: at the request, else at the first event; 0 without times."""
        if self.requested is not None:
            return self.requested
        return self.times[0] if self.times else 0.0


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
        for _ in tell(settler, read_stream(path)):
            pass
    except UnreadableRecording as error:
        return ReplayedStream(file=str(path), unreadable=str(error))
    return _row(str(path), settler)


def _row(file: str, settler: Settler) -> ReplayedStream:
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
        events = settler.end(now=None if stream.times is None else stream.times[-1])
    if settler.provider is None:
        raise UnreadableRecording(f"it holds no event of a known provider; {EXPECTED}")
    yield Told(settler.stats.events, at, events, ended=True)


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
        UnreadableRecording: The file cannot be read, or is none of these.
    """
    try:
        return _stream(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableRecording(error.strerror or type(error).__name__) from None
    except RecursionError:
        raise UnreadableRecording(f"JSON nested too deep; {EXPECTED}") from None
    except UnicodeDecodeError:
        raise UnreadableRecording(f"not UTF-8; {EXPECTED}") from None
    except json.JSONDecodeError as error:
        raise UnreadableRecording(f"no JSON at column {error.colno}; {EXPECTED}") from None


def _stream(content: bytes) -> StoredStream:
    if not content.strip():
        raise UnreadableRecording(f"empty; {EXPECTED}")
    if not content.lstrip().startswith(b"{"):
        return StoredStream(tuple(content.splitlines(keepends=True)))
    header, *lines = _objects(content)
    if lines and not any("data" in line for line in lines):
        return StoredStream(tuple(content.splitlines(keepends=True)))  # JSON lines off the wire
    if not lines:
        raise UnreadableRecording("a header, and no event after it")
    for number, line in enumerate(lines, start=1):
        if "data" not in line or not isinstance(line.get("event", 0), str | None):
            raise UnreadableRecording(f"event {number} lacks its 'event' or its 'data'")
    events = tuple(RecordedEvent(line["event"], line["data"]) for line in lines)
    natives = tuple(Recording(header, events).to_dicts())
    times, requested = _times(lines), _seconds(header.get("at"))
    if times is None or (requested is not None and requested > times[0]):
        requested = None
    return StoredStream(natives, times, requested)


def _objects(content: bytes) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    for text in filter(bytes.strip, content.splitlines()):
        line = json.loads(text)
        if not isinstance(line, dict):
            raise UnreadableRecording(f"line {len(objects) + 1} is no JSON object; {EXPECTED}")
        objects.append(cast("dict[str, Any]", line))
    return objects


def _times(lines: Sequence[Mapping[str, Any]]) -> tuple[float, ...] | None:
    times: list[float] = []
    for line in lines:
        time = _seconds(line.get("at"))
        if time is None or (times and time < times[-1]):
            return None
        times.append(time)
    return tuple(times)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None
