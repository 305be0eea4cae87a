"""Ways in which a model's stream goes wrong, as functions on scripts that can be combined.

`script.with_faults(stall_after(3), pings(0.1))` is a stream that sends three events and then
nothing but keep-alives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from finalcall.testing.steps import (
    LAST_STEPS,
    SSE_CONTENT_TYPE,
    Close,
    CloseAbruptly,
    Fault,
    Pings,
    Reset,
    Script,
    Send,
    Stall,
    Step,
)
from finalcall.wire.decoder import Decoder

KEEP_ALIVES: Final[Mapping[str, bytes]] = {
    SSE_CONTENT_TYPE: b": ping\n\n",
    "application/x-ndjson": b"\n",
    "application/json": b"\n",
}
"""Bytes that mean nothing, by content type."""

_ENDING_TYPES: Final = frozenset(
    {
        "message_stop",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "message-end",
        "interaction.completed",
    }
)
_ENDING_FIELDS: Final = (
    ("delta", "stop_reason"),
    ("choices", "finish_reason"),
    ("candidates", "finishReason"),
    ("messageStop", "stopReason"),
    ("done",),
)
"""Where the dialects say why or that the message ended; a list on the way stands for its items."""

_CLEAN_END: Final = Close()
_LOST: Final = CloseAbruptly()


def cut_after(events: int, then: Step = _CLEAN_END) -> Fault:
    """Send only the first events.

    Args:
        events: How many.
        then: What follows; by default the body ends cleanly, as a proxy ends it.
    """

    def fault(script: Script) -> Script:
        kept: list[Step] = []
        left = events
        for step in script.steps:
            if isinstance(step, LAST_STEPS) or (isinstance(step, Send) and left == 0):
                break
            left -= isinstance(step, Send)
            kept.append(step)
        return Script((*kept, then), script.content_type)

    return fault


def cut_at_byte(size: int, then: Step = _LOST) -> Fault:
    """Send only the first bytes of the body, wherever in an event or a character that is.

    Args:
        size: How many.
        then: What follows; by default the connection is lost.
    """

    def fault(script: Script) -> Script:
        kept: list[Step] = []
        left = size
        for step in script.steps:
            if isinstance(step, LAST_STEPS) or left == 0:
                break
            if isinstance(step, Send):
                part = step.data[:left]
                left -= len(part)
                kept.append(Send(part))
            else:
                kept.append(step)
        return Script((*kept, then), script.content_type)

    return fault


def stall_after(events: int) -> Fault:
    """Send the first events, then nothing, with the body left open.

    Args:
        events: How many.
    """
    return cut_after(events, Stall())


def reset_after(events: int) -> Fault:
    """Send the first events, then reset the connection.

    Args:
        events: How many.
    """
    return cut_after(events, Reset())


def end_without_terminal(script: Script) -> Script:
    """End the body cleanly before the first event that says how the message ended."""
    decoder = Decoder()
    events = 0
    for step in script.steps:
        if isinstance(step, Send):
            if any(_says_how_it_ended(native) for native in decoder.feed(step.data)):
                break
            events += 1
    return cut_after(events)(script)


def pings(every: float) -> Fault:
    """Send a keep-alive before each event, and keep-alives only where the script stalls.

    Args:
        every: Seconds between the keep-alives of a stall.

    Raises:
        ValueError: When applied to a script in whose wire format there are no keep-alives.
    """

    def fault(script: Script) -> Script:
        if script.content_type not in KEEP_ALIVES:
            raise ValueError(
                f"a body of type {script.content_type!r} has no keep-alives; "
                f"types that have are {', '.join(sorted(KEEP_ALIVES))}"
            )
        keep_alive = KEEP_ALIVES[script.content_type]
        steps: list[Step] = []
        for step in script.steps:
            if isinstance(step, Send):
                steps.append(Send(keep_alive))
            steps.append(Pings(every, keep_alive) if isinstance(step, Stall) else step)
        return Script(tuple(steps), script.content_type)

    return fault


def _says_how_it_ended(native: Any) -> bool:
    if not isinstance(native, Mapping):
        return bool(native == "[DONE]")
    event = cast("Mapping[str, Any]", native)
    kind = event.get("type") or event.get("event_type")
    return kind in _ENDING_TYPES or any(_is_set(event, path) for path in _ENDING_FIELDS)


def _is_set(event: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    nodes: list[Any] = [event]
    for name in path:
        found = [cast("Mapping[str, Any]", n).get(name) for n in nodes if isinstance(n, Mapping)]
        nodes = []
        for value in found:
            nodes += cast("Sequence[Any]", value) if isinstance(value, list) else [value]
    return any(nodes)
