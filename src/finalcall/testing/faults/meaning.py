"""Faults of the service: the message does not end well, or says that the provider failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from finalcall.narrow import is_object
from finalcall.providers import PROVIDERS
from finalcall.stop_reasons import Verdict
from finalcall.testing.faults.dialects import WireCall, holders, objects, type_of
from finalcall.testing.faults.events import WireEvents, read_events
from finalcall.testing.recordings import RecordedEvent
from finalcall.testing.rendering import render
from finalcall.testing.rendering.words import WORDS
from finalcall.testing.reply_parts import NOT_REPORTED
from finalcall.testing.steps import Close, Fault, NotApplicable, Script


def ceiling(*, call_end: bool = True) -> Fault:
    """Cut the last call at a token ceiling, and say so.

    Half of its argument text comes. Where arguments are objects the call stays whole, as it does
    when the ceiling falls right behind it.

    Args:
        call_end: Whether the call that was cut is ended all the same; services do both.
    """

    def edit(script: Script) -> Script:
        wire = read_events(script)
        last = wire.calls[-1]
        if not call_end and not wire.dialect.ends:
            raise NotApplicable(
                f"calls have no end of their own in {wire.dialect.name}; there is none to leave out"
            )
        dropped = _shorten(last) if wire.dialect.by_piece else _halve(last)
        _stop(wire, WORDS[wire.dialect.name].truncated)
        for number in last.ends if call_end else ():
            _set(wire.items[number], ("item", "status"), "incomplete")
        gone = {*dropped, *(() if call_end else last.ends)}
        wire.items = [one for number, one in enumerate(wire.items) if number not in gone]
        return wire.to_script()

    how = "and ends it all the same" if call_end else "which is never ended"
    return Fault(f"a token ceiling cuts the last call, {how}", "message", edit)


def content_filter() -> Fault:
    """Let a safety system end the message, with its calls whole."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        _stop(wire, _filtering(wire, "filtered"))
        return wire.to_script()

    return Fault("a content filter ends the message", "message", edit)


def refusal() -> Fault:
    """Let the model refuse, after whole calls."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        word = _filtering(wire, "refused")
        if wire.dialect.says_refusals:
            _refuse(wire)
        else:
            _stop(wire, word)
        return wire.to_script()

    return Fault("the model refuses", "message", edit)


def in_band_error(events: int | None = None) -> Fault:
    """Send the first events, then the provider's error as an event, and end the body.

    Args:
        events: How many; `None` fails when the first call has some of its arguments.
    """

    def edit(script: Script) -> Script:
        wire = read_events(script)
        error = wire.dialect.error
        if error is None:
            raise NotApplicable(f"errors are no events of the stream in {wire.dialect.name}")
        known = wire.events
        position = wire.calls[0].amid + 1 if events is None else [*known, len(wire.items)][events]
        wire.items = [*wire.items[:position], error, Close()]
        return wire.to_script()

    return Fault("the provider reports an error in the stream", "message", edit)


def _filtering(wire: WireEvents, stop: str) -> str:
    """The dialect's word, where it has one that means what it should."""
    name = wire.dialect.name
    word: str = WORDS[name]._asdict()[stop]
    said = stop == "refused" and wire.dialect.says_refusals
    if not said and PROVIDERS[name].normaliser.stop_reasons[word] is not Verdict.FILTERED:
        raise NotApplicable(f"{name} has no word for a message that is {stop}")
    return word


def _stop(wire: WireEvents, word: str) -> None:
    """Let the message stop for another reason."""
    restop = _RESTOPS.get(wire.dialect.name, _put_stop)
    changed = [restop(wire, event, word) for event in wire.events.values()]
    if not any(changed):
        raise NotApplicable("the stream does not say why it stopped; expected a stop reason")


def _put_stop(wire: WireEvents, event: RecordedEvent, word: str) -> bool:
    *_, name = place = wire.dialect.stop
    found = [one for one in holders(event.data, place) if one[name]]
    for one in found:
        one[name] = word
    return bool(found)


def _stop_response(wire: WireEvents, event: RecordedEvent, word: str) -> bool:
    """The response's last event says in its type, too, that it is incomplete."""
    if type_of(event) not in ("response.completed", "response.incomplete"):
        return False
    event.data["type"] = "response.incomplete"
    event.data["response"] |= {
        "status": "incomplete",
        "incomplete_details": {"reason": word},
        "output": [],
    }
    number = next(n for n, one in wire.events.items() if one is event)
    wire.items[number] = RecordedEvent("response.incomplete", event.data)
    return True


def _stop_interaction(wire: WireEvents, event: RecordedEvent, word: str) -> bool:
    """Other events of an interaction have a status, too."""
    return type_of(event) == "interaction.completed" and _put_stop(wire, event, word)


_RESTOPS: Final[Mapping[str, Callable[[WireEvents, RecordedEvent, str], bool]]] = {
    "openai-responses": _stop_response,
    "gemini-interactions": _stop_interaction,
}
"""The dialects whose stop reason is more than one word at one place."""


def _refuse(wire: WireEvents) -> None:
    """Say a refusal before the message stops well."""
    said = render(wire.dialect.name, (), "refused", NOT_REPORTED).events
    refusals = [one for one in said if _is_refusal(one)]
    stops = [number for number, one in wire.events.items() if _is_stop(wire, one)]
    if not stops:
        raise NotApplicable("the stream does not say why it stopped; expected a stop reason")
    for event in refusals:
        for one in holders(event.data, ("output_index",)):
            one["output_index"] = len(wire.items)  # more than there are items: it is free
        for one in holders(event.data, ("choices",)):
            one["choices"] = [
                choice | {"index": n} for choice in one["choices"] for n in _choices(wire)
            ]
    wire.items[stops[0] : stops[0]] = refusals


def _choices(wire: WireEvents) -> list[int]:
    """The numbers of the choices of a chat."""
    choices = [one for e in wire.events.values() for one in objects(e.data, ("choices",))]
    return sorted({choice.get("index") or 0 for choice in choices})


def _is_refusal(event: RecordedEvent) -> bool:
    if not is_object(event.data):
        return False
    said = any(True for _ in holders(event.data, ("choices", "delta", "refusal")))
    return said or "output_index" in event.data


def _is_stop(wire: WireEvents, event: RecordedEvent) -> bool:
    if wire.dialect.name == "openai-responses":
        return type_of(event) == "response.completed"
    *_, name = place = wire.dialect.stop
    return any(one[name] for one in holders(event.data, place))


def _shorten(call: WireCall) -> list[int]:
    """Leave half of the pieces of the text; gives the numbers of the events with the others."""
    kept = call.text[: len(call.text) // 2]
    write_text(call, kept)
    return [number for number, holder, name in call.pieces[1:] if not holder[name]]


def _halve(call: WireCall) -> list[int]:
    write_text(call, call.text[: len(call.text) // 2])
    return []


def write_text(call: WireCall, text: str) -> None:
    """Let a call have another argument text, in pieces as long as its pieces are.

    Args:
        call: The call.
        text: The text; the last piece that holds anything takes what the others do not.
    """
    for holder, name in call.wholes:
        holder[name] = text
    filled = [(holder, name) for _, holder, name in call.pieces if holder[name]]
    for number, (holder, name) in enumerate(filled, start=1):
        size = len(text) if number == len(filled) else len(holder[name])
        holder[name], text = text[:size], text[size:]


def _set(item: Any, place: tuple[str, ...], value: Any) -> None:
    if isinstance(item, RecordedEvent):
        for one in objects(item.data, place[:-1]):
            one[place[-1]] = value
