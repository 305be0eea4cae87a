"""What a soak's streams carry and what goes wrong in them, worked out of a number alone.

The server makes the stream of a number and the client judges what came of it, each in a process
of its own: so what was settled is compared with what was sent, not with what the library says.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks import materials
from finalcall.testing import (
    KeepOpen,
    Pause,
    Reset,
    Script,
    Send,
    Step,
    cut_after,
    cut_at_byte,
    pings,
    reset_after,
    stall_after,
)

GARBAGE: Final = b'event: content_block_delta\ndata: {"type": \x00\xff}\n\n'
ERROR: Final = (
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", '
    b'"message": "Overloaded", "code": "overloaded"}}\n\n'
)

FAULTS: Final[Mapping[str, int]] = {
    "none": 40,
    "cut": 8,
    "cut in an event": 8,
    "reset": 8,
    "stall": 6,
    "stall with pings": 6,
    "ceiling": 8,
    "garbage": 8,
    "in-band error": 8,
}
"""How often each happens, of the sum."""

LEAVES: Final[Mapping[str, int]] = {"stays": 92, "breaks": 4, "cancels": 4}
"""What the caller does, of a hundred."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One stream.

    Attributes:
        number: What everything else follows from.
        lives: The shortest and the longest time of a stream, in seconds.
        provider: Whose stream it is.
        reader: Whether the provider's own client reads it, or only the bytes of the response are
            taken.
        fault: What goes wrong.
        leaves: What the caller does in the middle of it.
        at: Where it goes wrong or the caller leaves, as a share of the events.
        seconds: How long the whole stream takes.
        arguments: The argument text of every call.
    """

    number: int
    lives: tuple[float, float]
    provider: str
    reader: str
    fault: str
    leaves: str
    at: float
    seconds: float
    arguments: tuple[str, ...]

    @property
    def model(self) -> str:
        """The model that the request asks for: it tells the server what to send."""
        return f"soak {self.number} {self.lives[0]} {self.lives[1]}"

    @property
    def whole(self) -> bool:
        """Every call is sent whole and proved by the stop reason."""
        return self.fault == "none"


def plan(number: int, *, seconds: tuple[float, float]) -> Plan:
    """The stream of a number.

    Args:
        number: Any.
        seconds: The shortest and the longest time that a stream takes.
    """
    chance = random.Random(number)
    count = chance.randint(1, 2)
    return Plan(
        number=number,
        lives=seconds,
        provider="openai-chat" if number % 10 == 0 else "anthropic",
        reader="client" if number % 10 < 4 else "bytes",
        fault=chance.choices(list(FAULTS), list(FAULTS.values()))[0],
        leaves=chance.choices(list(LEAVES), list(LEAVES.values()))[0],
        at=chance.uniform(0.1, 0.9),
        # Every tenth is a trickle, three times as long as the others.
        seconds=chance.uniform(*seconds) * (3 if number % 10 == 7 else 1),
        arguments=tuple(_numbered(number, call, chance) for call in range(count)),
    )


@functools.cache
def _order(size: int) -> dict[str, Any]:
    order: dict[str, Any] = json.loads(materials.arguments(size))
    return order


def plan_of(model: str) -> Plan:
    """The plan that a request asks for."""
    _, number, shortest, longest = model.split()
    return plan(int(number), seconds=(float(shortest), float(longest)))


def _numbered(number: int, call: int, chance: random.Random) -> str:
    """Arguments that no other call has."""
    order = _order(chance.choice((160, 240, 320)))
    return json.dumps(order | {"reference": f"ORD-{number * 10 + call}"})


def script(planned: Plan) -> Script:
    """What the server does for a plan."""
    events = materials.EVENTS[planned.provider](planned.arguments, 64)
    sent = [Send(materials.to_bytes([event])) for event in events]
    pause = planned.seconds / len(sent)
    steps: list[Step] = []
    for send in sent:
        steps += [send, Pause(pause)]
    whole = Script((*steps, KeepOpen()))
    # A fault stands before the stop reason, so what is announced then can never be proved.
    position = max(1, min(int(planned.at * len(sent)), len(sent) - 4))
    return _FAULTS[planned.fault](whole, position)


def _ceiling(whole: Script, _: int) -> Script:
    words = {b'"tool_use","stop_sequence"': b'"max_tokens","stop_sequence"'}
    words[b'"finish_reason":"tool_calls"'] = b'"finish_reason":"length"'
    steps: list[Step] = []
    for step in whole.steps:
        data = step.data if isinstance(step, Send) else b""
        for good, cut in words.items():
            data = data.replace(good, cut)
        steps.append(Send(data) if isinstance(step, Send) else step)
    return Script(tuple(steps))


def _inserted(data: bytes) -> Callable[[Script, int], Script]:
    def fault(whole: Script, position: int) -> Script:
        at = 2 * position
        return Script((*whole.steps[:at], Send(data), *whole.steps[at:]))

    return fault


def _cut_in_an_event(whole: Script, position: int) -> Script:
    sizes = [len(step.data) for step in whole.steps if isinstance(step, Send)]
    size = sum(sizes[:position]) + sizes[position] // 2
    return whole.with_faults(cut_at_byte(size, Reset()))


_FAULTS: Final[Mapping[str, Callable[[Script, int], Script]]] = {
    "none": lambda whole, _: whole,
    "cut": lambda whole, position: whole.with_faults(cut_after(position)),
    "cut in an event": _cut_in_an_event,
    "reset": lambda whole, position: whole.with_faults(reset_after(position)),
    "stall": lambda whole, position: whole.with_faults(stall_after(position)),
    "stall with pings": lambda whole, position: whole.with_faults(
        stall_after(position), pings(2.0)
    ),
    "ceiling": _ceiling,
    "garbage": _inserted(GARBAGE),
    "in-band error": _inserted(ERROR),
}
