"""The demo's scenes as one table: what the service sends, and what must come of it.

A scene is a script for the loopback server. Nothing here draws, reads or judges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from finalcall.ending import TurnVerdict
from finalcall.testing import Close, CloseAbruptly, Pause, RecordedEvent, Recording, Script, Stall
from finalcall.testing.steps import Step

NativeEvent: TypeAlias = dict[str, Any]

TOOLS: Final[list[dict[str, Any]]] = [
    {
        "name": "create_ticket",
        "description": "Open a ticket for the team that owns a project.",
        "input_schema": {
            "type": "object",
            "properties": {
                "project": {"type": "string"},
                "title": {"type": "string"},
                "priority": {"enum": ["low", "normal", "urgent"]},
                "description": {"type": "string"},
            },
            "required": ["project", "title", "priority", "description"],
            "additionalProperties": False,
        },
    }
]
"""What the demo's requests offer."""

TYPING_PAUSE: Final = 0.04
"""Seconds before each event, so that a person can follow."""

_PIECE: Final = 14
"""Characters in a fragment: about three tokens."""


_CLEAN_END: Final = Close()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One way in which a message can go.

    Attributes:
        name: What `--scene` takes.
        about: One line for a person.
        events: What the service sends after the message's start, as native events.
        then: What the service does after the last event.
        idle_timeout: Seconds of silence that end the turn.
        stop_after: The person presses stop after so many pieces of arguments.
        settles: What each call must settle as, in order, as `settled_as` words it.
        lines: The last line that a person must see of each call, in order.
        verdict: What the turn must say.
        raises: The class of the exception that the turn must raise, by name.
    """

    name: str
    about: str
    events: tuple[NativeEvent, ...]
    then: Step = _CLEAN_END
    idle_timeout: float = 60.0
    stop_after: int | None = None
    settles: tuple[str, ...]
    lines: tuple[str, ...]
    verdict: TurnVerdict
    raises: str | None = None

    def script(self, pause: float) -> Script:
        """The response for the loopback server.

        Args:
            pause: Seconds before each event.
        """
        recording = Recording(
            {"dialect": "anthropic"},
            tuple(RecordedEvent(event["type"], event) for event in (_START, *self.events)),
        )
        steps: list[Step] = []
        for step in recording.to_script().steps:
            steps += [Pause(pause), step] if pause else [step]
        return Script((*steps, self.then))


_START: Final[NativeEvent] = {
    "type": "message_start",
    "message": {
        "id": "msg_demo",
        "type": "message",
        "role": "assistant",
        "model": "demo",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 312, "output_tokens": 1},
    },
}


def _ticket(**changes: str) -> str:
    return json.dumps(_TICKET | changes)


_TICKET: Final = {
    "project": "BILLING",
    "title": "Night run stopped halfway",
    "priority": "urgent",
    "description": "The invoice run of 14 March stopped after 1,204 of 3,880 customers. "
    "Start it again from customer 1,205; the first 1,204 must not be charged twice.",
}

_WHOLE: Final = _ticket()
_CUT: Final = _WHOLE[: _WHOLE.index(" must not")]
_DROPPED: Final = _WHOLE[: _WHOLE.index(" of 3,880")]


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _text(text: str) -> tuple[NativeEvent, ...]:
    """A whole block of text, the first of the message."""
    return (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }
            for piece in _pieces(text)
        ),
        {"type": "content_block_stop", "index": 0},
    )


def _call(arguments: str, *, index: int = 1, closed: bool = True) -> tuple[NativeEvent, ...]:
    """A call of `create_ticket`, with or without the end of its block."""
    block: NativeEvent = {
        "type": "tool_use",
        "id": f"toolu_demo_{index}",
        "name": "create_ticket",
        "input": {},
    }
    deltas = (
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in _pieces(arguments)
    )
    return (
        {"type": "content_block_start", "index": index, "content_block": block},
        *deltas,
        *([{"type": "content_block_stop", "index": index}] if closed else []),
    )


def _end(stop_reason: str) -> tuple[NativeEvent, ...]:
    return (
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": 97},
        },
        {"type": "message_stop"},
    )


_PREAMBLE: Final = _text("I'll open a ticket for the billing team now.")

SCENES: Final[tuple[Scene, ...]] = (
    Scene(
        name="clean",
        about="one call, sent whole",
        events=(*_PREAMBLE, *_call(_WHOLE), *_end("tool_use")),
        settles=("Dispatchable",),
        lines=("✓ create_ticket — ready to run",),
        verdict="dispatch",
    ),
    Scene(
        name="two-calls",
        about="two calls in one message",
        events=(
            *_text("Two teams have to know: I'll open a ticket for each."),
            *_call(_WHOLE),
            *_call(_ticket(project="SUPPORT", priority="normal"), index=2),
            *_end("tool_use"),
        ),
        settles=("Dispatchable", "Dispatchable"),
        lines=("✓ create_ticket — ready to run", "✓ create_ticket — ready to run"),
        verdict="dispatch",
    ),
    Scene(
        name="ceiling",
        about="the token ceiling cuts the call, and its block is closed as if it were whole",
        events=(*_PREAMBLE, *_call(_CUT), *_end("max_tokens")),
        settles=("Failed truncated (token_ceiling)",),
        lines=("⊘ create_ticket — not run (the request was cut short)",),
        verdict="fail",
    ),
    Scene(
        name="ceiling-open",
        about="the token ceiling cuts the call, and its block is never closed",
        events=(*_PREAMBLE, *_call(_CUT, closed=False), *_end("max_tokens")),
        settles=("Failed truncated (token_ceiling)",),
        lines=("⊘ create_ticket — not run (the request was cut short)",),
        verdict="fail",
    ),
    Scene(
        name="dropped",
        about="the connection drops in the middle of the arguments",
        events=(*_PREAMBLE, *_call(_DROPPED, closed=False)),
        then=CloseAbruptly(),
        settles=("Failed abandoned (disconnected)",),
        lines=("⊘ create_ticket — not run (connection lost)",),
        verdict="fail",
        raises="RemoteProtocolError",
    ),
    Scene(
        name="silence",
        about="the connection stays open and nothing more comes: the idle limit fires",
        events=(*_PREAMBLE, *_call(_DROPPED, closed=False)),
        then=Stall(),
        idle_timeout=1.0,  # far shorter than anybody should set it: this is no test of patience
        settles=("Failed abandoned (idle)",),
        lines=("⊘ create_ticket — not run (the connection went silent)",),
        verdict="fail",
        raises="StreamIdle",
    ),
    Scene(
        name="wrong-priority",
        about="a well-formed call whose priority is no member of the enum",
        events=(*_PREAMBLE, *_call(_ticket(priority="P1")), *_end("tool_use")),
        settles=("SchemaError (enum)",),
        lines=("⊘ create_ticket — not run (the request was invalid)",),
        verdict="correct",
    ),
    Scene(
        name="malformed",
        about="a finished call whose arguments are no JSON",
        events=(*_PREAMBLE, *_call(_WHOLE.replace('"urgent"', "urgent")), *_end("tool_use")),
        settles=("Failed unparseable (malformed)",),
        lines=("⊘ create_ticket — not run (the request was garbled)",),
        verdict="fail",
    ),
    Scene(
        name="cancelled",
        about="the person presses stop: a break in sync, a cancelled task in async",
        events=(*_PREAMBLE, *_call(_DROPPED, closed=False)),
        then=Stall(),
        stop_after=6,
        settles=("Failed abandoned (cancelled)",),
        lines=("⊘ create_ticket — cancelled",),
        verdict="fail",
    ),
)
"""Every scene, in the order in which they are shown."""
