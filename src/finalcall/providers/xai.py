"""xAI's gRPC chat: the pairs that `xai_sdk` yields, its protobuf chunks, and their JSON form.

A call stands whole in one chunk, which announces and ends it, unless its status says that it is
not whole; the message is judged by `finish_reason`. Only client-side calls are the caller's: a call
of any other type is run by xAI, and is reported again whenever its status changes. There is no end
marker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast, final

from finalcall.events import (
    CallCompleted,
    CallWithdrawn,
    Event,
    ExternalState,
    ReasoningDelta,
    TextDelta,
)
from finalcall.narrow import is_mapping
from finalcall.providers.base import (
    Answered,
    Context,
    Normaliser,
    OpenCall,
    Provider,
    carrying,
)
from finalcall.providers.native import read, read_count, read_index, read_text
from finalcall.providers.openai_chat.echo import answer_content, arguments_of
from finalcall.providers.values import text_of
from finalcall.stop_reasons import Verdict
from finalcall.strict import encodable

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "REASON_TOOL_CALLS": Verdict.COMPLETE,
    "REASON_STOP": Verdict.COMPLETE,
    "REASON_MAX_LEN": Verdict.TRUNCATED,
    "REASON_MAX_CONTEXT": Verdict.TRUNCATED,
    "REASON_TIME_LIMIT": Verdict.ERROR,
}
"""Every value of the SDK's `FinishReason` but the default one."""

NO_REASON: Final = "REASON_INVALID"
"""The default value: every chunk before the last has it."""

_REASONS: Final[Mapping[int, str]] = {
    1: "REASON_MAX_LEN",
    2: "REASON_MAX_CONTEXT",
    3: "REASON_STOP",
    4: "REASON_TOOL_CALLS",
    5: "REASON_TIME_LIMIT",
}
_CLIENT_SIDE: Final = (1, "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")
_TOOL_ROLE: Final = (5, "ROLE_TOOL")
_STATES: Final[Mapping[int | str, ExternalState]] = {
    1: ExternalState.DONE,
    2: ExternalState.FAILED,
    3: ExternalState.FAILED,
    "TOOL_CALL_STATUS_COMPLETED": ExternalState.DONE,
    "TOOL_CALL_STATUS_INCOMPLETE": ExternalState.FAILED,
    "TOOL_CALL_STATUS_FAILED": ExternalState.FAILED,
}
"""Enum values of the protocol, as protobuf has them and as its JSON form does."""

_WHOLE: Final = (1, "TOOL_CALL_STATUS_COMPLETED", "TOOL_CALL_STATUS_IN_PROGRESS")
"""The statuses of a client's call that is whole, where it has any: the last is the default, 0."""

_OTHER_CASE: Final = {
    "completion_tokens": "completionTokens",
    "encrypted_content": "encryptedContent",
    "finish_reason": "finishReason",
    "prompt_tokens": "promptTokens",
    "reasoning_content": "reasoningContent",
    "tool_calls": "toolCalls",
}
"""The fields of two words, as the JSON form writes them by default."""


def _pick(node: Any, name: str) -> Any:
    """A field of a message; the JSON form may write its name in either case."""
    value = read(node, name)
    if value is None and is_mapping(node):
        return node.get(_OTHER_CASE.get(name, name))
    return value


def _items(node: Any, name: str) -> Sequence[Any]:
    """A repeated field; protobuf's own lists are sequences, but no Python lists."""
    value = _pick(node, name)
    repeated = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return cast("Sequence[Any]", value) if repeated else ()


def _pair_of(native: Any) -> tuple[Any, Any]:
    """What the SDK yields as (reply so far, increment); a chunk by itself has no first half."""
    if not isinstance(native, tuple):
        return None, native
    halves: list[Any] = list(native)  # pyright: ignore[reportUnknownArgumentType]
    return (halves[0], halves[1]) if len(halves) == 2 else (None, None)


def _chunk_of(increment: Any) -> Any:
    """The protobuf chunk that the SDK wraps, or the chunk as it is."""
    proto = read(increment, "proto")
    return increment if proto is None else proto


