"""Chat completions: what the dialects leave out, repeat, and say in other places."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_args

import groq.types.chat.chat_completion as groq_completion
import groq.types.chat.chat_completion_chunk as groq_chunk
import openai.types.chat.chat_completion as openai_completion
import openai.types.chat.chat_completion_chunk as openai_chunk
import pytest
from pydantic import BaseModel, ConfigDict

from finalcall import (
    ArgumentsDelta,
    CallAnnounced,
    CallCompleted,
    Cause,
    Dispatchable,
    ExternalState,
    Failed,
    MessageStopped,
    ReasoningDelta,
    Settler,
    TextDelta,
    Verdict,
)
from finalcall.providers import PROVIDERS, recognise
from finalcall.providers.base import Context
from finalcall.providers.openai_chat import STOP_REASONS
from finalcall.providers.openai_chat.fields import fields_of
from tests.chat_chunks import DONE, GOOD, calls, chunk, entry, message, settle, words

# -- stop reasons ----------------------------------------------------------------------------------


def literals(*models: Any) -> set[str]:
    found: set[str] = set()
    pending = [model.model_fields["finish_reason"].annotation for model in models]
    while pending:
        node = pending.pop()
        found |= {node} if isinstance(node, str) else set()
        pending += get_args(node)
    return found


def test_every_finish_reason_of_the_sdks_has_a_verdict() -> None:
    """A value that an SDK adds fails here, and is UNKNOWN in the field until then."""
    known = literals(
        openai_chunk.Choice, openai_completion.Choice, groq_chunk.Choice, groq_completion.Choice
    )
    assert {"stop", "tool_calls", "length", "content_filter", "function_call"} <= known
    assert known <= set(STOP_REASONS)


@pytest.mark.parametrize("word", [*STOP_REASONS, "new_word", "STOP", "MAX_TOKENS"])
def test_only_complete_stop_reasons_run_calls(word: str) -> None:
    """An unknown word fails closed; case makes no difference."""
    runs = STOP_REASONS.get(word.lower()) is Verdict.COMPLETE
    settler = settle(*message(entry("{}", "f", "a"), finish=word))
    assert isinstance(settler.outcomes[0], Dispatchable) is runs
    assert settler.stop_reason is not None
    assert settler.stop_reason.raw == word


def test_a_filter_of_a_router_that_writes_a_hyphen() -> None:
    """Vercel's gateway writes the SDK's words, not OpenAI's."""
    settler = settle(*message(entry("{}", "f", "a"), finish="content-filter"))
    assert settler.outcomes[0].cause is Cause.SAFETY  # type: ignore[union-attr]


@pytest.mark.parametrize("word", ["", None, "null", 1, ["stop"]])
def test_a_word_that_is_no_reason(word: Any) -> None:
    """Nothing that is no word, and no word for "not yet", ends a message."""
    settler = settle(calls(entry("{}", "f", "a")), chunk(finish=word), DONE)
    assert [one[2] for one in words(settler)] == ["abandoned"]
    assert settler.stop_reason is None


def test_a_reason_that_is_an_object_is_not_known() -> None:
    """It is a reason of which nobody knows the meaning, beside a good one too."""
    natives = message(entry("{}", "f", "a"), finish={"type": "stop"})
    assert [one[2] for one in words(settle(*natives))] == ["truncated"]
    assert [one[2] for one in words(settle(*natives[:-1], chunk(finish="stop"), DONE))] == [
        "truncated"
    ]


def test_the_callers_own_word() -> None:
    """A service's own word is a line in the caller's table, in the case it is sent in."""
    own = {"Handed-Over": Verdict.COMPLETE}
    settler = settle(*message(entry("{}", "f", "a"), finish="Handed-Over"), stop_reasons=own)
    assert [one[2] for one in words(settler)] == ["dispatchable"]


