"""Gemini Interactions: what announces, ends and judges a call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from google.genai._gaos.types.interactions.interactionsseeventinteraction import (
    InteractionSseEventInteractionStatus,
)
from google.genai._gaos.types.interactions.interactionstatusupdate import (
    InteractionStatusUpdateStatus,
)
from google.genai._gaos.types.interactions.step import _STEP_VARIANTS
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import Cause, Dispatchable, Settler, Verdict
from finalcall.events import Other
from finalcall.providers import PROVIDERS, recognise
from finalcall.providers.gemini_interactions import STOP_REASONS
from tests.interaction_events import (
    ARGUMENTS,
    GOOD,
    arguments,
    as_objects,
    call,
    completed,
    content,
    created,
    delta,
    kinds,
    names,
    opened,
    outcomes,
    settle,
    start,
    status,
    stop,
    thought,
    words,
)
from tests.mutations import mutated
from tests.streams import FIXTURES, cases

CASES = cases(FIXTURES / "gemini-interactions")
TEXT = json.dumps(ARGUMENTS)

ONE_CALL: dict[str, Sequence[Any]] = {
    "as the service sends it": [created(), status("in_progress"), *call(), completed(), "[DONE]"],
    "without the beginning": [*call(), completed()],
    "one piece": [opened(), arguments(TEXT), stop(0), completed()],
    "an empty piece": [opened(), arguments(""), arguments(TEXT), stop(0), completed()],
    "arguments with the announcement": [
        start(0, "function_call", id="fc_1", name="get_tide", arguments=ARGUMENTS),
        stop(0),
        completed(),
    ],
    "only in the closing event": [
        completed(
            steps=[
                {"type": "function_call", "id": "fc_1", "name": "get_tide", "arguments": ARGUMENTS}
            ]
        )
    ],
    "again in the closing event": [
        *call(),
        completed(
            steps=[{"type": "function_call", "id": "fc_1", "name": "get_tide", "arguments": {}}]
        ),
    ],
    "beside other steps": [*thought(0), *words(1, "On it."), *call(2), completed()],
    "sent again": [*call(), *call(), completed()],
    "its status twice": [*call(), status("requires_action"), completed()],
    "its status only on the way": [*call(), status("requires_action")],
    "completed": [*call(), completed("completed")],
    "over two interactions": [
        created(),
        *words(0, "Let me see."),
        completed("requires_continuation", continuation_token="t"),
        created("v1_2"),
        *call(),
        completed(interaction_id="v1_2"),
    ],
    "over two, where nothing is stored": [
        created(""),
        *call(0, "fc_1"),
        completed("requires_continuation", "", continuation_token="t"),
        created(""),
        *words(0, "That is all."),
        completed(interaction_id=""),
    ],
    "over a connection that was made again": [
        created(),
        status("in_progress", continuation_token="t"),
        created("v1_2"),
        *call(),
        completed(interaction_id="v1_2"),
    ],
}


@pytest.mark.parametrize("form", ONE_CALL)
@pytest.mark.parametrize("as_given", [list, as_objects], ids=["dicts", "objects"])
def test_one_call_in_every_form(form: str, as_given: Any) -> None:
    """However the service tells it, it is one call with these arguments."""
    settler = settle(*as_given(ONE_CALL[form]))
    assert outcomes(settler) == [GOOD]
    assert settler.ending is not None
    assert settler.ending.clean


WIRE_ONLY: dict[str, tuple[Sequence[Any], Any]] = {
    "no indexes": (
        [{name: value for name, value in event.items() if name != "index"} for event in call()],
        GOOD,
    ),
    "arguments as a value": ([opened(), arguments(ARGUMENTS), stop(0)], GOOD),
    "no arguments": ([opened(), arguments(None), stop(0)], (*GOOD[:3], {})),
    "empty arguments": ([opened(), arguments({}), stop(0)], (*GOOD[:3], {})),
    "no id": ([opened(call_id=""), arguments(TEXT), stop(0)], (None, *GOOD[1:])),
    "an id that comes late": (
        [opened(call_id=""), delta(0, "arguments_delta", arguments=TEXT, id="fc_1"), stop(0)],
        GOOD,
    ),
    "an empty piece before the announcement": (
        [arguments(""), opened(), arguments(TEXT), stop(0)],
        GOOD,
    ),
    "pieces before the announcement": ([arguments(TEXT), opened(), stop(0)], GOOD),
}


@pytest.mark.parametrize("form", WIRE_ONLY)
def test_one_call_in_forms_that_only_dicts_can_have(form: str) -> None:
    """The SDK's classes refuse them."""
    events, expected = WIRE_ONLY[form]
    assert outcomes(settle(*events, completed())) == [expected]


