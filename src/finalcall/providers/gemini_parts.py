"""The parts of a Gemini message: kept as they come, found again, repeated by the next request.

Thought signatures go back on the parts they came on; results go into one message, in the order of
their calls.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, final

from finalcall.narrow import is_object
from finalcall.providers.base import Answered, OpenCall
from finalcall.providers.gemini_partial_args import PartialArguments
from finalcall.providers.native import read_either, to_json, to_plain
from finalcall.results import ToolResult

_MEDIA: Final = ("inlineData", "fileData", "inline_data", "file_data")
"""What a function response may carry beside its JSON."""

NO_ARGUMENTS: Final = "{}"
"""The text of a call without arguments."""


@final
class Part:
    """One part of the model's message.

    Attributes:
        kind: `text`, `thought`, `call` (the client's), `withdrawn` (such a call that somebody
            else ran), `replay` (one that was sent again), `answer` (to a call that somebody else
            ran), or another part's own word.
        signature: The thought signature, base64.
        pieces: The text.
        plain: Another part, whole.
        pair: What joins another part with its answer; `""` for a part that needs none.
        open_call: The client's call.
        text: Its argument text, where it came whole.
        sense: What that text says, whatever the order of its members.
        arguments: Its arguments, while they stream by path.
    """

    __slots__ = (
        "arguments",
        "kind",
        "open_call",
        "pair",
        "pieces",
        "plain",
        "sense",
        "signature",
        "text",
    )

    def __init__(self, kind: str, native: Any) -> None:
        self.kind: str = kind
        self.signature: str = signature_of(native)
        self.pieces: list[str] = []
        self.plain: dict[str, Any] = {}
        self.pair: str = ""
        self.open_call: OpenCall | None = None
        self.text: str | None = None
        self.sense: str | None = None
        self.arguments: PartialArguments | None = None

    @classmethod
    def copy_of(cls, kind: str, native: Any, pair: str = "") -> Part:
        """Keep a part of another kind whole."""
        part = cls(kind, native)
        part.plain = _plain(native, part.signature)
        part.pair = pair
        return part

    @property
    def call_id(self) -> str | None:
        """The id of the client's call."""
        return None if self.open_call is None else self.open_call.identity.call_id

    @property
    def name(self) -> str | None:
        """The name of the client's call."""
        return None if self.open_call is None else self.open_call.identity.name

    def lacks(self, name: str, call_id: str) -> bool:
        """Whether arguments that come with this name and id, each of them mostly `""`, are its."""
        return not name and call_id in ("", self.call_id)

    @property
    def is_answer(self) -> bool:
        """Whether it is the answer to another part."""
        return self.kind == "answer"


def to_base64(value: Any) -> str:
    """Bytes as the wire has them; the SDK's objects hold them decoded. `""` for anything else."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, str) else ""


def signature_of(native: Any) -> str:
    """The thought signature of a native part, base64, or `""`."""
    return to_base64(read_either(native, "thoughtSignature", "thought_signature"))


def whole_text(arguments: Any) -> str:
    """Whole arguments as text: they are an object, but for proxies that send them as text."""
    if isinstance(arguments, str):
        return arguments if arguments.strip() else NO_ARGUMENTS
    return to_json({} if arguments is None else arguments)


def sense_of(arguments: Any) -> str:
    """Whole arguments as text that is the same in whichever order an object's members come."""
    if is_object(arguments):
        with suppress(TypeError, ValueError, RecursionError):  # what no JSON can hold
            return json.dumps(to_plain(arguments), ensure_ascii=False, sort_keys=True)
    return whole_text(arguments)


