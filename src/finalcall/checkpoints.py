"""Plain data of a message that stopped in the middle, for a turn that goes on with it.

A checkpoint is a short stream: the events that give what was there when a fresh settler is fed
them. So nothing else than events is written down, and any process can go on.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from finalcall.events import CallAnnounced, CallCompleted, CallWithdrawn, Event, Other
from finalcall.idle import Phase
from finalcall.narrow import is_mapping
from finalcall.providers.base import Normaliser
from finalcall.providers.native import read_list
from finalcall.settler import Settler

VERSION: Final = 1
"""The version that this library writes and reads."""

RESUMABLE: Final[Mapping[str, str]] = {
    "openai-responses": "finalcall.providers.openai_responses.resuming",
}
"""By provider: the module that holds its messages and goes on with them."""


def checkpoint_of(settler: Settler) -> dict[str, Any]:
    """What a message was when it stopped, or is while it goes on, as JSON-compatible data.

    Args:
        settler: The one of the message.

    Raises:
        ValueError: Its service cannot go on with it; the message says why.
    """
    normaliser = settler.normaliser
    if normaliser is None:
        raise ValueError("nothing has arrived that could be resumed; send the request again")
    held = _module_of(normaliser.provider).hold(normaliser)
    return {"version": VERSION, "provider": normaliser.provider, **held}


def provider_to_resume(checkpoint: Mapping[str, Any], provider: str | None) -> str:
    """The provider whose checkpoint this is.

    Args:
        checkpoint: A checkpoint, or what somebody takes for one.
        provider: The provider that the caller named, or `None`.

    Raises:
        ValueError: It is no checkpoint that can be resumed, or another provider's.
    """
    found: Any = checkpoint if is_mapping(checkpoint) else {}
    if found.get("version") != VERSION:
        raise ValueError(
            f"this is no checkpoint of version {VERSION}, the only one that is known here; resume "
            "with the version of the library that made it, or send the request again"
        )
    held = found.get("provider")
    if provider not in (None, held):
        raise ValueError(f"the checkpoint is of {held!r}, and the turn of {provider!r}")
    _module_of(str(held))
    return str(held)


def replay(checkpoint: Mapping[str, Any], settler: Settler) -> list[Event]:
    """Bring a fresh settler to where the checkpoint's stopped.

    Args:
        checkpoint: One that `provider_to_resume` took.
        settler: A fresh one of its provider.

    Returns:
        What is known so far, as events that carry no native ones.

    Raises:
        ValueError: The checkpoint is damaged.
    """
    events: list[Event] = []
    for native in read_list(checkpoint, "events"):
        if settler.ending is None:  # a limit may be lower now
            events += settler.feed(native)
    normaliser = settler.normaliser
    assert isinstance(normaliser, Normaliser)
    _module_of(normaliser.provider).go_on(normaliser, checkpoint)
    settler.stats.events = 0
    told: list[Event] = [event.carrying(None) for event in events if not isinstance(event, Other)]
    if told:
        settler.clocks.phase = _phase_after(told)
    return told


def _phase_after(events: list[Event]) -> Phase:
    """What a turn waits for that begins with these events."""
    open_calls: set[str] = set()
    for event in events:
        if isinstance(event, CallAnnounced):
            open_calls.add(event.call.key)
        elif isinstance(event, CallCompleted | CallWithdrawn):
            open_calls.discard(event.call.key)
    return Phase.IN_CALL if open_calls else Phase.BETWEEN


def _module_of(provider: str) -> ModuleType:
    """What holds a provider's messages.

    Raises:
        ValueError: Nothing does.
    """
    if provider not in RESUMABLE:
        raise ValueError(
            f"a stream of {provider!r} cannot be resumed: its service does not send the rest of "
            f"one again; those of {', '.join(RESUMABLE)} can"
        )
    return importlib.import_module(RESUMABLE[provider])
