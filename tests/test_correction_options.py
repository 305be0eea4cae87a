"""What a run is given is checked before anything is asked, and a mistake is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finalcall.correction import Corrections, MemoryLedger, RunEnding, arun_turn, run_turn
from tests.asking import ASKED, GOOD, TOOLS, Model, Run, both, reply, run_async, run_sync

starters = pytest.mark.parametrize("start", [run_turn, arun_turn], ids=["sync", "async"])


class AsyncLedger:
    """A ledger that would have to be awaited."""

    async def begin(self, *_place: Any) -> None:
        """Note nothing."""

    async def finish(self, *_place: Any) -> None:
        """Note nothing."""


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a typing mistake": ({"on_truncted": None}, "did you mean 'on_truncated'"),
    "a turn's option": ({"raises": False}, "'raises' is none of the options of a run"),
    "nothing alike": ({"zzzz": 1}, "corrections, ledger, on_abandoned, on_truncated"),
    "a number for a budget": ({"corrections": 2}, r"type int; expected .*Corrections\(max=2\)"),
    "text for a ceiling": ({"ceiling": "9"}, "type str; expected a number of tokens"),
    "truth for a ceiling": ({"ceiling": True}, "type bool; expected a number of tokens"),
    "no policy": ({"on_truncated": 2}, "larger_budget"),
    "a number of times": ({"on_abandoned": 3}, "same_request"),
    "no ledger": ({"ledger": {}, "run_key": "1"}, "begin and finish"),
    "an asynchronous ledger": ({"ledger": AsyncLedger(), "run_key": "1"}, "synchronous"),
    "a number for a key": ({"ledger": MemoryLedger(), "run_key": 1}, "expected text"),
    "a list of turn options": ({"turn_options": ["raises"]}, "expected a mapping"),
    "an unknown turn option": ({"turn_options": {"idle_timout": 3}}, "did you mean 'idle_timeout'"),
    "the ceiling of a turn": ({"turn_options": {"ceiling": 3}}, "'ceiling' is none"),
    "a dispatch that is none": ({"dispatch": 5}, "dispatch= is of type int; expected a function"),
}


@starters
@pytest.mark.parametrize(("options", "told"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_option_is_named_at_once(
    start: Callable[..., Any], options: dict[str, Any], told: str
) -> None:
    """With what was expected, before the model is asked."""
    model = Model(reply(GOOD))
    with pytest.raises(TypeError, match=told):
        start(model, ASKED, tools=TOOLS, **options)
    assert model.asked == []


@starters
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"ceiling": 0}, "ceiling= is 0; expected a number of tokens above 0"),
        ({"turn_options": {"choices": "every"}}, "choices= is 'every'; expected 'first' or 'all'"),
    ],
)
def test_an_option_that_is_nothing_is_named_at_once(
    start: Callable[..., Any], options: dict[str, Any], told: str
) -> None:
    """Those of the turns, too, before the model is asked."""
    model = Model(reply(GOOD))
    with pytest.raises(ValueError, match=told):
        start(model, ASKED, tools=TOOLS, **options)
    assert model.asked == []


@starters
@pytest.mark.parametrize("messages", ["hello", b"hello", ASKED[0]], ids=["text", "bytes", "one"])
def test_a_conversation_is_a_list(start: Callable[..., Any], messages: Any) -> None:
    """A text would be sent letter by letter."""
    with pytest.raises(TypeError, match="expected a list of messages"):
        start(Model(reply(GOOD)), messages, tools=TOOLS)


@both
def test_none_is_the_same_as_left_out(run: Run) -> None:
    """For every option, and for the dispatch."""
    names = ("corrections", "ceiling", "on_truncated", "on_abandoned", "ledger", "run_key")
    options = dict.fromkeys((*names, "turn_options", "dispatch"))
    result = run(Model(reply(GOOD)), **options)
    assert (result.ending, result.corrections.max) == (RunEnding.COMPLETE, 2)


def test_only_a_synchronous_turn_has_a_pacing() -> None:
    """An asynchronous one waits in one way alone."""
    run_sync(Model(reply(GOOD)), turn_options={"pacing": "thread"})
    with pytest.raises(TypeError, match="'pacing' is none of the turn_options"):
        run_async(Model(reply(GOOD)), turn_options={"pacing": "thread"})


def test_a_kind_of_violation_that_there_is_not_is_refused() -> None:
    """With the kinds that there are."""
    with pytest.raises(ValueError, match=r"'requird'.*maxLength, .*required, .*unknown_tool"):
        Corrections(per_kind={"requird": 0})


# What must be awaited


async def request(_messages: list[Any]) -> Any:
    """Open no stream."""


async def generator(_messages: list[Any]) -> Any:
    """Be the stream."""
    yield


class Asynchronous:
    """Asynchronous in what it does when it is called."""

    async def __call__(self, _: Any) -> Any:
        """Do nothing."""


@pytest.mark.parametrize("function", [request, generator, Asynchronous()])
@pytest.mark.parametrize("name", ["request", "dispatch"])
def test_a_function_that_must_be_awaited_is_refused_at_once(name: str, function: Any) -> None:
    """With the name of what can await it."""
    functions = {"request": Model(reply(GOOD)), "dispatch": str, name: function}
    with pytest.raises(TypeError, match=rf"{name}= is asynchronous.*use arun_turn"):
        run_turn(functions["request"], ASKED, tools=TOOLS, dispatch=functions["dispatch"])


class Manager:
    """What an asynchronous client gives to be entered."""

    async def __aenter__(self) -> None:
        """Give nothing."""

    async def __aexit__(self, *_: object) -> None:
        """Leave."""


@pytest.mark.parametrize("stream", [lambda: request([]), lambda: generator([]), Manager])
def test_a_stream_that_must_be_awaited_is_refused_when_it_comes(stream: Any) -> None:
    """Where the function did not say so before."""
    with pytest.raises(TypeError, match=r"request= is asynchronous.*use arun_turn"):
        _ = run_turn(lambda _: stream(), ASKED, tools=TOOLS).result
