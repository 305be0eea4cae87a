"""What people look at beside a message: its previews and its blocks. It shows and never settles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from finalcall.events import (
    CallAnnounced,
    CallSettled,
    Event,
    ExternalCallChanged,
    PreviewChanged,
)
from finalcall.known import Known
from finalcall.message import Message
from finalcall.previews import PreviewFactory, Previews
from finalcall.providers.base import Normaliser
from finalcall.tools import ToolSet

if TYPE_CHECKING:
    from finalcall.blocks import Blocks


class Shown(Known):
    """A message that people may look at. One that nobody looks at pays nothing for it.

    Args:
        message: As for `Known`.
        normaliser: As for `Known`.
        ceiling: As for `Known`.
        tools: What was offered.
        preview: Makes a call's preview, or `None` for no previews.
        blocks: What people see of the calls; `None` until somebody asks for it.
    """

    def __init__(
        self,
        message: Message,
        normaliser: Normaliser | None,
        ceiling: int | None,
        *,
        tools: ToolSet | None,
        preview: PreviewFactory | None,
        blocks: Blocks | None,
    ) -> None:
        super().__init__(message, normaliser, ceiling)
        self.tools = tools
        self._previews = None if preview is None else Previews(preview, tools)
        self._blocks = blocks
        if blocks is not None:
            blocks.belong_to(self._cancel)

    def _cancel(self) -> None:
        """Settle the calls that are still open, because nobody listens any more."""

    @property
    def blocks(self) -> Blocks:
        """What people see of the calls: made when it is first asked for, then kept up to date.

        Whatever ends the message, no block stays open. Of the calls that are there already when it
        is asked for, those that the provider runs itself come last.
        """
        if self._blocks is None:
            from finalcall.blocks import Blocks  # most turns have no screen

            return self._join(Blocks(tools=self.tools))
        return self._blocks

    def _join(self, blocks: Blocks) -> Blocks:
        """Tell blocks of all that has happened, and of all that will."""
        self._catch_up()
        self._blocks = blocks
        blocks.belong_to(self._cancel)
        self._tell(self._so_far())
        return blocks

    def _tell(self, events: Iterable[Event]) -> None:
        if self._blocks is not None:
            for event in events:
                self._blocks.apply(event)

    def _so_far(self) -> Iterator[Event]:
        calls = {call.key: call for call in self._message.calls}
        for key, call in calls.items():
            yield CallAnnounced(call)
            preview = None if self._previews is None else self._previews.of(key)
            if preview is not None:
                yield PreviewChanged(call, preview)
        yield from map(ExternalCallChanged, self.external_calls)
        for outcome in self._outcomes:
            yield CallSettled(calls[outcome.key], outcome)
