"""Asking again: when, with what, how often; the same rule under both drivers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from finalcall import (
    Cause,
    Dispatchable,
    Failed,
    SchemaError,
    StreamEndedEarly,
)
from finalcall.correction import (
    AttemptStarted,
    Corrections,
    RunEnding,
    arun_turn,
    larger_budget,
    run_turn,
    same_request,
)
from finalcall.testing import FakeClock
from tests.asking import (
    ASKED,
    BAD_PRIORITY,
    BAD_TITLE,
    GOOD,
    NO_TITLE,
    TOOLS,
    Model,
    Run,
    both,
    cut,
    reply,
    said,
)
from tests.messages import call, message_start, text

ENDINGS: dict[str, tuple[list[list[Any]], dict[str, Any], RunEnding, str, int]] = {
    "right at once": ([reply(GOOD)], {}, RunEnding.COMPLETE, "dispatch", 1),
    "no call at all": ([said("hello")], {}, RunEnding.COMPLETE, "done", 1),
    "right after one": ([reply(NO_TITLE), reply(GOOD)], {}, RunEnding.COMPLETE, "dispatch", 2),
    "right after two": (
        [reply(NO_TITLE), reply(BAD_TITLE), reply(GOOD)],
        {},
        RunEnding.COMPLETE,
        "dispatch",
        3,
    ),
    "the budget is spent": (
        [reply(NO_TITLE), reply(BAD_TITLE), reply(BAD_PRIORITY)],
        {},
        RunEnding.ROUNDS,
        "fail",
        3,
    ),
    "no budget": ([reply(NO_TITLE)], {"corrections": 0}, RunEnding.ROUNDS, "fail", 1),
    "the same mistake again": (
        [reply(BAD_TITLE), reply('{ "title" : 3 }')],
        {"corrections": 5},
        RunEnding.REPEATED,
        "fail",
        2,
    ),
    "another value, the same violation": (
        [reply(BAD_TITLE), reply('{"title": 4}'), reply(GOOD)],
        {},
        RunEnding.COMPLETE,
        "dispatch",
        3,
    ),
    "a text in place of a call": ([reply(NO_TITLE), said("no")], {}, RunEnding.COMPLETE, "done", 2),
    "a failure": ([reply(GOOD, reason="max_tokens")], {}, RunEnding.FAILED, "fail", 1),
    "a failure in a correction": (
        [reply(NO_TITLE), reply(GOOD, reason="refusal")],
        {},
        RunEnding.FAILED,
        "fail",
        2,
    ),
    "a pause": ([said("wait", "pause_turn"), reply(GOOD)], {}, RunEnding.COMPLETE, "dispatch", 2),
    "pauses for ever": ([said("wait", "pause_turn")] * 9, {}, RunEnding.PAUSED, "fail", 9),
}


@both
@pytest.mark.parametrize("row", ENDINGS.values(), ids=ENDINGS)
def test_a_run_ends_as_the_table_says(run: Run, row: Any) -> None:
    """Only invalid calls go back, and only as often as the budget allows."""
    replies, options, ending, verdict, attempts = row
    model = Model(*replies)
    if "corrections" in options:
        options = {"corrections": Corrections(options["corrections"])}
    result = run(model, **options)
    assert (result.ending, result.verdict) == (ending, verdict)
    assert len(result.turns) == len(model.asked) == attempts
    assert result.turn is result.turns[-1]
    assert model.asked[0] == ASKED


@both
def test_every_call_of_a_message_is_answered_in_one_message(run: Run) -> None:
    """Good siblings of an invalid call are answered "not run" where nobody dispatches."""
    model = Model(reply(GOOD, NO_TITLE, GOOD), reply(GOOD))
    result = run(model)
    assistant, answers = model.asked[1][1:]
    assert [block["type"] for block in assistant["content"]] == ["tool_use"] * 3
    told = {block["tool_use_id"]: block["content"] for block in answers["content"]}
    assert set(told) == {"toolu_0", "toolu_1", "toolu_2"}
    assert told["toolu_0"].startswith("Not run: this call is valid")
    assert told["toolu_1"].startswith("Invalid arguments")
    assert result.dispatched == ()
    # The calls of the last message are the caller's: the conversation ends before it.
    assert result.messages == model.asked[1]


@both
def test_good_siblings_are_dispatched_where_somebody_dispatches(run: Run) -> None:
    """They run before the model is told of the invalid one, and their results go with it."""
    ran: list[dict[str, Any]] = []

    def dispatch(one: Any) -> str:
        ran.append(one.args)
        return f"ticket {len(ran)}"

    model = Model(reply(GOOD, NO_TITLE), reply(GOOD))
    result = run(model, dispatch=dispatch)
    assert ran == [{"title": "x"}, {"title": "x"}]
    answers = model.asked[1][-1]["content"]
    assert answers[0]["content"] == "ticket 1"
    assert result.results == {"toolu_0": "ticket 2"}
    assert result.messages[-1]["content"][0]["content"] == "ticket 2"
    assert result.dispatched == ("toolu_0", "toolu_0")


@both
def test_a_budget_travels_with_the_turn_of_the_user(run: Run) -> None:
    """Round trips of earlier messages count, and a good call in between gives none back."""
    budget = Corrections(2)
    run(Model(reply(NO_TITLE), reply(GOOD)), corrections=budget)
    assert (budget.used, budget.left) == (1, 1)
    result = run(Model(reply(BAD_TITLE), reply(BAD_PRIORITY)), corrections=budget)
    assert result.ending is RunEnding.ROUNDS
    assert budget.used == 2
    assert repr(budget) == "Corrections(max=2, used=2)"


@both
def test_round_trips_count_and_not_calls(run: Run) -> None:
    """Three invalid calls of one message cost one round trip."""
    budget = Corrections(1)
    result = run(Model(reply(NO_TITLE, BAD_TITLE, BAD_PRIORITY), reply(GOOD)), corrections=budget)
    assert result.ending is RunEnding.COMPLETE
    assert budget.used == 1


@both
def test_a_kind_of_violation_may_have_a_bound_of_its_own(run: Run) -> None:
    """A field that was left out is not asked for, a wrong enum is."""
    budget = Corrections(2, per_kind={"required": 0, "enum": 1})
    assert run(Model(reply(NO_TITLE)), corrections=budget).ending is RunEnding.KIND
    first = run(Model(reply(BAD_PRIORITY), reply(GOOD)), corrections=budget)
    assert first.ending is RunEnding.COMPLETE
    again = run(Model(reply('{"title": "y", "priority": "now"}')), corrections=budget)
    assert again.ending is RunEnding.KIND


@both
def test_no_correction_is_begun_after_the_deadline(run: Run) -> None:
    """The time runs from the first invalid call of the budget."""
    clock = FakeClock()

    def slow(messages: list[Any]) -> Any:
        clock.advance(6)
        return model(messages)

    model = Model(reply(NO_TITLE), reply(BAD_TITLE), reply(BAD_PRIORITY), reply(GOOD))
    budget = Corrections(9, deadline=10.0)
    result = run(slow, corrections=budget, turn_options={"clock": clock})
    assert result.ending is RunEnding.DEADLINE
    assert len(result.turns) == 3


@pytest.mark.parametrize("bad", [{"max": -1}, {"deadline": -0.1}, {"per_kind": {"enum": -2}}])
def test_a_negative_bound_is_refused(bad: dict[str, Any]) -> None:
    """A bound below zero means nothing."""
    with pytest.raises(ValueError, match="expected 0 or more"):
        Corrections(**bad)


@both
def test_what_happened_is_counted(run: Run) -> None:
    """Announced calls, invalid ones by kind, and after how many corrections they were right."""
    budget = Corrections(2)
    run(Model(reply(GOOD)), corrections=budget)
    run(Model(reply(NO_TITLE, BAD_PRIORITY), reply(BAD_TITLE), reply(GOOD)), corrections=budget)
    assert budget.announced == 5
    assert budget.invalid == {"required": 1, "enum": 1, "type": 1}
    assert budget.recovered == {0: 1, 2: 1}


# Failed messages


@both
def test_nothing_that_failed_is_asked_again_by_itself(run: Run) -> None:
    """Without an explicit choice a cut or a dead message is the end."""
    for failing in (reply(GOOD, reason="max_tokens"), cut(GOOD)):
        model = Model(failing)
        result = run(model, turn_options={"raises": False})
        assert result.ending is RunEnding.FAILED
        assert len(model.asked) == 1


@both
def test_a_cut_message_is_asked_again_with_a_larger_budget(run: Run) -> None:
    """The same conversation, more tokens, up to the ceiling; no correction is used up."""
    truncated = reply(GOOD, reason="max_tokens")
    model = Model(truncated, truncated, reply(NO_TITLE), reply(GOOD))
    budget = Corrections(1)
    result = run(model, ceiling=100, on_truncated=larger_budget(3, ceiling=400), corrections=budget)
    assert result.ending is RunEnding.COMPLETE
    assert model.ceilings == [100, 300, 400, 400]
    assert model.asked[1] == model.asked[2] == ASKED
    assert budget.used == 1


@both
def test_a_larger_budget_ends_at_its_ceiling(run: Run) -> None:
    """Once the largest ceiling was met, the message has failed."""
    truncated = reply(GOOD, reason="max_tokens")
    model = Model(truncated, truncated, truncated)
    result = run(model, ceiling=100, on_truncated=larger_budget(ceiling=200))
    assert result.ending is RunEnding.FAILED
    assert model.ceilings == [100, 200]
    assert result.turn.retry.change == "larger budget"


@both
def test_without_a_known_ceiling_the_largest_one_is_taken_at_once(run: Run) -> None:
    """A factor needs something to multiply."""
    model = Model(reply(GOOD, reason="max_tokens"), reply(GOOD))
    assert run(model, on_truncated=larger_budget(ceiling=400)).ending is RunEnding.COMPLETE
    assert model.ceilings == [None, 400]


@both
@pytest.mark.parametrize(("known", "given"), [(100, 100), (100, 50), (None, 400), (None, 0)])
def test_a_ceiling_that_does_not_grow_ends_the_run(run: Run, known: int | None, given: int) -> None:
    """Whatever the policy says: it would be met again, and for ever."""
    model = Model(*[reply(GOOD, reason="max_tokens")] * 9)
    result = run(model, ceiling=known, on_truncated=lambda _: given)
    assert result.ending is RunEnding.FAILED
    assert len(model.asked) == (2 if (given or 0) > (known or 0) else 1)


UNHELPED: dict[str, list[Any]] = {
    "refused": reply(GOOD, reason="refusal"),
    "cut": reply(GOOD, reason="max_tokens"),
    "a word that nobody knows": reply(GOOD, reason="gone fishing"),
}


@both
@pytest.mark.parametrize("failing", UNHELPED.values(), ids=UNHELPED)
def test_a_policy_is_only_asked_where_the_same_request_may_help(
    run: Run, failing: list[Any]
) -> None:
    """A refusal comes again, and so does a ceiling."""
    model = Model(*[failing] * 9)
    result = run(model, on_abandoned=lambda _retry, _asked: True)
    assert result.ending is RunEnding.FAILED
    assert len(model.asked) == 1


@both
@pytest.mark.parametrize(
    ("failing", "policy"),
    [
        (cut(GOOD), {"on_abandoned": same_request(4)}),
        (reply(GOOD, reason="max_tokens"), {"on_truncated": larger_budget(ceiling=10**6)}),
    ],
    ids=["dead", "cut"],
)
def test_the_deadline_bounds_what_is_asked_again_in_a_correction(
    run: Run, failing: list[Any], policy: dict[str, Any]
) -> None:
    """But not in a message that needed none, however late it is."""
    clock = FakeClock()

    def slow(messages: list[Any], ceiling: int | None = None) -> Any:
        clock.advance(6)
        return model(messages, ceiling)

    options = {**policy, "ceiling": 1000, "turn_options": {"clock": clock, "raises": False}}
    budget = Corrections(9, deadline=10.0)
    model = Model(reply(NO_TITLE), *[failing] * 9)
    result = run(slow, corrections=budget, **options)
    assert (result.ending, result.verdict) == (RunEnding.DEADLINE, "fail")
    assert len(model.asked) == 3
    model = Model(failing, reply(GOOD))
    assert run(slow, corrections=budget, **options).ending is RunEnding.COMPLETE


@both
def test_a_dead_message_is_asked_again_where_that_was_chosen(run: Run) -> None:
    """The same request, a bounded number of times."""
    model = Model(cut(GOOD), cut(GOOD), reply(GOOD))
    result = run(model, on_abandoned=same_request(2))
    assert result.ending is RunEnding.COMPLETE
    assert model.asked == [ASKED, ASKED, ASKED]
    model = Model(cut(GOOD), cut(GOOD))
    once = run(model, on_abandoned=same_request(), turn_options={"raises": False})
    assert once.ending is RunEnding.FAILED
    assert once.turn.ending is not None
    assert once.turn.ending.cause is Cause.ENDED_EARLY


def external_then_cut() -> list[Any]:
    return [message_start(), *call(0, "srv_1", kind="server_tool_use", name="web_search")]


@both
def test_what_somebody_else_may_have_run_is_not_asked_for_again(run: Run) -> None:
    """Unless the caller says that it may happen twice."""
    quiet: dict[str, Any] = {"turn_options": {"raises": False}}
    model = Model(external_then_cut(), reply(GOOD))
    assert run(model, on_abandoned=same_request(), **quiet).ending is RunEnding.FAILED
    model = Model(external_then_cut(), reply(GOOD))
    result = run(model, on_abandoned=same_request(external=True), **quiet)
    assert result.ending is RunEnding.COMPLETE
    (external,) = result.turns[0].retry.external
    assert external.name == "web_search"
    assert not result.turns[0].retry.safe


@both
def test_a_cut_text_is_asked_again_as_a_cut_call_is(run: Run) -> None:
    """A message without a call can meet its ceiling too: then the stop reason is the cause."""
    model = Model(said("Once upon", "max_tokens"), said("The end."))
    result = run(model, on_truncated=larger_budget(ceiling=400))
    assert result.turns[0].retry.causes == (Cause.TOKEN_CEILING,)
    assert result.ending is RunEnding.COMPLETE


@both
def test_an_unclean_end_raises_after_everything_is_known(run: Run) -> None:
    """As a turn does; the other way is `raises=False`."""
    with pytest.raises(StreamEndedEarly):
        run(Model(cut(GOOD)))


@both
def test_a_whole_call_of_a_failed_message_is_not_run(run: Run) -> None:
    """The message may be asked for again and bring it again; the model is told."""
    ran: list[Any] = []
    model = Model(reply(GOOD, '{"title": "x"'))
    result = run(model, dispatch=ran.append)
    assert [type(outcome) for outcome in result.outcomes] == [Dispatchable, Failed]
    assert (result.ending, ran) == (RunEnding.FAILED, [])
    (answer,) = result.messages[-1]["content"]
    assert answer["tool_use_id"] == "toolu_0"
    assert answer["content"].startswith("Not run: another call")
    assert result.turn.retry.dispatchable == ("toolu_0",)


@pytest.mark.parametrize(
    "make",
    [
        lambda: larger_budget(1, ceiling=10),
        lambda: larger_budget(ceiling=0),
        lambda: same_request(0),
    ],
)
def test_a_policy_that_could_do_nothing_is_refused(make: Callable[[], Any]) -> None:
    """A factor of one, no tokens, no times."""
    with pytest.raises(ValueError, match="expected"):
        make()


# Who looks on


@both
@pytest.mark.parametrize(("level", "told"), [("INFO", True), ("CRITICAL", False)])
def test_a_correction_is_logged_where_somebody_reads_it(
    run: Run, level: str, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What came of it, and nothing where nobody does."""
    caplog.set_level(level, "finalcall")
    run(Model(reply(NO_TITLE), reply(BAD_TITLE), reply(GOOD)))
    assert ("create_ticket" in caplog.text) is told


