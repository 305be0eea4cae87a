"""Hypothesis strategies: tools, arguments that satisfy or miss them, replies, faulty streams.

Needs `hypothesis`, which the extra `testing` brings. Nothing else of the test kit does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from finalcall.testing.faults import FAULTS
from finalcall.testing.faults.checking import fault_named
from finalcall.testing.faulty_streams import FaultyStream
from finalcall.testing.rendering import RENDERERS
from finalcall.testing.replies import Reply
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens, cut

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as _missing:
    raise ImportError(
        "finalcall.testing.strategies needs the package 'hypothesis', which is not installed: "
        "pip install 'finalcall[testing]'"
    ) from _missing

STOPS: Final = ("complete", "truncated", "filtered", "refused", "paused", None)
"""Every way in which a reply stops, the good one first."""

PROVIDERS: Final = tuple(RENDERERS)
"""Everybody whose streams a reply can be."""

_NAMES: Final = ("amount", "city", "days", "note", "tags", "urgent")

_KINDS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["low", "high", "urgent"]},
    {"type": "array", "items": {"type": "integer"}},
)
"""What a property may be."""

_TEXT: Final = st.text(st.characters(codec="utf-8"), max_size=12)

_RIGHT: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "string": _TEXT,
    "integer": st.integers(-(2**53), 2**53),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "enum": st.sampled_from(["low", "high", "urgent"]),
    "array": st.lists(st.integers(-9, 9), max_size=3),
}
_WRONG: Final[Mapping[str, Sequence[Any]]] = {
    "string": (None, 7, ["x"], {}),
    "integer": (None, "7", 7.5, True),
    "number": (None, "7.5", [], False),
    "boolean": (None, "true", 1),
    "enum": (None, "LOW", "medium", 0),
    "array": (None, "1", 1, [1, "2"]),
}
"""Values that a property of each kind takes, and such that it does not."""


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A tool's schema: an object of a few properties, of which some are required."""
    names = draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=4))
    required = [name for name in names if draw(st.booleans())]
    return {
        "type": "object",
        "properties": {name: draw(st.sampled_from(_KINDS)) for name in names},
        "required": required,
        "additionalProperties": False,
    }


def toolsets() -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """A few tools: schemas by name, as `ToolSet` and turns take them."""
    names = st.sampled_from(("create_ticket", "get_tide", "send_payment"))
    return st.dictionaries(names, schemas(), min_size=1, max_size=3)


@st.composite
def matching(draw: st.DrawFn, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that satisfy a schema.

    Args:
        draw: Given by Hypothesis.
        schema: One of `schemas()`.
    """
    return {
        name: draw(_RIGHT[_kind(kind)])
        for name, kind in schema["properties"].items()
        if name in schema["required"] or draw(st.booleans())
    }


@st.composite
def violating(draw: st.DrawFn, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that miss a schema in one way.

    Args:
        draw: Given by Hypothesis.
        schema: One of `schemas()`.
    """
    args = draw(matching(schema))
    ways = ["unknown", *(["wrong"] if schema["properties"] else [])]
    ways += ["missing"] if schema["required"] else []
    match draw(st.sampled_from(ways)):
        case "missing":
            del args[draw(st.sampled_from(schema["required"]))]
        case "wrong":
            name = draw(st.sampled_from(sorted(schema["properties"])))
            args[name] = draw(st.sampled_from(_WRONG[_kind(schema["properties"][name])]))
        case _:
            args["surplus"] = 1
    return args


@st.composite
def calls_of(
    draw: st.DrawFn, tools: Mapping[str, Mapping[str, Any]], *, valid: bool = True
) -> Call:
    """A call of one of the tools, whole, in any pieces: `reply.call` makes it part of a reply.

    Args:
        draw: Given by Hypothesis.
        tools: One of `toolsets()`.
        valid: Whether the arguments satisfy the tool's schema.
    """
    name = draw(st.sampled_from(sorted(tools)))
    args = draw(matching(tools[name]) if valid else violating(tools[name]))
    text = json.dumps(args, ensure_ascii=draw(st.booleans()))
    return Call("call_1", name, cut(text, draw(st.integers(1, 12))))


@st.composite
def replies(
    draw: st.DrawFn,
    tools: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    stops: Sequence[str | None] = STOPS,
) -> Reply:
    """A model's reply: text, thinking and calls, whole or broken, in any pieces.

    Args:
        draw: Given by Hypothesis.
        tools: One of `toolsets()`: calls are of its tools, with arguments that satisfy or miss
            them. Without it they are of any name, with any arguments.
        stops: The ways in which it may stop.
    """
    parts: list[Part] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from((Text, Thinking, Call)), max_size=4)):
        size = draw(st.integers(1, 12))
        if kind is not Call:
            parts.append(kind(cut(draw(_TEXT), size)))
            continue
        calls += 1
        name, text = draw(_calls(tools))
        parts.append(Call(f"call_{calls}", name, cut(text, size), draw(_mostly(True))))
    usage = draw(st.none() | st.tuples(st.integers(0, 999), st.integers(0, 999)))
    return Reply(tuple(parts), draw(st.sampled_from(stops)), Tokens(*usage or ()))


@st.composite
def faulty_streams(
    draw: st.DrawFn,
    tools: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    providers: Sequence[str] = PROVIDERS,
    faults: Sequence[str] = tuple(FAULTS),
) -> FaultyStream:
    """A reply of any provider in which up to two things go wrong, and which calls it announces.

    Give a pipeline of your own its `chunks()` or its `natives()`: each of its `announced` must get
    one answer, and none may run unless `may_run`.

    Args:
        draw: Given by Hypothesis.
        tools: One of `toolsets()`; see `replies`.
        providers: Whose streams.
        faults: Names in `FAULTS`.
    """
    reply = draw(replies(tools))
    names = draw(st.lists(st.sampled_from(sorted(faults)), unique=True, max_size=2))
    provider = draw(st.sampled_from(sorted(providers)))
    return FaultyStream.of(provider, reply, [fault_named(name) for name in names])


@st.composite
def _calls(draw: st.DrawFn, tools: Mapping[str, Mapping[str, Any]] | None) -> tuple[str, str]:
    """A tool's name and an argument text."""
    if tools is None:
        name = draw(st.sampled_from(("create_ticket", "get_tide", "no_such_tool")))
        args = draw(st.dictionaries(_TEXT, st.integers() | _TEXT, max_size=3))
    else:
        name = draw(st.sampled_from(sorted(tools)))
        args = draw(matching(tools[name]) | violating(tools[name]))
    text = json.dumps(args, ensure_ascii=draw(st.booleans()))
    return name, text if draw(_mostly(True)) else text[: draw(st.integers(0, len(text) - 1))]


def _mostly(value: bool) -> st.SearchStrategy[bool]:
    return st.sampled_from((value, value, value, not value))


def _kind(schema: Mapping[str, Any]) -> str:
    kind: str = schema.get("type", "enum")
    return kind
