"""Daily files of JSON lines: whole lines, one a record, deleted when they have expired."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import stat
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from finalcall import Settler
from finalcall.observe import JsonlHandler
from tests.messages import CLEAN, TOOLS

DAY = 86_400
NOON = datetime(2031, 5, 6, 12, tzinfo=UTC).timestamp()


def record(fields: Any, at: float = NOON) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "finalcall", "levelno": logging.INFO, "created": at})
    made.__dict__["finalcall"] = fields
    return made


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines() if line]


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("finalcall")
    level, handlers = found.level, list(found.handlers)
    found.setLevel(logging.INFO)
    yield found
    found.setLevel(level)
    found.handlers[:] = handlers


def test_a_settled_call_is_a_line(tmp_path: Path, logger: logging.Logger) -> None:
    """In a file and a directory that only their owner can read."""
    directory = tmp_path / "kept" / "calls"
    logger.addHandler(JsonlHandler(directory, days=3))
    settler = Settler(tools=TOOLS)
    for event in CLEAN:
        settler.feed(event)
    logger.info("another record, which is no call's")
    (path,) = directory.iterdir()
    assert path.name == f"finalcall-{datetime.now(UTC).date()}.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    (fields,) = lines(path)
    assert (fields["event"], fields["outcome"]) == ("call", "dispatchable")
    kept = datetime.fromisoformat(fields["expires_at"]) - datetime.fromisoformat(fields["at"])
    assert abs(kept - timedelta(days=3)) < timedelta(seconds=10)


def test_a_day_has_its_file(tmp_path: Path) -> None:
    """In UTC, whatever the time zone is."""
    handler = JsonlHandler(tmp_path)
    for at in (NOON, NOON + DAY / 2 - 0.001, NOON + DAY / 2):
        handler.handle(record({"n": at}, at))
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "finalcall-2031-05-06.jsonl",
        "finalcall-2031-05-07.jsonl",
    ]


def test_files_are_deleted_when_their_last_record_has_expired(tmp_path: Path) -> None:
    """When a handler is made, and with the first record of a day; other files are left alone."""
    today = datetime.now(UTC).date()
    names = [f"finalcall-{today - timedelta(days=age)}.jsonl" for age in (1, 7, 8, 30)]
    others = ["finalcall-2001-99-99.jsonl", "finalcall-2001-01-01.jsonl.gz", "notes.txt"]
    for name in (*names, *others):
        (tmp_path / name).touch()
    handler = JsonlHandler(tmp_path, days=7)
    assert {path.name for path in tmp_path.iterdir()} == {*names[:2], *others}
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    handler.handle(record({}, tomorrow.timestamp()))
    left = {names[0], f"finalcall-{tomorrow.date()}.jsonl"}
    assert {path.name for path in tmp_path.iterdir()} == {*left, *others}
    handler.delete_expired(date(2100, 1, 1))
    assert {path.name for path in tmp_path.iterdir()} == set(others)
    assert handler.failures == 0


def test_a_torn_line_ends_where_the_next_record_begins(tmp_path: Path) -> None:
    """A process that died in the middle of a line takes no other record with it."""
    path = tmp_path / "finalcall-2031-05-06.jsonl"
    path.write_text('{"n": 1}\n{"n": 2')
    handler = JsonlHandler(tmp_path)
    handler.handle(record({"n": 3}))
    handler.handle(record({"n": 4}))
    whole, torn, *rest = path.read_text().splitlines()
    assert (json.loads(whole)["n"], torn) == (1, '{"n": 2')
    assert [json.loads(line)["n"] for line in rest] == [3, 4]


def write_for_ever(directory: Path) -> None:
    handler = JsonlHandler(directory)
    while True:
        handler.handle(record({"n": 0, "raw": "x" * 4096}))


def test_a_process_that_is_killed_leaves_whole_lines(tmp_path: Path) -> None:
    """Of many lines at most the last one is torn, and the next process goes on below it."""
    process = multiprocessing.get_context("spawn").Process(target=write_for_ever, args=(tmp_path,))
    process.start()
    path = tmp_path / "finalcall-2031-05-06.jsonl"
    while process.is_alive() and not (path.exists() and path.stat().st_size > 200_000):
        process.join(0.01)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    JsonlHandler(tmp_path).handle(record({"n": 1}))
    *written, torn, last = path.read_text().splitlines()
    assert {len(json.loads(line)["raw"]) for line in written} == {4096}
    assert torn == written[0] or not torn.endswith("}")
    assert json.loads(last)["n"] == 1


def write(directory: Path, who: int) -> None:
    handler = JsonlHandler(directory)
    for number in range(100):
        handler.handle(record({"who": who, "n": number, "raw": "x" * 4096}))
    assert handler.failures == 0


def test_processes_and_threads_may_share_a_directory(tmp_path: Path) -> None:
    """Every line is whole, and none is missing."""
    context = multiprocessing.get_context("spawn")
    others: list[Any] = [context.Process(target=write, args=(tmp_path, who)) for who in (1, 2)]
    others += [threading.Thread(target=write, args=(tmp_path, who)) for who in (3, 4)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    (path,) = tmp_path.iterdir()
    found = [(fields["who"], fields["n"]) for fields in lines(path)]
    assert sorted(found) == [(who, number) for who in (1, 2, 3, 4) for number in range(100)]


def test_any_text_can_be_written(tmp_path: Path) -> None:
    """Half a character that a service has sent in a name, too."""
    handler = JsonlHandler(tmp_path)
    handler.handle(record({"tool": "\ud83d", "raw": "é\n\u2028"}))
    (path,) = tmp_path.iterdir()
    ((fields),) = lines(path)
    assert (fields["tool"], fields["raw"]) == ("\ud83d", "é\n\u2028")
    assert handler.failures == 0


@pytest.mark.parametrize("action", ["always", "error"])
def test_what_cannot_be_written_is_counted_and_warned_of_once(
    action: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The caller never learns of it, and nothing of the record is printed."""
    handler = JsonlHandler(tmp_path / "calls")
    (tmp_path / "calls").rmdir()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        for _ in range(3):
            handler.handle(record({"raw": "S3NT1N3L"}))
    assert handler.failures == 3
    assert len(caught) == (action == "always")
    assert all("JsonlHandler raised FileNotFoundError" in str(one.message) for one in caught)
    assert all("S3NT1N3L" not in str(one.message) for one in caught)
    assert capsys.readouterr() == ("", "")


