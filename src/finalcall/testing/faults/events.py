"""A script's bytes as the events they mean, and events as a script's bytes again."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
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

Item: TypeAlias = RecordedEvent | Step
"""An event, or what else the server does; bytes that mean no event stay a `Send`."""


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
            yield _read_block(block)


def _read_block(block: bytes) -> Item:
    event = parse_event(block)
    if event is None:
        return Send(block + b"\n\n")  # a comment
    if event.data == b"[DONE]":
        return RecordedEvent(event.name, "[DONE]")
    try:
        return RecordedEvent(event.name, json.loads(event.data))
    except ValueError:
        return Send(block + b"\n\n")


def _read_natives(script: Script) -> Iterator[Item]:
    decoder = Decoder()
    keyed = FRAMINGS[script.content_type] == "aws"
    for step in script.steps:
        if not isinstance(step, Send):
            yield step
            continue
        natives = decoder.feed(step.data)
        if not natives and not step.data.strip():
            yield step  # a keep-alive
        for native in natives:
            if is_object(native) and native:
                yield _unkeyed(copy.deepcopy(native)) if keyed else RecordedEvent(None, native)


def _unkeyed(native: dict[str, Any]) -> RecordedEvent:
    """Bedrock's events are keyed by their name; a model's own, in chunks, are not."""
    name, data = next(iter(native.items()))
    keyed = len(native) == 1 and is_object(data)
    return RecordedEvent(name, data) if keyed else RecordedEvent(None, native)
