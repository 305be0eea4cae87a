"""OpenAI Responses: how a response ends, what it says beside its calls, and its numbers."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from openai.types.responses import ResponseError, ResponseStatus
from openai.types.responses.response import IncompleteDetails

from finalcall import Cause, Dispatchable, Failed, ReasoningDelta, Settler, TextDelta, Verdict
from finalcall.providers import recognise
from finalcall.providers.base import Context
from finalcall.providers.openai_responses import OpenAIResponsesNormaliser
from finalcall.providers.openai_responses.response import STOP_REASONS
from tests.expectation import settled
from tests.responses_events import (
    added,
    call,
    created,
    delta,
    done,
    ending,
    incomplete,
    numbered,
    reasoning,
    words,
)

GOOD = ("call_1", "get_tide", "dispatchable", {"port": "Brest"})


def settle(*events: Any) -> Settler:
    settler = Settler("openai-responses", tools=None)
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Any]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def names(settler: Settler) -> list[str]:
    return [anomaly.name for anomaly in settler.anomalies]


ENDINGS: list[tuple[Any, str | None, str]] = [
    (ending(), "completed", "dispatchable"),
    (ending(status=""), "completed", "dispatchable"),
    ({"type": "response.completed"}, "completed", "dispatchable"),
    (ending("done", "completed"), "completed", "dispatchable"),
    (incomplete("max_output_tokens"), "max_output_tokens", "truncated"),
    (incomplete("max_messages"), "max_messages", "truncated"),
    (incomplete("content_filter"), "content_filter", "truncated"),
    (incomplete("steered"), "steered", "truncated"),
    (incomplete("new_word"), "new_word", "truncated"),
    (incomplete(None), "incomplete", "truncated"),
    (ending("completed", "incomplete"), "incomplete", "truncated"),
    (ending("completed", "new_word"), "new_word", "truncated"),
    (ending("completed", "in_progress"), "in_progress", "truncated"),
    (
        ending(incomplete_details={"reason": "max_output_tokens"}),
        "max_output_tokens",
        "truncated",
    ),
    (ending(max_output_tokens=9, usage={"output_tokens": 9}), "max_output_tokens", "truncated"),
    (ending(max_output_tokens=9, usage={"output_tokens": 99}), "completed", "dispatchable"),
    (ending("done", "queued"), None, "abandoned"),
    (ending("done", ""), None, "abandoned"),
    (ending("failed"), None, "abandoned"),
    (ending("completed", "failed"), None, "abandoned"),
    (ending("completed", "cancelled"), None, "abandoned"),
    (ending(error={"code": "server_error", "message": "x"}), None, "abandoned"),
    (ending(error={"message": "x"}), None, "abandoned"),
    ("[DONE]", None, "abandoned"),
]


@pytest.mark.parametrize(("event", "reason", "expected"), ENDINGS)
def test_how_a_response_ends(event: Any, reason: str | None, expected: str) -> None:
    """Event and response may disagree: the worst that either says counts, for every call."""
    settler = settle(created(), *call(0, "a"), *call(1, "b"), event)
    assert (settler.stop_reason.raw if settler.stop_reason else None) == reason
    assert kinds(settler) == [expected, expected]
    assert settler.ending is not None
    assert settler.ending.marker or settler.ending.cause is not None


def going_on(kind: str, error: Any) -> Any:
    """An event that is no end of its response, with an error in it."""
    response = {"id": "resp_1", "status": "in_progress", "error": error}
    return {"type": f"response.{kind}", "response": response}


ERRORS: list[tuple[Any, Cause, str]] = [
    ({"type": "error", "code": "x", "message": "y"}, Cause.PROVIDER_ERROR, "x"),
    (
        {"type": "error", "error": {"type": "server_error", "code": None, "message": "x"}},
        Cause.PROVIDER_ERROR,
        "server_error",
    ),
    ({"type": "error"}, Cause.PROVIDER_ERROR, "error"),
    ({"error": {"code": 502, "message": "x"}}, Cause.PROVIDER_ERROR, "502"),
    (going_on("created", {"code": "server_error"}), Cause.PROVIDER_ERROR, "server_error"),
    (going_on("in_progress", {"code": "server_error"}), Cause.PROVIDER_ERROR, "server_error"),
    (going_on("new", {"message": "x"}), Cause.PROVIDER_ERROR, "error"),
    (ending(error={"type": "server_error"}), Cause.PROVIDER_ERROR, "server_error"),
    (ending("failed", error={"code": "invalid_prompt"}), Cause.PROVIDER_ERROR, "invalid_prompt"),
    (ending("failed", error={"code": "bio_policy"}), Cause.SAFETY, "bio_policy"),
    (ending("failed", error=None), Cause.PROVIDER_ERROR, "failed"),
    (ending("cancelled"), Cause.CANCELLED, "cancelled"),
]


@pytest.mark.parametrize(("event", "cause", "code"), ERRORS)
def test_an_error_ends_the_response(event: Any, cause: Cause, code: str) -> None:
    """Nested, flat, untyped or a failed response: every call is abandoned, with the code kept."""
    settler = settle(created(), *call(), event, *call(1, "late"), ending())
    (outcome,) = settler.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (cause, code)


def test_every_word_of_the_sdk_has_a_verdict() -> None:
    """A status or a reason that is new in the SDK fails here, and UNKNOWN in the field."""
    reasons = get_args(get_args(IncompleteDetails.model_fields["reason"].annotation)[0])
    assert set(STOP_REASONS) >= {*get_args(ResponseStatus), *reasons}
    assert len(reasons) > 1


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word"])
def test_only_complete_runs_calls(word: str) -> None:
    """Whatever stands in the details, only the one word lets a call run."""
    runs = STOP_REASONS.get(word) is Verdict.COMPLETE
    settler = settle(created(), *call(), incomplete(word))
    assert isinstance(settler.outcomes[0], Dispatchable) is runs


def test_the_policy_codes_are_the_sdks() -> None:
    """Each code that is no failure of the provider's is one that the SDK knows."""
    causes: dict[str, Cause] = {}
    for code in get_args(ResponseError.model_fields["code"].annotation):
        settler = settle(created(), *call(), ending("failed", error={"code": code}))
        assert settler.ending is not None
        causes[code] = settler.ending.cause
    assert set(causes.values()) == {Cause.SAFETY, Cause.PROVIDER_ERROR}
    policies = {code for code, cause in causes.items() if cause is Cause.SAFETY}
    assert policies == {
        "bio_policy",
        "image_content_policy_violation",
        "misalignment_policy_violation",
    }
    assert policies == {code for code in causes if "policy" in code}  # a new one fails here


