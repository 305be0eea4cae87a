"""What Gemini refuses, as far as a list of contents can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DATA = (
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "text",
    "toolCall",
    "toolResponse",
)
"""A part holds exactly one of these."""

ANSWERS = {"executableCode": "codeExecutionResult", "toolCall": "toolResponse"}


def check(contents: Sequence[dict[str, Any]]) -> list[str]:
    """The rules that these contents break.

    Args:
        contents: What a turn adds to a conversation.
    """
    broken: list[str] = []
    for position, content in enumerate(contents):
        if content["role"] not in ("model", "user"):
            broken.append("an unknown role")
        if not content["parts"]:
            broken.append("a content without parts")
        following = contents[position + 1] if position + 1 < len(contents) else None
        broken += _check_parts(content)
        if content["role"] == "model":
            broken += _check_calls(content, following)
    return broken


def _check_parts(content: dict[str, Any]) -> list[str]:
    broken: list[str] = []
    for part in content["parts"]:
        if sum(name in part for name in DATA) != 1:
            broken.append("a part that does not hold exactly one thing")
        if part.get("text") == "" and not part.get("thoughtSignature"):
            broken.append("an empty text")
        call = part.get("functionCall") or part.get("functionResponse") or {"name": "x"}
        if not call.get("name"):
            broken.append("a call or a response without a name")
        if call.get("id") == "":
            broken.append("an empty id")
        if not isinstance(part.get("functionCall", {}).get("args", {}), dict):
            broken.append("arguments that are no object")
        response = part.get("functionResponse", {}).get("response", {"output": ""})
        if not isinstance(response, dict) or not response:
            broken.append("a response that says nothing")
    if content["parts"] and all(part.get("thought") for part in content["parts"]):
        broken.append("thoughts alone")
    return broken


def _check_calls(content: dict[str, Any], following: dict[str, Any] | None) -> list[str]:
    broken: list[str] = []
    inside = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
    calls = [part for part in content["parts"] if "functionCall" in part]
    responses = [
        part["functionResponse"]
        for part in (following or {"parts": []})["parts"]
        if "functionResponse" in part
    ]
    asked = [_who(part["functionCall"]) for part in calls]
    if asked != [_who(response) for response in (*inside, *responses)]:
        broken.append("calls and responses differ")
    signed = ["thoughtSignature" in part for part in calls]
    if any(signed) and not signed[0]:
        broken.append("a first call without its signature")
    for asking, answering in ANSWERS.items():
        asks = any(asking in part for part in content["parts"])
        if asks != any(answering in part for part in content["parts"]):
            broken.append("a call of the service's without its result")
    return broken


def _who(call: dict[str, Any]) -> tuple[Any, Any]:
    return call.get("id"), call.get("name")
