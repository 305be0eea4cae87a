"""OpenAI Responses: the item that answers each kind of call."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall import ToolResult
from tests.responses_events import call, created, custom, done, ending
from tests.test_provider_openai_responses_history import TOOLS, history, settle

SCREENSHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}


def answer(result: Any, *events: Any, tools: Any = None) -> dict[str, Any]:
    """The last item of a history: the answer to the last call."""
    return history(settle(created(), *events, ending(), tools=tools), result)[-1]


BLOCKS = [{"type": "input_text", "text": "ok"}]


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("ok", "ok"),
        ({"a": 1}, '{"a": 1}'),
        (BLOCKS, BLOCKS),
        (ValueError("no"), "Error: ValueError: no"),
        (ToolResult(BLOCKS, is_error=True), [{"type": "input_text", "text": "Error:"}, *BLOCKS]),
    ],
)
def test_a_functions_answer(result: Any, output: Any) -> None:
    """Text or content; the API has no error flag, so an error says so itself."""
    caller = {"type": "program", "caller_id": "p"}
    answered = answer(result, *call(caller=caller))
    assert answered == {
        "type": "function_call_output",
        "call_id": "call_1",
        "caller": caller,
        "output": output,
    }
    answered = answer(result, *custom(), tools=TOOLS)
    assert answered == {
        "type": "custom_tool_call_output",
        "call_id": "call_1",
        "output": output,
    }


PATCH = {"operation": {"type": "delete_file", "path": "a"}}
EXEC = {"action": {"type": "exec", "command": ["ls"], "env": {}}}
FAILED = ToolResult("no", is_error=True)


def built_in(kind: str, **content: Any) -> dict[str, Any]:
    return done(0, kind, id="i", call_id="c", status="completed", **content)


@pytest.mark.parametrize(
    ("event", "result", "fields"),
    [
        (built_in("apply_patch_call", **PATCH), "ok", {"status": "completed", "output": "ok"}),
        (
            built_in("apply_patch_call", **PATCH),
            FAILED,
            {"status": "failed", "output": "Error: no"},
        ),
        (built_in("local_shell_call", **EXEC), "ok", {"id": "c", "output": "ok"}),
        (
            built_in("shell_call", action={"commands": ["ls"]}),
            "ok",
            {
                "output": [
                    {"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
                ]
            },
        ),
        (
            built_in("shell_call", action={"commands": ["ls"], "max_output_length": 9}),
            FAILED,
            {
                "max_output_length": 9,
                "output": [
                    {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 1}}
                ],
            },
        ),
        (
            built_in("shell_call", action={"commands": ["ls"]}),
            ToolResult([{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]),
            {"output": [{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]},
        ),
        (
            built_in("computer_call", action={"type": "wait"}, pending_safety_checks=[]),
            [SCREENSHOT],
            {"output": SCREENSHOT},
        ),
        (
            built_in("computer_call", action={"type": "wait"}),
            [
                {
                    "type": "computer_call_output",
                    "output": SCREENSHOT,
                    "acknowledged_safety_checks": [{"id": "s"}],
                }
            ],
            {"output": SCREENSHOT, "acknowledged_safety_checks": [{"id": "s"}]},
        ),
        (
            built_in("tool_search_call", arguments={"goal": "x"}, execution="client"),
            [TOOLS[1] | {"strict": True}],
            {"execution": "client", "status": "completed", "tools": [TOOLS[1] | {"strict": True}]},
        ),
        (
            built_in("tool_search_call", arguments={"goal": "x"}, execution="client"),
            "none",
            {"execution": "client", "status": "completed", "tools": []},
        ),
    ],
)
def test_a_built_in_tools_answer(event: Any, result: Any, fields: dict[str, Any]) -> None:
    """Each kind has its own form, and its own nearest thing to an error flag."""
    answered = answer(result, event)
    kind = event["item"]["type"]
    expected = kind.removesuffix("_call") if kind == "tool_search_call" else kind
    assert answered == {"type": f"{expected}_output", "call_id": "c"} | fields


@pytest.mark.parametrize("result", ["a text", [{"type": "input_text", "text": "x"}]])
def test_a_computer_call_without_a_screenshot_is_left_out(result: Any) -> None:
    """Nothing else can answer it, so the call is not repeated either."""
    event = built_in("computer_call", action={"type": "wait"})
    assert history(settle(created(), event, ending()), result) == []


@pytest.mark.parametrize(
    ("result", "fields"),
    [
        (True, {"approve": True}),
        ({"approve": True}, {"approve": True}),
        ("true enough", {"approve": False, "reason": "true enough"}),
        (False, {"approve": False, "reason": "false"}),
        (ToolResult("true", is_error=True), {"approve": False, "reason": "Error: true"}),
    ],
)
def test_only_a_plain_yes_approves(result: Any, fields: dict[str, Any]) -> None:
    """Whatever else a tool of the same name may return refuses, and is the reason."""
    asked = {"id": "mcpr_1", "name": "pay", "server_label": "bank", "arguments": "{}"}
    settler = settle(created(), done(0, "mcp_approval_request", **asked), ending())
    (request, response) = history(settler, result)
    assert request == {"type": "mcp_approval_request", **asked}
    assert response == {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        **fields,
    }