FAILING: dict[str, tuple[Sequence[Any], list[str]]] = {
    "no end of the stream": (call(), ["abandoned"]),
    "no status": ([*call(), completed(None)], ["abandoned"]),
    "only on its way": ([*call(), status("in_progress")], ["abandoned"]),
    "a word on the way that is unknown": ([*call(), status("next_year")], ["abandoned"]),
    "no end of the call": ([opened(), arguments(TEXT), completed()], ["abandoned"]),
    "cut": ([*call(), *call(1, "fc_2")[:-2], completed("incomplete")], ["truncated"] * 2),
    "out of budget": ([*call(), completed("budget_exceeded")], ["truncated"]),
    "cancelled": ([*call(), completed("cancelled")], ["abandoned"]),
    "cancelled on the way": ([*call(), status("cancelled")], ["abandoned"]),
    "an unknown status": ([*call(), completed("next_year")], ["truncated"]),
    "still going on at its end": ([*call(), completed("in_progress")], ["truncated"]),
    "paused": ([*call(), completed("requires_continuation")], ["truncated"]),
    "paused with a token": (
        [*call(), completed("requires_continuation", continuation_token="t")],
        ["truncated"],
    ),
    "paused on the way": (
        [*call(), status("requires_continuation", continuation_token="t")],
        ["truncated"],
    ),
    "failed": ([*call(), completed("failed")], ["abandoned"]),
    "failed on the way": ([*call(), status("failed")], ["abandoned"]),
    "failed, as its own event": ([*call(), {"event_type": "interaction.failed"}], ["abandoned"]),
    "an error": ([*call(), {"event_type": "error", "error": {"code": "x"}}], ["abandoned"]),
    "an error in a step": (
        [*call(), start(1, "model_output", error={"code": 13}), completed()],
        ["abandoned"],
    ),
    "no name": ([*call(name=""), completed()], ["unparseable"]),
    "pieces of no call": ([arguments(TEXT), stop(0), completed()], ["unparseable"]),
    "pieces of no call, without an index": (
        [{"event_type": "step.delta", "delta": {"type": "arguments_delta", "arguments": TEXT}}],
        ["abandoned"],
    ),
    "pieces of no call, and a call without any": (
        [opened(1), arguments(TEXT), stop(1), completed()],
        ["abandoned", "abandoned"],
    ),
    "pieces in an output, and a call without any": (
        [*words(0, "On it."), arguments(TEXT), arguments(TEXT), opened(1), stop(1), completed()],
        ["abandoned", "abandoned"],
    ),
    "pieces after a server call, and a call without any": (
        [
            start(0, "google_search_call", id="1"),
            stop(0),
            arguments(TEXT),
            opened(1),
            stop(1),
            completed(),
        ],
        ["abandoned", "abandoned"],
    ),
    "no JSON": ([*call(text='{"a":'), completed()], ["unparseable"]),
    "sent again, differently": ([*call(), *call(text="{}"), completed()], ["unparseable"]),
    "two generations": (
        [created(), *call(), created("v1_2"), *call(0, "fc_2"), completed()],
        ["abandoned", "abandoned"],
    ),
    "an answer in the stream": (
        [*call(), start(1, "function_result", call_id="fc_1", result="x"), completed()],
        ["abandoned"],
    ),
}


@pytest.mark.parametrize("fault", FAILING)
def test_what_is_not_proved_whole_does_not_run(fault: str) -> None:
    """Each fault ends in an explicit outcome."""
    events, expected = FAILING[fault]
    assert kinds(settle(*events)) == expected


def test_pieces_in_a_server_call_are_its_own() -> None:
    """Nothing of them belongs to a call of the client's."""
    searched = [start(0, "google_search_call", id="1"), arguments(TEXT), stop(0)]
    settler = settle(*searched, opened(1), stop(1), completed())
    assert outcomes(settler) == [(*GOOD[:3], {})]


