"""The short way of a long call says what the long way says, and nothing that is odd takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from finalcall import (
    ArgumentsDelta,
    CallSettled,
    Cause,
    Dispatchable,
    Event,
    ExternalCallChanged,
    Failed,
    Limits,
    Settler,
    StreamFault,
)
from finalcall.preview import Preview
from finalcall.providers import PROVIDERS
from finalcall.providers.base import Context
from finalcall.providers.openai_chat.fields import fields_of
from tests.chat_chunks import chunk
from tests.messages import TOOLS, call, message_start, stopped, to_sse
from tests.streams import FIXTURES, Case, cases

WITH_SHORT_WAY = ("anthropic", "openai-chat", "openai-responses")
RECORDED = [case for name in WITH_SHORT_WAY for case in cases(FIXTURES / name)]


def line(event: Any) -> tuple[Any, ...]:
    """An event, for comparing: what it is, whose, its text, and its native one."""
    key = event.call.key if hasattr(event, "call") else None
    return type(event).__name__, key, getattr(event, "text", None), event.native


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.path.stem)
def test_the_short_way_says_what_the_long_way_says(case: Case) -> None:
    """Event by event, a settler hands out what the provider's normaliser alone translates."""
    settler = Settler(tools=None, choices="all")
    seen: list[Event] = []
    translated: list[Event] = []
    normaliser = None
    for native in case.recording.to_dicts():
        seen += settler.feed(native)
        if normaliser is None and settler.provider is not None:
            normaliser = PROVIDERS[settler.provider].normaliser(Context())
        if normaliser is not None and not normaliser.ended:
            translated += normaliser.feed(native)
    seen = [event for event in seen if not isinstance(event, CallSettled)]
    before, at_the_end = seen[: len(translated)], seen[len(translated) :]
    assert [line(event) for event in before] == [line(event) for event in translated]
    assert all(isinstance(event, ExternalCallChanged) for event in at_the_end)


@pytest.mark.parametrize("preview", [None, Preview], ids=["no preview", "preview"])
@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.path.stem)
def test_all_at_once_says_what_one_by_one_says(case: Case, preview: type[Preview] | None) -> None:
    """Event by event, and call by call."""
    natives = case.recording.to_dicts()
    single, whole = (Settler(tools=None, preview=preview) for _ in range(2))
    singly: list[Event] = []
    for native in natives:
        singly += single.feed(native)
    at_once = [*whole.feed_all(natives)]
    assert [line(event) for event in at_once] == [line(event) for event in singly]
    assert [line(event) for event in whole.end()] == [line(event) for event in single.end()]
    assert whole.outcomes == single.outcomes
    assert (whole.stats.events, whole.text) == (single.stats.events, single.text)


def test_nothing_is_taken_after_a_piece_that_ends_the_message() -> None:
    """A piece that passes a limit, or one whose reader ends the message."""
    begun = (message_start(), *call(0, arguments="", stop=False), piece('{"ti'), piece('tle": "'))
    over = iter([*begun, piece("x" * 100), piece("a"), piece("b")])
    settler = Settler(tools=TOOLS, limits=Limits(message=50))
    assert isinstance([*settler.feed_all(over)][-1], CallSettled)
    assert len(list(over)) == 2

    left = iter([*begun, piece("a"), piece("b"), piece("c")])
    settler = Settler(tools=TOOLS)
    for event in settler.feed_all(left):
        if getattr(event, "text", "") == "a":
            settler.blocks.end()
    assert len(list(left)) == 2


@pytest.mark.parametrize("how", ["events", "bytes", "one by one"])
def test_a_call_that_is_too_long_leaves_the_calls_beside_it_alone(how: str) -> None:
    """It passes its own limit in the middle of its pieces; the message goes on."""
    natives = [
        message_start(),
        *call(0, arguments="", stop=False),
        *(piece(text) for text in ('{"title": "', "x" * 20, "x" * 20, "x" * 20, '"}')),
        {"type": "content_block_stop", "index": 0},
        *call(1, "another"),
        *stopped(),
    ]
    settler = Settler(tools=TOOLS, limits=Limits(arguments=40))
    if how == "one by one":
        for native in natives:
            settler.feed(native)
    elif how == "bytes":
        settler.feed(to_sse(natives))
    else:
        list(settler.feed_all(natives))
    first, second = settler.outcomes
    assert isinstance(first, Failed)
    assert first.cause is Cause.LIMIT
    assert isinstance(second, Dispatchable)
    assert settler.anomalies == []