def recognises(native: Any) -> bool:
    """Whether a native event is one of `xai_sdk`'s, or its JSON form."""
    chunk = _chunk_of(_pair_of(native)[1])
    if not is_mapping(chunk):
        return all(hasattr(chunk, name) for name in ("outputs", "system_fingerprint", "DESCRIPTOR"))
    return any(
        _pick(output, "delta") is not None or _pick(output, "finish_reason") is not None
        for output in _items(chunk, "outputs")
    )


@final
class _Output:
    """One message of the reply: with server-side tools a reply is several."""

    __slots__ = ("calls", "encrypted", "pieces", "reasoning", "server_calls", "tool")

    def __init__(self) -> None:
        self.tool = False
        self.pieces: list[str] = []
        self.reasoning: list[str] = []
        self.encrypted: list[str] = []
        self.calls: list[OpenCall] = []
        self.server_calls: dict[str, dict[str, Any]] = {}


@final
class XaiNormaliser(Normaliser):
    """One chat reply."""

    provider = "xai"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"REASON_TOOL_CALLS"})
    keeps_conversation = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._outputs: dict[tuple[int, int], _Output] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._response_id = ""
        self._verdicts: set[Verdict] = set()

    def feed(self, native: Any) -> list[Event]:
        """Translate one chunk.

        The first of the SDK's pair repeats all that came, so it is not read. Where it is a list,
        the outputs are alternatives; else they are one reply, step by step.
        """
        so_far, increment = _pair_of(native)
        chunk, alternatives = _chunk_of(increment), isinstance(so_far, list)
        self._response_id = read_text(chunk, "id") or self._response_id
        events: list[Event] = []
        for output in _items(chunk, "outputs"):
            index = read_index(output, "index") or 0
            self._read(output, (index if alternatives else 0, index), native, events)
        self._read_usage(_pick(chunk, "usage"))
        if _pick(chunk, "outputs") is None:
            return self.unknown(native, chunk)
        return carrying(events, native)

    def _read(self, output: Any, place: tuple[int, int], native: Any, events: list[Event]) -> None:
        """Add an output's events to those of its chunk."""
        delta, choice = _pick(output, "delta"), place[0]
        kept = self._outputs.get(place)
        if kept is None:
            kept = self._outputs[place] = _Output()
        if _pick(delta, "role") in _TOOL_ROLE:
            kept.tool = True
        kept.encrypted.append(_pick_text(delta, "encrypted_content"))
        reasoning, text = _pick_text(delta, "reasoning_content"), read_text(delta, "content")
        if reasoning:
            kept.reasoning.append(reasoning)
            events.append(ReasoningDelta(reasoning, choice, None if events else native))
        if text:
            kept.pieces.append(text)
            if not kept.tool:
                self.text.append(text)
                events.append(TextDelta(text, choice, None if events else native))
        for call in _items(delta, "tool_calls"):
            events += self._call(kept, call, choice, None if events else native)
        reason = _reason_of(output)
        own_step = reason in self.promises_calls and kept.server_calls and not self._by_id
        if reason and not own_step:  # After a step of xAI's own tools the reply goes on.
            stop = self.stopped(reason, None if events else native, choice)
            self._verdicts.add(stop.stop_reason.verdict)
            events.append(stop)

    def _call(self, kept: _Output, call: Any, choice: int, native: Any) -> list[Event]:
        call_id, function = read_text(call, "id"), read(call, "function")
        name, text = read_text(function, "name"), text_of(read(function, "arguments"))
        kind = read(call, "type")
        status = read(call, "status")
        if kind not in _CLIENT_SIDE:
            state = _STATES.get(status) if isinstance(status, int | str) else None
            kept.server_calls[call_id] = {
                "id": call_id,
                "type": kind or 0,
                "status": status or 0,
                "function": {"name": name, "arguments": text},
            }
            return [self.external(call_id, name or "server-side tool", native, state)]
        if kept.tool:
            return []
        known = self._by_id.get(call_id) if call_id else None
        if known is not None and known.identity.name == (name or None):
            self.anomaly("call_replayed", known.identity.key)
        else:
            identity = self.identify(call_id, name, choice=choice)
            if not name:
                self.anomaly("no_name", identity.key)
            known = self._by_id[call_id] = OpenCall(identity)
            kept.calls.append(known)
        whole = not status or status in _WHOLE
        end = CallCompleted(known.call, True) if whole else CallWithdrawn(known.call)
        return [known.announced(native), known.delta(text, None), end]

    def _read_usage(self, usage: Any) -> None:
        if usage is None:
            return
        # Zero is protobuf's word for nothing. The counts are running ones.
        sent, written = _pick_count(usage, "prompt_tokens"), _pick_count(usage, "completion_tokens")
        self.usage.input_tokens = sent or self.usage.input_tokens
        self.usage.output_tokens = written or self.usage.output_tokens

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """Messages as keyword arguments of `chat_pb2.Message`: `chat.append(Message(**one))`.

        A step of xAI's own tools goes back as its assistant message and its tool messages. The
        protocol has no error flag, so a failed tool's text says it.

        Args:
            answers: The calls that stay, by key.
            paused: Changes nothing here.
            stored: xAI keeps the messages (`store_messages=True`). Then only the results are sent,
                and `request_fields` names the reply to continue. One that was cut, or that holds
                a call which does not stay, cannot be continued: it is sent as usual, after the
                reply that came before it.
        """
        messages: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        self.request_fields.pop("previous_response_id", None)
        settled = next((answer.call.choice for answer in answers.values()), None)
        first = next(iter(self._outputs), (0, 0))[0] if settled is None else settled
        finished = self._finished()
        for (choice, _), output in self._outputs.items():
            if choice != first:
                continue
            server_calls = [
                call for call_id, call in output.server_calls.items() if call_id in finished
            ]
            kept = [
                answers[call.identity.key] for call in output.calls if call.identity.key in answers
            ]
            calls = [*server_calls, *(_tool_call(answer) for answer in kept)]
            if calls or (output.pieces and not output.tool):
                messages.append(_message(output, calls))
            results += [_tool_message(answer) for answer in kept]
        if stored and self._stays(answers):
            self.request_fields["previous_response_id"] = self._response_id
            return results
        return messages + results

    def _stays(self, answers: Mapping[str, Answered]) -> bool:
        """Whether the server's copy of the reply is what the conversation keeps."""
        calls = [call.identity.key for output in self._outputs.values() for call in output.calls]
        whole = self._verdicts == {Verdict.COMPLETE} and all(key in answers for key in calls)
        return whole and bool(self._response_id)

    def _finished(self) -> set[str]:
        """The ids of the server-side calls that came to an end."""
        return {
            external.call_id
            for external in self.external_calls
            if external.call_id and external.state in (ExternalState.DONE, ExternalState.FAILED)
        }


