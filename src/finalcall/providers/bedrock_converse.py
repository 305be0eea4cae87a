"""Amazon Bedrock ConverseStream: the one-key dicts of boto3 and of its wire.

A call is announced by `contentBlockStart`, ended by `contentBlockStop` and judged by the
`stopReason` of `messageStop`. Blocks are keyed by `contentBlockIndex`; only calls, results and
images announce theirs, a text or reasoning block is simply there. Models that Bedrock serves in
their own format (InvokeModel) send that format's events, not these.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    CallCompleted,
    Event,
    ExternalState,
    Other,
    ReasoningDelta,
    StreamFault,
    TextDelta,
)
from finalcall.narrow import is_mapping
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
from finalcall.providers.native import read, read_count, read_index, read_list, read_text, to_plain
from finalcall.providers.reported import is_exception
from finalcall.providers.values import given_text
from finalcall.stop_reasons import Verdict
from finalcall.strict import NotStrictJSON, encodable, parse_strict

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "tool_use": Verdict.COMPLETE,
    "end_turn": Verdict.COMPLETE,
    "stop_sequence": Verdict.COMPLETE,
    "max_tokens": Verdict.TRUNCATED,
    "model_context_window_exceeded": Verdict.TRUNCATED,
    "guardrail_intervened": Verdict.FILTERED,
    "content_filtered": Verdict.FILTERED,
    "malformed_model_output": Verdict.ERROR,
    "malformed_tool_use": Verdict.ERROR,
}
"""Every value of the service model's `StopReason`."""

SERVER_CALL: Final = "_tool_use"
"""How the `type` ends of a `toolUse` that Bedrock runs itself: `server_tool_use`, and those to
come. A client call has none, or `tool_use`."""

_EVENTS: Final = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    }
)


def recognises(native: Any) -> bool:
    """Whether a native event is one of ConverseStream's."""
    if not is_mapping(native) or len(native) != 1:
        return False
    name, payload = next(iter(native.items()))
    return is_mapping(payload) and (name in _EVENTS or is_exception(name))


@final
class _Block:
    """One content block: what it is, what was added, whether it was closed."""

    __slots__ = (
        "citations",
        "closed",
        "kind",
        "open_call",
        "pieces",
        "redacted",
        "results",
        "signature",
        "start",
    )

    def __init__(self, kind: str, start: dict[str, Any]) -> None:
        self.kind = kind
        self.start = start
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.redacted: list[Any] = []
        self.citations: list[Any] = []
        self.results: list[Any] = []
        self.closed = False
        self.open_call: OpenCall | None = None


