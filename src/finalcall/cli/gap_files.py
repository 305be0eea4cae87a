"""Finds recordings that carry arrival times, and measures the gaps of each.

They are measured by a `Settler` that is told the recorded times, so they are those that a turn
would have measured.
"""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, final

from finalcall.errors import RefusedStream
from finalcall.gaps import GapSummary
from finalcall.providers import UnrecognisedStream
from finalcall.settler import Settler
from finalcall.testing import RecordedEvent, Recording

_EXPECTED: Final = "expected a recording: JSON lines, a header first"


def find(patterns: Sequence[str]) -> list[Path]:
    """The files that paths, directories and patterns name, each once, in order.

    Args:
        patterns: The words of the command line.

    Raises:
        ValueError: One of them names nothing.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            files = sorted(path.rglob("*.jsonl"))
            if not files:
                raise ValueError(f"no *.jsonl is in {pattern!r} or below; expected recordings")
        elif path.exists():
            files = [path]
        else:
            matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - it may be absolute
            files = [Path(match) for match in matches if Path(match).is_file()]
            if not files:
                raise ValueError(f"no file is called {pattern!r}, and none matches it")
        found |= dict.fromkeys(files)
    return list(found)


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """What one recording gave.

    Attributes:
        provider: Whose it is: the header's word, else the name of the one that was recognised.
        gaps: Its gaps, by phase.
        worst: The number of the event that ended the longest gap, by phase.
        cause: Why the stream ended as it must not; `None` after a proper end.
        requested: It says when its request was made.
    """

    provider: str
    gaps: Mapping[str, GapSummary]
    worst: Mapping[str, int]
    cause: str | None
    requested: bool


@final
@dataclass(frozen=True, slots=True)
class Unused:
    """A file that gave no gaps.

    Attributes:
        kind: `"untimed"` for a recording without usable times, `"unreadable"` for any other file.
        why: What was found.
    """

    kind: Literal["untimed", "unreadable"]
    why: str


def measure(path: Path) -> Measured | Unused:
    """Measure the gaps of one file; it may hold anything.

    Args:
        path: The file.
    """
    try:
        return _measured(path.read_bytes())
    except RecursionError:
        return Unused("unreadable", f"JSON nested too deep; {_EXPECTED}")
    except UnicodeDecodeError:
        return Unused("unreadable", f"not UTF-8; {_EXPECTED}")
    except json.JSONDecodeError as error:
        return Unused("unreadable", f"{error.msg} at column {error.colno}; {_EXPECTED}")
    except OSError as error:
        return Unused("unreadable", error.strerror or type(error).__name__)
    except (RefusedStream, UnrecognisedStream, ValueError) as error:
        return Unused("unreadable", str(error))


def _measured(content: bytes) -> Measured | Unused:
    if not content.lstrip().startswith(b"{"):
        Recording.parse(content)
        return Unused("untimed", "a dump of server-sent events carries no times")
    header, *lines = _lines(content)
    times = _times(lines)
    if isinstance(times, str):
        return Unused("untimed", times)
    requested = _seconds(header.get("at"))
    if requested is not None and requested > times[0]:
        return Unused("untimed", "event 1 arrived before the request was made")
    events = (RecordedEvent(line["event"], line["data"]) for line in lines)
    natives = Recording(header, tuple(events)).to_dicts()
    return _replayed(header.get("provider"), natives, times, requested)


def _lines(content: bytes) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for text in filter(bytes.strip, content.splitlines()):
        line = json.loads(text)
        if not isinstance(line, dict):
            raise ValueError(f"line {len(lines) + 1} is no JSON object; {_EXPECTED}")  # noqa: TRY004
        fields = cast("dict[str, Any]", line)
        named = "data" in fields and isinstance(fields.get("event", 0), str | None)
        if lines and not named:
            raise ValueError(f"event {len(lines)} lacks its 'event' or its 'data'; {_EXPECTED}")
        lines.append(fields)
    return lines


def _times(lines: Sequence[Mapping[str, Any]]) -> list[float] | str:
    """When the events of a recording arrived, or why that is not known."""
    times: list[float] = []
    for number, line in enumerate(lines, start=1):
        time = _seconds(line.get("at"))
        if time is None:
            return f"event {number} has no time of arrival" if times else "no times of arrival"
        if times and time < times[-1]:
            return f"event {number} arrived before the one before it"
        times.append(time)
    return times or "no events"


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _replayed(
    provider: Any, natives: Sequence[Any], times: Sequence[float], requested: float | None
) -> Measured:
    settler = Settler(tools=None, idle_timeout=None)
    longest: dict[str, float] = {}
    worst: dict[str, int] = {}
    before = requested
    for number, (native, time) in enumerate(zip(natives, times, strict=True), start=1):
        if before is not None:
            settler.deadline(before)
            phase, gap = settler.clocks.phase.value, time - before
            if settler.ending is None and gap >= longest.get(phase, 0.0):
                longest[phase], worst[phase] = gap, number
        settler.feed(native, time)
        before = time
    settler.end()
    ending = settler.ending
    cause = None if ending is None or ending.cause is None else ending.cause.value
    named = provider if isinstance(provider, str) else None
    return Measured(
        named or settler.provider or "unknown",
        settler.stats.gaps,
        worst,
        cause,
        requested is not None,
    )
