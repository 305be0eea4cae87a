"""Where each dialect says what: one row of places a dialect, for the faults that change meaning.

A place is a path of names; a list on the way stands for each of its items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

from finalcall.narrow import is_array, is_object
from finalcall.testing.recordings import RecordedEvent

Place: TypeAlias = tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """The places of one dialect.

    Attributes:
        name: Its name.
        stop: Why the message stopped.
        entry: What speaks of one call, from the event; the other places of calls are from there.
        head: What announces a call.
        call_type: The `type` of a head that is a client's call, where types tell.
        call_id: The call's id, from the head.
        tool: The tool's name, from the head.
        index: The call's index, where there are any.
        piece: A piece of the argument text; of the whole text, where a call comes whole.
        piece_event: The type of the events that hold pieces, where the place alone does not tell.
        ends: The types of the events that end a call.
        whole: Where an event that ends a call says the whole text again.
        by_piece: Whether the text comes in pieces.
        message_id: What tells one message from another.
        message_start: The type of the event that begins a message, where there is one.
        says_refusals: Whether a refusal is a text of its own kind in a message that stops well.
        error: An error in the stream; `None` where the dialect has none.
    """

    name: str
    stop: Place
    entry: Place
    call_id: Place
    tool: Place
    head: Place = ()
    call_type: str | None = None
    index: Place | None = None
    piece: Place | None = None
    piece_event: str | None = None
    ends: tuple[str, ...] = ()
    whole: tuple[Place, ...] = ()
    by_piece: bool = True
    message_id: Place | None = None
    message_start: str | None = None
    says_refusals: bool = False
    error: RecordedEvent | None = None


_CHAT_CALLS: Final = ("choices", "delta", "tool_calls")
_FAILED: Final = "the model is overloaded"

DIALECTS: Final[Mapping[str, Dialect]] = {
    row.name: row
    for row in (
        Dialect(
            "anthropic",
            stop=("delta", "stop_reason"),
            entry=(),
            head=("content_block",),
            call_type="tool_use",
            call_id=("id",),
            tool=("name",),
            index=("index",),
            piece=("delta", "partial_json"),
            ends=("content_block_stop",),
            message_id=("message", "id"),
            message_start="message_start",
            error=RecordedEvent(
                "error",
                {"type": "error", "error": {"type": "overloaded_error", "message": _FAILED}},
            ),
        ),
        Dialect(
            "bedrock-converse",
            stop=("stopReason",),
            entry=(),
            head=("start", "toolUse"),
            call_id=("toolUseId",),
            tool=("name",),
            index=("contentBlockIndex",),
            piece=("delta", "toolUse", "input"),
            ends=("contentBlockStop",),
            message_start="messageStart",
            error=RecordedEvent("modelStreamErrorException", {"message": _FAILED}),
        ),
        Dialect(
            "cohere",
            stop=("delta", "finish_reason"),
            entry=(),
            head=("delta", "message", "tool_calls"),
            call_id=("id",),
            tool=("function", "name"),
            index=("index",),
            piece=("delta", "message", "tool_calls", "function", "arguments"),
            ends=("tool-call-end",),
            message_id=("id",),
            message_start="message-start",
            error=RecordedEvent(
                "message-end",
                {
                    "type": "message-end",
                    "id": "msg_1",
                    "delta": {"finish_reason": "ERROR", "error": _FAILED},
                },
            ),
        ),
        Dialect(
            "gemini",
            stop=("candidates", "finishReason"),
            entry=("candidates", "content", "parts", "functionCall"),
            call_id=("id",),
            tool=("name",),
            message_id=("responseId",),
            by_piece=False,
            error=RecordedEvent(
                None, {"error": {"code": 503, "message": _FAILED, "status": "UNAVAILABLE"}}
            ),
        ),
        Dialect(
            "gemini-interactions",
            stop=("interaction", "status"),
            entry=(),
            head=("step",),
            call_type="function_call",
            call_id=("id",),
            tool=("name",),
            index=("index",),
            piece=("delta", "arguments"),
            ends=("step.stop",),
            message_id=("interaction", "id"),
            message_start="interaction.created",
            error=RecordedEvent(
                "error",
                {"event_type": "error", "error": {"code": "unavailable", "message": _FAILED}},
            ),
        ),
        Dialect(
            "mistral",
            stop=("choices", "finish_reason"),
            entry=_CHAT_CALLS,
            call_id=("id",),
            tool=("function", "name"),
            index=("index",),
            piece=("function", "arguments"),
            by_piece=False,
            message_id=("id",),
            error=RecordedEvent(
                None,
                {
                    "id": "chatcmpl-1",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "scripted",
                    "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
                },
            ),
        ),
        Dialect(
            "ollama",
            stop=("done_reason",),
            entry=("message", "tool_calls"),
            call_id=("id",),
            tool=("function", "name"),
            index=("function", "index"),
            by_piece=False,
            error=RecordedEvent(None, {"error": _FAILED}),
        ),
        Dialect(
            "openai-chat",
            stop=("choices", "finish_reason"),
            entry=_CHAT_CALLS,
            call_id=("id",),
            tool=("function", "name"),
            index=("index",),
            piece=("function", "arguments"),
            message_id=("id",),
            says_refusals=True,
            error=RecordedEvent(
                None, {"error": {"message": _FAILED, "type": "server_error", "code": None}}
            ),
        ),
        Dialect(
            "openai-responses",
            stop=("response", "incomplete_details", "reason"),
            entry=(),
            head=("item",),
            call_type="function_call",
            call_id=("call_id",),
            tool=("name",),
            index=("output_index",),
            piece=("delta",),
            piece_event="response.function_call_arguments.delta",
            ends=("response.function_call_arguments.done", "response.output_item.done"),
            whole=(("arguments",), ("item", "arguments")),
            message_id=("response", "id"),
            message_start="response.created",
            says_refusals=True,
            error=RecordedEvent(
                "error",
                {
                    "type": "error",
                    "sequence_number": 99,
                    "error": {
                        "type": "server_error",
                        "code": "server_error",
                        "message": _FAILED,
                        "param": None,
                    },
                },
            ),
        ),
        Dialect(
            "xai",
            stop=("outputs", "finish_reason"),
            entry=("outputs", "delta", "tool_calls"),
            call_id=("id",),
            tool=("function", "name"),
            piece=("function", "arguments"),
            by_piece=False,  # and no id: nothing can mix two messages into one call of gRPC
        ),
    )
}
"""By name."""


@final
@dataclass(slots=True)
class WireCall:
    """Where a stream speaks of one call.

    Attributes:
        heads: The objects that announce it.
        entries: All objects that speak of it, with the number of their event.
        pieces: The number of the event, the object and the name in it of each piece of text.
        ends: The numbers of the events that end it.
        wholes: The object and the name in it of each repetition of the whole text.
    """

    heads: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    entries: list[tuple[int, dict[str, Any]]] = field(
        default_factory=list[tuple[int, dict[str, Any]]]
    )
    pieces: list[tuple[int, dict[str, Any], str]] = field(
        default_factory=list[tuple[int, dict[str, Any], str]]
    )
    ends: list[int] = field(default_factory=list[int])
    wholes: list[tuple[dict[str, Any], str]] = field(
        default_factory=list[tuple[dict[str, Any], str]]
    )

    @property
    def text(self) -> str:
        """The argument text."""
        return "".join(holder[name] for _, holder, name in self.pieces)

    @property
    def amid(self) -> int:
        """The number of the event with its first words; of its first event where it has none."""
        filled = [number for number, holder, name in self.pieces if holder[name]]
        return filled[0] if filled else self.entries[0][0]


def type_of(event: RecordedEvent) -> str | None:
    """What kind of event it is: its own word for it, or its name on the wire."""
    data = event.data
    if not is_object(data):
        return event.event
    return data.get("type") or data.get("event_type") or event.event


def objects(node: Any, place: Place) -> Iterator[dict[str, Any]]:
    """The objects at a place."""
    nodes: list[Any] = [node]
    for name in place:
        nodes = [one[name] for one in _flat(nodes) if is_object(one) and name in one]
    return (one for one in _flat(nodes) if is_object(one))


def holders(node: Any, place: Place) -> Iterator[dict[str, Any]]:
    """The objects that hold a place's last name."""
    return (one for one in objects(node, place[:-1]) if place[-1] in one)


