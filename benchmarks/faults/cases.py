"""The cases: what the server answers, and which runs of a tool that answer proves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from finalcall.testing import (
    CloseAbruptly,
    Fault,
    Reply,
    Script,
    Stall,
    Step,
    cut_after,
    pings,
)

Kind: TypeAlias = Literal["good", "dead", "invalid"]
"""A turn that is whole; one that was cut, refused or died; or one that is whole, with arguments
that are not one strict JSON document or do not fit the tool."""

Run: TypeAlias = tuple[str, Mapping[str, Any]]
"""A tool, and the arguments that it was given."""

LIMIT: Final = 2.0
"""Seconds, where a case sets the time limit that the package offers for a request."""

VALID: Final[Mapping[str, Any]] = {
    "path": "notes.txt",
    "mode": "create",
    "keep_days": 7,
    "content": "Start again from customer 1,205; the first 1,204 must not be billed twice.",
}
TEXT: Final = json.dumps(VALID)
CUT: Final = TEXT[: TEXT.index("must not") + len("must not")]
TWICE: Final = TEXT.replace('{"path"', '{"path": "bills.txt", "path"')
NOT_A_NUMBER: Final = TEXT.replace('"keep_days": 7', '"keep_days": NaN')
INVALID: Final = TEXT.replace('"create"', '"replace"')

DONE: Final = Reply().text("Done.")


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that goes wrong.

    Attributes:
        name: For the command line.
        title: For a reader.
        kind: Whether the turn is whole.
        replies: What the model says: an item a request, the last one for all that follow.
        faults: Put into the first reply.
        proved: The runs of tools that the replies prove, in order: any other is wrong.
        cut: The arguments of the call are cut.
        limit: The request's time limit; `None` leaves the package's own.
        never: A provider whose protocol cannot say it.
        replies_end: Whether the replies come to an end that lets an agent finish.
    """

    name: str
    title: str
    kind: Kind
    replies: tuple[Reply, ...]
    faults: tuple[Fault, ...] = ()
    proved: tuple[Run, ...] = ()
    cut: bool = False
    limit: float | None = None
    never: str | None = None
    replies_end: bool = True

    @property
    def announced(self) -> tuple[str, ...]:
        """The ids of the calls of the first reply."""
        return tuple(call.call_id for call in self.replies[0].calls)

    @property
    def is_silent(self) -> bool:
        """Whether the first reply never ends."""
        return _SILENCE in self.faults

    def script(self, provider: str, number: int) -> Script:
        """What the server answers a request with.

        Args:
            provider: In whose protocol.
            number: Of the request, from 0.
        """
        reply = self.replies[min(number, len(self.replies) - 1)]
        script = reply.to_recording(provider).to_script()
        return script.with_faults(*self.faults) if number == 0 else script


def _then(step: Step) -> Fault:
    return cut_after(1_000, step)  # more events than any reply here has


_SILENCE: Final = _then(Stall())
_LOST: Final = _then(CloseAbruptly())
_PINGS: Final = pings(0.5)


def _write(text: str, *, call_id: str = "call_1", whole: bool = True) -> Reply:
    return Reply().call("write_file", text, call_id=call_id, closed=whole)


_WHOLE: Final = _write(TEXT)
_BROKEN_OFF: Final = _write(CUT, whole=False).stop(None)
_RIGHT: Final[tuple[Run, ...]] = (("write_file", VALID),)

CASES: Final = (
    Case("clean", "a whole call", "good", (_WHOLE, DONE), proved=_RIGHT),
    Case(
        "ceiling-cut",
        "token ceiling, arguments cut",
        "dead",
        (_write(CUT).stop("truncated"), DONE),
        cut=True,
    ),
    Case(
        "ceiling-whole",
        "token ceiling, arguments happen to be JSON",
        "dead",
        (_WHOLE.stop("truncated"), DONE),
    ),
    Case(
        "filtered",
        "refusal or content filter, arguments happen to be JSON",
        "dead",
        (_WHOLE.stop("filtered"), DONE),
    ),
    Case("eof-cut", "body ends within the arguments", "dead", (_BROKEN_OFF, DONE), cut=True),
    Case(
        "eof-whole",
        "body ends without a stop reason, arguments happen to be JSON",
        "dead",
        (_write(TEXT, whole=False).stop(None), DONE),
    ),
    Case(
        "eof-announced",
        "body ends right after a call without arguments is announced",
        "dead",
        (Reply().call("list_files", "", call_id="call_1", closed=False).stop(None), DONE),
    ),
    Case(
        "lost",
        "connection lost within the arguments",
        "dead",
        (_BROKEN_OFF, DONE),
        (_LOST,),
        cut=True,
    ),
    Case("silence", "silence", "dead", (_BROKEN_OFF, DONE), (_SILENCE,), cut=True),
    Case("pings", "keep-alives only", "dead", (_BROKEN_OFF, DONE), (_SILENCE, _PINGS), cut=True),
    Case(
        "silence-limit",
        f"silence, with the package's time limit at {LIMIT:g} s",
        "dead",
        (_BROKEN_OFF, DONE),
        (_SILENCE,),
        cut=True,
        limit=LIMIT,
    ),
    Case(
        "pings-limit",
        f"keep-alives only, with the package's time limit at {LIMIT:g} s",
        "dead",
        (_BROKEN_OFF, DONE),
        (_SILENCE, _PINGS),
        cut=True,
        limit=LIMIT,
    ),
    Case("duplicate", "a key twice", "invalid", (_write(TWICE), DONE)),
    Case("nan", "NaN for a number", "invalid", (_write(NOT_A_NUMBER), DONE)),
    Case(
        "violation",
        "schema missed, then met",
        "invalid",
        (_write(INVALID), _write(TEXT, call_id="call_2"), DONE),
        proved=_RIGHT,
    ),
    Case(
        "violation-ever",
        "schema missed for ever",
        "invalid",
        (_write(INVALID),),
        replies_end=False,
    ),
    Case(
        "no-call",
        "stop reason says a call, and there is none",
        "good",
        (Reply().text("I will write it down.").stop("calls"), DONE),
        never="openai-responses",
    ),
)
