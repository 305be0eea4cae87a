"""The words of Gemini: why a message stopped, and what names a call or its answer.

A word of an enum comes as text, as a member of an SDK's enum, or as its number on the wire.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

from finalcall.narrow import is_object
from finalcall.providers.native import read, read_either, read_text
from finalcall.stop_reasons import Verdict

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "STOP": Verdict.COMPLETE,
    "MAX_TOKENS": Verdict.TRUNCATED,
    "CONTINUATION": Verdict.PAUSED,
    "SAFETY": Verdict.FILTERED,
    "RECITATION": Verdict.FILTERED,
    "LANGUAGE": Verdict.FILTERED,
    "BLOCKLIST": Verdict.FILTERED,
    "PROHIBITED_CONTENT": Verdict.FILTERED,
    "SPII": Verdict.FILTERED,
    "IMAGE_SAFETY": Verdict.FILTERED,
    "IMAGE_PROHIBITED_CONTENT": Verdict.FILTERED,
    "IMAGE_RECITATION": Verdict.FILTERED,
    "MODEL_ARMOR": Verdict.FILTERED,
    "ESCALATION": Verdict.FILTERED,
    "MALFORMED_FUNCTION_CALL": Verdict.ERROR,
    "UNEXPECTED_TOOL_CALL": Verdict.ERROR,
    "MALFORMED_RESPONSE": Verdict.ERROR,
    "MISSING_THOUGHT_SIGNATURE": Verdict.ERROR,
    "TOO_MANY_TOOL_CALLS": Verdict.ERROR,
    "OTHER": Verdict.ERROR,
    "IMAGE_OTHER": Verdict.ERROR,
    "NO_IMAGE": Verdict.ERROR,
    "PUP_LIMITED_DISABLED": Verdict.ERROR,
    "FINISH_REASON_UNSPECIFIED": Verdict.ERROR,
}
"""Every value of the SDK's `FinishReason`. STOP stands for calls too: there is no word for them."""

NUMBERED_STOP_REASONS: Final = ("", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
"""By wire number. The two services that speak this protocol disagree from 6 on, so from there on
a number stays a number, and unknown."""

_OUTCOMES: Final = ("", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
"""Ends of a code execution, by wire number."""


def read_word(value: Any, numbered: tuple[str, ...] = ()) -> str:
    """A word of an enum, `""` where it is unset or of another type.

    Args:
        value: Text, an enum member, or a wire number, of which 0 is unset.
        numbered: The words by number; a number beyond is given back as digits.
    """
    if isinstance(value, enum.Enum):
        value = value.value if isinstance(value.value, str) else value.value and value.name
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return numbered[value] if 0 <= value < len(numbered) else str(value or "")
    return ""


def read_id(node: Any) -> str:
    """The id of a call or an answer; the word `null` is none."""
    call_id = read_text(node, "id")
    return "" if call_id == "null" else call_id


def external_name(node: Any) -> str:
    """The name of what a call, or its answer, is about; code has none."""
    named = read_text(node, "name") or read_word(read_either(node, "toolType", "tool_type"))
    return named or "code_execution"


def has_failed(answer: Any) -> bool:
    """Whether an answer to a call that somebody else ran reports a failure."""
    outcome = read_word(read(answer, "outcome"), _OUTCOMES)
    if outcome:
        return outcome != "OUTCOME_OK"
    response = read(answer, "response")
    return is_object(response) and "error" in response
