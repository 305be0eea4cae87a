"""A script's bytes as the events they mean, and events as a script's bytes again."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from finalcall.narrow import is_object
from finalcall.providers import UnrecognisedStream, recognise
from finalcall.testing.faults.dialects import DIALECTS, Dialect, WireCall, calls_of
from finalcall.testing.recordings import CONTENT_TYPES, Framing, RecordedEvent, Recording
from finalcall.testing.steps import NotApplicable, Script, Send, Step
from finalcall.wire.decoder import Decoder
from finalcall.wire.sse import SSESplitter, parse_event
from finalcall.wire.undecodable import Undecodable

FRAMINGS: Final[Mapping[str, Framing]] = {kind: name for name, kind in CONTENT_TYPES.items()}
"""By content type."""

_BLANK_LINE: Final = re.compile(rb"\n\n|\r\n\r\n|\r\r")
_BRACKETS_AND_STRINGS: Final = re.compile(rb'[{}]|"(?:[^"\\]|\\.)*"', re.DOTALL)
_SMALLEST_MESSAGE: Final = 16

Item: TypeAlias = RecordedEvent | Step
"""An event, or what else the server does; bytes that mean no event stay a `Send`, as they are."""


@final
@dataclass(slots=True)
class WireEvents:
    """What a script sends, to be changed in place.

    Attributes:
        script: The script.
        dialect: Whose events they are.
        items: The events and other steps, in order. The events are copies.
    """

    script: Script
    dialect: Dialect
    items: list[Item]

    @property
    def events(self) -> dict[int, RecordedEvent]:
        """The events, by their number among the items."""
        return {n: one for n, one in enumerate(self.items) if isinstance(one, RecordedEvent)}

    @property
    def calls(self) -> list[WireCall]:
        """The calls. Each time they are looked for anew.

        Raises:
            NotApplicable: There are none.
        """
        calls = calls_of(self.dialect, self.events)
        if not calls:
            raise NotApplicable(
                "the stream announces no call; expected one for the fault to strike"
            )
        return calls

    def to_script(self) -> Script:
        """The script that sends them."""
        framing = FRAMINGS[self.script.content_type]
        header = {"dialect": self.dialect.name}
        frames = iter(Recording(header, tuple(self.events.values())).to_frames(framing))
        steps = [Send(next(frames)) if isinstance(x, RecordedEvent) else x for x in self.items]
        return self.script.with_steps(*steps)


def read_events(script: Script) -> WireEvents:
    """The events of a script.

    Args:
        script: The script.

    Raises:
        NotApplicable: Its bytes are in no known wire format, or in nobody's words.
    """
    if script.content_type not in FRAMINGS:
        raise NotApplicable(
            f"a body of type {script.content_type!r} holds no events that are known; "
            f"expected one of {', '.join(sorted(FRAMINGS))}"
        )
    read = _read_sse if FRAMINGS[script.content_type] == "sse" else _read_natives
    items = list(read(script))
    return WireEvents(script, _dialect(script, items), items)


def first_call_at(script: Script) -> int:
    """How many sends it takes until the first call has some of its arguments.

    Args:
        script: The script.

    Raises:
        NotApplicable: There is no call in it, or its events are not known.
    """
    wire = read_events(script)
    number = wire.calls[0].amid
    wanted = sum(isinstance(one, RecordedEvent) for one in wire.items[: number + 1])
    return _sends_until(script, wanted)


def _sends_until(script: Script, events: int) -> int:
    decoder = Decoder()
    came = sends = 0
    for step in script.steps:
        if isinstance(step, Send):
            sends += 1
            came += sum(not isinstance(one, Undecodable) for one in decoder.feed(step.data))
            if came >= events:
                break
    return sends


def _dialect(script: Script, items: list[Item]) -> Dialect:
    if script.dialect is not None and script.dialect in DIALECTS:
        return DIALECTS[script.dialect]
    recording = Recording({}, tuple(one for one in items if isinstance(one, RecordedEvent))[:1])
    try:
        return DIALECTS[recognise(recording.to_dicts()[0]).name]
    except (IndexError, KeyError, UnrecognisedStream):
        raise NotApplicable(
            "nobody's words are recognised in the stream; expected the events of one of "
            f"{', '.join(sorted(DIALECTS))}"
        ) from None


def _read_sse(script: Script) -> Iterator[Item]:
    splitter = SSESplitter(max_event_bytes=len(script.body()))
    for step in script.steps:
        if not isinstance(step, Send):
            yield step
            continue
        for block in splitter.feed(step.data):
            if isinstance(block, bytes):
                yield _read_block(block)
    for block in splitter.flush():
        if isinstance(block, bytes):
            yield _read_block(block, end=b"")


def _read_block(block: bytes, end: bytes = b"\n\n") -> Item:
    event = parse_event(block)
    if event is None:
        return Send(block + end)  # a comment
    if event.data == b"[DONE]":
        return RecordedEvent(event.name, "[DONE]")
    try:
        return RecordedEvent(event.name, json.loads(event.data))
    except ValueError:
        return Send(block + end)


def _read_natives(script: Script) -> Iterator[Item]:
    keyed = FRAMINGS[script.content_type] == "aws"
    for frame in _frames(script):
        if not isinstance(frame, bytes):
            yield frame
            continue
        native = _native_of(frame)
        if native is not None:
            yield _unkeyed(native) if keyed else RecordedEvent(None, native)
        elif frame.strip(b"[], \r\t"):  # an array's own marks are written with its events
            yield Send(frame)


def whole_at(script: Script) -> set[int]:
    """The bytes of a body before which no event is half sent.

    Args:
        script: The script.
    """
    if FRAMINGS[script.content_type] == "sse":
        return {0, *(found.end() for found in _BLANK_LINE.finditer(script.body()))}
    frames = [frame for frame in _frames(script) if isinstance(frame, bytes)]
    return {0, *itertools.accumulate(map(len, frames))}


def _frames(script: Script) -> Iterator[bytes | Step]:
    """The frames of a body that is no server-sent events, and the other steps between them.

    The comma of an array is at the beginning of a frame. What is left at the end is the last one.
    """
    cut = _CUTS[FRAMINGS[script.content_type]]
    rest = b""
    for step in script.steps:
        if not isinstance(step, Send):
            yield step
            continue
        rest += step.data
        while size := cut(rest):
            yield rest[:size]
            rest = rest[size:]
    if rest:
        yield rest


def _cut_line(data: bytes) -> int:
    return data.find(b"\n") + 1


def _cut_item(data: bytes) -> int:
    """The size of the first item of an array, with its comma; of a line end in front of it."""
    if data.startswith(b"\n"):
        return 1
    level = 0
    for token in _BRACKETS_AND_STRINGS.finditer(data.lstrip(b"[, \r\n\t")):
        level += {b"{": 1, b"}": -1}.get(token[0], 0)
        if level <= 0:
            return len(data) - len(data.lstrip(b"[, \r\n\t")) + token.end()
    return 0


def _cut_message(data: bytes) -> int:
    """An AWS frame begins with its own size."""
    size = int.from_bytes(data[:4], "big")
    return size if _SMALLEST_MESSAGE <= size <= len(data) else 0


_CUTS: Final[Mapping[Framing, Callable[[bytes], int]]] = {
    "ndjson": _cut_line,
    "json-array": _cut_item,
    "aws": _cut_message,
}
"""By framing: how many bytes the first frame has; 0 where there are too few."""


def _native_of(frame: bytes) -> dict[str, Any] | None:
    """The event that a frame means, if it means one."""
    decoder = Decoder()
    natives = [*decoder.feed(frame.lstrip(b"[, \r\n\t")), *decoder.end()]
    return natives[0] if len(natives) == 1 and is_object(natives[0]) and natives[0] else None


def _unkeyed(native: dict[str, Any]) -> RecordedEvent:
    """Bedrock's events are keyed by their name; a model's own, in chunks, are not."""
    name, data = next(iter(native.items()))
    keyed = len(native) == 1 and is_object(data)
    return RecordedEvent(name, data) if keyed else RecordedEvent(None, native)
