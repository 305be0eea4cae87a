"""Remembers a response in few events of its own kind, from which it can be translated again.

What changes something is kept with the fields that are read of it, in order. Pieces are kept only
as the place where they began: their text is the item's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from finalcall.providers.native import read, read_index, read_text, to_plain
from finalcall.providers.openai_responses.items import CLIENT_CALLS, Item

_ANNOUNCED: Final = ("type", "id", "call_id", "name", "namespace", "execution")
"""The text fields that are read of an item when it is added."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Run:
    """Pieces of an item: where they began, and how the first of them named the item."""

    where: dict[str, Any]
    item: Item
    start: int


@final
class Journal:
    """The events of one response.

    Attributes:
        writing: The message whose text grows with nothing in between, or `None`.
    """

    __slots__ = ("_entries", "writing")

    def __init__(self) -> None:
        self._entries: list[dict[str, Any] | _Run] = []
        self.writing: Item | None = None

    def added(self, native: Any) -> None:
        """An item was added."""
        content = read(native, "item")
        fields = {name: read_text(content, name) for name in _ANNOUNCED}
        facts = CLIENT_CALLS.get(fields["type"])
        if facts is not None:
            fields[facts.arguments] = read_text(content, facts.arguments)
        item: dict[str, Any] = {name: value for name, value in fields.items() if value}
        environment = read_text(read(content, "environment"), "type")
        if environment:
            item["environment"] = {"type": environment}
        self.keep(native, item=item)

    def keep(self, native: Any, **fields: Any) -> None:
        """Something happened to an item.

        Args:
            native: The event: its type, and how it names the item, are kept.
            fields: What else of it is read.
        """
        self._entries.append(_where(native) | fields)
        self.writing = None

    def grow(self, native: Any, item: Item) -> None:
        """The first of some pieces of an item is about to be added."""
        self._entries.append(_Run(_where(native), item, len(item.pieces)))

    def events(self) -> list[dict[str, Any]]:
        """What has been kept: plain copies, in order, the text of each run in one piece."""
        found: list[dict[str, Any]] = []
        ends: dict[int, int] = {}
        for entry in reversed(self._entries):
            if not isinstance(entry, _Run):
                found.append(to_plain(entry))
            elif not entry.item.stated:  # else a later event has the whole text
                end = ends.get(entry.item.position, len(entry.item.pieces))
                text = "".join(entry.item.pieces[entry.start : end])
                ends[entry.item.position] = entry.start
                found.append(entry.where | {"delta": text})
        return found[::-1]


def _where(native: Any) -> dict[str, Any]:
    """An event's type, and how it names its item."""
    where: dict[str, Any] = {"type": read_text(native, "type")}
    index, item_id = read_index(native, "output_index"), read_text(native, "item_id")
    if index is not None:
        where["output_index"] = index
    if item_id:
        where["item_id"] = item_id
    return where
