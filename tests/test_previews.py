"""A turn with a preview: what a screen gets beside the events, and what it never gets."""

from __future__ import annotations

from typing import Any

from finalcall import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallKind,
    Event,
    PreviewChanged,
    Settler,
    Turn,
)
from finalcall.events import CallIdentity
from finalcall.preview import MASK, Preview
from finalcall.previews import Previews
from tests.messages import CLEAN, TOOLS, call, message_start, stopped

SECRET = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "password": {"type": "string", "writeOnly": True}},
}


def shown(events: list[Event]) -> list[Any]:
    return [event.preview.value.copy() for event in events if isinstance(event, PreviewChanged)]


def test_a_change_follows_every_piece_of_arguments() -> None:
    """The screen fills in; the last value is the whole."""
    with Turn(CLEAN, tools=TOOLS, preview=Preview) as turn:
        events = list(turn)
    pieces = [event for event in events if isinstance(event, ArgumentsDelta)]
    values = shown(events)
    assert len(values) == len(pieces) == 2
    assert values[-1] == {"title": "x"}
    assert turn.verdict == "dispatch"


def test_each_call_has_its_own_preview() -> None:
    """Two calls fill two forms."""
    stream = [message_start(), *call(0, "a"), *call(1, "b", '{"title": "y"}'), *stopped()]
    with Turn(stream, tools=TOOLS, preview=Preview) as turn:
        last = {
            event.call.key: event.preview.value.copy()
            for event in turn
            if isinstance(event, PreviewChanged)
        }
    assert last == {"a": {"title": "x"}, "b": {"title": "y"}}


def test_without_a_preview_nothing_is_yielded() -> None:
    """It is asked for, or it is not there."""
    with Turn(CLEAN, tools=TOOLS) as turn:
        assert shown(list(turn)) == []


def test_input_given_at_the_start_is_shown_when_it_is_final() -> None:
    """Fragments may still replace it, so it waits for the call's end."""
    stream = [message_start(), *call(0, arguments="", input={"title": "x"}), *stopped()]
    with Turn(stream, tools=TOOLS, preview=Preview) as turn:
        assert shown(list(turn)) == [{"title": "x"}]


def test_sensitive_fields_are_masked() -> None:
    """The tool's schema says which; their text never reaches the screen."""
    stream = [
        message_start(),
        *call(0, arguments='{"user": "ann", "password": "S3NT1N3L"}', name="login"),
        *stopped(),
    ]
    with Turn(stream, tools={"login": SECRET}, preview=Preview) as turn:
        values = shown(list(turn))
    assert values[-1] == {"user": "ann", "password": MASK}
    assert "S3NT" not in repr(values)


def test_until_the_tool_is_known_nothing_is_shown() -> None:
    """A late name would unmask what came before it."""
    events = call(0, arguments='{"password": "S3NT1N3L"}', name="login")
    late = [message_start(), events[2], events[0], events[3], events[4], *stopped()]
    settler = Settler(tools={"login": SECRET}, preview=Preview)
    found = [event for native in late for event in settler.feed(native)]
    assert shown(found) == [{"password": MASK}]
    assert settler.verdict == "dispatch"


def test_a_tool_that_was_not_offered_hides_what_any_would() -> None:
    """The model may have meant any of them, and so may the beginning of a name."""
    for name in ("log", "log_in"):
        stream = [
            message_start(),
            *call(0, arguments='{"user": "ann", "password": "S3NT1N3L"}', name=name),
            *stopped(),
        ]
        with Turn(stream, tools={"login": SECRET}, preview=Preview) as turn:
            values = shown(list(turn))
        assert values[-1] == {"user": "ann", "password": MASK}


def test_a_restated_text_is_shown_anew() -> None:
    """What the provider takes back leaves the screen."""
    made = Call(CallIdentity("k", "k", "create_ticket"))
    previews = Previews(Preview, None)
    previews.beside([CallAnnounced(made), ArgumentsDelta(made, '{"title": "w')])
    _, changed = previews.beside([ArgumentsRestated(made, '{"title": "x"}')])
    assert shown([changed]) == [{"title": "x"}]
    other = Call(CallIdentity("o", "o", "create_ticket"))
    _, first = previews.beside([ArgumentsRestated(other, '{"title": "y"}')])
    assert shown([first]) == [{"title": "y"}]


def test_free_text_has_no_preview() -> None:
    """It is no JSON: a screen shows the pieces as they are."""
    made = Call(CallIdentity("k", "k", "run_sql", CallKind.CUSTOM))
    delta = ArgumentsDelta(made, "select 1")
    assert Previews(Preview, None).beside([delta]) == [delta]
