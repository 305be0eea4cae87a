"""The agent on Pydantic AI."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, FunctionToolResultEvent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT, ended


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    asyncio.run(_run(provider, limit))


async def _run(provider: str, limit: float | None) -> None:
    name = MODELS[provider]
    model: Model = AnthropicModel(name) if provider == "anthropic" else OpenAIChatModel(name)
    agent = Agent(model, tools=list(FUNCTIONS.values()))
    settings = None if limit is None else {"timeout": limit}
    async with agent.run_stream_events(PROMPT, model_settings=settings) as events:
        async for event in events:
            if isinstance(event, FunctionToolResultEvent):
                ended(event.tool_call_id, type(event.part).__name__)
