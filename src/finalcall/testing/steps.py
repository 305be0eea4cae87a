"""What a scripted server does with one response, step by step, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, final

from finalcall.narrow import expect

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


Edit: TypeAlias = Callable[["Script"], "Script"]
"""What makes one script of another."""

Harm: TypeAlias = Literal["none", "call", "message"]
"""What a fault spoils: nothing, so every call may run; one call, which must not run while the
others may; or the message, of which no call may run."""


@final
class NotApplicable(ValueError):  # noqa: N818 - the name says what happened
    """A fault means nothing for a script: its dialect has no place for it, or it has no calls."""


@final
@dataclass(frozen=True, slots=True)
class Script:
    """One response of a scripted server.

    Args:
        steps: What the server does after the head of the response.
        content_type: The response's content type.
        dialect: Whose events the bytes are, such as `anthropic`; `None` where they tell themselves.
    """

    steps: tuple[Step, ...]
    content_type: str = SSE_CONTENT_TYPE
    dialect: str | None = None

    def with_faults(self, *faults: Edit) -> Script:
        """This script with faults put into it.

        Args:
            faults: Each a `Fault`, or any function from a script to another. Applied in order, each
                to the result of the one before.

        Returns:
            A new script.

        Raises:
            NotApplicable: A fault means nothing for this script.
            TypeError: Something is no fault, or makes something else than a script of it.
        """
        from finalcall.testing.faults.checking import checked_faults  # faults are made of steps

        script = self
        for fault in checked_faults(faults):
            script = fault(script)
            expect(script, Script, "what a fault made of a script", "another Script")
        return script

    def with_steps(self, *steps: Step) -> Script:
        """A response like this one that does something else.

        Args:
            steps: What the server does instead.
        """
        return replace(self, steps=steps)

    def body(self) -> bytes:
        """All bytes that the steps up to the last one send."""
        return b"".join(step.data for step in self.steps if isinstance(step, Send))


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong with a stream, and what must hold of it then.

    Call it with a script to get the faulty one.

    Attributes:
        summary: What goes wrong, in a few words.
        harm: What it spoils, where it strikes before the message's stop reason.
        edit: What it makes of a script. Raises `NotApplicable` where it means nothing.
    """

    summary: str
    harm: Harm
    edit: Edit

    def __call__(self, script: Script) -> Script:
        """The script with the fault in it.

        Args:
            script: Any script.

        Raises:
            NotApplicable: The fault means nothing for it.
        """
        return self.edit(script)

    @property
    def lets_run(self) -> bool:
        """Whether any call of the message may run."""
        return self.harm != "message"
