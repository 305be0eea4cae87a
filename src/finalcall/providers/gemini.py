"""Google Gemini: `generate_content_stream()` of the SDK, its dicts, `streamGenerateContent` bytes.

A call stands whole in a part, or opens there and streams its arguments by path; a part without
`willContinue` ends it. It is judged by its candidate's `finishReason`, which is STOP for calls too.
There is no end marker and often no id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    CallCompleted,
    CallWithdrawn,
    Event,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    Other,
    ReasoningDelta,
    StreamFault,
    TextDelta,
)
from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Cause
from finalcall.providers.base import Answered, Context, Normaliser, OpenCall, Provider
from finalcall.providers.gemini_calling import shows_calling
from finalcall.providers.gemini_partial_args import PartialArguments, read_entries
from finalcall.providers.gemini_parts import (
    NO_ARGUMENTS,
    Part,
    Parts,
    contents,
    sense_of,
    signature_of,
    to_base64,
    whole_text,
)
from finalcall.providers.gemini_words import (
    NUMBERED_STOP_REASONS,
    STOP_REASONS,
    external_name,
    has_failed,
    read_id,
    read_word,
)
from finalcall.providers.native import (
    is_done,
    read,
    read_either,
    read_index,
    read_list,
    read_text,
)
from finalcall.providers.reported import error_beside, error_in
from finalcall.stop_reasons import StopReason, Verdict

_EXTERNAL_CALLS: Final = (("executableCode", "executable_code"), ("toolCall", "tool_call"))
_ANSWERS: Final = (
    ("codeExecutionResult", "code_execution_result", "executableCode"),
    ("toolResponse", "tool_response", "toolCall"),
    ("functionResponse", "function_response", "functionCall"),
)
"""Parts that answer calls which somebody else ran, with the part that each answers."""

_GROUNDING: Final = (
    ("groundingMetadata", "grounding_metadata", "grounding"),
    ("urlContextMetadata", "url_context_metadata", "url_context"),
)
"""What a candidate says of searches that left no part."""

_CONTENTS: Final = (
    ("candidates", "candidates"),
    ("promptFeedback", "prompt_feedback"),
    ("usageMetadata", "usage_metadata"),
)
"""What a response holds, one of them at least."""

_COUNTS: Final = (
    ("promptTokenCount", "prompt_token_count"),
    ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    ("candidatesTokenCount", "candidates_token_count"),
    ("thoughtsTokenCount", "thoughts_token_count"),
)


def recognises(native: Any) -> bool:
    """Whether a native event is a Gemini response: bare, as `{"response": …}`, or an array."""
    if is_array(native):
        return bool(native) and is_object(native[0]) and recognises(native[0])
    response = _unwrapped(native)
    if isinstance(read(response, "candidates"), list):
        return True
    if read_either(response, "promptFeedback", "prompt_feedback") is not None:
        return True
    if read_either(response, "usageMetadata", "usage_metadata") is not None:
        return isinstance(read_either(response, "modelVersion", "model_version"), str)
    error = response.get("error") if is_object(response) else None
    return is_object(error) and isinstance(error.get("status"), str)


@final
class _Candidate:
    """One candidate: its parts, the call whose arguments stream now, whether it has stopped.

    The part before may be a whole call without arguments: they may still come, without its name.
    """

    __slots__ = ("bare", "choice", "parts", "stopped", "streamed")

    def __init__(self, choice: int) -> None:
        self.choice = choice
        self.parts = Parts()
        self.bare: Part | None = None
        self.streamed: Part | None = None
        self.stopped = False


@final
class GeminiNormaliser(Normaliser):
    """One message of `streamGenerateContent`, all candidates of it."""

    provider = "gemini"
    stop_reasons = STOP_REASONS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._candidates: dict[int, _Candidate] = {}
        self._first: _Candidate | None = None  # the one that is settled, of several
        self._response_id = ""
        self._resumable = False
        self._server_runs_calls = False
        self._running: dict[str, list[ExternalCall]] = {}  # those without an id
        self._contradictions: set[str] = set()
        self._counts: dict[str, int] = {}
        self._content: Any = None
        self._events: list[Event] = []
        self._native: Any = None

    def feed(self, native: Any) -> list[Event]:
        """Translate one response chunk, or an array of them: what the wire is without SSE."""
        self._native = native
        self._events = events = list[Event]()
        if isinstance(native, str):
            self.ended: bool = self.ended or is_done(native)
            return [Other(native)]
        for response in native if is_array(native) else [native]:
            self._read_response(_unwrapped(response))
        if self._native is not None or not events:
            events.append(Other(native))
        return events

    def _read_response(self, response: Any) -> None:
        candidates = read_list(response, "candidates")
        if candidates:
            self._read_origin(response)
            for position, candidate in enumerate(candidates):
                self._read_candidate(position, candidate)
        self._read_notice(response)
        usage = read_either(response, "usageMetadata", "usage_metadata")
        if usage is not None:
            self._read_usage(usage)

    def _take_native(self) -> Any:
        """The native event for the one event that carries it, then `None`."""
        native, self._native = self._native, None
        return native

    def _read_origin(self, response: Any) -> None:
        """See whether it is still the same generation, and who runs its calls."""
        if is_object(response) and "turnToken" in response:
            self._server_runs_calls = True
        if shows_calling(response):
            self._contradict("calls_run_by_sdk")
            return
        response_id = read_either(response, "responseId", "response_id")
        if response_id == self._response_id or not response_id or not isinstance(response_id, str):
            return
        # The SDK goes on with a new request where it was given a token to go on with.
        if self._response_id and not self._resumable:
            self.anomaly("spliced_stream")
            self._contradict("spliced_stream")
        self._response_id = response_id

    def _contradict(self, code: str) -> None:
        """The stream is not one message of the model's: none of its calls may run."""
        if code not in self._contradictions:
            self._contradictions.add(code)
            native = self._take_native()
            self._events.append(StreamFault(Cause.MALFORMED, code, ends=False, native=native))

    def _read_notice(self, response: Any) -> None:
        """An error, or a refused prompt: there are mostly no candidates then."""
        known = any(read_either(response, *names) is not None for names in _CONTENTS)
        error = error_beside(response) if known else error_in(response)
        if error is not None:
            self._events.append(self.fault(error, self._take_native()))
        feedback = read_either(response, "promptFeedback", "prompt_feedback")
        if feedback is None:
            return
        raw = read_word(read_either(feedback, "blockReason", "block_reason"))
        if raw:  # of whatever word: where there is one, the prompt was refused
            verdict = self.context.stop_reasons.get(raw) or Verdict.FILTERED
            choice = 0 if self._first is None else self._first.choice
            stopped = MessageStopped(StopReason(raw, verdict), choice, self._take_native())
            self._events.append(stopped)

    def _read_candidate(self, position: int, native: Any) -> None:
        index = read_index(native, "index")
        choice = position if index is None else index
        candidate = self._candidates.get(choice)
        if candidate is None:
            candidate = self._candidates[choice] = _Candidate(choice)
        content = self._content = read(native, "content")
        if content is not None:
            for part in read_list(content, "parts"):
                self._read_part(candidate, part)
        for camel, snake, name in _GROUNDING:
            if read_either(native, camel, snake) is not None:
                self._read_grounding(name)
        token = read_either(native, "continuationToken", "continuation_token")
        if token is not None:
            self._resumable = True
        reason = read_either(native, "finishReason", "finish_reason")
        if reason is not None:
            self._read_stop(candidate, read_word(reason, NUMBERED_STOP_REASONS), token)

    def _read_stop(self, candidate: _Candidate, raw: str, token: Any) -> None:
        if not raw:
            return
        candidate.stopped = True
        resume = to_base64(token)
        if raw == "CONTINUATION" and resume:
            self.request_fields["continuationToken"] = resume
        self._first = self._first or candidate
        self._events.append(self.stopped(raw, self._take_native(), candidate.choice))

    def _read_part(self, candidate: _Candidate, part: Any) -> None:
        text = read(part, "text")
        call = read_either(part, "functionCall", "function_call")
        if isinstance(text, str):
            self._read_text(candidate, part, text)
        if call is not None:
            self._read_call(candidate, part, call)
        elif not isinstance(text, str):
            self._read_other(candidate, part)

    def _read_text(self, candidate: _Candidate, part: Any, text: str) -> None:
        kind = "thought" if read(part, "thought") is True else "text"
        signature = signature_of(part)
        if not text and not signature:
            return
        last = candidate.parts.kept[-1] if candidate.parts.kept else None
        if last is None or last.kind != kind or signature or last.signature:
            last = Part(kind, part)
            candidate.parts.keep(last)
            self.kept_more = True
        if not text:
            return
        last.pieces.append(text)
        self._first = self._first or candidate
        if kind == "thought":
            self._events.append(ReasoningDelta(text, candidate.choice, self._take_native()))
            return
        if candidate is self._first:
            self.text.append(text)
        self._events.append(TextDelta(text, candidate.choice, self._take_native()))

    # The client's calls

    def _read_call(self, candidate: _Candidate, part: Any, call: Any) -> None:
        name, call_id = read_text(call, "name"), read_id(call)
        arguments = read(call, "args")
        entries = read_entries(call)
        goes_on = read_either(call, "willContinue", "will_continue") is True
        bare, candidate.bare = candidate.bare, None
        more = bool(entries) or not (arguments or goes_on)
        streamed = candidate.parts.find_streamed(name, call_id, candidate.streamed, more=more)
        if (
            bare is not None
            and bare.lacks(name, call_id)
            and (entries or arguments)
            and not goes_on
        ):
            self._go_on(candidate, bare, call)
        elif streamed is not None and streamed.arguments is not None:
            candidate.streamed = streamed
            streamed.signature = streamed.signature or signature_of(part)
            self._go_on(candidate, streamed, call)
        elif streamed is not None:
            if goes_on or entries or arguments:
                self._withdraw(streamed)
        elif not (name or call_id or entries or arguments):
            return  # it ends what is ended already
        elif self._server_runs_calls and not self._is_offered(name):
            self._read_external(candidate, "functionCall", part, call)
        elif goes_on or entries:
            # A call that streamed until now never got its own end, and only its id can bring one.
            begun = candidate.streamed = self._begin(candidate, part, name, call_id)
            if not name and begun.open_call is not None:
                self.anomaly("delta_for_unknown_call", begun.open_call.identity.key)
            self._go_on(candidate, begun, call)
        else:
            candidate.streamed = None
            self._take_whole(candidate, part, name, call_id, arguments)

    def _take_whole(
        self, candidate: _Candidate, part: Any, name: str, call_id: str, arguments: Any
    ) -> None:
        given = whole_text(arguments), sense_of(arguments)
        begun = self._begin(candidate, part, name, call_id, given)
        open_call, text = begun.open_call, begun.text
        assert open_call is not None
        assert text is not None
        if text == NO_ARGUMENTS:
            candidate.bare = begun
        else:
            open_call.identity.size = len(text)
            self._events.append(ArgumentsDelta(open_call.call, text))
        self._events.append(CallCompleted(open_call.call, whole=text != NO_ARGUMENTS))

    def _begin(
        self,
        candidate: _Candidate,
        part: Any,
        name: str,
        call_id: str,
        given: tuple[str | None, str | None] = (None, None),
    ) -> Part:
        """Announce a call; announce it again, if it is one that is known.

        Args:
            candidate: Whose call it is.
            part: The native part.
            name: The tool's name.
            call_id: The call's id, or `""`.
            given: The whole arguments, their text and their sense; `None` where they stream.
        """
        self._first = self._first or candidate
        text, sense = given
        known = candidate.parts.find_known(name, call_id, sense, stopped=candidate.stopped)
        made = Part("replay" if known else "call", part)
        made.text, made.sense = text, sense
        if known is not None and known.open_call is not None:
            if sense is not None and known.sense == sense:
                made.text = known.text  # the members may come in another order
            made.open_call = known.open_call
            self.anomaly("call_replayed", made.open_call.identity.key)
        else:
            identity = self.identify(call_id, name, choice=candidate.choice)
            if not name:
                self.anomaly("no_name", identity.key)
            made.open_call = OpenCall(identity)
            candidate.parts.keep_call(made, name, call_id)
        self._events.append(made.open_call.announced(self._take_native()))
        return made

    def _go_on(self, candidate: _Candidate, streamed: Part, call: Any) -> None:
        """Take what a part says of a call whose arguments stream."""
        open_call = streamed.open_call
        assert open_call is not None
        open_call.identity.call_id = open_call.identity.call_id or read_id(call) or None
        candidate.parts.keep_streamed(streamed)
        if streamed.arguments is None:
            streamed.arguments = PartialArguments()
        arguments = streamed.arguments
        whole = read(call, "args")
        if whole:
            arguments.state_whole(whole_text(whole))
        text = "".join([arguments.add(entry) for entry in read_entries(call)])
        if text:
            self._events.append(open_call.delta(text, self._take_native()))
        if read_either(call, "willContinue", "will_continue") is True:
            return
        candidate.streamed = streamed.arguments = None
        closing = arguments.close()
        if closing.restated:
            open_call.identity.size = len(closing.text)
            self._events.append(ArgumentsRestated(open_call.call, closing.text))
        elif closing.text not in ("", NO_ARGUMENTS):
            self._events.append(open_call.delta(closing.text, None))
        self._events.append(CallCompleted(open_call.call, native=self._take_native()))

    def _withdraw(self, ended: Part) -> None:
        """More of a call came after its own end, so it was not whole."""
        assert ended.open_call is not None
        self.anomaly("delta_after_end", ended.open_call.identity.key)
        self._events.append(CallWithdrawn(ended.open_call.call, self._take_native()))

    # Calls that somebody else runs

    def _is_offered(self, name: str) -> bool:
        return self.context.tool_names is not None and name in self.context.tool_names

    def _read_external(self, candidate: _Candidate, kind: str, part: Any, call: Any) -> None:
        call_id = read_id(call)
        candidate.parts.keep_external(kind, part, call_id)
        began = self.external(call_id, external_name(call), self._take_native())
        if not call_id:
            self._running.setdefault(began.external.name, []).append(began.external)
        self._events.append(began)

    def _read_grounding(self, name: str) -> None:
        if not self.external_calls:  # else it is the trace of a call that was seen
            done = self.external(None, name, self._take_native(), ExternalState.DONE)
            self._events.append(done)

    def _read_other(self, candidate: _Candidate, part: Any) -> None:
        for camel, snake in _EXTERNAL_CALLS:
            call = read_either(part, camel, snake)
            if call is not None:
                self._read_external(candidate, camel, part, call)
                return
        for camel, snake, asking in _ANSWERS:
            answer = read_either(part, camel, snake)
            if answer is not None:
                self._read_answer(candidate, asking, part, answer)
                return
        other = Part.copy_of("other", part)
        if other.plain:
            candidate.parts.keep(other)

    def _read_answer(self, candidate: _Candidate, asking: str, part: Any, answer: Any) -> None:
        """The answer to a call that somebody else ran, though it may have looked like ours."""
        call_id, name = read_id(answer), external_name(answer)
        candidate.parts.keep_answer(asking, part, call_id)
        if asking == "functionCall":
            asked = candidate.parts.find_asked(call_id, name)
            if asked is not None and asked.open_call is not None:
                asked.kind = "withdrawn"
                self._events.append(CallWithdrawn(asked.open_call.call))
            if read(self._content, "role") == "user":
                self._contradict("calls_run_by_sdk")
        state = ExternalState.FAILED if has_failed(answer) else ExternalState.DONE
        self._events.append(self._end_external(call_id, name, state))

    def _end_external(self, call_id: str, name: str, state: ExternalState) -> ExternalCallChanged:
        running = self._running.get(name)
        if call_id or not running:
            return self.external(call_id, name, self._take_native(), state)
        last = running.pop()
        last.state = state
        return ExternalCallChanged(last, self._take_native())

    def _read_usage(self, usage: Any) -> None:
        """Thoughts are no part of the candidates' count, nor tool results of the prompt's."""
        counts = self._counts
        for camel, snake in _COUNTS:
            count = read_either(usage, camel, snake)
            if isinstance(count, int) and count >= 0:
                counts[camel] = count
        if "promptTokenCount" in counts:
            more = counts.get("toolUsePromptTokenCount", 0)
            self.usage.input_tokens = counts["promptTokenCount"] + more
        if "candidatesTokenCount" in counts or "thoughtsTokenCount" in counts:
            spoken = counts.get("candidatesTokenCount", 0)
            self.usage.output_tokens = spoken + counts.get("thoughtsTokenCount", 0)

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """The model's message of the first candidate, and one message with every result.

        After CONTINUATION nothing is added: the same request goes again, and its continuation
        token (in `request_fields`) stands for all that was generated.
        """
        if paused and "continuationToken" in self.request_fields:
            return []
        return [] if self._first is None else contents(self._first.parts.kept, answers)


def _unwrapped(native: Any) -> Any:
    """The response itself: one backend sends it inside another object."""
    if is_object(native) and "candidates" not in native:
        return native.get("response", native)
    return native


PROVIDER: Final = Provider("gemini", GeminiNormaliser, recognises, "sse")
