"""Mistral: chat completions as the SDK hands them out, and the Conversations API.

Chat chunks are OpenAI's, wrapped in an event; the client fills in `"null"` for an absent id and 0
for an absent index, so parallel calls share an index. A conversation's calls come in pieces of
their own events and are ended by `conversation.response.done`, for there is no reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, ClassVar, Final, final

from finalcall.events import Event, ExternalState
from finalcall.narrow import is_array
from finalcall.providers.base import Answered, Context, Provider
from finalcall.providers.native import read, read_index, read_list, read_text
from finalcall.providers.openai_chat.echo import answer_content, arguments_of
from finalcall.providers.openai_chat.fields import entries_of, fields_of
from finalcall.providers.openai_chat.keying import ArgumentText, KeyedCall
from finalcall.providers.openai_chat.normaliser import ChatNormaliser, Choice
from finalcall.providers.values import text_of
from finalcall.stop_reasons import Verdict
from finalcall.strict import encodable

CONVERSATION_DONE: Final = "conversation.response.done"
"""The event that ends a conversation's response well; it stands for its stop reason."""

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "tool_calls": Verdict.COMPLETE,
    "stop": Verdict.COMPLETE,
    CONVERSATION_DONE: Verdict.COMPLETE,
    "length": Verdict.TRUNCATED,
    "model_length": Verdict.TRUNCATED,
    "error": Verdict.ERROR,
}
"""Every finish reason of the SDK, and the end of a conversation's response."""

_CONVERSATION_EVENTS: Final = frozenset(
    {
        "conversation.response.started",
        CONVERSATION_DONE,
        "conversation.response.error",
        "message.output.delta",
        "function.call.delta",
        "tool.execution.started",
        "tool.execution.delta",
        "tool.execution.done",
        "agent.handoff.started",
        "agent.handoff.done",
    }
)

_NO_ID: Final = (None, "", "null")
"""What stands for the id of a call that has none; the client's word is the last."""

_FIRST_OWN_INDEX: Final = 1_000_000
"""Beyond any index of the service's."""

_ENTRY: Final = {"object": "entry"}
"""What every entry of a conversation has."""


def recognises(native: Any) -> bool:
    """Whether a native event is the SDK's, of a chat or of a conversation.

    Chat chunks without the SDK's event around them are OpenAI's as far as can be seen.
    """
    data = read(native, "data")
    if read_text(data or native, "type") in _CONVERSATION_EVENTS:
        return True
    return data is not None and is_array(read(data, "choices"))


