"""The short way of a chunk that brings one more piece of the call that is being written.

Such a chunk has one choice, one entry in it, and nothing else that says anything: no id, no name,
no text, no reason, no usage. Every other chunk, odd or not, is left to the normaliser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from finalcall.providers.base import Following
from finalcall.providers.openai_chat.keying import KeyedCall

_OF_DELTA: Final = frozenset({"tool_calls", "role"})
_OF_ENTRY: Final = frozenset({"index", "function", "type"})
_OF_FUNCTION: Final = frozenset({"arguments"})


@final
class Place:
    """Where the next piece of a call is expected.

    Args:
        choice: The index of its choice.
        index: The index that its last piece came with.
        chunk_id: The id of that chunk.
    """

    __slots__ = ("_choice", "_chunk_id", "_index")

    def __init__(self, choice: int, index: int, chunk_id: str) -> None:
        self._choice = choice
        self._index = index
        self._chunk_id = chunk_id

    def in_dict(self, chunk: Mapping[str, Any]) -> Any:
        """The piece in a chunk's dict; `None` where it brings none, or anything besides.

        Raises:
            KeyError, TypeError, ValueError: The chunk has another form.
        """
        (choice,) = chunk["choices"]
        delta = choice["delta"]
        (entry,) = delta["tool_calls"]
        function = entry["function"]
        if (
            choice["index"] != self._choice
            or entry["index"] != self._index
            or chunk.get("id", self._chunk_id) != self._chunk_id
            or chunk.get("object") == "error"
            or chunk.get("usage")
            or chunk.get("x_groq")
            or chunk.get("error")
            or chunk.get("base_resp")
            # Nothing more in the choice: whatever is neither its delta nor its index is null.
            or [*choice.values()].count(None) != len(choice) - 2
            # Where there is nothing but the fields that were just read, nobody need look further.
            or (len(delta) > 1 and _more(delta, _OF_DELTA))
            or (len(entry) > 2 and _more(entry, _OF_ENTRY))
            or (len(function) > 1 and _more(function, _OF_FUNCTION))
        ):
            return None
        return function["arguments"]

    def in_object(self, chunk: Any) -> Any:
        """The same for the openai client's object.

        Raises:
            AttributeError, TypeError, ValueError: It is none of these, or has another form.
        """
        (choice,) = chunk.choices
        delta = choice.delta
        (entry,) = delta.tool_calls
        function = entry.function
        if (
            choice.index != self._choice
            or entry.index != self._index
            or chunk.id != self._chunk_id
            or chunk.usage
            or choice.finish_reason
            or delta.content
            or delta.refusal
            or delta.function_call
            or entry.id
            or function.name
            or chunk.__pydantic_extra__
            or choice.__pydantic_extra__
            or delta.__pydantic_extra__
            or entry.__pydantic_extra__
        ):
            return None
        return function.arguments


def _more(fields: Mapping[str, Any], known: frozenset[str]) -> bool:
    """Whether a node says anything besides what is known."""
    for name, value in fields.items():  # noqa: SIM110 - a generator costs as much as all the rest
        if value is not None and name not in known:
            return True
    return False


def follower(place: Place, call: KeyedCall) -> Following:
    """How to read the next pieces of a call.

    Args:
        place: Where they are expected.
        call: The call: open, and the last that a piece came of.
    """
    identity, so_far = call.identity, call.text

    def follow(native: Any) -> str | None:
        try:
            piece = place.in_dict(native) if native.__class__ is dict else place.in_object(native)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        # A piece as long as all that came may be all of it once more.
        if type(piece) is not str or not piece or len(piece) == so_far.size:
            return None
        so_far.append(piece)
        identity.size += len(piece)
        return piece

    return follow
