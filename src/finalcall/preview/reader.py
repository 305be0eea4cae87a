"""The incremental reader: it keeps its place, so a fragment costs what the fragment is long.

It never raises on text and never recurses. It knows nothing of screens, changes or calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, cast, final

from finalcall.preview.grammar import (
    AFTER_ITEM,
    AFTER_MASKED,
    AFTER_MEMBER,
    BEFORE_COLON,
    END,
    FIRST_ITEM,
    FIRST_NAME,
    FROZEN,
    OPENS,
    START,
    WHITESPACE,
    Literal,
    NumberEnd,
    NumberPart,
    Row,
    Step,
)
from finalcall.preview.masking import Hidden, SensitivePaths
from finalcall.preview.strings import decode_open, split_pieces
from finalcall.preview.whole import DECODER, parse_whole
from finalcall.sensitive import Paths, below

__all__ = ["RESTART", "Reader"]

RESTART: Final = '\0"'
"""Sent in place of a fragment: this very object, not its text, forgets everything read so far."""

_NAME: Final = Step.NAME
_OPEN_OBJECT: Final = Step.OPEN_OBJECT
_OPEN_ARRAY: Final = Step.OPEN_ARRAY
_CLOSE: Final = Step.CLOSE
_LEAVE_MASKED: Final = Step.LEAVE_MASKED

_ROW: Final = cast("Any", dict)
"""How a row is told from what is to be done: `type(entry)`, half the price of its `__class__`."""

_SCALAR_STARTS: Final = frozenset("-0123456789tfn")
_scan: Final = make_scanner(cast("Any", DECODER))


@final
class Reader:
    """The state of one text: where in it we are, and the structure read so far.

    Attributes:
        root: The place of the whole document: empty, or one value.
        row: Where we are between strings, as a row of the grammar.
        outer: The open containers around the current one, outermost first, each with the row that
            follows a value in it. A list, so that depth costs no recursion.
        container: The current container.
        writing: The container whose last string is open; None where no string is.
    """

    __slots__ = (
        "_after",
        "_held",
        "_longest",
        "_name",
        "_name_cell",
        "_names",
        "_number",
        "_sensitive",
        "_slot",
        "container",
        "outer",
        "root",
        "row",
        "writing",
    )

    def __init__(self, root: list[Any], sensitive: SensitivePaths) -> None:
        self.root: list[Any] = root
        self._sensitive = sensitive
        self._longest = max(map(len, sensitive), default=-1)
        self._begin()

    def _begin(self) -> None:
        self.root.clear()
        self.row: Row = START
        self.outer: list[tuple[Any, Row]] = []
        self.container: Any = self.root
        if self._sensitive:
            self.container = Hidden(self.root, tuple(("*", *path) for path in self._sensitive))
        self.writing: Any = None
        self._after: Row = END
        self._slot: str | int = 0
        self._held = ""
        self._name = ""
        self._name_cell = [""]
        self._names: dict[str, str] = {}
        self._number: list[str] = []

    def reading(  # noqa: PLR0915 - in parts it would cost a call for each fragment
        self, refuse: Callable[[object], NoReturn]
    ) -> Generator[None, str, None]:
        """Read the fragments that are sent. Prime it once; it never ends by itself.

        Its locals are the state of the open string, which most fragments meet. A string grows in
        place only while nothing else refers to it, so its container lets go of it first. The `+=`
        has to be a line of its own: on one line CPython 3.13 joins its store with the load that
        follows, and then copies the whole string.

        No fragment is asked whether it is text, for each would pay for that: what is none fails at
        the first operation, which has changed nothing.

        Args:
            refuse: Raises for what was sent and is no text. A new reading then goes on from here.
        """
        piece: str | None
        text = held = ""
        place: Any = None if self.row is FROZEN else self.writing
        try:
            while True:
                while place is not None:
                    slot: Any = self._slot
                    string: str = place[slot]
                    held = self._held  # the end of the last fragment, where it is not whole
                    self._held = ""
                    text = yield
                    while True:
                        if held and text is not RESTART:
                            text = held + text
                            held = ""
                        if "\\" not in text:
                            if '"' in text:
                                break
                            if text.isprintable():  # most fragments: nothing in them is special
                                place[slot] = None
                                string += text
                                place[slot] = string
                                text = yield
                                continue
                            piece, held = decode_open(text)
                        else:  # the usual escapes, also one that the border has cut, in few calls
                            if '"' in text:
                                piece = text.replace('\\"', "\0")
                                if '"' in piece:
                                    break
                                piece = piece.replace("\0", '"')
                                if "\\" in piece:
                                    piece = piece.replace("\\n", "\n")
                            else:
                                piece = text.replace("\\n", "\n")
                            if not text.isprintable():
                                piece, held = decode_open(text)
                            elif "\\" in piece:
                                piece = piece.removesuffix("\\")
                                held = "\\"
                                if "\\" in piece:
                                    piece, held = decode_open(text)
                        if piece is None:
                            break
                        place[slot] = None
                        string += piece
                        place[slot] = string
                        text = yield
                    place = self._end_string(text, place, string)
                text = yield
                place = self._read_between(text)
        except Exception:  # whatever it raises, if it is taken for text and is none
            if isinstance(cast("Any", text), str):
                raise
            self._held = held if place is not None else ""
        refuse(text)

    def _end_string(self, text: str, place: Any, string: str) -> Any:
        """Read a fragment in which the open string ends, or the text becomes malformed.

        Args:
            text: The fragment.
            place: The container whose last string is open.
            string: That string so far.

        Returns:
            The container whose last string is open now; None where none is, or the text is frozen.
        """
        piece, _, rest = text.partition('"')
        if "\\" not in piece and piece.isprintable():
            self.row = self._close_string(place, string + piece)
            return self._read_between(rest)
        if text is RESTART:
            return self._begin()
        pieces, self._held, broken = split_pieces(text, in_string=True)
        string += pieces.pop(0)
        if not pieces:
            place[self._slot] = string
            return self._freeze()
        self.row = self._close_string(place, string)
        return self._read_pieces(pieces, None, broken)

    def _close_string(self, place: Any, string: str) -> Row:
        """Put the string that was open at its place, whole, and say what may follow it."""
        self.writing = None
        if place is self._name_cell:
            return self._take_name(string)
        place[self._slot] = string
        return self._after

    def _read_between(self, text: str) -> Any:
        """Read text that begins between strings; returns as `_end_string()` does."""
        row: Any = self.row
        if row is START and self._take_whole(text):
            return None
        if '"' not in text:
            step = row.get(text)
            # What can be walked need not be text; but nothing else can be added to text.
            self.row = step if type(step) is _ROW else self._walk(row, "" + text)
            return None
        gap, _, piece = text.partition('"')
        opened = row[OPENS].get(gap) or self._open_after(row, gap)
        if opened is None:
            return self._begin() if text is RESTART else self._freeze()
        if "\\" in piece or not piece.isprintable():
            pieces, self._held, broken = split_pieces(piece, in_string=True)
            return self._read_pieces(pieces, opened, broken)
        if '"' in piece:
            return self._read_pieces(piece.split('"'), opened, False)
        return self._open_string(opened, piece)

    def _read_pieces(self, pieces: list[str], opened: Step | None, broken: bool) -> Any:
        """Read the rest of a fragment with many quotes; returns as `_end_string()` does.

        Args:
            pieces: By turns inside and outside strings; the last one is open.
            opened: What the string in the first piece is; None where it is outside strings.
            broken: Whether the text is malformed where the pieces end.
        """
        row: Any = self.row
        last = pieces.pop()
        for piece in pieces:
            if opened is None:
                opened = row[OPENS].get(piece) or self._open_after(row, piece)
                if opened is None:
                    return self._freeze()
                continue
            if opened is _NAME:
                row = self._take_name(piece)
            elif self._after is AFTER_MEMBER:  # as `_put()` does, without a call for each piece
                self.container[self._name] = piece
                row = AFTER_MEMBER
            else:
                self.container.append(piece)
                row = self._after
            opened = None
        self.row = row
        place = self._open_string(opened, last) if opened else self._read_between(last)
        return self._freeze() if broken else place

    def _open_string(self, opened: Step, piece: str) -> Any:
        """Put the first characters of a string that stays open, and give its container."""
        place: Any
        slot: Any
        if opened is _NAME:
            slot = 0
            place = self._name_cell
            place[0] = piece
        else:
            place = self.container
            if self._after is AFTER_MEMBER:
                slot = self._name
                place[slot] = piece
            else:
                slot = len(place)
                place.append(piece)
        self._slot = slot
        self.writing = place
        return place

    def _freeze(self) -> None:
        self.row = FROZEN

    def _take_whole(self, text: str) -> bool:
        if self._sensitive or text.rstrip(WHITESPACE)[-1:] not in ("}", "]"):
            return False
        try:
            self.root.append(parse_whole(text))
        except (ValueError, RecursionError):
            return False
        self.row = END
        return True

    def _open_after(self, row: Row, gap: str) -> Step | None:
        """Read what stands before a quote, and say what the quote begins.

        A member's number or literal is read in one go, if it is whole and followed as it must be.
        """
        if row is BEFORE_COLON and len(gap) > 2 and gap[0] == ":":
            start = 2 if gap[1] == " " else 1
            if gap[start] in _SCALAR_STARTS:
                try:
                    value, end = _scan(gap, start)
                except (StopIteration, ValueError):
                    value, end = None, len(gap)
                if end < len(gap) and gap[end] in self._after:
                    self._put(value)
                    row = self._after
                    gap = gap[end:]
                    opened: Step | None = row[OPENS].get(gap)
                    if opened:
                        return opened
        return self._walk(row, gap).get('"')

    def _take_name(self, name: str) -> Row:
        container = self.container
        if name in container:
            return FROZEN
        self._name = name = self._names.setdefault(name, name)
        if self._sensitive and (paths := self._below(name)):
            self.outer.append((container, self._after))
            self.container = Hidden(container, paths, name)
            self._after = AFTER_MASKED
        return BEFORE_COLON

    def _put(self, value: Any) -> str | int:
        """Add a value to the current container, and say where in it."""
        container = self.container
        if self._after is AFTER_MEMBER:
            name = self._name
            container[name] = value
            return name
        container.append(value)
        return len(container) - 1

    def _walk(self, row: Row, text: str) -> Row:
        """Read text between strings, a character at a time."""
        try:
            for character in text:
                step = row[character]
                if type(step) is _ROW:
                    row = step
                elif type(step) is NumberPart:
                    self._number.append(character)
                    row = step.row
                else:
                    row = self._act(step, character)
        except (KeyError, ValueError):  # no such entry; a number that is too large
            return FROZEN
        return row

    def _act(self, step: Any, character: str) -> Row:
        """Do what a step says; the character is the one that leads to it."""
        if step is _CLOSE:
            self.container, self._after = self.outer.pop()
            return self._after
        if step is _OPEN_OBJECT or step is _OPEN_ARRAY:
            return self._open(step)
        if type(step) is Literal:
            self._put(step.value)
            return self._after
        following: Any
        if step is _LEAVE_MASKED:
            self.container, self._after = self.outer.pop()
            following = self._after[character]
        else:  # the character after a number; one that may not follow must not end the number
            following = self._after[character]
            value = step.reads("".join(self._number))
            self._number.clear()
            self._put(value)
        return following if type(following) is _ROW else self._act(following, character)

    def _open(self, step: Step) -> Row:
        value: Any = {} if step is _OPEN_OBJECT else []
        container, after = self.container, self._after
        if after is AFTER_MASKED and container.shows(value):
            container, after = self.outer.pop()
        if after is AFTER_MEMBER:
            container[self._name] = value
        else:
            container.append(value)
        self.outer.append((container, after))
        self.container = value
        if step is _OPEN_OBJECT:
            self._after = AFTER_MEMBER
            return FIRST_NAME
        self._after = AFTER_ITEM
        if self._sensitive and (paths := self._below()):
            self.container = Hidden(value, paths)
        return FIRST_ITEM

    def _below(self, *name: str) -> Paths:
        """What is sensitive at, or below, the current container or the member of that name."""
        if len(self.outer) > self._longest:
            return ()  # the path is longer than any sensitive one: don't make it
        paths = tuple(self._sensitive)
        for step in (*(str(last_key(outer)) for outer, _ in self.outer[1:]), *name):
            paths = below(paths, step)
        return paths

    def may_end_number(self) -> bool:
        """Whether the document is a number that only the end of the text can make whole."""
        return not self.outer and self.row.get(" ").__class__ is NumberEnd

    def open_containers(self, limit: int) -> tuple[list[Any], Any]:
        """Give the open containers that a screen can see.

        Args:
            limit: How many at most, counted from the root.

        Returns:
            The containers from the root down, and that one of them whose last value is an open
            string; None where none is.
        """
        containers = [container for container, _ in self.outer[:limit]]
        if len(containers) < limit:
            containers.append(self.container)
        for depth, hidden in enumerate(containers):
            if hidden.__class__ is Hidden:
                if depth < len(self.outer) and hidden.has_shown(self._inside(depth)):
                    containers[depth] = hidden.shown_in
                    continue
                del containers[depth:]
                if hidden.name is None:
                    containers.append(hidden.shown_in)
                begun = depth < len(self.outer) or self.writing is hidden
                return containers, hidden.shown_in if begun else None
        return containers, self.writing

    def _inside(self, depth: int) -> Any:
        """The open container that is in the open one at a depth."""
        return self.outer[depth + 1][0] if depth + 1 < len(self.outer) else self.container


def last_key(container: Any) -> str | int:
    """The key of the last value in a container that has one."""
    return next(reversed(container)) if container.__class__ is dict else len(container) - 1
