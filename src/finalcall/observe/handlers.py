"""Writes records as daily files of JSON lines, and deletes the files whose records have expired."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, final

from finalcall.listeners import Failures
from finalcall.narrow import is_object
from finalcall.observe.records import FIELD, KEPT_DAYS, timestamp

_NAME: Final = re.compile(r"finalcall-(\d{4}-\d{2}-\d{2})\.jsonl")
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


@final
class JsonlHandler(logging.Handler):
    """A logging handler that writes one line a record, into one file a day (in UTC).

    A line is written whole by one append, so several threads and processes may write to the same
    directory. One that dies while it writes leaves at most one torn line, at the end of which the
    next record begins a new one; readers skip what is no JSON. Other log records than those of
    finalcall are ignored.

    A file is deleted once its last record has expired: when a handler is made, and with the first
    record of each day. What goes wrong (a full disk, no permission) breaks no turn: it is counted,
    and warned of once.

    Args:
        directory: Where the files `finalcall-YYYY-MM-DD.jsonl` are. It is made where it does not
            exist, for its owner alone; so are the files.
        days: How long records are kept, at least 1. It also sets their `expires_at`.

    Raises:
        ValueError: `days` is less than 1.
        OSError: The directory can be neither made nor read.
    """

    def __init__(self, directory: str | os.PathLike[str], days: int = KEPT_DAYS) -> None:
        if days < 1:
            raise ValueError(f"days is {days}; records are kept for at least 1 day")
        super().__init__()
        self._failures = Failures("JsonlHandler", "records are lost; see its attribute failures")
        self._directory = Path(directory).absolute()  # the program may go elsewhere
        self._days = days
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._today = datetime.now(UTC).date()
        self.delete_expired(self._today)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of finalcall's; ignore any other. Never raises."""
        fields: object = getattr(record, FIELD, None)
        if not is_object(fields):
            return
        try:
            at = datetime.fromtimestamp(record.created, UTC)
            expires = timestamp(at + timedelta(days=self._days))
            self._append(at.date(), {**fields, "expires_at": expires})
            if at.date() > self._today:
                self._today = at.date()
                self.delete_expired(self._today)
        except Exception:  # whatever went wrong: the turn is not to blame
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's
        """Count a record that could not be written, and warn of the first. Prints no record."""
        error = sys.exc_info()[1]
        if error is not None:
            self._failures.note(error)

    @property
    def failures(self) -> int:
        """How many records could not be written."""
        return self._failures.count

    def delete_expired(self, today: date) -> None:
        """Delete the files of which every record has expired.

        Args:
            today: The date in UTC.

        Raises:
            OSError: The directory cannot be read, or a file in it not be deleted.
        """
        for path in self._directory.iterdir():
            day = _day_of(path.name)
            # The last record of a day expires when `days` more have passed.
            expired = day is not None and day + timedelta(days=self._days) < today
            if expired and not path.is_dir():
                path.unlink(missing_ok=True)  # another process may have been faster

    def _append(self, day: date, fields: Mapping[str, Any]) -> None:
        line = f"{json.dumps(fields)}\n".encode()
        # Opened anew each time, so that files may be moved and deleted, and processes may fork.
        file = os.open(self._directory / f"finalcall-{day}.jsonl", _FLAGS, 0o600)
        try:
            if os.lseek(file, 0, os.SEEK_END):
                os.lseek(file, -1, os.SEEK_END)
                if os.read(file, 1) != b"\n":
                    line = b"\n" + line  # whoever wrote last died in its line
            if os.write(file, line) != len(line):
                raise OSError("a record was written in part")
        finally:
            os.close(file)


def _day_of(name: str) -> date | None:
    """The day of a file, `None` where it is none of ours."""
    named = _NAME.fullmatch(name)
    try:
        return None if named is None else date.fromisoformat(named[1])
    except ValueError:
        return None
