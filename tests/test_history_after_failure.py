"""What goes back after a failure, for every provider: always something that it accepts."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from finalcall import Dispatchable, Failed, SchemaError, Settler, ToolSet
from finalcall.outcomes import Cause
from finalcall.testing import Reply, Text
from finalcall.testing.rendering import RENDERERS
from tests.history_rules import names

TOOLS = ToolSet(
    {
        "create_ticket": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        }
    }
)
GOOD = {"title": "x"}
BAD = {"title": 3}

SPOKEN = Reply().text("On it.").call("create_ticket", GOOD)
SILENT = Reply().call("create_ticket", GOOD)
MIXED = Reply().text("Two.").call("create_ticket", GOOD).call("create_ticket", BAD)
BROKEN = Reply().call("create_ticket", GOOD).call("create_ticket", '{"title": "x"')

Ends = Callable[[Settler], None]


def ended(settler: Settler) -> None:
    settler.end()


def dropped(settler: Settler) -> None:
    settler.end(Cause.DISCONNECTED)


def cancelled(settler: Settler) -> None:
    settler.end(Cause.CANCELLED)


ENDINGS: dict[str, tuple[Reply, Ends]] = {
    "abandoned": (SPOKEN.stop(None), dropped),
    "abandoned without text": (SILENT.stop(None), dropped),
    "ended early": (SPOKEN.stop(None), ended),
    "cancelled": (SPOKEN.stop(None), cancelled),
    "truncated": (SPOKEN.stop("truncated"), ended),
    "truncated without text": (SILENT.stop("truncated"), ended),
    "filtered": (SPOKEN.stop("filtered"), ended),
    "refused": (SPOKEN.stop("refused"), ended),
    "paused": (SPOKEN.stop("paused"), ended),
    "nothing but text": (Reply().text("Well.").stop(None), dropped),
    "uncorrectable": (Reply().text("On it.").call("create_ticket", BAD), ended),
    "uncorrectable without text": (Reply().call("create_ticket", BAD), ended),
    "a good sibling and an invalid one": (MIXED, ended),
    "a good sibling and one that is no JSON": (BROKEN, ended),
    "blank text and a failed call": (
        Reply().text("\n\n").call("create_ticket", GOOD).stop(None),
        dropped,
    ),
    "blank text and a call that stays": (
        Reply().text(" \n").call("create_ticket", BAD).call("create_ticket", GOOD),
        ended,
    ),
    "thinking": (Reply().thinking("Hm.").call("create_ticket", GOOD).stop(None), dropped),
}


def settled(provider: str, reply: Reply, end: Ends) -> Settler:
    settler = Settler(tools=TOOLS, provider=provider)
    for native in reply.to(provider):
        settler.feed(native)
    end(settler)
    return settler


@pytest.mark.parametrize("provider", RENDERERS)
@pytest.mark.parametrize(("reply", "end"), ENDINGS.values(), ids=ENDINGS)
def test_the_conversation_can_go_on(provider: str, reply: Reply, end: Ends) -> None:
    """Every rule that the provider is known to hold messages to is kept, whatever failed."""
    turn = settled(provider, reply, end)
    ran = {outcome.key: "opened" for outcome in turn.outcomes if isinstance(outcome, Dispatchable)}
    messages = turn.history(ran)
    rules: Any = importlib.import_module(f"tests.history_rules.{provider.replace('-', '_')}")
    assert rules.check(messages) == []
    sent = repr(messages)
    for outcome in turn.outcomes:
        # Failed calls go; a sibling that ran keeps its call and its result.
        if isinstance(outcome, Dispatchable):
            assert "opened" in sent
        elif isinstance(outcome, SchemaError):
            assert "Invalid arguments" in sent
        else:
            assert isinstance(outcome, Failed)
    if all(isinstance(outcome, Failed) for outcome in turn.outcomes):
        assert "create_ticket" not in sent
    words = "".join("".join(part.pieces) for part in reply.parts if isinstance(part, Text))
    assert words.strip() in sent


NAMES = {
    "a namespace": "functions.create_ticket",
    "a line end": "create_ticket\n",
    "a tag": "<create_ticket>",
    "a sentence": "create ticket!",
    "a digit first": "1create",
    "a hyphen": "create-ticket",
    "another script": "票",
    "very long": "x" * 200,
}


@pytest.mark.parametrize("provider", RENDERERS)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_is_no_tools_goes_back_as_one_that_is_taken(provider: str, name: str) -> None:
    """In the call and in its answer: a model may make up any name, and services take few."""
    reply = Reply().call(name, GOOD).call("create_ticket", GOOD)
    turn = settled(provider, reply, ended)
    unknown, _ = turn.outcomes
    assert isinstance(unknown, SchemaError)
    assert unknown.name == name
    messages = turn.history({turn.outcomes[1].key: "opened"})
    rules: Any = importlib.import_module(f"tests.history_rules.{provider.replace('-', '_')}")
    assert rules.check(messages) == []
    assert names.check(provider, messages) == []
    sent = repr(messages)
    assert "Unknown tool" in sent
    assert "'create_ticket'" in sent


@pytest.mark.parametrize("provider", RENDERERS)
def test_a_name_that_was_offered_is_never_changed(provider: str) -> None:
    """The service has taken it."""
    turn = Settler(tools=ToolSet({"web.search-2": {}}), provider=provider)
    for native in Reply().call("web.search-2", {}).to(provider):
        turn.feed(native)
    turn.end()
    sent = repr(turn.history({turn.outcomes[0].key: "found"}))
    assert "'web.search-2'" in sent
    assert "web_search" not in sent
