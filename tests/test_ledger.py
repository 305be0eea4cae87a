"""The ledgers: one contract for all, and what each promises of its own."""

from __future__ import annotations

import dataclasses
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from finalcall.correction.ledger import (
    AlreadyDispatched,
    Entry,
    Ledger,
    MemoryLedger,
    decode_entry,
)
from finalcall.correction.sqlite_ledger import SQLiteLedger
from tests import redis_server
from tests.test_fingerprints import dispatched

CALL = ("turn-1/0", "f" * 64, 0)
"""Run key, fingerprint, occurrence."""

OPENERS = {
    "sqlite": "from finalcall.correction.sqlite_ledger import SQLiteLedger\n"
    "ledger = SQLiteLedger(sys.argv[1])\n",
    "redis": "import redis\n"
    f"sys.path.insert(0, {str(redis_server.EXAMPLE.parent)!r})\n"
    "from redis_ledger import RedisLedger\n"
    "ledger = RedisLedger(redis.Redis(port=int(sys.argv[1])))\n",
}
"""How another process opens the ledger that is at `sys.argv[1]`."""


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server.running(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.fixture
def place(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> str:
    """What another process must know to open the same ledger."""
    if kind == "sqlite":
        return str(tmp_path / "ledger.db")
    port: int = request.getfixturevalue("redis_port")
    with redis.Redis(port=port) as client:
        client.flushall()
    return str(port)


@pytest.fixture
def ledger(request: pytest.FixtureRequest, kind: str) -> Iterator[Ledger]:
    if kind == "memory":
        yield MemoryLedger()
        return
    place: str = request.getfixturevalue("place")
    if kind == "sqlite":
        with SQLiteLedger(place) as opened:
            yield opened
    else:
        with redis.Redis(port=int(place)) as client:
            yield redis_server.example().RedisLedger(client)


every_ledger = pytest.mark.parametrize("kind", ["memory", "sqlite", "redis"])
shared_ledgers = pytest.mark.parametrize("kind", ["sqlite", "redis"])


@every_ledger
def test_a_call_is_new_once(ledger: Ledger) -> None:
    """The first who asks may run it; then it is unknown until it is done, and done for ever."""
    assert ledger.begin(*CALL) is None
    assert ledger.begin(*CALL) == Entry("unknown")
    assert ledger.begin(*CALL) == Entry("unknown")
    ledger.finish(*CALL, {"receipt": 17})
    assert ledger.begin(*CALL) == Entry("done", {"receipt": 17})
    assert ledger.begin(*CALL) == Entry("done", {"receipt": 17})


@every_ledger
@pytest.mark.parametrize(
    "other",
    [
        ("turn-1/1", "f" * 64, 0),
        ("turn-1/0", "e" * 64, 0),
        ("turn-1/0", "f" * 64, 1),
        ("", "f" * 64, 0),
        ("Turn-1/0", "f" * 64, 0),
        (f"turn-1/0:{'f' * 64}", "f" * 64, 0),
    ],
)
def test_every_part_of_a_name_counts(ledger: Ledger, other: tuple[str, str, int]) -> None:
    """Another run key, fingerprint or occurrence is another call."""
    assert ledger.begin(*CALL) is None
    ledger.finish(*CALL, "sent")
    assert ledger.begin(*other) is None
    assert ledger.begin(*other) == Entry("unknown")
    assert ledger.begin(*CALL) == Entry("done", "sent")


@every_ledger
@pytest.mark.parametrize(
    "result",
    [
        None,
        False,
        0,
        "",
        [],
        {},
        2**70,
        -1.5,
        "caf\u00e9 \U0001f600 \ud800",
        {"a": [{"b": [None]}]},
    ],
    ids=ascii,
)
def test_a_result_comes_back_as_it_was(ledger: Ledger, result: Any) -> None:
    """Also the empty ones: a result that is null is done, not unknown."""
    assert ledger.begin(*CALL) is None
    ledger.finish(*CALL, result)
    entry = ledger.begin(*CALL)
    assert entry == Entry("done", result)
    assert type(entry.result) is type(result)


@every_ledger
def test_what_is_kept_is_a_copy(ledger: Ledger) -> None:
    """Changing a result after it was noted, or one that was handed out, changes no entry."""
    result = {"lines": (1, 2)}
    ledger.begin(*CALL)
    ledger.finish(*CALL, result)
    result.clear()
    entry = ledger.begin(*CALL)
    assert entry is not None
    assert entry.result == {"lines": [1, 2]}
    entry.result.clear()
    assert ledger.begin(*CALL) == Entry("done", {"lines": [1, 2]})


def nested_in_itself() -> list[Any]:
    result: list[Any] = ["S3NT1N3L"]
    result.append(result)
    return result


def nested_deeply() -> list[Any]:
    result: list[Any] = ["S3NT1N3L"]
    for _ in range(100_000):
        result = [result]
    return result


@every_ledger
@pytest.mark.parametrize(
    ("result", "says"),
    [
        (lambda: {"S3NT1N3L": {1}}, "type set is not JSON"),
        (lambda: ["S3NT1N3L", b"x"], "type bytes is not JSON"),
        (lambda: {("S3NT1N3L",): 1}, "not tuple"),
        (lambda: ["S3NT1N3L", float("nan")], "not finite"),
        (nested_in_itself, "in itself"),
        (nested_deeply, "too deeply"),
    ],
)
def test_a_result_that_json_cannot_hold_loses_nothing(
    ledger: Ledger, result: Callable[[], Any], says: str
) -> None:
    """It raises without a word of the result; the call stays begun and can still be finished."""
    ledger.begin(*CALL)
    with pytest.raises(ValueError, match=says) as raised:
        ledger.finish(*CALL, result())
    assert "stays noted as begun" in str(raised.value)
    assert "S3NT1N3L" not in f"{raised.value!r}{raised.value.__context__!r}"
    assert ledger.begin(*CALL) == Entry("unknown")
    ledger.finish(*CALL, "sent")
    assert ledger.begin(*CALL) == Entry("done", "sent")


@every_ledger
def test_a_result_is_noted_though_its_call_was_forgotten(ledger: Ledger) -> None:
    """A slow call may outlive its entry: it was run, so the ledger says so."""
    ledger.finish(*CALL, "sent")
    assert ledger.begin(*CALL) == Entry("done", "sent")
    ledger.finish(*CALL, "sent late")
    assert ledger.begin(*CALL) == Entry("done", "sent late")


@every_ledger
def test_of_many_threads_one_may_run_a_call(ledger: Ledger) -> None:
    """However many ask at once, each call is new to one of them."""
    barrier = threading.Barrier(8)
    new: list[int] = []

    def work() -> None:
        barrier.wait()
        new.extend(n for n in range(10) if ledger.begin("turn-1/0", "f", n) is None)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new) == list(range(10))


def python(kind: str, place: str, code: str) -> subprocess.Popen[str]:
    """Another process that opens the ledger and then does as the code says."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import os, sys\n{OPENERS[kind]}{code}", place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@shared_ledgers
def test_of_many_processes_one_may_run_a_call(kind: str, place: str) -> None:
    """Processes that open one ledger and race for its calls get each call once in all."""
    code = (
        "print('open', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(*[n for n in range(20) if ledger.begin('turn-1/0', 'f', n) is None])\n"
    )
    racers = [python(kind, place, code) for _ in range(3)]
    assert [racer.stdout.readline() for racer in racers if racer.stdout] == ["open\n"] * 3
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outputs = [racer.communicate()[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(int(number) for output in outputs for number in output.split()) == [*range(20)]


@shared_ledgers
def test_a_crash_between_begin_and_finish_is_unknown(
    kind: str, place: str, request: pytest.FixtureRequest
) -> None:
    """What a killed process had begun is unknown to the next, and what it had finished is done."""
    crashing = (
        "ledger.begin('turn-1/0', 'f', 0)\n"
        "ledger.finish('turn-1/0', 'f', 0, 'sent')\n"
        "ledger.begin('turn-1/0', 'f', 1)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    process = python(kind, place, crashing)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    ledger: Ledger = request.getfixturevalue("ledger")
    assert ledger.begin("turn-1/0", "f", 0) == Entry("done", "sent")
    assert ledger.begin("turn-1/0", "f", 1) == Entry("unknown")
    assert ledger.begin("turn-1/0", "f", 2) is None


# -- the values ---------------------------------------------------------------------------------


def test_no_value_shows_a_result() -> None:
    """An entry, and what is handed to `dispatch` for it, print names and states."""
    entry = Entry("done", {"secret": "S3NT1N3L"})
    already = AlreadyDispatched(dispatched('{"to": "S3NT1N3L"}'), entry)
    assert repr(entry) == "Entry('done', result=<hidden>)"
    assert repr(already) == (
        "AlreadyDispatched(call=Dispatchable(call_id='toolu_1', name='pay', args=<hidden>), "
        "previous=Entry('done', result=<hidden>))"
    )
    assert already == AlreadyDispatched(already.call, Entry("done", {"secret": "S3NT1N3L"}))
    assert len({already, already}) == 1


@pytest.mark.parametrize(
    "value", [Entry("unknown"), AlreadyDispatched(dispatched(), Entry("done"))]
)
def test_values_are_frozen(value: Any) -> None:
    """What the ledger said is not changed."""
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (None, Entry("unknown")),
        ("", Entry("unknown")),
        (b"", Entry("unknown")),
        ("null", Entry("done", None)),
        (b'{"a":1}', Entry("done", {"a": 1})),
    ],
)
def test_no_text_is_no_result(text: Any, entry: Entry) -> None:
    """A store that has no null may keep an empty text for a call without a result."""
    assert decode_entry(text) == entry


# -- in memory ----------------------------------------------------------------------------------


def test_memory_is_bounded() -> None:
    """The run key that was used the longest ago goes, with all of its entries."""
    ledger = MemoryLedger(runs=2)
    for occurrence in (0, 1):
        assert ledger.begin("a", "f", occurrence) is None
    assert ledger.begin("b", "f", 0) is None
    assert ledger.begin("a", "f", 0) == Entry("unknown")
    assert ledger.begin("c", "f", 0) is None
    assert ledger.begin("a", "f", 1) == Entry("unknown")
    assert ledger.begin("b", "f", 0) is None


@pytest.mark.parametrize("runs", [0, -1])
def test_a_memory_of_nothing_raises(runs: int) -> None:
    """A ledger that forgets at once would promise nothing."""
    with pytest.raises(ValueError, match=f"runs is {runs}; a ledger holds at least 1"):
        MemoryLedger(runs=runs)


# -- SQLite -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with one call that is done and one that is unknown."""
    path = tmp_path / "ledger.db"
    with SQLiteLedger(path) as ledger:
        ledger.begin(*CALL)
        ledger.finish(*CALL, "sent")
        ledger.begin("turn-2/0", "f", 0)
    return path


def altered(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_entries_outlive_the_ledger(file: Path) -> None:
    """A file that is opened again says what it said; a relative path and text name it as well."""
    with SQLiteLedger(str(file)) as ledger:
        assert ledger.begin(*CALL) == Entry("done", "sent")
        assert ledger.begin("turn-2/0", "f", 0) == Entry("unknown")
    assert [path.name for path in file.parent.iterdir()] == ["ledger.db"]


def test_entries_are_forgotten_by_age(file: Path) -> None:
    """Only what was begun that long ago goes, finished or not, and it is said how much."""
    altered(file, "UPDATE calls SET begun = begun - 3600 WHERE run_key = 'turn-1/0'")
    with SQLiteLedger(file) as ledger:
        assert ledger.forget(timedelta(hours=2)) == 0
        assert ledger.forget(timedelta(minutes=30)) == 1
        assert ledger.begin("turn-2/0", "f", 0) == Entry("unknown")
        assert ledger.begin(*CALL) is None
        assert ledger.forget(timedelta(0)) == 2


def write_text(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)


def write_foreign_tables(path: Path) -> None:
    altered(path, "CREATE TABLE calls (a)")


def write_foreign_mark(path: Path) -> None:
    altered(path, "PRAGMA application_id = 1")


def write_newer_format(path: Path) -> None:
    SQLiteLedger(path).close()
    altered(path, "PRAGMA user_version = 2")


def write_damage(path: Path) -> None:
    SQLiteLedger(path).close()
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (write_text, "file is not a database"),
        (write_foreign_tables, "it is a database of another program"),
        (write_foreign_mark, "it is a database of another program"),
        (write_newer_format, "its format is 2, and this version reads 1"),
        (write_damage, "malformed"),
    ],
)
def test_a_file_that_is_no_ledger_is_left_alone(
    tmp_path: Path, write: Callable[[Path], None], says: str
) -> None:
    """Any other file is named, with what was found, and not a byte of it changes."""
    path = tmp_path / "other.db"
    write(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"other.db is no ledger: .*{says}; expected the file"):
        SQLiteLedger(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]