def test_what_the_source_raises_loses_nothing_that_came_before() -> None:
    """Its exception goes on unchanged, and other events may follow."""

    def broken() -> Iterator[Any]:
        yield from (message_start(), *call(0, arguments="", stop=False), piece('{"ti'))
        yield piece('tle": ')
        raise LookupError

    settler = Settler(tools=TOOLS)
    with pytest.raises(LookupError):
        list(settler.feed_all(broken()))
    rest = [piece('"x"}'), {"type": "content_block_stop", "index": 0}, *stopped(), piece("late")]
    natives = iter(rest)
    events = list(settler.feed_all(natives))
    assert isinstance(events[-1], CallSettled)
    assert [getattr(outcome, "args", None) for outcome in settler.outcomes] == [{"title": "x"}]
    assert list(natives) == rest[-1:]  # after the end of the message nothing more is taken


def piece(text: str, index: Any = 0) -> dict[str, Any]:
    delta = {"type": "input_json_delta", "partial_json": text}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def opened(*natives: dict[str, Any], **options: Any) -> Settler:
    """A settler in the middle of a call, two pieces in: the third may take the short way."""
    settler = Settler(tools=TOOLS, **options)
    for native in (message_start(), *call(0, arguments="", stop=False), *natives):
        settler.feed(native)
    settler.feed(piece('{"ti'))
    settler.feed(piece("tle"))
    return settler


ODD = {
    "another index": piece('{"n": 1}', 1),
    "a ping": {"type": "ping"},
    "no text": piece(""),
    "text of another type": {"type": "content_block_delta", "index": 0, "delta": {}} | {"delta": 1},
    "another kind of delta": {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": '": 1}'},
    },
    "another kind of event": piece('": 1}') | {"type": "content_block_stop"},
    "an object without fields": object(),
    "nothing": None,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_not_the_next_piece_adds_nothing_to_the_call(odd: Any) -> None:
    """Whatever comes between two pieces, the call's own pieces are its text, and only they."""
    settler = opened()
    settler.feed(odd)
    settler.feed(piece('": "x'))
    for native in (piece('"}'), {"type": "content_block_stop", "index": 0}, *stopped()):
        settler.feed(native)
    mine = [outcome for outcome in settler.outcomes if outcome.call_id == "toolu_1"]
    assert [getattr(outcome, "args", None) for outcome in mine] == [{"title": "x"}]


def test_a_piece_after_the_calls_own_end_is_noticed() -> None:
    """The end of the call ends its short way."""
    settler = opened(*call(1, "toolu_2", arguments="", stop=False))
    settler.feed({"type": "content_block_stop", "index": 0})
    settler.feed(piece("late"))
    assert [anomaly.name for anomaly in settler.anomalies] == ["delta_after_end"]


def test_two_calls_that_take_turns_keep_their_texts_apart() -> None:
    """Each change from one call to the other takes the long way."""
    settler = Settler(tools=TOOLS)
    first, second = '{"title": "first"}', '{"title": "other"}'
    natives = [
        message_start(),
        *call(0, "toolu_1", arguments="", stop=False),
        *call(1, "toolu_2", arguments="", stop=False),
        *(piece(text[at], index) for at in range(18) for index, text in enumerate((first, second))),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_stop", "index": 1},
        *stopped(),
    ]
    for native in natives:
        settler.feed(native)
    assert [getattr(outcome, "args", None) for outcome in settler.outcomes] == [
        json.loads(first),
        json.loads(second),
    ]


def test_counts_are_right_in_the_middle_of_a_call() -> None:
    """Sizes, events and pieces can be asked for at any moment."""
    settler = opened()
    (event,) = settler.feed(piece('": "'))
    assert isinstance(event, ArgumentsDelta)
    assert event.call.size == len('{"title": "')
    before = settler.stats.events
    for text in ("y", "z"):
        settler.feed(piece(text))
    assert settler.stats.events == before + 2


@pytest.mark.parametrize(
    ("limits", "cause"),
    [(Limits(arguments=10), None), (Limits(message=10), Cause.LIMIT)],
    ids=["arguments", "message"],
)
def test_a_limit_holds_on_the_short_way(limits: Limits, cause: Cause | None) -> None:
    """A piece for which there is no room takes the consequences that it always has."""
    settler = opened(limits=limits)
    events = settler.feed(piece('": "too long"}'))
    assert isinstance(events[0], ArgumentsDelta)
    assert [type(event) for event in events[1:]] == (
        [] if cause is None else [StreamFault, CallSettled]
    )
    settler.end()
    (outcome,) = settler.outcomes
    assert getattr(outcome, "cause", None) is (Cause.LIMIT if cause else Cause.ENDED_EARLY)
    assert len(getattr(outcome, "raw", "")) <= 10 or cause is Cause.LIMIT


