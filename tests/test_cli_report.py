"""`python -m finalcall report`: what it counts, what it passes over, and how it tells."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from finalcall import Cause, Settler
from finalcall.cli import main
from finalcall.cli.report import reading, tally
from finalcall.cli.report.reading import MAX_LINE, parse
from finalcall.cli.report.tables import ENOUGH
from finalcall.cli.report.tally import KEYS, OTHERS, Tally, Waits
from finalcall.correction import run_turn
from finalcall.gaps import BOUNDS, BRIEF
from finalcall.observe import JsonlHandler
from tests.messages import CLEAN, TOOLS, call, message_start, stopped

LOST = {"outcome": "failed", "reason": "abandoned", "cause": "disconnected"}
MALFORMED = {"outcome": "failed", "reason": "unparseable", "cause": "malformed"}
CUT = {"outcome": "failed", "reason": "truncated", "cause": "token_ceiling"}
STOPPED = {"outcome": "failed", "reason": "abandoned", "cause": "cancelled"}
INVALID = {"outcome": "schema_error"}


def record(**fields: Any) -> dict[str, Any]:
    """The record of a call; all is well unless the fields say otherwise."""
    return {
        "event": "call",
        "at": "2031-05-06T12:30:00.000Z",
        "key": "k",
        "call_id": "k",
        "tool": "pay",
        "offered": True,
        "provider": "anthropic",
        "outcome": "dispatchable",
        "reason": None,
        "cause": None,
        "violations": [],
        "bytes": 2,
        "fragments": 1,
        "largest_gap": 0.5,
        "duration": 1.0,
        "raw": '{"to": "S3NT1N3L"}',
        "expires_at": "2031-05-13T12:30:00.000Z",
    } | fields


def correction(**fields: Any) -> dict[str, Any]:
    return {
        "event": "correction",
        "at": "2031-05-06T12:31:00.000Z",
        "provider": "anthropic",
        "attempt": 2,
        "round": 1,
        "tools": ["pay"],
        "violations": ["required"],
        "verdict": "dispatch",
        "recovered": True,
        "expires_at": "2031-05-13T12:31:00.000Z",
    } | fields


def write(directory: Path, *records: Any, day: str = "2031-05-06") -> Path:
    path = directory / f"finalcall-{day}.jsonl"
    directory.mkdir(exist_ok=True)
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, Any]:
    """The status of a run and the object that it prints."""
    status = main(["report", "--json", *map(str, arguments)])
    return status, json.loads(capsys.readouterr().out)


def shares(row: dict[str, Any]) -> tuple[Any, ...]:
    parts = ("announced", "abandoned_or_unparseable", "truncated", "schema_errors", "cancelled")
    return tuple(row[name] for name in parts)


# What is counted


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """A directory that a handler writes this process's records to."""
    logger = logging.getLogger("finalcall")
    level, handler = logger.level, JsonlHandler(tmp_path / "kept")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield tmp_path / "kept"
    logger.removeHandler(handler)
    logger.setLevel(level)
    assert handler.failures == 0


