"""The calls of one choice: announces them, collects their pieces, ends them at a stop reason."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, final

from finalcall.events import (
    Anomaly,
    ArgumentsRestated,
    CallCompleted,
    CallIdentity,
    CallKind,
    CallWithdrawn,
    ExternalState,
    StreamFault,
)
from finalcall.narrow import is_mapping
from finalcall.outcomes import Cause
from finalcall.providers.base import Normaliser, OpenCall
from finalcall.providers.native import read_index, to_json, to_plain
from finalcall.providers.openai_chat.fields import fields_of
from finalcall.providers.openai_chat.following import Place
from finalcall.providers.openai_chat.generations import Generations
from finalcall.providers.openai_chat.keying import ArgumentText, CallKeys, KeyedCall
from finalcall.providers.openai_chat.sink import Sink

_ECHOED_FIELDS: Final = ("extra_content", "provider_specific_fields")
"""Fields of a call that go back with it: they hold the thought signatures of models behind it."""

_SERVER_IDS: Final = ("srvtoolu_", "mcptoolu_")
"""How the ids of calls begin that Anthropic runs itself; gateways show them as calls."""

NO_ID: Final = frozenset({"", "null", "None"})
"""What stands for the id of a call that has none."""

_OTHER_NAMES: Final = ("parameters", "input")
"""What some models call arguments, and what other services do."""

_NO_ARGUMENTS: Final[tuple[Any, ...]] = (None, "", "{}", {})

_NOTHING: Final[Mapping[str, Any]] = {}


@final
class ChoiceCalls:
    """The calls of one choice.

    Args:
        owner: Gives keys, and is told what is odd.
        sink: Where the events go.
        index: The choice's index.

    Attributes:
        generations: Told of each chunk's id.
        legacy: The call that came as the deprecated `function_call`, or `None`.
    """

    def __init__(self, owner: Normaliser, sink: Sink, index: int) -> None:
        self.generations: Generations = Generations()
        self.legacy: KeyedCall | None = None
        self._owner = owner
        self._sink = sink
        self._index = index
        self._keys = CallKeys(owner.context.tool_names)
        self._open: list[KeyedCall] = []
        self._empty: dict[str, KeyedCall] = {}
        self._repetitions: list[KeyedCall] = []
        self._displaced: list[tuple[KeyedCall, KeyedCall]] = []
        self._spliced = False
        self._last_index: int | None = None
        self._listed = False

    @property
    def announced(self) -> list[KeyedCall]:
        """Every call that is the client's, in order of announcement."""
        return [call for call in self._keys.calls if not call.external and not call.repeating]

    def expects(self, key: str, choice: int) -> tuple[Place, KeyedCall] | None:
        """Where the next piece of a call is expected, if it can only be that call's."""
        call, index = self._keys.latest, self._last_index
        if call is None or index is None or call.identity.key != key:
            return None
        if call.identity.kind is not CallKind.FUNCTION or call.external or call.stopped:
            return None
        if self._keys.at(index) is not call or not self.generations.settled:
            return None
        return Place(choice, index, self.generations.current), call

    def see_chunk(self, chunk_id: str, *, says: bool) -> None:
        """Take the id of the next chunk, which may show that two generations take turns.

        Before a stop reason nothing is said of that: there may be no call to be told apart.

        Args:
            chunk_id: The id.
            says: The chunk says something.
        """
        self.generations.see(chunk_id, says=says)
        if self.generations.mixed and any(call.stopped for call in self._keys.calls):
            self.note_splice()

    def read_entry(self, entry: Mapping[str, Any], place: int | None = None) -> None:
        """Take one entry of `delta.tool_calls`.

        Args:
            entry: The entry.
            place: Its place among several in one list: the index of one that has none.
        """
        index = entry.get("index")
        if type(index) is not int or index < 0:
            index = _index_of(entry)
        kind, call_id, name, argument = _parts_of(entry)
        text = argument if isinstance(argument, str) else _dumped(argument)
        if index is None and not (call_id or name):
            index = place
        # After a list whose entries had no index, a piece without one may be any entry's.
        nobodys = self._keys.is_new(index) or (index is None and self._listed)
        if text and not name and not self._keys.knows(call_id) and nobodys:
            self._withdraw_empty(2)
        self._listed = index is None and place is not None
        renamed = self._keys.renamed(call_id)
        call = self._keys.find(index, call_id, name, text)
        if call is None and name and self.legacy is not None and not self.legacy.over:
            call = self._join_legacy(self.legacy, index, call_id, name)
        self._last_index = index
        if call is None:
            if not (call_id or name or text):
                return
            before = None if index is None else self._keys.at(index)
            call = self._announce(kind, index, call_id, name)
            if before is not None and before.index != index and name:
                self._displaced.append((before, call))
            if renamed is not None and name:
                # Pieces that came with the id alone may have been this call's.
                self._withdraw(renamed)
                self._withdraw(call)
        elif call_id or name:
            self._learn(call, call_id, name)
        if index is None:
            self._keys.see(call, place, call_id)
        if kind is CallKind.CUSTOM and not call.text.size:
            call.identity.kind = kind
        for field in _ECHOED_FIELDS:
            if value := entry.get(field):
                call.extras[field] = to_plain(value)
        if text:
            if self._empty and not (call_id or name) and call.over and text.strip():
                self._withdraw_empty(1)
            self._add(call, text, whole=text is not argument)

    def restate(self, entries: Sequence[Any]) -> list[Any]:
        """Take the entries of a message that says again what came in pieces.

        Each is the call of its name and text, whatever its id, else the one of its place and
        name: then it adds what is missing, and a text that differs proves neither.

        Args:
            entries: The entries.

        Returns:
            Those that are no such call: they are to be read as any other.
        """
        news: list[Any] = []
        calls = self.announced
        known = {(call.identity.name, call.text.whole): call for call in reversed(calls)}
        for position, entry in enumerate(entries):
            _, call_id, name, argument = _parts_of(fields_of(entry))
            text = argument if isinstance(argument, str) else _dumped(argument)
            call = known.get((name, text))
            if call is None and position < len(calls) and calls[position].identity.name == name:
                call = calls[position]
            if call is None or self._keys.knows(call_id):
                news.append(entry)
                continue
            if call.text.whole != text and text:
                if call.text.size:
                    self._replay(call)
                self._add(call, text, whole=False)
            self._learn(call, call_id, "")
        return news

    def read_function_call(self, function: Any) -> None:
        """Take the deprecated `function_call`: one a message, without an id.

        Some gateways mirror an ordinary call in it: then it says nothing new.
        """
        fields = fields_of(function)
        name, argument = fields.get("name"), _argument_of(fields)
        name = name if isinstance(name, str) else ""
        text = argument if isinstance(argument, str) else _dumped(argument)
        if self._keys.latest is not None or not (name or text):
            return
        call = self.legacy
        if call is None:
            call = self.legacy = self._announce(CallKind.FUNCTION, None, "", name)
            self._keys.latest = None
        elif name:
            self._learn(call, "", name)
        if text:
            self._add(call, text, whole=text is not argument)

    def _join_legacy(
        self, legacy: KeyedCall, index: int | None, call_id: str, name: str
    ) -> KeyedCall | None:
        """The open `function_call`, where an ordinary call of that name goes on with it."""
        if name != legacy.identity.name:
            return None
        self.legacy = None
        self._keys.see(legacy, index, call_id)
        return legacy

    def read_answer(self, call_id: str, name: str) -> None:
        """Take the answer to a call: the service ran it, whoever should.

        Args:
            call_id: The call's id.
            name: Its name as the answer gives it, or `""`.
        """
        call = self._keys.named(call_id)
        if call is not None:
            name = call.identity.name or name
            if not call.external:
                call.external = call.completed = True
                self._empty.pop(call.identity.key, None)
                withdrawn = CallWithdrawn(call.open_call.call, self._sink.carried())
                self._sink.events.append(withdrawn)
        done = ExternalState.DONE
        answered = self._owner.external(call_id, name or "tool", self._sink.carried(), done)
        self._sink.events.append(answered)

    def stop(self) -> None:
        """A stop reason came: it is the end of every call that is open."""
        self._withdraw_heads()
        foreign = any(call.generation != self.generations.number for call in self._open)
        if self._open and (self.generations.mixed or (foreign and self.generations.lasting)):
            self.note_splice()
        self._complete(())

    def run_out(self) -> None:
        """The stream is over without a stop reason: the end of every open call that has text.

        One that has none may be a head whose arguments never came: only a stop reason proves that
        it takes none.
        """
        self._complete(set(self._empty))

    def _complete(self, unproved: Container[str]) -> None:
        for taker, owner in self._displaced:
            if owner.identity.key in self._empty:
                # Text came under its index before it did, and went to a call of another index.
                self._withdraw(taker)
                self._withdraw(owner)
        self._displaced.clear()
        self._empty.clear()
        repetitions, self._repetitions = self._repetitions, []
        for call in repetitions:
            if call.repeating is not None:
                self._settle_repetition(call, call.repeating)
        for call in self._open:
            call.stopped = True
            if call.identity.name is None:
                self._owner.anomaly("no_name", call.identity.key)
            if not call.completed and call.identity.key not in unproved:
                call.completed = True
                end = CallCompleted(call.open_call.call, False, self._sink.carried())
                self._sink.events.append(end)
        self._open = []

    def _announce(self, kind: CallKind, index: int | None, call_id: str, name: str) -> KeyedCall:
        repeated = self._keys.repeated(call_id, name)
        if self.legacy is not None and name == self.legacy.identity.name:
            repeated = self.legacy
        if repeated is not None:
            call = KeyedCall(CallIdentity("", call_id, name, kind, self._index), index)
            call.repeating = repeated
            self._repetitions.append(call)
            self._keys.add(call, index, call_id)
            return call
        identity = self._owner.identify(call_id, name, kind=kind, choice=self._index)
        call = KeyedCall(identity, index)
        self._keys.add(call, index, call_id)
        self._begin(call)
        return call

    def _settle_repetition(self, call: KeyedCall, known: KeyedCall) -> None:
        """No more text will tell a call from the one that it repeats so far."""
        if call.text.size not in (0, known.text.size):
            self._tell_apart(call, call.text.whole)
            return
        self._owner.anomaly("call_replayed", known.identity.key)
        if known is self.legacy:
            self._learn(known, call.identity.call_id or "", "")
            self.legacy = None

    def _tell_apart(self, call: KeyedCall, text: str) -> None:
        """Announce a call that turned out to be no repetition, with its text so far."""
        known, kind = call.identity, call.identity.kind
        call.identity = self._owner.identify(
            known.call_id, known.name, kind=kind, choice=self._index
        )
        call.open_call = OpenCall(call.identity)
        call.repeating = None
        self._begin(call)
        call.text = ArgumentText()
        self._add(call, text, whole=False)

    def _begin(self, call: KeyedCall) -> None:
        call_id, name = call.identity.call_id or "", call.identity.name
        call.generation = self.generations.number
        if call_id.startswith(_SERVER_IDS):
            call.external = True
            begun = self._owner.external(call_id, name or "tool", self._sink.carried())
            self._sink.events.append(begun)
            return
        self._open.append(call)
        self._empty[call.identity.key] = call
        if self._keys.calls[0].generation != call.generation:
            self.note_splice()
        self._sink.events.append(call.open_call.announced(self._sink.carried()))

    def _learn(self, call: KeyedCall, call_id: str, name: str) -> None:
        """Take an id or a name that came late, and notice a head that came again."""
        identity = call.identity
        if call_id and identity.call_id is None:
            identity.call_id = call_id
            outdated = Anomaly("no_call_id", identity.key)
            self._owner.anomalies = [one for one in self._owner.anomalies if one != outdated]
        if name:
            if identity.name is None or not call.text.size:
                identity.name = self._keys.merged_name(identity.name, name) or identity.name
            call.named_again = call.stopped

    def _add(self, call: KeyedCall, text: str, *, whole: bool) -> None:
        if call.external:
            call.text.append(text)
            return
        if call.repeating:
            if call.repeats(text):
                return
            if call.repeating.text.has_at(call.text.size, text):
                call.text.append(text)
            else:
                self._tell_apart(call, text if whole else call.text.whole + text)
            return
        if call.stopped:
            if call.named_again and text.strip():
                self._replay(call)
            else:
                self._owner.anomaly("delta_after_end", call.identity.key)
        size = call.text.size
        if len(text) == size and call.repeats(text):
            return
        if not size:
            self._empty.pop(call.identity.key, None)
        if whole and size:
            call.text = ArgumentText()
            call.identity.size = len(text)
            restated = ArgumentsRestated(call.open_call.call, text, self._sink.carried())
            self._sink.events.append(restated)
        else:
            self._sink.events.append(call.open_call.delta(text, self._sink.carried()))
        call.text.append(text)

    def _withdraw_empty(self, at_least: int) -> None:
        """Text came that nothing gives to one of several calls: those without any may lack it."""
        if len(self._empty) >= at_least:
            for call in list(self._empty.values()):
                self._withdraw(call)

    def _withdraw_heads(self) -> None:
        """Where a call's text is no whole object, one of its name without any may be its head."""
        if self._empty:
            cut = {one.identity.name for one in self._open if one.text.size and not one.over}
            for call in list(self._empty.values()):
                if call.identity.name in cut:
                    self._withdraw(call)

    def _withdraw(self, call: KeyedCall) -> None:
        self._empty.pop(call.identity.key, None)
        if not (call.external or call.repeating or call.completed):
            call.completed = True
            self._owner.anomaly("no_index", call.identity.key)
            self._sink.events.append(CallWithdrawn(call.open_call.call, self._sink.carried()))

    def _replay(self, call: KeyedCall) -> None:
        """A known call, named again after a stop reason: what follows is compared, not added."""
        self._owner.anomaly("call_replayed", call.identity.key)
        call.text = ArgumentText()
        call.named_again = call.stopped = False
        self._open.append(call)
        self._sink.events.append(call.open_call.announced(self._sink.carried()))

    def note_splice(self) -> None:
        """The stream is of two generations: none of its calls is proved whole."""
        if not self._spliced:
            self._spliced = True
            self._owner.anomaly("spliced_stream")
            fault = StreamFault(Cause.MALFORMED, "spliced_stream", ends=False)
            self._sink.events.append(fault)


