"""What one choice said, and the messages in which the next request repeats it.

Reasoning goes back under the name it came in, because services insist on their own name and refuse
the others'. Ids and argument texts go back as they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from finalcall.events import CallKind
from finalcall.narrow import is_array, is_object
from finalcall.providers.base import Answered
from finalcall.providers.native import to_plain
from finalcall.providers.openai_chat.keying import KeyedCall
from finalcall.strict import encodable

_GROWING: Final = ("text", "summary", "thinking")
"""The fields of a reasoning item that grow; the others are set once."""

_IN_PIECES: Final = frozenset({"reasoning.text", "reasoning.summary", "thinking"})
"""The types of reasoning items that come in pieces; the others come whole."""


@final
class _Item:
    """One reasoning item, put together from its pieces."""

    def __init__(self, piece: dict[str, Any]) -> None:
        self.fields: dict[str, Any] = {}
        self.growing: dict[str, list[str]] = {}
        self.add(piece)

    def add(self, piece: dict[str, Any]) -> None:
        for name, value in piece.items():
            if name in _GROWING and isinstance(value, str):
                self.growing.setdefault(name, []).append(value)
            elif value is not None or name not in self.fields:
                self.fields[name] = value

    def goes_on_with(self, piece: dict[str, Any]) -> bool:
        if self.fields.get("type") not in _IN_PIECES or any(
            self.fields.get(name) != piece.get(name) for name in ("type", "index")
        ):
            return False
        # A signature closes its item.
        return not self.fields.get("signature") or not any(piece.get(name) for name in _GROWING)

    def whole(self) -> dict[str, Any]:
        return self.fields | {name: encodable("".join(p)) for name, p in self.growing.items()}


@final
class Echo:
    """What one choice said.

    Attributes:
        content: The pieces of its text.
        refusal: The pieces of its refusal.
        reasoning_field: The field in which its reasoning came, or `""`.
        reasoning: The pieces of its reasoning.
        extras: Fields of the message that go back unchanged.
    """

    def __init__(self) -> None:
        self.content: list[str] = []
        self.refusal: list[str] = []
        self.reasoning_field: str = ""
        self.reasoning: list[str] = []
        self.extras: dict[str, Any] = {}
        self._items: dict[str, list[_Item]] = {}

    def add_reasoning(self, field: str, text: str) -> bool:
        """Add a piece of reasoning, and say whether it is news.

        Services that fill two fields repeat themselves: the first one used is the one that counts.

        Args:
            field: The field it came in.
            text: The piece; an empty one only says that the field is in use.
        """
        if not self.reasoning or field == self.reasoning_field:
            self.reasoning_field = field
            if text:
                self.reasoning.append(text)
                return True
        return False

    def add_items(self, field: str, pieces: Any) -> None:
        """Add pieces of reasoning items, some of which are signed or encrypted.

        Args:
            field: The field they came in.
            pieces: The list in one chunk.
        """
        items = self._items.setdefault(field, [])
        for node in pieces if is_array(pieces) else []:
            piece = to_plain(node)
            if not is_object(piece):
                continue
            if items and items[-1].goes_on_with(piece):
                items[-1].add(piece)
            else:
                items.append(_Item(piece))

    def content_parts(self) -> str | list[dict[str, Any]] | None:
        """The message's content: text, or parts where the model refused, or nothing."""
        text = encodable("".join(self.content))
        refusal = encodable("".join(self.refusal))
        if not refusal:
            return text or None
        parts = [{"type": "text", "text": text}] if text else []
        return [*parts, {"type": "refusal", "refusal": refusal}]

    def assistant_fields(self, *, calls_kept: bool, calls_gone: bool) -> dict[str, Any]:
        """The fields of the assistant message beside its content and its calls.

        Args:
            calls_kept: Some of its calls stay.
            calls_gone: Some of its calls are left out.
        """
        fields = dict(self.extras)
        reasoning = encodable("".join(self.reasoning))
        # DeepSeek wants the field beside calls even where it is empty.
        if reasoning or (calls_kept and self.reasoning_field == "reasoning_content"):
            fields[self.reasoning_field] = reasoning
        if calls_kept or not calls_gone:
            # Signed reasoning that led to a call only is refused without that call.
            fields |= {
                name: [item.whole() for item in items]
                for name, items in self._items.items()
                if items
            }
        return fields


def call_entry(call: KeyedCall, answer: Answered) -> dict[str, Any]:
    """A call of an assistant message.

    Args:
        call: The call.
        answer: What is known of it and its answer.
    """
    if call.identity.kind is CallKind.CUSTOM:
        body: dict[str, Any] = {"custom": {"name": answer.name, "input": encodable(answer.text)}}
    else:
        body = {"function": {"name": answer.name, "arguments": arguments_of(answer)}}
    return {
        "id": call.identity.call_id or "",
        "type": call.identity.kind.value,
        **body,
        **call.extras,
    }


def arguments_of(answer: Answered) -> str:
    """A call's argument text as it came; `{}` where there was none."""
    return encodable(answer.text) if answer.text.strip() else "{}"


def answer_content(answer: Answered) -> str | list[Any]:
    """A result's content. The API has no error flag, so the content says it."""
    content = answer.result.content
    if not answer.result.is_error:
        return content
    if is_array(content):
        return [{"type": "text", "text": "Error:"}, *content]
    return f"Error: {content}"


def legacy_messages(message: dict[str, Any], answer: Answered) -> Sequence[dict[str, Any]]:
    """The messages of a deprecated `function_call`: it has no id and one answer, by name."""
    name = answer.name
    content = answer_content(answer)
    return [
        {**message, "function_call": {"name": name, "arguments": arguments_of(answer)}},
        {"role": "function", "name": name, "content": content},
    ]
