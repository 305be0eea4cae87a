"""Records a live stream as it is read: `record(stream, path)` in the place of the stream.

Whatever reads it gets the same events at the same time, and the recording grows beside it, a line
an event and one for how it ended. `Recording.read` and the commands read it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import IO, Any, ClassVar, Final, TypeAlias, cast, final
from weakref import WeakValueDictionary

from finalcall.clock import Clock
from finalcall.faults import cause_of
from finalcall.outcomes import Cause
from finalcall.settler import Settler
from finalcall.testing.plain_events import dialect_of, plain_events
from finalcall.testing.recorded_lines import CLEAN, LEFT, RecordedEnd
from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.scrubbing import Scrubber
from finalcall.tools import ToolSet
from finalcall.turn import SettledTurn
from finalcall.version import __version__
from finalcall.wire.decoder import Decoder
from finalcall.wire.undecodable import Undecodable

_LOGGER: Final = logging.getLogger(__name__)

_BYTES: Final = (bytes, bytearray, memoryview)

_MOST_EARLY: Final = 16
"""Events that are kept back while nothing tells yet whose stream it is."""

_FRAMINGS: Final[Mapping[bytes, str]] = {b"\0": "eventstream", b"{": "ndjson", b"[": "json-array"}
"""Wire formats by their first byte; any other begins server-sent events."""

_BYTE_STREAMS: Final = frozenset({"aiter_bytes", "iter_bytes"})
"""Methods of HTTP responses that read their body."""

_CLOSERS: Final = frozenset({"aclose", "close"})
"""Methods by which a reader leaves a stream."""

_OF_THE_TURN: Final = frozenset({Cause.CANCELLED, Cause.IDLE, Cause.STALLED})
"""What a turn alone knows: the stream only sees that it is closed, or that its connection is."""

Destination: TypeAlias = str | PathLike[str] | IO[str] | IO[bytes]
"""Where a recording goes: a path, or a file that is open for writing."""


@final
class Recorder:
    """Writes the recording of one stream. `record` makes it; nothing here ever raises.

    Attributes:
        events: How many events were written.
        lost: How many native events, or chunks of bytes, came after something had failed. They are
            missing at the recording's end; what it holds is the stream's beginning, whole.
    """

    def __init__(
        self, to: Destination, provider: str | None, scrubber: Scrubber, clock: Clock, asked: bool
    ) -> None:
        self.events: int = 0
        self.lost: int = 0
        self._write: Callable[[str], object] = (
            _PathWriter(Path(to)) if isinstance(to, str | PathLike) else _file_writer(to)
        )
        self._dialect = provider
        self._scrubber = scrubber
        self._clock = clock
        self._begun = clock()
        self._asked = asked
        self._framing: str | None = None
        self._decoder: Decoder | None = None
        self._early: list[tuple[Any, float]] | None = []
        self._lines: list[int] = []  # how many were written up to each native event
        self._end: RecordedEnd | None = None
        self._settled = False
        self._failed = False
        self._lock = threading.RLock()  # a stream is read in a thread, and its turn ends in another

    def take(self, native: Any) -> None:
        """Write a native event, or what a chunk of bytes completes.

        Args:
            native: What the stream gave.
        """
        if isinstance(native, _BYTES):
            self._guarded(self._take_bytes, bytes(cast("bytes", native)))
        else:
            self._guarded(self._take, native)

    def end(self, error: BaseException | None = None) -> None:
        """The stream is over: write what was waiting for more, and how it ended.

        Args:
            error: What it raised; `None` where it ended by itself.
        """
        if error is None:
            self._guarded(self._flush)
            how = CLEAN
        else:
            how = cause_of(error).value if isinstance(error, Exception) else LEFT
        self._guarded(self._put_end, how, "" if error is None else type(error).__name__)

    def leave(self) -> None:
        """The reader has closed the stream. Does nothing where it was over, or never begun."""
        if self._end is None and (self._early or self._lines):
            self._guarded(self._put_end, LEFT)

    def settled(self, turn: SettledTurn | Settler) -> None:
        """The turn that read the stream is over: write what it alone knows of the end.

        That is whether it met a limit on silence or was cancelled, and how many events it had
        taken by then. The recording ends with this: what is still read is passed over.

        Args:
            turn: The turn, or the settler. Does nothing while it goes on, or the second time.
        """
        ending = turn.ending
        if ending is None:
            return
        with self._lock:
            if self._end is None or ending.cause in _OF_THE_TURN:
                error = ending.exception
                how = CLEAN if ending.cause is None else ending.cause.value
                name = "" if error is None else type(error).__name__
                self._guarded(self._put_end, how, name, turn.stats.events)
            self._settled = True

    def _guarded(self, action: Callable[..., None], *arguments: Any) -> None:
        """A recording is beside the stream: whatever happens to it, the stream goes on."""
        with self._lock:
            if not self._settled:
                self._try(action, *arguments)

    def _try(self, action: Callable[..., None], *arguments: Any) -> None:
        is_event = action in (self._take, self._take_bytes)
        if self._failed:
            self.lost += is_event
            return
        try:
            action(*arguments)
        except Exception as error:
            self._failed = True
            self.lost += is_event
            with contextlib.suppress(Exception):  # a handler may fail, too
                _LOGGER.warning(
                    "a recording ends after %d events, as it could not be written (%s); the "
                    "stream goes on",
                    self.events,
                    _reason(error),
                )

    def _take_bytes(self, chunk: bytes) -> None:
        if self._decoder is None:
            self._decoder = Decoder()
        if self._framing is None and (head := chunk.lstrip()):
            self._framing = _FRAMINGS.get(head[:1], "sse")
        for native in self._decoder.feed(chunk):
            self._take(native)

    def _take(self, native: Any) -> None:
        self._end = None
        now = self._now()
        if self._early is not None:
            self._dialect = self._dialect or dialect_of(native)
            self._early.append((native, now))
            if self._dialect is not None or len(self._early) == _MOST_EARLY:
                self._begin()
            return
        self._put(native, now)

    def _now(self) -> float:
        return round(self._clock() - self._begun, 6)

    def _flush(self) -> None:
        natives = [] if self._decoder is None else self._decoder.end()
        for native in natives:
            if not isinstance(native, Undecodable):  # half an event is none that came
                self._take(native)

    def _put_end(self, how: str, exception: str = "", taken: int | None = None) -> None:
        """Write how the stream ended, after all that came of it; once, unless more is known."""
        self._begin()
        ahead = taken is not None and taken < len(self._lines)
        events = (self._lines[taken - 1] if taken else 0) if ahead else None
        end = RecordedEnd(how, exception, events, self._now())
        before = self._end
        if before is None or (how, exception, events) != (before.how, before.exception, None):
            self._write(json.dumps(end.to_line()) + "\n")
            self._end = end

    def _begin(self) -> None:
        """Write the header, and what came before anything told whose stream it is."""
        early, self._early = self._early, None
        if early is None:
            return
        header: dict[str, Any] = {
            "provider": self._dialect,
            "dialect": self._dialect,
            "framing": self._framing,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "recorder": f"finalcall {__version__}",
        }
        known = {name: value for name, value in header.items() if value is not None}
        # Where the request had been made before, nobody knows when.
        self._write(json.dumps(known | ({"at": 0.0} if self._asked else {})) + "\n")
        for native, at in early:
            self._put(native, at)

    def _put(self, native: Any, at: float) -> None:
        lines = [
            json.dumps({"event": event.event, "data": event.data, "at": at})
            for event in map(self._scrub, plain_events(native, self._dialect))
        ]
        for line in lines:
            self._write(line + "\n")
            self.events += 1
        self._lines.append(self.events)

    def _scrub(self, event: RecordedEvent) -> RecordedEvent:
        return self._scrubber.scrub(event)


@final
class _ReplacedError(OSError):
    """Another recording was begun at the path of this one."""


def _reason(error: Exception) -> str:
    replaced = isinstance(error, _ReplacedError)
    return "another one was begun at its path" if replaced else type(error).__name__


@final
class _PathWriter:
    """Writes lines to a file that is open only while it writes one.

    So there is nothing to close on any path, and a line is whole or is not there. A file belongs
    to the last writer of this process that began it: two recordings never mix.
    """

    _writing: ClassVar[WeakValueDictionary[str, _PathWriter]] = WeakValueDictionary()
    _lock: ClassVar = threading.Lock()

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._mode = "wb"

    def __call__(self, line: str) -> None:
        with self._lock:
            self._put(line.encode())

    def _put(self, data: bytes) -> None:
        name = os.path.realpath(self._path)
        if self._mode == "wb":
            self._writing[name] = self
        elif self._writing.get(name) is not self:
            raise _ReplacedError
        with self._path.open(self._mode, buffering=0) as file:
            self._mode = "ab"
            start = file.tell()
            if file.write(data) != len(data):
                file.truncate(start)
                raise OSError("the disk took a part of a line")


def _file_writer(file: IO[Any]) -> Callable[[str], None]:
    is_text = hasattr(file, "encoding")

    def write(line: str) -> None:
        file.write(line if is_text else line.encode())
        file.flush()

    return write


def record(
    stream: Any,
    to: Destination,
    *,
    provider: str | None = None,
    values: bool = True,
    sensitive: ToolSet | Iterable[str] = (),
    clock: Clock = time.monotonic,
) -> Any:
    """Record a stream while something else reads it.

    `Turn(record(stream, "turn.jsonl"), tools=TOOLS)` reads the stream as it would without. The
    recording is JSON lines: a header, then each event with the seconds since this call, then how
    the stream ended: by itself, by an exception (the name of its type), or left by its reader. It
    grows with the stream, each line whole, so that it can be read whatever ends the program.

    Headers of responses are never written. Values of names such as `api_key` and `authorization`
    are masked, and so are words that look like credentials, wherever their text is cut; signatures
    and encrypted reasoning are kept. A mask has the length of what it masks: `x` for each letter
    and digit.

    Args:
        stream: What a turn takes: an SDK's stream, a context manager or an awaitable of one, an
            HTTP response, or an iterable, synchronous or not, of events, dicts or bytes.
        to: A path, where an older recording is replaced; or an open file, which is not closed.
            Where two streams are recorded to one path at once, the recording that begins last
            has it, and the other one ends; of other processes nothing is known. Give each its own.
        provider: Whose stream it is, where its first events do not tell.
        values: `False` masks every text and every argument, too. Names of fields, ids and the
            structure stay, numbers keep their length, and a text that was JSON is JSON, so a
            replay settles each call as before, schemas apart: an `enum` does not fit any more.
        sensitive: Names of fields whose values are masked in arguments; or a `ToolSet`, for those
            that its tools mark as sensitive.
        clock: Gives the time in seconds.

    Returns:
        The stream, to be used in its place: whatever it has, this has. Only what iterates it, or
        reads the bytes of a response, is recorded. Its `recorder` is a `Recorder`, which counts;
        a turn tells it how it ended. A loop of your own does so with `recorder.settled(settler)`.
        It raises what the stream raises, and nothing of its own: where the recording cannot be
        written, it ends there, and a warning is logged once.

    Raises:
        TypeError: `sensitive` is one string.
    """
    if isinstance(stream, _BYTES):
        stream = [bytes(cast("bytes", stream))]
    scrubber = Scrubber(values=values, sensitive=sensitive)
    kind = cast("Any", type(stream))
    asked = hasattr(kind, "__await__") or not (
        hasattr(kind, "__iter__") or hasattr(kind, "__aiter__") or hasattr(kind, "iter_bytes")
    )
    return _wrap(stream, Recorder(to, provider, scrubber, clock, asked))


class _Recorded:
    """Stands for a stream: has whatever it has, and shows the recorder what it gives."""

    __slots__ = ("__weakref__", "_finalcall_stream", "recorder")

    _finalcall_stream: Any
    recorder: Recorder

    def __init__(self, stream: Any, recorder: Recorder) -> None:
        object.__setattr__(self, "_finalcall_stream", stream)
        object.__setattr__(self, "recorder", recorder)

    def finalcall_settled(self, turn: Settler) -> None:
        """What a turn calls once it has settled, before it closes the stream."""
        self.recorder.settled(turn)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._finalcall_stream, name)
        if name not in _BYTE_STREAMS | _CLOSERS or not callable(value):
            return value

        @functools.wraps(value)
        def read(*arguments: Any, **options: Any) -> Any:
            return _wrap(value(*arguments, **options), self.recorder)

        @functools.wraps(value)
        def close(*arguments: Any, **options: Any) -> Any:
            self.recorder.leave()
            return value(*arguments, **options)

        return close if name in _CLOSERS else read

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._finalcall_stream, name, value)

    def __repr__(self) -> str:
        kind = self._finalcall_stream.__class__
        return f"<a recorded {kind.__module__}.{kind.__qualname__}>"


def _wrap(stream: Any, recorder: Recorder) -> Any:
    return _class_for(cast("Any", type(stream)))(stream, recorder)


@functools.lru_cache(maxsize=64)
def _class_for(kind: Any) -> type[_Recorded]:
    """A class with those of the methods below that a kind of stream has.

    Python asks a class for them, not an object, and so do turns: they tell by them what it is.
    """
    return type(
        "_Recorded",
        (_Recorded,),
        {
            "__slots__": (),
            "__class__": property(_class_of_stream),  # a turn refuses some streams by theirs
            **{name: way for name, way in _WAYS.items() if hasattr(kind, name)},
        },
    )


# They are methods of those classes, which no type checker can know.


def _class_of_stream(self: Any) -> Any:
    return self._finalcall_stream.__class__


def _again(recorded: Any, given: Any) -> Any:
    """What a stream gave in its own place, recorded; mostly it is the stream itself."""
    return recorded if given is recorded._finalcall_stream else _wrap(given, recorded.recorder)


def _iter(self: Any) -> Any:
    return _again(self, iter(self._finalcall_stream))


def _next(self: Any) -> Any:
    try:
        native = next(self._finalcall_stream)
    except StopIteration:
        self.recorder.end()
        raise
    except BaseException as error:
        self.recorder.end(error)
        raise
    self.recorder.take(native)
    return native


def _aiter(self: Any) -> Any:
    return _again(self, aiter(self._finalcall_stream))


async def _anext(self: Any) -> Any:
    try:
        native = await anext(self._finalcall_stream)
    except StopAsyncIteration:
        self.recorder.end()
        raise
    except BaseException as error:
        self.recorder.end(error)
        raise
    self.recorder.take(native)
    return native


def _enter(self: Any) -> Any:
    return _again(self, self._finalcall_stream.__enter__())


def _exit(self: Any, *raised: Any) -> Any:
    self.recorder.leave()
    return self._finalcall_stream.__exit__(*raised)


async def _aenter(self: Any) -> Any:
    return _again(self, await self._finalcall_stream.__aenter__())


async def _aexit(self: Any, *raised: Any) -> Any:
    self.recorder.leave()
    return await self._finalcall_stream.__aexit__(*raised)


def _await(self: Any) -> Generator[Any, Any, Any]:
    return _again(self, (yield from self._finalcall_stream.__await__()))


_WAYS: Final[Mapping[str, Callable[..., Any]]] = {
    "__aenter__": _aenter,
    "__aexit__": _aexit,
    "__aiter__": _aiter,
    "__anext__": _anext,
    "__await__": _await,
    "__enter__": _enter,
    "__exit__": _exit,
    "__iter__": _iter,
    "__next__": _next,
}
"""How each way of reading a stream is recorded."""
