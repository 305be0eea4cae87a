"""The agent on finalcall, over the providers' own clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import openai

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT, ended, tell
from finalcall import CallSettled, Dispatchable, Idle, ToolSet
from finalcall.correction import Corrections, run_turn
from finalcall.turn import TurnOptions

STEPS = 10  # messages of the model: a loop needs a bound
TOOLS = ToolSet(list(FUNCTIONS.values()))


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    request = _REQUESTS[provider]()
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    budget = Corrections()
    for _ in range(STEPS):
        attempts = run_turn(
            request,
            messages,
            tools=TOOLS,
            dispatch=lambda call: FUNCTIONS[call.name](**call.parsed),
            corrections=budget,
            turn_options=_limited(limit),
        )
        for event in attempts:
            if isinstance(event, CallSettled) and not isinstance(event.outcome, Dispatchable):
                ended(event.outcome.call_id, type(event.outcome).__name__)
        result = attempts.result
        for anomaly in result.turn.anomalies:
            tell("noticed", what=anomaly.name)
        messages = result.messages
        if result.verdict != "dispatch":
            break


def _limited(limit: float | None) -> TurnOptions:
    if limit is None:
        return {}
    return {"idle_timeout": Idle(between=limit, in_call=limit, progress=limit)}


def _anthropic() -> Callable[[list[Any]], Any]:
    client = anthropic.Anthropic()
    return lambda messages: client.messages.create(
        model=MODELS["anthropic"],
        max_tokens=1024,
        messages=messages,
        tools=TOOLS.to("anthropic"),
        stream=True,
    )


def _openai_chat() -> Callable[[list[Any]], Any]:
    client = openai.OpenAI()
    return lambda messages: client.chat.completions.create(
        model=MODELS["openai-chat"],
        messages=messages,
        tools=TOOLS.to("openai-chat"),
        stream=True,
    )


def _openai_responses() -> Callable[[list[Any]], Any]:
    client = openai.OpenAI()
    return lambda messages: client.responses.create(
        model=MODELS["openai-responses"],
        input=messages,
        tools=TOOLS.to("openai-responses"),
        stream=True,
    )


_REQUESTS = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
}
