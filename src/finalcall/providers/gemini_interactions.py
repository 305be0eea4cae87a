"""Gemini Interactions: `client.interactions.create(stream=True)`, its dicts, its bytes.

A call is a `function_call` step: announced by `step.start`, ended by `step.stop`, judged by the
status of `interaction.completed`, which comes with every status despite its name. Steps are keyed
by `index`. Where the SDK goes on by itself with a new interaction, that is still one message.

The API's first version had contents in place of steps, and a delta that states a call whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    CallCompleted,
    CallWithdrawn,
    Event,
    ExternalState,
    MessageStopped,
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
from finalcall.providers.gemini_steps import Step, answer_steps, input_steps
from finalcall.providers.native import is_done, read, read_count, read_index, read_list, read_text
from finalcall.providers.reported import error_code
from finalcall.providers.values import given_text
from finalcall.stop_reasons import Verdict

STOP_REASONS: Final[Mapping[str, Verdict]] = {
    "completed": Verdict.COMPLETE,
    "requires_action": Verdict.COMPLETE,
    "incomplete": Verdict.TRUNCATED,
    "budget_exceeded": Verdict.TRUNCATED,
    "requires_continuation": Verdict.PAUSED,
    "failed": Verdict.ERROR,
    "cancelled": Verdict.ERROR,
    "in_progress": Verdict.UNKNOWN,
    "queued": Verdict.UNKNOWN,
    "idle": Verdict.UNKNOWN,
}
"""Every status of the SDK's SSE types; those in `_FAULTS` are faults and no reasons."""

_FAULTS: Final[Mapping[str, Cause]] = {
    "failed": Cause.PROVIDER_ERROR,
    "cancelled": Cause.CANCELLED,
}
"""Statuses of interactions that broke off, with what cut them."""

_GOING_ON: Final = frozenset({"in_progress", "queued", "idle"})
"""Statuses that are no end, unless the closing event carries them."""

_EVENT_PREFIXES: Final = ("interaction.", "step.", "content.")

_OUTPUTS: Final = frozenset({"text", "image", "audio", "video", "document"})
"""Contents of the first version that are a step's output now."""


def recognises(native: Any) -> bool:
    """Whether a native event is one of the Interactions API's."""
    kind = read_text(_known(native, "event_type"), "event_type")
    return kind == "error" or kind.startswith(_EVENT_PREFIXES)


