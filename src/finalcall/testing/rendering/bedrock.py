"""A reply as the events of Bedrock's ConverseStream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering.base import SIGNATURE
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens


def render(parts: Sequence[Part], stop: str | None, tokens: Tokens) -> list[RecordedEvent]:
    """A reply as the events of ConverseStream; each part is a content block.

    Only a call's block has a start, as the service sends it.
    """
    events = [RecordedEvent("messageStart", {"role": "assistant"})]
    for index, part in enumerate(parts):
        events += _block(index, part)
    if stop is None:
        return events
    events.append(RecordedEvent("messageStop", {"stopReason": stop}))
    if tokens.is_reported:
        given, written = tokens.counts
        usage = {"inputTokens": given, "outputTokens": written, "totalTokens": given + written}
        events.append(RecordedEvent("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}))
    return events


def _block(index: int, part: Part) -> list[RecordedEvent]:
    where = {"contentBlockIndex": index}
    events: list[RecordedEvent] = []
    deltas: list[dict[str, Any]]
    match part:
        case Text(pieces):
            deltas = [{"text": piece} for piece in pieces]
        case Thinking(pieces):
            deltas = [{"reasoningContent": {"text": piece}} for piece in pieces]
            deltas.append({"reasoningContent": {"signature": SIGNATURE}})
        case Call(call_id, name, pieces):
            start = {"toolUse": {"toolUseId": call_id, "name": name}}
            events.append(RecordedEvent("contentBlockStart", {**where, "start": start}))
            deltas = [{"toolUse": {"input": piece}} for piece in pieces]
    events += [RecordedEvent("contentBlockDelta", {**where, "delta": delta}) for delta in deltas]
    if not isinstance(part, Call) or part.closed:
        events.append(RecordedEvent("contentBlockStop", where))
    return events