# The drivers


def test_a_screen_sees_every_event_of_every_attempt() -> None:
    """Each attempt says which it is and why it was made."""
    run = run_turn(Model(reply(NO_TITLE), reply(GOOD)), ASKED, tools=TOOLS)
    seen = list(run)
    attempts = [event for event in seen if isinstance(event, AttemptStarted)]
    assert attempts == [AttemptStarted(1, "first"), AttemptStarted(2, "correction")]
    outcomes = [type(event.outcome) for event in seen if hasattr(event, "outcome")]
    assert outcomes == [SchemaError, Dispatchable]
    assert run.result.ending is RunEnding.COMPLETE
    assert repr(run.result) == "RunResult(ending='complete', verdict='dispatch', attempts=2)"
    with pytest.raises(RuntimeError, match="iterated once"):
        list(run)


async def test_an_asynchronous_run_is_iterated_or_awaited() -> None:
    """Its result is there at the end, and not before."""

    async def request(_messages: list[Any]) -> AsyncIterator[Any]:
        async def events() -> AsyncIterator[Any]:
            for event in reply(GOOD):
                yield event

        return events()

    async def dispatch(_one: Any) -> str:
        return "ran"

    run = arun_turn(request, ASKED, tools=TOOLS, dispatch=dispatch)
    with pytest.raises(RuntimeError, match="not begun"):
        _ = run.result
    seen = [event async for event in run]
    assert seen[0] == AttemptStarted(1, "first")
    assert (await run).results == {"toolu_0": "ran"}