@final
class GeminiInteractionsNormaliser(Normaliser):
    """One interaction, or several that the SDK joined to one message."""

    provider = "gemini-interactions"
    keeps_conversation = True
    stop_reasons: ClassVar[Mapping[str, Verdict]] = STOP_REASONS
    promises_calls: ClassVar[frozenset[str]] = frozenset({"requires_action"})

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._steps: list[Step] = []
        self._by_index: dict[int, Step] = {}
        self._interaction_id = ""
        self._token = ""
        self._status = ""
        self._pausing = False

    def feed(self, native: Any) -> list[Event]:
        """Translate one event."""
        if isinstance(native, str):
            return self._done(native)
        event = _known(native, "event_type")
        kind = read_text(event, "event_type")
        handler = self._handlers.get(kind)
        if handler is not None:
            return handler(self, event, native)
        if kind.startswith("interaction."):
            return self._status_changed(event, native)
        return self.unknown(native, event)

    def end(self) -> list[Event]:
        """The pause that nothing came after."""
        return [self._pause(None)] if self._pausing else []

    def _done(self, native: str) -> list[Event]:
        if not is_done(native):
            return only_native(native)
        self.ended = True
        return [self._pause(native)] if self._pausing else only_native(native)

    def _pause(self, native: Any) -> MessageStopped:
        self._pausing = False
        self.request_fields["continuation_token"] = self._token
        return self.stopped("requires_continuation", native)

    # The interaction

    def _created(self, event: Any, native: Any) -> list[Event]:
        interaction = read(event, "interaction")
        interaction_id = read_text(interaction, "id")
        self._read_usage(read(interaction, "usage"))
        events: list[Event] = []
        if interaction_id and self._interaction_id and interaction_id != self._interaction_id:
            # The SDK goes on with a new interaction where it was given a token to go on with.
            if not self._token:
                self.anomaly("spliced_stream")
                events.append(StreamFault(Cause.MALFORMED, "spliced_stream", ends=False))
            self._by_index = {}
        elif self._pausing:
            self._by_index = {}
        elif self._interaction_id and interaction_id == self._interaction_id:
            self.anomaly("message_restarted")
        self._pausing = False
        self._interaction_id = interaction_id or self._interaction_id
        return carrying(events, native)

    def _status_changed(self, event: Any, native: Any) -> list[Event]:
        """A status on the way: one that is an end counts, though more may come."""
        kind = read_text(event, "event_type").removeprefix("interaction.")
        status = read_text(event, "status") or kind
        self._read_usage(read(event, "usage"))
        self._token = read_text(event, "continuation_token") or self._token
        if status in _GOING_ON or status not in STOP_REASONS:
            return only_native(native)
        return carrying(self._stop(status, native, read(event, "error")), native)

    def _completed(self, event: Any, native: Any) -> list[Event]:
        interaction = read(event, "interaction")
        self._interaction_id = read_text(interaction, "id") or self._interaction_id
        self._token = read_text(interaction, "continuation_token")
        self._read_usage(read(interaction, "usage"))
        events: list[Event] = []
        streamed = bool(self._keys)
        for step in [*read_list(interaction, "steps"), *read_list(interaction, "outputs")]:
            events += self._step_stated(_known(step, "type"), streamed=streamed)
        status = read_text(interaction, "status") or read_text(event, "status")
        if status:
            events += self._stop(status, native, read(interaction, "error"))
        self.ended = not self._pausing
        return carrying(events, native)

    def _stop(self, status: str, native: Any, error: Any) -> list[Event]:
        if status == "requires_continuation" and self._token:
            # The SDK may go on in the same stream: only what comes next tells.
            self._pausing = True
            return []
        if status in _FAULTS:
            code = status if error is None else error_code(error)
            self.ended: bool = True
            return [StreamFault(_FAULTS[status], code, native=native)]
        self._status = status
        return [self.stopped(status, native)]

    def _read_usage(self, usage: Any) -> None:
        """Thoughts are counted apart from output, and tool results from input."""
        if usage is None:
            return
        spoken = read_count(usage, "total_output_tokens")
        if spoken is not None:
            self.usage.output_tokens = spoken + (read_count(usage, "total_thought_tokens") or 0)
        given = read_count(usage, "total_input_tokens")
        if given is not None:
            self.usage.input_tokens = given + (read_count(usage, "total_tool_use_tokens") or 0)

    # Steps

    def _step_start(self, event: Any, native: Any) -> list[Event]:
        index = read_index(event, "index")
        step = _known(read(event, "step"), "type")
        return self._begin(len(self._steps) if index is None else index, step, native)

    def _begin(self, index: int, native_step: Any, native: Any) -> list[Event]:
        kind = read_text(native_step, "type")
        if kind == "function_call":
            return self._begin_call(index, native_step, native)
        step = self._keep(index, Step(kind, native_step))
        if kind.endswith("_call"):
            name = read_text(native_step, "name") or kind
            return [self.external(read_text(native_step, "id"), name, native)]
        if kind.endswith("_result"):
            return self._answered(step, native_step, native)
        return carrying(self._initial_content(step, native_step), native)

    def _keep(self, index: int, step: Step) -> Step:
        self._steps.append(step)
        self._by_index[index] = step
        return step

    def _initial_content(self, step: Step, native_step: Any) -> list[Event]:
        """What a step brings along at its start, and would else bring in deltas."""
        events: list[Event] = []
        for content in read_list(native_step, "content") if step.kind == "model_output" else ():
            events += self._add_content(step, content, None)
        for summary in read_list(native_step, "summary") if step.kind == "thought" else ():
            events += self._add_summary(step, summary, None)
        error = read(native_step, "error")
        if error is not None:
            events.append(StreamFault(Cause.PROVIDER_ERROR, error_code(error), ends=False))
        return events

    def _begin_call(self, index: int, native_step: Any, native: Any) -> list[Event]:
        call_id, name = read_text(native_step, "id"), read_text(native_step, "name")
        given = given_text(read(native_step, "arguments"))
        known = self._by_index.get(index)
        if known is not None and known.open_call is not None:
            identity = known.open_call.identity
            if identity.name is None and not known.kind:
                # Its pieces came first: the announcement only says whose they were.
                identity.name, identity.call_id = name or None, call_id or None
                known.restart("function_call", native_step)
                if given and not identity.size:
                    return [known.open_call.announced(native, given)]
                return only_native(native)
            if self.replays(identity, call_id, name, closed=known.closed):
                self.anomaly("call_replayed", identity.key)
                known.closed = False
                return [known.open_call.announced(native, given)]
        step = self._keep(index, self._call_step(native_step))
        assert step.open_call is not None
        return [step.open_call.announced(native, given)]

    def _call_step(self, native_step: Any) -> Step:
        identity = self.identify(read_text(native_step, "id"), read_text(native_step, "name"))
        if not identity.name:
            self.anomaly("no_name", identity.key)
        step = Step("function_call", native_step)
        step.open_call = OpenCall(identity)
        return step

    def _step_delta(self, event: Any, native: Any) -> list[Event]:
        delta = _known(read(event, "delta"), "type")
        kind = read_text(delta, "type")
        index = read_index(event, "index")
        step = self._step_at(index)
        if kind == "arguments_delta":
            return self._add_arguments(step, index, delta, native)
        metadata = read(event, "metadata")
        if metadata is not None:
            self._read_usage(read(metadata, "total_usage") or read(metadata, "usage"))
        if kind == "thought_summary":
            return self._add_summary(step, read(delta, "content"), native)
        if kind == "text":
            return self._add_content(step, delta, native)
        if step is None:
            return only_native(native)
        if kind == "thought_signature":
            step.signature.append(read_text(delta, "signature"))
        elif kind in ("image", "audio", "video", "document"):
            return self._add_content(step, delta, native)
        elif kind == step.kind:
            step.merge(delta)
            if kind.endswith("_result"):
                return self._answered(step, delta, native)
        return only_native(native)

    # Contents, which the first version had

    def _content_start(self, event: Any, native: Any) -> list[Event]:
        index = read_index(event, "index")
        index = len(self._steps) if index is None else index
        content = read(event, "content")
        if read_text(content, "type") in _OUTPUTS:
            step = self._keep(index, Step("model_output", None))
            return carrying(self._add_content(step, content, None), native)
        events = self._begin(index, content, native)
        step = self._by_index[index]
        if step.open_call is not None and step.open_call.identity.name is None:
            step.kind = ""  # its delta says who it is
        return events

    def _content_delta(self, event: Any, native: Any) -> list[Event]:
        delta, index = read(event, "delta"), read_index(event, "index")
        kind, step = read_text(delta, "type"), self._step_at(index)
        known = step is not None and step.kind == kind
        if kind == "function_call" or (kind.endswith(("_call", "_result")) and not known):
            going_on = step is not None and not step.closed
            at = len(self._steps) - going_on if index is None else index
            return self._begin(at, delta, native)
        return self._step_delta(event, native)

    def _step_at(self, index: int | None) -> Step | None:
        if index is None:
            return self._steps[-1] if self._steps else None
        return self._by_index.get(index)

    def _add_arguments(
        self, step: Step | None, index: int | None, delta: Any, native: Any
    ) -> list[Event]:
        text = given_text(read(delta, "arguments"))
        events: list[Event] = []
        if step is None:
            if not text:
                return only_native(native)
            events += self._begin_call(len(self._steps) if index is None else index, None, None)
            step = self._steps[-1]
            step.kind = ""
            assert step.open_call is not None
            self.anomaly("delta_for_unknown_call", step.open_call.identity.key)
        open_call = step.open_call
        if not text:
            return only_native(native)
        if open_call is None:
            if step.kind.endswith("_call") and not step.closed:
                return only_native(native)  # the input of a call that the service runs
            return self.stray(index, text, native)
        identity = open_call.identity
        if identity.call_id is None:
            identity.call_id = read_text(delta, "id") or None
        if step.closed:
            self.anomaly("delta_after_end", identity.key)
        return [*events, open_call.delta(text, native)]

    def _add_summary(self, step: Step | None, content: Any, native: Any) -> list[Event]:
        text = read_text(content, "text")
        if not text:
            return only_native(native) if native is not None else []
        if step is not None:
            step.summary.append(text)
        return [ReasoningDelta(text, 0, native)]

    def _add_content(self, step: Step | None, content: Any, native: Any) -> list[Event]:
        text = read_text(content, "text") if read_text(content, "type") == "text" else ""
        if step is None and text:
            step = Step("model_output", None)
            self._steps.append(step)
        if step is not None:
            step.add_content(content, text)
        if not text or (step is not None and step.kind == "user_input"):
            return only_native(native) if native is not None else []
        self.text.append(text)
        return [TextDelta(text, 0, native)]

    def _step_stop(self, event: Any, native: Any) -> list[Event]:
        step = self._step_at(read_index(event, "index"))
        if step is None:
            return only_native(native)
        step.closed = True
        if step.open_call is None:
            return only_native(native)
        return [CallCompleted(step.open_call.call, False, native)]

    def _step_stated(self, native_step: Any, *, streamed: bool) -> list[Event]:
        """A step that the closing event states: a call there that nothing announced is whole.

        One without an id is known where calls were streamed before.
        """
        call_id = read_text(native_step, "id")
        known = call_id in self._ids if call_id else streamed
        if known or read_text(native_step, "type") != "function_call":
            return []
        step = self._call_step(native_step)
        self._steps.append(step)
        assert step.open_call is not None
        announced = step.open_call.announced(None, given_text(read(native_step, "arguments")))
        return [announced, CallCompleted(step.open_call.call)]

    def _answered(self, step: Step, holder: Any, native: Any) -> list[Event]:
        """The result of a call that somebody else ran, though it may have looked like ours."""
        call_id = read_text(holder, "call_id") or step.call_id
        events: list[Event] = [
            CallWithdrawn(other.open_call.call)
            for other in self._steps
            if other.open_call is not None and other.open_call.identity.call_id == call_id
        ]
        failed = read(holder, "is_error") is True
        state = ExternalState.FAILED if failed else ExternalState.DONE
        name = read_text(holder, "name") or step.kind.removesuffix("_result")
        return [*events, self.external(call_id, name, native, state)]

    def history(
        self,
        answers: Mapping[str, Answered],
        *,
        paused: bool,
        stored: bool = False,
    ) -> list[dict[str, Any]]:
        """The input steps to append: the interaction's own, then one result a call.

        Args:
            answers: The calls that stay, by key.
            paused: Nothing is added where `request_fields` has a continuation token: the same
                input goes again, and the token stands for all that was generated.
            stored: The service keeps the conversation. Then only the results are sent, and
                `request_fields` names the interaction to continue. One that cannot be continued
                is sent as usual.
        """
        self.request_fields.pop("previous_interaction_id", None)
        continues = stored and bool(self._interaction_id) and self._stays(answers, paused=paused)
        if continues:
            self.request_fields["previous_interaction_id"] = self._interaction_id
        if paused and "continuation_token" in self.request_fields:
            return []
        if continues:
            return answer_steps(self._steps, answers)
        return input_steps(self._steps, answers)

    def _stays(self, answers: Mapping[str, Answered], *, paused: bool) -> bool:
        """Whether the service's copy of the message is what the conversation keeps."""
        if paused:
            return True
        complete = STOP_REASONS.get(self._status) is Verdict.COMPLETE
        return (
            complete
            and not self._strays
            and all(
                step.open_call is None or step.open_call.identity.key in answers
                for step in self._steps
            )
        )

    _handlers: ClassVar[Mapping[str, Callable[..., list[Event]]]] = {
        "content.delta": _content_delta,
        "content.start": _content_start,
        "content.stop": _step_stop,
        "interaction.complete": _completed,
        "interaction.completed": _completed,
        "interaction.created": _created,
        "interaction.start": _created,
        "step.delta": _step_delta,
        "step.start": _step_start,
        "step.stop": _step_stop,
    }


def _known(node: Any, discriminator: str) -> Any:
    """An event, step or delta itself, where the SDK has put one that it does not know aside."""
    if read(node, discriminator) != "UNKNOWN":
        return node
    raw = read(node, "raw")
    return node if raw is None else raw


PROVIDER: Final = Provider("gemini-interactions", GeminiInteractionsNormaliser, recognises, "sse")
