"""The lines of a recording: a header, one for each event, and a last one for how the stream ended.

That last one is `{"ended": word}`: it holds a word, the name of an exception's type and numbers,
never anything of the stream. Recordings without it are of streams of which nobody knows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast, final

from finalcall.outcomes import Cause

EXPECTED: Final = "expected a recording (JSON lines, a header first) or a response's raw bytes"
"""What every message about another file says."""

CLEAN: Final = "clean"
"""The word for a stream that came to an end of its own."""

LEFT: Final = "left"
"""The word for a stream that its reader left before its end, nobody knows why."""

CUT: Final = "cut"
"""What is said of a file that ends in the middle of a line. No file has that word."""

_WORDS: Final = frozenset({CLEAN, LEFT, *Cause})


@final
@dataclass(frozen=True, slots=True)
class RecordedEnd:
    """How a recorded stream ended.

    Attributes:
        how: `"clean"`: it ended by itself, a whole message or not. `"left"`: its reader closed it
            before. `"cut"`: the file ends in the middle of a line. Else the value of a `Cause`:
            what the stream raised means that, or the turn that read it says so.
        exception: The name of the type of what was raised, or `""`.
        events: How many events the turn had taken, where some were read ahead; `None` for all.
        at: When that was, on the scale of the events' times, or `None`.
    """

    how: str
    exception: str = ""
    events: int | None = None
    at: float | None = None

    @property
    def cause(self) -> Cause | None:
        """What to end a settler with; `None` where the stream just ended."""
        if self.how == LEFT:
            return Cause.CANCELLED
        return None if self.how in (CLEAN, CUT) else Cause(self.how)

    def to_line(self) -> dict[str, Any]:
        """The line that says so."""
        facts = {"exception": self.exception or None, "events": self.events, "at": self.at}
        known = {name: value for name, value in facts.items() if value is not None}
        return {"ended": self.how, **known}


@final
class RecordedLine(NamedTuple):
    """One line of a file of JSON lines.

    Attributes:
        number: Which, from 1; those that are blank count.
        fields: The object on it.
    """

    number: int
    fields: dict[str, Any]


@final
class RecordedLines(NamedTuple):
    """The lines of such a file.

    Attributes:
        lines: Those that are whole.
        is_cut: The file ends in the middle of another one: whoever wrote it was stopped.
    """

    lines: list[RecordedLine]
    is_cut: bool


def read_lines(content: bytes) -> RecordedLines:
    """Read JSON lines.

    Args:
        content: The file's bytes.

    Raises:
        ValueError: A line is no JSON object, and not just the unfinished last one. The message
            says which, and quotes nothing of it.
    """
    texts = [(n, one) for n, one in enumerate(content.splitlines(), start=1) if one.strip()]
    lines: list[RecordedLine] = []
    for number, text in texts:
        try:
            lines.append(_line(number, text))
        except _UnreadableTextError:
            is_last = number == texts[-1][0] and not content.endswith((b"\n", b"\r"))
            if is_last and lines:
                return RecordedLines(lines, is_cut=True)
            raise
    return RecordedLines(lines, is_cut=False)


@final
class _UnreadableTextError(ValueError):
    """A line is no JSON at all, as the beginning of one is not."""


def _line(number: int, text: bytes) -> RecordedLine:
    try:
        fields = json.loads(text)
    except RecursionError:
        raise ValueError(f"line {number}: JSON nested too deep; {EXPECTED}") from None
    except UnicodeDecodeError:
        raise _UnreadableTextError(f"line {number}: not UTF-8; {EXPECTED}") from None
    except json.JSONDecodeError as error:
        said = f"line {number}: no JSON at column {error.colno}; {EXPECTED}"
        raise _UnreadableTextError(said) from None
    except ValueError:  # a number with more digits than Python reads
        raise ValueError(f"line {number}: JSON that cannot be read; {EXPECTED}") from None
    if not isinstance(fields, dict):
        raise ValueError(f"line {number} is no JSON object; {EXPECTED}")  # noqa: TRY004
    return RecordedLine(number, cast("dict[str, Any]", fields))


def is_end(fields: dict[str, Any]) -> bool:
    """Whether a line says how the stream ended, and is no event.

    Args:
        fields: What is on it.
    """
    return "ended" in fields and "data" not in fields


def sort_lines(read: RecordedLines) -> tuple[list[dict[str, Any]], RecordedEnd | None]:
    """Tell a recording's events from how it ended.

    Args:
        read: Its lines, the header left out.

    Returns:
        The events, and the end; `None` where the file does not say it. One that events follow was
        none: somebody read on.

    Raises:
        ValueError: A line is neither. The message says which.
    """
    events: list[dict[str, Any]] = []
    ended: RecordedEnd | None = None
    for number, fields in read.lines:
        if is_end(fields):
            ended = _end(number, fields)
            continue
        if "data" not in fields or not isinstance(fields.get("event", 0), str | None):
            said = f"line {number}: event {len(events) + 1} lacks its 'event' or its 'data'"
            raise ValueError(f"{said}; {EXPECTED}")
        events.append(fields)
        ended = None
    return events, RecordedEnd(CUT) if read.is_cut else ended


def _end(number: int, fields: dict[str, Any]) -> RecordedEnd:
    how, exception, events = fields["ended"], fields.get("exception"), fields.get("events")
    if not isinstance(how, str) or how not in _WORDS:
        words = ", ".join(sorted(_WORDS))
        raise ValueError(f"line {number}: an ending that is not known; expected one of {words}")
    named = exception if isinstance(exception, str) and exception.isidentifier() else ""
    counted = events if isinstance(events, int) and events >= 0 else None
    return RecordedEnd(how, named, counted, seconds(fields.get("at")))


def seconds(value: Any) -> float | None:
    """A time in a line, or `None` for what is none.

    Args:
        value: What the line has.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def times_of(header: dict[str, Any], events: Iterable[dict[str, Any]]) -> tuple[float, ...] | str:
    """When the events of a recording arrived, or why that is not known.

    Args:
        header: Its header, which may say when the request was made.
        events: Its events' lines.
    """
    before, times = seconds(header.get("at")), list[float]()
    for number, fields in enumerate(events, start=1):
        time = seconds(fields.get("at"))
        if time is None:
            return f"event {number} has no time of arrival" if times else "no times of arrival"
        if before is not None and time < before:
            what = "the one before it" if times else "the request was made"
            return f"event {number} arrived before {what}"
        times.append(time)
        before = time
    return tuple(times)
