"""Chat completions whose fields are missing, moved or of any type: nothing raises, none is lost."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import Dispatchable
from finalcall.providers import PROVIDERS
from finalcall.providers.base import Context
from tests.chat_chunks import settle
from tests.streams import FIXTURES, Case, cases

CASES = cases(FIXTURES / "openai-chat")

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(allow_nan=True), st.text(max_size=3),
    st.just([]), st.just({}), st.just([None]), st.just({"id": None}), st.just({"name": ["x"]}),
    st.just("f"), st.just("{}"),
)  # fmt: skip


def nodes(native: Any) -> list[Any]:
    """Every dict and list inside a native event, itself included."""
    found, pending = [], [native]
    while pending:
        node = pending.pop()
        if isinstance(node, dict | list) and node:
            found.append(node)
            pending += node.values() if isinstance(node, dict) else node
    return found


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from([case for case in CASES if len(case.recording.events) < 40]),
    data=st.data(),
)
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Fields dropped or of the wrong type, events repeated or moved: announced = outcomes."""
    natives = copy.deepcopy(case.recording.to_dicts())
    for _ in range(data.draw(st.integers(1, 5))):
        position = data.draw(st.integers(0, len(natives) - 1))
        match data.draw(st.sampled_from(["junk", "junk", "drop", "repeat", "move"])):
            case "junk" | "drop" as change:
                inside = nodes(natives[position])
                if not inside:
                    continue
                node = data.draw(st.sampled_from(inside))
                keys = sorted(node, key=str) if isinstance(node, dict) else range(len(node))
                key = data.draw(st.sampled_from(keys))
                if change == "drop":
                    del node[key]
                else:
                    node[key] = copy.deepcopy(data.draw(JUNK))  # shared, it could hold itself
            case "repeat":
                natives.insert(position, copy.deepcopy(natives[position]))
            case _:
                natives.insert(data.draw(st.integers(0, len(natives) - 1)), natives.pop(position))
    settler = settle(*natives, choices="all")
    assert settler.stats.announced == len(settler.outcomes)
    assert len({outcome.key for outcome in settler.outcomes}) == len(settler.outcomes)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert isinstance(settler.history(results), list)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_native_event_is_carried_once(case: Case) -> None:
    """Exactly one event carries it, on every recording."""
    normaliser = PROVIDERS["openai-chat"].normaliser(Context())
    for native in case.recording.to_dicts():
        assert sum(event.native is native for event in normaliser.feed(native)) == 1
