"""`python -m finalcall replay`: what each file becomes, in which order, and what it never shows."""

from __future__ import annotations

import io
import json
import os
import pickle
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from finalcall import Settler, ToolSet
from finalcall.cli import main, replay, replay_pool
from finalcall.cli.replay_live import PACE, play
from finalcall.cli.tool_files import UNCHECKED
from finalcall.preview import Preview
from finalcall.terminal import TerminalBlocks
from finalcall.testing import Recording
from finalcall.testing.replaying import (
    StoredStream,
    UnreadableRecording,
    read_stream,
    replay_file,
)
from tests.expectation import settled
from tests.messages import CLEAN, TOOLS, call, message_start, stopped, text
from tests.streams import FIXTURES, fixture_cases, settle_natives

SECRET = "hunter2"
CUT = [message_start(), *call(0, arguments='{"title": "hun', stop=False), *stopped("max_tokens")]
DROPPED = [message_start(), *call(0, stop=False)]
INVALID = [message_start(), *call(0, arguments='{"priority": "hunter2"}'), *stopped()]
GARBLED = [message_start(), *call(0, arguments='{"title": "x"'), *stopped()]
TALK = [message_start(), *text("hello"), *stopped("end_turn")]
PAUSED = [message_start(), *text("hello"), *stopped("pause_turn")]
FAULT = [message_start(), *call(0), {"type": "error", "error": {"type": "overloaded_error"}}]


