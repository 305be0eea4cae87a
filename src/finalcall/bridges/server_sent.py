"""One part of a front end's stream as a server-sent event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_sse(part: Mapping[str, Any]) -> bytes:
    """Give the bytes of one part.

    Args:
        part: What a bridge gave.
    """
    # ASCII alone: a stream may carry half of a surrogate pair, which UTF-8 cannot.
    return b"data: " + json.dumps(part, separators=(",", ":")).encode() + b"\n\n"
