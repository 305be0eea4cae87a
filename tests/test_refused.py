"""Streams whose calls somebody else runs are recognised by their looks, and nothing else is."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import anthropic
import pytest
from google.genai import types as google
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from mistralai.client.conversations import Conversations

from finalcall.refused import EVENTS, STREAMS, refusal, refusal_of_stream
from finalcall.testing import Recording
from tests.streams import fixture_cases


@dataclass
class Event:
    """An object with fields, as the frameworks' dataclasses are."""

    fields: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None


def shaped(**fields: Any) -> Any:
    """An object with these attributes and no others."""
    made = type("Shaped", (), {})()
    made.__dict__.update(fields)
    return made


REFUSED: dict[str, list[Any]] = {
    "Pydantic AI": [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "tool-call"}},
        shaped(event_kind="function_tool_call", part=None),
    ],
    "OpenAI Agents SDK": [
        {"type": "raw_response_event", "data": {"type": "response.created"}},
        shaped(type="run_item_stream_event", name="tool_called", item=None),
        shaped(type="agent_updated_stream_event", new_agent=None),
    ],
    "Claude Agent SDK": [
        {"type": "stream_event", "session_id": "s", "event": {"type": "message_start"}},
        {"type": "system", "subtype": "init", "session_id": "s"},
        shaped(uuid="u", session_id="s", event={"type": "ping"}, parent_tool_use_id=None),
        shaped(subtype="init", data={}),
        shaped(content=[], model="m", parent_tool_use_id=None, uuid=None),
        shaped(subtype="success", num_turns=1, session_id="s"),
        shaped(rate_limit_info=None, uuid="u", session_id="s"),
    ],
    "Anthropic tool runner": [
        {"type": "message", "role": "assistant", "content": [], "stop_reason": "tool_use"},
    ],
    "Gemini automatic function calling": [
        google.GenerateContentResponse(automatic_function_calling_history=[google.Content()]),
        {"automaticFunctionCallingHistory": [{"role": "user"}], "candidates": []},
    ],
    "Mistral run_stream": [
        {"event": "function.result", "data": {"type": "function.result", "result": "x"}},
        shaped(input_entries=[], output_entries=[], conversation_id="c"),
    ],
    "LangGraph": [
        (AIMessageChunk("x"), {"langgraph_node": "agent", "langgraph_step": 1}),
        ("messages", (AIMessageChunk("x"), {})),
        ("updates", {"agent": {}}),
    ],
    "LangChain events": [
        {"event": "on_chat_model_stream", "name": "m", "run_id": "r", "data": {"chunk": None}},
        {"event": "message-start", "role": "ai", "id": "r"},
        {"event": "tool-started", "tool_call_id": "a", "tool_name": "f"},
    ],
    "whole LangChain message": [AIMessage("x"), AIMessage("x").model_dump()],
    "AG-UI": [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "t", "toolCallName": "f"},
    ],
    "Vercel AI UI message stream": [
        {"type": "start", "messageId": "m"},
        {"type": "tool-input-available", "toolCallId": "t", "toolName": "f", "input": {}},
        {"type": "data-weather", "data": {}},
    ],
}


@pytest.mark.parametrize("name", REFUSED)
def test_events_of_a_row_get_its_sentence(name: str) -> None:
    """As dicts and as objects, each by its own row."""
    sentences = {row.sentence for row in (*EVENTS, *STREAMS) if row.name == name}
    assert len(sentences) == 1
    for native in REFUSED[name]:
        assert refusal(native) in sentences, native


def test_every_row_is_seen_by_something() -> None:
    """A row that nothing looks like would be dead."""
    natives = [native for group in REFUSED.values() for native in group]
    natives += [a_runner(), a_message_stream()]
    assert all(any(row.looks(native) for native in natives) for row in EVENTS)