def write(path: Path, natives: Sequence[Any], times: Sequence[float] | None = None) -> Path:
    lines: list[dict[str, Any]] = [{"dialect": "anthropic"}]
    for number, native in enumerate(natives):
        line = {"event": native.get("type"), "data": native}
        lines.append(line if times is None else line | {"at": times[number]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, list[Any]]:
    """The status of a run, and the objects that it writes."""
    status = main(["replay", "--json", *map(str, arguments)])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# One file


@pytest.mark.parametrize("case", fixture_cases(), ids=lambda case: case.name)
def test_a_recording_settles_as_it_must(case: Any) -> None:
    """With the tools of its request, every call of a recording is what was expected of it."""
    tools = case.tools()
    found = replay_file(case.path, tools=tools, choices="all")
    words = {"dispatchable": "dispatchable", "schema_error": "schema_error"}
    assert [(one.call_id, one.tool, words.get(one.outcome, one.reason)) for one in found.calls] == [
        expected[:3] for expected in case.expected()
    ]
    assert found.unreadable is None


@pytest.mark.parametrize(
    ("natives", "verdict", "outcomes"),
    [
        (CLEAN, "dispatch", ["dispatchable"]),
        (TALK, "done", []),
        (PAUSED, "resume", []),
        (INVALID, "correct", ["schema_error"]),
        (CUT, "fail", ["failed"]),
        (DROPPED, "fail", ["failed"]),
        (GARBLED, "fail", ["failed"]),
        (FAULT, "fail", ["failed"]),
    ],
)
def test_every_verdict_has_its_status(
    natives: Sequence[Any],
    verdict: str,
    outcomes: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """0 where all calls may run, 1 where one is invalid or failed or the stream ended badly."""
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    status, (row,) = run(capsys, write(tmp_path / "one.jsonl", natives), "--tools", tools)
    assert row["verdict"] == verdict
    assert [one["outcome"] for one in row["calls"]] == outcomes
    assert status == (0 if verdict in ("dispatch", "done", "resume") else 1)


def test_a_dump_says_what_its_recording_says(tmp_path: Path) -> None:
    """A response's raw bytes, in whichever framing, become the row of their recording."""
    dump = tmp_path / "dump"
    starts: set[bytes] = set()
    for case in fixture_cases():
        dump.write_bytes(content := case.recording.to_bytes())
        starts.add(content[:1])
        one, other = replay_file(dump).as_json(), replay_file(case.path).as_json()
        assert one | {"file": ""} == other | {"file": ""}, case.name
    assert {b"{", b"\0", b"d", b"e"} <= starts


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"# Notes\n\nNothing to see.\n", "no event of a known provider"),
        (b'{"dialect": "anthropic"}\n', "no whole event after it"),
        (b'{"dialect": "anthropic"}\n{"event": null, "data": {"hunter2": 1}}\n', "first event"),
        (b'{"dialect": "anthropic"}\n{"event": null, "data": 1}\n{"event": 1}\n', "event 2 lacks"),
        (b'{"dialect": "anthropic"}\n{"event": 7, "data": 1}\n', "event 1 lacks"),
        (b'{"dialect": "anthropic"}\n[1]\n', "line 2 is no JSON object"),
        (b'{"dialect": "hunter2', "no JSON at column"),
        (b'{"dialect": "\xff"}', "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "nested too deep"),
        (b"data: hunter2\n\n", "no event of a known provider"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_is_none_is_a_row(
    content: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says why, quotes nothing of the content, and the run goes on; the status is 1."""
    bad = tmp_path / "a.jsonl"
    bad.write_bytes(content)
    status, (row, good) = run(capsys, bad, write(tmp_path / "b.jsonl", CLEAN))
    assert status == 1
    assert reason in row["unreadable"]
    assert SECRET not in row["unreadable"]
    assert (good["verdict"], row["verdict"]) == ("dispatch", None)


def test_a_file_that_cannot_be_opened_is_a_row(tmp_path: Path) -> None:
    """The reason is the system's own word."""
    assert replay_file(tmp_path / "none").unreadable == "No such file or directory"
    assert replay_file(tmp_path).unreadable == "Is a directory"
    with pytest.raises(UnreadableRecording, match="Is a directory"):
        read_stream(tmp_path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_content_raises(content: bytes, tmp_path: Path) -> None:
    """Whatever a file holds, it becomes a row that can be sent to another process."""
    path = tmp_path / "any"
    for prefix in (b"", b'{"dialect": "x"}\n{"event": null, "data": ', b"data: "):
        path.write_bytes(prefix + content)
        row = replay_file(path)
        assert pickle.loads(pickle.dumps(row)) == row
        assert json.loads(json.dumps(row.as_json()))["file"] == str(path)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 2000))
def test_a_cut_dump_never_dispatches_more(cut: int, tmp_path: Path) -> None:
    """A dump that was cut anywhere gives a call only where its stop reason is in it."""
    whole = Recording.read(FIXTURES / "anthropic/081-anthropic-sdk-type-tool-use-response.jsonl")
    path = tmp_path / "cut"
    path.write_bytes(content := whole.to_bytes()[:cut])
    row = replay_file(path)
    dispatched = [one for one in row.calls if one.outcome == "dispatchable"]
    assert not dispatched or b'"stop_reason":"tool_use"' in content.replace(b" ", b"")


def test_options_are_those_of_a_settler(tmp_path: Path) -> None:
    """The pure function takes tools, the provider and every policy; a bad one raises."""
    path = write(tmp_path / "one.jsonl", [message_start(), *call(0)])
    assert [one.reason for one in replay_file(path).calls] == ["abandoned"]
    (one,) = replay_file(path, tools=ToolSet(TOOLS), unconfirmed="dispatch").calls
    assert one.outcome == "dispatchable"
    assert replay_file(path, provider="gemini").calls == ()
    with pytest.raises(ValueError, match="unknown provider"):
        replay_file(path, provider="nobody")


def test_times_are_read_where_all_are_there(tmp_path: Path) -> None:
    """Events without a time, or that go back in time, leave the stream without times."""
    times = [10.0 + number for number in range(len(CLEAN))]
    assert read_stream(write(tmp_path / "a", CLEAN, times)).times == tuple(times)
    assert read_stream(write(tmp_path / "a", CLEAN)).times is None
    for wrong in (-1.0, True, None, "3", float("nan"), 10**400):
        odd = [*times[:-1], wrong]
        assert read_stream(write(tmp_path / "a", CLEAN, odd)).times is None  # type: ignore[arg-type]


def test_it_needs_no_rich() -> None:
    """The pure function is importable where nothing is installed that draws."""
    code = (
        "import sys; import finalcall.testing.replaying; "
        "print([name for name in ('rich', 'matplotlib', 'pytest') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


# Many files


def test_the_table_has_a_row_a_stream_and_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the files: whose, how many calls, the verdict, what ended it, outcomes."""
    write(tmp_path / "a.jsonl", CLEAN)
    write(tmp_path / "b.jsonl", CUT)
    write(tmp_path / "c.jsonl", FAULT)
    (tmp_path / "d.jsonl").write_text("")
    assert main(["replay", str(tmp_path)]) == 1
    headings, *rows = capsys.readouterr().out.splitlines()
    assert headings.split() == ["file", "provider", "calls", "verdict", "ending", "outcomes"]
    assert [row.removeprefix(str(tmp_path)).split(None, 5) for row in rows[:3]] == [
        ["/a.jsonl", "anthropic", "1", "dispatch", "tool_use", "1 dispatchable"],
        ["/b.jsonl", "anthropic", "1", "fail", "max_tokens", "1 truncated (token_ceiling)"],
        ["/c.jsonl", "anthropic", "1", "fail", "provider_error", rows[2].split(None, 5)[5]],
    ]
    assert rows[2].endswith("(overloaded_error)  1 abandoned (provider_error)")
    assert "unreadable: empty" in rows[3]
    assert rows[4:] == [
        "",
        "4 files, 1 of them unreadable",
        "verdicts: 2 fail, 1 dispatch",
        "3 calls: 1 dispatchable, 1 truncated (token_ceiling), 1 abandoned (provider_error)",
        UNCHECKED,
    ]


def test_workers_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several processes give the same rows in the same order as one, tools included."""
    monkeypatch.setattr(replay_pool, "FEW_FILES", 2)
    monkeypatch.setattr(replay_pool, "CHUNK", 3)
    messages = (CLEAN, CUT, INVALID, GARBLED, TALK)
    for number in range(40):
        write(tmp_path / f"{number:02}.jsonl", messages[number % len(messages)])
    tools = tmp_path / "tools"
    tools.write_text(json.dumps(TOOLS))
    one = run(capsys, tmp_path, "--tools", tools, "--jobs", 1)
    assert run(capsys, tmp_path, "--tools", tools, "--jobs", 2) == one
    assert len(one[1]) == 40


def test_only_few_results_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are, workers are never far ahead of what is taken."""
    submitted: list[int] = []

    class Executor:
        def __init__(self, *_: object, **__: object) -> None: ...

        def submit(self, _: object, paths: Sequence[Path]) -> Any:
            submitted.append(len(paths))

            class Done:
                @staticmethod
                def result() -> list[Path]:
                    return list(paths)

            return Done

        def shutdown(self, **how: bool) -> None:
            assert how == {"cancel_futures": True}

    monkeypatch.setattr(replay_pool, "ProcessPoolExecutor", Executor)
    paths = [Path(str(number)) for number in range(5000)]
    results = replay_pool.replay_all(paths, jobs=2, provider=None, tools=None)
    taken = 0
    for path, result in zip(paths, results, strict=True):
        assert result is path
        taken += 1
        assert sum(submitted) - taken <= 2 * replay_pool.AHEAD * replay_pool.CHUNK
    assert taken == 5000


def test_a_worker_that_dies_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback: a sentence, and the status that says that the command could not run."""

    def broken(*_: object, **__: object) -> Iterator[Any]:
        raise replay.BrokenProcessPool
        yield

    monkeypatch.setattr(replay, "replay_all", broken)
    assert main(["replay", str(write(tmp_path / "a.jsonl", CLEAN))]) == 2
    assert "--jobs 1" in capsys.readouterr().err


# What is never shown


def test_nothing_that_the_model_wrote_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the table nor the JSON nor a played stream holds a value of an argument."""
    tools = tmp_path / "tools"
    tools.write_text(json.dumps(TOOLS))
    arguments = json.dumps({"title": SECRET, "priority": SECRET})
    natives = [message_start(), *call(0, arguments=arguments), *stopped()]
    path = str(write(tmp_path / "a.jsonl", natives))
    for more in ([], ["--json"], ["--live", "--speed", "1e6"]):
        assert main(["replay", path, "--tools", str(tools), *more]) == 1
        output = capsys.readouterr()
        assert output.out
        assert SECRET not in output.out + output.err


def test_words_of_a_stream_cannot_move_a_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of files, stop reasons and codes come from anywhere, and are shown without controls."""
    natives = [message_start(), *call(0), *stopped("evil\x1b[31m\nword" + "x" * 99)]
    write(tmp_path / "a\x1b[2Jb.jsonl", natives)
    assert main(["replay", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "evil·[31m·wordxxx" in output
    assert "x" * 40 not in output


# Usage


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.jsonl"], "no file is called"),
        (["a.jsonl", "--tools", "none"], "none: No such file or directory"),
        (["a.jsonl", "--tools", "bad"], "bad: no JSON"),
        (["a.jsonl", "--tools", "number"], "number: neither a list of tools"),
        (["a.jsonl", "--tools", "schema"], "schema: "),
        (["a.jsonl", "b.jsonl", "--live"], "--live plays one file"),
        (["a.jsonl", "--live", "--json"], "--live plays one file"),
        (["a.jsonl", "--show-arguments"], "--show-arguments needs --live"),
    ],
)
def test_bad_usage_is_a_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says what is wrong on standard error, and the status is 2."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, CLEAN)
    for name, content in (("bad", "{"), ("number", "1"), ("schema", '{"a": {"type": "colour"}}')):
        (tmp_path / name).write_text(content)
    assert main(["replay", *arguments]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"replay: {sentence}")
    assert output.out == ""


@pytest.mark.parametrize(
    "words", [["--jobs", "0"], ["--jobs", "x"], ["--speed", "nan"], ["--speed", "-1"], []]
)
def test_a_bad_option_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The parser says which, with status 2."""
    with pytest.raises(SystemExit) as stopped_with:
        main(["replay", *words])
    assert stopped_with.value.code == 2
    assert (words[0] if words else "FILE") in capsys.readouterr().err


def test_help_has_examples_and_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` says how to use it and what comes of it."""
    with pytest.raises(SystemExit):
        main(["replay", "--help"])
    output = capsys.readouterr().out
    assert "examples:\n  python -m finalcall replay recordings/" in output
    assert "exit status:\n  0  " in output
    assert "masked" in output


# A terminal


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, *arguments: str) -> str:
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setenv("COLUMNS", str(columns))
        patched.setenv("TERM", "xterm")
        patched.setattr(sys, "stdout", terminal)
        main(["replay", *arguments])
    return terminal.getvalue()


@pytest.mark.parametrize("columns", [20, 40, 80, 119, 120, 200])
def test_rows_fit_a_terminal(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of a stream is longer than the terminal is wide, and its verdict is always there."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("a" * 80, "b"):
        write(tmp_path / f"{name}.jsonl", CUT)
    (tmp_path / "c.jsonl").write_text("")
    plain = shown(monkeypatch, columns, str(tmp_path), "--no-color")
    rows = plain.split("\n\n")[0].splitlines()
    assert max(map(len, rows)) < columns
    assert sum("fail" in row for row in rows) == 2
    coloured = shown(monkeypatch, columns, str(tmp_path))
    assert coloured.count("\x1b[31mfail\x1b[0m") == 2
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(monkeypatch, columns, str(tmp_path)) == plain


def test_a_bar_is_drawn_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, on a terminal, for many files; elsewhere there is none."""
    for number in range(60):
        write(tmp_path / f"{number:02}.jsonl", TALK)
    assert main(["replay", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["replay", str(tmp_path), "--json"]) == 0
    assert "60/60" in terminal.getvalue()
    assert [json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()] == [
        "done"
    ] * 60


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    """Ctrl-C at a terminal, with workers at work: no traceback of anybody, and status 130."""
    for number in range(60):
        write(tmp_path / f"{number:02}.jsonl", TALK)
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, time\n"
        "from finalcall.cli import main, replay_pool\n"
        "from finalcall.testing import replaying\n"
        "class Slow(replay_pool.Replay):\n"
        "    def file(self, path):\n"
        "        time.sleep(1)\n"
        "        return super().file(path)\n"
        "replay_pool.Replay = Slow\n"
        "if __name__ == '__main__':\n"
        "    replay_pool.FEW_FILES, replay_pool.CHUNK = 0, 1\n"
        "    sys.exit(main(['replay', '--jobs', '2', sys.argv[1]]))\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    output: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(ours, 65536):
                output.append(data)
        except OSError:  # how a pseudo-terminal says that nobody writes any more
            pass

    reader = threading.Thread(target=read)
    reader.start()
    while b"settling" not in b"".join(output):
        assert process.poll() is None, b"".join(output)
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # a terminal tells all of its processes
    status = process.wait(60)
    reader.join()
    os.close(ours)
    told = b"".join(output)
    assert (status, b"Traceback" in told) == (130, False), told.decode()


# One stream as it came


class Slept(list[float]):
    """Seconds that somebody waited, in place of waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def played(stream: StoredStream, speed: float = 1.0, **options: Any) -> tuple[Slept, str, Settler]:
    slept, output = Slept(), io.StringIO()
    settler = Settler(tools=TOOLS, idle_timeout=None, **options)
    console = Console(file=output, width=60)
    play(settler, stream, TerminalBlocks(settler.blocks, console=console), speed=speed, sleep=slept)
    return slept, output.getvalue(), settler


@pytest.mark.parametrize("speed", [0.5, 1.0, 10.0])
def test_a_stream_is_played_in_its_own_time(speed: float, tmp_path: Path) -> None:
    """It waits as long as the recorded stream did, divided by the speed."""
    times = [5.0 + number * 0.25 for number in range(len(CLEAN))]
    slept, output, settler = played(read_stream(write(tmp_path / "a", CLEAN, times)), speed)
    assert sum(slept) == pytest.approx((times[-1] - 5.0) / speed)
    assert output.splitlines() == [
        "◌ create_ticket — preparing",
        "✓ create_ticket — ready to run",
    ]
    assert settler.verdict == "dispatch"


def test_a_stream_without_times_is_played_at_a_pace(tmp_path: Path) -> None:
    """Then each event takes as long."""
    slept, _, _ = played(read_stream(write(tmp_path / "a", CUT)))
    assert sum(slept) == pytest.approx(PACE * len(CUT))


def test_a_silence_is_told_when_it_was(tmp_path: Path) -> None:
    """What a turn says of a silence comes in its middle, as it would have come."""
    times = [0.0] * 3 + [100.0] * (len(CLEAN) - 3)
    stream = read_stream(write(tmp_path / "a", CLEAN, times))
    slept, output, _ = played(stream)
    assert sum(slept) == pytest.approx(100.0)
    assert output.splitlines()[-1] == "✓ create_ticket — ready to run"


@pytest.mark.parametrize("more", [[], ["--show-arguments"]])
def test_arguments_fill_in_only_where_asked(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--show-arguments` shows them as they come, those that are sensitive masked."""
    schema = {"properties": {"city": {}, "pin": {"type": "string", "writeOnly": True}}}
    (tmp_path / "tools").write_text(json.dumps({"create_ticket": schema}))
    arguments = json.dumps({"city": "Sète", "pin": SECRET})
    natives = [message_start(), *call(0, arguments=arguments), *stopped()]
    path = write(tmp_path / "a.jsonl", natives)
    options = ["--live", "--speed", "1000", "--tools", str(tmp_path / "tools"), *more]
    output = shown(monkeypatch, 60, str(path), *options)
    assert ("Sète" in output) is bool(more)
    assert ("•••" in output) is bool(more)
    assert SECRET not in output
    assert "verdict: dispatch, stop reason: 'tool_use'" in output


@pytest.mark.parametrize(
    ("natives", "status", "told"),
    [
        (TALK, 0, "verdict: done, stop reason: 'end_turn'\n"),
        (DROPPED, 1, "verdict: fail, ended by: ended_early\n"),
    ],
)
def test_playing_has_the_statuses_of_the_table(
    natives: Sequence[Any],
    status: int,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """0 where all of it may run, else 1."""
    path = str(write(tmp_path / "a.jsonl", natives))
    assert main(["replay", "--live", "--speed", "1e6", path]) == status
    assert capsys.readouterr().out.endswith(told)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("# Notes\n", "no event of a known provider"),
        ('{"dialect": "x"}\n{"event": null, "data": {"a": 1}}\n', "no known provider's stream"),
    ],
)
def test_what_cannot_be_played_is_told(
    content: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence on standard error, and status 1."""
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    assert main(["replay", "--live", str(path)]) == 1
    assert reason in capsys.readouterr().err


def test_playing_needs_rich(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it the command says what to install; the table needs none."""
    path = str(write(tmp_path / "a.jsonl", CLEAN))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["replay", "--live", path]) == 2
    assert "finalcall[cli]" in capsys.readouterr().err
    assert main(["replay", path]) == 0


def test_a_played_stream_settles_as_a_fed_one(tmp_path: Path) -> None:
    """Playing changes no outcome, with previews or without."""
    for natives in (CLEAN, CUT, DROPPED, INVALID, GARBLED, FAULT):
        stream = read_stream(write(tmp_path / "a", natives))
        expected = [settled(one) for one in settle_natives(natives, TOOLS).outcomes]
        for options in ({}, {"preview": Preview}):
            _, _, settler = played(stream, **options)
            assert [settled(one) for one in settler.outcomes] == expected


def test_a_dump_that_ends_in_its_first_event_is_unreadable(tmp_path: Path) -> None:
    """What is left at the end is read then, and may be nobody's."""
    (tmp_path / "cut.sse").write_bytes(b'data: {"odd": 1}')
    assert "no known provider" in str(replay_file(tmp_path / "cut.sse").unreadable)
