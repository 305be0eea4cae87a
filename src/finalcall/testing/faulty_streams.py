"""A reply with faults in it, as the stream that a program would read, and what it must settle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, final

from finalcall.narrow import expect
from finalcall.settler import Settler
from finalcall.testing.faults.checking import checked_faults
from finalcall.testing.replies import Reply
from finalcall.testing.steps import (
    Close,
    CloseAbruptly,
    Fault,
    KeepOpen,
    NotApplicable,
    Pause,
    Pings,
    Reset,
    Script,
    Send,
    Stall,
)
from finalcall.wire.decoder import Decoder
from finalcall.wire.undecodable import Undecodable


@final
class Announced(NamedTuple):
    """A call that a stream announces, so that exactly one outcome must say what became of it.

    Attributes:
        call_id: Its id, where the provider gives one.
        name: The tool's name, where it came.
    """

    call_id: str | None
    name: str | None


@final
@dataclass(frozen=True, slots=True)
class FaultyStream:
    """What a program reads of one reply when things go wrong. It can be read again and again.

    Attributes:
        provider: Whose stream it is.
        reply: What the model meant.
        faults: The summaries of what went wrong; none means that nothing did.
        script: The response, for a `FaultServer`.
        announced: The calls that the stream announces before it ends, in order.
        may_run: Whether any of them may be run: the reply stops as complete, and no fault spoils
            the message.
    """

    provider: str
    reply: Reply
    faults: tuple[str, ...]
    script: Script
    announced: tuple[Announced, ...]
    may_run: bool

    @classmethod
    def of(cls, provider: str, reply: Reply, faults: Sequence[Fault] = ()) -> FaultyStream:
        """Put faults into a reply.

        Args:
            provider: Whose stream it becomes.
            reply: The reply.
            faults: Applied in order; one that means nothing for the reply is left out.

        Raises:
            TypeError: Something in `faults` is no `Fault`.
            ValueError: There is no such provider.
        """
        script = reply.to_recording(provider).to_script()
        applied: list[Fault] = []
        for fault in cast("tuple[Fault, ...]", checked_faults(faults)):
            expect(fault, Fault, "a fault of a stream", "a Fault, which says what it spoils")
            try:
                script = fault(script)
            except NotApplicable:
                continue
            applied.append(fault)
        may_run = reply.stop_reason == "complete" and all(fault.lets_run for fault in applied)
        summaries = tuple(fault.summary for fault in applied)
        return cls(provider, reply, summaries, script, _announced(provider, script), may_run)

    def chunks(self) -> Iterator[bytes]:
        """The body of the response as a client reads it.

        Raises:
            ConnectionResetError: The connection is lost.
            TimeoutError: The stream goes silent for ever, and the client has enough of it.
        """
        return _play(self.script)

    def natives(self) -> Iterator[Any]:
        """The events as a client hands them out: dicts, and strings such as `[DONE]`.

        Raises:
            ConnectionResetError: The connection is lost.
            TimeoutError: The stream goes silent for ever.
            ValueError: A frame cannot be read; the message has nothing of it.
        """
        decoder = Decoder()
        for chunk in self.chunks():
            yield from _readable(decoder.feed(chunk))
        yield from _readable(decoder.end())


def _play(script: Script) -> Iterator[bytes]:
    for step in script.steps:
        match step:
            case Send(data):
                yield data
            case Pause():
                pass
            case Stall() | Pings():
                raise TimeoutError("the scripted stream has gone silent")
            case Reset() | CloseAbruptly():
                raise ConnectionResetError("the scripted connection was lost")
            case Close() | KeepOpen():
                return


def _readable(natives: Sequence[Any]) -> Iterator[Any]:
    for native in natives:
        if isinstance(native, Undecodable):
            # As the clients' own errors of JSON are.
            raise ValueError(f"the scripted stream cannot be read: {native.what}")  # noqa: TRY004
        yield native


def _announced(provider: str, script: Script) -> tuple[Announced, ...]:
    """What comes to a caller's eyes before the stream ends, whatever becomes of it."""
    settler = Settler(provider, tools=None)
    try:
        for chunk in _play(script):
            settler.feed(chunk)
    except OSError:
        pass  # lost, or silent: what came before has been announced
    settler.end()
    return tuple(Announced(outcome.call_id, outcome.name) for outcome in settler.outcomes)
