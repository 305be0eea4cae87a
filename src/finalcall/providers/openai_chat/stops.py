"""What each word of a chat completion's finish reasons means.

The table holds OpenAI's own words, those of its dialects, and those that routers pass on from the
services behind them. It is read without regard to case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from finalcall.stop_reasons import Verdict

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    # OpenAI
    "stop": Verdict.COMPLETE,
    "tool_calls": Verdict.COMPLETE,
    "function_call": Verdict.COMPLETE,
    "length": Verdict.TRUNCATED,
    "content_filter": Verdict.FILTERED,
    "refusal": Verdict.FILTERED,  # our word for a message that holds a refusal
    # Its dialects
    "eos": Verdict.COMPLETE,
    "eos_token": Verdict.COMPLETE,
    "stop_sequence": Verdict.COMPLETE,
    "model_length": Verdict.TRUNCATED,
    "sensitive": Verdict.FILTERED,
    "error": Verdict.ERROR,
    "abort": Verdict.ERROR,
    "insufficient_system_resource": Verdict.ERROR,
    "network_error": Verdict.ERROR,
    # Passed on by routers
    "completed": Verdict.COMPLETE,
    "complete": Verdict.COMPLETE,
    "tool_use": Verdict.COMPLETE,
    "tool_call": Verdict.COMPLETE,
    "tool-calls": Verdict.COMPLETE,
    "end_turn": Verdict.COMPLETE,
    "max_tokens": Verdict.TRUNCATED,
    "max_output_tokens": Verdict.TRUNCATED,
    "model_context_window_exceeded": Verdict.TRUNCATED,
    "incomplete": Verdict.TRUNCATED,
    "pause_turn": Verdict.PAUSED,
    "compaction": Verdict.PAUSED,
    "continuation": Verdict.PAUSED,
    "content_filtered": Verdict.FILTERED,
    "content-filter": Verdict.FILTERED,
    "guardrail_intervened": Verdict.FILTERED,
    "error_toxic": Verdict.FILTERED,
    "safety": Verdict.FILTERED,
    "recitation": Verdict.FILTERED,
    "blocklist": Verdict.FILTERED,
    "prohibited_content": Verdict.FILTERED,
    "spii": Verdict.FILTERED,
    "language": Verdict.FILTERED,
    "malformed_function_call": Verdict.ERROR,
    "malformed_response": Verdict.ERROR,
    "unexpected_tool_call": Verdict.ERROR,
    "too_many_tool_calls": Verdict.ERROR,
    "missing_thought_signature": Verdict.ERROR,
    "other": Verdict.ERROR,
    "failed": Verdict.ERROR,
    "cancelled": Verdict.ERROR,
}
"""Every finish reason of the OpenAI and Groq SDKs, and the words of other services seen there."""

NO_REASONS: Final = frozenset({"", "null", "none"})
"""Words that say that there is no reason yet."""
