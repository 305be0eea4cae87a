"""Which word each provider has for why a message stopped: one table.

Not every service has a word for everything. One without a pause is given its word for a ceiling,
since a message that pauses is not whole; one without a filter its word for an error, or, where
there is none, for a ceiling. Nothing of such a message may run, so calls settle alike everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final


@final
class Words(NamedTuple):
    """A provider's words.

    Attributes:
        calls: The message is complete and holds calls.
        complete: It is complete and holds none.
        truncated: A token ceiling cut it.
        filtered: A safety system ended it.
        refused: The model refused.
        paused: The provider wants the message sent back.
    """

    calls: str
    complete: str
    truncated: str
    filtered: str
    refused: str
    paused: str


REFUSAL: Final = "refusal"
"""Where the word stands for a text of its own kind: the message ends well, but holds a refusal."""

WORDS: Final[Mapping[str, Words]] = {
    "anthropic": Words("tool_use", "end_turn", "max_tokens", "refusal", "refusal", "pause_turn"),
    # The pause is a router's word, passed on from another service.
    "openai-chat": Words("tool_calls", "stop", "length", "content_filter", REFUSAL, "pause_turn"),
    "openai-responses": Words(
        "completed", "completed", "max_output_tokens", "content_filter", REFUSAL, "steered"
    ),
    "gemini": Words("STOP", "STOP", "MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT", "CONTINUATION"),
    # No filter, and its word for an error is no stop reason but a fault.
    "gemini-interactions": Words(
        "requires_action",
        "completed",
        "incomplete",
        "incomplete",
        "incomplete",
        "requires_continuation",
    ),
    # No pause.
    "bedrock-converse": Words(
        "tool_use",
        "end_turn",
        "max_tokens",
        "guardrail_intervened",
        "content_filtered",
        "max_tokens",
    ),
    # The following have no filter and no pause.
    "mistral": Words("tool_calls", "stop", "length", "error", "error", "length"),
    "cohere": Words("TOOL_CALL", "COMPLETE", "MAX_TOKENS", "ERROR", "ERROR", "MAX_TOKENS"),
    "ollama": Words("stop", "stop", "length", "length", "length", "length"),
    "xai": Words(
        "REASON_TOOL_CALLS",
        "REASON_STOP",
        "REASON_MAX_LEN",
        "REASON_TIME_LIMIT",
        "REASON_TIME_LIMIT",
        "REASON_MAX_LEN",
    ),
}
"""By provider."""


def word_for(provider: str, stop: str | None, *, calls: bool) -> str | None:
    """The provider's word for a reply's stop.

    Args:
        provider: A provider of the table.
        stop: What the reply says: one of the names of `Words`, any other word, or `None`.
        calls: Whether the reply holds calls.

    Returns:
        The word; a word that is no name of `Words` as it is; `None` for none.
    """
    words = WORDS[provider]
    if stop == "complete" and calls:
        return words.calls
    return stop if stop is None else words._asdict().get(stop, stop)


def can_pause(provider: str) -> bool:
    """Whether a provider has a word for a pause."""
    words = WORDS[provider]
    return words.paused != words.truncated
