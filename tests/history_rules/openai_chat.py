"""What chat completion services refuse, as far as a message list can show it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check(messages: Sequence[dict[str, Any]], offered: Sequence[str] = ()) -> list[str]:
    """The rules that these messages break.

    Args:
        messages: What a turn adds to a conversation.
        offered: The names of the request's tools, which the service has taken once.
    """
    broken: list[str] = []
    waiting: list[str] = []
    for message in messages:
        try:
            json.dumps(message, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            broken.append("a message that cannot be encoded")
        match message["role"]:
            case "assistant":
                broken += [*_check_assistant(message, offered), *_unanswered(waiting)]
                waiting = _asked(message)
            case "tool" | "function" as role:
                asked = f"{role} {message.get('tool_call_id', message.get('name'))}"
                if asked in waiting:
                    waiting.remove(asked)
                else:
                    broken.append("an answer that nothing asked for")
                broken += _check_content(message)
            case _:
                broken.append("a role that a turn cannot add")
    return broken + _unanswered(waiting)


def _asked(message: dict[str, Any]) -> list[str]:
    asked = [f"tool {call['id']}" for call in message.get("tool_calls", [])]
    if "function_call" in message:
        asked.append(f"function {message['function_call']['name']}")
    return asked


def _unanswered(waiting: Sequence[str]) -> list[str]:
    return ["a call without its answer"] if waiting else []


def _check_assistant(message: dict[str, Any], offered: Sequence[str]) -> list[str]:
    broken = []
    calls = message.get("tool_calls")
    if calls == []:
        broken.append("an empty list of calls")
    if not calls and "function_call" not in message and not message.get("content"):
        broken.append("an assistant message that says nothing")
    bodies = [call[call["type"]] for call in calls or []]
    bodies += [message["function_call"]] if "function_call" in message else []
    for body in bodies:
        if body["name"] not in offered and not NAME.fullmatch(body["name"]):
            broken.append("a name that the API does not take")
        if not isinstance(body.get("arguments", body.get("input")), str):
            broken.append("arguments that are no text")
        if body.get("arguments") == "":
            broken.append("arguments that are empty")
    return broken + (_check_content(message) if message.get("content") is not None else [])


def _check_content(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [] if content or message["role"] != "assistant" else ["empty content"]
    allowed = {"text", "refusal"} if message["role"] == "assistant" else {"text"}
    if not content or not all(part["type"] in allowed for part in content):
        return ["content of parts that the role cannot hold"]
    return []
