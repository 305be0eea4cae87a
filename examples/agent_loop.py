"""An agent's loop, the same for any client: wrong calls go back, payments are made at most once.

    python agent_loop.py anthropic turn-4711 "Pay Ann 20 from billing."

`ANTHROPIC_API_KEY` or `OPENAI_API_KEY` names your key; `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL`
may name another server.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import anthropic
import openai

from finalcall import TextDelta, ToolSet
from finalcall.correction import (
    AlreadyDispatched,
    Corrections,
    SQLiteLedger,
    larger_budget,
    run_turn,
    same_request,
)

STEPS = 10  # messages of the model: a loop needs a bound


def get_balance(account: Literal["billing", "travel"]) -> int:
    """Say what is left in an account."""
    return {"billing": 300, "travel": 50}[account]


def send_payment(account: Literal["billing", "travel"], amount: float, to: str) -> str:
    """Pay somebody out of an account."""
    return f"paid {amount} to {to}, from {account}"


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_balance": get_balance,
    "send_payment": send_payment,
}
TOOLS = ToolSet([get_balance, send_payment], once=("send_payment",))


def ask_anthropic(client: anthropic.Anthropic, messages: list[Any], ceiling: int) -> Any:
    """Open a stream of the Messages API."""
    return client.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=ceiling,
        messages=messages,
        tools=TOOLS.to("anthropic"),
        stream=True,
    )


def ask_openai(client: openai.OpenAI, messages: list[Any], ceiling: int) -> Any:
    """Open a stream of Chat Completions."""
    return client.chat.completions.create(
        model="gpt-5.5",
        max_completion_tokens=ceiling,
        messages=messages,
        tools=TOOLS.to("openai-chat"),
        stream=True,
    )


MODELS: dict[str, tuple[Callable[[], Any], Callable[[Any, list[Any], int], Any]]] = {
    "anthropic": (anthropic.Anthropic, ask_anthropic),
    "openai": (openai.OpenAI, ask_openai),
}
"""Whom to ask: the client, and how it is asked."""


def dispatch(call: Any) -> Any:
    """Run a call that was proved whole, and valid for its tool."""
    if isinstance(call, AlreadyDispatched):
        if call.previous.state == "done":
            return call.previous.result
        return RuntimeError("this payment may have been made already: a person has to look")
    return FUNCTIONS[call.name](**call.parsed)


def run(model: str, user_turn: str, question: str, ledger_path: str) -> list[Any]:
    """Answer one question, in as many messages as it takes.

    Args:
        model: Whom to ask, a name of `MODELS`.
        user_turn: The id under which you keep this turn: the same when it is tried again.
        question: What the person wants.
        ledger_path: Where payments are noted.

    Returns:
        The conversation, which can go on whatever happened.
    """
    messages: list[Any] = [{"role": "user", "content": question}]
    budget = Corrections(max=2)
    connect, ask = MODELS[model]
    with connect() as client, SQLiteLedger(ledger_path) as ledger:
        for step in range(STEPS):
            attempts = run_turn(
                partial(ask, client),
                messages,
                tools=TOOLS,
                dispatch=dispatch,
                corrections=budget,
                ceiling=1024,
                on_truncated=larger_budget(ceiling=8192),
                on_abandoned=same_request(),
                ledger=ledger,
                run_key=f"{user_turn}/{step}",
                turn_options={"raises": False},
            )
            for event in attempts:
                if isinstance(event, TextDelta):
                    print(event.text, end="", flush=True)
            result = attempts.result
            messages = result.messages
            print(f" [{result.verdict}, {result.ending}]")
            if result.verdict != "dispatch":
                break
    return messages


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit('usage: python agent_loop.py anthropic|openai RUN_KEY "WHAT TO DO"')
    run(sys.argv[1], sys.argv[2], sys.argv[3], "payments.db")
