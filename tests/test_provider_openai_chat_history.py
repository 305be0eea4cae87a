"""What a chat completion leaves in the conversation: always something the service accepts."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from finalcall import Dispatchable, ToolResult
from tests.chat_chunks import DONE, GOOD, calls, chunk, entry, message, settle, tools
from tests.history_rules.openai_chat import check
from tests.streams import FIXTURES, Case, cases, settle_natives

CASES = cases(FIXTURES / "openai-chat")
MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)

TICKET = [
    {
        "type": "function",
        "function": {
            "name": "create_ticket",
            "parameters": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
            },
        },
    }
]


def answered(settler: Any) -> list[dict[str, Any]]:
    """The history, each dispatchable call answered with `ok`."""
    return settler.history({one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)})


def validated(messages: list[dict[str, Any]]) -> None:
    for one in messages:
        MESSAGE.validate_python(one)


def test_a_call_and_its_answer() -> None:
    """Ids and argument text go back byte for byte."""
    assert answered(settle(*GOOD)) == [
        {
            "role": "assistant",
            "content": "On it.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "create_ticket", "arguments": '{"title": "x"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ]


HISTORIES: dict[str, list[Any]] = {
    "clean": GOOD,
    "two calls": message(entry("{}", "f", "a"), entry("{}", "g", "b", 1)),
    "blank arguments": message(entry("", "f", "a")),
    "one unparseable": message(entry("{}", "f", "a"), entry("{", "g", "b", 1)),
    "truncated": [*GOOD[:-2], chunk(finish="length"), DONE],
    "truncated without text": message(entry("{}", "f", "a"), finish="length"),
    "cut": GOOD[:-3],
    "cut in reasoning": [chunk({"reasoning_content": "hm"})],
    "refused": [chunk({"refusal": "No."}), chunk(finish="stop"), DONE],
    "refused after text": [chunk({"content": "Well."}), *[chunk({"refusal": "No."})], DONE],
    "paused": [chunk({"content": "Well."}), *message(entry("{}", "f", "a"), finish="pause_turn")],
    "an error": [*GOOD[:-2], {"error": {"message": "no"}}],
    "empty": [],
    "only a marker": [DONE],
    "the deprecated call, cut": [chunk({"function_call": {"name": "f", "arguments": "{"}})],
    "half of a surrogate pair": [chunk({"content": "x\ud83d"}), chunk(finish="stop"), DONE],
    "a pair in two pieces": [
        chunk({"content": "\ud83d"}),
        chunk({"content": "\ude00"}),
        *message(entry('{"t":"\ud83d', "f", "a"), entry('\ude00"}')),
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_always_accepted(name: str) -> None:
    """After a clean turn and after every failure: the SDK's types and the API's rules hold."""
    messages = answered(settle(*HISTORIES[name]))
    assert check(messages) == []
    validated(messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_history_of_every_recording_is_accepted(case: Case) -> None:
    """Whole, and cut at every twentieth of its length, or at every event if it is short."""
    natives, offered = case.recording.to_dicts(), case.tools()
    names = [tool["function"]["name"] for tool in offered or [] if "function" in tool]
    for length in (*range(0, len(natives), max(1, len(natives) // 20)), len(natives)):
        messages = answered(settle_natives(natives[:length], offered))
        assert check(messages, names) == []
        validated(messages)


def test_an_invalid_call_is_answered_and_a_failed_one_goes() -> None:
    """Nothing is left without its answer."""
    settler = settle(
        *message(
            entry('{"title":"x"}', "create_ticket", "a"),
            entry('{"title":1}', "create_ticket", "b", 1),
            entry("{", "create_ticket", "c", 2),
        ),
        tools=TICKET,
    )
    assistant, first, second = answered(settler)
    assert [call["id"] for call in assistant["tool_calls"]] == ["a", "b"]
    assert first == {"role": "tool", "tool_call_id": "a", "content": "ok"}
    assert second["tool_call_id"] == "b"
    assert second["content"].startswith("Error: Invalid arguments")


def test_an_error_is_said_in_the_content() -> None:
    """The API has no flag for it."""
    settler = settle(*GOOD)
    blocks = [{"type": "text", "text": "no such user"}]
    assert settler.history({"call_1": KeyError("x")})[1]["content"] == "Error: KeyError: 'x'"
    assert settler.history({"call_1": ToolResult(blocks, is_error=True)})[1]["content"] == [
        {"type": "text", "text": "Error:"},
        *blocks,
    ]
    assert settler.history({"call_1": ToolResult(blocks)})[1]["content"] == blocks


def test_a_call_without_an_id() -> None:
    """An empty id on both sides and the tool's name: a made-up id is never sent."""
    assistant, answer = answered(settle(*message(entry("{}", "f", "", None))))
    assert assistant["tool_calls"][0]["id"] == ""
    assert answer == {"role": "tool", "tool_call_id": "", "name": "f", "content": "ok"}
    assert check([assistant, answer]) == []


def test_a_name_that_the_api_would_refuse() -> None:
    """A tool that was never offered may be called anything; the offered ones are known there."""
    settler = settle(
        *message(entry("{}", "create ticket!", "a"), entry("{}", "x" * 80, "b", 1)),
        tools=TICKET,
    )
    messages = answered(settler)
    assert check(messages) == []
    assert messages[0]["tool_calls"][0]["function"]["name"] == "create_ticket_"
    dotted = settle(*message(entry("{}", "web.search", "a")), tools=tools("web.search"))
    assert answered(dotted)[0]["tool_calls"][0]["function"]["name"] == "web.search"


