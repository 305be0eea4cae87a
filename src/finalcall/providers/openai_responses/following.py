"""The short way of an event that brings one more piece of the call that is being written."""

from __future__ import annotations

from typing import Any

from finalcall.providers.base import Following, OpenCall
from finalcall.providers.native import read
from finalcall.providers.openai_responses.items import Item
from finalcall.providers.openai_responses.numbers import Numbers


def follower(item: Item, open_call: OpenCall, last: Any, numbers: Numbers) -> Following:
    """How to read the next pieces of a call.

    Args:
        item: The call's item, neither ended nor stated.
        open_call: The call.
        last: The event that brought its last piece: the next ones are of its type and place.
        numbers: What the stream's sequence numbers say, which is kept up to date.
    """
    identity, pieces, item_id = open_call.identity, item.pieces, item.item_id
    kind, index = read(last, "type"), read(last, "output_index")

    def follow(native: Any) -> str | None:
        try:
            if native.__class__ is dict:
                if native["type"] != kind or native["output_index"] != index:
                    return None
                found_id, text = native["item_id"], native["delta"]
                number = native.get("sequence_number")
            else:
                if native.type != kind or native.output_index != index:
                    return None
                found_id, number, text = native.item_id, native.sequence_number, native.delta
        except (AttributeError, KeyError, TypeError):
            return None
        if found_id != item_id or type(text) is not str or not text:
            return None
        if numbers.numbered:
            # A number that is not higher belongs to a piece that came before.
            if type(number) is not int or numbers.highest is None or number <= numbers.highest:
                return None
            numbers.highest = numbers.current = item.number = number
            numbers.ahead = True
        pieces.append(text)
        identity.size += len(text)
        return text

    return follow
