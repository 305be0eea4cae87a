"""JSON objects one after another: a line each, or as the elements of one top-level array.

A scanner that knows strings, escapes and nesting finds where each object ends, in any cut of the
bytes. It checks nothing else: whether an object is JSON is for the parser to say.
"""

from __future__ import annotations

import re
from typing import Final, final

from finalcall.limits import MAX_EVENT_BYTES
from finalcall.outcomes import Cause
from finalcall.wire.undecodable import Undecodable

_BLANK: Final = re.compile(rb"[ \t\r\n]*+")
_BLANK_OR_COMMA: Final = re.compile(rb"[ \t\r\n,]*+")
_OUTSIDE_STRINGS: Final = re.compile(
    rb'(?:[^"{}\[\]]++|"(?:[^"\\\n]++|\\[^\n])*+")*+'  # whole strings are passed over as well
)
_INSIDE_STRING: Final = re.compile(rb'(?:[^"\\\n]++|\\[^\n])*+')
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_OPENING: Final = frozenset(b"{[")


@final
class ObjectSplitter:
    """Cuts a byte stream into the JSON objects it is made of.

    A stream whose first byte (after blanks) is `[` is one array of objects; any other is a
    sequence of objects with nothing but blanks between them. Objects may span lines. After text
    that is no object, reading goes on at the next line; inside an array nothing after it can be
    trusted, so reading stops.

    Args:
        max_event_bytes: Longest object that is accepted. A longer one gives a single
            `Undecodable`, and the objects after it are read as usual.
    """

    __slots__ = (
        "_array",
        "_closed",
        "_depth",
        "_escaped",
        "_in_string",
        "_max_event_bytes",
        "_overlong",
        "_pending",
        "_skip_line",
        "_started",
        "_stopped",
    )

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending = bytearray()  # the object that is not complete yet
        self._overlong = False  # the pending object was refused; its remainder is only scanned
        self._depth = 0  # brackets open inside the object; the array's own is not counted
        self._in_string = False
        self._escaped = False  # the last chunk ended between a backslash and what it escapes
        self._started = False
        self._array = False
        self._closed = False  # the array has ended: only blanks may follow
        self._skip_line = False
        self._stopped = False

    def feed(self, chunk: bytes) -> list[bytes | Undecodable]:
        """Take the next bytes.

        Args:
            chunk: Any number of bytes, cut anywhere.

        Returns:
            The text of each object that these bytes complete, in order.
        """
        objects: list[bytes | Undecodable] = []
        position = 0
        while position < len(chunk) and not self._stopped:
            if self._skip_line:
                line_end = chunk.find(b"\n", position)
                self._skip_line = line_end < 0
                position = len(chunk) if line_end < 0 else line_end + 1
            elif self._depth == 0:
                position = self._between(chunk, position, objects)
            else:
                position = self._inside(chunk, position, objects)
        return objects

    def flush(self) -> list[bytes | Undecodable]:
        """End the stream.

        Returns:
            An `Undecodable` where an object was cut off, else nothing.
        """
        cut = self._depth > 0 and not self._overlong
        self._depth = 0
        self._stopped = True
        self._pending.clear()
        return [Undecodable("JSON object: cut off by the end of the stream")] if cut else []

    def _between(self, chunk: bytes, position: int, objects: list[bytes | Undecodable]) -> int:
        blank = _BLANK_OR_COMMA if self._array and not self._closed else _BLANK
        position = _match_end(blank, chunk, position)
        if position == len(chunk):
            return position
        byte = chunk[position : position + 1]
        if self._closed:
            self._reject(objects)
        elif byte == b"[" and not self._started:
            self._array = True
        elif byte == b"]" and self._array:
            self._closed = True
        elif byte == b"{":
            self._depth = 1
            self._in_string = False
            self._hold(b"{", objects)
        else:
            self._reject(objects)
        self._started = True
        return position + 1

    def _inside(self, chunk: bytes, start: int, objects: list[bytes | Undecodable]) -> int:
        position = start
        while position < len(chunk):
            if self._escaped:
                self._escaped = False
                position += 1
                continue
            pattern = _INSIDE_STRING if self._in_string else _OUTSIDE_STRINGS
            position = _match_end(pattern, chunk, position)
            if position == len(chunk):
                break
            byte = chunk[position]
            if self._in_string and byte not in b'"\\':
                # A line end cannot stand in a string: this object is broken, and the border
                # between it and the next is lost.
                self._hold(chunk[start:position], objects)
                self._reject(objects)
                return position
            position += 1
            if byte == _QUOTE:
                self._in_string = not self._in_string
            elif byte == _BACKSLASH:
                self._escaped = True
            elif byte in _OPENING:
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    self._complete(chunk[start:position], objects)
                    return position
        self._hold(chunk[start:], objects)
        return position

    def _hold(self, piece: bytes, objects: list[bytes | Undecodable]) -> None:
        if self._overlong:
            return
        self._pending += piece
        if len(self._pending) > self._max_event_bytes:
            self._overlong = True
            self._pending.clear()
            what = f"JSON object: longer than {self._max_event_bytes} bytes"
            objects.append(Undecodable(what, Cause.LIMIT))

    def _complete(self, piece: bytes, objects: list[bytes | Undecodable]) -> None:
        self._hold(piece, objects)
        if not self._overlong:
            objects.append(bytes(self._pending))
        self._forget()

    def _reject(self, objects: list[bytes | Undecodable]) -> None:
        if not self._overlong:
            objects.append(Undecodable("JSON stream: text that is no JSON object"))
        self._forget()
        self._stopped = self._array
        self._skip_line = True

    def _forget(self) -> None:
        self._pending.clear()
        self._overlong = False
        self._depth = 0
        self._in_string = False


def _match_end(pattern: re.Pattern[bytes], chunk: bytes, position: int) -> int:
    match = pattern.match(chunk, position)
    assert match is not None  # every pattern here matches the empty text
    return match.end()