def test_it_reads_what_the_handler_writes(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls that arrived, were lost, were stopped; and a correction."""
    for events, cause in (
        (CLEAN, None),
        (CLEAN[:-2], Cause.DISCONNECTED),
        (CLEAN[:-2], Cause.CANCELLED),
    ):
        settler = Settler(tools=TOOLS)
        for event in events:
            settler.feed(event)
        settler.end(cause)
    answers = iter([[message_start(), *call(0, arguments="{}"), *stopped()], CLEAN])
    assert run_turn(lambda _: next(answers), [], tools=TOOLS).result.verdict == "dispatch"
    status, data = report(capsys, kept)
    assert (status, data["files"], data["records"], data["broken"]) == (0, 1, 6, {})
    assert shares(data["total"]) == (4, 1, 0, 1, 1)
    assert data["total"]["shares"]["abandoned_or_unparseable"] == 0.25
    assert [(row["tool"], row["announced"]) for row in data["tools"]] == [("create_ticket", 4)]
    assert data["corrections"] == {"corrections": 1, "recovered": 1, "share": 1.0}
    (hour,) = data["hours"]
    assert datetime.fromisoformat(hour["hour"]).tzinfo is not None
    assert abs(datetime.now(UTC).date() - datetime.fromisoformat(hour["hour"]).date()).days <= 1


def test_shares_are_by_tool_provider_hour_and_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cancelled calls count apart, and names that were not offered are one tool."""
    write(
        tmp_path,
        record(),
        record(**LOST),
        record(**MALFORMED, provider="gemini"),
        record(**CUT, tool="search", at="2031-05-06T23:59:59.999Z"),
        record(**STOPPED, tool="search"),
        record(**INVALID, tool="made up 1", offered=False),
        record(**INVALID, tool="made up 2", offered=False, at="2031-05-07T01:30:00+02:00"),
        record(**LOST, tool=None, offered=False, provider=None),
    )
    status, data = report(capsys, tmp_path)
    assert status == 0
    assert shares(data["total"]) == (7, 3, 1, 2, 1)
    assert {row["tool"]: shares(row) for row in data["tools"]} == {
        "pay": (3, 2, 0, 0, 0),
        "search": (1, 0, 1, 0, 1),
        "(not offered)": (2, 0, 0, 2, 0),
        "(no name)": (1, 1, 0, 0, 0),
    }
    assert {row["provider"]: row["announced"] for row in data["providers"]} == {
        "anthropic": 5,
        "gemini": 1,
        "(no name)": 1,
    }
    assert [(row["hour"], row["announced"]) for row in data["hours"]] == [
        ("2031-05-06T12:00Z", 5),
        ("2031-05-06T23:00Z", 2),
    ]
    assert {(row["reason"], row["cause"]): row["calls"] for row in data["causes"]} == {
        ("abandoned", "disconnected"): 2,
        ("unparseable", "malformed"): 1,
        ("truncated", "token_ceiling"): 1,
        ("abandoned", "cancelled"): 1,
    }
    assert (data["begin"], data["end"]) == (
        "2031-05-06T12:30:00+00:00",
        "2031-05-06T23:59:59.999000+00:00",
    )


def test_a_tool_that_was_only_cancelled_has_no_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was announced that a share could be of."""
    write(tmp_path, record(**STOPPED))
    _, data = report(capsys, tmp_path)
    assert set(data["tools"][0]["shares"].values()) == {None}
    assert main(["report", str(tmp_path)]) == 0
    assert re.search(r"^pay +0 +- +- +- +1$", capsys.readouterr().out, re.MULTILINE)


def test_recovery_is_by_attempt_and_by_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A correction of several kinds counts for each of them, and once in all."""
    write(
        tmp_path,
        correction(),
        correction(recovered=False, violations=["required", "type"]),
        correction(attempt=3, round=2, violations=["type"]),
    )
    _, data = report(capsys, tmp_path)
    assert data["corrections"]["corrections"] == 3
    found = {row["attempt"]: (row["corrections"], row["recovered"]) for row in data["attempts"]}
    assert found == {"2": (2, 1), "3": (1, 1)}
    found = {row["violation"]: (row["corrections"], row["recovered"]) for row in data["violations"]}
    assert found == {"required": (2, 1), "type": (2, 1)}


def test_waits_are_by_provider_and_by_whether_the_call_arrived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call that died of silence says nothing of how long a healthy one is silent."""
    write(
        tmp_path,
        *(record(largest_gap=number / 100) for number in range(100)),
        record(**INVALID, largest_gap=3.0),
        record(**LOST, largest_gap=360.0),
        record(largest_gap=None),
    )
    _, data = report(capsys, tmp_path)
    died, whole = data["waits"]
    assert (died["whole"], died["calls"], died["max"]) == (False, 1, 360.0)
    assert (whole["whole"], whole["calls"], whole["max"]) == (True, 101, 3.0)
    for name, true in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert true <= whole[name] <= true * 1.26


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (BRIEF, 0), (BOUNDS[7], 7), (1e9, len(BOUNDS))]
)
def test_a_wait_falls_into_the_bucket_of_a_gap(seconds: float, bucket: int) -> None:
    """So that percentiles are those of `turn.stats.gaps`."""
    waits = Waits()
    waits.take(seconds)
    summary = waits.summary()
    assert summary.counts[bucket] == summary.count == 1
    assert summary.max == max(seconds, BRIEF)


def test_what_it_holds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, hours, causes and kinds beyond a number are added up as one; names are cut."""
    assert KEYS == 10_000
    monkeypatch.setattr(tally, "KEYS", 3)
    found = Tally()
    for number in range(9):
        one = parse(
            json.dumps(
                record(
                    **LOST | {"cause": f"cause {number}"},
                    tool=f"tool {number}" + 200 * "x",
                    provider=f"provider {number}",
                    at=f"2031-05-06T{number + 10}:00:00Z",
                )
            ).encode()
        )
        other = parse(
            json.dumps(correction(attempt=number + 2, violations=[f"v{number}"])).encode()
        )
        assert not isinstance(one, str)
        assert not isinstance(other, str)
        found.take(one)
        found.take(other)
    for groups in (found.tools, found.providers, found.hours):
        assert len(groups) == 4
        assert groups[OTHERS].announced == 6
    for kinds in (found.attempts, found.violations):
        assert len(kinds) == 4
        assert kinds[OTHERS].corrections == 6
    assert found.causes[OTHERS, OTHERS] == 6
    assert len(found.waits) == 4
    assert max(map(len, found.tools)) == 80
    assert found.records == 18


# What is passed over

NO_RECORDS: dict[str, tuple[str, str]] = {
    "torn": ('{"event": "call", "at": "20', "no JSON"),
    "binary": ("\x00\x00", "no JSON"),
    "deep": ("[" * 100_000, "no JSON"),
    "long digits": ("1" * 5_000, "no JSON"),
    "an array": ("[1]", "no record"),
    "another object": ('{"hello": 1}', "no record"),
    "another event": ('{"event": "turn"}', "no record"),
    "an unhashable event": ('{"event": []}', "no record"),
    "no time": (json.dumps(record(at=None)), "no record"),
    "a time without a zone": (json.dumps(record(at="2031-05-06T12:00:00")), "no record"),
    "a time beyond all": (json.dumps(record(at="0001-01-01T00:00:00+23:59")), "no record"),
    "a year before all clocks": (json.dumps(record(at="0001-01-01T00:00:00Z")), "no record"),
    "a year after them": (json.dumps(record(at="9999-12-31T23:00:00Z")), "no record"),
    "a gap longer than any stream": (json.dumps(record(largest_gap=1e308)), "no record"),
    "an attempt that is true": (json.dumps(correction(attempt=True)), "no record"),
    "an outcome that is none": (json.dumps(record(outcome="fine")), "no record"),
    "an outcome that is a list": (json.dumps(record(outcome=[])), "no record"),
    "a failure without a reason": (json.dumps(record(outcome="failed", cause="idle")), "no record"),
    "a failure without a cause": (json.dumps(record(**LOST | {"cause": None})), "no record"),
    "a reason without a failure": (json.dumps(record(**LOST | INVALID)), "no record"),
    "a tool that is a number": (json.dumps(record(tool=7)), "no record"),
    "a gap below none": (json.dumps(record(largest_gap=-1)), "no record"),
    "a gap that is no number": (json.dumps(record(largest_gap=float("nan"))), "no record"),
    "a gap beyond all": (json.dumps(record(largest_gap=10**400)), "no record"),
    "violations that are text": (json.dumps(correction(violations="required")), "no record"),
    "a violation that is a number": (json.dumps(correction(violations=[1])), "no record"),
    "an attempt that is text": (json.dumps(correction(attempt="2")), "no record"),
    "an attempt before the first": (json.dumps(correction(attempt=0)), "no record"),
    "very long": (json.dumps(record(raw="x" * MAX_LINE)), "too long"),
    "very long, three times over": ("x" * (3 * MAX_LINE + 7), "too long"),
}


@pytest.mark.parametrize(("line", "why"), NO_RECORDS.values(), ids=NO_RECORDS.keys())
def test_a_line_that_is_no_record_is_passed_over(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is counted, its place is told, and the lines around it count."""
    path = write(tmp_path, record(), "", line, record())
    status, data = report(capsys, path)
    assert (status, data["records"]) == (0, 2)
    assert data["broken"] == {why: {"lines": 1, "first": f"line 3 of {path}"}}
    assert main(["report", str(path)]) == 0
    assert f"1 line passed over as {why} (the first: line 3 of" in capsys.readouterr().out


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200))
@example(json.dumps(record()).encode()[:-1])
@example(b"\r\n\r\n\xff\xfe")
def test_a_file_may_hold_anything(tmp_path: Path, content: bytes) -> None:
    """There is a status, and no exception."""
    path = tmp_path / "anything.jsonl"
    path.write_bytes(content)
    assert main(["report", "--json", str(path)]) in (0, 1)


def test_raw_text_is_in_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not in the table, not in JSON, not in the page; nor is that of a broken line."""
    write(tmp_path, record(), record(**LOST), '{"event": "call", "raw": "S3NT1N3L')
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--html", str(page)]) == 0
    assert main(["report", str(tmp_path), "--json"]) == 0
    assert "S3NT" not in capsys.readouterr().out + page.read_text()


# Which files


def test_files_directories_and_patterns_are_read_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a directory, and those in it, only what the handler wrote."""
    write(tmp_path / "a", record(), day="2031-05-06")
    path = write(tmp_path / "a", record(), record(), day="2031-05-07")
    (tmp_path / "a" / "other.jsonl").write_text("other\n")
    status, data = report(capsys, tmp_path, path, tmp_path / "a" / "finalcall-*-07.jsonl")
    assert (status, data["files"], data["records"], data["broken"]) == (0, 2, 3, {})


@pytest.mark.parametrize("name", ["nothing", "nothing/*.jsonl", "empty"])
def test_a_word_that_names_nothing_is_bad_usage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names it; nothing is printed."""
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"report: no .*(nothing|empty).*\n", err)


def test_without_a_record_there_is_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The status says so, and no page is written."""
    write(tmp_path, "{}")
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--html", str(page)]) == 1
    assert capsys.readouterr().out.startswith("0 records in 1 file\n1 line passed over")
    assert not page.exists()
    status, data = report(capsys, tmp_path)
    assert (status, data["begin"], data["corrections"]) == (1, None, None)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others count."""
    write(tmp_path, record())
    bad = write(tmp_path, record(), day="2031-05-07")
    real = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == bad:
            raise PermissionError(13, "Permission denied")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    status, data = report(capsys, tmp_path)
    assert (status, data["records"]) == (0, 1)
    assert data["unreadable"] == {str(bad): "Permission denied"}
    assert main(["report", str(tmp_path)]) == 0
    assert f"not read to its end: {bad}: Permission denied\n" in capsys.readouterr().out


# How it tells


def test_a_share_of_few_calls_has_a_question_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many calls as an alarm needs are enough."""
    calls = [record(**LOST), *[record(tool="few", **LOST)]]
    write(tmp_path, *calls, *[record()] * (ENOUGH - 1))
    assert main(["report", str(tmp_path)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"pay +50 +2\.00 % +0\.00 % +0\.00 % +0", rows[rows.index("By tool") + 2])
    assert re.fullmatch(r"few +1 +100\.00 %\? +0\.00 %\? .*", rows[rows.index("By tool") + 3])


def test_a_long_table_is_cut_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tools that lost the most come first; JSON has all."""
    write(tmp_path, *(record(tool=f"t{number}") for number in range(20)), record(**LOST, tool="t9"))
    assert main(["report", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "10 more are not shown (--json has all)." in out
    rows = out.splitlines()
    assert rows[rows.index("By tool") + 2].startswith("t9 ")
    assert len(report(capsys, tmp_path)[1]["tools"]) == 20


NAMES = [
    "$\\frac{",
    "<script>alert(1)</script>",
    'id="x"',
    "予定を作る",
    "[red]",
    "a\x1b[2Jb",
    "\ud83d",
]


def run_on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a person would see of a run, standard error included."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "finalcall", "report", *arguments]
    known = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        words, stdout=theirs, stderr=theirs, env={**known, "NO_COLOR": "", **environment}
    )
    os.close(theirs)
    seen = io.BytesIO()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that nobody has the other end any more
            break
        if not piece:
            break
        seen.write(piece)
    os.close(ours)
    assert process.wait(60) == 0
    return seen.getvalue().decode()


def test_a_terminal_gets_a_bar_and_a_table(tmp_path: Path) -> None:
    """Names are shown as they are, and cannot move the cursor; the bar is gone at the end."""
    write(tmp_path, *(record(tool=name) for name in NAMES))
    seen = run_on_a_terminal(str(tmp_path))
    assert "] 100 % of 0 MB" in seen
    assert "┏" in seen
    assert "\x1b[1m" in seen
    assert "[red]" in seen
    assert "\x1b[2J" not in seen


@pytest.mark.parametrize("how", ["NO_COLOR", "--no-color", "dumb"])
def test_a_terminal_without_colours_gets_none(how: str, tmp_path: Path) -> None:
    """Whoever says it: the environment, an option, or the terminal."""
    write(tmp_path, record(), record(**LOST))
    options = [how] if how.startswith("-") else []
    environment = (
        {"NO_COLOR": "1"} if how == "NO_COLOR" else {"TERM": "dumb"} if how == "dumb" else {}
    )
    seen = run_on_a_terminal(str(tmp_path), *options, **environment)
    assert "anthropic" in seen
    assert not re.search(r"\x1b\[3\d", seen)


def test_a_pipe_gets_plain_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but lines, and nothing on standard error."""
    write(tmp_path, record(tool="予定"), record(tool="pay"), correction())
    assert main(["report", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    rows = out.splitlines()
    assert rows[0] == "3 records in 1 file, from 2031-05-06 12:30 to 2031-05-06 12:31 UTC"
    assert "予定          1" in rows[rows.index("By tool") + 3]
    assert "pay           1" in rows[rows.index("By tool") + 2]
    assert "By cause" not in rows


# The page


def test_the_page_stands_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No script, nothing from elsewhere; every plot has a name, a caption and labelled axes."""
    calls = [record(tool=name) for name in NAMES] + [
        record(**LOST),
        record(**CUT),
        record(**STOPPED),
    ]
    late = record(at="2031-05-07T12:00:00Z")
    write(tmp_path, *calls, *[late] * ENOUGH, correction(), correction(attempt=3, recovered=False))
    path = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--html", str(path)]) == 0
    assert capsys.readouterr().out.startswith("62 records")
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "prefers-color-scheme: dark" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) == page.count("<figcaption>") == 5
    for drawing in drawings:
        root = ET.fromstring(drawing)
        assert root.get("role") == "img"
        assert root.get("aria-label")
    assert "share of announced calls" in page
    assert not re.search(r"#0([1-8])0\1\0\1", page)
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_the_page_says_only_what_is_known(tmp_path: Path) -> None:
    """With corrections alone there is one plot, and no table of calls."""
    write(tmp_path, correction())
    path = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--html", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "By tool" not in page


def test_a_page_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where to and why, and the status of bad usage."""
    write(tmp_path, record())
    assert main(["report", str(tmp_path), "--html", str(tmp_path)]) == 2
    assert "could not be written: Is a directory" in capsys.readouterr().err


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    """Without matplotlib `--html` says what to install; without rich a terminal has plain text."""
    write(tmp_path, record())
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['rich'] = None\n"
        "sys.modules['rich.console'] = None\n"
        "from finalcall.cli import main; sys.stdout.isatty = lambda: True\n"
        "raise SystemExit(main(['report', *sys.argv[1:]]))"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    plain = subprocess.run(words, capture_output=True, text=True, check=True)
    assert plain.stdout.startswith("1 record in 1 file")
    refused = subprocess.run([*words, "--html", "x"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "pip install 'finalcall[report]'" in refused.stderr


def test_a_report_without_a_page_loads_nothing_that_draws(tmp_path: Path) -> None:
    """Neither matplotlib nor rich: a command that is piped pays for neither."""
    write(tmp_path, record())
    code = (
        "import sys; from finalcall.cli import main; main(['report', sys.argv[1]])\n"
        "assert not {'matplotlib', 'numpy', 'rich'} & set(sys.modules)"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(words, capture_output=True, check=True).stderr == b""


def test_help_names_every_status(capsys: pytest.CaptureFixture[str]) -> None:
    """And shows examples."""
    with pytest.raises(SystemExit, match="0"):
        main(["report", "--help"])
    out = capsys.readouterr().out
    assert all(f"\n  {status}  " in out for status in (0, 1, 2))
    assert "python -m finalcall report /var/log/agent\n" in out


def test_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    """A line beyond the longest is given in part, with its whole length."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"a\n" + b"x" * (2 * MAX_LINE + 5) + b"\nb")
    found = [(line[:1], len(line), size) for line, size in reading.lines(path)]
    assert found == [(b"a", 2, 2), (b"x", MAX_LINE + 1, 2 * MAX_LINE + 6), (b"b", 1, 1)]
