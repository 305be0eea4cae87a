"""Anthropic Messages: raw streams, the `messages.stream()` helper, beta streams, dicts, bytes.

A call is announced by `content_block_start` (or stands whole inside `message_start`), ended by
`content_block_stop`, which a cut call may lack or may have, and judged by the `stop_reason` of
`message_delta`. Blocks are told apart by `type` and keyed by `index`, never by class: the SDK
builds unknown blocks as text blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    Anomaly,
    CallCompleted,
    CallWithdrawn,
    Event,
    ExternalState,
    ReasoningDelta,
    StreamFault,
    TextDelta,
)
from finalcall.outcomes import Cause
from finalcall.providers.base import (
    Answered,
    Context,
    Following,
    Normaliser,
    OpenCall,
    Provider,
    carrying,
    only_native,
)
from finalcall.providers.native import (
    read,
    read_count,
    read_index,
    read_list,
    read_text,
    to_plain,
)
from finalcall.providers.values import given_text
from finalcall.stop_reasons import Verdict
from finalcall.strict import NotStrictJSON, parse_strict

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "tool_use": Verdict.COMPLETE,
    "end_turn": Verdict.COMPLETE,
    "stop_sequence": Verdict.COMPLETE,
    "max_tokens": Verdict.TRUNCATED,
    "model_context_window_exceeded": Verdict.TRUNCATED,
    "refusal": Verdict.FILTERED,
    "pause_turn": Verdict.PAUSED,
    "compaction": Verdict.PAUSED,
}
"""Every value of the SDK's `StopReason` and `BetaStopReason`."""

SERVER_CALL: Final = "_tool_use"
"""How the block types end of calls that the provider runs: `server_tool_use`, `mcp_tool_use`, and
those to come. Their input arrives in the same deltas; `tool_use` alone is the client's."""

_EVENT_TYPES: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "vertex_event",
    }
)
"""The types that tell the API; Vertex adds one of its own, which says nothing of the message."""


def recognises(native: Any) -> bool:
    """Whether a native event is one of the Messages API's."""
    kind = read_text(native, "type")
    if kind == "error":
        # The nested error object is what the Responses API, which has the same type, lacks here.
        return read(native, "sequence_number") is None and isinstance(
            read(native, "error"), Mapping
        )
    return kind in _EVENT_TYPES


@final
class _Block:
    """One content block: how it began, what was added, whether it was closed."""

    __slots__ = ("citations", "closed", "kind", "open_call", "pieces", "signature", "start")

    def __init__(self, kind: str, start: dict[str, Any]) -> None:
        self.kind = kind
        self.start = start
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.citations: list[Any] = []
        self.closed = False
        self.open_call: OpenCall | None = None