STATED = {"type": "function_call", "id": "fc_1", "name": "get_tide", "arguments": ARGUMENTS}
BLANK = {"type": "function_call"}
STARTED: dict[str, Any] = {"event_type": "interaction.start", "interaction": {"id": "v1_1"}}
OVER = {
    "event_type": "interaction.complete",
    "interaction": {"id": "v1_1", "status": "requires_action"},
}
FIRST_VERSION: dict[str, tuple[Sequence[Any], list[str]]] = {
    "a call": (
        [content("start", content=BLANK), content("delta", delta=STATED), content("stop"), OVER],
        ["dispatchable"],
    ),
    "announced with its name": (
        [
            content("start", content={**STATED, "arguments": {}}),
            content("delta", delta=STATED),
            content("stop"),
            OVER,
        ],
        ["dispatchable"],
    ),
    "no indexes": (
        [
            content("start", None, content={"type": "text"}),
            content("delta", None, delta={"type": "text", "text": "On it."}),
            content("stop", None),
            content("start", None, content=BLANK),
            content("delta", None, delta=STATED),
            content("stop", None),
            OVER,
        ],
        ["dispatchable"],
    ),
    "a delta alone": ([content("delta", delta=STATED), content("stop"), OVER], ["dispatchable"]),
    "only in the closing event": (
        [{**OVER, "interaction": {"status": "requires_action", "outputs": [STATED]}}],
        ["dispatchable"],
    ),
    "told twice, differently": (
        [
            content("delta", delta=STATED),
            content("delta", delta={**STATED, "arguments": {"port": "Lyon"}}),
            content("stop"),
            OVER,
        ],
        ["unparseable"],
    ),
    "never said who it is": (
        [content("start", content=BLANK), content("stop"), OVER],
        ["unparseable"],
    ),
    "no end of the call": ([content("delta", delta=STATED), OVER], ["abandoned"]),
    "no end of the stream": ([content("delta", delta=STATED), content("stop")], ["abandoned"]),
    "answered by the service": (
        [
            content("delta", delta=STATED),
            content("stop"),
            content("delta", 1, delta={"type": "function_result", "call_id": "fc_1"}),
            OVER,
        ],
        ["abandoned"],
    ),
}


@pytest.mark.parametrize("form", FIRST_VERSION)
def test_the_first_version_states_a_call_whole(form: str) -> None:
    """In a delta; what cannot be read makes the turn fail, and never looks done."""
    events, expected = FIRST_VERSION[form]
    settler = settle(STARTED, *events)
    assert kinds(settler) == expected
    assert settler.verdict == ("dispatch" if expected == ["dispatchable"] else "fail")
    if expected == ["dispatchable"]:
        assert outcomes(settler) == [GOOD]


def test_the_first_version_has_texts_and_thoughts_and_calls_of_its_own() -> None:
    """They go back as steps."""
    settler = settle(
        STARTED,
        content("start", 0, content={"type": "thought", "signature": "c2ln"}),
        content("delta", 0, delta={"type": "thought_summary", "content": {"text": "Hm."}}),
        content("start", 1, content={"type": "text", "text": "On "}),
        content("delta", 1, delta={"type": "text", "text": "it."}),
        content("delta", 2, delta={"type": "google_search_call", "id": "1"}),
        content("delta", 3, delta={"type": "google_search_result", "call_id": "1"}),
        {**OVER, "status": "completed", "interaction": {}},
    )
    assert (settler.text, settler.verdict) == ("On it.", "done")
    assert [one.state for one in settler.external_calls] == ["done"]
    assert [step["type"] for step in settler.history()] == [
        "thought",
        "model_output",
        "google_search_call",
        "google_search_result",
    ]


def test_every_call_that_only_the_closing_event_states_is_settled() -> None:
    """Without ids too."""
    stated = {"type": "function_call", "name": "get_tide", "arguments": ARGUMENTS}
    settler = settle(completed(steps=[stated, {**stated, "name": "b"}]))
    assert outcomes(settler) == [(None, *GOOD[1:]), (None, "b", *GOOD[2:])]


def test_an_id_on_another_call_is_another_call() -> None:
    """At the same index too; both keep their arguments."""
    settler = settle(*call(), *call(0, text="{}", name="b"), *call(1), completed())
    assert [outcome[1:] for outcome in outcomes(settler)] == [
        GOOD[1:],
        ("b", "dispatchable", {}),
        GOOD[1:],
    ]
    assert "duplicate_call_id" in names(settler)


def test_a_call_without_an_id_after_a_closed_one_is_another_call() -> None:
    """At the same index, with the same name."""
    settler = settle(*call(call_id=""), *call(call_id=""), completed())
    assert outcomes(settler) == [(None, *GOOD[1:])] * 2


def test_a_piece_after_the_end_counts() -> None:
    """Strict parsing judges the whole."""
    settler = settle(*call(), arguments("x"), completed())
    assert kinds(settler) == ["unparseable"]
    assert "delta_after_end" in names(settler)


# Statuses, errors, usage


def literals(annotation: Any) -> set[str]:
    found: set[str] = set()
    for one in get_args(annotation):
        found |= {one} if isinstance(one, str) else literals(one)
    return found


