"""The vocabulary: what its values show of themselves, and how they compare."""

from __future__ import annotations

import typing

import pytest

from finalcall.events import (
    ArgumentsDelta,
    Call,
    CallAnnounced,
    CallIdentity,
    Event,
    Other,
    StreamQuiet,
    TextDelta,
)

SECRET = "sentinel-of-the-model"
EVENTS: tuple[type[typing.Any], ...] = typing.get_args(Event)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_no_event_shows_what_the_model_wrote(event: type[typing.Any]) -> None:
    """The texts, the given input and the native event stay out of the `repr`."""
    hidden = {"text", "given", "native", "preview"}
    shown = repr(event(*(SECRET if name in hidden else name for name in event.__match_args__)))
    assert shown.startswith(event.__name__)
    assert SECRET not in shown


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_an_event_is_matched_by_position_and_ends_with_the_native_one(
    event: type[typing.Any],
) -> None:
    """What an event is about comes first; `native` is always the last field."""
    assert event.__match_args__ == event.__slots__
    assert event.__match_args__[-1] == "native"


def test_events_compare_by_kind_and_fields() -> None:
    """Two events are equal where their class and all their fields are."""
    call = Call(CallIdentity("key", None, None))
    assert TextDelta("a") == TextDelta("a")
    assert TextDelta("a") != TextDelta("b")
    assert TextDelta("a") != ArgumentsDelta(call, "a")
    assert Other({"type": "ping"}) != "ping"


def test_an_event_can_be_given_another_native_one() -> None:
    """A service that frames another's events passes on its own frame."""
    call = Call(CallIdentity("key", None, None))
    announced = CallAnnounced(call, "{}", native="inner")
    assert announced.carrying("outer") == CallAnnounced(call, "{}", "outer")
    assert StreamQuiet(1.5).carrying("outer").seconds == 1.5