@pytest.mark.parametrize(
    ("beside", "outcome"),
    [
        ({"native_finish_reason": "max_output_tokens"}, "truncated"),
        ({"native_finish_reason": "length"}, "truncated"),
        ({"native_finish_reason": "MAX_TOKENS"}, "truncated"),
        ({"native_finish_reason": "unheard_of"}, "truncated"),
        ({"native_finish_reason": "completed"}, "dispatchable"),
        ({"native_finish_reason": None}, "dispatchable"),
        ({"provider_specific_fields": {"native_finish_reason": "SAFETY"}}, "truncated"),
        ({"content_filter_results": {"hate": {"filtered": True}}}, "truncated"),
        ({"content_filter_results": {"hate": {"filtered": False}}}, "dispatchable"),
    ],
)
def test_what_stands_beside_the_reason(beside: Any, outcome: str) -> None:
    """The reason behind a router's, and a filter's hit, are reasons too: the worst wins."""
    settler = settle(calls(entry("{}", "f", "a")), chunk(finish="tool_calls", beside=beside), DONE)
    assert [one[2] for one in words(settler)] == [outcome]


def test_a_filter_may_strike_after_the_reason() -> None:
    """Azure's asynchronous filter reports when the reason has long been sent."""
    late = chunk(beside={"content_filter_results": {"hate": {"filtered": True}}})
    del late["choices"][0]["delta"]
    settler = settle(*message(entry("{}", "f", "a"))[:-1], late, DONE)
    assert [one[2] for one in words(settler)] == ["truncated"]
    assert settler.outcomes[0].cause is Cause.SAFETY  # type: ignore[union-attr]


def test_a_refusal_is_read_and_counts() -> None:
    """Its words are for the person, and no call beside it runs."""
    refusing = [chunk({"refusal": one}) for one in ("I can't ", None, "", 5, "do that.")]
    settler = settle(*refusing, *message(entry("{}", "f", "a"), finish="stop"))
    assert settler.text == "I can't do that."
    assert [one[2] for one in words(settler)] == ["truncated"]


def test_usage_at_the_ceiling_is_a_cut() -> None:
    """Services relabel a cut message; the count gives it away, wherever it stands."""
    good = message(entry("{}", "f", "a"))
    for usage in (
        {"usage": {"completion_tokens": 50, "prompt_tokens": 9}},
        {"x_groq": {"usage": {"completion_tokens": 50}}},
        {"beside": {"usage": {"completion_tokens": 50}}},
        {"usage": {"output_tokens": 50}},
    ):
        settler = settle(
            *good[:-1], chunk(**usage), chunk(usage={"completion_tokens": 0}), ceiling=50
        )
        assert [one[2] for one in words(settler)] == ["truncated"], usage
        assert settler.usage.output_tokens == 50


def test_a_reason_covers_the_calls_before_it() -> None:
    """Together ends each call with a reason; one that nothing ends is not proved whole."""
    first = calls(entry("{}", "f", "a"), finish="tool_calls")
    second = calls(entry("{}", "g", "b", 1))
    assert [one[2] for one in words(settle(first, second, DONE))] == ["dispatchable", "abandoned"]
    both = settle(first, second, chunk(finish="tool_calls"), DONE)
    assert [one[2] for one in words(both)] == ["dispatchable", "dispatchable"]


@pytest.mark.parametrize("done", [[DONE], []])
def test_a_service_that_never_sends_a_reason(done: list[Any]) -> None:
    """Its calls run only where the caller said so, and only after a clean end."""
    natives = [calls(entry("{}", "f", "a")), *done]
    assert [one[2] for one in words(settle(*natives))] == ["abandoned"]
    assert [one[2] for one in words(settle(*natives, unconfirmed="dispatch"))] == ["dispatchable"]


@pytest.mark.parametrize("done", [[DONE], []])
def test_a_head_alone_is_no_call_without_arguments(done: list[Any]) -> None:
    """Only a stop reason proves that nothing else belongs to it."""
    natives = [calls(entry("", "f", "a")), *done]
    assert [one[2] for one in words(settle(*natives, unconfirmed="dispatch"))] == ["abandoned"]
    whole = [calls(entry("", "f", "a")), chunk(finish="tool_calls"), *done]
    assert [one[2] for one in words(settle(*whole))] == ["dispatchable"]


