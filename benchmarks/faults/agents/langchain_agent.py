"""The agent on LangChain's agent, over its packages for the two providers."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT, ended


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    asyncio.run(_run(provider, limit))


async def _run(provider: str, limit: float | None) -> None:
    agent = create_agent(_model(provider, limit), tools=list(FUNCTIONS.values()))
    request: Any = {"messages": [{"role": "user", "content": PROMPT}]}
    async for mode, update in agent.astream(request, stream_mode=["messages", "updates"]):
        if mode != "updates":
            continue
        for node in update.values():
            for message in node["messages"]:
                _tell(message)


def _tell(message: Any) -> None:
    if isinstance(message, ToolMessage):
        ended(message.tool_call_id, f"ToolMessage({message.status})")
    elif isinstance(message, AIMessage):
        for call in message.invalid_tool_calls:
            ended(call["id"], "invalid_tool_call")


def _model(provider: str, limit: float | None) -> Any:
    if provider == "anthropic":
        options: dict[str, Any] = {} if limit is None else {"timeout": limit}
        return ChatAnthropic(model=MODELS[provider], **options)
    options = {} if limit is None else {"timeout": limit, "stream_chunk_timeout": limit}
    return ChatOpenAI(model=MODELS[provider], **options)
