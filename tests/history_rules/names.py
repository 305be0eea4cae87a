"""Which tool names the providers take in a conversation, whoever's they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

OPENAI = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GEMINI = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")

TAKEN: Mapping[str, re.Pattern[str]] = {
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    "bedrock-converse": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "cohere": re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*"),
    "gemini": GEMINI,
    "gemini-interactions": GEMINI,
    "mistral": OPENAI,
    "ollama": re.compile(r".+"),
    "openai-chat": OPENAI,
    "openai-responses": OPENAI,
    "xai": OPENAI,
}
"""By provider. Ollama takes what a model's template can write; xAI and Mistral as OpenAI does."""


def check(provider: str, messages: Any) -> list[str]:
    """The names that the provider does not take.

    Args:
        provider: Its name.
        messages: What a turn adds to a conversation.
    """
    return [name for name in _names(messages) if not TAKEN[provider].fullmatch(name)]


def _names(messages: Any) -> Iterator[str]:
    pending = [messages]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield from (str(node[field]) for field in ("name", "tool_name") if field in node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
