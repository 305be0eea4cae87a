"""The agents: one prompt and two tools on each package, each driven as its documentation drives it.

A module here runs one package: `run(provider, limit)` streams, and tells what the package gives its
caller about the end of a call. Everything is at its default: the server's address and a key that
means nothing come from the environment, and `limit` sets a time limit only in cases that say so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """A package.

    Attributes:
        name: For the command line; the module's name has underscores.
        title: For a reader.
        providers: Whose protocols it is driven over.
        packages: What has to be installed, as a package index names it.
        own_loop: Whether it brings the loop around the model; else the benchmark's is used.
    """

    name: str
    title: str
    providers: tuple[str, ...]
    packages: tuple[str, ...]
    own_loop: bool = True

    @property
    def module(self) -> str:
        """What to import."""
        return f"{__name__}.{self.name.replace('-', '_')}_agent"


PEERS = (
    Peer(
        "finalcall",
        "finalcall `run_turn`",
        ("anthropic", "openai-chat", "openai-responses"),
        ("finalcall", "anthropic", "openai"),
    ),
    Peer("anthropic", "anthropic `tool_runner`", ("anthropic",), ("anthropic",)),
    Peer(
        "openai-agents",
        "OpenAI Agents SDK",
        ("openai-responses", "openai-chat"),
        ("openai-agents", "openai"),
    ),
    Peer(
        "pydantic-ai",
        "Pydantic AI",
        ("anthropic", "openai-chat"),
        ("pydantic-ai-slim", "anthropic", "openai"),
    ),
    Peer(
        "langchain",
        "LangChain `create_agent`",
        ("anthropic", "openai-chat"),
        ("langchain", "langchain-anthropic", "langchain-openai"),
    ),
    Peer("litellm", "LiteLLM", ("anthropic", "openai-chat"), ("litellm",), own_loop=False),
)

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-5.5",
    "openai-responses": "gpt-5.5",
}
"""A model that every package takes for one of the provider's."""
