"""Hand-written events of Gemini Interactions, and the settler that takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from google.genai._gaos.types.interactions.interactionsseevent import InteractionSSEEvent
from pydantic import TypeAdapter

from finalcall import Settler
from tests.expectation import Settled, settled

ARGUMENTS = {"port": "Brest"}
GOOD: Settled = ("fc_1", "get_tide", "dispatchable", ARGUMENTS)

_EVENT: TypeAdapter[Any] = TypeAdapter(InteractionSSEEvent)


def created(interaction_id: str = "v1_1") -> dict[str, Any]:
    interaction = {"id": interaction_id, "status": "in_progress", "object": "interaction"}
    return {"event_type": "interaction.created", "interaction": interaction}


def status(word: str, **more: Any) -> dict[str, Any]:
    event = {"event_type": "interaction.status_update", "interaction_id": "v1_1", "status": word}
    return {**event, **more}


def start(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_type": "step.start", "index": index, "step": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_type": "step.delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"event_type": "step.stop", "index": index}


def completed(
    word: str | None = "requires_action", interaction_id: str = "v1_1", **more: Any
) -> dict[str, Any]:
    interaction = {"id": interaction_id, "status": word, **more}
    return {"event_type": "interaction.completed", "interaction": interaction}


def opened(index: int = 0, call_id: str = "fc_1", name: str = "get_tide") -> dict[str, Any]:
    return start(index, "function_call", id=call_id, name=name, arguments={})


def arguments(text: Any, index: int = 0) -> dict[str, Any]:
    return delta(index, "arguments_delta", arguments=text)


def call(
    index: int = 0, call_id: str = "fc_1", text: str | None = None, name: str = "get_tide"
) -> list[dict[str, Any]]:
    """A whole call, its text in two pieces."""
    text = json.dumps(ARGUMENTS) if text is None else text
    middle = len(text) // 2
    pieces = [arguments(text[:middle], index), arguments(text[middle:], index)]
    return [opened(index, call_id, name), *pieces, stop(index)]


def content(event: str, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    """An event of the API's first version, which had contents in place of steps."""
    made = {"event_type": f"content.{event}", "index": index, **fields}
    return {name: value for name, value in made.items() if value is not None}


def words(index: int, text: str) -> list[dict[str, Any]]:
    return [start(index, "model_output"), delta(index, "text", text=text), stop(index)]


def thought(index: int, signature: str = "c2ln") -> list[dict[str, Any]]:
    return [
        start(index, "thought"),
        delta(index, "thought_summary", content={"type": "text", "text": "Hm."}),
        delta(index, "thought_signature", signature=""),
        delta(index, "thought_signature", signature=signature),
        stop(index),
    ]


def settle(*events: Any, **options: Any) -> Settler:
    """Feed events to a settler, then end it."""
    settler = Settler("gemini-interactions", **{"tools": None, **options})
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Settled]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def names(settler: Settler) -> set[str]:
    return {anomaly.name for anomaly in settler.anomalies}


def as_objects(events: Sequence[Any]) -> list[Any]:
    """Events as the SDK gives them; it keeps `[DONE]` to itself."""
    return [_EVENT.validate_python(event) for event in events if event != "[DONE]"]