def test_a_full_disk_loses_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written in part is counted, and its line is ended by the next."""
    handler = JsonlHandler(tmp_path)
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, data: real(file, data[:5]))
        with pytest.warns(RuntimeWarning, match="JsonlHandler raised OSError"):
            handler.handle(record({"n": 1}))
    handler.handle(record({"n": 2}))
    (path,) = tmp_path.iterdir()
    torn, whole = path.read_text().splitlines()
    assert (torn, json.loads(whole)["n"], handler.failures) == ('{"n":', 2, 1)


def test_a_failure_that_is_none_is_not_counted(tmp_path: Path) -> None:
    """`handleError` belongs to an exception that is being handled."""
    handler = JsonlHandler(tmp_path)
    handler.handleError(record({}))
    assert handler.failures == 0


def test_less_than_a_day_is_refused(tmp_path: Path) -> None:
    """Files are daily."""
    with pytest.raises(ValueError, match="at least 1 day"):
        JsonlHandler(tmp_path, days=0)


def test_a_relative_directory_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program may go elsewhere."""
    monkeypatch.chdir(tmp_path)
    handler = JsonlHandler("kept")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    handler.emit(record({"event": "call"}))
    assert handler.failures == 0
    assert lines(tmp_path / "kept" / "finalcall-2031-05-06.jsonl")


def test_a_directory_with_the_name_of_a_file_is_left_alone(tmp_path: Path) -> None:
    """It is none of ours, and no reason to refuse the others."""
    (tmp_path / "finalcall-2020-01-01.jsonl").mkdir()
    (tmp_path / "finalcall-2020-01-02.jsonl").touch()
    assert JsonlHandler(tmp_path).failures == 0
    assert [path.name for path in tmp_path.iterdir()] == ["finalcall-2020-01-01.jsonl"]
