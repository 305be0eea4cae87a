"""Recorded streams: read from files, given back as native dicts or in the provider's wire format.

A recording is JSON lines: first a header, an object of facts about the recording, then one line
`{"event": name or null, "data": payload}` an event, and perhaps `{"ended": word}` for how it ended.
A raw dump of server-sent events is one too.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, final

from finalcall.outcomes import Cause
from finalcall.testing.recorded_lines import RecordedEnd, RecordedLines, read_lines, sort_lines
from finalcall.testing.steps import (
    SSE_CONTENT_TYPE,
    CloseAbruptly,
    Pings,
    Script,
    Send,
    Stall,
    Step,
)
from finalcall.wire.natives import named_event
from finalcall.wire.sse import SSESplitter, parse_event

Framing: TypeAlias = Literal["sse", "ndjson", "json-array", "aws"]
"""How events are put into bytes."""

_FRAMING_OF_DIALECT: Final[Mapping[str, Framing]] = {
    "ollama": "ndjson",
    "bedrock-converse": "aws",
}
"""The dialects that are not server-sent events."""

_NAMED_DIALECTS: Final = frozenset({"anthropic", "openai-responses", "cohere"})
"""The dialects whose clients read an event only under its name, which repeats its type."""

CONTENT_TYPES: Final[Mapping[Framing, str]] = {
    "sse": SSE_CONTENT_TYPE,
    "ndjson": "application/x-ndjson",
    "json-array": "application/json",
    "aws": "application/vnd.amazon.eventstream",
}
"""The content type of each framing."""

_PING_EVERY: Final = 1.0

_LAST_STEPS: Final[Mapping[Cause, Step]] = {
    Cause.DISCONNECTED: CloseAbruptly(),
    Cause.PROVIDER_ERROR: CloseAbruptly(),
    Cause.MALFORMED: CloseAbruptly(),
    Cause.IDLE: Stall(),
    Cause.STALLED: Pings(_PING_EVERY),
}
"""What a server does after the events, by what ended the stream; else the body ends properly, as
nobody knows how one went on that its reader left."""


@final
class RecordedEvent(NamedTuple):
    """One event of a recording.

    Attributes:
        event: Its name on the wire, or None.
        data: Its payload: parsed JSON, or a string such as `[DONE]` that is none.
    """

    event: str | None
    data: Any


@final
@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded stream.

    Attributes:
        header: What is known about it; `dialect` and `framing` are read here.
        events: Its events, in order.
        ended: How it ended; `None` where nobody knows.
    """

    header: Mapping[str, Any]
    events: tuple[RecordedEvent, ...]
    ended: RecordedEnd | None = None

    @classmethod
    def read(cls, path: str | Path) -> Recording:
        """Read a recording, or a raw dump of server-sent events, from a file.

        Args:
            path: The file. Where it ends in the middle of a line, as when its writer died, the
                recording is what comes before that, and its `ended.how` is `"cut"`.

        Raises:
            ValueError: The file is neither. The message says which line is broken.
        """
        try:
            return cls.parse(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def parse(cls, content: bytes) -> Recording:
        """Read the content of such a file.

        Args:
            content: Its bytes.

        Raises:
            ValueError: They are neither a recording nor a dump.
        """
        if not content.lstrip().startswith(b"{"):
            return cls({"framing": "sse"}, _read_dump(content))
        (header, *lines), is_cut = read_lines(content)
        events, ended = sort_lines(RecordedLines(lines, is_cut))
        return cls(
            header.fields, tuple(RecordedEvent(one["event"], one["data"]) for one in events), ended
        )

    @property
    def framing(self) -> Framing:
        """The wire format that the provider's own clients read."""
        if self.header.get("framing") == "eventstream":
            return "aws"
        return _FRAMING_OF_DIALECT.get(self.header.get("dialect", ""), "sse")

    def to_dicts(self) -> list[Any]:
        """The events as a client's native dicts, and strings such as `[DONE]`."""
        return [
            {event.event: event.data} if self._is_keyed(event) else named_event(*event)
            for event in self.events
        ]

    def to_frames(self, framing: Framing | None = None) -> list[bytes]:
        """The body of the response in bytes, one item an event.

        Args:
            framing: Another wire format than the provider's own.
        """
        return _WRITERS[framing or self.framing](self)

    def to_bytes(self, framing: Framing | None = None) -> bytes:
        """The body of the response.

        Args:
            framing: Another wire format than the provider's own.
        """
        return b"".join(self.to_frames(framing))

    def to_script(self, framing: Framing | None = None) -> Script:
        """The response as a script for `FaultServer`, one `Send` an event, which ends as it did.

        Args:
            framing: Another wire format than the provider's own.
        """
        steps: list[Step] = [*map(Send, self.to_frames(framing))]
        content_type = CONTENT_TYPES[framing or self.framing]
        cause = None if self.ended is None else self.ended.cause
        if cause is Cause.STALLED and content_type != SSE_CONTENT_TYPE:
            cause = Cause.IDLE  # only server-sent events have a keep-alive that every client knows
        if cause is not None and cause in _LAST_STEPS:
            steps.append(_LAST_STEPS[cause])
        return Script(tuple(steps), content_type, self.header.get("dialect"))

    def _is_keyed(self, event: RecordedEvent) -> bool:
        """Whether the client's dict has the event's name as its key, as boto3 gives it."""
        return self.header.get("dialect") == "bedrock-converse" or _is_exception(event)


def _is_exception(event: RecordedEvent) -> bool:
    return event.event is not None and event.event.endswith("Exception")


def _read_dump(content: bytes) -> tuple[RecordedEvent, ...]:
    splitter = SSESplitter(max_event_bytes=len(content))
    blocks = (*splitter.feed(content), *splitter.flush())
    parsed = [parse_event(block) for block in blocks if isinstance(block, bytes)]
    events = [RecordedEvent(event.name, _json_or_text(event.data)) for event in parsed if event]
    if not events:
        raise ValueError(
            "the content begins with no JSON object and holds no server-sent event; expected a "
            "recording (JSON lines, a header first) or a dump of server-sent events"
        )
    return tuple(events)


def _json_or_text(data: bytes) -> Any:
    text = data.decode()
    try:
        return json.loads(text)
    except ValueError:
        return text


def _to_json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only an escape can carry it
        return json.dumps(value, separators=(",", ":")).encode()


def _write_sse(recording: Recording) -> list[bytes]:
    named = recording.header.get("dialect") in _NAMED_DIALECTS
    frames: list[bytes] = []
    for name, data in recording.events:
        text = data.encode() if isinstance(data, str) else _to_json(data)
        lines = [b"data: " + line for line in text.split(b"\n")]
        shown = _type_of(data) if named and name is None else name
        if shown is not None:
            lines.insert(0, b"event: " + shown.encode())
        frames.append(b"\n".join(lines) + b"\n\n")
    return frames


def _type_of(data: Any) -> str | None:
    return cast("dict[str, Any]", data).get("type") if isinstance(data, dict) else None


def _write_ndjson(recording: Recording) -> list[bytes]:
    return [_to_json(native) + b"\n" for native in recording.to_dicts()]


def _write_json_array(recording: Recording) -> list[bytes]:
    texts = [_to_json(native) for native in recording.to_dicts()]
    if not texts:
        return [b"[]"]
    texts[0] = b"[" + texts[0]
    texts[1:] = [b",\n" + text for text in texts[1:]]
    texts[-1] += b"]"
    return texts


def _write_aws(recording: Recording) -> list[bytes]:
    frames: list[bytes] = []
    converse = recording.header.get("dialect") == "bedrock-converse"
    for event in recording.events:
        payload = _to_json(event.data)
        kind = "exception" if _is_exception(event) else "event"
        name = event.event
        if kind == "event" and not converse:
            # InvokeModelWithResponseStream packs the model's own event.
            name, payload = (
                "chunk",
                _to_json({"bytes": base64.b64encode(payload).decode()}),
            )
        frames.append(encode_aws_frame(kind, name or "", payload))
    return frames


def encode_aws_frame(kind: str, name: str, payload: bytes) -> bytes:
    """One frame of an AWS event stream.

    Args:
        kind: `event` or `exception`.
        name: Which.
        payload: The body, JSON.
    """
    headers = b"".join(
        struct.pack(">B", len(key)) + key.encode() + struct.pack(">BH", 7, len(value)) + value
        for key, value in (
            (f":{kind}-type", name.encode()),
            (":content-type", b"application/json"),
            (":message-type", kind.encode()),
        )
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return frame + struct.pack(">I", zlib.crc32(frame))


_WRITERS: Final[Mapping[Framing, Callable[[Recording], list[bytes]]]] = {
    "sse": _write_sse,
    "ndjson": _write_ndjson,
    "json-array": _write_json_array,
    "aws": _write_aws,
}
