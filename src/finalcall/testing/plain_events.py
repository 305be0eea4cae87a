"""Native events of any form, SDK objects and dicts, as a recording holds them: plain JSON."""

from __future__ import annotations

import importlib
from typing import Any, cast

from finalcall.narrow import is_mapping
from finalcall.providers import UnrecognisedStream, recognise
from finalcall.providers.native import to_plain
from finalcall.testing.recordings import RecordedEvent
from finalcall.wire.undecodable import Undecodable


def dialect_of(native: Any) -> str | None:
    """Whose event it is, or `None` where it does not tell.

    Args:
        native: An SDK object, a dict, or a string such as `[DONE]`.
    """
    try:
        return recognise(native).name
    except UnrecognisedStream:
        return None


def plain_events(native: Any, dialect: str | None) -> list[RecordedEvent]:
    """What a recording holds of a native event.

    Args:
        native: An SDK object, a dict, a string such as `[DONE]`, or an `Undecodable`.
        dialect: Whose it is, where that is known.

    Raises:
        TypeError: It is none of those, so that nothing is known of its fields.
    """
    if isinstance(native, str):
        return [RecordedEvent(None, native)]
    if isinstance(native, Undecodable):
        return [RecordedEvent(None, f"({native.what})")]
    plain = _to_plain(native)
    if not is_mapping(plain) or (not plain and not is_mapping(native)):
        raise TypeError(
            f"{type(native).__module__}.{type(native).__qualname__} cannot be recorded; expected "
            "an SDK's event, a dict or bytes"
        )
    if dialect == "bedrock-converse" or _is_exception(plain):
        return [RecordedEvent(name, data) for name, data in plain.items()]
    if dialect == "mistral" and set(plain) == {"data"}:  # what its client puts around an event
        plain = plain["data"]
    return [RecordedEvent(None, plain)]


def _is_exception(plain: Any) -> bool:
    return len(plain) == 1 and next(iter(plain)).endswith("Exception")


def _to_plain(native: Any) -> Any:
    if isinstance(native, tuple):  # xAI's pair of the reply so far and the increment
        native = cast("Any", native[-1])
    native = getattr(native, "proto", native)
    if hasattr(native, "DESCRIPTOR"):
        # Who holds a protobuf message has its package.
        return importlib.import_module("google.protobuf.json_format").MessageToDict(native)
    if hasattr(native, "tool_call_chunks"):  # LangChain's type is a default, which others leave out
        return native.model_dump(mode="json", warnings=False)
    return to_plain(native)