def test_a_reason_once_sent_is_owed_to_every_call() -> None:
    """The opt-in is for services that send none: a call after the last reason stays unproved."""
    natives = [calls(entry("{}", "f", "a"), finish="tool_calls"), calls(entry("{}", "g", "b", 1))]
    settler = settle(*natives, DONE, unconfirmed="dispatch")
    assert [one[2] for one in words(settler)] == ["dispatchable", "abandoned"]


# -- other kinds of calls --------------------------------------------------------------------------


def test_the_deprecated_function_call() -> None:
    """One call without an id; its answer goes back by name."""
    settler = settle(
        chunk(
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}
        ),
        chunk({"function_call": {"arguments": '{"x":'}}),
        chunk({"function_call": {"name": "f", "arguments": "1}"}}),
        chunk({"function_call": {"name": "", "arguments": None}}),
        chunk(finish="function_call"),
        DONE,
    )
    assert words(settler) == [(None, "f", "dispatchable", {"x": 1})]
    assert settler.history({settler.outcomes[0]: "ok"}) == [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "f", "arguments": '{"x":1}'},
        },
        {"role": "function", "name": "f", "content": "ok"},
    ]


@pytest.mark.parametrize("mirror_first", [False, True])
def test_a_call_mirrored_in_function_call_is_one_call(mirror_first: bool) -> None:
    """Gateways that fill both fields do not make two calls."""
    both = {
        "tool_calls": [entry("{}", "f", "a")],
        "function_call": {"name": "f", "arguments": "{}"},
    }
    delta = dict(reversed(both.items())) if mirror_first else both
    assert words(settle(chunk(delta), chunk(finish="tool_calls"), DONE)) == [
        ("a", "f", "dispatchable", {})
    ]


SQL = [{"type": "custom", "custom": {"name": "run_sql"}}]


def test_a_custom_tools_input_is_text() -> None:
    """Free text, never parsed, never taken for a repetition, echoed as it came."""
    settler = settle(
        *message(
            entry(call_id="a", type="custom", custom={"name": "run_sql", "input": "{}"}),
            {"index": 0, "custom": {"input": "{}"}},
        ),
        tools=SQL,
    )
    assert words(settler) == [("a", "run_sql", "dispatchable", {"input": "{}{}"})]
    assistant, answer = settler.history({"a": "3 rows"})
    assert assistant["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "run_sql", "input": "{}{}"}}
    ]
    assert answer == {"role": "tool", "tool_call_id": "a", "content": "3 rows"}


@pytest.mark.parametrize("junk", [{}, {"name": None}, [], "x"])
def test_an_empty_custom_beside_a_function_is_nothing(junk: Any) -> None:
    """Gateways add it to ordinary calls."""
    settler = settle(*message(entry("{}", "f", "a", custom=junk)))
    assert words(settler) == [("a", "f", "dispatchable", {})]


def test_groq_runs_its_own_tools() -> None:
    """Told twice, without and with the output; never an outcome."""
    tool = {"index": 0, "type": "search", "name": "browser.search", "arguments": "{}"}
    settler = Settler("openai-chat", tools=None)
    settler.feed(chunk({"executed_tools": [tool]}))
    assert settler.external_calls[0].state is ExternalState.RUNNING
    settler.feed(chunk({"executed_tools": [tool | {"output": "found"}]}))
    settler.feed(chunk(finish="stop"))
    (external,) = settler.external_calls
    assert (external.name, external.state) == ("browser.search", ExternalState.DONE)
    settler.end()
    assert settler.outcomes == []
    assert settler.verdict == "done"


def test_calls_that_anthropic_runs_are_external_behind_gateways_too() -> None:
    """Their ids give them away, and their pieces go nowhere; LiteLLM lists them apart."""
    listed = {"server_tool_calls": [{"id": "srvtoolu_2", "function": {"name": "web_fetch"}}]}
    settler = settle(
        calls(entry("", "web_search", "srvtoolu_1")),
        calls(entry('{"query":"x"}')),
        *([chunk({"provider_specific_fields": listed})] * 2),
        *message(entry("{}", "f", "toolu_1", 1)),
    )
    assert words(settler) == [("toolu_1", "f", "dispatchable", {})]
    assert [external.name for external in settler.external_calls] == ["web_search", "web_fetch"]


