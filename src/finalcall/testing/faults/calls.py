"""Faults of how calls are told: their indices and ids, their text, events twice, streams mixed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from finalcall.narrow import is_object
from finalcall.testing.faults.dialects import Dialect, Place, WireCall, holders, objects
from finalcall.testing.faults.events import WireEvents, read_events
from finalcall.testing.faults.meaning import write_text
from finalcall.testing.faults.transport import end_without_terminal
from finalcall.testing.steps import LAST_STEPS, Edit, Fault, NotApplicable, Script


def duplicate_key() -> Fault:
    """Let the arguments of the first call name their first key twice."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        call = wire.calls[0]
        if not call.pieces:
            raise NotApplicable(
                f"arguments are objects in {wire.dialect.name}; only a text can name a key twice"
            )
        write_text(call, _with_key_twice(call.text))
        return wire.to_script()

    return Fault("the first call's arguments name a key twice", "call", edit)


def missing_index() -> Fault:
    """Leave out every index of a call."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        indices = _indices(wire)
        if _names_its_pieces(wire):
            raise NotApplicable(
                "each piece of a call repeats its name; without an index too it announces a call"
            )
        for holder, name in indices:
            del holder[name]
        return wire.to_script()

    return Fault("no event says a call's index", "none", edit)


def same_index() -> Fault:
    """Give every call the index 0."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        for holder, name in _indices(wire):
            holder[name] = 0
        return wire.to_script()

    return Fault("every call has the index 0", "none", edit)


def missing_id() -> Fault:
    """Leave out the ids of all calls."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        ids = [holder for call in wire.calls for holder in _at(call.heads, wire.dialect.call_id)]
        if not ids:
            raise NotApplicable("the calls of the stream have no ids")
        for holder in ids:
            holder.pop(wire.dialect.call_id[-1], None)
        return wire.to_script()

    return Fault("no call has an id", "none", edit)


def repeated_id() -> Fault:
    """Say a call's id again with each piece of its arguments."""
    return Fault(
        "each piece of a call repeats its id", "none", _repeating(lambda dialect: dialect.call_id)
    )


def repeated_name() -> Fault:
    """Say a call's name again with each piece of its arguments."""

    def edit(script: Script) -> Script:
        repeated = _repeating(lambda dialect: dialect.tool)(script)
        _indices(read_events(script))  # without one, a piece with a name announces a call
        return repeated

    return Fault("each piece of a call repeats its name", "none", edit)


def deliver_twice(event: int | None = None) -> Fault:
    """Send an event twice.

    Its harm is that of a piece of arguments that comes twice. Another event spoils nothing: a call
    that is whole in one event, or told whole again at its end, is the same call twice.

    Args:
        event: Which, from 0, or from the end as -1; `None` takes the first piece of the first
            call's arguments, where it is not all of them.
    """

    def edit(script: Script) -> Script:
        wire = read_events(script)
        numbers = list(wire.events)
        if event is None:
            at = _first_piece(wire)
        elif -len(numbers) <= event < len(numbers):
            at = numbers[event]
        else:
            raise NotApplicable(
                f"there is no event {event} to send twice; the script has {len(numbers)}"
            )
        wire.items.insert(at, wire.items[at])
        return wire.to_script()

    return Fault("a piece of a call's arguments comes twice", "call", edit)


def end_twice() -> Fault:
    """Send the last event twice, where it holds no call."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        last = max(wire.events, default=None)
        if last is None:
            raise NotApplicable("the stream has no event; expected one to send twice")
        if any(number == last for call in wire.calls for number, _ in call.entries):
            raise NotApplicable("the last event holds a call, too; its end cannot come twice alone")
        return deliver_twice(-1)(script)

    return Fault("the last event comes twice", "none", edit)


def splice(other: Script | None = None) -> Fault:
    """Mix another message into the stream, when the first call has some of its arguments.

    Args:
        other: What comes in between, up to its stop reason, under another id; `None` takes the
            same message.
    """

    def edit(script: Script) -> Script:
        wire = read_events(script)
        position = wire.calls[0].amid + 1
        between = read_events(end_without_terminal()(script if other is None else other))
        _rename(between)
        alien = [one for one in between.items if not isinstance(one, LAST_STEPS)]
        wire.items[position:position] = alien
        return wire.to_script()

    return Fault("another message is mixed into the stream", "message", edit)


def _with_key_twice(text: str) -> str:
    try:
        value: Any = json.loads(text)
    except ValueError:
        value = None
    if not is_object(value):
        raise NotApplicable("the first call's arguments are no object; expected one for the fault")
    name, member = next(iter(value.items()), ("twice", None))
    again = f"{json.dumps(name)}: {json.dumps(member)}"
    inside = text.rstrip().removesuffix("}")
    return f"{inside}, {again}}}" if value else f"{inside}{again}, {again}}}"


def _first_piece(wire: WireEvents) -> int:
    """The number of the event with the first piece of the first call's arguments."""
    call = wire.calls[0]
    if not wire.dialect.by_piece or call.wholes:
        raise NotApplicable(
            f"a call is told whole in {wire.dialect.name}; a part of it that comes twice is none"
        )
    if sum(bool(holder[name].strip()) for _, holder, name in call.pieces) < 2:
        raise NotApplicable(
            "the first call's arguments come in one piece; expected several, of which one can "
            "come twice"
        )
    return next(number for number, holder, name in call.pieces if holder[name].strip())


def _names_its_pieces(wire: WireEvents) -> bool:
    """Whether what speaks of a call says its name again, where that announces calls."""
    return not wire.dialect.head and any(len(call.heads) > 1 for call in wire.calls)


def _indices(wire: WireEvents) -> list[tuple[dict[str, Any], str]]:
    if wire.dialect.index is None:
        raise NotApplicable(f"calls have no index in {wire.dialect.name}")
    place = wire.dialect.index
    found = [(one, place[-1]) for one in _entries(wire.calls) for one in holders(one, place)]
    if not found:
        raise NotApplicable("the calls of the stream have no index")
    return found


def _entries(calls: list[WireCall]) -> Iterator[dict[str, Any]]:
    return (entry for call in calls for _, entry in call.entries)


def _at(nodes: list[Any], place: Place) -> Iterator[dict[str, Any]]:
    return (one for node in nodes for one in holders(node, place))


def _repeating(place_of: Callable[[Dialect], Place]) -> Edit:
    """An edit that says what a call's head says again in each of its pieces."""

    def edit(script: Script) -> Script:
        wire = read_events(script)
        place = place_of(wire.dialect)
        if wire.dialect.head or not wire.dialect.by_piece:
            raise NotApplicable(
                f"pieces of arguments have no place for a call's id or name in {wire.dialect.name}"
            )
        for call in wire.calls:
            known = next((one[place[-1]] for one in _at(call.heads[:1], place)), None)
            for _, entry in call.entries:
                for one in objects(entry, place[:-1]):
                    one[place[-1]] = known
        return wire.to_script()

    return edit


def _rename(wire: WireEvents) -> None:
    """Make another message of it."""
    dialect: Dialect = wire.dialect
    renamed = 0
    if dialect.message_id is not None:
        *_, name = dialect.message_id
        for one in _at([event.data for event in wire.events.values()], dialect.message_id):
            one[name] = "another"
            renamed += 1
    if not renamed and dialect.message_start is None:
        raise NotApplicable(f"no event tells one message from another in {dialect.name}")
    for number, call in enumerate(wire.calls):
        for one in _at(call.heads, dialect.call_id):
            one[dialect.call_id[-1]] = f"another_{number}"
