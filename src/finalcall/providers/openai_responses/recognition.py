"""Tells a first event of the Responses API from another service's."""

from __future__ import annotations

from typing import Any, Final

from finalcall.providers.native import read, read_text

_PREFIXES: Final = ("response.", "codex.", "responsesapi.")
"""How the types of its events begin: the backend of ChatGPT tells of quotas and of timings too, at
any time, before the response's own first event as well."""


def recognises(native: Any) -> bool:
    """Whether a native event is one of the Responses API's; the realtime API has the same types."""
    kind = read_text(native, "type")
    if not kind:
        native = read(native, "data")
        kind = read_text(native, "type")
    if kind == "error":
        return read(native, "sequence_number") is not None or (
            read(native, "error") is None and bool(read_text(native, "message"))
        )
    realtime = read_text(read(native, "response"), "object").startswith("realtime")
    return kind.startswith(_PREFIXES) and not realtime