@final
class MistralNormaliser(ChatNormaliser):
    """One chat completion, or one response of a conversation."""

    provider = "mistral"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"tool_calls"})
    keeps_conversation = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._in_conversation = False
        self._conversation_id = ""
        self._thinking: list[str] = []
        self._signature: list[str] = []
        self._own_indexes = count(_FIRST_OWN_INDEX)
        self._readers["tool_calls"] = self._read_calls
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "conversation.response.started": self._conversation_started,
            CONVERSATION_DONE: self._conversation_done,
            "conversation.response.error": self._conversation_failed,
            "message.output.delta": self._message_output,
            "function.call.delta": self._function_call,
            "tool.execution.started": self._tool_running,
            "tool.execution.done": self._tool_done,
        }

    def chunk_fields(self, native: Any) -> Mapping[str, Any]:
        """The fields of what is in the SDK's event, or of the bare chunk."""
        fields = fields_of(native)
        data = fields.get("data")
        return fields if data is None else fields_of(data)

    def feed(self, native: Any) -> list[Event]:
        """Translate one chunk, or one event of a conversation."""
        fields = self.chunk_fields(native)
        kind = fields.get("type")
        if not isinstance(kind, str) or kind not in _CONVERSATION_EVENTS:
            return super().feed(native)
        self._in_conversation = True
        self._sink.begin(native)
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(fields)
        return self._sink.finish()

    # Content

    def read_content(self, choice: Choice, content: Any) -> None:
        """Read content: text, or a list of parts; those of type `thinking` are reasoning."""
        for part in content if is_array(content) else [content]:
            if isinstance(part, str):
                super().read_content(choice, part)
            elif fields_of(part).get("type") == "thinking":
                self._read_thinking(choice, fields_of(part))
            else:
                super().read_content(choice, [part])

    def _read_thinking(self, choice: Choice, fields: Mapping[str, Any]) -> None:
        text = "".join(read_text(fields_of(part), "text") for part in read_list(fields, "thinking"))
        if choice is self._first():
            self._thinking.append(text)
            self._signature.append(read_text(fields, "signature"))
        if text:
            self.say_reasoning(choice, text)

    # Calls

    def _read_calls(self, choice: Choice, entries: Any) -> None:
        """Read the calls of one list, in which nothing is sent again: two whole ones are two calls.

        The client gives both the same id and index where the wire has none, as if the second were
        the first once more. So it gets an index of its own.
        """
        seen: set[tuple[int | None, str]] = set()
        for entry in entries_of(entries):
            fields = fields_of(entry)
            function = fields_of(fields.get("function"))
            name = read_text(function, "name")
            if name and fields.get("id") in _NO_ID and _is_whole(function.get("arguments")):
                place = read_index(fields, "index"), name
                if place in seen:
                    fields = {**fields, "index": next(self._own_indexes)}
                seen.add(place)
            choice.calls.read_entry(fields)

    # Conversations

    def _only(self) -> Choice:
        """A conversation's one choice."""
        if not self._choices:
            self._choices[0] = Choice(self, self._sink, 0)
        return self._choices[0]

    def _conversation_started(self, fields: Mapping[str, Any]) -> None:
        self._conversation_id = read_text(fields, "conversation_id") or self._conversation_id

    def _message_output(self, fields: Mapping[str, Any]) -> None:
        content = fields.get("content")
        whole = isinstance(content, str) or is_array(content)
        self.read_content(self._only(), content if whole else [content])

    def _function_call(self, fields: Mapping[str, Any]) -> None:
        call_id, name = read_text(fields, "tool_call_id"), read_text(fields, "name")
        if read_text(fields, "confirmation_status"):
            # A tool of Mistral's that waits for the user's consent: a question, not a call.
            self._sink.events.append(self.external(call_id, name, self._sink.carried()))
            return
        function = {"name": name, "arguments": fields.get("arguments")}
        entry = {"index": fields.get("output_index"), "id": call_id, "function": function}
        self._only().calls.read_entry(entry)

    def _tool_running(self, fields: Mapping[str, Any]) -> None:
        call_id, name = read_text(fields, "id"), read_text(fields, "name") or "tool"
        self._sink.events.append(self.external(call_id, name, self._sink.carried()))

    def _tool_done(self, fields: Mapping[str, Any]) -> None:
        call_id, name = read_text(fields, "id"), read_text(fields, "name") or "tool"
        changed = self.external(call_id, name, self._sink.carried(), ExternalState.DONE)
        self._sink.events.append(changed)

    def _conversation_done(self, fields: Mapping[str, Any]) -> None:
        if usage := fields.get("usage"):
            self._read_usage(usage)
        choice = self._only()
        choice.calls.stop()
        choice.stopped = True
        self._sink.events.append(self.stopped(CONVERSATION_DONE, self._sink.carried()))
        self.ended = True

    def _conversation_failed(self, fields: Mapping[str, Any]) -> None:
        error = {"code": fields.get("code")}
        self._sink.events.append(self.fault(error, self._sink.carried()))

    # History

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """Chat: one assistant message, one message a result. Conversation: its entries.

        Mistral refuses fields that are not its own, a call without an id or a repeated one, and a
        number of results that is not that of the calls.

        Args:
            answers: The calls that stay, by key.
            paused: Changes nothing here.
            stored: Mistral keeps the conversation, which `request_fields` names. Then only the
                results are sent. It keeps failed calls, too, so they are answered as not run.
                Chats are kept by nobody.
        """
        if self._in_conversation:
            return self._results(answers) if stored else self._entries(answers)
        named: dict[str, str] = {}
        for key, answer in answers.items():
            if answer.call.call_id is not None:
                named.setdefault(answer.call.call_id, key)
        kept = {key: answers[key] for key in named.values()}
        messages = super().history(kept, paused=paused)
        return [self._own_fields(message) for message in messages]

    def _own_fields(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["role"] != "assistant":
            return message
        own = {
            name: message[name]
            for name in ("role", "content", "tool_calls")
            if message.get(name) is not None
        }
        thinking = encodable("".join(self._thinking))
        if thinking:
            thought: dict[str, Any] = {
                "type": "thinking",
                "thinking": [{"type": "text", "text": thinking}],
            }
            if any(self._signature):
                thought["signature"] = "".join(self._signature)
            said = own.get("content", "")
            text = [{"type": "text", "text": said}] if said else []
            own["content"] = [thought, *(said if is_array(said) else text)]
        return own

    def tool_message(self, call: KeyedCall, answer: Answered) -> dict[str, Any]:
        """The message with a call's answer; Mistral wants the tool's name in it."""
        return {**super().tool_message(call, answer), "name": answer.name}

    def _results(self, answers: Mapping[str, Answered]) -> list[dict[str, Any]]:
        """One result a call that the server has, in order."""
        if self._conversation_id:
            self.request_fields["conversation_id"] = self._conversation_id
        announced = [call.identity for call in self._only().calls.announced]
        return [
            _result(identity.call_id, answers.get(identity.key))
            for identity in announced
            if identity.call_id is not None
        ]

    def _entries(self, answers: Mapping[str, Answered]) -> list[dict[str, Any]]:
        """The text, the calls that stay, and their results."""
        self.request_fields.pop("conversation_id", None)
        text = encodable("".join(self.text))
        entries: list[dict[str, Any]] = []
        if text:
            said = {"type": "message.output", "role": "assistant", "content": text}
            entries.append({**_ENTRY, **said})
        kept: dict[str, Answered] = {}
        for call in self._only().calls.announced:
            answer = answers.get(call.identity.key)
            if answer is not None and call.identity.call_id is not None:
                kept.setdefault(call.identity.call_id, answer)
        for call_id, answer in kept.items():
            head = {"type": "function.call", "tool_call_id": call_id, "name": answer.name}
            entries.append({**_ENTRY, **head, "arguments": arguments_of(answer)})
        return [*entries, *(_result(call_id, answer) for call_id, answer in kept.items())]


def _is_whole(arguments: Any) -> bool:
    """Whether an entry's arguments are whole: an object, or the text of one."""
    text = ArgumentText()
    text.append(text_of(arguments))
    return text.closed


def _result(call_id: str, answer: Answered | None) -> dict[str, Any]:
    said = "Error: the tool was not run." if answer is None else answer_content(answer)
    result = {"type": "function.result", "tool_call_id": call_id, "result": text_of(said)}
    return {**_ENTRY, **result}


PROVIDER: Final = Provider("mistral", MistralNormaliser, recognises, "sse")
