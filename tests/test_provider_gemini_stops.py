"""Gemini: why a message stopped, how it failed, and when it is two messages."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from google.genai import types

from finalcall import Cause, Failed, Verdict
from finalcall.providers.gemini_words import STOP_REASONS
from tests.gemini_chunks import (
    GOOD,
    STOP,
    as_object,
    call,
    chunk,
    kinds,
    names,
    outcomes,
    settle,
)


@pytest.mark.parametrize("reason", list(types.FinishReason), ids=lambda reason: reason.value)
def test_every_reason_of_the_sdk_has_a_verdict(reason: types.FinishReason) -> None:
    """As text and as the SDK's member; only STOP lets a call run."""
    assert reason.value in STOP_REASONS
    for form in (reason, reason.value):
        settler = settle(chunk(call(), reason=form))
        assert settler.stop_reason is not None
        assert settler.stop_reason.raw == reason.value
        assert type(settler.stop_reason.raw) is str
        assert (kinds(settler) == ["dispatchable"]) == (reason.value == "STOP")


@pytest.mark.parametrize("reason", [*types.BlockedReason, "NEXT_YEAR"])
def test_every_block_is_filtered(reason: types.BlockedReason | str) -> None:
    """A refused prompt is a message that stopped, without candidates, whatever the word for it."""
    settler = settle({"promptFeedback": {"blockReason": reason}})
    assert settler.stop_reason is not None
    assert (settler.stop_reason.raw, settler.stop_reason.verdict) == (
        str(getattr(reason, "value", reason)),
        "filtered",
    )
    assert settler.verdict == "fail"


class Numbered(enum.IntEnum):
    """Reasons as gRPC clients give them."""

    FINISH_REASON_UNSPECIFIED = 0
    STOP = 1
    NEXT_YEAR = 40


@pytest.mark.parametrize(
    ("reason", "raw"),
    [
        (Numbered.STOP, "STOP"),
        (Numbered.NEXT_YEAR, "NEXT_YEAR"),
        (1, "STOP"),
        (2, "MAX_TOKENS"),
        (17, "17"),
        (Numbered.FINISH_REASON_UNSPECIFIED, None),
        (0, None),
        (True, None),
    ],
)
def test_numbers_are_read_where_they_are_certain(reason: Any, raw: str | None) -> None:
    """Both services agree on the first five; an unset field is 0, and no reason."""
    stop_reason = settle(chunk(call(), reason=reason)).stop_reason
    assert (stop_reason and stop_reason.raw) == raw


def test_the_callers_words_come_first() -> None:
    """For reasons and for blocks."""
    words = {"MINE": Verdict.COMPLETE, "OTHER": Verdict.PAUSED}
    assert kinds(settle(chunk(call(), reason="MINE"), stop_reasons=words)) == ["dispatchable"]
    blocked = settle({"promptFeedback": {"blockReason": "OTHER"}}, stop_reasons=words)
    assert blocked.verdict == "resume"


def test_feedback_without_a_block_is_no_reason() -> None:
    """Some services send ratings there, beside candidates."""
    settler = settle(chunk(call(), promptFeedback={"safetyRatings": []}), STOP)
    assert outcomes(settler) == [GOOD]


def test_a_pause_gives_the_token_to_go_on_with() -> None:
    """The same request goes again, so nothing is added to the conversation."""
    paused = chunk({"text": "Half"}, reason="CONTINUATION")
    paused["candidates"][0]["continuationToken"] = "c2ln"
    for native in (paused, as_object(paused)):
        settler = settle(native)
        assert settler.verdict == "resume"
        assert settler.request_fields == {"continuationToken": "c2ln"}
        assert settler.history() == []
    config = types.GenerateContentConfig.model_validate(settler.request_fields)
    assert config.continuation_token == b"sig"


def test_a_pause_without_a_token_keeps_what_was_said() -> None:
    """There is nothing else that stands for it."""
    settler = settle(chunk({"text": "Half"}, reason="CONTINUATION"))
    assert settler.verdict == "resume"
    assert settler.history() == [{"role": "model", "parts": [{"text": "Half"}]}]


def test_an_error_ends_the_message_and_keeps_its_code() -> None:
    """Without what it says, which may quote arguments."""
    settler = settle(
        chunk(call(), reason="STOP"),
        {"error": {"code": 503, "message": "S3NT1N3L", "status": "UNAVAILABLE"}},
        chunk(call("late")),
    )
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (Cause.PROVIDER_ERROR, "503")
    assert "S3NT1N3L" not in repr(settler.error)
    assert "call_after_end" in names(settler)


def test_two_generations_in_one_stream_run_nothing() -> None:
    """Another response id, where nothing says that the SDK goes on by itself."""
    settler = settle(
        chunk(call(), reason="STOP", responseId="1"),
        chunk({"text": "x"}, responseId=""),
        chunk(call("b", {}), reason="STOP", responseId="2"),
    )
    assert kinds(settler) == ["abandoned", "abandoned"]
    assert "spliced_stream" in names(settler)


def test_the_sdk_may_go_on_with_a_new_request() -> None:
    """It was given a token, and clears the reason for which it goes on."""
    first = chunk({"text": "Let me "}, responseId="1")
    first["candidates"][0]["continuationToken"] = "c2ln"
    settler = settle(first, chunk({"text": "see."}, call(), reason="STOP", responseId="2"))
    assert outcomes(settler) == [GOOD]
    assert settler.text == "Let me see."
    assert names(settler) == set()


def test_a_failure_says_why() -> None:
    """The cause follows the verdict."""
    (outcome,) = settle(chunk(call(), reason="MALFORMED_FUNCTION_CALL")).outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("truncated", Cause.PROVIDER_ERROR)
