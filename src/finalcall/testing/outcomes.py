"""Outcomes for the tests of handlers: made as in a turn, by settling a message with one call."""

from __future__ import annotations

import json
from typing import Any

from finalcall.outcomes import Dispatchable, Outcome, SchemaError
from finalcall.settler import Settler
from finalcall.testing.replies import Reply
from finalcall.tools import ToolsLike


def dispatchable(
    name: str,
    args: dict[str, Any] | None = None,
    *,
    tools: ToolsLike | None = None,
    call_id: str = "call_1",
) -> Dispatchable:
    """A call that may be run, for the test of what runs it.

    Args:
        name: The tool's name.
        args: The arguments; none if left out.
        tools: What is offered: the arguments are checked by it, and `parsed` is what it makes of
            them. Without it nothing is checked, and `parsed` is `None`.
        call_id: The call's id.

    Raises:
        TypeError: The arguments hold what JSON cannot.
        ValueError: They do not satisfy the tool, there is no such tool, or a schema is bad.
    """
    outcome = _settle(name, args or {}, tools, call_id)
    if isinstance(outcome, Dispatchable):
        return outcome
    raise ValueError(
        f"the call of {name!r} cannot be run: {_why(outcome)}; give arguments that satisfy "
        "the tool, or use schema_error() for a call that does not"
    )


def schema_error(name: str, args: Any, *, tools: ToolsLike, call_id: str = "call_1") -> SchemaError:
    """A call whose arguments miss its tool's schema, for the test of what answers it.

    Args:
        name: The tool's name; one that is not offered makes an error too.
        args: The arguments: any JSON value.
        tools: What is offered.
        call_id: The call's id.

    Raises:
        TypeError: The arguments hold what JSON cannot.
        ValueError: They satisfy the tool, or a schema is bad.
    """
    outcome = _settle(name, args, tools, call_id)
    if isinstance(outcome, SchemaError):
        return outcome
    raise ValueError(
        f"the call of {name!r} is no schema error: {_why(outcome)}; give arguments that miss "
        "the tool's schema"
    )


def _settle(name: str, args: Any, tools: ToolsLike | None, call_id: str) -> Outcome:
    settler = Settler(tools=tools)
    for native in Reply().call(name, json.dumps(args), call_id=call_id).to("anthropic"):
        settler.feed(native)
    settler.end()
    return settler.outcomes[0]


def _why(outcome: Outcome) -> str:
    if isinstance(outcome, Dispatchable):
        return "its arguments satisfy the tool"
    if isinstance(outcome, SchemaError):
        return f"its arguments fail {outcome.errors[0].keyword!r}"
    return f"its arguments are {outcome.reason}"
