"""What the bridges send, kept as files which the front ends' own packages have read.

`python -m tests.test_bridge_goldens` writes them. `tests/front_ends/check.mjs` has them read by
`ai` and `@ag-ui/client`; it says how to run it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as AGUIEvent
from pydantic import TypeAdapter

from finalcall import Dispatchable, ToolSet, Turn
from finalcall.bridges import AGUI, Part, UIMessageStream
from finalcall.testing import Reply
from tests import responses_events as responses
from tests.messages import call, message_start, stopped, text

GOLDENS = Path(__file__).parent / "front_ends"

TICKET = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
SIGN = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "token": {"type": "string", "writeOnly": True}},
}
PORT = {"type": "object", "properties": {"port": {"type": "string"}}}
TOOLS = ToolSet({"create_ticket": TICKET, "sign": SIGN, "get_tide": PORT})

GOOD = {"title": "Night run"}
SIGNED = {"name": "Ann", "token": "S3NT1N3L"}
SEARCH = call(0, "srv_1", "{}", "web_search", kind="server_tool_use")
FOUND: dict[str, Any] = {
    "type": "content_block_start",
    "index": 1,
    "content_block": {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
}

SCENARIOS: Mapping[str, list[Any]] = {
    "whole": Reply().text("One moment.").call("create_ticket", GOOD).to("anthropic"),
    "one of two is invalid": Reply()
    .call("create_ticket", GOOD)
    .call("create_ticket", {})
    .to("openai-chat"),
    "no call": Reply().thinking("Hm.").text("No.").to("anthropic"),
    "ended early": [message_start(), *text("One"), *call(1, stop=False)],
    "cut at the ceiling": Reply().call("create_ticket", GOOD).stop("truncated").to("anthropic"),
    "sensitive": Reply().call("sign", SIGNED).to("anthropic"),
    "restated": [
        responses.created(),
        *responses.call()[:-2],
        responses.arguments_done(0, "fc_call_1", '{"port": "Lorient"}'),
        *responses.call(arguments='{"port": "Lorient"}')[-1:],
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "run by the provider": [message_start(), *SEARCH, FOUND, *stopped("end_turn")],
    "lost by the provider": [message_start(), *SEARCH],
    "left": [message_start(), *text("One"), *call(1), *stopped()],
}
"""Messages of a model, by what becomes of them."""

RESULTS: Mapping[str, Any] = {"whole": "BILLING-17", "sensitive": OSError("S3NT1N3L")}
"""What a call of a message gave back, where the server ran it."""

NAMES = ("ui_message_stream", "ag_ui")


def told(scenario: str) -> dict[str, list[Part]]:
    """What both bridges send."""
    bridges = {
        "ui_message_stream": UIMessageStream(tools=TOOLS),
        "ag_ui": AGUI(thread_id="thread", run_id="run", tools=TOOLS),
    }
    sent: dict[str, list[Part]] = {name: [] for name in bridges}
    with Turn(SCENARIOS[scenario], tools=TOOLS, raises=False) as turn:
        for event in turn:
            for name, bridge in bridges.items():
                sent[name] += bridge.feed(event)
            if scenario == "left" and turn.stats.events > 8:
                break
    for name, bridge in bridges.items():
        for outcome in turn.outcomes:
            if scenario in RESULTS and isinstance(outcome, Dispatchable):
                sent[name] += bridge.result(outcome, RESULTS[scenario])
        sent[name] += bridge.end(turn)
    return sent


def golden(name: str) -> dict[str, list[Part]]:
    kept: dict[str, list[Part]] = json.loads((GOLDENS / f"{name}.json").read_text("utf-8"))
    return kept


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_bridge_sends_what_was_checked(scenario: str, name: str) -> None:
    """Part for part what the front end's own package has read."""
    sent = told(scenario)[name]
    assert sent == golden(name)[scenario]
    assert "S3NT" not in str(sent)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_ag_ui_knows_every_field(scenario: str) -> None:
    """Its own models take each event, and drop or rename nothing of it."""
    adapter: TypeAdapter[Any] = TypeAdapter(AGUIEvent)
    for event in golden("ag_ui")[scenario]:
        read = adapter.validate_python(event)
        assert not read.model_extra
        assert read.model_dump(mode="json", by_alias=True) == event


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_of_a_scenario(name: str) -> None:
    """Nothing is kept that no bridge sends."""
    assert golden(name).keys() == SCENARIOS.keys()


def write() -> None:
    """Keep what the bridges send now."""
    sent = {scenario: told(scenario) for scenario in SCENARIOS}
    for name in NAMES:
        parts = {scenario: both[name] for scenario, both in sent.items()}
        content = json.dumps(parts, indent=1, ensure_ascii=False) + "\n"
        (GOLDENS / f"{name}.json").write_text(content, "utf-8")


if __name__ == "__main__":
    write()
