"""A ledger in one SQLite file: it outlives crashes and serves several processes of one machine."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from finalcall.correction.ledger import Entry, decode_entry, encode_result

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType

_APPLICATION: Final = 0x66636C64
"""Marks the file as a ledger: "fcld"."""

_FORMAT: Final = 1
"""The version of the table below."""

_TABLE: Final = """
CREATE TABLE calls (
    run_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    begun INTEGER NOT NULL,  -- in seconds since 1970
    result TEXT,  -- JSON, NULL until there is one
    PRIMARY KEY (run_key, fingerprint, occurrence)
) WITHOUT ROWID
"""
_BEGIN: Final = """
INSERT INTO calls VALUES (?, ?, ?, strftime('%s', 'now'), NULL) ON CONFLICT DO NOTHING
"""
_FINISH: Final = """
INSERT INTO calls VALUES (?, ?, ?, strftime('%s', 'now'), ?)
ON CONFLICT DO UPDATE SET result = excluded.result
"""
_READ: Final = "SELECT result FROM calls WHERE run_key = ? AND fingerprint = ? AND occurrence = ?"
_FORGET: Final = "DELETE FROM calls WHERE begun <= strftime('%s', 'now') - ?"


@final
class SQLiteLedger:
    """A ledger in one SQLite file, for all threads of a process and all processes of a machine.

    What `begin` noted is on the disk before it returns, so a call that was begun when the machine
    died is `"unknown"` afterwards. Entries stay until `forget` is called.

    Its methods are synchronous and quick, about a millisecond each, so asynchronous code may call
    them as they are. Only while another process writes do they wait for it, `timeout` at most.

    The file must lie on a disk of this machine (SQLite cannot lock files over a network), and a
    process that was forked opens its own ledger. Close it, or use it in a `with` block.
    """

    __slots__ = ("_connection", "_lock", "_process")

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        """Open a ledger, and make the file where there is none.

        Args:
            path: The file. Two more files stand beside it while it is open.
            timeout: How many seconds to wait for other processes before `sqlite3.OperationalError`
                is raised.

        Raises:
            ValueError: The file is no ledger: no SQLite database, another program's, a damaged
                one, or of a newer version. It was not changed.
            sqlite3.OperationalError: It cannot be opened or written, or stayed locked.
        """
        import sqlite3

        self._lock = threading.Lock()
        self._process = os.getpid()
        self._connection = sqlite3.connect(
            Path(path), timeout=timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except sqlite3.OperationalError:
            self._connection.close()
            raise
        except (ValueError, sqlite3.DatabaseError) as error:
            self._connection.close()
            raise ValueError(
                f"{os.fspath(path)} is no ledger: {error}; expected the file of a SQLiteLedger, or "
                "a path where there is no file yet"
            ) from None

    def begin(self, run_key: str, fingerprint: str, occurrence: int) -> Entry | None:
        """Note that a call is about to be dispatched. See `Ledger.begin`.

        Raises:
            sqlite3.Error: It could not be noted, so the call must not be run.
        """
        call = (run_key, fingerprint, occurrence)
        with self._transaction() as connection:
            if connection.execute(_BEGIN, call).rowcount:
                return None
            (text,) = connection.execute(_READ, call).fetchone()
        return decode_entry(text)

    def finish(self, run_key: str, fingerprint: str, occurrence: int, result: Any) -> None:
        """Note the result of a call. See `Ledger.finish`.

        Raises:
            ValueError: The result is nothing JSON can hold.
            sqlite3.Error: It could not be noted: the call stays `"unknown"`.
        """
        text = encode_result(result)
        with self._transaction() as connection:
            connection.execute(_FINISH, (run_key, fingerprint, occurrence, text))

    def forget(self, older_than: timedelta) -> int:
        """Drop the entries that were begun longer ago, finished or not.

        Args:
            older_than: Longer than any turn can last: a call that is forgotten can run again.

        Returns:
            How many were dropped.
        """
        with self._transaction() as connection:
            return connection.execute(_FORGET, (older_than.total_seconds(),)).rowcount

    def close(self) -> None:
        """Close the file. Every other operation then raises `sqlite3.ProgrammingError`."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> SQLiteLedger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """Hold the one right to write, over threads and processes."""
        if os.getpid() != self._process:
            # SQLite's locks do not survive a fork: two processes would both be given the call.
            raise RuntimeError(
                "this ledger was opened before the process was forked; open one in each process"
            )
        with self._lock, self._connection as connection:  # ends in a commit or a rollback
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _prepare(self) -> None:
        """Check that the file is a ledger, and make an empty one into it.

        Raises:
            ValueError: It is something else.
        """
        import sqlite3

        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction() as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if (application, version, tables) == (0, 0, 0):
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
            elif application != _APPLICATION:
                raise ValueError("it is a database of another program")
            elif version != _FORMAT:
                raise ValueError(f"its format is {version}, and this version reads {_FORMAT}")
        # The file was looked at first, since this writes into it. A commit is then one flush to
        # the disk and not several. Where others hold the file just now, it stays as they have it:
        # this makes it faster and no safer, and the next to open it asks again.
        with contextlib.suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA journal_mode = WAL")