@pytest.mark.parametrize(
    "annotation", [InteractionSseEventInteractionStatus, InteractionStatusUpdateStatus]
)
def test_every_status_of_the_sdk_has_a_verdict(annotation: Any) -> None:
    """A new one in the SDK fails this test."""
    assert literals(annotation) == set(STOP_REASONS)


@pytest.mark.parametrize("word", STOP_REASONS)
def test_only_two_statuses_let_calls_run(word: str) -> None:
    """The closing event comes with every status."""
    settler = settle(*call(), completed(word))
    complete = STOP_REASONS[word] is Verdict.COMPLETE
    assert complete == (word in ("completed", "requires_action"))
    assert (kinds(settler) == ["dispatchable"]) == complete
    assert settler.ending is not None
    broken_off = {"failed": Cause.PROVIDER_ERROR, "cancelled": Cause.CANCELLED}
    assert settler.ending.cause == broken_off.get(word)
    if word not in broken_off:
        assert settler.stop_reason is not None
        assert settler.stop_reason.raw == word


ERRORS = [
    {"event_type": "error", "error": {"code": "overloaded", "message": "S3NT1N3L"}},
    {"type": "error", "error": {"code": "overloaded", "message": "S3NT1N3L"}},
    as_objects([{"event_type": "error", "error": {"code": "overloaded", "message": "x"}}])[0],
    completed("failed", error={"code": "overloaded"}),
]


@pytest.mark.parametrize("event", ERRORS, ids=["dict", "named by its frame", "object", "failed"])
def test_an_error_ends_the_message_and_keeps_its_code(event: Any) -> None:
    """Without what it says, which may quote arguments."""
    settler = settle(created(), *call(), event, *call(1, "fc_2"))
    assert settler.ending is not None
    assert (settler.ending.cause, settler.ending.code) == (Cause.PROVIDER_ERROR, "overloaded")
    assert "S3NT1N3L" not in repr(settler.error)
    assert kinds(settler) == ["abandoned"]


def test_the_closing_event_ends_the_message() -> None:
    """What comes after it is too late."""
    settler = Settler("gemini-interactions", tools=None)
    for event in [*call(), completed()]:
        assert settler.ending is None
        settler.feed(event)
    assert outcomes(settler) == [GOOD]
    settler.feed(opened(1, "fc_2"))
    assert "call_after_end" in names(settler)


@pytest.mark.parametrize("ends", [["[DONE]"], []], ids=["marker", "no marker"])
def test_a_pause_that_nothing_follows_is_the_end(ends: list[Any]) -> None:
    """The same input goes again, with the token and the interaction that gave it."""
    paused = completed("requires_continuation", continuation_token="t")
    settler = settle(created(), *words(0, "Half"), paused, *ends)
    assert settler.verdict == "resume"
    assert settler.history() == []
    assert settler.request_fields == {"continuation_token": "t"}


def test_a_pause_without_a_token_keeps_what_was_said() -> None:
    """There is nothing else that stands for it."""
    settler = settle(*words(0, "Half"), completed("requires_continuation"))
    assert settler.verdict == "resume"
    assert [step["type"] for step in settler.history()] == ["model_output"]


def test_usage_counts_thoughts_and_tools() -> None:
    """Wherever it comes: in the SDK's place, in the wire's, at the end."""
    early = {**delta(0, "text", text="x"), "metadata": {"usage": {"total_output_tokens": 1}}}
    later = {**delta(0, "text", text="x"), "metadata": {"total_usage": {"total_input_tokens": 9}}}
    settler = settle(created(), start(0, "model_output"), early, later)
    assert (settler.usage.input_tokens, settler.usage.output_tokens) == (9, 1)
    usage = {
        "total_input_tokens": 9,
        "total_tool_use_tokens": 100,
        "total_output_tokens": 5,
        "total_thought_tokens": 30,
    }
    for event in (completed(usage=usage), *as_objects([completed(usage=usage)])):
        settler = settle(*call(), event, ceiling=35)
        assert (settler.usage.input_tokens, settler.usage.output_tokens) == (109, 35)
        assert kinds(settler) == ["truncated"]


def test_a_beginning_that_comes_twice_is_noted() -> None:
    """A stream that was resumed may repeat it."""
    assert "message_restarted" in names(settle(created(), created(), *call(), completed()))


# Steps


