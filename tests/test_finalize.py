"""The settling rules, one by one and in their order."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall import (
    Accumulator,
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallKind,
    CallWithdrawn,
    Cause,
    Dispatchable,
    Failed,
    Limits,
    MessageStopped,
    SchemaError,
    StopReason,
    StreamFault,
    ToolSet,
    Verdict,
    finalize,
)
from finalcall.events import CallIdentity
from finalcall.limits import MAX_DIGITS

GOOD = StopReason("tool_use", Verdict.COMPLETE)
CEILING = StopReason("max_tokens", Verdict.TRUNCATED)
TICKET = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "priority": {"enum": ["low", "normal", "urgent"]}},
    "required": ["title"],
    "additionalProperties": False,
}
TOOLS = ToolSet({"create_ticket": TICKET})


def call(
    accumulator: Accumulator,
    text: str = '{"title": "x"}',
    *,
    key: str = "k",
    name: str | None = "create_ticket",
    given: str = "",
    ended: bool = True,
    kind: CallKind = CallKind.FUNCTION,
) -> Call:
    """Announce a call, send its text in two pieces, and end it."""
    made = Call(CallIdentity(key, f"id-{key}", name, kind))
    accumulator.feed(CallAnnounced(made, given))
    middle = len(text) // 2
    for piece in (text[:middle], text[middle:]):
        accumulator.feed(ArgumentsDelta(made, piece))
    if ended:
        accumulator.feed(CallCompleted(made))
    return made


def settle_one(text: str, stop: StopReason | None = GOOD, **options: Any) -> Any:
    """The outcome of a message of one call."""
    accumulator = Accumulator(limits=options.pop("limits", Limits()))
    finalize_options = {
        name: options.pop(name)
        for name in ("truncation", "unconfirmed", "cause", "tools")
        if name in options
    }
    call(accumulator, text, **options)
    (outcome,) = finalize(accumulator, stop, **{"tools": TOOLS, **finalize_options})
    return outcome


BAD_VERDICTS = {
    Verdict.TRUNCATED: Cause.TOKEN_CEILING,
    Verdict.FILTERED: Cause.SAFETY,
    Verdict.PAUSED: Cause.PAUSED,
    Verdict.ERROR: Cause.PROVIDER_ERROR,
    Verdict.UNKNOWN: Cause.UNKNOWN_STOP,
}


@pytest.mark.parametrize("verdict", BAD_VERDICTS)
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("text", ['{"title": "x"}', '{"title": "x', "", "null"])
def test_rule_1_a_bad_stop_reason_truncates(verdict: Verdict, ended: bool, text: str) -> None:
    """Closed or not, parsable or not, every call of the message is truncated."""
    outcome = settle_one(text, StopReason("word", verdict), ended=ended)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("truncated", BAD_VERDICTS[verdict])


def test_rule_1_truncation_last_trusts_the_calls_before_the_last() -> None:
    """The opt-in trusts finished calls before the last, at a token ceiling."""
    accumulator = Accumulator()
    call(accumulator, key="a")
    call(accumulator, key="b", ended=False)
    call(accumulator, key="c")
    outcomes = finalize(accumulator, CEILING, tools=TOOLS, truncation="last")
    assert [type(outcome).__name__ for outcome in outcomes] == ["Dispatchable", "Failed", "Failed"]


@pytest.mark.parametrize("verdict", [v for v in BAD_VERDICTS if v is not Verdict.TRUNCATED])
def test_rule_1_truncation_last_is_for_a_token_ceiling_only(verdict: Verdict) -> None:
    """After a refusal, an error, a pause or an unknown word no call is trusted."""
    accumulator = Accumulator()
    call(accumulator, key="a")
    call(accumulator, key="b")
    outcomes = finalize(accumulator, StopReason("w", verdict), tools=TOOLS, truncation="last")
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)] == [
        "truncated",
        "truncated",
    ]


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("cause", [Cause.ENDED_EARLY, Cause.DISCONNECTED, Cause.CANCELLED])
def test_rule_2_no_stop_reason_abandons(ended: bool, cause: Cause) -> None:
    """A parsable buffer and an end of the call's own prove nothing without a stop reason."""
    outcome = settle_one('{"title": "x"}', None, ended=ended, cause=cause)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)


