"""Keeps one preview a call, for turns that were given a preview class. Shows, never decides.

The class comes in by injection: nothing that dispatches imports it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol, final

from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallKind,
    Event,
    PreviewChanged,
)
from finalcall.tools import ToolSet

if TYPE_CHECKING:
    from finalcall.preview import Preview


class PreviewFactory(Protocol):
    """What `preview=` takes: `finalcall.preview.Preview`, or a function that makes one."""

    def __call__(self, *, sensitive: Collection[tuple[str, ...]]) -> Preview:
        """Make the preview of one call, with the paths of the values to mask."""
        ...


@final
class Previews:
    """The previews of one message.

    Args:
        make: Makes a call's preview.
        tools: What was offered: it says which fields are sensitive.
    """

    def __init__(self, make: PreviewFactory, tools: ToolSet | None) -> None:
        self._make = make
        self._tools = tools
        self._previews: dict[str, Preview] = {}
        self._waiting: dict[str, list[str]] = {}
        self._given: dict[str, str] = {}

    def beside(self, events: list[Event]) -> list[Event]:
        """Feed events' text to their calls' previews.

        Returns:
            The events, each followed by the `PreviewChanged` that it led to, if any.
        """
        shown: list[Event] = []
        for event in events:
            shown.append(event)
            changed = self._follow(event)
            if changed is not None:
                shown.append(changed)
        return shown

    def of(self, key: str) -> Preview | None:
        """A call's preview by the call's key, where there is one already."""
        return self._previews.get(key)

    def _follow(self, event: Event) -> PreviewChanged | None:
        if isinstance(event, ArgumentsDelta):
            return self._feed(event.call, event.text)
        if isinstance(event, ArgumentsRestated):
            known = self._previews.get(event.call.key)
            if known is not None:
                known.restart()
            self._waiting.pop(event.call.key, None)
            return self._feed(event.call, event.text)
        if isinstance(event, CallAnnounced) and event.given:
            self._given[event.call.key] = event.given
        if isinstance(event, CallCompleted):
            given = self._given.pop(event.call.key, "")
            if given and not event.call.size:
                return self._feed(event.call, given)
        return None

    def _feed(self, call: Call, text: str) -> PreviewChanged | None:
        if call.kind is CallKind.CUSTOM:
            return None
        preview = self._previews.get(call.key)
        if preview is None:
            waiting = self._waiting.setdefault(call.key, [])
            waiting.append(text)
            if call.name is None:
                # Until the tool is known, nobody can say which of its fields are sensitive.
                return None
            preview = self._previews[call.key] = self._make(sensitive=self._sensitive(call.name))
            text = "".join(self._waiting.pop(call.key))
        preview.feed(text)
        return PreviewChanged(call, preview)

    def _sensitive(self, name: str) -> Collection[tuple[str, ...]]:
        return () if self._tools is None else self._tools.sensitive(name)
