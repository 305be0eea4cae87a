"""What both bridges promise: every call that a front end is told of is told one end."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from ag_ui.core import Event as AGUIEvent
from pydantic import TypeAdapter

from finalcall import Cause, Dispatchable, Settler, ToolSet
from finalcall.bridges import AGUI, Part, UIMessageStream, to_sse
from tests.streams import Case, fixture_cases, new_settler

ENDINGS: list[Cause | None] = [None, *Cause]
AG_UI: TypeAdapter[Any] = TypeAdapter(AGUIEvent)

ENDS = {"tool-input-available", "tool-input-error", "tool-output-available", "tool-output-error"}


def bridges(tools: ToolSet | None) -> tuple[UIMessageStream, AGUI]:
    return UIMessageStream(tools=tools), AGUI(thread_id="t", run_id="r", tools=tools)


def told(
    natives: list[Any], cause: Cause | None, tools: ToolSet | None, *, fed_to_end: bool
) -> tuple[Settler, list[Part], list[Part]]:
    """What both bridges tell of a message that ends so, whose last events may not be fed."""
    settler, (ui, ag_ui) = new_settler(tools), bridges(tools)
    shown: list[Part] = []
    events: list[Part] = []
    for native in natives:
        for event in settler.feed(native):
            shown += ui.feed(event)
            events += ag_ui.feed(event)
    for event in settler.end(cause):
        if fed_to_end:
            shown += ui.feed(event)
            events += ag_ui.feed(event)
    return settler, shown + ui.end(settler), events + ag_ui.end(settler)


def check_ui(settler: Settler, parts: list[Part]) -> None:
    announced = [part["toolCallId"] for part in parts if part["type"] == "tool-input-start"]
    ended = Counter(part["toolCallId"] for part in parts if part["type"] in ENDS)
    assert ended == dict.fromkeys(announced, 1)
    assert len(announced) == len(settler.outcomes) + len(settler.external_calls)
    may_run = [part["input"] for part in parts if part["type"] == "tool-input-available"]
    assert may_run == [one.args for one in settler.outcomes if isinstance(one, Dispatchable)]
    check_order(parts, ("text", "reasoning"))


def check_order(parts: list[Part], kinds: tuple[str, ...]) -> None:
    """Text begins once under its id, goes on only while it is open, and ends once."""
    opened: list[str] = []
    current: set[str] = set()
    for part in parts:
        kind, _, step = part["type"].rpartition("-")
        if kind not in kinds:
            continue
        if step == "start":
            assert part["id"] not in opened
            opened.append(part["id"])
            current.add(part["id"])
        assert part["id"] in current
        if step == "end":
            current.remove(part["id"])
    assert not current


def check_ag_ui(settler: Settler, events: list[Part]) -> None:
    for event in events:
        AG_UI.validate_json(json.dumps(event))
    kinds: dict[str, Counter[str]] = {}
    text: dict[str, str] = {}
    for event in events:
        call_id = event.get("toolCallId")
        if call_id is not None:
            kinds.setdefault(call_id, Counter())[event["type"]] += 1
            if event["type"] == "TOOL_CALL_ARGS":
                assert not kinds[call_id]["TOOL_CALL_END"]
                text[call_id] = text.get(call_id, "") + event["delta"]
    for counts in kinds.values():
        assert counts["TOOL_CALL_START"] == counts["TOOL_CALL_END"] == 1
    unanswered = [one for one, counts in kinds.items() if not counts["TOOL_CALL_RESULT"]]
    may_run = [one.args for one in settler.outcomes if isinstance(one, Dispatchable)]
    assert [json.loads(text[one]) for one in unanswered] == may_run
    last = events[-1]
    if last["type"] == "RUN_FINISHED" and last["outcome"]["type"] == "success":
        assert last["outcome"]["pendingToolCallIds"] == unanswered
    assert [event["type"] for event in events].count("RUN_STARTED") == 1


@pytest.mark.parametrize("case", fixture_cases(), ids=lambda case: case.name)
def test_after_any_ending_each_call_has_one_end(case: Case) -> None:
    """Of a recorded stream, cut after any event: and only what may run is told to be runnable."""
    natives, tools = case.recording.to_dicts(), case.tools()
    tools = None if tools is None else ToolSet.of(tools)
    places = [*range(0, len(natives), 1 + len(natives) // 3), len(natives)]
    for turn, length in enumerate(places):
        for cause in ENDINGS[turn % 5 :: 5]:
            settler, parts, events = told(natives[:length], cause, tools, fed_to_end=turn % 2 == 0)
            check_ui(settler, parts)
            check_ag_ui(settler, events)
            assert all(to_sse(part).endswith(b"}\n\n") for part in [*parts, *events])