@pytest.mark.parametrize("cause", list(Cause))
def test_rule_2_unconfirmed_dispatch_is_for_a_clean_end_only(cause: Cause) -> None:
    """The opt-in never applies after an error, silence or a cancel."""
    outcome = settle_one('{"title": "x"}', None, cause=cause, unconfirmed="dispatch")
    assert isinstance(outcome, Dispatchable) is (cause is Cause.ENDED_EARLY)


def test_rule_2_unconfirmed_dispatch_needs_the_calls_own_end() -> None:
    """A call that was never closed stays abandoned."""
    outcome = settle_one('{"title": "x"}', None, ended=False, unconfirmed="dispatch")
    assert isinstance(outcome, Failed)


def test_rule_2_a_stop_reason_covers_only_calls_announced_before_it() -> None:
    """A call that comes after the last stop reason has none."""
    accumulator = Accumulator()
    call(accumulator, key="a")
    accumulator.feed(MessageStopped(GOOD))
    call(accumulator, key="b")
    first, second = finalize(accumulator, GOOD, tools=TOOLS)
    assert isinstance(first, Dispatchable)
    assert isinstance(second, Failed)
    assert second.reason == "abandoned"


def test_rule_3_a_call_without_its_own_end_is_abandoned() -> None:
    """A good stop reason is not the end of a call that never got one."""
    outcome = settle_one('{"title": "x"}', ended=False)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "abandoned"


def test_rule_3_a_withdrawn_call_is_abandoned() -> None:
    """What the provider went back on does not run, finished or not."""
    accumulator = Accumulator()
    accumulator.feed(CallWithdrawn(call(accumulator)))
    (outcome,) = finalize(accumulator, GOOD, tools=TOOLS)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "abandoned"


def test_rule_3_a_withdrawn_call_is_not_trusted_at_a_ceiling_either() -> None:
    """truncation="last" trusts finished calls, and this one was taken back."""
    accumulator = Accumulator()
    accumulator.feed(CallWithdrawn(call(accumulator, key="a")))
    call(accumulator, key="b")
    first, _ = finalize(accumulator, CEILING, tools=TOOLS, truncation="last")
    assert isinstance(first, Failed)


@pytest.mark.parametrize(
    ("text", "given", "stray", "whole"),
    [
        ("", "", '{"title": "x"}', False),
        (" ", "", '{"title": "x"}', False),
        ('{"title": "y"}', "", '{"title": "x"}', True),
        ("", '{"title": "y"}', '{"title": "x"}', True),
        ("{}", "", '{"title": "x"}', False),
        ("", " { } ", '{"title": "x"}', False),
        ("", "", " ", True),
        ("", "", "{}", True),
    ],
)
def test_rule_3_an_empty_call_beside_text_of_no_call_is_abandoned(
    text: str, given: str, stray: str, whole: bool
) -> None:
    """The text may be its own; a call with arguments of its own is judged by those."""
    accumulator = Accumulator()
    call(accumulator, text, key="a", given=given)
    call(accumulator, stray, key="b", name=None)
    first, second = finalize(accumulator, GOOD, tools=None)
    assert isinstance(first, Dispatchable) is whole
    if isinstance(first, Failed):
        assert (first.reason, first.cause) == ("abandoned", Cause.MALFORMED)
    assert isinstance(second, Failed)