def test_a_preview_follows_on_the_short_way() -> None:
    """Every piece is followed by its preview's change."""
    settler = opened(preview=Preview)
    delta, changed = settler.feed(piece('": "x'))
    assert isinstance(delta, ArgumentsDelta)
    assert getattr(changed, "preview").value.plain() == {"title": "x"}  # noqa: B009 - a union


def chat_piece(text: str, **fields: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}, **fields)


HEAD = {"index": 0, "id": "call_1", "function": {"name": "create_ticket", "arguments": ""}}
CHAT_ODD = {
    "usage": {"usage": {"completion_tokens": 3}},
    "an error": {"error": {"code": "overloaded"}},
    "another chunk's id": {"chunk_id": "chatcmpl-2"},
    "a stop reason": {"finish": "length"},
    "a filter's hit": {"beside": {"content_filter_results": {"hate": {"filtered": True}}}},
    "another choice": {"choice": 1},
}


@pytest.mark.parametrize("more", CHAT_ODD.values(), ids=CHAT_ODD)
def test_whatever_a_chunk_says_besides_its_piece_is_heard(more: dict[str, Any]) -> None:
    """A chunk that says more than a piece leaves the normaliser as the long way leaves it."""
    natives = [
        chunk({"tool_calls": [HEAD]}),
        *(chat_piece(text) for text in ('{"ti', "tle")),
        chat_piece('": "x"', **more),
        chat_piece("}"),
        chunk(finish="tool_calls"),
    ]
    settler = Settler(tools=TOOLS)
    normaliser = PROVIDERS["openai-chat"].normaliser(Context())
    for native in natives:
        settler.feed(native)
        if not normaliser.ended:
            normaliser.feed(native)
    settler.end()
    assert settler.usage == normaliser.usage
    assert settler.anomalies[: len(normaliser.anomalies)] == normaliser.anomalies
    assert settler.ending is not None
    # A chunk of another generation is a splice.
    assert settler.ending.clean is not ("error" in more or "chunk_id" in more)
    assert not ("finish" in more or "beside" in more) or settler.verdict == "fail"


ENTRIES = {
    "fields that say nothing": {"id": None, "type": "function"},
    "a signature": {"extra_content": {"google": {"thought_signature": "s"}}},
    "its id again": {"id": "call_1"},
}


@pytest.mark.parametrize("more", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_that_says_more_still_brings_its_piece(more: dict[str, Any]) -> None:
    """What services repeat beside a piece changes nothing of the text."""
    settler = Settler(tools=TOOLS)
    settler.feed(chunk({"tool_calls": [HEAD]}))
    for text in ('{"ti', "tle", '": "', "x", '"}'):
        entry = {"index": 0, "function": {"arguments": text, "name": None}} | more
        settler.feed(chunk({"tool_calls": [entry], "role": "assistant", "content": None}))
    settler.feed(chunk(finish="tool_calls"))
    settler.end()
    assert [getattr(outcome, "args", None) for outcome in settler.outcomes] == [{"title": "x"}]


def test_a_piece_as_long_as_all_before_it_may_be_all_of_it_again() -> None:
    """Gateways that send a closed text once more are understood on the short way too."""
    settler = Settler(tools=TOOLS)
    settler.feed(chunk({"tool_calls": [HEAD]}))
    for text in ('{"title"', ': "x"', "}", '{"title": "x"}'):
        settler.feed(chat_piece(text))
    settler.feed(chunk(finish="tool_calls"))
    settler.end()
    assert [getattr(outcome, "args", None) for outcome in settler.outcomes] == [{"title": "x"}]


@pytest.mark.parametrize("provider", WITH_SHORT_WAY)
def test_there_is_no_short_way_before_the_first_piece(provider: str) -> None:
    """Nor for a call that the last piece was not of."""
    assert PROVIDERS[provider].normaliser(Context()).following("key") is None


def test_an_object_that_keeps_its_fields_in_its_own_way_is_read_by_its_attributes() -> None:
    """An SDK's object may have extra fields and no dictionary."""

    class Odd:
        __slots__ = ("__pydantic_extra__", "usage")

        def __init__(self) -> None:
            self.__pydantic_extra__ = {}
            self.usage = 3

    assert fields_of(Odd()).get("usage") == 3
