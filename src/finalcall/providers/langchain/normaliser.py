"""LangChain's `AIMessageChunk`: what `model.stream()` yields, as objects or dumped to dicts.

A call is announced by the first of its `tool_call_chunks`; their text is read and `.tool_calls`
never is, for LangChain parses it tolerantly, so a cut call looks like a shorter valid one. No
call has an end of its own: the stop reason is it, which stands in `response_metadata` under the
key and in the words of whichever provider answered. The chunk marked `last` proves nothing:
LangChain makes one for a stream that broke off, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    ArgumentsRestated,
    CallWithdrawn,
    Event,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    ReasoningDelta,
    TextDelta,
)
from finalcall.narrow import is_array, is_mapping
from finalcall.providers import (
    anthropic,
    bedrock_converse,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from finalcall.providers.base import Answered, Context, Normaliser, Provider
from finalcall.providers.langchain.blocks import (
    ARGUMENTS,
    CODE,
    CODE_RESULT,
    REASONING,
    SERVER_CALLS,
    SERVER_ITEMS,
    answered_id,
    reasoning_text,
    reports_error,
)
from finalcall.providers.langchain.history import content_of, messages
from finalcall.providers.native import read, read_count, read_index, read_list, read_text
from finalcall.providers.openai_chat.calls import NO_ID, ChoiceCalls
from finalcall.providers.openai_chat.keying import KeyedCall
from finalcall.providers.openai_chat.sink import Sink
from finalcall.providers.values import text_of
from finalcall.stop_reasons import StopReason, Verdict

_RESPONSES: Final = openai_responses.PROVIDER.normaliser.stop_reasons
_CHAT: Final = openai_chat.PROVIDER.normaliser.stop_reasons
_GEMINI: Final = gemini.PROVIDER.normaliser.stop_reasons

_RUN_IDS: Final = ("lc_run-", "run-")
"""How the ids begin that LangChain makes of a run's."""

VOCABULARIES: Final[Mapping[str, Mapping[str, Verdict]]] = {
    "finish_reason": {**_CHAT, **_GEMINI, **cohere.STOP_REASONS},
    "stop_reason": anthropic.STOP_REASONS,
    "stopReason": bedrock_converse.STOP_REASONS,
    "done_reason": ollama.STOP_REASONS,
    "status": {
        word: _RESPONSES[word] for word in ("completed", "incomplete", "failed", "cancelled")
    },
}
"""The keys of `response_metadata` that hold a stop reason, and whose words stand there. No word
means one thing under a key for one provider and another for the next."""

_CHUNK: Final = "AIMessageChunk"
"""What every chunk says its type is."""

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    **_RESPONSES,
    **{word: verdict for table in VOCABULARIES.values() for word, verdict in table.items()},
}
"""All of those words."""


def recognises(native: Any) -> bool:
    """Whether a native event is a message chunk of LangChain's."""
    chunk = _chunk_of(native)
    return read_text(chunk, "type") == _CHUNK and (
        is_mapping(chunk) or hasattr(chunk, "tool_call_chunks")
    )


def _chunk_of(native: Any) -> Any:
    """The chunk itself, out of the envelopes that LangChain's dumps put around it."""
    if is_mapping(native):
        for name in ("data", "kwargs"):
            inner = native.get(name)
            if is_mapping(inner):
                return inner
    return native