@final
class BedrockConverseNormaliser(Normaliser):
    """One ConverseStream message."""

    provider = "bedrock-converse"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"tool_use"})

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._started = False
        self._stopped = False
        self._metered = False
        self._handlers: dict[str, Callable[[Any, Any], list[Event]]] = {
            "contentBlockDelta": self._delta,
            "contentBlockStart": self._block_start,
            "contentBlockStop": self._block_stop,
            "messageStart": self._message_start,
            "messageStop": self._message_stop,
            "metadata": self._metadata,
        }

    def feed(self, native: Any) -> list[Event]:
        """Translate one event: a dict whose one key is the event's name."""
        if not is_mapping(native) or self._handlers.keys().isdisjoint(native):
            return self.unknown(native)
        if len(native) == 1:
            name, payload = next(iter(native.items()))
            return self._frame(name, payload, native)
        events: list[Event] = []
        for name, payload in native.items():
            events += self._frame(name, payload, None)
        return carrying([event for event in events if type(event) is not Other], native)

    def _frame(self, name: Any, payload: Any, native: Any) -> list[Event]:
        handler = self._handlers.get(name)
        if handler is None:
            return self.unknown(native, {name: payload})
        return handler(payload, native)

    def _message_start(self, payload: Any, native: Any) -> list[Event]:
        if not self._started:
            self._started = True
            return only_native(native)
        if not self._blocks:
            self.anomaly("message_restarted")
            return only_native(native)
        self.anomaly("spliced_stream")
        self._by_index = {}
        return [StreamFault(Cause.MALFORMED, "spliced_stream", ends=False, native=native)]

    def _block_start(self, payload: Any, native: Any) -> list[Event]:
        index = read_index(payload, "contentBlockIndex")
        index = len(self._blocks) if index is None else index
        start = read(payload, "start")
        call = read(start, "toolUse")
        if call is not None:
            kind = read_text(call, "type")
            if kind.endswith(SERVER_CALL):
                self._open(index, _Block("server_call", to_plain(call)))
                name = read_text(call, "name") or kind
                return [self.external(read_text(call, "toolUseId"), name, native)]
            return self._begin_call(index, call, native)
        result = read(start, "toolResult")
        if result is not None:
            self._open(index, _Block("server_result", to_plain(result)))
            failed = read_text(result, "status") == "error"
            state = ExternalState.FAILED if failed else ExternalState.DONE
            name = read_text(result, "type") or "toolResult"
            return [self.external(read_text(result, "toolUseId"), name, native, state)]
        return only_native(native)

    def _open(self, index: int, block: _Block) -> _Block:
        self._blocks.append(block)
        self._by_index[index] = block
        return block

    def _begin_call(self, index: int, start: Any, native: Any) -> list[Event]:
        call_id, name = read_text(start, "toolUseId"), read_text(start, "name")
        given = given_text(read(start, "input"))
        known = self._by_index.get(index)
        if known is not None and known.open_call is not None:
            identity = known.open_call.identity
            if identity.name is None:
                # Its pieces came first: the announcement only says whose they were.
                identity.name, identity.call_id = name or None, call_id or None
                return only_native(native)
            if self.replays(identity, call_id, name, closed=known.closed):
                self.anomaly("call_replayed", identity.key)
                return [known.open_call.announced(native, given)]
        identity = self.identify(call_id, name)
        block = self._open(index, _Block("call", {}))
        block.open_call = OpenCall(identity)
        if not name:
            self.anomaly("no_name", identity.key)
        return [block.open_call.announced(native, given)]

    def _delta(self, payload: Any, native: Any) -> list[Event]:
        delta = read(payload, "delta")
        call = read(delta, "toolUse")
        block = self._block_of(payload)
        if call is not None:
            return self._input(payload, block, given_text(read(call, "input")), native)
        text = read_text(delta, "text")
        if text:
            self._kept(payload, block, "text").pieces.append(text)
            self.text.append(text)
            return [TextDelta(text, 0, native)]
        reasoning = read(delta, "reasoningContent")
        if reasoning is not None:
            return self._reasoning(self._kept(payload, block, "reasoning"), reasoning, native)
        if read(delta, "citation") is not None:
            kept = self._kept(payload, block, "text")
            kept.citations.append(to_plain(read(delta, "citation")))
        elif block is not None:
            block.results += [to_plain(item) for item in read_list(delta, "toolResult")]
        return only_native(native)

    def _block_of(self, payload: Any) -> _Block | None:
        """The block a piece belongs to: without an index, the one that began last."""
        index = read_index(payload, "contentBlockIndex")
        if index is None:
            return self._blocks[-1] if self._blocks else None
        return self._by_index.get(index)

    def _kept(self, payload: Any, block: _Block | None, kind: str) -> _Block:
        """The block that keeps a piece: these kinds begin without an announcement."""
        if block is not None and block.kind == kind:
            return block
        index = read_index(payload, "contentBlockIndex")
        return self._open(len(self._blocks) if index is None else index, _Block(kind, {}))

    def _input(self, payload: Any, block: _Block | None, text: str, native: Any) -> list[Event]:
        if not text:
            return only_native(native)
        if block is not None and block.open_call is not None:
            if block.closed:
                self.anomaly("delta_after_end", block.open_call.identity.key)
            return [block.open_call.delta(text, native)]
        if block is not None and block.kind == "server_call" and not block.closed:
            block.pieces.append(text)
            return only_native(native)
        index = read_index(payload, "contentBlockIndex")
        opened = self._begin_call(len(self._blocks) if index is None else index, {}, None)
        made = self._blocks[-1].open_call
        assert made is not None
        self.anomaly("delta_for_unknown_call", made.identity.key)
        return [*opened, made.delta(text, native)]

    def _reasoning(self, block: _Block, reasoning: Any, native: Any) -> list[Event]:
        text = read_text(reasoning, "text")
        block.signature.append(read_text(reasoning, "signature"))
        redacted = read(reasoning, "redactedContent")
        if redacted:
            block.redacted.append(redacted)
        if not text:
            return only_native(native)
        block.pieces.append(text)
        self.kept_more = True
        return [ReasoningDelta(text, 0, native)]

    def _block_stop(self, payload: Any, native: Any) -> list[Event]:
        block = self._block_of(payload)
        if block is None:
            return only_native(native)
        block.closed = True
        if block.open_call is None:
            return only_native(native)
        return [CallCompleted(block.open_call.call, False, native)]

    def _message_stop(self, payload: Any, native: Any) -> list[Event]:
        self._stopped = True
        self.ended = self._metered
        reason = read_text(payload, "stopReason")
        return [self.stopped(reason, native)] if reason else only_native(native)

    def _metadata(self, payload: Any, native: Any) -> list[Event]:
        # It follows the stop, but the service promises no order: both of them are the end.
        self._metered = True
        self.ended: bool = self._stopped
        usage = read(payload, "usage")
        self.usage.input_tokens = read_count(usage, "inputTokens")
        self.usage.output_tokens = read_count(usage, "outputTokens")
        return only_native(native)

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """One assistant message; one user message with every result, where there are calls.

        Bedrock refuses a blank text block, unsigned reasoning (of models that sign theirs), a
        `toolUse` without a result, a repeated id and a message that ends in reasoning: none of
        them is sent, and neither is a call without an id, which no result could name.
        """
        content: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        echoed: set[str] = set()
        server_results = {
            read_text(block.start, "toolUseId"): block
            for block in self._blocks
            if block.kind == "server_result"
        }
        for block in self._blocks:
            if block.open_call is None:
                content += _echo(block, server_results)
                continue
            answer = answers.get(block.open_call.identity.key)
            call_id = block.open_call.identity.call_id
            if answer is None or call_id is None or call_id in echoed:
                continue
            echoed.add(call_id)
            use = {"toolUseId": call_id, "name": answer.name, "input": answer.args}
            content.append({"toolUse": use})
            results.append({"toolResult": _tool_result(call_id, answer)})
        while content and "reasoningContent" in content[-1]:
            content.pop()
        if not content:
            return []
        messages: list[dict[str, Any]] = [{"role": "assistant", "content": content}]
        if results:
            messages.append({"role": "user", "content": results})
        return messages


