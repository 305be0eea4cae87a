"""Ollama's native chat (`/api/chat`): one object a line, calls whole.

A call is announced, complete and ended by the entry that brings it; the message is judged by the
`done_reason` of the line with `done: true`, which is also its end. Nothing tells two calls apart
but their order: the wire's ids are recent, and the Python client drops them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import CallCompleted, Event, ReasoningDelta, TextDelta
from finalcall.narrow import is_mapping
from finalcall.providers.base import (
    Answered,
    Context,
    Normaliser,
    OpenCall,
    Provider,
    carrying,
)
from finalcall.providers.native import read, read_count, read_list, read_text
from finalcall.providers.openai_chat.echo import answer_content
from finalcall.providers.values import given_text, text_of
from finalcall.stop_reasons import Verdict
from finalcall.strict import encodable

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "stop": Verdict.COMPLETE,
    "length": Verdict.TRUNCATED,
    "load": Verdict.UNKNOWN,
    "unload": Verdict.UNKNOWN,
}
"""The server's words; the SDK types them as any string. There is no word for calls. `load` and
`unload` mean that nothing was generated."""


def recognises(native: Any) -> bool:
    """Whether a native event is a line of Ollama's chat."""
    if isinstance(read(native, "done"), bool):
        return read_text(read(native, "message"), "role") != ""
    # A stream that fails at once is one line, with nothing but a sentence in it.
    return is_mapping(native) and len(native) == 1 and bool(read_text(native, "error"))


@final
class OllamaNormaliser(Normaliser):
    """One chat message."""

    provider = "ollama"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._calls: list[OpenCall] = []
        self._seen: dict[str, tuple[str, str]] = {}
        self._thinking: list[str] = []

    def feed(self, native: Any) -> list[Event]:
        """Translate one line."""
        if is_mapping(native) and read(native, "error"):
            return [self.fault(read(native, "error"), native)]
        message = read(native, "message")
        if read(native, "done") is None and (message is None or isinstance(message, str)):
            return self.unknown(native)
        events: list[Event] = []
        thinking, text = read_text(message, "thinking"), read_text(message, "content")
        if thinking:
            self._thinking.append(thinking)
            events.append(ReasoningDelta(thinking, 0, native))
        if text:
            self.text.append(text)
            events.append(TextDelta(text, 0, None if events else native))
        for entry in read_list(message, "tool_calls"):
            events += self._call(entry, None if events else native)
        if read(native, "done") is True:
            events += self._done(native, None if events else native)
        return carrying(events, native)

    def _call(self, entry: Any, native: Any) -> list[Event]:
        function = read(entry, "function")
        call_id, name = read_text(entry, "id"), read_text(function, "name")
        # No text for no arguments: beside text that nothing named, they are not proved to be none.
        text = given_text(read(function, "arguments"))
        if call_id and self._seen.get(call_id) == (name, text):
            self.anomaly("call_replayed", call_id)
            return []
        self._seen[call_id] = (name, text)
        identity = self.identify(call_id, name)
        if not name:
            self.anomaly("no_name", identity.key)
        made = OpenCall(identity)
        self._calls.append(made)
        pieces = [made.delta(text, None)] if text else []
        return [made.announced(native), *pieces, CallCompleted(made.call, True)]

    def _done(self, native: Any, carried: Any) -> list[Event]:
        self.ended = True
        self.usage.input_tokens = read_count(native, "prompt_eval_count")
        self.usage.output_tokens = read_count(native, "eval_count")
        # A server whose engine died sends the line without a reason.
        reason = read_text(native, "done_reason")
        return [self.stopped(reason, carried)] if reason else []

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """One assistant message, then one message a result, in the order of the calls.

        Results are matched by order and name, so nothing needs an id; one that the wire gave goes
        back. There is no error flag, so a failed tool's text says it.
        """
        kept = [answers[call.identity.key] for call in self._calls if call.identity.key in answers]
        text, thinking = (encodable("".join(pieces)) for pieces in (self.text, self._thinking))
        if not text and not kept:
            return []
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if thinking:
            message["thinking"] = thinking
        if kept:
            message["tool_calls"] = [_tool_call(answer) for answer in kept]
        return [message, *(_tool_message(answer) for answer in kept)]


def _tool_call(answer: Answered) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"name": answer.name, "arguments": answer.args}}
    return {"id": answer.call.call_id, **call} if answer.call.call_id else call


def _tool_message(answer: Answered) -> dict[str, Any]:
    content = text_of(answer_content(answer))
    message = {"role": "tool", "tool_name": answer.name, "content": content}
    if answer.call.call_id:
        message["tool_call_id"] = answer.call.call_id
    return message


PROVIDER: Final = Provider("ollama", OllamaNormaliser, recognises, "ndjson")
