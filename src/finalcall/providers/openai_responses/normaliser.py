"""Translates the Responses API: an item added announces, an item done ends, the response judges.

Whatever an end states of an item is the last word on it. What stands in the terminal event is
used only where the stream had less: some services send an empty output there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, final

from finalcall.events import (
    Anomaly,
    ArgumentsDelta,
    ArgumentsRestated,
    CallAnnounced,
    CallCompleted,
    CallWithdrawn,
    Event,
    ExternalCall,
    ExternalCallChanged,
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
from finalcall.providers.native import is_done, read, read_index, read_list, read_text
from finalcall.providers.openai_responses.following import follower
from finalcall.providers.openai_responses.history import all_answered, answer_items, input_items
from finalcall.providers.openai_responses.items import (
    CLIENT_CALLS,
    EXTERNAL_STATES,
    UNFINISHED,
    Item,
    as_plain,
    as_text,
    calls_in,
    closed_there,
    is_provider_call,
    names_of,
    piece_of,
    place_of,
    runs_here,
    said_in,
    state_at_end,
    stated_arguments,
)
from finalcall.providers.openai_responses.journal import Journal
from finalcall.providers.openai_responses.numbers import Fit, Numbers, Seam
from finalcall.providers.openai_responses.recognition import recognises
from finalcall.providers.openai_responses.registry import Registry
from finalcall.providers.openai_responses.response import (
    STOP_REASONS,
    TERMINALS,
    Response,
    fault_cause,
    fault_of,
)
from finalcall.stop_reasons import Verdict


@final
class OpenAIResponsesNormaliser(Normaliser):
    """One response.

    Attributes:
        response: What the response says of itself.
        numbers: What its events' sequence numbers say.
        journal: What is kept of it for a checkpoint.
        seam: Where the checkpoint ended that this stream continues, or `None`.
    """

    provider = "openai-responses"
    stop_reasons = STOP_REASONS
    keeps_conversation = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.response: Response = Response()
        self.numbers: Numbers = Numbers()
        self.journal: Journal = Journal()
        self.seam: Seam | None = None
        self._registry = Registry()
        self._last_piece: tuple[Item, Any] | None = None
        self._kept = self._complete = False

    def feed(self, native: Any) -> list[Event]:
        """Translate one event. Snapshots that the helper adds to its events are never read."""
        kind = read_text(native, "type")
        handler = self._handlers.get(kind)
        numbers = self.numbers
        if numbers.numbered:
            numbers.count(native, handler is not None)
        if self.seam is not None:
            fit = self.seam.fit(native, numbers.current, matters=handler is not None)
            if fit is not Fit.NEW:
                return self._unfit(fit, native)
        return self._other(native, kind) if handler is None else handler(self, native)

    def following(self, key: str) -> Following | None:
        """The pieces that come as the last one came, numbered on; none where a seam is watched."""
        item, last = self._last_piece or (None, None)
        if item is None or item.open_call is None or item.open_call.identity.key != key:
            return None
        return None if self.seam else follower(item, item.open_call, last, self.numbers)

    def _unfit(self, fit: Fit, native: Any) -> list[Event]:
        """Drop what the checkpoint holds already; stop at what cannot continue it."""
        if fit is Fit.SEEN:
            return only_native(None)
        self.ended = True
        self.anomaly("spliced_stream" if fit is Fit.FOREIGN else "sequence_gap")
        return [StreamFault(Cause.MALFORMED, fit.value, native=native)]

    # Items

    def _item_added(self, native: Any) -> list[Event]:
        content, index = read(native, "item"), read_index(native, "output_index")
        known = self._registry.announced(index, *names_of(content))
        if known is None:
            if not self.numbers.ahead:
                # A new item under an old number: here the numbers count something else.
                self.numbers.distrust()
            self.journal.added(native)
            item, events = self._open(index, content)
            item.number = self.numbers.current
            return carrying(events, native)
        if known.open_call is None:
            return only_native(native)
        if known.unannounced:
            known.unannounced = False
            self.journal.added(native)
            return carrying(self._identify_again(known, known.open_call, content), native)
        self.anomaly("call_replayed", known.open_call.identity.key)
        return only_native(native)

    def _open(self, index: int | None, content: Any) -> tuple[Item, list[Event]]:
        item = self._registry.open(index, *names_of(content))
        kind, name = item.kind, read_text(content, "name")
        call_id = item.call_id or item.item_id
        if runs_here(kind, content, self.context.tool_names):
            return item, [self._announce(item, call_id, name, content)]
        if is_provider_call(kind):
            changed = self.external(call_id, name or kind, None)
            item.external = changed.external
            return item, [changed]
        return item, []

    def _announce(self, item: Item, call_id: str, name: str, content: Any) -> CallAnnounced:
        facts = CLIENT_CALLS[item.kind]
        identity = self.identify(
            call_id,
            name if facts.named else item.kind,
            kind=facts.kind,
            namespace=read_text(content, "namespace") or None,
        )
        if identity.name is None:
            self.anomaly("no_name", identity.key)
        item.open_call = OpenCall(identity)
        # Text only: an object there is a placeholder.
        return item.open_call.announced(None, read_text(content, facts.arguments))

    def _identify_again(self, item: Item, open_call: OpenCall, content: Any) -> list[Event]:
        """Take what a later statement says of a call; who runs it may come out only then."""
        identity = open_call.identity
        self._registry.name(item, read_text(content, "id"), read_text(content, "call_id"))
        call_id = item.call_id or item.item_id
        if call_id and identity.call_id is None:
            self.anomalies.remove(Anomaly("no_call_id", identity.key))
        identity.call_id = call_id or None
        name = read_text(content, "name") or identity.name
        if CLIENT_CALLS[item.kind].named and name != identity.name:
            if item.ended:  # two ends that name two tools prove neither
                return [CallWithdrawn(open_call.call)]
            identity.name = name
        identity.namespace = read_text(content, "namespace") or identity.namespace
        if runs_here(item.kind, content, self.context.tool_names, so_far=True):
            return []
        changed = self.external(identity.call_id, identity.name or item.kind, None)
        item.external, item.open_call = changed.external, None
        return [CallWithdrawn(open_call.call), changed]

    def _item_done(self, native: Any) -> list[Event]:
        content, index = read(native, "item"), read_index(native, "output_index")
        item = self._registry.ended_by(index, *names_of(content))
        events: list[Event] = []
        if item is None:
            item, events = self._open(index, content)
        events += self._finish(item, content)
        self.journal.keep(native, item=item.content)
        return carrying(events, native)

    def _finish(self, item: Item, content: Any) -> list[Event]:
        """Take an item as its end states it."""
        item.content = as_plain(content)
        if item.open_call is not None:
            return self._finish_call(item, item.open_call, content)
        item.ended = True
        if item.external is not None:
            return self._finish_external(item, item.external, content)
        if item.kind == "message":
            return self._finish_message(item, content)
        if item.kind.endswith("_output"):
            return self._answered_there(content)
        return []

    def _finish_call(self, item: Item, open_call: OpenCall, content: Any) -> list[Event]:
        events = self._identify_again(item, open_call, content)
        again, item.ended = item.ended, True
        if events:
            return events
        text = stated_arguments(item.kind, content)
        if again:
            if not text or text == item.text:
                return []
            # Two ends state different arguments: neither can be trusted.
            self.anomaly("call_replayed", open_call.identity.key)
            return [open_call.announced(None), ArgumentsDelta(open_call.call, text)]
        events = self._state(item, open_call, text)
        if self._registry.tells_again(item, open_call.identity.name):
            self.anomaly("call_replayed", open_call.identity.key)
            events.append(CallWithdrawn(open_call.call))
        elif read_text(content, "status") not in UNFINISHED:
            events.append(CallCompleted(open_call.call, item.stated))
        return events

    def _state(self, item: Item, open_call: OpenCall, text: str) -> list[Event]:
        """Take the whole of a call's arguments: what is missing is added, what differs replaced."""
        if not text:
            return []
        so_far, item.pieces, item.stated = item.text, [text], True
        if text == so_far:
            return []
        if text.startswith(so_far):
            return [open_call.delta(text[len(so_far) :], None)]
        open_call.identity.size = len(text)
        return [ArgumentsRestated(open_call.call, text)]

    def _finish_external(self, item: Item, external: ExternalCall, content: Any) -> list[Event]:
        external.state = state_at_end(item.kind, content) or external.state
        return [ExternalCallChanged(external)]

    def _finish_message(self, item: Item, content: Any) -> list[Event]:
        """A message whose pieces did not come says its text at its end."""
        texts, refused = said_in(content)
        self.response.refused |= refused
        if item.pieces:
            return []
        item.pieces = texts
        self.text.extend(texts)
        return [TextDelta(text) for text in texts]

    def _answered_there(self, content: Any) -> list[Event]:
        """The output of a call stands in the response: the provider ran it, whoever should."""
        item = self._registry.named(read_text(content, "call_id"))
        told = item and self._external_by_id.get(item.call_id)
        if item is None or (told and told.state is ExternalState.DONE):
            return []
        call = None if item.open_call is None else item.open_call.call
        name = (call and call.name) or item.kind
        done = self.external(item.call_id, name, None, ExternalState.DONE)
        return [done] if call is None else [CallWithdrawn(call), done]

    # Pieces

    def _arguments_delta(self, native: Any) -> list[Event]:
        item, events = self._call_of(native)
        if item.external is not None:
            return [ExternalCallChanged(item.external, native)]
        open_call, text = item.open_call, piece_of(native)
        assert open_call is not None
        if item.ended or item.stated:
            self.anomaly("delta_after_end", open_call.identity.key)
            return only_native(native)
        if not text or self.numbers.repeats_piece(item, text):
            return carrying(events, native)
        if not item.pieces:
            self.journal.grow(native, item)
        item.pieces.append(text)
        events.append(open_call.delta(text, native))
        self._last_piece = item, native
        return events

    def _arguments_done(self, native: Any) -> list[Event]:
        item, events = self._call_of(native)
        open_call, name = item.open_call, read_text(native, "name")
        if open_call and name and (item.unannounced or open_call.call.name is None):
            events += self._identify_again(item, open_call, native)
        if item.open_call is None or item.ended:
            return carrying(events, native)
        field = CLIENT_CALLS[item.kind].arguments
        text = as_text(read(native, field))
        self.journal.keep(native, **{field: text})
        return carrying(events + self._state(item, item.open_call, text), native)

    def _call_of(self, native: Any) -> tuple[Item, list[Event]]:
        """The call that arguments belong to; an unknown one is announced, nameless if need be."""
        index, item_id = place_of(native)
        item = self._registry.of_piece(index, item_id, "function_call", "custom_tool_call")
        if item is not None and (item.open_call is not None or item.external is not None):
            return item, []
        custom = read_text(native, "type").startswith("response.custom_tool_call")
        kind = "custom_tool_call" if custom else "function_call"
        self.journal.keep(native, name=read_text(native, "name"))
        item = self._registry.open(index, kind, item_id, "")
        item.unannounced = True
        event = self._announce(item, "", read_text(native, "name"), None)
        self.anomaly("delta_for_unknown_call", event.call.key)
        return item, [event]

    def _text_delta(self, native: Any) -> list[Event]:
        text = read_text(native, "delta")
        if not text:
            return only_native(native)
        item = self._registry.of_piece(*place_of(native), "message")
        if item is None or item.kind != "message":
            item = self._registry.last("message") or self._open(None, {"type": "message"})[0]
        if self.numbers.repeats(item):
            return only_native(native)
        if item is not self.journal.writing:
            self.journal.grow(native, item)
            self.journal.writing = item
        item.pieces.append(text)
        self.text.append(text)
        return [TextDelta(text, 0, native)]

    def _refusal_delta(self, native: Any) -> list[Event]:
        if not self.response.refused:
            self.response.refused = True
            self.journal.keep(native)
        return self._text_delta(native)

    def _reasoning_delta(self, native: Any) -> list[Event]:
        text = read_text(native, "delta")
        item = self._registry.of_piece(*place_of(native), "reasoning")
        if not text or (item is not None and self.numbers.repeats(item)):
            return only_native(native)
        return [ReasoningDelta(text, 0, native)]

    def _other(self, native: Any, kind: str) -> list[Event]:
        """Signs of life of a call that are no arguments, and what is no event of this API."""
        if not kind:
            return self._untyped(native)
        if "_call" not in kind:
            return self._going_on(native)
        item = self._registry.of_piece(*place_of(native))
        last_word = kind.rpartition(".")[2]
        if item is not None and item.external is not None:
            state = EXTERNAL_STATES.get(last_word, item.external.state)
            if state is not item.external.state:
                item.external.state = state
                self.journal.keep(native)
            return [ExternalCallChanged(item.external, native)]
        if item is not None and item.open_call is not None and last_word == "delta":
            # A patch or a command grows: the call goes on, its JSON text comes whole at its end.
            return [item.open_call.delta("", native)]
        return only_native(native)

    def _untyped(self, native: Any) -> list[Event]:
        if isinstance(native, str):
            self.ended = is_done(native)
            return only_native(native)
        framed = read(native, "data")
        if read_text(framed, "type"):
            # Mistral's client frames each event.
            return [
                event if event.native is None else event.carrying(native)
                for event in self.feed(framed)
            ]
        return self.unknown(native)

    # The response

    def _created(self, native: Any) -> list[Event]:
        response = read(native, "response")
        response_id = read_text(response, "id")
        events: list[Event] = []
        if self.response.started:
            same = response_id == self.response.response_id
            if same and (response_id or not self._registry.items):
                self.anomaly("message_restarted")
            else:
                self.anomaly("spliced_stream")
                self.response.spliced = True
                events.append(StreamFault(Cause.MALFORMED, "spliced_stream", ends=False))
                self._registry.forget()
        self.response.started = True
        self.response.read(response, self.usage)
        return [*events, *self._going_on(native)]

    def _progressed(self, native: Any) -> list[Event]:
        response = read(native, "response")
        if not self.response.started:
            self.response.read(response, self.usage)
        return self._going_on(native)

    def _going_on(self, native: Any) -> list[Event]:
        """An event that is no end of its response, which may say there that it failed."""
        error = fault_of("", read(native, "response"))
        return self.unknown(native) if error is None else [self.fault(error, native)]

    def _terminal(self, native: Any) -> list[Event]:
        kind, response = read_text(native, "type"), read(native, "response")
        self.ended = True
        self.response.read(response, self.usage)
        error = fault_of(kind, response)
        if error is not None:
            return [self.fault(error, native)]
        events = self._reconcile(response)
        reasons = self.response.reasons(kind, response, self.usage)
        stops = [self.stopped(reason, None) for reason in reasons]
        verdicts = {stop.stop_reason.verdict for stop in stops}
        self._kept, self._complete = bool(stops), verdicts == {Verdict.COMPLETE}
        return carrying([*events, *stops], native)

    def _reconcile(self, response: Any) -> list[Event]:
        """Take from the terminal event what the stream lacked: ends, or the whole response."""
        output = read_list(response, "output")
        items = self._registry.items
        events: list[Event] = []
        for content in () if items else output:
            item, opened = self._open(None, content)
            events += opened + self._finish(item, content)
        for content in output:
            kind, item_id, call_id = names_of(content)
            known = self._registry.named(call_id, item_id)
            if kind.endswith("_output"):
                events += self._answered_there(content)
            elif known is not None and closed_there(known, content):
                events += self._finish(known, content)
        for item in items:
            if item.open_call is not None and item.stated and not item.ended:
                item.ended = True
                events.append(CallCompleted(item.open_call.call, True))
        if calls_in(output, self.context.tool_names) > len(self._keys):
            self.anomaly("promised_calls_missing")
        return events

    def fault(self, error: Any, native: Any) -> StreamFault:
        """An error that the provider reported: a few codes say more than that it failed."""
        self.ended: bool = True
        return StreamFault(*fault_cause(error), native=native)

    # History

    def history(
        self, answers: Mapping[str, Answered], *, paused: bool, stored: bool = False
    ) -> list[dict[str, Any]]:
        """The input items to append: the response's own, then one answer a call.

        Args:
            answers: The calls that stay, by key.
            paused: Changes nothing here.
            stored: The service keeps the conversation. Then only the answers are sent, and
                `request_fields` names the response to continue. A response that cannot be
                continued is sent as usual, after the one that it continued itself.
        """
        items = self._registry.items
        self.request_fields.pop("previous_response_id", None)
        if stored:
            continues = self._complete and self.response.stored and all_answered(items, answers)
            after = self.response.response_id if continues else self.response.continues_id
            if after:
                self.request_fields["previous_response_id"] = after
            if continues:
                return answer_items(items, answers)
        return input_items(items, answers, kept=self._kept and self.response.stored)

    _handlers: ClassVar[Mapping[str, Callable[[Any, Any], list[Event]]]] = {
        "error": Normaliser.unknown,
        "response.created": _created,
        "response.custom_tool_call_input.delta": _arguments_delta,
        "response.custom_tool_call_input.done": _arguments_done,
        "response.function_call_arguments.delta": _arguments_delta,
        "response.function_call_arguments.done": _arguments_done,
        "response.in_progress": _progressed,
        "response.output_item.added": _item_added,
        "response.output_item.done": _item_done,
        "response.output_text.delta": _text_delta,
        "response.queued": _progressed,
        "response.reasoning_summary_text.delta": _reasoning_delta,
        "response.reasoning_text.delta": _reasoning_delta,
        "response.refusal.delta": _refusal_delta,
        **dict.fromkeys(TERMINALS, _terminal),
    }


PROVIDER: Final = Provider("openai-responses", OpenAIResponsesNormaliser, recognises, "sse")