def test_text_and_thoughts_are_told_apart() -> None:
    """In deltas, or already with the step; what the user said is neither."""
    settler = Settler("gemini-interactions", tools=None)
    text = {"type": "text", "text": "A"}
    events = [
        (type(one).__name__, getattr(one, "text", None))
        for native in (
            *thought(0)[:3],
            start(1, "thought", signature="c2ln", summary=[{"type": "text", "text": "So."}, {}]),
            start(2, "model_output", content=[text, {"type": "image", "data": "AA"}]),
            delta(2, "text", text="B"),
            delta(2, "text", text=""),
            delta(2, "thought_summary", content={"type": "image"}),
            start(3, "user_input", content=[text]),
            delta(3, "text", text="Q"),
            delta(9, "text", text=""),
            delta(9, "text", text="C"),
        )
        for one in settler.feed(native)
        if type(one) is not Other
    ]
    assert events == [
        ("ReasoningDelta", "Hm."),
        ("ReasoningDelta", "So."),
        ("TextDelta", "A"),
        ("TextDelta", "B"),
        ("TextDelta", "C"),
    ]
    assert settler.text == "ABC"


CALL_TYPES = sorted(kind for kind in _STEP_VARIANTS if kind.endswith("_call"))


@pytest.mark.parametrize("kind", [*CALL_TYPES, "call_of_next_year_call"])
def test_only_function_calls_are_the_clients(kind: str) -> None:
    """Every other type of call, the SDK's and unknown ones, is run by the service."""
    settler = settle(start(0, kind, id="1", name="x"), stop(0), completed("completed"))
    if kind == "function_call":
        assert kinds(settler) == ["dispatchable"]
    else:
        assert settler.outcomes == []
        (external,) = settler.external_calls
        assert (external.call_id, external.name, external.state) == ("1", "x", "unknown")


@pytest.mark.parametrize("native", [None, "x", 5, [], {}, {"event_type": None}, object()])
def test_an_event_that_says_nothing_is_passed_on(native: Any) -> None:
    """Whatever it is."""
    settler = Settler("gemini-interactions", tools=None)
    assert settler.feed(native) == [Other(native)]


@pytest.mark.parametrize(
    "event",
    [
        created(),
        opened(),
        delta(0, "text", text="x"),
        stop(0),
        completed(),
        status("queued"),
        STARTED,
        content("delta", delta={"type": "text", "text": "x"}),
        {"event_type": "error", "error": {"code": "x"}},
        *as_objects([created(), opened(), {"event_type": "interaction.next_year"}]),
    ],
)
def test_a_stream_is_recognised_by_its_first_event(event: Any) -> None:
    """Dicts and objects, those of events that the SDK does not know too."""
    assert recognise(event).name == "gemini-interactions"


@pytest.mark.parametrize(
    "native", [None, "data", {}, {"type": "error", "error": {}}, {"event_type": "stream-end"}]
)
def test_other_events_are_not_claimed(native: Any) -> None:
    """Other providers' errors, and a provider that uses the same field."""
    assert not PROVIDERS["gemini-interactions"].recognises(native)


def test_what_the_sdk_does_not_know_is_read_all_the_same() -> None:
    """It keeps the raw event, step or delta beside."""
    events = [
        start(0, "new_call", id="1"),
        delta(0, "new_delta", x=1),
        {"event_type": "interaction.next_year", "status": "failed"},
    ]
    settler = settle(*as_objects(events))
    assert [one.name for one in settler.external_calls] == ["new_call"]
    assert settler.ending is not None
    assert settler.ending.code == "failed"


SCRIPTS = [
    *(case.recording.to_dicts() for case in CASES),
    [*thought(0), *call(1), start(2, "google_search_call", id="1"), *call(3, "fc_2"), completed()],
    list(ONE_CALL["over two interactions"]),
]
EXTRA = [
    content("start", content=BLANK),
    content("delta", delta=STATED),
    opened(0, "x"),
    arguments("{}", 1),
    stop(1),
    created("v9"),
    completed("failed"),
]


@settings(max_examples=150, deadline=None)
@given(
    script=st.sampled_from(SCRIPTS),
    extra=st.lists(st.sampled_from(EXTRA), max_size=4),
    data=st.data(),
)
def test_whatever_a_service_sends_nothing_is_lost(
    script: list[Any], extra: list[Any], data: st.DataObject
) -> None:
    """Nothing raises, one event carries each native one, announced = outcomes, history holds."""
    settler = Settler("gemini-interactions", tools=None)
    for native in mutated([*script[:3], *extra, *script[3:]], data):
        over = settler.ending is not None
        events = settler.feed(native)
        assert over or [event.native is native for event in events].count(True) >= 1
        assert len([event for event in events if event.native is not None]) <= 1
    settler.end()
    assert settler.stats.announced == len(settler.outcomes)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert isinstance(settler.history(results), list)