def test_rule_3_free_text_is_an_argument_whatever_it_is() -> None:
    """Braces alone are the text of a tool that takes text."""
    accumulator = Accumulator()
    call(accumulator, "{}", key="a", name="run_sql", kind=CallKind.CUSTOM)
    call(accumulator, '{"title": "x"}', key="b", name=None)
    tools = [{"type": "custom", "name": "run_sql"}]
    first, _ = finalize(accumulator, GOOD, tools=ToolSet(tools))
    assert isinstance(first, Dispatchable)


@pytest.mark.parametrize(
    ("stray", "call_id", "whole", "reason"),
    [
        ('": "x", "', None, False, "abandoned"),
        ('": "x", "', None, True, None),
        ('": "x", "', "id-b", False, None),
        ('{"title": "y"}', None, False, None),
    ],
)
def test_rule_3_a_call_beside_a_piece_of_no_call_is_abandoned(
    stray: str, call_id: str | None, whole: bool, reason: str | None
) -> None:
    """It may lack the piece, although what is left parses: unless its end stated it whole.

    A whole document is no piece of another, and text under an id of its own is nobody else's.
    """
    accumulator = Accumulator()
    made = call(accumulator, key="a", ended=False)
    accumulator.feed(CallCompleted(made, whole))
    other = Call(CallIdentity("b", call_id, None))
    for event in (CallAnnounced(other, ""), ArgumentsDelta(other, stray), CallCompleted(other)):
        accumulator.feed(event)
    first, second = finalize(accumulator, GOOD, tools=TOOLS)
    assert getattr(first, "reason", None) == reason
    assert isinstance(second, Failed)


def test_rule_3_an_empty_call_beside_text_of_no_call_is_not_trusted_either() -> None:
    """Neither opt-in lets it run."""
    accumulator = Accumulator()
    call(accumulator, "", key="a")
    call(accumulator, '{"title": "x"}', key="b", name=None)
    call(accumulator, "", key="c")
    for stop in (CEILING, None):
        outcomes = finalize(
            accumulator, stop, tools=None, truncation="last", unconfirmed="dispatch"
        )
        assert all(isinstance(outcome, Failed) for outcome in outcomes)


def test_rule_3_a_fault_voids_a_good_stop_reason() -> None:
    """An error after the stop reason abandons the calls, whatever they hold."""
    accumulator = Accumulator()
    call(accumulator)
    accumulator.feed(MessageStopped(GOOD))
    accumulator.feed(StreamFault(Cause.PROVIDER_ERROR, "overloaded"))
    (outcome,) = finalize(accumulator, accumulator.stop_reason, tools=TOOLS)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", Cause.PROVIDER_ERROR)


NOT_STRICT = {
    "cut": '{"title": "x',
    "trailing text": '{"title": "x"} and',
    "two documents": '{"title": "x"}{"title": "x"}',
    "duplicate name": '{"title": "x", "title": "x"}',
    "escaped duplicate name": '{"title": "x", "t\\u0069tle": "y"}',
    "nested duplicate name": '{"title": "x", "more": {"a": 1, "a": 1}}',
    "NaN": '{"title": NaN}',
    "Infinity": '{"title": -Infinity}',
    "overflow by exponent": '{"title": 1e999}',
    "overflow by digits": '{"title": 1' + "0" * 400 + ".0}",
    "lone surrogate escape": '{"title": "\\ud83d"}',
    "lone surrogate": '{"title": "\ud83d"}',
    "raw control character": '{"title": "a\nb"}',
    "single quotes": "{'title': 'x'}",
    "comment": '{"title": "x"} // done',
    "byte order mark": '\ufeff{"title": "x"}',
    "markdown fence": '```json\n{"title": "x"}\n```',
    "leading zero": '{"title": 01}',
    "python words": '{"title": None}',
    "trailing comma": '{"title": "x",}',
}