@final
class LangChainNormaliser(Normaliser):
    """One message, of whichever model LangChain speaks to."""

    provider = "langchain"
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset(
        {"tool_calls", "function_call", "tool_use", "TOOL_CALL"}
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sink = Sink()
        self._calls = ChoiceCalls(self, self._sink, 0)
        self._run_id = ""
        self._numbers: dict[str, int] = {}
        self._ids_are_minted = False  # each piece has one of its own
        self._server_places: set[int | None] = set()
        self._places: set[int | None] = set()
        self._pieces: dict[int | None, str] = {}  # of calls, in this chunk's blocks
        self._content: list[Any] = []
        self._kwargs: list[Any] = []
        self._metadata: dict[str, Any] = {}

    def feed(self, native: Any) -> list[Event]:
        """Translate one chunk."""
        self._sink.begin(native)
        self.kept_more = True
        self._pieces = {}
        chunk = _chunk_of(native)
        content = read(chunk, "content")
        if content is None and read_text(chunk, "type") != _CHUNK:
            return self.unknown(native)
        custom_inputs = self._read_content(content) if content else {}
        kwargs = read(chunk, "additional_kwargs")
        if kwargs:
            self._kwargs.append(kwargs)
            self._say_reasoning(read_text(kwargs, "reasoning_content"))
        entries = read_list(chunk, "tool_call_chunks")
        if content or entries:
            self._see_run(read_text(chunk, "id"))
        if not entries or not self._restate(entries, read(chunk, "chunk_position")):
            for entry in entries:
                self._read_call(entry, custom_inputs)
            self._read_pieces(mirrored=any(read(entry, "args") for entry in entries))
        if function := read(kwargs, "function_call"):
            # After the calls, which most integrations mirror in it.
            self._calls.read_function_call(function)
        usage = read(chunk, "usage_metadata")
        if usage:
            self._add_usage(usage)
        metadata = read(chunk, "response_metadata")
        if is_mapping(metadata) and metadata:
            self._read_reasons(metadata)
        return self._sink.finish()

    def end(self) -> list[Event]:
        """Close the calls of a message that got no stop reason: nothing more can come."""
        self._sink.begin(None)
        self._calls.run_out()
        return self._sink.events

    def _see_run(self, chunk_id: str) -> None:
        """See whether it is still the same run of a model.

        LangChain names the run in every chunk that the integration gives no id of its own.
        """
        if not chunk_id.startswith(_RUN_IDS) or chunk_id == self._run_id:
            return
        if self._run_id:
            self._calls.note_splice()
        self._run_id = chunk_id

    # Content

    def _read_content(self, content: Any) -> dict[str, str]:
        """Read text, or a list of blocks.

        Returns:
            The free texts of custom calls, by call id: LangChain wraps them in JSON elsewhere.
        """
        custom_inputs: dict[str, str] = {}
        for block in content if is_array(content) else [content]:
            self._content.append(block)
            if isinstance(block, str):
                self._say(block)
            elif is_mapping(block):
                kind = read_text(block, "type")
                if kind == "custom_tool_call":
                    custom_inputs[read_text(block, "call_id")] = read_text(block, "input")
                else:
                    self._read_block(kind, block)
        return custom_inputs

    def _say(self, text: str) -> None:
        if text:
            self.text.append(text)
            self._sink.events.append(TextDelta(text, 0, self._sink.carried()))

    def _say_reasoning(self, text: str) -> None:
        if text:
            self._sink.events.append(ReasoningDelta(text, 0, self._sink.carried()))

    def _read_block(self, kind: str, block: Mapping[str, Any]) -> None:
        if kind == "text":
            self._say(read_text(block, "text"))
        elif kind in REASONING:
            self._say_reasoning(reasoning_text(block))
        elif kind == "refusal":
            self._say(read_text(block, "refusal"))
            self._stop("refusal", _RESPONSES)
        elif kind in SERVER_CALLS:
            self._server_places |= {self._place(block)}
            if read_text(block, "id"):
                self._run_elsewhere(read_text(block, "id"), read_text(block, "name") or kind)
        elif kind == ARGUMENTS:
            place = self._place(block)
            self._pieces[place] = self._pieces.get(place, "") + read_text(block, "partial_json")
        elif kind in SERVER_ITEMS:
            failed = read_text(block, "status") in ("failed", "incomplete")
            self._run_elsewhere(read_text(block, "id"), kind, failed=failed)
        elif kind in (CODE, CODE_RESULT):
            self._read_code(kind, block)
        elif kind.endswith("tool_result") and answered_id(block):
            self._run_elsewhere(answered_id(block), kind, failed=reports_error(block))

    def _read_code(self, kind: str, block: Mapping[str, Any]) -> None:
        """Note code that the model runs: its result is that of the code before it."""
        if kind == CODE or not self.external_calls:
            self._run_elsewhere("", CODE)
            return
        latest = self.external_calls[-1]
        failed = "FAILED" in str(block.get("outcome"))
        latest.state = ExternalState.FAILED if failed else ExternalState.DONE
        self._sink.events.append(ExternalCallChanged(latest, self._sink.carried()))

    def _run_elsewhere(self, call_id: str, name: str, *, failed: bool | None = None) -> None:
        """Note a call that the provider runs: that it began, or how it ended."""
        ended = ExternalState.FAILED if failed else ExternalState.DONE
        state = None if failed is None else ended
        self._sink.events.append(self.external(call_id, name, self._sink.carried(), state))

    # Calls

    def _read_call(self, entry: Any, custom_inputs: Mapping[str, str]) -> None:
        place, call_id = self._place(entry), read_text(entry, "id")
        name, arguments = read_text(entry, "name"), read(entry, "args")
        if not name and self._is_stray(call_id, place):
            return
        self._places |= {place}
        if not name and call_id not in NO_ID:
            heads = [call.identity.call_id for call in self._calls.announced]
            self._ids_are_minted = self._ids_are_minted or call_id not in heads
        in_block = self._pieces.pop(place, "")
        head = {"index": place, "id": call_id}
        if call_id in custom_inputs:
            body: Any = {"custom": {"name": name, "input": custom_inputs[call_id]}}
        else:
            body = {"function": {"name": name, "arguments": arguments or in_block}}
        self._calls.read_entry({**head, **body})

    def _read_pieces(self, *, mirrored: bool) -> None:
        """Take the pieces of arguments that stand in the chunk's blocks only.

        Args:
            mirrored: The chunk has arguments elsewhere, so a block that no call was seen at may
                have the same ones.
        """
        for place, text in self._pieces.items():
            piece = {"function": {"arguments": text}}
            calls = self._calls.announced
            if place in self._places:
                self._calls.read_entry({"index": place, **piece})
            elif mirrored or place in self._server_places:
                continue
            elif calls and calls[-1].index is None:
                self._calls.read_entry(piece)

    def _place(self, holder: Any) -> int | None:
        """The index of a block or piece; those that are words are numbered in order."""
        index = read(holder, "index")
        if isinstance(index, str):
            return self._numbers.setdefault(index, len(self._numbers))
        return read_index(holder, "index")

    def _is_stray(self, call_id: str, place: int | None) -> bool:
        """Whether a nameless piece belongs to no call that can be told.

        It is a server-side call's, whose head is a content block. Or it comes with an id and a
        place of its own: so does every piece of a Gemini call whose arguments stream, and
        LangChain drops what is in them, so the call before it is not whole.
        """
        if not call_id:
            return place is not None and place in self._server_places
        if (place is not None and place in self._places) or not self._calls.announced:
            return False
        latest = self._calls.announced[-1].open_call
        self._sink.events.append(CallWithdrawn(latest.call, self._sink.carried()))
        return True

    def _restate(self, entries: Sequence[Any], position: Any) -> bool:
        """Take calls that the last chunk states again, whole.

        One integration mints an id for every piece, sends the last piece twice, and gives the
        calls as they are at the end.
        """
        calls = self._calls.announced
        if position != "last" or len(entries) != len(calls):
            return False
        if not all(map(self._states_again, calls, entries)):
            return False
        for call, entry in zip(calls, entries, strict=True):
            call.identity.call_id = read_text(entry, "id") or call.identity.call_id
            text = text_of(read(entry, "args"))
            if not text:
                continue  # it names the call again, and says nothing of its arguments
            call.identity.size = len(text)
            restated = ArgumentsRestated(call.open_call.call, text, self._sink.carried())
            self._sink.events.append(restated)
        return True

    def _states_again(self, call: KeyedCall, entry: Any) -> bool:
        """Whether an entry of the last chunk can be a call that came in pieces before.

        Its name is the same, and it has no index where the pieces had one. Its id is another one
        only where the pieces' ids say nothing, or where the pieces make no whole text: a call that
        came whole under an id of its own is not this one.
        """
        if read_text(entry, "name") != call.identity.name:
            return False
        if call.index is None or self._place(entry) is not None:
            return False
        call_id = read_text(entry, "id")
        if call_id in NO_ID and text_of(read(entry, "args")) == call.text.whole:
            return True
        return call_id == call.identity.call_id or self._ids_are_minted or not call.text.closed

    # The end

    def _read_reasons(self, metadata: Mapping[str, Any]) -> None:
        self._metadata.update(metadata)
        for name, table in VOCABULARIES.items():
            word = read_text(metadata, name)
            if name == "status":
                detail = read_text(metadata.get("incomplete_details"), "reason")
                word = (detail or word) if word in table else ""
            if word:
                self._stop(word, _RESPONSES if name == "status" else table)

    def _stop(self, word: str, table: Mapping[str, Verdict]) -> None:
        self._calls.stop()
        verdict = (
            self.context.stop_reasons.get(word)
            or table.get(word)
            or table.get(word.lower(), Verdict.UNKNOWN)
        )
        stopped = MessageStopped(StopReason(word, verdict), 0, self._sink.carried())
        self._sink.events.append(stopped)

    def _add_usage(self, usage: Any) -> None:
        """Add a chunk's counts: LangChain's are increments."""
        for name in ("input_tokens", "output_tokens"):
            count = read_count(usage, name)
            if count is not None:
                setattr(self.usage, name, (getattr(self.usage, name) or 0) + count)

    # History

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """The messages that `history` describes, of the calls that have an id of their own.

        The deprecated `function_call` has none, and is answered by name.
        """
        kept: dict[str, Answered] = {}
        for call in self._calls.announced:
            answer = answers.get(call.identity.key)
            if answer is not None and call.identity.call_id is not None:
                kept.setdefault(call.identity.call_id, answer)
        legacy = self._calls.legacy
        named = None if legacy is None or kept else answers.get(legacy.identity.key)
        content = content_of(self._content, frozenset(kept), keep_all=paused)
        return messages(content, self._kwargs, self._metadata, list(kept.values()), named)


PROVIDER: Final = Provider("langchain", LangChainNormaliser, recognises, "ndjson")