@final
class AnthropicNormaliser(Normaliser):
    """One Messages API message."""

    provider = "anthropic"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"tool_use"})

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._blocks: list[_Block] = []
        self._by_index: dict[int | None, _Block] = {}
        self._message_id: str | None = None
        self._started = False
        self._standing: dict[str, list[OpenCall]] = {}
        self._last_piece: tuple[Any, OpenCall | None] = (None, None)

    def feed(self, native: Any) -> list[Event]:
        """Translate one event.

        The helper's derived events (`input_json`, `text`, …) repeat a raw one that it also
        yields, so they say nothing new.
        """
        handler = self._handlers.get(read_text(native, "type"))
        return self.unknown(native) if handler is None else handler(self, native)

    def following(self, key: str) -> Following | None:
        """The pieces of the block that the last event was of."""
        index, open_call = self._last_piece
        if open_call is None or open_call.identity.key != key:
            return None
        identity = open_call.identity

        def follow(native: Any) -> str | None:
            # No `read` here: each would cost as much as all that is asked.
            try:
                if native.__class__ is dict:
                    delta = native["delta"]
                    if native["type"] != "content_block_delta" or native["index"] != index:
                        return None
                    text = delta["partial_json"] if delta["type"] == "input_json_delta" else None
                else:
                    delta = native.delta
                    if native.type != "content_block_delta" or native.index != index:
                        return None
                    text = delta.partial_json if delta.type == "input_json_delta" else None
            except (AttributeError, KeyError, TypeError):
                return None
            if type(text) is not str or not text:
                return None
            identity.size += len(text)
            return text

        return follow

    def _message_start(self, native: Any) -> list[Event]:
        message = read(native, "message")
        message_id = read_text(message, "id") or None
        events: list[Event] = []
        if self._started:
            if message_id == self._message_id and (message_id or not self._blocks):
                self.anomaly("message_restarted")
                return only_native(native)
            self.anomaly("spliced_stream")
            events.append(StreamFault(Cause.MALFORMED, "spliced_stream", ends=False))
            self._by_index = {}
        self._started = True
        self._message_id = message_id
        self._read_usage(message)
        for index, content in enumerate(read_list(message, "content")):
            events += self._begin(index, content, None)
            events += self._close(index, None)
            # The block's own events may still follow, and then they tell it again.
            self._by_index[index].closed = False
        stop_reason = read_text(message, "stop_reason")
        if stop_reason:
            events.append(self.stopped(stop_reason, None))
        return carrying(events, native)

    def _block_start(self, native: Any) -> list[Event]:
        index = read_index(native, "index")
        return self._begin(
            len(self._blocks) if index is None else index, read(native, "content_block"), native
        )

    def _index(self, native: Any) -> int | None:
        """Which block a delta or an end is of; without an index, the one that began last."""
        index = read_index(native, "index")
        if index is not None or not self._by_index:
            return index
        self.anomaly("no_index")
        return next(reversed(self._by_index))

    def _begin(self, index: int, content: Any, native: Any) -> list[Event]:
        kind = read_text(content, "type")
        known = self._by_index.get(index)
        if kind == "tool_use":
            return self._begin_call(index, content, known, native)
        block = _Block(kind, to_plain(content) if content is not None else {})
        self._blocks.append(block)
        self._by_index[index] = block
        if kind.endswith(SERVER_CALL):
            name = read_text(content, "name") or kind
            return [self.external(read_text(content, "id"), name, native)]
        answered = read_text(content, "tool_use_id")
        if answered and kind.endswith("tool_result"):
            state = ExternalState.FAILED if _is_error(content) else ExternalState.DONE
            # Somebody else ran it, though it may have looked like ours.
            ours = self._standing.pop(answered, [])
            asked = ours[0].identity.name if ours else None
            tool = asked or kind.removesuffix("_tool_result")
            changed = self.external(answered, tool, native, state)
            return [*(CallWithdrawn(one.call) for one in ours), changed]
        if kind == "fallback":
            standing = [one for calls in self._standing.values() for one in calls]
            self._standing.clear()
            return carrying([CallWithdrawn(one.call) for one in standing], native)
        text = read_text(content, "text") if kind == "text" else ""
        if text:
            return self._add_text(block, text, native)
        return only_native(native)

    def _begin_call(
        self, index: int, content: Any, known: _Block | None, native: Any
    ) -> list[Event]:
        given = given_text(read(content, "input"))
        call_id, name = read_text(content, "id"), read_text(content, "name")
        start: dict[str, Any] = to_plain(content)
        known = self._told_again(call_id, name) or known
        if known is not None and known.open_call is not None:
            identity = known.open_call.identity
            if identity.name is None:
                # Its pieces came first: the announcement only says whose they were.
                identity.name, identity.call_id = name or None, call_id or None
                known.start = start
                self._standing.setdefault(call_id, []).append(known.open_call)
                return only_native(native)
            if self.replays(identity, call_id, name, closed=known.closed):
                self.anomaly("call_replayed", identity.key)
                self._by_index[index] = known
                return [known.open_call.announced(native, given)]
        identity = self.identify(
            call_id, name, namespace=read_text(content, "toolset_name") or None
        )
        block = _Block("tool_use", start)
        block.open_call = OpenCall(identity)
        self._blocks.append(block)
        self._by_index[index] = block
        if name:  # else it fails anyway
            self._standing.setdefault(call_id, []).append(block.open_call)
        else:
            self.anomaly("no_name", identity.key)
        return [block.open_call.announced(native, given)]

    def _told_again(self, call_id: str, name: str) -> _Block | None:
        """The call of an id, where the whole message is told again: its index may be another."""
        if not call_id or Anomaly("message_restarted") not in self._noted:
            return None
        for block in self._blocks:
            call = block.open_call
            if call is not None and (call.identity.call_id, call.identity.name) == (call_id, name):
                return block
        return None

    def _delta(self, native: Any) -> list[Event]:
        delta = read(native, "delta")
        kind = read(delta, "type")
        block = self._by_index.get(self._index(native))
        if kind is None and isinstance(read(delta, "partial_json"), str):
            kind = "input_json_delta"
        if kind == "input_json_delta":
            text = given_text(read(delta, "partial_json"))
            if not text:
                return only_native(native)
            if block is not None and block.open_call is not None:
                if block.closed:
                    self.anomaly("delta_after_end", block.open_call.identity.key)
                self._last_piece = (read(native, "index"), block.open_call)
                return [block.open_call.delta(text, native)]
            return self._stray_input(native, block, text)
        if kind == "text_delta":
            text = read_text(delta, "text")
            return self._add_text(block, text, native) if text else only_native(native)
        if kind == "thinking_delta":
            text = read_text(delta, "thinking")
            if not text:
                return only_native(native)
            if block is not None:
                block.pieces.append(text)
            return [ReasoningDelta(text, 0, native)]
        if block is not None and kind == "signature_delta":
            block.signature.append(read_text(delta, "signature"))
        elif block is not None and kind == "citations_delta":
            block.citations.append(to_plain(read(delta, "citation")))
        elif block is not None and kind == "compaction_delta":
            block.pieces.append(read_text(delta, "content"))
        return only_native(native)

    def _stray_input(self, native: Any, block: _Block | None, text: str) -> list[Event]:
        """Input for a server call, or where no call is that it could be of."""
        if block is not None and block.kind.endswith(SERVER_CALL) and not block.closed:
            block.pieces.append(text)
            return only_native(native)
        index = read_index(native, "index")
        if block is not None:
            return self.stray(index, text, native)
        opened = self._begin_call(
            len(self._blocks) if index is None else index, {"type": "tool_use"}, None, None
        )
        made = self._blocks[-1].open_call
        assert made is not None
        self.anomaly("delta_for_unknown_call", made.identity.key)
        return [*opened, made.delta(text, native)]

    def _add_text(self, block: _Block | None, text: str, native: Any) -> list[Event]:
        if block is None:
            block = _Block("text", {"type": "text"})
            self._blocks.append(block)
        block.pieces.append(text)
        self.text.append(text)
        return [TextDelta(text, 0, native)]

    def _block_stop(self, native: Any) -> list[Event]:
        index = self._index(native)
        return carrying([] if index is None else self._close(index, native), native)

    def _close(self, index: int, native: Any) -> list[Event]:
        block = self._by_index.get(index)
        if block is None:
            return []
        block.closed = True
        return (
            [] if block.open_call is None else [CallCompleted(block.open_call.call, False, native)]
        )

    def _message_delta(self, native: Any) -> list[Event]:
        self._read_usage(native)
        delta = read(native, "delta")
        container = read_text(read(delta, "container"), "id")
        if container:
            self.request_fields["container"] = container
        stop_reason = read_text(delta, "stop_reason")
        return [self.stopped(stop_reason, native)] if stop_reason else only_native(native)

    def _message_stop(self, native: Any) -> list[Event]:
        self.ended = True
        return only_native(native)

    def _read_usage(self, holder: Any) -> None:
        usage = read(holder, "usage")
        for name in ("input_tokens", "output_tokens"):
            count = read_count(usage, name)
            if count is not None:
                setattr(self.usage, name, count)

    def history(
        self,
        answers: Mapping[str, Answered],
        *,
        paused: bool,
        stored: bool = False,
    ) -> list[dict[str, Any]]:
        """One assistant message; one user message with every result, where there are calls.

        Anthropic refuses a blank text block, a thinking block without its signature, a
        `tool_use` without a result and a message of thinking alone: none of them is sent.
        """
        content: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        ours = {block.open_call.identity.call_id for block in self._blocks if block.open_call}
        for block in self._blocks:
            if block.open_call is None:
                # The result of a call of ours goes where its call has gone.
                if read_text(block.start, "tool_use_id") not in ours:
                    content += _echo(block)
                continue
            answer = answers.get(block.open_call.identity.key)
            if answer is not None:
                content.append({**block.start, "name": answer.name, "input": answer.args})
                results.append(_tool_result(block, answer))
        content = _without_orphans(content, keep_open=paused or bool(results))
        if all(item["type"] in ("thinking", "redacted_thinking") for item in content):
            return []
        messages: list[dict[str, Any]] = [{"role": "assistant", "content": content}]
        if results:
            messages.append({"role": "user", "content": results})
        return messages

    _handlers: ClassVar[Mapping[str, Callable[[Any, Any], list[Event]]]] = {
        "content_block_delta": _delta,
        "content_block_start": _block_start,
        "content_block_stop": _block_stop,
        "message_delta": _message_delta,
        "message_start": _message_start,
        "message_stop": _message_stop,
    }


