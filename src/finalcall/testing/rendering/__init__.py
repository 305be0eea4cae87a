"""Replies in the words of every provider: one file a family, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from finalcall.testing.recordings import Recording
from finalcall.testing.rendering import (
    anthropic,
    bedrock,
    chat,
    cohere,
    gemini,
    ollama,
    responses,
    xai,
)
from finalcall.testing.rendering.base import Renderer
from finalcall.testing.rendering.words import word_for
from finalcall.testing.reply_parts import Call, Part, Tokens

RENDERERS: Final[Mapping[str, Renderer]] = {
    "anthropic": anthropic.render,
    "bedrock-converse": bedrock.render,
    "cohere": cohere.render,
    "gemini": gemini.render,
    "gemini-interactions": gemini.render_interactions,
    "mistral": chat.render_mistral,
    "ollama": ollama.render,
    "openai-chat": chat.render,
    "openai-responses": responses.render,
    "xai": xai.render,
}
"""By provider."""


def render(provider: str, parts: Sequence[Part], stop: str | None, tokens: Tokens) -> Recording:
    """A reply as a recorded stream of a provider.

    Args:
        provider: Whose.
        parts: What the reply consists of.
        stop: Why it stops: see `Reply.stop`.
        tokens: What it cost.

    Raises:
        ValueError: No reply can be rendered as that provider's.
    """
    if provider not in RENDERERS:
        raise ValueError(
            f"unknown provider {provider!r}; a reply can be rendered as one of "
            f"{', '.join(sorted(RENDERERS))}"
        )
    calls = any(isinstance(part, Call) for part in parts)
    events = RENDERERS[provider](parts, word_for(provider, stop, calls=calls), tokens)
    return Recording({"provider": provider, "dialect": provider}, tuple(events))