def _index_of(entry: Mapping[str, Any]) -> int | None:
    """An entry's index, which some services send as text."""
    index = entry.get("index")
    if isinstance(index, str) and len(index) < 10 and index.isascii() and index.isdigit():
        return int(index)
    return read_index(entry, "index")


def _parts_of(entry: Mapping[str, Any]) -> tuple[CallKind, str, str, Any]:
    """An entry's kind, id and name, `""` where it has none, and its piece of arguments or input."""
    kind, body, argument = _body_of(entry)
    call_id, name = entry.get("id") or body.get("id"), body.get("name")
    if not isinstance(call_id, str) or call_id in NO_ID:
        call_id = ""
    if not isinstance(name, str) or name.isspace():
        name = ""
    return kind, call_id, name, argument


def _body_of(entry: Mapping[str, Any]) -> tuple[CallKind, Mapping[str, Any], Any]:
    """An entry's kind, the fields that hold its name, and its piece of arguments or input.

    Gateways put an empty `custom` beside a function: only one that holds a string counts.
    """
    if custom := entry.get("custom"):
        fields = fields_of(custom)
        if any(isinstance(fields.get(name), str) for name in ("name", "input")):
            return CallKind.CUSTOM, fields, fields.get("input")
    function = entry.get("function")
    fields = _NOTHING if function is None else fields_of(function)
    return CallKind.FUNCTION, fields, _argument_of(fields)


def _argument_of(function: Mapping[str, Any]) -> Any:
    """A piece of arguments: where it says nothing, it may have come by another name."""
    stated = function.get("arguments")
    if (stated.strip() if isinstance(stated, str) else stated) in _NO_ARGUMENTS:
        for name in _OTHER_NAMES:
            if (value := function.get(name)) not in _NO_ARGUMENTS:
                return value
    return stated


def _dumped(argument: Any) -> str:
    """Arguments that came as a value, as text: `None` and an empty object are no text yet."""
    return "" if argument is None or (is_mapping(argument) and not argument) else to_json(argument)
