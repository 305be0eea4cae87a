"""The output items of a response: which kinds are calls, who runs them, where their text stands.

Facts and the state of one item; no events are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from finalcall.events import CallKind, ExternalCall, ExternalState
from finalcall.narrow import is_object
from finalcall.providers.base import OpenCall
from finalcall.providers.native import read, read_index, read_list, read_text, to_json, to_plain


@final
@dataclass(frozen=True, slots=True)
class ClientCall:
    """One kind of item that the caller runs and answers.

    Attributes:
        arguments: The item's field that states the arguments, as text or as an object.
        output: The type of the item that answers it.
        named: The item has a name of its own; the others go by their type.
        kind: Whether the arguments are JSON or free text.
    """

    arguments: str
    output: str
    named: bool = False
    kind: CallKind = CallKind.FUNCTION


CLIENT_CALLS: Final[Mapping[str, ClientCall]] = {
    "function_call": ClientCall("arguments", "function_call_output", named=True),
    "custom_tool_call": ClientCall("input", "custom_tool_call_output", True, CallKind.CUSTOM),
    "mcp_approval_request": ClientCall("arguments", "mcp_approval_response", named=True),
    "apply_patch_call": ClientCall("operation", "apply_patch_call_output"),
    "computer_call": ClientCall("action", "computer_call_output"),
    "local_shell_call": ClientCall("action", "local_shell_call_output"),
    "shell_call": ClientCall("action", "shell_call_output"),
    "tool_search_call": ClientCall("arguments", "tool_search_output"),
}
"""By item type. Every other kind of call is run by the provider, unknown ones too."""

EXTERNAL_STATES: Final[Mapping[str, ExternalState]] = {
    "completed": ExternalState.DONE,
    "failed": ExternalState.FAILED,
}
"""Last words of the types of events about calls that the provider runs."""

ANSWERED_LATER: Final = frozenset({"program", "shell_call"})
"""Kinds whose own end only says what will be run: an output item says that it was."""

UNFINISHED: Final = frozenset({"incomplete", "failed", "cancelled"})
"""Item statuses that deny what the item's end says. `in_progress` does not: calls that a program
makes end with it, and are whole."""


def names_of(content: Any) -> tuple[str, str, str]:
    """An item's type, its own id, and the id that its answer refers to."""
    return read_text(content, "type"), read_text(content, "id"), read_text(content, "call_id")


def runs_here(
    kind: str, content: Any, tool_names: frozenset[str] | None, *, so_far: bool = False
) -> bool:
    """Whether the caller runs an item, as far as it tells.

    Args:
        kind: The item's type.
        content: The native item.
        tool_names: The names on offer, or `None` where they are unknown.
        so_far: What was said before, where an end leaves it out.
    """
    if kind == "custom_tool_call":
        # xAI reports the searches that it runs itself as custom calls.
        name = read_text(content, "name")
        return not name or tool_names is None or name in tool_names
    if kind == "shell_call":
        return read_text(read(content, "environment"), "type") in ("", "local")
    if kind == "tool_search_call":
        return read_text(content, "execution") in (("client", "") if so_far else ("client",))
    return kind in CLIENT_CALLS


def is_provider_call(kind: str) -> bool:
    """Whether an item that nobody runs here is a call of the provider's."""
    return kind.endswith("_call") or kind == "program"


def stated_arguments(kind: str, content: Any) -> str:
    """The arguments that an item states as its whole, as text; `""` where it states none."""
    value = read(content, CLIENT_CALLS[kind].arguments)
    if value is None and kind == "computer_call":
        actions = read(content, "actions")
        value = None if actions is None else {"actions": actions}
    return as_text(value)


def state_at_end(kind: str, content: Any) -> ExternalState | None:
    """What became of a provider's call, `None` where its own end only says what will be run."""
    if read_text(content, "status") == "failed" or read(content, "error"):
        return ExternalState.FAILED
    return None if kind in ANSWERED_LATER else ExternalState.DONE


def said_in(content: Any) -> tuple[list[str], bool]:
    """The texts of a message, and whether one of its parts is a refusal."""
    parts = read_list(content, "content")
    texts = [read_text(part, "text") or read_text(part, "refusal") for part in parts]
    refused = any(read_text(part, "type") == "refusal" for part in parts)
    return [text for text in texts if text], refused


def calls_in(output: Iterable[Any], tool_names: frozenset[str] | None) -> int:
    """How many of some native items the caller runs."""
    return sum(runs_here(read_text(content, "type"), content, tool_names) for content in output)


def place_of(native: Any) -> tuple[int | None, str]:
    """The index and the id of the item that a piece belongs to; some services name its call."""
    item_id = read_text(native, "item_id") or read_text(native, "call_id")
    return read_index(native, "output_index"), item_id


def piece_of(native: Any) -> str:
    """The piece in a delta, which some services send as an object; an empty one is none."""
    value = read(native, "delta")
    return "" if is_object(value) and not value else as_text(value)


def as_text(value: Any) -> str:
    """Arguments as JSON text: text as it is, anything else written once."""
    if isinstance(value, str):
        return value
    return "" if value is None else to_json(value)


def as_plain(content: Any) -> dict[str, Any]:
    """A copy of a native item as a plain dict, empty where it is no object."""
    plain = to_plain(content)
    return plain if is_object(plain) else {}


@final
@dataclass(slots=True, eq=False)
class Item:
    """One output item: who it is, what has arrived of it, whether it was closed.

    Attributes:
        position: Its place in the order of arrival.
        kind: Its type.
        item_id: Its own id, `""` where there is none. Some services change it at every event.
        call_id: The id that its answer refers to, `""` where there is none.
        content: The item as its end stated it, `None` before.
        pieces: Argument text of a call, or text of a message, in order.
        open_call: The call, where the caller runs it.
        external: The call, where the provider runs it.
        unannounced: Its pieces came before its announcement.
        stated: The whole of its arguments was stated: later pieces are stale.
        ended: Its own end was seen.
        number: The sequence number of its last piece: one that is not greater repeats a piece.
    """

    position: int
    kind: str
    item_id: str
    call_id: str
    content: dict[str, Any] | None = None
    pieces: list[str] = field(default_factory=list[str])
    open_call: OpenCall | None = None
    external: ExternalCall | None = None
    unannounced: bool = False
    stated: bool = False
    ended: bool = False
    number: int | None = None
    _known: set[str] = field(default_factory=set[str])
    _noted: int = 0

    @property
    def text(self) -> str:
        """What has arrived."""
        return "".join(self.pieces)

    def holds(self, piece: str) -> bool:
        """Whether a piece came before; each piece is looked at once, when somebody asks."""
        self._known.update(self.pieces[self._noted :])
        self._noted = len(self.pieces)
        return piece in self._known


def closed_there(item: Item, content: Any) -> bool:
    """Whether the terminal event proves an open call whole: some services give it no status."""
    if item.open_call is None or item.ended:
        return False
    status = read_text(content, "status")
    return status == "completed" or (not status and stated_arguments(item.kind, content) != "")