@pytest.mark.parametrize("whole", [False, True])
def test_a_refusal_is_text_and_keeps_calls_from_running(whole: bool) -> None:
    """In pieces or only in the finished message: a completed response with one is filtered."""
    part = {"type": "refusal", "refusal": "No."}
    pieces = delta(0, "msg_0", "No.", "response.refusal.delta")
    settler = settle(
        created(),
        added(0, "message", id="msg_0", content=[]),
        *([] if whole else [pieces]),
        done(0, "message", id="msg_0", content=[part]),
        *call(1),
        ending(),
    )
    assert settler.text == "No."
    assert kinds(settler) == ["truncated"]
    assert settler.stop_reason is not None
    assert settler.stop_reason.verdict is Verdict.FILTERED


def test_text_and_reasoning_in_pieces() -> None:
    """Each piece once, also where its item is unknown or another kind's."""
    normaliser = OpenAIResponsesNormaliser(Context())
    events = [
        *reasoning(0),
        delta(0, "rs_0", "", "response.reasoning_text.delta"),
        *words(1, "On "),
        delta(9, None, "it", "response.output_text.delta"),
        delta(0, "rs_0", ".", "response.output_text.delta"),
        delta(0, "rs_0", None, "response.output_text.delta"),
    ]
    found = [event for native in events for event in normaliser.feed(native)]
    assert [one.text for one in found if isinstance(one, ReasoningDelta)] == ["hm"]
    assert [one.text for one in found if isinstance(one, TextDelta)] == ["On ", "it", "."]
    assert "".join(normaliser.text) == "On it."


