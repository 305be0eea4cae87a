"""Faults of the way between: what is sent is the provider's own, but not all of it comes, or odd.

None of these reads an event, but to find the middle of a call where a fault is to strike there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from finalcall.testing.faults.events import first_call_at, whole_at
from finalcall.testing.recordings import CONTENT_TYPES
from finalcall.testing.steps import (
    LAST_STEPS,
    Close,
    CloseAbruptly,
    Edit,
    Fault,
    NotApplicable,
    Pause,
    Pings,
    Reset,
    Script,
    Send,
    Stall,
    Step,
)
from finalcall.wire.decoder import Decoder

KEEP_ALIVES: Final[Mapping[str, bytes]] = {
    CONTENT_TYPES["sse"]: b": ping\n\n",
    CONTENT_TYPES["ndjson"]: b"\n",
    CONTENT_TYPES["json-array"]: b"\n",
}
"""Bytes that mean nothing, by content type."""

_ENDING_TYPES: Final = frozenset(
    {
        "message_stop",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "message-end",
        "interaction.completed",
    }
)
_ENDING_FIELDS: Final = (
    ("delta", "stop_reason"),
    ("choices", "finish_reason"),
    ("candidates", "finishReason"),
    ("outputs", "finish_reason"),
    ("messageStop", "stopReason"),
    ("done",),
)
"""Where the dialects say why or that the message ended; a list on the way stands for its items."""

_CLEAN_END: Final = Close()
_LOST: Final = CloseAbruptly()


def cut_after(events: int | None = None, then: Step = _CLEAN_END) -> Fault:
    """Send only the first events.

    Args:
        events: How many; `None` cuts when the first call has some of its arguments.
        then: What follows; by default the body ends cleanly, as a proxy ends it.
    """

    def edit(script: Script) -> Script:
        kept: list[Step] = []
        left = _amid_first_call(script) if events is None else events
        for step in script.steps:
            if isinstance(step, LAST_STEPS) or (isinstance(step, Send) and left == 0):
                break
            left -= isinstance(step, Send)
            kept.append(step)
        return script.with_steps(*kept, then)

    return Fault("the body ends, cleanly, in the middle", "message", edit)


def cut_at_byte(size: int | None = None, then: Step = _LOST) -> Fault:
    """Send only the first bytes of the body, wherever in an event or a character that is.

    Args:
        size: How many; `None` cuts in the middle of the event that has the first arguments.
        then: What follows; by default the connection is lost.
    """

    def edit(script: Script) -> Script:
        kept: list[Step] = []
        left = _amid_event(script) if size is None else size
        for step in script.steps:
            if isinstance(step, LAST_STEPS) or left == 0:
                break
            if isinstance(step, Send):
                part = step.data[:left]
                left -= len(part)
                kept.append(Send(part))
            else:
                kept.append(step)
        return script.with_steps(*kept, then)

    return Fault("the connection is lost in the middle of an event", "message", edit)


def lose_connection(events: int | None = None) -> Fault:
    """Send the first events, then close the connection without the body's end.

    Args:
        events: How many; `None` cuts when the first call has some of its arguments.
    """
    edit = cut_after(events, CloseAbruptly()).edit
    return Fault("the connection is lost between two events", "message", edit)


def reset_after(events: int | None = None) -> Fault:
    """Send the first events, then reset the connection.

    Args:
        events: How many; `None` cuts when the first call has some of its arguments.
    """
    return Fault("the connection is reset", "message", cut_after(events, Reset()).edit)


def stall_after(events: int | None = None) -> Fault:
    """Send the first events, then nothing, with the body left open.

    Args:
        events: How many; `None` stalls when the first call has some of its arguments.
    """
    return Fault("the stream falls silent", "message", cut_after(events, Stall()).edit)


def ping_after(events: int | None = None, *, every: float = 0.05) -> Fault:
    """Send the first events, then keep-alives and nothing else.

    Args:
        events: How many; `None` stalls when the first call has some of its arguments.
        every: Seconds between the keep-alives.
    """

    def edit(script: Script) -> Script:
        keep_alive = _keep_alive(script)
        return cut_after(events, Pings(every, keep_alive))(script)

    return Fault("nothing comes but keep-alives", "message", edit)


def pings(every: float = 0.05) -> Fault:
    """Send a keep-alive before each whole event, and keep-alives only where the script stalls.

    Args:
        every: Seconds between the keep-alives of a stall.
    """

    def edit(script: Script) -> Script:
        keep_alive = _keep_alive(script)
        whole = whole_at(script)
        sent = 0
        steps: list[Step] = []
        for step in script.steps:
            if isinstance(step, Send):
                if sent in whole:
                    steps.append(Send(keep_alive))
                sent += len(step.data)
            steps.append(Pings(every, keep_alive) if isinstance(step, Stall) else step)
        return script.with_steps(*steps)

    return Fault("keep-alives come between the events", "none", edit)


def end_without_terminal() -> Fault:
    """End the body cleanly before the first event that says how the message ended."""

    def edit(script: Script) -> Script:
        return cut_after(events_before_the_end(script))(script)

    return Fault("the body ends without a stop reason", "message", edit)


def stay_open() -> Fault:
    """Send everything, and leave the body open after it."""

    def edit(script: Script) -> Script:
        return cut_after(len(script.steps), Stall())(script)

    return Fault("the body stays open after the end of the message", "none", edit)


def trickle(size: int = 16, seconds: float = 0.001) -> Fault:
    """Send the body in small chunks with waits between them, as a slow line does.

    Args:
        size: Bytes a chunk.
        seconds: The wait after each.

    Raises:
        ValueError: The size is less than 1.
    """
    if size < 1:
        raise ValueError(f"a chunk of {size} bytes is none; expected 1 or more")

    def cut(data: bytes) -> Iterator[Step]:
        for start in range(0, len(data), size):
            yield Send(data[start : start + size])
            yield Pause(seconds)

    return Fault("the bytes come in small chunks, slowly", "none", _recut(cut))


def split_characters() -> Fault:
    """Cut the chunks of the body inside of every character that has more than one byte."""

    def cut(data: bytes) -> Iterator[Step]:
        start = 0
        for position, byte in enumerate(data):
            if byte >= 0xC0:  # the first byte of several
                yield Send(data[start : position + 1])
                start = position + 1
        yield Send(data[start:])

    def edit(script: Script) -> Script:
        if script.body().isascii():
            raise NotApplicable("every character of the body is one byte; there is none to cut")
        return _recut(cut)(script)

    return Fault("chunks are cut inside of characters", "none", edit)


def garbage_byte(position: int | None = None, byte: int = 0) -> Fault:
    """Replace a byte of the body.

    Args:
        position: Which; `None` takes one in the middle of the event that has the first arguments.
        byte: By what; by default one that no JSON holds. Some clients replace what is no UTF-8.
    """

    def edit(script: Script) -> Script:
        left = _amid_event(script) if position is None else position
        steps: list[Step] = []
        for step in script.steps:
            if isinstance(step, Send):
                if 0 <= left < len(step.data):
                    changed = step.data[:left] + bytes((byte,)) + step.data[left + 1 :]
                    steps.append(Send(changed))
                else:
                    steps.append(step)
                left -= len(step.data)
            else:
                steps.append(step)
        return script.with_steps(*steps)

    return Fault("a byte of an event is garbage", "message", edit)


def events_before_the_end(script: Script) -> int:
    """How many sends come before the first that says how the message ended.

    Args:
        script: The script.
    """
    decoder = Decoder()
    sends = [step for step in script.steps if isinstance(step, Send)]
    for number, send in enumerate(sends):
        if any(_says_how_it_ended(native) for native in decoder.feed(send.data)):
            return number
    return len(sends)


def _keep_alive(script: Script) -> bytes:
    if script.content_type not in KEEP_ALIVES:
        raise NotApplicable(
            f"a body of type {script.content_type!r} has no keep-alives; "
            f"types that have are {', '.join(sorted(KEEP_ALIVES))}"
        )
    return KEEP_ALIVES[script.content_type]


def _recut(cut: Callable[[bytes], Iterator[Step]]) -> Edit:
    """An edit that cuts each send into several steps."""

    def edit(script: Script) -> Script:
        steps: list[Step] = []
        for step in script.steps:
            steps += cut(step.data) if isinstance(step, Send) else [step]
        return script.with_steps(*steps)

    return edit


def _amid_first_call(script: Script) -> int:
    """The sends after which a stream is in the middle: its first call has begun, it has no end."""
    return min(first_call_at(script), events_before_the_end(script))


def _amid_event(script: Script) -> int:
    """The byte in the middle of the event that has the first arguments."""
    sends = [step.data for step in script.steps if isinstance(step, Send)]
    *before, event = sends[: first_call_at(script)]
    return len(b"".join(before)) + len(event) // 2


def _says_how_it_ended(native: Any) -> bool:
    if not isinstance(native, Mapping):
        return bool(native == "[DONE]")
    event = cast("Mapping[str, Any]", native)
    kind = event.get("type") or event.get("event_type")
    return kind in _ENDING_TYPES or any(_is_set(event, path) for path in _ENDING_FIELDS)


def _is_set(event: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    nodes: list[Any] = [event]
    for name in path:
        found = [cast("Mapping[str, Any]", n).get(name) for n in nodes if isinstance(n, Mapping)]
        nodes = []
        for value in found:
            nodes += cast("Sequence[Any]", value) if isinstance(value, list) else [value]
    return any(nodes)
