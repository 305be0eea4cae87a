"""Turns every buffer into its one outcome. The only module that makes a `Dispatchable`.

Pure: it reads an accumulator, changes nothing and gives the same answer every time.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from finalcall.accumulator import Accumulator, Buffer
from finalcall.events import CallKind
from finalcall.lifecycle import Input, State, advance
from finalcall.narrow import is_object
from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome, Reason, SchemaError, Violation
from finalcall.stop_reasons import CAUSES, StopReason, Verdict
from finalcall.strict import NotStrictJSON, join_surrogates, parse_strict, same_value
from finalcall.tools import ToolSet

TruncationPolicy: TypeAlias = Literal["all", "last"]
"""Which calls a token ceiling fails: all of the message, or the last one and what is open."""

UnconfirmedPolicy: TypeAlias = Literal["fail", "dispatch"]
"""What a clean end without a stop reason does to calls that got their own end."""

_REASONS: dict[State, Reason] = {
    State.ABANDONED: "abandoned",
    State.UNPARSEABLE: "unparseable",
    State.TRUNCATED: "truncated",
}


def finalize(
    acc: Accumulator,
    stop_reason: StopReason | None,
    *,
    tools: ToolSet | None,
    truncation: TruncationPolicy = "all",
    unconfirmed: UnconfirmedPolicy = "fail",
    cause: Cause = Cause.ENDED_EARLY,
) -> list[Outcome]:
    """Settle every announced call, by six rules in this order.

    1. The stop reason's verdict is not COMPLETE: truncated, closed or not, parsable or not.
    2. No stop reason was seen: abandoned, closed or not.
    3. The stop reason is COMPLETE but the call never got its own end: abandoned. A call without
       arguments also fails where arguments arrived that belong to no call that was named. Where
       those are no document by themselves and have no id, they may be a piece of any call, so that
       all fail but those whose end stated the text as a whole.
    4. The text is not one strict JSON document: unparseable. Blank text is the input given with
       the announcement, else `{}`; a custom tool's free text is `{"input": text}`.
    5. Unknown tool, arguments that are no object, schema violation: `SchemaError`.
    6. Otherwise `Dispatchable`.

    Args:
        acc: The message's calls.
        stop_reason: The message's worst stop reason; `None` means that none was seen. Calls
            announced after the last stop reason that `acc` was fed are not covered by it.
        tools: What was offered; `None` checks nothing (and then no custom call is dispatchable).
        truncation: `"last"` trusts, at a token ceiling only, the finished calls before the last.
        unconfirmed: `"dispatch"` lets finished calls go on where the stream ended cleanly
            without a stop reason, for services that never send one.
        cause: How the stream ended, for the calls that no stop reason covers.

    Returns:
        One outcome a call, in order of announcement.
    """
    buffers = acc.announced
    strays = [buffer for buffer in buffers if not buffer.name and not buffer.empty]
    torn = any(buffer.call_id is None and _is_torn(buffer) for buffer in strays)
    outcomes: list[Outcome] = []
    for position, buffer in enumerate(buffers):
        given, why = _claim(
            buffer,
            stop_reason if buffer.covered or acc.reported is None else None,
            cause=acc.fault or cause,
            trusted=truncation == "last" and position < len(buffers) - 1 and acc.fault is None,
            unconfirmed=unconfirmed == "dispatch" and acc.fault is None,
        )
        if given is None and strays and (buffer.empty or (torn and not buffer.fixed)):
            given, why = Input.UNPROVED, Cause.MALFORMED
        if given is None:
            outcomes.append(_judge(buffer, tools))
        else:
            outcomes.append(_failed(buffer, given, why))
    return outcomes


def _is_torn(buffer: Buffer) -> bool:
    """Whether a text is no document by itself, as a piece is that came off one."""
    try:
        parse_strict(buffer.arguments)
    except NotStrictJSON:
        return True
    return False


def _claim(
    buffer: Buffer,
    stop_reason: StopReason | None,
    *,
    cause: Cause,
    trusted: bool,
    unconfirmed: bool,
) -> tuple[Input | None, Cause]:
    """Rules 1 to 3: is the call proved finished? `None` says that its text may be judged."""
    finished = buffer.state is State.FINISHED
    if stop_reason is None:
        if unconfirmed and finished and not buffer.withdrawn and cause is Cause.ENDED_EARLY:
            return None, cause
        return Input.UNPROVED, cause
    if stop_reason.verdict is not Verdict.COMPLETE:
        at_ceiling = stop_reason.verdict is Verdict.TRUNCATED
        if at_ceiling and trusted and finished and not buffer.withdrawn:
            return None, cause
        return Input.CUT, CAUSES[stop_reason.verdict]
    if not finished or buffer.withdrawn:
        return Input.UNPROVED, cause
    return None, cause


def _judge(buffer: Buffer, tools: ToolSet | None) -> Outcome:
    """Rules 4 to 6, for a finished call."""
    if buffer.overflowed:
        return _failed(buffer, Input.UNPARSEABLE, Cause.LIMIT)
    if _contradicted(buffer) or not buffer.name:
        return _failed(buffer, Input.UNPARSEABLE, Cause.MALFORMED)
    try:
        if buffer.kind is CallKind.CUSTOM:
            value: Any = {"input": join_surrogates(buffer.raw or buffer.given)}
        else:
            value = parse_strict(buffer.arguments or "{}")
    except NotStrictJSON as error:
        return _failed(buffer, Input.UNPARSEABLE, error.cause)
    return _validate(buffer, buffer.name, value, tools)


def _contradicted(buffer: Buffer) -> bool:
    """Whether a replay of the call says something else than the call.

    Input that was given as a value was written down here: only its value is the service's.
    """
    if not buffer.replay_differs:
        return False
    if not buffer.told_by_input or buffer.kind is CallKind.CUSTOM:
        return True
    return not same_value(buffer.arguments, buffer.replay or "")


def _validate(buffer: Buffer, name: str, value: Any, tools: ToolSet | None) -> Outcome:
    args = value if is_object(value) else None
    parsed: Any = None
    errors: tuple[Violation, ...] = ()
    if buffer.kind is CallKind.CUSTOM and not _takes_text(tools, name):
        from finalcall.tools.violations import no_custom_tool

        # A service may report its own tools as custom calls, so only a declared name is trusted.
        errors = (no_custom_tool(),)
    elif tools is not None:
        check = tools.check(name, value)
        errors, parsed = check.errors, check.parsed
    elif args is None:
        from finalcall.tools.violations import not_an_object

        errors = (not_an_object(value),)
    if errors or args is None:
        advance(buffer.state, Input.INVALID)
        return SchemaError(
            buffer.call_id,
            name,
            args,
            errors,
            raw=buffer.arguments,
            key=buffer.call.key,
        )
    advance(buffer.state, Input.VALID)
    return _dispatchable(buffer, name, args, parsed)


def _takes_text(tools: ToolSet | None, name: str) -> bool:
    """Whether a tool of that name was declared to take free text."""
    tool = None if tools is None else tools.get(name)
    return tool is not None and tool.kind is CallKind.CUSTOM


def _failed(buffer: Buffer, given: Input, cause: Cause) -> Failed:
    # A finished call can take every input; one that is not can only be cut or abandoned.
    reason = _REASONS[advance(buffer.state, given)]
    return Failed(
        reason, buffer.call_id, buffer.name, buffer.arguments, cause=cause, key=buffer.call.key
    )


def _dispatchable(buffer: Buffer, name: str, args: dict[str, Any], parsed: Any) -> Dispatchable:
    made: Dispatchable = object.__new__(Dispatchable)
    for field, value in (
        ("call_id", buffer.call_id),
        ("name", name),
        ("args", args),
        ("key", buffer.call.key),
        ("parsed", parsed),
    ):
        object.__setattr__(made, field, value)
    return made