def calls_of(dialect: Dialect, events: Mapping[int, RecordedEvent]) -> list[WireCall]:
    """The calls of a stream, in order.

    Args:
        dialect: Whose stream.
        events: By number, in order.
    """
    calls: list[WireCall] = []
    open_at: dict[str, WireCall] = {}
    for number, event in events.items():
        for entry in objects(event.data, dialect.entry):
            head = next((one for one in objects(entry, dialect.head) if _heads(dialect, one)), None)
            key = repr(_index(dialect, entry))  # what stands there need not be a number
            call = open_at.get(key)
            if head is not None and (call is None or _is_another(dialect, call, head)):
                call = open_at[key] = WireCall()
                calls.append(call)
            if call is not None:
                _take(dialect, call, (number, event), entry)
    return calls


def _index(dialect: Dialect, entry: dict[str, Any]) -> Any:
    """The index of the call of which an object speaks; `None` where it says none."""
    if dialect.index is None:
        return None
    name = dialect.index[-1]
    return next((one[name] for one in holders(entry, dialect.index)), None)


def _take(dialect: Dialect, call: WireCall, at: tuple[int, RecordedEvent], entry: Any) -> None:
    """Note where an object speaks of a call."""
    number, event = at
    kind = type_of(event)
    ends = kind in dialect.ends
    texts: list[dict[str, Any]] = []
    if dialect.piece is not None and dialect.piece_event in (None, kind) and not ends:
        name = dialect.piece[-1]
        texts = [one for one in holders(entry, dialect.piece) if isinstance(one[name], str)]
        call.pieces += [(number, one, name) for one in texts]
    if ends:
        call.ends.append(number)
        for place in dialect.whole:
            call.wholes += [(one, place[-1]) for one in holders(entry, place)]
    heads = [one for one in objects(entry, dialect.head) if _heads(dialect, one)]
    call.heads += heads
    if heads or texts or ends:
        call.entries.append((number, entry))


def _heads(dialect: Dialect, head: dict[str, Any]) -> bool:
    """Whether an object announces a call."""
    if dialect.call_type is not None and head.get("type") != dialect.call_type:
        return False
    return any(one[dialect.tool[-1]] for one in holders(head, dialect.tool))


def _is_another(dialect: Dialect, call: WireCall, head: dict[str, Any]) -> bool:
    def ids(one: dict[str, Any]) -> list[Any]:
        return [at[dialect.call_id[-1]] for at in holders(one, dialect.call_id)]

    known = ids(head)
    return known != ids(call.heads[0]) if known else dialect.index is None


def _flat(nodes: list[Any]) -> list[Any]:
    flat: list[Any] = []
    for node in nodes:
        flat += node if is_array(node) else [node]
    return flat
