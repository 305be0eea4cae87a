"""What the renderings of all providers have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from finalcall.narrow import is_object
from finalcall.strict import NotStrictJSON, parse_strict
from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.reply_parts import Call, Part, Tokens

Renderer: TypeAlias = Callable[[Sequence[Part], str | None, Tokens], list[RecordedEvent]]
"""Renders parts, the provider's word for the stop (`None` for none, and then without an end
marker), and usage."""

MODEL: Final = "scripted"
"""The name of the model that says it all."""

SIGNATURE: Final = "c2lnbmF0dXJl"
"""Stands for what a provider signs its model's thinking with, base64."""

DONE: Final = RecordedEvent(None, "[DONE]")
"""The closing marker of several services."""

REFUSED: Final = "I cannot help with that."
"""What a model says that refuses."""


def typed(events: Sequence[dict[str, Any]], name: str = "type") -> list[RecordedEvent]:
    """Events whose name on the wire repeats a field.

    Args:
        events: The payloads.
        name: The field.
    """
    return [RecordedEvent(event[name], event) for event in events]


def unnamed(events: Sequence[dict[str, Any]]) -> list[RecordedEvent]:
    """Events without a name on the wire.

    Args:
        events: The payloads.
    """
    return [RecordedEvent(None, event) for event in events]


def arguments_object(call: Call) -> dict[str, Any] | None:
    """The arguments, for a service that sends a call whole and its arguments as an object.

    Such a service parses the model's text itself, so it has no form for a text that is not one
    JSON object, nor for a call that never ended.

    Args:
        call: The call; a blank text is an empty object.

    Returns:
        The object, or `None` where the service has no form for the call.
    """
    if not call.closed:
        return None
    try:
        value: Any = parse_strict(call.arguments.strip() or "{}")
    except NotStrictJSON:
        return None
    return value if is_object(value) else None