def test_several_choices() -> None:
    """The first is settled, the others counted, unless all are asked for."""
    natives = [
        calls(entry("{}", "f", "a"), choice=0),
        calls(entry('{"x":', "g", "b"), choice=1),
        chunk({"content": "other"}, choice=2),
        calls(entry("1}"), choice=1),
        chunk(finish="tool_calls"),
        chunk(finish="length", choice=1),
        chunk(finish="stop", choice=2),
        DONE,
    ]
    first = settle(*natives)
    assert words(first) == [("a", "f", "dispatchable", {})]
    assert first.stats.other_choices == 2
    assert first.text == ""
    every = settle(*natives, choices="all")
    assert [one[2] for one in words(every)] == ["dispatchable", "truncated"]


# -- chunks of other shapes ------------------------------------------------------------------------

SHAPES: dict[str, list[Any]] = {
    "no choices": [{"id": "c", "object": "chat.completion.chunk", "usage": None}],
    "choices null": [{"id": "c", "object": "chat.completion.chunk", "choices": None}],
    "choices empty": [{"id": "", "object": "", "choices": [], "prompt_filter_results": []}],
    "choices of junk": [{"object": "chat.completion.chunk", "choices": [None, 1, "x", [], {}]}],
    "no delta": [{"choices": [{"index": 0, "finish_reason": None}]}],
    "delta null": [chunk(None)],
    "delta of the wrong type": [chunk("x"), chunk([1]), chunk(1)],
    "lists of the wrong type": [chunk({"tool_calls": "x", "executed_tools": 1, "content": {}})],
    "nothing": [None, 1, [], object()],
    "another marker": ["[START]"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_chunks_of_odd_shapes(shape: str) -> None:
    """Each yields one event that carries it, and the message goes on."""
    settler = Settler("openai-chat", tools=None)
    for native in SHAPES[shape]:
        (event,) = settler.feed(native)
        assert event.native is native
    for native in GOOD:
        settler.feed(native)
    assert [one[2] for one in words(settler)] == ["dispatchable"]


ERRORS: dict[str, Any] = {
    "an error alone": {
        "error": {"message": "S3NT1N3L", "type": "server_error", "code": "overloaded"}
    },
    "an error beside a choice": chunk({"content": ""}, error={"code": 502, "message": "S3NT1N3L"}),
    "an error in the choice": chunk(finish="error", beside={"error": {"code": 502}}),
    "an error as text": {"error": "S3NT1N3L"},
    "a flat error": {"object": "error", "message": "S3NT1N3L", "type": "BadRequest", "code": 400},
    "a typed error": {"type": "error", "error": {"message": "S3NT1N3L"}},
    "Groq's": chunk(x_groq={"error": "S3NT1N3L"}),
    "one in a delta": chunk({"content": "", "error": {"message": "S3NT1N3L"}}),
    "a typed one beside a choice": {**chunk({"content": ""}), "type": "error"},
    "MiniMax's beside a choice": {**chunk({"content": ""}), "base_resp": {"status_code": 1027}},
    "MiniMax's": {"choices": None, "base_resp": {"status_code": 1027, "status_msg": "S3NT1N3L"}},
}


@pytest.mark.parametrize("form", ERRORS)
def test_an_error_ends_the_message_and_voids_its_reason(form: str) -> None:
    """However it is dressed; `[DONE]` after it changes nothing, and its text is not repeated."""
    settler = settle(calls(entry("{}", "f", "a")), chunk(finish="tool_calls"), ERRORS[form], DONE)
    outcome = settler.outcomes[0]
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.PROVIDER_ERROR
    assert settler.ending is not None
    assert "S3NT1N3L" not in f"{settler.ending.code} {settler.error}"


def test_a_blank_error_beside_a_choice_is_none() -> None:
    """Some gateways send every field of an error blank; alone it is one all the same."""
    blank = {"error": {"message": "", "type": "", "param": "", "code": None}}
    well = {"base_resp": {"status_code": 0, "status_msg": ""}}
    good = calls(entry("{}", "f", "a")), chunk(finish="tool_calls", **blank, **well)
    assert words(settle(*good, DONE)) == [("a", "f", "dispatchable", {})]
    assert [one[2] for one in words(settle(*good, blank, DONE))] == ["abandoned"]


@pytest.mark.parametrize("name", ["parameters", "input"])
@pytest.mark.parametrize("stated", [{}, {"arguments": ""}, {"arguments": " {}"}, {"arguments": {}}])
@pytest.mark.parametrize("value", ['{"x":1}', {"x": 1}], ids=["text", "object"])
def test_arguments_by_another_name(name: str, stated: dict[str, Any], value: Any) -> None:
    """A call never runs with `{}` where its arguments only have another name."""
    function = {"name": "f", **stated, name: value}
    for delta in (
        {"tool_calls": [{"index": 0, "id": "a", "function": function}]},
        {"function_call": function},
    ):
        settler = settle(chunk(delta), chunk(finish="tool_calls"), DONE)
        assert [one[1:] for one in words(settler)] == [("f", "dispatchable", {"x": 1})]


def test_arguments_in_pieces_by_another_name() -> None:
    """Each piece is read, and a blank one by the other name leaves the stated ones as they are."""
    pieces = [{"name": "f", "parameters": ""}, {"parameters": '{"x":'}, {"parameters": "1}"}]
    entries = [{"index": 0, "id": "a", "function": piece} for piece in pieces]
    deltas = [chunk({"tool_calls": [one]}) for one in entries]
    settler = settle(*deltas, chunk(finish="tool_calls"), DONE)
    assert words(settler) == [("a", "f", "dispatchable", {"x": 1})]
    function = {"name": "f", "arguments": "{}", "parameters": {}, "input": None}
    entry_ = {"index": 0, "id": "a", "function": function}
    settler = settle(chunk({"tool_calls": [entry_]}), chunk(finish="tool_calls"), DONE)
    assert words(settler) == [("a", "f", "dispatchable", {})]


def test_a_call_outside_of_a_list() -> None:
    """TGI sends its one call bare."""
    settler = settle(
        chunk({"tool_calls": entry('{"x":', "f", "")}),
        chunk({"tool_calls": entry("1}", call_id="")}),
        chunk(finish="stop"),
        DONE,
    )
    assert words(settler) == [(None, "f", "dispatchable", {"x": 1})]


def test_content_in_parts_and_in_audio() -> None:
    """Their words are text."""
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, None]
    settler = settle(
        chunk({"content": parts}), chunk({"audio": {"id": "audio_1", "transcript": "b"}}), DONE
    )
    assert settler.text == "ab"


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_told_once_whichever_field_it_comes_in(field: str) -> None:
    """It reaches a screen as reasoning, once, whichever field it comes in."""
    settler = Settler("openai-chat", tools=None)
    both = {"reasoning_content": "hm", "reasoning": "hm"}
    assert [type(event) for event in settler.feed(chunk({field: "hm"}))] == [ReasoningDelta]
    assert sum(isinstance(event, ReasoningDelta) for event in settler.feed(chunk(both))) == 1


def test_events_in_order_and_the_native_once() -> None:
    """Text, the call and its end, the reason: the first of them carries the chunk."""
    everything = chunk({"content": "Hi", "tool_calls": [entry("{}", "f", "a")]}, "tool_calls")
    events = Settler("openai-chat", tools=None).feed(everything)
    assert [type(event) for event in events] == [
        TextDelta,
        CallAnnounced,
        ArgumentsDelta,
        CallCompleted,
        MessageStopped,
    ]
    assert [event.native is everything for event in events] == [True, False, False, False, False]


# -- recognition -----------------------------------------------------------------------------------

FIRST: dict[str, Any] = {
    "a chunk": chunk({"content": ""}),
    "without object": {"choices": [], "id": ""},
    "choices null": {"choices": None, "usage": {}},
    "without choices": {"object": "chat.completion.chunk"},
    "an error": {"error": {"message": "no"}},
    "the helper's": {"type": "chunk", "chunk": chunk(), "snapshot": None},
    "an object": SimpleNamespace(**chunk()),
    "an object that answers anything": SimpleNamespace(model_extra="x", **chunk()),
    "an object within": SimpleNamespace(type="chunk", chunk=SimpleNamespace(**chunk())),
}


@pytest.mark.parametrize("form", FIRST)
def test_every_form_is_known_from_its_first_event(form: str) -> None:
    """Known from the first event, dict or object."""
    assert recognise(FIRST[form]).name == "openai-chat"


@pytest.mark.parametrize(
    "native", [None, 1, "x", [], {}, {"object": ["x"]}, {"error": None}, {"type": "x", "error": {}}]
)
def test_what_is_not_recognised(native: Any) -> None:
    """Nothing else is claimed, and nothing raises."""
    assert not PROVIDERS["openai-chat"].recognises(native)


def test_other_providers_are_asked_first() -> None:
    """A bare error may be anybody's, so this row comes last."""
    assert list(PROVIDERS)[-1] == "openai-chat"


class Slotted:
    """An object that keeps no `__dict__`, as some clients' do."""

    __slots__ = ("choices", "id", "object", "usage")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.id, self.object, self.choices = fields["id"], fields["object"], fields["choices"]


def test_objects_of_any_make() -> None:
    """Slots or attributes: fields are found by name."""

    def as_object(node: Any) -> Any:
        if isinstance(node, dict):
            return SimpleNamespace(**{name: as_object(value) for name, value in node.items()})
        return [as_object(item) for item in node] if isinstance(node, list) else node

    natives = [native if isinstance(native, str) else as_object(native) for native in GOOD]
    assert [one[2] for one in words(settle(*natives))] == ["dispatchable"]
    slotted = [native if isinstance(native, str) else Slotted(native) for native in GOOD]
    assert [one[2] for one in words(settle(*slotted))] == ["dispatchable"]
    assert {"choices", "id"} <= set(fields_of(slotted[0]))
    assert len(fields_of(slotted[0])) == 3
    counted = [*natives[:-1], as_object(chunk(usage={"completion_tokens": 50}))]
    assert [one[2] for one in words(settle(*counted, DONE, ceiling=50))] == ["truncated"]


class Closed(BaseModel):
    """A client's model that drops what it does not declare."""

    model_config = ConfigDict(extra="ignore")
    id: str
    object: str
    choices: list[Any]


def test_the_clients_models() -> None:
    """Fields that a model declares, keeps beside, or has dropped."""
    natives = [openai_chunk.ChatCompletionChunk.construct(**one) for one in GOOD[:-1]]
    natives[0].choices[0].delta.reasoning_content = "hm"  # type: ignore[attr-defined]
    settler = settle(*natives, DONE)
    assert [one[2] for one in words(settler)] == ["dispatchable"]
    assert settler.history({"call_1": "ok"})[0]["reasoning_content"] == "hm"
    closed = [Closed.model_validate(one) for one in GOOD[:-1]]
    assert [one[2] for one in words(settle(*closed, DONE))] == ["dispatchable"]


def test_the_short_way_asks_only_the_choice_of_the_last_chunk() -> None:
    """However many choices there are, one of them can be written to."""
    normaliser = PROVIDERS["openai-chat"].normaliser(Context())
    keys: list[str] = []
    for choice in (0, 1):
        events = normaliser.feed(calls(entry('{"x', "f", f"c{choice}"), choice=choice))
        normaliser.feed(calls(entry('":', index=0), choice=choice))
        keys += [event.call.key for event in events if isinstance(event, CallAnnounced)]
    assert [normaliser.following(key) is not None for key in keys] == [False, True]