def _is_error(content: Any) -> bool:
    """Whether a server tool's result block reports a failure."""
    if read(content, "is_error") is True:
        return True
    return read_text(read(content, "content"), "type").endswith("_error")


def _echo(block: _Block) -> list[dict[str, Any]]:
    """A block as the next request must repeat it; nothing where it cannot be repeated."""
    text = "".join(block.pieces)
    if block.kind == "text":
        if not text.strip():
            return []
        citations = {"citations": block.citations} if block.citations else {}
        return [{"type": "text", "text": text, **citations}]
    if block.kind == "thinking":
        thinking = text or read_text(block.start, "thinking")
        signature = "".join(block.signature) or read_text(block.start, "signature")
        if not signature:
            return []
        return [{"type": "thinking", "thinking": thinking, "signature": signature}]
    if block.kind.endswith(SERVER_CALL):
        if not text:
            return [block.start]
        try:
            return [{**block.start, "input": parse_strict(text)}]
        except NotStrictJSON:
            return []
    if block.kind == "compaction":
        return [{**block.start, "content": text}] if text else [block.start]
    return [block.start] if block.kind else []


def _tool_result(block: _Block, answer: Answered) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": answer.call.call_id,
        "content": answer.result.content,
    }
    if answer.result.is_error:
        result["is_error"] = True
    if block.start.get("toolset_name"):
        result["toolset_name"] = block.start["toolset_name"]
    return result


def _without_orphans(content: list[dict[str, Any]], *, keep_open: bool) -> list[dict[str, Any]]:
    """Leave out server calls that nothing will answer.

    One may stay open where the message goes back unchanged, and beside answered client calls: its
    result is then the first block of the next message.
    """
    if keep_open:
        return content
    answered = {read_text(item, "tool_use_id") for item in content}
    return [
        item
        for item in content
        if not item["type"].endswith(SERVER_CALL) or read_text(item, "id") in answered
    ]


PROVIDER: Final = Provider("anthropic", AnthropicNormaliser, recognises, "sse")
