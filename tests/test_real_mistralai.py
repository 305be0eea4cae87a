"""The mistralai client, both ways, in chats and conversations, against recordings."""

from __future__ import annotations

from typing import Any

import pytest
from mistralai.client import Mistral

from finalcall import AsyncTurn, Cause, Turn
from finalcall.testing import CloseAbruptly, RecordedEvent, Recording, cut_after, stall_after
from tests.real_clients import arun, differences, run, serve
from tests.streams import FIXTURES, cases, outcomes_of

CASES = cases(FIXTURES / "mistral")
CALL = next(case for case in CASES if "-001-" in case.path.name)

MESSAGES: Any = [{"role": "user", "content": "go"}]


def open_chat(client: Mistral) -> Any:
    return client.chat.stream(model="m", messages=MESSAGES)


def open_conversation(client: Mistral) -> Any:
    return client.beta.conversations.start_stream(inputs="go", model="m")


def open_chat_async(client: Mistral) -> Any:
    return client.chat.stream_async(model="m", messages=MESSAGES)


def open_conversation_async(client: Mistral) -> Any:
    return client.beta.conversations.start_stream_async(inputs="go", model="m")


def ask(way: Any, reply: Any, **options: Any) -> Turn:
    """A turn over the stream of one request, to its end."""
    with serve(reply) as server, Mistral(api_key="none", server_url=server.base_url) as client:
        return run(way(client), **options)


async def aask(way: Any, reply: Any, **options: Any) -> AsyncTurn:
    """The same, asynchronously."""
    with serve(reply) as server:
        async with Mistral(api_key="none", server_url=server.base_url) as client:
            return await arun(way(client), **options)


def test_the_client_gives_what_the_wire_gives() -> None:
    """SDK objects settle as dicts and bytes do, though it fills in what the wire left out."""
    turns = {case.path.name: ask(open_chat, case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES) == {}
    assert {turn.provider for turn in turns.values()} == {"mistral"}


async def test_the_asynchronous_client_gives_what_the_wire_gives() -> None:
    """The same, asynchronously."""
    turns = {
        case.path.name: await aask(open_chat_async, case.recording, tools=case.tools())
        for case in CASES
    }
    assert differences(turns, CASES) == {}


def _chunk(calls: Any) -> RecordedEvent:
    choice = {"index": 0, "delta": {"content": "", "tool_calls": calls}, "finish_reason": None}
    return RecordedEvent(None, {"id": "m1", "model": "m", "choices": [choice]})


RAISES = {
    "a name that is null": {"id": "a", "function": {"name": None, "arguments": "{}"}},
    "arguments that are null": {"id": "a", "function": {"name": "f", "arguments": None}},
}
"""What the client's models refuse: its iterator raises where the wire can be read."""


@pytest.mark.parametrize("name", RAISES)
def test_where_the_client_raises_nothing_runs(name: str) -> None:
    """The error of its models is kept, and ends the turn."""
    good = _chunk([{"id": "b", "function": {"name": "f", "arguments": "{}"}}])
    recording = Recording({"dialect": "openai-chat"}, (good, _chunk([RAISES[name]])))
    turn = ask(open_chat, recording)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.exception is not None


def _event(kind: str, **fields: Any) -> RecordedEvent:
    return RecordedEvent(kind, {"type": kind, **fields})


def _call(arguments: str) -> RecordedEvent:
    head = {"id": "fc", "name": "get_tide", "tool_call_id": "a", "output_index": 0}
    return _event("function.call.delta", arguments=arguments, **head)


CONVERSATION = Recording(
    {"dialect": "mistral"},
    (
        _event("conversation.response.started", conversation_id="conv_1"),
        _call('{"port": '),
        _call('"Brest"}'),
        _event("conversation.response.done", usage={"prompt_tokens": 9, "completion_tokens": 20}),
    ),
)
TIDE = ("a", "get_tide", "dispatchable", {"port": "Brest"})


async def test_a_conversation_settles_alike_in_every_form() -> None:
    """Objects of both clients, dicts and bytes."""
    turns = [
        ask(open_conversation, CONVERSATION),
        await aask(open_conversation_async, CONVERSATION),
        run(CONVERSATION.to_dicts()),
        run([CONVERSATION.to_bytes()]),
    ]
    for turn in turns:
        assert outcomes_of(turn) == [TIDE]
        assert turn.provider == "mistral"


def test_a_clean_cut() -> None:
    """The client ends quietly; nothing of a conversation runs before its end."""
    for events in range(1, len(CONVERSATION.events)):
        script = CONVERSATION.to_script().with_faults(cut_after(events))
        turn = ask(open_conversation, script)
        assert {one[2] for one in outcomes_of(turn)} <= {"abandoned"}
        assert turn.ending is not None
        assert turn.ending.cause is Cause.ENDED_EARLY


def test_a_lost_connection() -> None:
    """What the transport raises is kept, and nothing runs."""
    script = CONVERSATION.to_script().with_faults(cut_after(2, CloseAbruptly()))
    turn = ask(open_conversation, script)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.DISCONNECTED


def test_silence_before_the_call() -> None:
    """The turn ends by its own clock while the client still waits."""
    script = CALL.recording.to_script().with_faults(stall_after(1))
    turn = ask(open_chat, script, idle_timeout=0.3)
    assert turn.outcomes == []
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE


async def test_silence_inside_a_call_asynchronously() -> None:
    """The same in a loop, with a call open."""
    script = CONVERSATION.to_script().with_faults(stall_after(2))
    turn = await aask(open_conversation_async, script, idle_timeout=0.3)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE
