"""An agent on the asynchronous openai client: invalid calls go back, the person stops it at will.

`OPENAI_API_KEY` names your key; `OPENAI_BASE_URL` may name another server.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

import openai

from finalcall import Dispatchable, TextDelta, ToolSet
from finalcall.correction import Corrections, arun_turn, larger_budget

STEPS = 10  # messages of the model: a loop needs a bound


async def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather is like."""
    await asyncio.sleep(0)  # stands for a request of your own
    return f"18 degrees {unit} in {city}"


TOOLS = ToolSet([get_weather])


async def dispatch(call: Any) -> str:
    """Run a call that was proved whole, and valid for its tool."""
    assert isinstance(call, Dispatchable)
    return await get_weather(**call.parsed)


async def run(question: str) -> list[Any]:
    """Answer one question, in as many messages as it takes.

    Cancelling the task is safe at any moment: every call is settled, and nothing is left open.

    Returns:
        The conversation, which can go on whatever happened.
    """
    messages: list[Any] = [{"role": "user", "content": question}]
    budget = Corrections(max=2)
    async with openai.AsyncOpenAI() as client:

        async def request(messages: list[Any], ceiling: int) -> Any:
            return await client.chat.completions.create(
                model="gpt-5.5",
                max_completion_tokens=ceiling,
                messages=messages,
                tools=TOOLS.to("openai-chat"),
                stream=True,
            )

        for _ in range(STEPS):
            attempts = arun_turn(
                request,
                messages,
                tools=TOOLS,
                dispatch=dispatch,
                corrections=budget,
                ceiling=1024,
                on_truncated=larger_budget(ceiling=8192),
            )
            async for event in attempts:
                if isinstance(event, TextDelta):
                    print(event.text, end="", flush=True)
            result = attempts.result
            messages = result.messages
            print(f" [{result.verdict}, {result.ending}]")
            if result.verdict != "dispatch":
                break
    return messages


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