def test_only_the_first_choice_goes_on() -> None:
    """The others are alternatives to it."""
    settler = settle(
        calls(entry("{}", "f", "a")),
        calls(entry("{}", "g", "b"), choice=1),
        chunk(finish="tool_calls"),
        chunk(finish="tool_calls", choice=1),
        choices="all",
    )
    assistant, answer = answered(settler)
    assert [call["id"] for call in assistant["tool_calls"]] == ["a"]
    assert answer["tool_call_id"] == "a"


CALL = message(entry("{}", "f", "a"))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_in_its_own_field(field: str) -> None:
    """Each service refuses the other's field."""
    assistant, _ = answered(settle(chunk({field: "h"}), chunk({field: "m"}), *CALL))
    assert assistant[field] == "hm"
    assert not {"reasoning_content", "reasoning"} - {field} & set(assistant)


def test_empty_reasoning() -> None:
    """DeepSeek wants its field beside calls even where it is empty; Groq refuses an empty one."""
    assistant, _ = answered(settle(chunk({"reasoning_content": ""}), *CALL))
    assert assistant["reasoning_content"] == ""
    assistant, _ = answered(settle(chunk({"reasoning": "", "reasoning_content": None}), *CALL))
    assert set(assistant) == {"role", "content", "tool_calls"}


DETAILS = [
    [{"type": "reasoning.text", "index": 0, "format": "f", "text": "h"}],
    [{"type": "reasoning.text", "index": 0, "text": "m", "signature": None}, None],
    [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}],
    [{"type": "reasoning.text", "index": 0, "text": "next"}],
    [{"type": "reasoning.encrypted", "index": 1, "data": "x"}],
    [{"type": "reasoning.encrypted", "index": 1, "data": "y"}],
]


def test_reasoning_items_are_put_together() -> None:
    """Texts of one item are joined; a signature closes it; encrypted ones come whole."""
    pieces = [chunk({"reasoning_details": one}) for one in DETAILS]
    assistant, _ = answered(settle(*pieces, *CALL))
    assert assistant["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "signature": "c2ln", "text": "hm"},
        {"type": "reasoning.text", "index": 0, "text": "next"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        {"type": "reasoning.encrypted", "index": 1, "data": "y"},
    ]


def test_signed_reasoning_goes_with_its_call() -> None:
    """Where every call failed, what was signed for them goes too; plain reasoning stays."""
    said = [chunk({"content": "On it.", "reasoning": "hm", "reasoning_details": DETAILS[0]})]
    (failed,) = answered(settle(*said, *message(entry("{", "f", "a"))))
    assert failed == {"role": "assistant", "content": "On it.", "reasoning": "hm"}
    (talk,) = answered(settle(*said, chunk(finish="stop"), DONE))
    assert "reasoning_details" in talk


def test_thinking_blocks_of_litellm() -> None:
    """Pieces of a block are joined, its signature last."""
    assistant, _ = answered(
        settle(
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "h", "signature": None}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "m"}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}),
            chunk({"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}),
            *CALL,
        )
    )
    assert assistant["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "x"},
    ]


SIGNED = {"google": {"thought_signature": "c2ln"}}


@pytest.mark.parametrize(
    "steps",
    [
        [entry("{}", "f", "a", extra_content=SIGNED)],
        [entry("{}", "f", "a"), {"index": 0, "extra_content": SIGNED}],
        [entry("{}", "f", "a"), {"extra_content": SIGNED}],
    ],
)
def test_a_thought_signature_stays_with_its_call(steps: list[Any]) -> None:
    """Beside the call or in a piece of its own."""
    assistant, _ = answered(settle(*message(*steps)))
    assert assistant["tool_calls"][0]["extra_content"] == SIGNED
    (talk,) = answered(settle(chunk({"content": "Hi", "extra_content": SIGNED}), DONE))
    assert talk["extra_content"] == SIGNED


ASKS = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "ok"}


def asking(*entries: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(entries)} | fields


BROKEN: dict[str, list[dict[str, Any]]] = {
    "a call without its answer": [asking(ASKS)],
    "an answer that nothing asked for": [ANSWER],
    "an empty list of calls": [asking(content="x")],
    "an assistant message that says nothing": [{"role": "assistant", "content": None}],
    "a name that the API does not take": [
        asking({**ASKS, "function": {"name": "a b", "arguments": "{}"}}),
        ANSWER,
    ],
    "arguments that are no text": [
        asking({**ASKS, "function": {"name": "f", "arguments": {}}}),
        ANSWER,
    ],
    "arguments that are empty": [asking({**ASKS, "function": {"name": "f", "arguments": ""}})],
    "empty content": [asking(ASKS, content=""), ANSWER],
    "content of parts that the role cannot hold": [
        asking(ASKS),
        {**ANSWER, "content": [{"type": "refusal", "refusal": "x"}]},
    ],
    "a role that a turn cannot add": [{"role": "user", "content": "x"}],
    "a message that cannot be encoded": [{"role": "assistant", "content": "\ud83d"}],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_checker_of_the_rules_can_fail(rule: str) -> None:
    """Each rule is broken by something."""
    assert rule in check(BROKEN[rule])
    assert check([asking(ASKS), ANSWER]) == []