@pytest.mark.parametrize("row", [*EVENTS, *STREAMS], ids=lambda row: row.name)
def test_a_sentence_says_why_and_what_to_wrap(row: Any) -> None:
    """One sentence, lower case at its head but for a name, without a full stop."""
    assert ": " in row.sentence
    assert "wrap" in row.sentence
    assert not row.sentence.endswith(".")


def a_runner() -> Any:
    """A tool runner of the anthropic SDK that has asked for nothing yet."""
    client = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:9")
    return client.beta.messages.tool_runner(
        model="m", max_tokens=1, messages=[], tools=[], stream=True
    )


def a_message_stream() -> Any:
    """What a runner yields, as far as it can be told without a connection."""
    return object.__new__(anthropic.lib.streaming.BetaMessageStream)


async def a_mistral_run() -> Any:
    """What Mistral's runner hands out, by the name of its generator."""
    yield None


def test_a_tool_runner_is_refused_as_a_stream_and_by_what_it_yields() -> None:
    """But the stream that it yields is a good one for who opened it himself."""
    runner, stream = a_runner(), a_message_stream()
    assert refusal_of_stream(runner) == refusal(stream)
    assert refusal(stream) is not None
    assert refusal_of_stream(stream) is None


def test_mistrals_runner_is_known_before_it_has_run_anything() -> None:
    """Its events are those of a conversation, so only the name of its generator tells."""
    run = inspect.unwrap(Conversations.run_stream_async)
    names = [part.co_qualname for part in run.__code__.co_consts if hasattr(part, "co_name")]
    (name,) = [name for name in names if name.endswith(".run_generator")]
    generator = a_mistral_run()
    assert refusal_of_stream(generator) is None
    generator.__qualname__ = name
    assert "run_stream_async" in (refusal_of_stream(generator) or "")


@pytest.mark.parametrize(
    "stream",
    [
        shaped(stream_events=None, to_input_list=None),
        shaped(all_messages=None, new_messages=None, run_id="r"),
        shaped(receive_messages=None, receive_response=None),
    ],
    ids=["OpenAI Agents SDK", "Pydantic AI", "Claude Agent SDK"],
)
def test_what_people_hold_in_place_of_a_stream(stream: Any) -> None:
    """A run, or a client, is refused before it is iterated."""
    assert refusal_of_stream(stream) is not None
    assert refusal(stream) is not None


async def test_langchains_own_streams() -> None:
    """Its event stream is refused, and the stream that it says to wrap is not."""
    model = GenericFakeChatModel(messages=iter([AIMessage("x")] * 2))
    refused = [native async for native in model.astream_events("go")]
    assert refused
    assert [native for native in refused if "model.stream()" not in (refusal(native) or "")] == []
    taken = list(model.stream("go"))
    assert taken
    assert [native for native in taken if refusal(native) is not None] == []


def test_no_events_of_a_providers_own_stream_are_refused() -> None:
    """Neither the first of a recording nor any other."""
    natives = [native for case in fixture_cases() for native in case.recording.to_dicts()]
    assert len(natives) > 1000
    assert [native for native in natives if refusal(native)] == []


@pytest.mark.parametrize(
    "native",
    [None, "[DONE]", "start", b"data: x", 3, [], {}, (), ("x",), (None, {}), object(), Event()],
)
def test_what_says_nothing_is_not_refused(native: Any) -> None:
    """And nothing raises."""
    assert refusal(native) is None
    assert refusal_of_stream(native) is None


def test_a_property_that_raises_is_not_asked() -> None:
    """Looking at a stream must not run its code."""

    class Delicate:
        @property
        def until_done(self) -> None:
            raise AssertionError

    assert refusal_of_stream(Delicate()) is None


def test_recordings_are_no_streams_of_this_kind() -> None:
    """Nor is a list of events."""
    recording = fixture_cases()[0].recording
    assert isinstance(recording, Recording)
    assert refusal_of_stream(recording.to_dicts()) is None
