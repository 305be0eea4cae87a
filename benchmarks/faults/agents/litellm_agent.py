"""The agent on LiteLLM, which brings no loop: the usual one around its completion.

The stream is joined by LiteLLM's own builder; arguments go through `json.loads` into the tool.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import litellm
from pydantic import TypeAdapter

from benchmarks.faults.agents import MODELS
from benchmarks.faults.telling import FUNCTIONS, PROMPT, ended

_PREFIXES = {"anthropic": "anthropic", "openai-chat": "openai"}


def run(provider: str, limit: float | None) -> None:
    """Run the agent."""
    options: dict[str, Any] = {} if limit is None else {"timeout": limit, "stream_timeout": limit}
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    for _ in itertools.count():
        chunks = list(
            litellm.completion(
                model=f"{_PREFIXES[provider]}/{MODELS[provider]}",
                messages=messages,
                tools=_TOOLS,
                stream=True,
                **options,
            )
        )
        built: Any = litellm.stream_chunk_builder(chunks, messages=messages)
        message = built.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
            ended(call.id, "result")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": (function.__doc__ or "").split("\n")[0],
            "parameters": TypeAdapter(function).json_schema(),
        },
    }
    for name, function in FUNCTIONS.items()
]
