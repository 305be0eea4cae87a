"""Translates chat completion chunks into events.

A call is announced by its first entry in `delta.tool_calls` and has no end of its own: the finish
reason of its choice is it. The message ends with `[DONE]`, or with the stream: pieces, usage and
a second reason may follow the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    Event,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    ReasoningDelta,
    TextDelta,
)
from finalcall.narrow import is_array, is_mapping
from finalcall.providers.base import (
    Answered,
    Context,
    Following,
    Normaliser,
    Provider,
    only_native,
)
from finalcall.providers.native import (
    is_done,
    read_count,
    read_index,
    read_list,
    read_text,
    to_plain,
)
from finalcall.providers.openai_chat.calls import ChoiceCalls
from finalcall.providers.openai_chat.echo import (
    Echo,
    answer_content,
    call_entry,
    legacy_messages,
)
from finalcall.providers.openai_chat.fields import entries_of, fields_of
from finalcall.providers.openai_chat.following import follower
from finalcall.providers.openai_chat.keying import KeyedCall
from finalcall.providers.openai_chat.sink import Sink
from finalcall.providers.openai_chat.stops import NO_REASONS, STOP_REASONS
from finalcall.providers.reported import error_beside, error_in
from finalcall.stop_reasons import StopReason, Verdict

_CHUNK_OBJECTS: Final = frozenset({"chat.completion.chunk", "chat.completion"})

_USAGE_FIELDS: Final = (
    ("input_tokens", ("prompt_tokens", "input_tokens")),
    ("output_tokens", ("completion_tokens", "output_tokens")),
)

_NO_WORD: Final = "(no word)"
"""Our word for a finish reason that is an object: what it means is not known."""

_CALLS: Final = frozenset({"tool_calls", "function_call"})


def recognises(native: Any) -> bool:
    """Whether a native event is a chat completion chunk, or an error that says no more than that.

    To be asked last: other services send bare errors, and fields called `choices`, too.
    """
    fields = fields_of(native)
    if fields.get("type") == "chunk":
        fields = fields_of(fields.get("chunk"))
    if read_text(fields, "object") in _CHUNK_OBJECTS or is_array(fields.get("choices")):
        return True
    if is_mapping(native) and "choices" in native:
        return True
    error = error_in(fields)
    return isinstance(error, str) or is_mapping(error)


@final
class Choice:
    """One choice of the message.

    Attributes:
        index: Its index.
        calls: Its calls.
        echo: What it said.
        executed: The tools that Groq ran for it, by their index.
        objections: Words that count as stop reasons once there is one: a refusal, a filter's hit.
        stopped: It has a stop reason.
        streamed: It came in pieces, so that a whole message says it again.
    """

    __slots__ = ("calls", "echo", "executed", "index", "objections", "stopped", "streamed")

    def __init__(self, owner: Normaliser, sink: Sink, index: int) -> None:
        self.index: int = index
        self.calls: ChoiceCalls = ChoiceCalls(owner, sink, index)
        self.echo: Echo = Echo()
        self.executed: dict[int | None, ExternalCall] = {}
        self.objections: list[str] = []
        self.stopped: bool = False
        self.streamed: bool = False


class ChatNormaliser(Normaliser):
    """One chat completion.

    A service with chunks like these is a subclass: `chunk_fields` finds the chunk in its events,
    `read_content` reads its content, `tool_message` writes its answers, and `stop_reasons` holds
    its words.
    """

    provider = "openai-chat"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"tool_calls", "function_call"})

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._choices: dict[int, Choice] = {}
        self._last_choice: Choice | None = None
        self._sink = Sink()
        self._error: Any = None
        self._readers: dict[str, Callable[[Choice, Any], None]] = {
            "content": self.read_content,
            "tool_calls": self._read_tool_calls,
            "reasoning_content": self._read_reasoning_content,
            "reasoning": self._read_reasoning,
            "reasoning_details": self._keep_details,
            "thinking_blocks": self._keep_blocks,
            "refusal": self._read_refusal,
            "executed_tools": self._read_executed,
            "provider_specific_fields": self._read_specific,
            "extra_content": self._keep_extra_content,
            "audio": self._read_audio,
        }

    # Chunks

    def chunk_fields(self, native: Any) -> Mapping[str, Any]:
        """The fields of the chunk in a native event.

        The openai client's helper wraps each chunk and adds events of its own about it, which
        have no chunk and say nothing new.
        """
        fields = fields_of(native)
        return fields_of(fields.get("chunk")) if fields.get("type") == "chunk" else fields

    def feed(self, native: Any) -> list[Event]:
        """Translate one chunk."""
        if isinstance(native, str):
            return self._read_marker(native)
        self._sink.begin(native)
        chunk = self.chunk_fields(native)
        choices = chunk.get("choices")
        if is_array(choices):
            chunk_id = chunk.get("id")
            for position, choice in enumerate(choices):
                self._read_choice(fields_of(choice), position, chunk_id)
        if usage := chunk.get("usage"):
            self._read_usage(usage)
        if groq := chunk.get("x_groq"):
            self._read_groq(fields_of(groq))
        self._read_error(chunk)
        return self._sink.finish()

    def following(self, key: str) -> Following | None:
        """The pieces that come as the last one came: under its index, with its chunk's id."""
        choice = self._last_choice
        # What is kept for the next stop reason, or for the end, takes the long way.
        if choice is None or choice.objections or self._error:
            return None
        expected = choice.calls.expects(key, choice.index)
        return None if expected is None else follower(*expected)

    def _read_marker(self, native: str) -> list[Event]:
        if not is_done(native):
            return only_native(native)
        self._sink.begin(native)
        self._complete_unstopped()
        self.ended = True
        return self._sink.finish()

    def end(self) -> list[Event]:
        """Close the calls of a choice that got no stop reason: nothing more can come."""
        self._sink.begin(None)
        self._complete_unstopped()
        return self._sink.events

    def _complete_unstopped(self) -> None:
        for choice in self._choices.values():
            if not choice.stopped:
                choice.calls.run_out()

    def _read_choice(self, fields: Mapping[str, Any], position: int, chunk_id: Any) -> None:
        index = fields.get("index")
        if type(index) is not int:
            index = read_index(fields, "index")
        choice = self._choices.get(position if index is None else index)
        if choice is None:
            choice = Choice(self, self._sink, position if index is None else index)
            self._choices[choice.index] = choice
        self._last_choice = choice
        delta = fields.get("delta")
        if delta is None or not self._says_anything(fields_of(delta)):
            # Some services send the message beside a delta too: it counts where that is empty.
            message = _whole_message(choice, fields)
            delta = delta if message is None else message
        else:
            choice.streamed = True
        if isinstance(chunk_id, str):
            says = bool(fields.get("finish_reason")) or self._says_anything(fields_of(delta))
            choice.calls.see_chunk(chunk_id, says=says)
        if delta is not None:
            self._read_delta(choice, fields_of(delta))
        if results := fields.get("content_filter_results"):
            self._read_filters(choice, results)
        self._read_stop(choice, fields)
        if usage := fields.get("usage"):
            self._read_usage(usage)
        for node in (fields, delta):
            self._error = fields_of(node).get("error") or self._error

    # Deltas

    def _says_anything(self, delta: Mapping[str, Any]) -> bool:
        return any(
            value and (name in self._readers or name in _CALLS) for name, value in delta.items()
        )

    def _read_delta(self, choice: Choice, delta: Mapping[str, Any]) -> None:
        if delta.get("role") == "tool" and (call_id := read_text(delta, "tool_call_id")):
            # An agent behind the service ran the call, and shows what came of it.
            choice.calls.read_answer(call_id, read_text(delta, "name"))
            return
        for name, value in delta.items():
            if value is not None and name in self._readers:
                self._readers[name](choice, value)
        if function := delta.get("function_call"):
            # After the calls, which it may mirror.
            choice.calls.read_function_call(function)
        if delta.get("type") == "tool_use":
            # Snowflake puts a call's fields into the delta itself.
            function = {"name": delta.get("name"), "arguments": delta.get("input")}
            choice.calls.read_entry({"id": delta.get("tool_use_id"), "function": function})

    def _read_tool_calls(self, choice: Choice, entries: Any) -> None:
        found = entries_of(entries)
        several = len(found) > 1
        for place, entry in enumerate(found):
            choice.calls.read_entry(fields_of(entry), place if several else None)

    def read_content(self, choice: Choice, content: Any) -> None:
        """Read `delta.content`: text, or a list of parts of which the texts count."""
        if isinstance(content, str):
            if content:
                choice.echo.content.append(content)
                self.say_text(choice, content)
        elif is_array(content):
            for part in content:
                text = fields_of(part).get("text")
                if isinstance(text, str):
                    self.read_content(choice, text)

    def say_text(self, choice: Choice, text: str) -> None:
        """Hand out text that a person reads."""
        if choice is self._first():
            self.text.append(text)
        self._sink.events.append(TextDelta(text, choice.index, self._sink.carried()))

    def say_reasoning(self, choice: Choice, text: str) -> None:
        """Hand out a piece of reasoning."""
        self._sink.events.append(ReasoningDelta(text, choice.index, self._sink.carried()))

    def _first(self) -> Choice | None:
        return next(iter(self._choices.values()), None)

    def _read_reasoning_content(self, choice: Choice, text: Any) -> None:
        self._add_reasoning(choice, "reasoning_content", text)

    def _read_reasoning(self, choice: Choice, text: Any) -> None:
        self._add_reasoning(choice, "reasoning", text)

    def _add_reasoning(self, choice: Choice, field: str, text: Any) -> None:
        if isinstance(text, str) and choice.echo.add_reasoning(field, text):
            self.say_reasoning(choice, text)

    def _keep_details(self, choice: Choice, pieces: Any) -> None:
        self._keep(choice, "reasoning_details", pieces)

    def _keep_blocks(self, choice: Choice, pieces: Any) -> None:
        self._keep(choice, "thinking_blocks", pieces)

    def _keep(self, choice: Choice, field: str, pieces: Any) -> None:
        choice.echo.add_items(field, pieces)
        self.kept_more = True

    def _keep_extra_content(self, choice: Choice, value: Any) -> None:
        choice.echo.extras["extra_content"] = to_plain(value)

    def _read_refusal(self, choice: Choice, refusal: Any) -> None:
        if isinstance(refusal, str) and refusal:
            choice.echo.refusal.append(refusal)
            choice.objections = ["refusal"]
            self.say_text(choice, refusal)

    def _read_audio(self, choice: Choice, audio: Any) -> None:
        self.read_content(choice, fields_of(audio).get("transcript"))

    def _read_filters(self, choice: Choice, results: Any) -> None:
        """Azure says of each choice which of its filters struck, after the reason even."""
        if is_mapping(results) and any(
            is_mapping(hit) and hit.get("filtered") is True for hit in results.values()
        ):
            choice.objections = ["content_filter"]

    def _read_executed(self, choice: Choice, tools: Any) -> None:
        """Tools that Groq ran: told once when they begin and once more with their output."""
        for tool in tools if is_array(tools) else []:
            fields = fields_of(tool)
            index = read_index(fields, "index")
            state = ExternalState.RUNNING if fields.get("output") is None else ExternalState.DONE
            known = choice.executed.get(index)
            if known is None:
                name = read_text(fields, "name") or read_text(fields, "type") or "tool"
                changed = self.external(None, name, self._sink.carried(), state)
                choice.executed[index] = changed.external
            else:
                known.state = state
                changed = ExternalCallChanged(known, self._sink.carried())
            self._sink.events.append(changed)

    def _read_specific(self, choice: Choice, specific: Any) -> None:
        """What LiteLLM keeps of calls that Anthropic ran: a list that grows."""
        known = {external.call_id for external in self.external_calls}
        for entry in read_list(fields_of(specific), "server_tool_calls"):
            fields = fields_of(entry)
            call_id = read_text(fields, "id")
            if call_id not in known:
                name = read_text(fields_of(fields.get("function")), "name") or "tool"
                self._sink.events.append(self.external(call_id, name, self._sink.carried()))

    # Ends

    def stopped(self, raw: str, native: Any, choice: int = 0) -> MessageStopped:
        """Read a stop reason; routers pass on words in any case."""
        verdict = self.context.stop_reasons.get(raw) or self.stop_reasons.get(raw.lower())
        return MessageStopped(StopReason(raw, verdict or Verdict.UNKNOWN), choice, native)

    def _read_stop(self, choice: Choice, fields: Mapping[str, Any]) -> None:
        finish, behind = fields.get("finish_reason"), fields.get("native_finish_reason")
        if not (finish or behind or choice.objections):
            return
        if finish and not behind:
            # LiteLLM keeps the word it replaced here.
            specific = fields_of(fields.get("provider_specific_fields"))
            behind = specific.get("native_finish_reason")
        words = [
            word
            for word in dict.fromkeys(one for one in (finish, behind) if isinstance(one, str))
            if word.lower() not in NO_REASONS
        ]
        if not words and is_mapping(finish):
            words = [_NO_WORD]
        if words:
            choice.calls.stop()
            choice.stopped = True
        if choice.stopped:
            words += choice.objections
            choice.objections = []
        for word in words:
            stop = self.stopped(word, self._sink.carried(), choice.index)
            self._sink.events.append(stop)

    def _read_usage(self, usage: Any) -> None:
        fields = fields_of(usage)
        for name, spellings in _USAGE_FIELDS:
            counts = [read_count(fields, spelling) for spelling in spellings]
            known = [count for count in (getattr(self.usage, name), *counts) if count is not None]
            if known:
                # A last report of zero must not hide that the ceiling was reached.
                setattr(self.usage, name, max(known))

    def _read_groq(self, fields: Mapping[str, Any]) -> None:
        if usage := fields.get("usage"):
            self._read_usage(usage)
        self._error = fields.get("error") or self._error

    def _read_error(self, chunk: Mapping[str, Any]) -> None:
        known = chunk.get("choices") or chunk.get("usage")
        error = self._error or (error_beside(chunk) if known else error_in(chunk))
        if error is not None:
            self._sink.events.append(self.fault(error, self._sink.carried()))

    # History

    def history(
        self,
        answers: Mapping[str, Answered],
        *,
        paused: bool,
        stored: bool = False,
    ) -> list[dict[str, Any]]:
        """One assistant message, and one message a call with its answer.

        Of several choices the first is continued: the others are alternatives to it. Where a
        service gave no id, `""` is sent on both sides with the tool's name beside it: such
        services pair by order or by name, and a made-up id would be a claim.
        """
        settled = next((answer.call.choice for answer in answers.values()), None)
        choice = self._first() if settled is None else self._choices.get(settled)
        if choice is None:
            return []
        calls = choice.calls.announced
        kept = [
            (call, answers[call.identity.key]) for call in calls if call.identity.key in answers
        ]
        message: dict[str, Any] = {"role": "assistant", "content": choice.echo.content_parts()}
        if message["content"] is None and not kept:
            return []
        message |= choice.echo.assistant_fields(
            calls_kept=bool(kept), calls_gone=len(kept) < len(calls)
        )
        if not kept:
            return [message]
        if kept[0][0] is choice.calls.legacy:
            return list(legacy_messages(message, kept[0][1]))
        message["tool_calls"] = [call_entry(call, answer) for call, answer in kept]
        return [message, *(self.tool_message(call, answer) for call, answer in kept)]

    def tool_message(self, call: KeyedCall, answer: Answered) -> dict[str, Any]:
        """The message with a call's answer."""
        call_id = call.identity.call_id
        named = {} if call_id else {"name": answer.name}
        return {
            "role": "tool",
            "tool_call_id": call_id or "",
            **named,
            "content": answer_content(answer),
        }


def _whole_message(choice: Choice, fields: Mapping[str, Any]) -> Any:
    """The message of a service that does not stream after all, or says it all again at the end."""
    message = fields.get("message")
    if message is None or not choice.streamed:
        return message
    news = _CALLS if choice.echo.content else _CALLS | {"content", "refusal"}
    found = {name: value for name, value in fields_of(message).items() if name in news}
    entries = found.get("tool_calls")
    if is_array(entries):
        found["tool_calls"] = choice.calls.restate(entries)
    return found


PROVIDER: Final = Provider("openai-chat", ChatNormaliser, recognises, "sse")
