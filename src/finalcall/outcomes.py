"""What a tool call settles as: three values, and nothing in between.

Nothing here decides anything: `finalize` alone makes a `Dispatchable`, and no value in this
module shows argument text in its `repr`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, final

Reason: TypeAlias = Literal["abandoned", "unparseable", "truncated"]


@final
class Cause(enum.StrEnum):
    """Why a call failed: what a person is told and what asking again would have to change."""

    TOKEN_CEILING = "token_ceiling"  # noqa: S105 - a limit on tokens, not a password
    """The output reached a token limit."""
    SAFETY = "safety"
    """A filter, a guardrail or a refusal ended the message."""
    PAUSED = "paused"
    """The provider wants the same turn sent back before it goes on."""
    PROVIDER_ERROR = "provider_error"
    """The provider reported a failure, as an event or as a stop reason."""
    UNKNOWN_STOP = "unknown_stop"
    """The stop reason is in no table."""
    ENDED_EARLY = "ended_early"
    """The stream ended cleanly before the message or the call was finished."""
    DISCONNECTED = "disconnected"
    """The transport raised."""
    IDLE = "idle"
    """Nothing at all arrived for longer than the idle timeout."""
    STALLED = "stalled"
    """Only keep-alives arrived: the output made no progress for longer than its limit."""
    CANCELLED = "cancelled"
    """The caller stopped listening: a break, an exception, a cancelled task, `close()`."""
    MALFORMED = "malformed"
    """The text is not one strict JSON document, or the stream contradicts itself."""
    LIMIT = "limit"
    """A size, depth or count limit was passed."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Violation:
    """One way in which arguments miss their tool's schema. Never holds the value itself.

    Attributes:
        path: Where, from the root of the arguments: property names and list indexes.
        keyword: The JSON Schema keyword (or the pydantic error type) that failed, for example
            `"enum"`, `"required"`, `"unknown_tool"`.
        expected: What the schema allows there: enum members, a type name, missing names.
            JSON-compatible.
        message: The sentence for the model: what kind of thing was found and what is allowed.
    """

    path: tuple[str | int, ...]
    keyword: str
    expected: Any = field(hash=False)
    message: str

    def __repr__(self) -> str:
        # Property names under an open schema are the model's own text, so the path stays out.
        return f"Violation(keyword={self.keyword!r}, depth={len(self.path)})"


@final
@dataclass(frozen=True, slots=True, repr=False, init=False)
class Dispatchable:
    """A call proved whole: finished, strict JSON, and valid for its tool. It may be run.

    Only `finalcall.finalize` makes one; for a handler's own tests use
    `finalcall.testing.dispatchable()`.

    Attributes:
        call_id: The provider's id, byte for byte, or `None` where the service gives none.
        name: The tool's name.
        args: The arguments, an object.
        key: Unique in the turn (call ids are not, on some services).
        parsed: The tool's own view of `args` where the tool is a model or a callable, else `None`.
    """

    call_id: str | None
    name: str
    args: dict[str, Any] = field(hash=False)
    key: str
    parsed: Any = field(hash=False, compare=False)

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(
            "a Dispatchable is made by finalcall.finalize() alone: it certifies a finished, "
            "strictly parsed, valid call; in a test use finalcall.testing.dispatchable()"
        )

    @property
    def fingerprint(self) -> str:
        """What equal calls have in common: 64 hexadecimal digits over `name` and `args`.

        The order of names, white space and the spelling of a number (`1`, `1.0`, `1e0`) make no
        difference; any other change does. It says nothing of `call_id`. It is worked out of
        `args` as they are at each access: read it before a handler may change them.
        """
        from finalcall.fingerprints import fingerprint

        return fingerprint(self.name, self.args)

    def __repr__(self) -> str:
        return f"Dispatchable(call_id={self.call_id!r}, name={self.name!r}, args=<hidden>)"


@final
@dataclass(frozen=True, slots=True, repr=False)
class SchemaError:
    """A finished, well-formed call with a bad payload: the one failure a model can be told of.

    Attributes:
        call_id: The provider's id, or `None` where the service gives none.
        name: The name the model used, which may be no tool of yours.
        args: The arguments, or `None` where they were no object.
        errors: The violations, most relevant first, at least one.
        raw: The text as received.
        key: Unique in the turn.
    """

    call_id: str | None
    name: str | None
    args: dict[str, Any] | None = field(hash=False)
    errors: tuple[Violation, ...]
    raw: str = ""
    key: str = ""

    @property
    def misnamed(self) -> bool:
        """Whether the call is of a tool that was not offered."""
        return self.errors[0].keyword == "unknown_tool"

    def __repr__(self) -> str:
        keywords = [error.keyword for error in self.errors]
        return f"SchemaError(call_id={self.call_id!r}, name={self.name!r}, errors={keywords})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Failed:
    """A call that can be neither run nor answered.

    Attributes:
        reason: How far the call got: `"abandoned"` (never proved finished), `"truncated"` (the
            message stopped for a reason that may have cut it), `"unparseable"` (finished, but
            not one strict JSON document).
        call_id: The provider's id, or `None`.
        name: The tool's name, or `None` where none arrived.
        raw: The text as it stood, for the log: not to be parsed, not to be shown.
        cause: Why.
        key: Unique in the turn.
    """

    reason: Reason
    call_id: str | None
    name: str | None
    raw: str
    cause: Cause = Cause.ENDED_EARLY
    key: str = ""

    def __repr__(self) -> str:
        return (
            f"Failed({self.reason!r}, call_id={self.call_id!r}, name={self.name!r}, "
            f"raw=<{len(self.raw)} characters>, cause={self.cause.value!r})"
        )


Outcome: TypeAlias = Dispatchable | SchemaError | Failed
"""What every announced call settles as, exactly once."""
