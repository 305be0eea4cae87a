"""Recorded events with something wrong: fields of other types or gone, events twice or moved."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=True),
    st.text(max_size=3),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [None]),
    st.builds(lambda: [["x"]]),
    st.builds(lambda: {"type": ["x"]}),
    st.builds(lambda: {"id": {}, "name": 3, "function": None}),
)
"""What stands where something else should."""


def _holders(node: Any) -> list[Any]:
    """Every non-empty dict and list of a native event."""
    found: list[Any] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, dict | list) and current:
            found.append(current)
            pending += current.values() if isinstance(current, dict) else current
    return found


def mutated(natives: Sequence[Any], data: st.DataObject) -> list[Any]:
    """A copy of a stream with one to four things wrong.

    Args:
        natives: The events as dicts.
        data: Hypothesis's source of choices.
    """
    stream = [copy.deepcopy(native) for native in natives if isinstance(native, dict)]
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(stream) - 1))
        match data.draw(st.sampled_from(["field", "drop", "repeat", "move", "replace"])):
            case "field" | "drop" as how:
                holders = _holders(stream[position])
                if not holders:
                    continue
                holder = data.draw(st.sampled_from(holders))
                names = sorted(holder, key=str) if isinstance(holder, dict) else range(len(holder))
                name = data.draw(st.sampled_from(list(names)))
                if how == "field":
                    holder[name] = data.draw(JUNK)
                else:
                    del holder[name]
            case "repeat":
                stream.insert(position, copy.deepcopy(stream[position]))
            case "move":
                stream.insert(data.draw(st.integers(0, len(stream) - 1)), stream.pop(position))
            case _:
                stream[position] = data.draw(JUNK)
    return stream
