"""Finds recordings that carry arrival times, and measures the gaps of each.

They are measured by a `Settler` that is told the recorded times, so they are those that a turn
would have measured.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from finalcall.cli.output import CUT_FILE
from finalcall.errors import RefusedStream
from finalcall.gaps import GapSummary
from finalcall.providers import UnrecognisedStream
from finalcall.settler import Settler
from finalcall.testing.replaying import (
    StoredStream,
    UnreadableRecording,
    end_stream,
    read_stream,
    tell,
)


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
        stream = read_stream(path)
        if stream.times is None:
            for _ in tell(Settler(tools=None, idle_timeout=None), stream):
                pass
            return Unused("untimed", stream.untimed)
        return _measured(stream, stream.times)
    except (RefusedStream, UnreadableRecording, UnrecognisedStream) as error:
        return Unused("unreadable", str(error))


def _measured(stream: StoredStream, times: Sequence[float]) -> Measured:
    settler = Settler(tools=None, idle_timeout=None)
    longest: dict[str, float] = {}
    worst: dict[str, int] = {}
    before = stream.requested
    for number, (native, time) in enumerate(zip(stream.natives, times, strict=True), start=1):
        if before is not None:
            settler.deadline(before)
            phase, gap = settler.clocks.phase.value, time - before
            if settler.ending is None and gap >= longest.get(phase, 0.0):
                longest[phase], worst[phase] = gap, number
        settler.feed(native, time)
        before = time
    end_stream(settler, stream)
    ending = settler.ending
    cause = None if ending is None or ending.cause is None else ending.cause.value
    if cause is not None and stream.is_cut:
        cause += f": {CUT_FILE}"
    return Measured(
        stream.provider or settler.provider or "unknown",
        settler.stats.gaps,
        worst,
        cause,
        stream.requested is not None,
    )
