"""Finds the item that an event means, by index, by id, or by what is left.

Some services leave the index out, some the id, some change the id at every event, give all items
the same one, or use an index twice. So an id decides where it names one item alone, then the
index, then the order.
"""

from __future__ import annotations

from typing import Final, final

from finalcall.providers.openai_responses.items import Item

_SEVERAL: Final = -1


@final
class Registry:
    """The items of a response, in order of arrival.

    Attributes:
        items: All of them.
    """

    __slots__ = ("_by_index", "_by_name", "_whole", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._by_index: dict[int, int] = {}
        self._by_name: dict[str, int] = {}
        self._whole: set[tuple[str, str, str | None, str]] = set()

    def open(self, index: int | None, kind: str, item_id: str, call_id: str) -> Item:
        """Add an item. It takes the index over from an item that had it."""
        item = Item(len(self.items), kind, "", "")
        self.items.append(item)
        if index is not None:
            self._by_index[index] = item.position
        self.name(item, item_id, call_id)
        return item

    def name(self, item: Item, item_id: str, call_id: str) -> None:
        """Give an item ids, where they are not empty: those it had go on naming it.

        An output has the call id of its call, and is not meant by it.
        """
        item.item_id = item_id or item.item_id
        item.call_id = call_id or item.call_id
        for name in (item.item_id, "" if item.kind.endswith("_output") else item.call_id):
            if name and self._by_name.setdefault(name, item.position) != item.position:
                self._by_name[name] = _SEVERAL

    def forget(self) -> None:
        """Start over: what comes now means none of the items so far."""
        self._by_index, self._by_name = {}, {}

    def at(self, index: int | None) -> Item | None:
        """The item of an index."""
        position = None if index is None else self._by_index.get(index)
        return None if position is None else self.items[position]

    def named(self, *names: str) -> Item | None:
        """The item that has one of the ids, unless several items have it."""
        for name in names:
            position = self._by_name.get(name, _SEVERAL)
            if position != _SEVERAL:
                return self.items[position]
        return None

    def tells_again(self, item: Item, name: str | None) -> bool:
        """Whether a call that ends has both ids, the name and the text of one that ended before.

        Services tell an item again under another index: it is one call, and the first is it.
        """
        whole = item.item_id, item.call_id, name, item.text
        again = whole in self._whole
        if item.item_id and item.call_id:
            self._whole.add(whole)
        return again

    def last(self, *kinds: str) -> Item | None:
        """The last item of these kinds that is still open."""
        for item in reversed(self.items):
            if not item.ended and item.kind in kinds:
                return item
        return None

    def of_piece(self, index: int | None, item_id: str, *kinds: str) -> Item | None:
        """The item that a piece belongs to; the last open one of the kinds where nothing says."""
        position = self._by_index.get(index) if index is not None else None
        found = None if position is None else self.items[position]
        if found is not None and found.item_id == item_id:
            return found
        return self.named(item_id) or (self.last(*kinds) if index is None else found)

    def announced(self, index: int | None, kind: str, item_id: str, call_id: str) -> Item | None:
        """The item that an announcement repeats, or whose pieces came before it."""
        found = self.named(call_id, item_id) if index is None else self.at(index)
        if found is None or found.kind != kind:
            return None
        if call_id and found.call_id:
            return found if call_id == found.call_id else None
        same = item_id != "" and item_id == found.item_id
        return found if same or found.unannounced else None

    def ended_by(self, index: int | None, kind: str, item_id: str, call_id: str) -> Item | None:
        """The item that an end belongs to."""
        found = (None if item_id else self.named(call_id)) or self.at(index)
        if found is None or found.item_id != item_id:
            found = self.named(item_id) or found or self.named(call_id)
        if found is None and index is None:
            found = self.last(kind)
        if found is None or found.kind != kind:
            return None
        another = found.ended and call_id != found.call_id and "" not in (call_id, found.call_id)
        return None if another else found
