"""How much one message may hold: every buffer of the library is bounded by one of these."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, final

from finalcall.narrow import described

MAX_DEPTH: Final = 200
"""Nesting of arguments. It is the strict parser's own fixed limit."""

MAX_DIGITS: Final = 4_300
"""Digits of a whole number in arguments. The strict parser's own as well, and Python's."""

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
"""Largest event that is buffered.

The largest events of real services repeat a whole response with its images, some megabytes; a
peer that never ends an event must not be able to fill the memory.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one message.

    A call over `arguments` keeps its siblings unharmed and settles as `Failed("unparseable")` if
    nothing worse ended it; passing `calls`, `message`, `other` or `event` ends the turn, all
    calls abandoned. Either way the cause is `LIMIT`.

    Attributes:
        arguments: Characters of argument text a call. The largest arguments in recordings of
            real services are under 200,000; a model in a loop sends megabytes.
        calls: Announced calls a message, and choices of it that are not settled. No recording has
            more than a few dozen.
        message: Characters of text, reasoning and arguments a message.
        other: Characters that all other events of a message hold: what begins and ends it,
            signatures, citations, images, what the provider's own tools are given and give back.
            Some of that is kept for the history; all of it counts. Services repeat a request's
            instructions and tools in a response, so be generous.
        event: Bytes of one event on the wire, where the turn is given bytes.

    Raises:
        TypeError: A bound is no whole number.
        ValueError: A bound is not above 0.
    """

    arguments: int = 16 * 1024 * 1024
    calls: int = 4_096
    message: int = 64 * 1024 * 1024
    other: int = 64 * 1024 * 1024
    event: int = MAX_EVENT_BYTES

    def __post_init__(self) -> None:
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(
                    f"Limits.{field.name} is {described(value)}; expected a whole number above 0"
                )
            if value <= 0:
                raise ValueError(
                    f"Limits.{field.name} is {value!r}; expected a whole number above 0"
                )


DEFAULT_LIMITS: Final = Limits()
