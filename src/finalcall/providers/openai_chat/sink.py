"""Collects the events of one native event, and sees to it that exactly one of them carries it."""

from __future__ import annotations

from typing import Any, final

from finalcall.events import Event, Other


@final
class Sink:
    """The events that a native event has made so far.

    Attributes:
        events: Those events, in order.
    """

    __slots__ = ("_native", "events")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._native: Any = None

    def begin(self, native: Any) -> None:
        """Start with the next native event."""
        self._native = native
        self.events = []

    def carried(self) -> Any:
        """The native event for the first event that is made of it, `None` for the others."""
        native, self._native = self._native, None
        return native

    def finish(self) -> list[Event]:
        """All events; where none carries the native one, an `Other` that does comes last."""
        if self._native is not None or not self.events:
            self.events.append(Other(self.carried()))
        return self.events
