"""What the Interactions API refuses, as far as a list of input steps can show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check(steps: Sequence[dict[str, Any]], *, stored: bool = False) -> list[str]:
    """The rules that these steps break.

    Args:
        steps: What a turn adds to the input.
        stored: They go with a `previous_interaction_id`, so the service has the calls.
    """
    broken: list[str] = []
    for step in steps:
        broken += _check_step(step)
    if stored:
        if any(step["type"] != "function_result" for step in steps):
            broken.append("a step that the service has")
        return broken
    if steps and all(step["type"] == "thought" for step in steps):
        broken.append("thoughts alone")
    calls = [step["id"] for step in steps if step["type"] == "function_call"]
    results = [step["call_id"] for step in steps if step["type"] == "function_result"]
    if calls != results:
        broken.append("calls and results differ")
    own = [step["id"] for step in steps if _ends(step, "_call", "function_call")]
    answered = [step["call_id"] for step in steps if _ends(step, "_result", "function_result")]
    if sorted(own) != sorted(answered):
        broken.append("a call of the service's without its result")
    return broken


def _ends(step: dict[str, Any], ending: str, client: str) -> bool:
    return step["type"].endswith(ending) and step["type"] != client


def _check_step(step: dict[str, Any]) -> list[str]:
    broken: list[str] = []
    if step["type"] in ("function_call", "function_result") and not step.get("name"):
        broken.append("a call or a result without a name")
    if not step.get("id" if step["type"].endswith("_call") else "call_id", "x"):
        broken.append("an empty id")
    if step["type"] == "function_call" and not isinstance(step["arguments"], dict):
        broken.append("arguments that are no object")
    if step["type"] == "function_result" and not isinstance(step["result"], str | list | dict):
        broken.append("a result of the wrong type")
    if step["type"] == "thought" and not step.get("signature"):
        broken.append("a thought without its signature")
    if step["type"] == "model_output" and not step.get("content"):
        broken.append("an output without content")
    return broken
