"""Which call an entry of `delta.tool_calls` belongs to, whatever its index, id and name say.

Services leave each of the three out, repeat it, renumber it, reuse it or send it late. The text is
looked at only to tell whether it is one closed document yet; nothing here judges a call.
"""

from __future__ import annotations

import io
import re
from typing import Any, Final, final

from finalcall.events import CallIdentity, CallKind
from finalcall.providers.base import OpenCall

_MARK: Final = re.compile(r'["{}\[\]\\]')

_LONGEST_PLACEHOLDER: Final = 16


@final
class ArgumentText:
    """A call's text so far, and whether it is one closed object or array.

    The pieces are looked through when somebody asks, each of them once.

    Attributes:
        size: Characters so far.
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "_opened", "_pieces", "_seen", "size")

    def __init__(self) -> None:
        self.size: int = 0
        self._pieces = io.StringIO(newline="\n")  # leaves line ends as they are
        self._seen = 0
        self._depth = 0
        self._opened = False
        self._in_string = False
        self._escaped = False

    def append(self, piece: str) -> None:
        """Add a piece."""
        self.size += self._pieces.write(piece)

    @property
    def closed(self) -> bool:
        """Whether a whole object or array is there: what follows it belongs to something else."""
        if self._seen < self.size:
            self._pieces.seek(self._seen)
            self._look_through(self._pieces.read())
            self._seen = self.size
        return self._opened and self._depth <= 0 and not self._in_string

    @property
    def is_placeholder(self) -> bool:
        """Whether it is an empty object, which some gateways send before the real text."""
        return self.size <= _LONGEST_PLACEHOLDER and self._pieces.getvalue().strip() == "{}"

    @property
    def whole(self) -> str:
        """The text so far. Costs a copy."""
        return self._pieces.getvalue()

    def equals(self, piece: str) -> bool:
        """Whether a piece repeats the whole closed text."""
        return len(piece) == self.size and self.closed and self._pieces.getvalue() == piece

    def has_at(self, position: int, piece: str) -> bool:
        """Whether a piece stands at a position."""
        self._pieces.seek(position)
        found = self._pieces.read(len(piece))
        self._pieces.seek(0, io.SEEK_END)
        return found == piece

    def _look_through(self, text: str) -> None:
        at = 0
        if self._escaped:
            self._escaped, at = False, 1
        while mark := _MARK.search(text, at):
            at = mark.end()
            character = mark.group()
            if character == "\\":
                self._escaped = at == len(text)
                at += 1
            elif character == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                opens = character in "{["
                self._opened = self._opened or opens
                self._depth += 1 if opens else -1


@final
class KeyedCall:
    """One call of a choice, with what the service said of it.

    Attributes:
        identity: Who it is.
        open_call: Makes its events.
        external: The provider runs it itself.
        index: The index it was announced with.
        text: Its argument text.
        extras: Fields beside the call's own that the next request must repeat.
        stopped: A stop reason came since its last announcement.
        completed: Its end was said.
        named_again: Its head came again after a stop reason: text that follows is a replay.
        generation: Of which of the spliced messages it is.
        repeating: The call that it may be, sent again: it is announced once its text differs.
    """

    __slots__ = (
        "completed",
        "external",
        "extras",
        "generation",
        "identity",
        "index",
        "named_again",
        "open_call",
        "repeating",
        "stopped",
        "text",
    )

    def __init__(self, identity: CallIdentity, index: int | None) -> None:
        self.identity: CallIdentity = identity
        self.open_call: OpenCall = OpenCall(identity)
        self.external: bool = False
        self.index: int | None = index
        self.text: ArgumentText = ArgumentText()
        self.extras: dict[str, Any] = {}
        self.stopped: bool = False
        self.completed: bool = False
        self.named_again: bool = False
        self.generation: int = 0
        self.repeating: KeyedCall | None = None

    @property
    def over(self) -> bool:
        """Whether its text is whole as far as can be seen: it takes no more of it."""
        return self.stopped or (self.identity.kind is CallKind.FUNCTION and self.text.closed)

    def repeats(self, piece: str) -> bool:
        """Whether a piece sends the whole text once more. Free text may well repeat itself."""
        return self.identity.kind is CallKind.FUNCTION and self.text.equals(piece)


@final
class CallKeys:
    """The calls of one choice, each found again by whatever the service repeats of it.

    Args:
        tool_names: The names on offer, or `None` where they are unknown.

    Attributes:
        calls: Every call, in order of announcement.
        latest: The call that an entry was last about.
    """

    def __init__(self, tool_names: frozenset[str] | None) -> None:
        self.calls: list[KeyedCall] = []
        self.latest: KeyedCall | None = None
        self._tool_names = tool_names
        self._by_id: dict[str, KeyedCall] = {}
        self._by_index: dict[int, KeyedCall] = {}

    def find(self, index: int | None, call_id: str, name: str, text: str) -> KeyedCall | None:
        """Find the call that an entry goes on with, and remember where it was seen.

        Args:
            index: The entry's index, `None` where it has none that could be one.
            call_id: Its id, or `""`.
            name: Its name, or `""`.
            text: Its piece of argument text, or `""`.

        Returns:
            The call, or `None` where the entry begins a new one.
        """
        if call_id:
            call = self._by_call_id(index, call_id, name, text)
        elif name:
            call = self._by_name(index, name, text)
        else:
            call = None if index is None else self._by_index.get(index)
            if call is not None and call is self.latest:
                return call
            call = self._unnamed(index, text) if call is None else self._unless_over(call, text)
        if call is not None:
            self.see(call, index, call_id)
        return call

    def add(self, call: KeyedCall, index: int | None, call_id: str) -> None:
        """Take in a new call."""
        self.calls.append(call)
        self.see(call, index, call_id)

    def knows(self, call_id: str) -> bool:
        """Whether a call has this id."""
        return call_id in self._by_id

    def named(self, call_id: str) -> KeyedCall | None:
        """The call that has this id."""
        return self._by_id.get(call_id)

    def is_new(self, index: int | None) -> bool:
        """Whether no call was seen with this index; without one, the latest is meant."""
        return index is not None and index not in self._by_index

    def renamed(self, call_id: str) -> KeyedCall | None:
        """The call that took pieces with this id, although its own is another."""
        call = self._by_id.get(call_id)
        return None if call is None or call.identity.call_id == call_id else call

    def see(self, call: KeyedCall, index: int | None, call_id: str) -> None:
        """Remember where a call was seen, and with which id."""
        self.latest = call
        if index is not None:
            self._by_index[index] = call
        if call_id:
            self._by_id[call_id] = call

    def merged_name(self, known: str | None, name: str) -> str | None:
        """The name of a call that is known as `known` and gets another `name`.

        A name is sent again with every piece, or in pieces, or each time a little longer.

        Returns:
            The whole name as far as it is known, or `None`: it is another call's name.
        """
        if not known or known == name:
            return name
        joined = known + name
        if self._tool_names is None:
            return name if name.startswith(known) else joined
        if name in self._tool_names:
            return name if name.startswith(known) and known not in self._tool_names else None
        return joined if any(tool.startswith(joined) for tool in self._tool_names) else None

    def at(self, index: int | None) -> KeyedCall | None:
        """The call that an index was last seen with; without one, the latest."""
        return self.latest if index is None else self._by_index.get(index)

    def _by_call_id(
        self, index: int | None, call_id: str, name: str, text: str
    ) -> KeyedCall | None:
        target = self.at(index)
        known = self._by_id.get(call_id)
        if known is not None:
            if target is not None and target.identity.call_id == call_id:
                known = target  # two calls share the id
            return None if name and self._reuses_id(known, index, name) else known
        if target is None:
            latest = self.latest
            goes_on = not name and latest is not None and latest.identity.name and not latest.over
            return latest if goes_on else None
        blank = not text.strip()
        if not name:
            # A new id on every piece: the first is the call's. An empty last piece says nothing.
            return target if blank or not target.over else None
        late = target.identity.call_id is None and target.identity.name in (None, name)
        named = target.identity.name is not None
        return target if late and (not target.over or (blank and not named)) else None

    def repeated(self, call_id: str, name: str) -> KeyedCall | None:
        """The call that a new one may be, sent again: it has the same id and name."""
        known = self._by_id.get(call_id) if call_id else None
        if known is None or not known.over or name != known.identity.name:
            return None
        return known.repeating or known

    def _reuses_id(self, known: KeyedCall, index: int | None, name: str) -> bool:
        """Whether an entry with a known id is another call all the same."""
        another = known.identity.name not in (None, name)
        if index is not None and index not in self._by_index and (known.over or another):
            return True
        if self.merged_name(known.identity.name, name) is None:
            return known.over or (self._tool_names is not None and name in self._tool_names)
        return known.over and another

    def _by_name(self, index: int | None, name: str, text: str) -> KeyedCall | None:
        target = self.at(index)
        if target is None:
            latest = self.latest
            if latest is None or latest.index is not None or latest.text.size:
                return None
            # The head of the call came without an index.
            return latest if latest.identity.name == name and not latest.over else None
        known = target.identity.name
        blank = not text.strip()
        if known is None:
            return target if blank or not target.over else None
        another = name != known or (target.text.size and target.over)
        if index is None and another and _is_closed(text):
            # Services without indexes and ids send calls whole: two alike are two calls.
            return None
        if name != known:
            in_pieces = not target.text.size and not target.stopped
            return target if in_pieces and self.merged_name(known, name) else None
        if target.stopped or blank or not target.over or target.text.is_placeholder:
            return target
        return None if text.lstrip().startswith("{") and not target.repeats(text) else target

    def _unless_over(self, call: KeyedCall, text: str) -> KeyedCall:
        """The call of an index, or the latest, where a document begins that only it still needs."""
        latest = self.latest
        begins = text.lstrip().startswith("{") and not call.repeats(text)
        if latest is None or latest.text.size or not (begins and call.over):
            return call
        return call if latest.over or latest.identity.name is None else latest

    def _unnamed(self, index: int | None, text: str) -> KeyedCall | None:
        latest = self.latest
        if index is None or latest is None or not latest.over:
            # No index, or the head of the call came under another one.
            return latest
        return latest if not text.strip() else None


def _is_closed(piece: str) -> bool:
    text = ArgumentText()
    text.append(piece)
    return text.closed
