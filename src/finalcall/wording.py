"""The text that a model is given in place of a result, for a call that was not run.

It is made to be obeyed: what was wrong and where, what is allowed there, and what to do next, in a
few hundred characters. It never holds a value that the model wrote, nor a schema as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from finalcall.narrow import is_array
from finalcall.outcomes import SchemaError, Violation
from finalcall.results import ToolResult
from finalcall.tools.violations import MAX_VIOLATIONS, in_one_line, listed, quoted

MAX_CHARACTERS: Final = 600
"""Of a whole text. A longer one is read less, and is sent again with every later request."""

MAX_TOLD: Final = 3
"""Violations that are spelled out: the most relevant ones. The others are counted."""

_MAX_PATH: Final = 60
"""Characters of a path, so that the sentence after it has room."""

_CUT: Final = "…"
"""Stands for what was cut."""

_INVALID: Final = (
    "Invalid arguments: the tool was not run.",
    "Call the tool again with all of its arguments, corrected.",
)
_UNKNOWN: Final = (
    "Unknown tool: nothing was run.",
    "Call only tools that you were offered, by their exact names.",
)
_SELF_CONTAINED: Final = frozenset({"schema", "unknown_tool", "validator_error"})
"""Keywords whose sentences say by themselves what they are about."""


def answer_for(error: SchemaError) -> ToolResult:
    """Say what was wrong with an invalid call and what to do about it.

    Returns:
        An error of at most `MAX_CHARACTERS` characters, in lines: what happened, at most
        `MAX_TOLD` violations in the order of `error.errors`, how many more there are, what to do.
        Sentences that are too long for that list fewer members, then they are cut.
    """
    told = error.errors[:MAX_TOLD]
    opening, closing = _UNKNOWN if error.misnamed else _INVALID
    ends = [*_more(len(error.errors) - len(told), len(error.errors)), closing]
    room = MAX_CHARACTERS - len("\n".join([opening, *ends])) - len(told)
    places = [_place(violation) for violation in told]
    sentences = [in_one_line(violation.message) for violation in told]
    shares = _shares([len(p + s) for p, s in zip(places, sentences, strict=True)], room)
    lines = [
        place + _fitted(sentence, violation, share - len(place))
        for place, sentence, violation, share in zip(places, sentences, told, shares, strict=True)
    ]
    return ToolResult("\n".join([opening, *lines, *ends]), is_error=True)


def not_run(invalid: Iterable[SchemaError]) -> ToolResult:
    """Say that a valid call was not run, because other calls of its message are invalid.

    Args:
        invalid: Those other calls.
    """
    names = list(dict.fromkeys(error.name or "" for error in invalid))
    return ToolResult(
        "Not run: this call is valid, but not every call of the message is "
        f"(invalid: {listed(names)}).\n"
        "Make this call again, unchanged, together with the corrected ones.",
        is_error=True,
    )


def where(path: Sequence[str | int]) -> str:
    """Write a path as code would: `items[2].price`, the root as `the arguments`.

    A name that is no identifier is quoted, and a long one is cut: under an open schema names are
    the model's own text. Of a long path the middle is left out.
    """
    if not path:
        return "the arguments"
    parts = [_step(part) for part in path]
    whole = "".join(parts)
    if len(whole) > _MAX_PATH and len(parts) > 2:
        first, *rest = parts
        tail = rest.pop()
        while len(first) + len(rest[-1]) + len(tail) < _MAX_PATH:
            tail = rest.pop() + tail
        whole = first + _CUT + tail
    return whole.removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    shown = quoted(part)
    return f".{part}" if part.isidentifier() and shown == repr(part) else f"[{shown}]"


def _place(violation: Violation) -> str:
    if violation.keyword in _SELF_CONTAINED and not violation.path:
        return "- "
    return f"- {where(violation.path)}: "


def _more(left: int, known: int) -> list[str]:
    """Count what is not spelled out. A call's violations themselves are cut at a number."""
    if not left:
        return []
    return [f"- and {'at least ' if known >= MAX_VIOLATIONS else ''}{left} more"]


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Share the room out: what needs less than an equal share leaves the rest to the longer."""
    shares = [0] * len(lengths)
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    for done, index in enumerate(by_length):
        shares[index] = min(lengths[index], room // (len(lengths) - done))
        room -= shares[index]
    return shares


def _fitted(sentence: str, violation: Violation, room: int) -> str:
    """Shorten a sentence: by members that it lists, and if that is not enough, at its end."""
    if len(sentence) <= room:
        return sentence
    members: list[Any] = violation.expected if is_array(violation.expected) else []
    listing = listed(members)
    if listing and listing in sentence:
        around = len(sentence) - len(listing)
        sentence = sentence.replace(listing, listed(members, room - around), 1)
    return sentence if len(sentence) <= room else sentence[: room - 1] + _CUT
