"""An agent on the anthropic client: invalid calls go back to the model, payments run at most once.

`ANTHROPIC_API_KEY` names your key; `ANTHROPIC_BASE_URL` may name another server.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import anthropic

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


FUNCTIONS = {"get_balance": get_balance, "send_payment": send_payment}
TOOLS = ToolSet([get_balance, send_payment], once=("send_payment",))


def dispatch(call: Any) -> Any:
    """Run a call that was proved whole, and valid for its tool."""
    if isinstance(call, AlreadyDispatched):
        if call.previous.state == "done":
            return call.previous.result
        return RuntimeError("this payment may have been made already: a person has to look")
    return FUNCTIONS[call.name](**call.parsed)


def run(user_turn: str, question: str, ledger_path: str) -> list[Any]:
    """Answer one question, in as many messages as it takes.

    Args:
        user_turn: The id under which you keep this turn: the same when it is tried again.
        question: What the person wants.
        ledger_path: Where payments are noted.

    Returns:
        The conversation, which can go on whatever happened.
    """
    client = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": question}]
    budget = Corrections(max=2)

    def request(messages: list[Any], ceiling: int) -> Any:
        return client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=ceiling,
            messages=messages,
            tools=TOOLS.to("anthropic"),
            stream=True,
        )

    with client, SQLiteLedger(ledger_path) as ledger:
        for step in range(STEPS):
            attempts = run_turn(
                request,
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
    run(sys.argv[1], sys.argv[2], "payments.db")
