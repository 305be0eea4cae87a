"""Cohere chat: the v2 stream, told apart by `type`, and the v1 stream, told apart by `event_type`.

In v2 a call is announced by `tool-call-start`, ended by `tool-call-end` and judged by the
`finish_reason` of `message-end`; calls are numbered apart from content blocks. In v1 pieces may
come first, `tool-calls-generation` states the calls whole, and `stream-end` repeats them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    ArgumentsRestated,
    CallCompleted,
    Event,
    ReasoningDelta,
    StreamFault,
    TextDelta,
)
from finalcall.outcomes import Cause
from finalcall.providers.base import (
    Answered,
    Context,
    Normaliser,
    OpenCall,
    Provider,
    carrying,
    only_native,
)
from finalcall.providers.native import read, read_count, read_index, read_list, read_text
from finalcall.providers.openai_chat.echo import answer_content, arguments_of
from finalcall.providers.values import text_of
from finalcall.stop_reasons import Verdict
from finalcall.strict import encodable

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "TOOL_CALL": Verdict.COMPLETE,
    "COMPLETE": Verdict.COMPLETE,
    "STOP_SEQUENCE": Verdict.COMPLETE,
    "MAX_TOKENS": Verdict.TRUNCATED,
    "ERROR_LIMIT": Verdict.TRUNCATED,
    "ERROR_TOXIC": Verdict.FILTERED,
    "ERROR": Verdict.ERROR,
    "TIMEOUT": Verdict.ERROR,
    "USER_CANCEL": Verdict.ERROR,
}
"""Every value of the SDK's `ChatFinishReason` (v2), `ChatStreamEndEventFinishReason` and
`FinishReason` (v1). `ERROR_LIMIT` is the context limit."""

_V2_EVENTS: Final = frozenset(
    {
        "message-start",
        "content-start",
        "content-delta",
        "content-end",
        "tool-plan-delta",
        "tool-call-start",
        "tool-call-delta",
        "tool-call-end",
        "citation-start",
        "citation-end",
        "message-end",
        "debug",
    }
)
_V1_EVENTS: Final = frozenset(
    {
        "stream-start",
        "search-queries-generation",
        "search-results",
        "text-generation",
        "citation-generation",
        "tool-calls-chunk",
        "tool-calls-generation",
        "stream-end",
        "debug",
    }
)


def recognises(native: Any) -> bool:
    """Whether a native event is one of Cohere's chat streams."""
    kind = read(native, "type")
    if kind is not None:
        return isinstance(kind, str) and kind in _V2_EVENTS
    return read_text(native, "event_type") in _V1_EVENTS