def test_a_ledger_that_is_damaged_while_open_runs_nothing(file: Path) -> None:
    """An entry that cannot be noted raises, so the call is not dispatched."""
    with SQLiteLedger(file) as ledger:
        altered(file, "DROP TABLE calls")
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            ledger.begin("turn-3/0", "f", 0)


def test_a_folder_that_is_not_there_is_an_operational_error(tmp_path: Path) -> None:
    """A path that cannot be opened is no matter of what the file holds."""
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        SQLiteLedger(tmp_path / "missing" / "ledger.db")


def test_a_ledger_that_stays_locked_raises_and_notes_nothing(file: Path) -> None:
    """Whoever cannot note a call must not run it; when the lock is gone it is new."""
    other = sqlite3.connect(file, isolation_level=None)
    with SQLiteLedger(file, timeout=0) as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            ledger.begin("turn-3/0", "f", 0)
        other.execute("ROLLBACK")
        assert ledger.begin("turn-3/0", "f", 0) is None
    other.close()


def test_opening_a_locked_file_raises(file: Path) -> None:
    """It may well be a ledger, so it is not said that it is none."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        SQLiteLedger(file, timeout=0)
    other.close()


def test_a_commit_is_on_the_disk(file: Path) -> None:
    """The file keeps a log of what was written, which readers and other processes share."""
    other = sqlite3.connect(file)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_a_closed_ledger_says_so(file: Path) -> None:
    """Leaving the block by an exception closes it; closing it again is fine, using it raises."""
    ledger = SQLiteLedger(file)
    with pytest.raises(KeyError), ledger:
        raise KeyError
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        ledger.begin(*CALL)


def test_a_forked_process_opens_its_own(file: Path) -> None:
    """A ledger that was opened before a fork refuses to be used after it."""
    forking = (
        "if os.fork():\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "try:\n"
        "    ledger.begin('turn-3/0', 'f', 0)\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    process = python("sqlite", str(file), forking)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert "open one in each process" in said
    with SQLiteLedger(file) as ledger:
        assert ledger.begin("turn-3/0", "f", 0) is None
