"""Finds the files of records and reads them line by line; a line may hold anything.

Nothing of a line is kept but what is counted: the raw text of a call is never looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

from finalcall.cli.gap_files import find as find_files
from finalcall.narrow import is_object
from finalcall.observe import OutcomeName
from finalcall.outcomes import Reason

FILES: Final = "finalcall-*.jsonl"
"""What `JsonlHandler` calls its files."""

MAX_LINE: Final = 1 << 20
"""Bytes of the longest line that is read. A record's text is cut at 4 KiB, so none is near that."""

YEARS: Final = range(1970, 3000)
"""Years that a record can be of: a line may claim any, and no axis spans them all."""

MAX_GAP: Final = 366 * 86_400.0
"""Seconds of the longest wait that is believed: no stream is a year old."""

_OUTCOMES: Final = frozenset[Any](get_args(OutcomeName))
_REASONS: Final = frozenset[Any](get_args(Reason))

Broken: TypeAlias = Literal["no JSON", "no record", "too long"]
"""Why a line does not count."""


@final
@dataclass(slots=True)
class CallRecord:
    """What counts of a settled call; see `finalcall.observe.SettledCall`.

    Attributes:
        at: When it settled, in UTC.
        tool: The name that the model used, or `None`.
        offered: Whether a tool of that name was offered.
        provider: The provider's name, or `None`.
        outcome: How it settled.
        reason: Of a failed call, else `None`.
        cause: Of a failed call, else `None`.
        gap: The longest wait inside of it, in seconds, or `None`.
    """

    at: datetime
    tool: str | None
    offered: bool
    provider: str | None
    outcome: OutcomeName
    reason: Reason | None
    cause: str | None
    gap: float | None


@final
@dataclass(slots=True)
class CorrectionRecord:
    """What counts of a correction; see `finalcall.observe.Correction`.

    Attributes:
        at: When the message that answered it was settled, in UTC.
        attempt: The number of that message, from 2.
        violations: The keywords that had failed.
        recovered: Whether no call was invalid or lost any more.
    """

    at: datetime
    attempt: int
    violations: tuple[str, ...]
    recovered: bool


def find(patterns: Sequence[str]) -> list[Path]:
    """The files that paths, directories and patterns name, each once, in order.

    Args:
        patterns: The words of the command line. Of a directory, and of those in it, the files that
            `JsonlHandler` wrote.

    Raises:
        ValueError: One of them names nothing.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        if Path(pattern).is_dir():
            files = sorted(Path(pattern).rglob(FILES))
            if not files:
                raise ValueError(f"no {FILES} is in {pattern!r} or below; expected records")
        else:
            files = find_files([pattern])
        found |= dict.fromkeys(files)
    return list(found)


def lines(path: Path) -> Iterator[tuple[bytes, int]]:
    """The lines of a file, with the number of bytes that each takes.

    Args:
        path: The file.

    Yields:
        A line, or the first `MAX_LINE + 1` bytes of a longer one, and its length.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE + 1):
            size, piece = len(line), line
            while len(piece) > MAX_LINE and not piece.endswith(b"\n"):
                piece = file.readline(MAX_LINE + 1)
                size += len(piece)
            yield line, size


def parse(line: bytes) -> CallRecord | CorrectionRecord | Broken:
    """What counts of a line.

    Args:
        line: As `lines` gives it.
    """
    if len(line) > MAX_LINE:
        return "too long"
    try:
        fields: object = json.loads(line)
    except (ValueError, RecursionError):
        return "no JSON"
    if not is_object(fields):
        return "no record"
    try:
        if fields["event"] == "call":
            return _call(fields)
        if fields["event"] == "correction":
            return _correction(fields)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass  # it lacks a field, or has one of another kind
    return "no record"


def _call(fields: Mapping[str, Any]) -> CallRecord:
    outcome, reason, cause = fields["outcome"], fields["reason"], _text(fields["cause"])
    failed = outcome == "failed"
    if outcome not in _OUTCOMES or failed is not (reason in _REASONS and cause is not None):
        raise ValueError("no outcome")
    return CallRecord(
        at=_time(fields["at"]),
        tool=_text(fields["tool"]),
        offered=bool(fields["offered"]),
        provider=_text(fields["provider"]),
        outcome=outcome,
        reason=reason if failed else None,
        cause=cause,
        gap=_seconds(fields["largest_gap"]),
    )


def _correction(fields: Mapping[str, Any]) -> CorrectionRecord:
    violations: Any = fields["violations"]
    if not isinstance(violations, list):
        raise TypeError("no list")
    words = cast("list[object]", violations)
    attempt = fields["attempt"]
    if type(attempt) is not int or attempt < 1:
        raise ValueError("no number of an attempt")
    return CorrectionRecord(
        at=_time(fields["at"]),
        attempt=attempt,
        violations=tuple(word for one in words if (word := _text(one)) is not None),
        recovered=bool(fields["recovered"]),
    )


def _time(value: Any) -> datetime:
    at = datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError("no time zone")
    at = at.astimezone(UTC)
    if at.year not in YEARS:
        raise ValueError("no year of a record")
    return at


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError("no text")


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    seconds = float(value)
    if not 0 <= seconds <= MAX_GAP:
        raise ValueError("no number of seconds")
    return seconds