@pytest.mark.parametrize("name", NOT_STRICT)
def test_rule_4_anything_but_one_strict_document_is_unparseable(name: str) -> None:
    """The text is neither repaired nor cut down to a part that would parse."""
    outcome = settle_one(NOT_STRICT[name])
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("unparseable", Cause.MALFORMED)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ('{"title": ' + "[" * 300 + "]" * 300 + "}", Limits()),
        ('{"title": ' + "9" * (MAX_DIGITS + 1) + "}", Limits()),
        ('{"title": "' + "x" * 100 + '"}', Limits(arguments=50)),
    ],
    ids=["depth", "digits", "size"],
)
def test_rule_4_limits_are_unparseable_with_their_own_cause(text: str, limits: Limits) -> None:
    """Depth, digits and size are bounded, and the cause says that it was a limit."""
    outcome = settle_one(text, limits=limits)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("unparseable", Cause.LIMIT)


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_rule_4_blank_text_is_the_given_input(text: str) -> None:
    """Without fragments the input of the announcement counts, else the empty object."""
    tools = ToolSet({"create_ticket": {"type": "object"}})
    assert settle_one(text, tools=tools).args == {}
    assert settle_one(text, tools=tools, given='{"title": "y"}').args == {"title": "y"}


def test_rule_4_fragments_replace_the_given_input() -> None:
    """Deltas are the authoritative text where there are any."""
    assert settle_one('{"title": "x"}', given='{"title": "y"}').args == {"title": "x"}


def test_rule_4_halves_of_a_surrogate_pair_are_joined() -> None:
    """A pair that two fragments split is one character."""
    assert settle_one('{"title": "\ud83d\ude00"}').args == {"title": "\U0001f600"}


def test_rule_4_integers_keep_every_digit() -> None:
    """A 64-bit id is not rounded through a float."""
    tools = ToolSet({"create_ticket": {"type": "object"}})
    assert settle_one('{"id": 2512292042121000001}', tools=tools).args["id"] == 2512292042121000001


@pytest.mark.parametrize(
    ("second", "outcome_type"),
    [('{"title": "x"}', Dispatchable), ('{"title": "y"}', Failed), ('{"ti', Failed), ("", Failed)],
)
def test_rule_4_a_replay_is_equal_or_unparseable(second: str, outcome_type: type) -> None:
    """A call that is announced again is compared with what came first, never appended."""
    accumulator = Accumulator()
    made = call(accumulator)
    accumulator.feed(MessageStopped(GOOD))
    accumulator.feed(CallAnnounced(made))
    accumulator.feed(ArgumentsDelta(made, second))
    accumulator.feed(MessageStopped(GOOD))
    (outcome,) = finalize(accumulator, GOOD, tools=TOOLS)
    assert type(outcome) is outcome_type


@pytest.mark.parametrize(
    ("first", "second", "outcome_type"),
    [
        (("", '{"a": 1, "b": 2}'), ('{"b":2,\n"a":1}', ""), Dispatchable),
        (('{"a":1,"b":2}', ""), ("", '{"a": 1, "b": 2}'), Dispatchable),
        (("", '{"a": 1}'), ('{"a":true}', ""), Failed),
        (("", '{"a": 1}'), ('{"a":1', ""), Failed),
        (('{"a":1}', ""), ('{"a": 1}', ""), Failed),
    ],
    ids=["text after input", "input after text", "another value", "cut", "two texts"],
)
def test_rule_4_a_replay_of_input_that_was_given_has_its_value(
    first: tuple[str, str], second: tuple[str, str], outcome_type: type
) -> None:
    """Given input is written by this library: only its value is compared with a text."""
    accumulator = Accumulator()
    made = call(accumulator, first[0], given=first[1])
    accumulator.feed(CallAnnounced(made, second[1]))
    accumulator.feed(ArgumentsDelta(made, second[0]))
    (outcome,) = finalize(accumulator, GOOD, tools=None)
    assert type(outcome) is outcome_type


def test_rule_4_free_text_is_compared_as_it_is() -> None:
    """Its blanks are the model's."""
    accumulator = Accumulator()
    made = call(accumulator, "", given='{"a": 1}', kind=CallKind.CUSTOM)
    accumulator.feed(CallAnnounced(made))
    accumulator.feed(ArgumentsDelta(made, '{"a":1}'))
    (outcome,) = finalize(accumulator, GOOD, tools=None)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "unparseable"


