"""What one frame of the wire means: a dict as an SDK would give it, or the word `[DONE]`.

Frames that mean nothing readable become an `Undecodable`. Only the envelope is read here; argument
text inside it stays text, and is judged elsewhere, strictly.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import jiter

from finalcall.wire.aws import EventStreamMessage
from finalcall.wire.undecodable import Undecodable

DONE: Final = "[DONE]"
"""The closing marker of several SSE services."""

MAX_ENVELOPE_DEPTH: Final = 256
"""Nesting of an envelope: the strict limit on arguments, and room for what stands around them."""

_KEEP_ALIVE_NAMES: Final = frozenset({"ping", "keepalive", "keep-alive", "heartbeat"})


def read_json(data: bytes, where: str) -> Any:
    """Parse a frame's JSON.

    Args:
        data: The text, UTF-8.
        where: Which frame it is, for the report.

    Returns:
        The value, or an `Undecodable`.
    """
    try:
        return jiter.from_json(data)
    except ValueError:
        return _read_odd_json(data, where)


def _read_odd_json(data: bytes, where: str) -> Any:
    """Second try, for text that jiter refuses and that is JSON all the same.

    Services cut an argument between the two halves of an escaped surrogate pair, so each of two
    events holds a lone one. The event must not be lost: its halves are joined later.
    """
    try:
        value: Any = json.loads(data.decode())
    except UnicodeDecodeError:
        return Undecodable(f"{where}: not UTF-8")
    except ValueError:
        return Undecodable(f"{where}: not JSON")
    except RecursionError:
        return Undecodable(f"{where}: JSON nested deeper than {MAX_ENVELOPE_DEPTH} levels")
    if _is_deeper(value, MAX_ENVELOPE_DEPTH):
        return Undecodable(f"{where}: JSON nested deeper than {MAX_ENVELOPE_DEPTH} levels")
    return value


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below += cast("dict[str, Any]", node).values()
            elif isinstance(node, list):
                below += cast("Sequence[Any]", node)
        level = below
    return any(isinstance(node, dict | list) for node in level)


def read_object(data: bytes, where: str) -> Any:
    """Parse a frame that must be a JSON object.

    Returns:
        A dict, or an `Undecodable`.
    """
    value = read_json(data, where)
    if isinstance(value, dict | Undecodable):
        return cast("dict[str, Any] | Undecodable", value)
    return Undecodable(f"{where}: JSON, but no object")


def is_keep_alive(name: str | None, data: bytes) -> bool:
    """Whether a server-sent event says nothing, whatever stands in it.

    Gateways put what others send as a comment into an event: they name it so, pass the comment
    on as data, or send an empty value. An error says that it is one by its name alone.

    Args:
        name: The event's name, or None.
        data: Its data.
    """
    if name == "error":
        return False
    data = data.strip()
    if data in (b"", b'""', b"null") or data.startswith(b":"):
        return True
    return name in _KEEP_ALIVE_NAMES and not data.startswith(b"{")


def read_sse(name: str | None, data: bytes) -> Any:
    """Read one server-sent event.

    Args:
        name: The event's name, or None.
        data: Its data.

    Returns:
        A dict, the string `[DONE]`, or an `Undecodable`.
    """
    if name == "error":
        value = read_json(data, "server-sent event")
        if isinstance(value, Undecodable):
            value = data.decode("utf-8", "replace")  # some servers send a bare sentence
        return named_event(name, value)
    if data.strip() == b"[DONE]":
        return DONE
    return read_object(data, "server-sent event")


def named_event(name: str | None, value: Any) -> Any:
    """Put into an event what its name alone says.

    Names repeat what the data says, so they are dropped; but an `error` whose data does not say
    that it is one becomes `{"type": "error", "error": data}`. The type of such data is mostly what
    kind of error it is; where that stands beside the error itself, the event says `error` instead.
    """
    if name != "error":
        return value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        if "error" in (fields.get("type"), fields.get("event_type")):
            return fields
        if fields.get("error"):
            return {**fields, "type": "error"} if "type" in fields else fields
    return {"type": "error", "error": cast("Any", value)}


def read_event_stream(message: EventStreamMessage) -> Any:
    """Read one AWS event stream frame.

    Returns:
        `{event: payload}`, the form in which boto3 gives an event, an exception or an error; for
        a `chunk` of InvokeModelWithResponseStream the model's own event. Or an `Undecodable`.
    """
    where = "AWS event stream"
    if message.kind == "error":
        text = message.payload.decode("utf-8", "replace")
        return {message.name: {"message": text}}
    payload = read_object(message.payload or b"{}", where)
    if isinstance(payload, Undecodable):
        return payload
    if (message.kind, message.name) != ("event", "chunk"):
        return {message.name: payload}
    try:
        inner = base64.b64decode(payload["bytes"], validate=True)
    except (KeyError, TypeError, ValueError):
        return Undecodable(f"{where}: a chunk without readable bytes")
    return read_object(inner, f"{where}, chunk")
