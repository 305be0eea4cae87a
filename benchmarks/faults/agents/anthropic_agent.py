"""The agent on the anthropic client's tool runner."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic, beta_tool

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    options: dict[str, Any] = {} if limit is None else {"timeout": limit}
    runner = Anthropic(**options).beta.messages.tool_runner(
        model=MODELS[provider],
        max_tokens=1024,
        messages=[{"role": "user", "content": PROMPT}],
        tools=[beta_tool(function) for function in FUNCTIONS.values()],
        stream=True,
    )
    for stream in runner:
        for _ in stream:
            pass  # its events say when a block ends, and nothing of what becomes of the call
