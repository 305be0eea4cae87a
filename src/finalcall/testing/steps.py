"""What a scripted server does with one response, step by step, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

SSE_CONTENT_TYPE = "text/event-stream"


@final
@dataclass(frozen=True, slots=True)
class Send:
    """Send bytes of the body, as one chunk.

    Args:
        data: The bytes. In the script of a recording they are one event.
    """

    data: bytes


@final
@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while.

    Args:
        seconds: How long.
    """

    seconds: float


@final
@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing more and leave the body open, until the client goes or the server stops."""


@final
@dataclass(frozen=True, slots=True)
class Pings:
    """Send keep-alives and nothing else, until the client goes or the server stops.

    Args:
        every: Seconds between two of them; the first is sent at once.
        data: One keep-alive.
    """

    every: float
    data: bytes = b": ping\n\n"


@final
@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (TCP RST)."""


@final
@dataclass(frozen=True, slots=True)
class Close:
    """End the body properly, then close the connection. Every script ends so by itself."""


@final
@dataclass(frozen=True, slots=True)
class CloseAbruptly:
    """Close the connection without ending the body."""


@final
@dataclass(frozen=True, slots=True)
class KeepOpen:
    """End the body properly, and keep the connection for the client's next request.

    A server that leaves the *body* open after the last event is `Stall`.
    """


Step: TypeAlias = Send | Pause | Stall | Pings | Reset | Close | CloseAbruptly | KeepOpen
"""One thing that the server does while it answers."""

LAST_STEPS = (Stall, Pings, Reset, Close, CloseAbruptly, KeepOpen)
"""Steps after which nothing else of the script happens."""


@final
@dataclass(frozen=True, slots=True)
class Script:
    """One response of a scripted server.

    Args:
        steps: What the server does after the head of the response.
        content_type: The response's content type.
    """

    steps: tuple[Step, ...]
    content_type: str = SSE_CONTENT_TYPE

    def with_faults(self, *faults: Fault) -> Script:
        """This script with faults put into it.

        Args:
            faults: Applied in order, each to the result of the one before.

        Returns:
            A new script.
        """
        script = self
        for fault in faults:
            script = fault(script)
        return script

    def body(self) -> bytes:
        """All bytes that the steps up to the last one send."""
        return b"".join(step.data for step in self.steps if isinstance(step, Send))


Fault: TypeAlias = Callable[[Script], Script]
"""Something that goes wrong, as a function from a script to another."""