def test_rule_4_a_restated_text_replaces_what_came() -> None:
    """The whole text that a provider states at the end wins over its fragments."""
    accumulator = Accumulator()
    made = call(accumulator, '{"title": "w', ended=False)
    accumulator.feed(ArgumentsRestated(made, '{"title": "x"}'))
    accumulator.feed(CallCompleted(made, whole=True))
    accumulator.feed(ArgumentsDelta(made, "stale"))
    (outcome,) = finalize(accumulator, GOOD, tools=TOOLS)
    assert outcome.args == {"title": "x"}  # type: ignore[union-attr]


def test_rule_4_two_different_whole_texts_are_unparseable() -> None:
    """A call whose end states one text, and a second end another, says nothing that can be run."""
    for second, outcome_type in (('{"title": "x"}', Dispatchable), ("{}", Failed)):
        accumulator = Accumulator()
        made = call(accumulator, ended=False)
        accumulator.feed(CallCompleted(made, whole=True))
        accumulator.feed(ArgumentsRestated(made, second))
        (outcome,) = finalize(accumulator, GOOD, tools=TOOLS)
        assert type(outcome) is outcome_type


def test_rule_4_a_fragment_after_the_calls_end_belongs_to_its_text() -> None:
    """Without a restated text a late fragment is not dropped: strict parsing judges the whole."""
    accumulator = Accumulator()
    accumulator.feed(ArgumentsDelta(call(accumulator), " more"))
    (outcome,) = finalize(accumulator, GOOD, tools=TOOLS)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "unparseable"


def test_rule_4_a_call_without_a_name_is_unparseable() -> None:
    """It was announced, so it has an outcome, and nothing can run it."""
    outcome = settle_one("{}", name=None)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "unparseable"


def test_rule_4_free_text_is_not_parsed() -> None:
    """A custom tool's input is its text, however it looks."""
    tools = ToolSet([{"type": "custom", "custom": {"name": "run_sql"}}])
    outcome = settle_one("select {", name="run_sql", kind=CallKind.CUSTOM, tools=tools)
    assert outcome.args == {"input": "select {"}


def test_rule_5_a_custom_call_that_nobody_declared_does_not_run() -> None:
    """With tools=None nothing says that a custom call is the caller's."""
    outcome = settle_one("select", name="run_sql", kind=CallKind.CUSTOM, tools=None)
    assert isinstance(outcome, SchemaError)
    assert outcome.errors[0].keyword == "unknown_tool"
    assert outcome.misnamed


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["none", "offered"])
def test_rule_5_no_object_is_worded_the_same_with_tools_and_without(tools: ToolSet | None) -> None:
    """What was found is told, and the name is none of what is wrong."""
    outcome = settle_one("[]", tools=tools)
    assert isinstance(outcome, SchemaError)
    assert [error.message for error in outcome.errors] == ["expected an object; found an array"]
    assert not outcome.misnamed


@pytest.mark.parametrize(
    ("text", "name", "keyword"),
    [
        ("{}", "create_tickt", "unknown_tool"),
        ("null", "create_ticket", "type"),
        ('"{}"', "create_ticket", "type"),
        ("[]", "create_ticket", "type"),
        ("{}", "create_ticket", "required"),
        ('{"title": "x", "priority": "P1"}', "create_ticket", "enum"),
        ('{"title": 7}', "create_ticket", "type"),
    ],
)
def test_rule_5_a_bad_payload_is_a_schema_error(text: str, name: str, keyword: str) -> None:
    """The call is whole; what it asks for is not allowed, and the model can be told."""
    outcome = settle_one(text, name=name)
    assert isinstance(outcome, SchemaError)
    assert keyword in {error.keyword for error in outcome.errors}
    assert outcome.raw == text