@final
class Parts:
    """The parts of one candidate, in order, and what they are found by.

    Attributes:
        kept: The parts.
    """

    def __init__(self) -> None:
        self.kept: list[Part] = []
        self._calls_by_id: dict[tuple[str, str], Part] = {}
        self._calls_by_name: dict[str, deque[Part]] = {}
        self._calls_by_sense: dict[tuple[str, str], Part] = {}
        self._streamed_by_id: dict[str, Part] = {}
        self._pairs: dict[str, dict[str, None]] = {}

    def keep(self, part: Part) -> None:
        """Keep a part."""
        self.kept.append(part)

    def keep_call(self, part: Part, name: str, call_id: str) -> None:
        """Keep a call of the client's."""
        self.kept.append(part)
        self._calls_by_name.setdefault(name, deque()).append(part)
        if call_id:
            self._calls_by_id.setdefault((call_id, name), part)
        elif part.sense is not None:
            self._calls_by_sense.setdefault((name, part.sense), part)

    def keep_streamed(self, part: Part) -> None:
        """Let the parts with its id find a call whose arguments stream."""
        if part.call_id:
            self._streamed_by_id[part.call_id] = part

    def find_streamed(
        self, name: str, call_id: str, latest: Part | None, *, more: bool
    ) -> Part | None:
        """The call whose arguments a part goes on with.

        A part with an id goes to the call of that id, which may have ended, and to no other: but an
        id may come late, with the first part after the one that opened the call.

        Args:
            name: The tool's name, or `""`.
            call_id: The call's id, or `""`.
            latest: The call that the part before was about, where it is still open.
            more: The part has pieces of a call, or only ends one: it goes on with the open call
                though it says its name again.
        """
        if not call_id:
            again = more and latest is not None and name == latest.name
            return latest if again or not name else None
        known = self._streamed_by_id.get(call_id)
        if known is not None:
            if not name or (name == known.name and known.arguments is not None):
                return known
            return None
        late = not name and latest is not None and latest.call_id is None
        return latest if late else None

    def keep_external(self, kind: str, native: Any, call_id: str) -> None:
        """Keep a call that somebody else runs, whose answer will ask for it."""
        pairs = self._pairs.setdefault(kind, {})
        pair = f"{kind} {call_id or len(self.kept)}"
        pairs[pair] = None
        self.kept.append(Part.copy_of(kind, native, pair))

    def keep_answer(self, kind: str, native: Any, call_id: str) -> None:
        """Keep the answer to such a call: by id, else to the last of its kind.

        Args:
            kind: The kind of part that it answers.
            native: The native part.
            call_id: The id of the call, or `""`.
        """
        pairs = self._pairs.get(kind, {})
        pair = f"{kind} {call_id}"
        if pair not in pairs:
            pair = next(reversed(pairs), "unasked")
        self.kept.append(Part.copy_of("answer", native, pair))

    def find_known(
        self, name: str, call_id: str, sense: str | None, *, stopped: bool
    ) -> Part | None:
        """The call that is being sent again, if it is.

        By its id, where it also says the same or the candidate had stopped; without an id only
        where the candidate had stopped: before, a model may well repeat itself.

        Args:
            name: The tool's name.
            call_id: The call's id, or `""`.
            sense: What the whole arguments say, `None` where they stream.
            stopped: The candidate had stopped.
        """
        if not call_id:
            return self._calls_by_sense.get((name, sense)) if stopped and sense else None
        known = self._calls_by_id.get((call_id, name))
        says_same = known is not None and sense is not None and known.sense == sense
        return known if stopped or says_same else None

    def find_asked(self, call_id: str, name: str) -> Part | None:
        """The client's call that an answer in the stream is to: by id, else the next by name."""
        known = self._calls_by_id.get((call_id, name))
        if known is not None:
            return known
        waiting = self._calls_by_name.get(name, deque())
        while waiting and waiting[0].kind != "call":
            waiting.popleft()
        if not waiting or (call_id and waiting[0].call_id):
            return None
        return waiting[0]


def contents(parts: Sequence[Part], answers: Mapping[str, Answered]) -> list[dict[str, Any]]:
    """The model's message, and the message with every result, where there are calls.

    Gemini refuses an empty text without a signature, a call without its response in the next
    message, code without its result, and a message without parts: none of them is sent.

    Args:
        parts: The parts of one candidate.
        answers: The calls that stay, by key.
    """
    paired = _complete_pairs(parts)
    content: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    speaks = False
    unplaced = ""
    for part in parts:
        if part.open_call is not None:
            answer = answers.get(part.open_call.identity.key)
            if answer is None:
                # Parallel calls share the signature of the first, so it passes to the next.
                unplaced = unplaced or part.signature
                continue
            content.append(_function_call(answer, part.signature or unplaced))
            responses.append(_function_response(answer))
            unplaced = ""
            speaks = True
        elif part.kind in ("text", "thought"):
            content.append(_text(part))
            speaks = speaks or (part.kind == "text" and bool(part.pieces))
        elif not part.pair or part.pair in paired:
            content.append(part.plain)
            speaks = True
    if not speaks:
        return []
    messages: list[dict[str, Any]] = [{"role": "model", "parts": content}]
    if responses:
        messages.append({"role": "user", "parts": responses})
    return messages


def _complete_pairs(parts: Sequence[Part]) -> set[str]:
    asked = {part.pair for part in parts if not part.is_answer}
    return asked & {part.pair for part in parts if part.is_answer}


def _text(part: Part) -> dict[str, Any]:
    made: dict[str, Any] = {"text": "".join(part.pieces)}
    if part.kind == "thought":
        made["thought"] = True
    return _signed(made, part.signature)


def _signed(made: dict[str, Any], signature: str) -> dict[str, Any]:
    if signature:
        made["thoughtSignature"] = signature
    return made


def _named(answer: Answered) -> dict[str, Any]:
    """The id, where the service gave one, and the name."""
    named: dict[str, Any] = {"name": answer.name}
    if answer.call.call_id is not None:
        named["id"] = answer.call.call_id
    return named


def _function_call(answer: Answered, signature: str) -> dict[str, Any]:
    return _signed({"functionCall": {**_named(answer), "args": answer.args}}, signature)


def _function_response(answer: Answered) -> dict[str, Any]:
    text, media = _split(answer.result)
    # The key is the only flag that an error has here.
    key = "error" if answer.result.is_error else "output"
    response: dict[str, Any] = {**_named(answer), "response": {key: text}}
    if media:
        response["parts"] = media
    return {"functionResponse": response}


def _split(result: ToolResult) -> tuple[str, list[dict[str, Any]]]:
    """A result's text, and the media that goes beside it."""
    if isinstance(result.content, str):
        return result.content, []
    texts: list[str] = []
    media: list[dict[str, Any]] = []
    for block in result.content:
        plain = to_plain(block)
        if not is_object(plain):
            continue
        text = plain.get("text")
        if isinstance(text, str):
            texts.append(text)
        kept = {name: plain[name] for name in _MEDIA if plain.get(name) is not None}
        if kept:
            media.append(kept)
    return "".join(texts), media


def _plain(native: Any, signature: str) -> dict[str, Any]:
    """A native part as a plain dict with the wire's names."""
    dumped = to_plain(native)
    if not is_object(dumped):
        return {}
    plain = {_camel(str(name)): value for name, value in dumped.items() if value is not None}
    return _signed(plain, signature) if plain else {}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