@final
class CohereNormaliser(Normaliser):
    """One chat message of either version."""

    provider = "cohere"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"TOOL_CALL"})

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._closed: set[str] = set()
        self._plan: list[str] = []
        self._thinking: list[str] = []
        self._message_id: str | None = None
        self._started = False
        self._first_version = False
        self._handlers: dict[str, Callable[[Any], list[Event]]] = {
            "content-delta": self._content,
            "content-start": self._content,
            "tool-plan-delta": self._plan_delta,
            "tool-call-delta": self._call_delta,
            "tool-call-start": self._call_start,
            "tool-call-end": self._call_end,
            "message-start": self._message_start,
            "message-end": self._message_end,
        }
        self._first_version_handlers: dict[str, Callable[[Any], list[Event]]] = {
            "stream-start": self._stream_start,
            "text-generation": lambda native: self._text(read_text(native, "text"), native),
            "tool-calls-chunk": self._calls_chunk,
            "tool-calls-generation": self._calls_stated,
            "stream-end": self._stream_end,
        }

    def feed(self, native: Any) -> list[Event]:
        """Translate one event."""
        handler = self._handlers.get(read_text(native, "type"))
        if handler is not None:
            return handler(native)
        handler = self._first_version_handlers.get(read_text(native, "event_type"))
        if handler is None:
            return self.unknown(native)
        self._first_version = True
        return handler(native)

    # What both versions have

    def _text(self, text: str, native: Any) -> list[Event]:
        if not text:
            return only_native(native)
        self.text.append(text)
        return [TextDelta(text, 0, native)]

    def _planned(self, text: str, native: Any) -> list[Event]:
        """The model's plan for its calls: prose about them, not a part of them."""
        if not text:
            return only_native(native)
        self._plan.append(text)
        return [ReasoningDelta(text, 0, native)]

    def _start(self, message_id: str, native: Any) -> list[Event]:
        if self._started and (self._calls or self.text):
            if not message_id or message_id != self._message_id:
                self.anomaly("spliced_stream")
                self._by_index = {}
                return [StreamFault(Cause.MALFORMED, "spliced_stream", ends=False, native=native)]
            self.anomaly("message_restarted")
        self._started = True
        self._message_id = message_id or self._message_id
        return only_native(native)

    def _announce(self, index: int, call_id: str, name: str) -> OpenCall:
        identity = self.identify(call_id, name)
        made = self._by_index[index] = OpenCall(identity)
        self._calls.append(made)
        if not name:
            self.anomaly("no_name", identity.key)
        return made

    def _read_usage(self, usage: Any) -> None:
        for counts in (read(usage, "billed_units"), read(usage, "tokens")):
            for name in ("input_tokens", "output_tokens"):
                count = read_count(counts, name)
                if count is not None:
                    setattr(self.usage, name, count)

    # Version 2

    def _message_start(self, native: Any) -> list[Event]:
        return self._start(read_text(native, "id"), native)

    def _content(self, native: Any) -> list[Event]:
        content = read(read(read(native, "delta"), "message"), "content")
        thinking = read_text(content, "thinking")
        if thinking:
            self._thinking.append(thinking)
            return [ReasoningDelta(thinking, 0, native)]
        return self._text(read_text(content, "text"), native)

    def _plan_delta(self, native: Any) -> list[Event]:
        return self._planned(read_text(_message(native), "tool_plan"), native)

    def _call_start(self, native: Any) -> list[Event]:
        """Announce the call: one object, where its name promises a list; a list is read too."""
        index = read_index(native, "index")
        index = len(self._calls) if index is None else index
        events: list[Event] = []
        for offset, entry in enumerate(_entries(native)):
            events += self._begin(index + offset, entry, None if offset else native)
        return carrying(events, native)

    def _begin(self, index: int, entry: Any, native: Any) -> list[Event]:
        call_id = read_text(entry, "id")
        function = read(entry, "function")
        name, arguments = read_text(function, "name"), read(function, "arguments")
        given = "" if isinstance(arguments, str) else text_of(arguments)
        known = self._by_index.get(index)
        if known is not None and known.identity.name is None:
            # Its pieces came first: the announcement only says whose they were.
            known.identity.name, known.identity.call_id = name or None, call_id or None
            return []
        if known is not None and self.replays(
            known.identity, call_id, name, closed=known.identity.key in self._closed
        ):
            self.anomaly("call_replayed", known.identity.key)
        else:
            known = self._announce(index, call_id, name)
        events: list[Event] = [known.announced(native, given)]
        if isinstance(arguments, str) and arguments:
            events.append(known.delta(arguments, None))
        return events

    def _call_delta(self, native: Any) -> list[Event]:
        text = text_of(read(read(_entries(native)[0], "function"), "arguments"))
        if not text:
            return only_native(native)
        known = self._call_at(native)
        if known is not None:
            if known.identity.key in self._closed:
                self.anomaly("delta_after_end", known.identity.key)
            return [known.delta(text, native)]
        index = read_index(native, "index")
        made = self._announce(len(self._calls) if index is None else index, "", "")
        self.anomaly("delta_for_unknown_call", made.identity.key)
        return [made.announced(None), made.delta(text, native)]

    def _call_at(self, native: Any) -> OpenCall | None:
        """The call that an event is about: without an index, the one that began last."""
        index = read_index(native, "index")
        if index is None:
            return self._calls[-1] if self._calls else None
        return self._by_index.get(index)

    def _call_end(self, native: Any) -> list[Event]:
        known = self._call_at(native)
        if known is None:
            return only_native(native)
        self._closed.add(known.identity.key)
        return [CallCompleted(known.call, False, native)]

    def _message_end(self, native: Any) -> list[Event]:
        self.ended = True
        delta = read(native, "delta")
        self._read_usage(read(delta, "usage"))
        events: list[Event] = []
        reason = read_text(delta, "finish_reason")
        if reason:
            events.append(self.stopped(reason, None))
        if read(delta, "error") and self.stop_reasons.get(reason) is not Verdict.ERROR:
            events.append(self.fault(None, None))
        return carrying(events, native)

    # Version 1

    def _stream_start(self, native: Any) -> list[Event]:
        return self._start(read_text(native, "generation_id"), native)

    def _calls_chunk(self, native: Any) -> list[Event]:
        delta = read(native, "tool_call_delta")
        plan = read_text(delta, "text") or read_text(native, "text")
        if plan:
            return self._planned(plan, native)
        name, text = read_text(delta, "name"), read_text(delta, "parameters")
        index = read_index(delta, "index")
        known = self._by_index.get(index) if index is not None else self._last()
        events: list[Event] = []
        if known is None or (name and index is None):
            known = self._announce(len(self._calls) if index is None else index, "", name)
            events.append(known.announced(None))
        if text:
            events.append(known.delta(text, native))
        return carrying(events, native)

    def _last(self) -> OpenCall | None:
        return self._calls[-1] if self._calls else None

    def _calls_stated(self, native: Any) -> list[Event]:
        return carrying(self._state(read_list(native, "tool_calls")), native)

    def _state(self, entries: list[Any]) -> list[Event]:
        """Take the calls as the service states them whole; those that it stated before stay."""
        events: list[Event] = []
        for position, entry in enumerate(entries):
            text = text_of(read(entry, "parameters"))
            known = self._by_index.get(position)
            if known is not None and known.identity.key in self._closed:
                continue
            if known is None:
                known = self._announce(position, "", read_text(entry, "name"))
                events.append(known.announced(None))
            if not known.identity.size:
                events.append(known.delta(text, None))
            else:
                events.append(ArgumentsRestated(known.call, text))
            self._closed.add(known.identity.key)
            events.append(CallCompleted(known.call, True))
        return events

    def _stream_end(self, native: Any) -> list[Event]:
        self.ended: bool = True
        response = read(native, "response")
        self._read_usage(read(response, "meta"))
        events = self._state(read_list(response, "tool_calls"))
        reason = read_text(native, "finish_reason")
        if reason:
            events.append(self.stopped(reason, None))
        return carrying(events, native)

    # History

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """In v2 messages, one a result; in v1 entries of `chat_history`, the results in one.

        Cohere refuses a message without content and calls, a plan without calls and a result
        without its call: none of them is sent. It has no error flag, so a failed tool's text
        says it.
        """
        kept = [answers[call.identity.key] for call in self._calls if call.identity.key in answers]
        if self._first_version:
            return self._first_version_history(kept)
        kept = _with_own_ids(kept)
        message: dict[str, Any] = {"role": "assistant"}
        content = self._content_history()
        if content:
            message["content"] = content
        if kept:
            message["tool_calls"] = [_tool_call(answer) for answer in kept]
            if self._plan:
                message["tool_plan"] = encodable("".join(self._plan))
        if not content and not kept:
            return []
        return [message, *(_tool_message(answer) for answer in kept)]

    def _content_history(self) -> str | list[dict[str, Any]]:
        text, thinking = (encodable("".join(pieces)) for pieces in (self.text, self._thinking))
        if not thinking:
            return text
        said = [{"type": "text", "text": text}] if text else []
        return [{"type": "thinking", "thinking": thinking}, *said]

    def _first_version_history(self, kept: list[Answered]) -> list[dict[str, Any]]:
        said = encodable("".join(self.text) or "".join(self._plan))
        calls = [{"name": answer.name, "parameters": answer.args} for answer in kept]
        if not calls:
            return [{"role": "CHATBOT", "message": said}] if said else []
        results = [
            {"call": call, "outputs": [_output(answer)]}
            for call, answer in zip(calls, kept, strict=True)
        ]
        return [
            {"role": "CHATBOT", "message": said, "tool_calls": calls},
            {"role": "TOOL", "tool_results": results},
        ]


def _message(native: Any) -> Any:
    return read(read(native, "delta"), "message")


def _entries(native: Any) -> list[Any]:
    message = _message(native)
    return read_list(message, "tool_calls") or [read(message, "tool_calls")]


def _with_own_ids(kept: list[Answered]) -> list[Answered]:
    """The calls that a result can name: those with an id, and an id only once."""
    by_id: dict[str, Answered] = {}
    for answer in kept:
        if answer.call.call_id is not None:
            by_id.setdefault(answer.call.call_id, answer)
    return list(by_id.values())


def _tool_call(answer: Answered) -> dict[str, Any]:
    function = {"name": answer.name, "arguments": arguments_of(answer)}
    return {"id": answer.call.call_id, "type": "function", "function": function}


def _tool_message(answer: Answered) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": answer.call.call_id,
        "content": answer_content(answer),
    }


def _output(answer: Answered) -> dict[str, Any]:
    return {"error" if answer.result.is_error else "output": answer.result.content}


PROVIDER: Final = Provider("cohere", CohereNormaliser, recognises, "sse")
