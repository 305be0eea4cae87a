"""The shortest agent on the asynchronous openai client, over the Responses API.

`OPENAI_API_KEY` names your key; `OPENAI_BASE_URL` may name another server. Cancelling the task is
safe at any moment: every call is settled, and the stream is closed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal

import openai

from finalcall import AsyncTurn, Dispatchable, TextDelta, ToolSet

STEPS = 10  # messages of the model: a loop needs a bound


async def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather is like."""
    await asyncio.sleep(0)  # stands for a request of your own
    return f"18 degrees {unit} in {city}"


TOOLS = ToolSet([get_weather])


async def run(question: str) -> str:
    """Answer one question.

    Returns:
        The last verdict: `"done"`, or `"fail"` where the person has to decide.
    """
    items: list[Any] = [{"role": "user", "content": question}]
    async with openai.AsyncOpenAI() as client:
        for _ in range(STEPS):
            stream = await client.responses.create(
                model="gpt-5.5",
                input=items,
                tools=TOOLS.to("openai-responses"),
                store=False,
                include=["reasoning.encrypted_content"],
                stream=True,
            )
            async with AsyncTurn(stream, tools=TOOLS, raises=False) as turn:
                async for event in turn:
                    if isinstance(event, TextDelta):
                        print(event.text, end="", flush=True)
            print(f" [{turn.verdict}]")
            match turn.verdict:
                case "dispatch" | "correct":  # invalid calls are answered for you
                    items += turn.history(
                        {
                            outcome: await get_weather(**outcome.parsed)
                            for outcome in turn.outcomes
                            if isinstance(outcome, Dispatchable)
                        }
                    )
                case "resume":  # the provider wants its message back
                    items += turn.history()
                case "done" | "fail":
                    for block in turn.blocks:
                        print(block.line())
                    return turn.verdict
    return "fail"


if __name__ == "__main__":
    sys.exit(
        asyncio.run(run(" ".join(sys.argv[1:]) or "What is the weather like in Lund?")) != "done"
    )
