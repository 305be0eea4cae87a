"""The agent on the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio

from agents import (
    Agent,
    Runner,
    ToolCallOutputItem,
    function_tool,
    set_default_openai_api,
    set_default_openai_client,
)
from openai import AsyncOpenAI

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT, ended


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    asyncio.run(_run(provider, limit))


async def _run(provider: str, limit: float | None) -> None:
    if provider == "openai-chat":
        set_default_openai_api("chat_completions")
    if limit is not None:
        set_default_openai_client(AsyncOpenAI(timeout=limit), use_for_tracing=False)
    tools = [function_tool(function) for function in FUNCTIONS.values()]
    agent = Agent(name="writer", model=MODELS[provider], tools=list(tools))
    result = Runner.run_streamed(agent, PROMPT)
    async for event in result.stream_events():
        if event.type == "run_item_stream_event" and isinstance(event.item, ToolCallOutputItem):
            ended(event.item.call_id, "tool_output")