def test_text_that_only_the_end_has() -> None:
    """A message without pieces says its text when it is finished."""
    settler = settle(created(), words(0, "On it.")[-1], ending())
    assert settler.text == "On it."


def test_usage_is_the_responses() -> None:
    """Counts of the wrong type are none."""
    settler = settle(created(), ending(usage={"input_tokens": 5, "output_tokens": "7"}))
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (5, None)


def test_a_stream_that_begins_in_the_middle() -> None:
    """What the first event says of the response counts, whichever event it is."""
    progress = created(max_output_tokens=9) | {"type": "response.in_progress"}
    settler = settle(progress, *call(), ending(usage={"output_tokens": 9}))
    assert kinds(settler) == ["truncated"]


def test_a_resumed_stream_may_overlap() -> None:
    """A piece whose number its item has had is dropped; the highest number is remembered."""
    events = numbered([created(), *reasoning(0), *words(1, "Well."), *call(2), ending()])
    twice = [*events[:8], *events[2:]]
    settler = settle(*twice)
    assert outcomes(settler) == [GOOD]
    assert settler.text == "Well."
    normaliser = OpenAIResponsesNormaliser(Context())
    for event in twice:
        normaliser.feed(event)
    assert normaliser.numbers.highest == len(events) - 1


@pytest.mark.parametrize("number", [0, None, "x"])
def test_numbers_that_count_nothing_drop_nothing(number: Any) -> None:
    """Some services send none, and some the same for all."""
    events = [created(), *words(0, "Well."), *call(1)[:3], *call(1)[4:], ending()]
    settler = settle(*(event | {"sequence_number": number} for event in events))
    assert outcomes(settler) == [GOOD]
    assert settler.text == "Well."


def test_numbers_that_start_over_with_each_item_drop_nothing() -> None:
    """The second item's pieces have the first one's numbers."""
    settler = settle(created(), *numbered(call(0, "a")), *numbered(words(1, "Well.")), ending())
    assert kinds(settler) == ["dispatchable"]
    assert settler.text == "Well."


def test_a_second_response_in_the_stream_spoils_both() -> None:
    """Two generations spliced into one stream: no call of either runs."""
    settler = settle(created(), *call(), created("resp_2"), *call(0, "b"), ending())
    assert kinds(settler) == ["abandoned", "abandoned"]
    assert "spliced_stream" in names(settler)


def test_the_same_response_from_its_start() -> None:
    """A proxy that tries again repeats the response; it counts once."""
    settler = settle(created(), *call(), created(), *call(), ending())
    assert outcomes(settler) == [GOOD]
    assert "message_restarted" in names(settler)


@pytest.mark.parametrize(
    ("native", "ours"),
    [
        (created(), True),
        ({"type": "response.output_item.added"}, True),
        ({"data": {"type": "response.created"}}, True),
        ({"type": "error", "code": "x", "message": "y"}, True),
        ({"type": "error", "error": {}, "sequence_number": 2}, True),
        ({"type": "codex.rate_limits", "rate_limits": {}}, True),
        ({"type": "responsesapi.websocket_timing", "timing": {}}, True),
        ({"type": "response.created", "response": {"object": "realtime.response"}}, False),
        ({"type": "error", "error": {"type": "overloaded_error"}}, False),
        ({"type": "message_start"}, False),
    ],
)
def test_the_first_event_tells_whose_stream_it_is(native: Any, ours: bool) -> None:
    """By the type alone, without claiming another provider's first event."""
    try:
        name = recognise(native).name
    except ValueError:
        name = ""
    assert (name == "openai-responses") is ours