def test_rule_5_arguments_must_be_an_object_even_unchecked() -> None:
    """tools=None checks no schema, and still nothing but an object can be arguments."""
    outcome = settle_one("[1]", tools=None)
    assert isinstance(outcome, SchemaError)
    assert outcome.args is None


def test_rule_6_a_whole_valid_call_is_dispatchable() -> None:
    """Finished, strict, valid."""
    outcome = settle_one('{"title": "x", "priority": "low"}')
    match outcome:
        case Dispatchable(call_id, name, args):
            assert (call_id, name, args) == (
                "id-k",
                "create_ticket",
                {"title": "x", "priority": "low"},
            )
        case _:
            pytest.fail(f"{outcome!r} is no Dispatchable")


def test_finalize_is_pure() -> None:
    """Asked twice, it says the same twice."""
    accumulator = Accumulator()
    call(accumulator)
    first = finalize(accumulator, GOOD, tools=TOOLS)
    assert finalize(accumulator, GOOD, tools=TOOLS) == first


def test_only_finalize_makes_a_dispatchable() -> None:
    """The constructor refuses, and says who may."""
    with pytest.raises(TypeError, match=r"made by finalcall\.finalize"):
        Dispatchable("id", "name", {})


SENTINEL = "S3NT1N3L"


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        (f'{{"title": "{SENTINEL}"}}', GOOD),
        (f'{{"title": "{SENTINEL}", "{SENTINEL}": 1}}', GOOD),
        (f'{{"title": 1, "priority": "{SENTINEL}"}}', GOOD),
        (f'{{"title": "{SENTINEL}', GOOD),
        (f'{{"title": "{SENTINEL}"}}', CEILING),
    ],
)
def test_no_argument_text_in_repr_or_str(text: str, stop: StopReason) -> None:
    """Outcomes and their violations can be logged without leaking what the model wrote."""
    outcome = settle_one(text, stop)
    assert SENTINEL not in repr(outcome) + str(outcome)
    for error in getattr(outcome, "errors", ()):
        assert SENTINEL not in repr(error) + str(error)


def test_rule_1_a_fault_takes_the_trust_of_calls_before_a_ceiling() -> None:
    """What the stream said before an error is proved by nothing."""
    accumulator = Accumulator()
    call(accumulator, key="a")
    call(accumulator, key="b")
    accumulator.feed(MessageStopped(CEILING))
    accumulator.feed(StreamFault(Cause.PROVIDER_ERROR, "overloaded"))
    outcomes = finalize(accumulator, CEILING, tools=None, truncation="last")
    assert [type(outcome) for outcome in outcomes] == [Failed, Failed]


def test_rule_2_unconfirmed_dispatch_is_not_for_a_withdrawn_call() -> None:
    """The provider took it back."""
    accumulator = Accumulator()
    accumulator.feed(CallWithdrawn(call(accumulator)))
    (outcome,) = finalize(accumulator, None, tools=None, unconfirmed="dispatch")
    assert isinstance(outcome, Failed)
    assert outcome.reason == "abandoned"


def test_the_first_of_several_faults_is_the_cause() -> None:
    """What follows it may be its consequence."""
    accumulator = Accumulator()
    call(accumulator)
    accumulator.feed(StreamFault(Cause.SAFETY, "first"))
    accumulator.feed(StreamFault(Cause.PROVIDER_ERROR, "second"))
    (outcome,) = finalize(accumulator, None, tools=None)
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.SAFETY


def test_a_text_that_is_restated_after_the_stop_reason_is_compared() -> None:
    """The stop reason covered the first text, and no other."""
    accumulator = Accumulator()
    made = call(accumulator)
    accumulator.feed(MessageStopped(GOOD))
    accumulator.feed(ArgumentsRestated(made, '{"title": "y"}'))
    (outcome,) = finalize(accumulator, GOOD, tools=None)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "unparseable"