def _pick_count(node: Any, name: str) -> int | None:
    return read_count({name: _pick(node, name)}, name)


def _pick_text(node: Any, name: str) -> str:
    value = _pick(node, name)
    return value if isinstance(value, str) else ""


def _reason_of(output: Any) -> str:
    """An output's finish reason in the protocol's word, `""` for none."""
    value = _pick(output, "finish_reason")
    if isinstance(value, str):
        return "" if value == NO_REASON else value
    if isinstance(value, int) and value:
        return _REASONS.get(value, f"REASON_{value}")
    return ""


def _message(output: _Output, calls: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "ROLE_TOOL" if output.tool else "ROLE_ASSISTANT",
        "content": [{"text": encodable("".join(output.pieces))}],
    }
    for name, pieces in (
        ("reasoning_content", output.reasoning),
        ("encrypted_content", output.encrypted),
    ):
        if any(pieces):
            message[name] = encodable("".join(pieces))
    if calls:
        message["tool_calls"] = calls
    if output.tool:
        message["tool_call_id"] = calls[0]["id"]
    return message


def _tool_call(answer: Answered) -> dict[str, Any]:
    return {
        "id": answer.call.call_id or "",
        "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
        "function": {"name": answer.name, "arguments": arguments_of(answer)},
    }


def _tool_message(answer: Answered) -> dict[str, Any]:
    content = answer.result.content
    blocks = [{"text": content}] if isinstance(content, str) else content
    if answer.result.is_error:
        said = answer_content(answer)
        blocks = [{"text": said}] if isinstance(said, str) else [{"text": "Error:"}, *blocks]
    message: dict[str, Any] = {"role": "ROLE_TOOL", "content": blocks}
    if answer.call.call_id:
        message["tool_call_id"] = answer.call.call_id
    return message


PROVIDER: Final = Provider("xai", XaiNormaliser, recognises, "ndjson")