def test_a_run_that_was_left_has_no_result() -> None:
    """Leaving the loop closes the turn, and nothing more is asked."""
    model = Model(reply(NO_TITLE), reply(GOOD))
    run = run_turn(model, ASKED, tools=TOOLS)
    for _ in run:
        break
    with pytest.raises(RuntimeError, match="left before its end"):
        _ = run.result
    assert len(model.asked) <= 1


def test_a_request_that_cannot_take_a_larger_budget_is_refused_at_once() -> None:
    """Before anything is asked, with the signature that is needed."""
    with pytest.raises(TypeError, match=r"def request\(messages, ceiling\)"):
        run_turn(lambda _: reply(GOOD), ASKED, tools=TOOLS, on_truncated=larger_budget(ceiling=9))


def contained(reason: str) -> Iterator[Any]:
    """A message of a container that the next request must name."""
    yield message_start()
    yield from text("wait")
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "container": {"id": "c_1"}}}
    yield {"type": "message_stop"}


def test_what_the_provider_wants_repeated_is_given_by_name() -> None:
    """A container's id, for example; a request that cannot take it is told so."""
    named: list[Any] = []

    def request(_messages: list[Any], *, container: str | None = None) -> Any:
        named.append(container)
        return list(contained("pause_turn")) if len(named) == 1 else reply(GOOD)

    assert run_turn(request, ASKED, tools=TOOLS).result.ending is RunEnding.COMPLETE
    assert named == [None, "c_1"]
    with pytest.raises(TypeError, match="container=None"):
        _ = run_turn(lambda _: list(contained("pause_turn")), ASKED, tools=TOOLS).result


def test_a_request_whose_signature_is_unknown_is_given_everything() -> None:
    """A builtin, or a callable that hides what it takes."""

    class Hidden:
        __signature__ = "none"

        def __call__(self, *_arguments: Any, **_named: Any) -> Any:
            return reply(GOOD)

    result = run_turn(Hidden(), ASKED, tools=TOOLS, on_truncated=larger_budget(ceiling=9)).result
    assert result.ending is RunEnding.COMPLETE