def _echo(block: _Block, server_results: dict[str, _Block]) -> list[dict[str, Any]]:
    """A block as the next request must repeat it; nothing where it cannot be repeated.

    A server call takes its result out of `server_results` and brings it along.
    """
    text = encodable("".join(block.pieces))
    if block.kind == "text":
        if not text.strip():
            return []
        if block.citations:
            cited = {"content": [{"text": text}], "citations": block.citations}
            return [{"citationsContent": cited}]
        return [{"text": text}]
    if block.kind == "reasoning":
        return _echo_reasoning(block, text)
    call_id, name = read_text(block.start, "toolUseId"), read_text(block.start, "name")
    result = server_results.pop(call_id, None) if block.kind == "server_call" else None
    if result is None or not call_id or not name:
        return []
    use: dict[str, Any] = {
        "toolUseId": call_id,
        "name": name,
        "type": read_text(block.start, "type"),
    }
    answer = {"toolUseId": call_id, "content": [one for one in result.results if is_mapping(one)]}
    kept = {field: read_text(result.start, field) for field in ("type", "status")}
    return [
        {"toolUse": {**use, "input": _input_of(text)}},
        {"toolResult": {**answer, **{field: word for field, word in kept.items() if word}}},
    ]


def _input_of(text: str) -> Any:
    """A server call's input as it was streamed."""
    try:
        return parse_strict(text or "{}")
    except NotStrictJSON:
        return {}


def _echo_reasoning(block: _Block, text: str) -> list[dict[str, Any]]:
    signature = "".join(block.signature)
    if text and signature:
        signed = {"text": text, "signature": signature}
        return [{"reasoningContent": {"reasoningText": signed}}]
    redacted = [data for data in map(_to_bytes, block.redacted) if data]
    return [{"reasoningContent": {"redactedContent": b"".join(redacted)}}] if redacted else []


def _to_bytes(value: Any) -> bytes:
    """Redacted reasoning as boto3 takes it: its own bytes, or the wire's Base64."""
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return b""


def _tool_result(call_id: str, answer: Answered) -> dict[str, Any]:
    content = answer.result.content
    blocks = [{"text": content}] if isinstance(content, str) else content
    result: dict[str, Any] = {"toolUseId": call_id, "content": blocks}
    if answer.result.is_error:
        # Only where it says something: some models refuse the field.
        result["status"] = "error"
    return result


PROVIDER: Final = Provider("bedrock-converse", BedrockConverseNormaliser, recognises, "aws")
