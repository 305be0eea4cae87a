"""Where the recordings are, and small streams made by hand for tests that need only one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from finalcall.testing import RecordedEvent, Recording

DIRECTORY: Final = Path(os.environ.get("FINALCALL_CORPUS", Path(__file__).parent / "fixtures"))
"""The recordings of this repository, or another directory of them."""

OUT_OF_SCOPE: Final = frozenset(
    {"openai-realtime", "gemini-live", "openai-assistants", "cloudflare-native", "none"}
)
"""Dialects that are not spoken here; "none" is a file that is no recording."""


def recordings() -> dict[str, Path]:
    """Every recording of a dialect in scope, by its path in the directory."""
    found: dict[str, Path] = {}
    for path in sorted(DIRECTORY.glob("*/*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            header = json.loads(next(lines))
        if header.get("dialect", "none") not in OUT_OF_SCOPE:
            found[path.relative_to(DIRECTORY).as_posix()] = path
    return found


def anthropic_tool_call() -> Recording:
    """A small message with one call, in the shape of the Messages API."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    block: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "get_tide", "input": {}}
    pieces = ['{"port": "Sète', ' 🌊"', "}"]
    payloads: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]
    return Recording(
        {"provider": "anthropic", "dialect": "anthropic", "framing": "sse"},
        tuple(RecordedEvent(payload["type"], payload) for payload in payloads),
    )
