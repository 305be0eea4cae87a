"""`python -m finalcall gaps`: what it measures, what it recommends, what it says of the rest."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from finalcall import Turn
from finalcall.cli import main
from finalcall.cli.gap_files import Measured, Unused, measure
from finalcall.cli.gap_limits import ENOUGH, MARGIN, PATIENCE, PhaseSurvey, Survey
from finalcall.gaps import GapSummary
from finalcall.testing import FakeClock, Recording
from tests.messages import CLEAN, call, message_start, stopped, text

HEADER = {"dialect": "anthropic", "at": 100.0}
PAUSES = (2.0, 0.5, 0.02, 0.02, 0.02, 0.3, 1.2)
"""Seconds before each of the first events of a message; before the others, 20 ms."""


def lines_of(
    natives: Sequence[Any] = CLEAN, pauses: Sequence[float] = PAUSES, **header: Any
) -> list[dict[str, Any]]:
    """The lines of a recording whose events came after pauses."""
    now, lines = 100.0, [HEADER | header]
    for number, native in enumerate(natives):
        now += pauses[number] if number < len(pauses) else 0.02
        lines.append({"event": native.get("type"), "data": native, "at": now})
    return lines


def write(path: Path, lines: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def untimed(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "at"} for line in lines]


def report(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, Any]:
    """The status of a run and the object that it prints."""
    status = main(["gaps", "--json", *map(str, arguments)])
    return status, json.loads(capsys.readouterr().out)


# What is recommended


def test_a_sentence_says_what_a_limit_was_taken_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names recordings, gaps, the worst one, its phase and file, and eight times it."""
    write(tmp_path / "one.jsonl", lines_of())
    slow = write(tmp_path / "two.jsonl", lines_of(pauses=(3.0, *PAUSES[1:6], 2.5)))
    assert main(["gaps", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert (
        f"anthropic, in_call: 2 recordings, 8 gaps, the worst 2.5 s (before event 7 of {slow}); "
        "8 x that is 20 s: in_call=20. Too few gaps to rely on: up to 31 % of all gaps may be "
        "longer than the worst one here (95 % confidence); record more."
    ) in output.splitlines()
    assert (
        "anthropic: idle_timeout=Idle(first=24, between=10, in_call=20), after_stop=2"
        in output.splitlines()
    )
    assert "2 files, 2 with times and a proper end" in output.splitlines()


@pytest.mark.parametrize("worst", [0.0001, 0.9, 1.25, 1.2501, 7.5, 33.3, 400.0])
@pytest.mark.parametrize("phase", ["first", "between", "in_call", "stopped"])
def test_a_limit_is_at_least_eight_times_the_worst_gap(phase: str, worst: float) -> None:
    """In whole seconds, and never so low that a lost packet would look like silence."""
    survey = PhaseSurvey(phase)
    survey.take("one", GapSummary(worst, (10,) + (0,) * (len(GapSummary().counts) - 1)), 3)
    floor = 2 if phase == "stopped" else 10
    assert survey.limit == max(floor, math.ceil(8 * worst))
    assert survey.limit >= MARGIN * worst
    assert ("looks like silence" in survey.sentence("x")) is (8 * worst < floor)
    assert ("StreamQuiet" in survey.sentence("x")) is (survey.limit > PATIENCE)


def test_a_limit_beyond_patience_is_recommended_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A healthy stream must not be ended: the person is shown that it is quiet instead."""
    path = write(tmp_path / "slow.jsonl", lines_of(pauses=(1.0, 0.1, 0.1, 0.1, 0.1, 0.1, 185.0)))
    assert main(["gaps", str(path)]) == 0
    output = capsys.readouterr().out
    assert "8 x that is 1,480 s: in_call=1480." in output
    assert "longer than a person will wait (60 s): set it all the same" in output
    assert "Idle(first=10, between=10, in_call=1480, progress=1480), after_stop=2\n" in output


@pytest.mark.parametrize(("number", "few"), [(ENOUGH - 1, True), (ENOUGH, False)])
def test_too_few_gaps_are_never_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, few: bool
) -> None:
    """Below three hundred gaps the limit has a question mark and the sentence says so."""
    start, delta, stop = text("word")
    natives = [start, *[delta] * (number - 3), stop, *stopped("end_turn")]
    lines = lines_of([message_start(), *natives])
    path = write(tmp_path / "long.jsonl", lines)
    assert main(["gaps", str(path)]) == 0
    rows = capsys.readouterr().out.splitlines()
    (row,) = (line for line in rows if line.startswith("anthropic  between"))
    (sentence,) = (line for line in rows if line.startswith("anthropic, between"))
    assert row.endswith("?") is few
    assert ("Too few gaps" in sentence) is few
    _, data = report(capsys, path)
    (limit,) = (limit for limit in data["limits"] if limit["phase"] == "between")
    assert limit["enough"] is not few


def test_gaps_are_gathered_by_provider_and_phase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A header's provider is taken at its word: services that speak one dialect differ."""
    write(tmp_path / "a.jsonl", lines_of())
    write(tmp_path / "b.jsonl", lines_of(provider="some-host", pauses=(9.0,)))
    write(tmp_path / "c.jsonl", lines_of(provider=["no", "name"]))
    status, data = report(capsys, tmp_path)
    assert status == 0
    assert data["used"] == 3
    limits = {(limit["provider"], limit["phase"]): limit for limit in data["limits"]}
    assert len(limits) == 8
    assert limits["anthropic", "first"]["recordings"] == 2
    assert limits["some-host", "first"]["limit"] == 72
    assert limits["anthropic", "stopped"]["option"] == "after_stop"
    assert set(data["options"]) == {"anthropic", "some-host"}


def test_a_recording_has_the_gaps_that_its_turn_had(tmp_path: Path) -> None:
    """What the command measures is what `turn.stats.gaps` said."""
    lines = lines_of()
    clock = FakeClock(100.0)

    def stream() -> Any:
        for line in lines[1:]:
            clock.advance(line["at"] - clock())
            yield line["data"]

    with Turn(stream(), tools=None, clock=clock) as turn:
        assert list(turn)
    found = measure(write(tmp_path / "one.jsonl", lines))
    assert isinstance(found, Measured)
    assert dict(found.gaps) == dict(turn.stats.gaps)
    assert found.worst == {"first": 1, "between": 2, "in_call": 7, "stopped": 11}


@pytest.mark.parametrize(
    ("phase", "options"),
    [("stopped", "after_stop=4"), ("between", "idle_timeout=Idle(between=10)")],
)
def test_only_what_was_measured_is_set(phase: str, options: str) -> None:
    """Of a phase without gaps nothing is recommended: its limit stays what it is."""
    survey = Survey()
    gaps = {phase: GapSummary(0.5, (1,) + (0,) * (len(GapSummary().counts) - 1))}
    survey.take("one", Measured("host", gaps, {phase: 2}, None, requested=True))
    assert survey.options("host") == options


# What does not count, and is named


def test_a_stream_without_a_proper_end_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its silences may be what was wrong with it; a ceiling is a proper end."""
    cut = write(tmp_path / "cut.jsonl", lines_of(CLEAN[:-2], pauses=(50.0,)))
    status, data = report(capsys, tmp_path)
    assert status == 1
    assert data["unclean"] == {str(cut): "ended_early"}
    assert data["limits"] == []
    full = [message_start(), *call(0, stop=False), *stopped("max_tokens")]
    write(tmp_path / "full.jsonl", lines_of(full))
    status, data = report(capsys, tmp_path)
    assert (status, data["used"]) == (0, 1)
    assert max(limit["max"] for limit in data["limits"]) == 2.0


def test_without_the_time_of_the_request_the_first_wait_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then no limit for it is recommended, and that is said."""
    path = write(tmp_path / "one.jsonl", [{"dialect": "anthropic"}, *lines_of()[1:]])
    assert main(["gaps", str(path)]) == 0
    output = capsys.readouterr().out
    assert "1 of these do not say when the request was made" in output
    assert "first=" not in output


def test_recordings_without_times_are_counted_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text names the first ones and how many more there are, JSON all of them."""
    for number in range(7):
        write(tmp_path / f"{number}.jsonl", untimed(lines_of()))
    assert main(["gaps", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert output.startswith("no limits: there are no gaps to go by\n")
    assert "7 without usable times:" in output
    assert f"  {tmp_path / '0.jsonl'}: no times of arrival\n" in output
    assert output.endswith("  and 2 more (--json names all)\n")
    assert len(report(capsys, tmp_path)[1]["untimed"]) == 7


def with_time(number: int, time: Any) -> list[Any]:
    """A recording of which one line has another time; 0 is the header."""
    lines = lines_of()
    lines[number] = lines[number] | {"at": time}
    return lines


UNUSED: dict[str, tuple[Any, str, str]] = {
    "no header time, no times": (untimed(lines_of()), "untimed", "no times of arrival"),
    "one time missing": (with_time(3, None), "untimed", "event 3 has no time of arrival"),
    "a time as text": (with_time(2, "102"), "untimed", "event 2 has no time of arrival"),
    "true as a time": (with_time(2, True), "untimed", "event 2 has no time of arrival"),
    "a time beyond all numbers": (with_time(2, 10**400), "untimed", "event 2 has no time"),
    "not a number": (with_time(2, math.nan), "untimed", "event 2 has no time of arrival"),
    "time goes back": (with_time(3, 1.0), "untimed", "event 3 arrived before the one before it"),
    "request after the answer": (with_time(0, 900.0), "untimed", "event 1 arrived before the"),
    "no events": ([HEADER], "unreadable", "no whole event"),
    "a line without data": (
        [*lines_of()[:2], {"event": None}],
        "unreadable",
        "line 3: event 2 lacks its",
    ),
    "a name that is none": ([HEADER, {"event": 5, "data": {}}], "unreadable", "event 1 lacks"),
    "a line that is a list": ([HEADER, ["event", "data"]], "unreadable", "line 2 is no JSON obj"),
    "somebody else's stream": (
        [HEADER, {"event": None, "data": {"weather": "fine"}, "at": 101.0}],
        "unreadable",
        "no known provider",
    ),
    "a dump": ('data: {"type": "message_start"}\n\n', "untimed", "raw bytes carry no times"),
    "an empty file": ("", "unreadable", "expected a recording"),
    "some text": ("hello\n", "unreadable", "expected a recording"),
    "half a line": ('{"dialect": "anthropic"}\n{"event"', "unreadable", "expected a recording"),
    "deep nesting": ('{"a": ' + "[" * 100_000, "unreadable", "nested too deep"),
    "no UTF-8": (b'{"a": "\xff"}', "unreadable", "not UTF-8"),
}


@pytest.mark.parametrize("name", UNUSED)
def test_whatever_gives_no_gaps_says_why(tmp_path: Path, name: str) -> None:
    """A recording whose times cannot be used, or a file that is no recording at all."""
    content, kind, why = UNUSED[name]
    path = tmp_path / "odd.jsonl"
    if isinstance(content, list):
        write(path, content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = measure(path)
    assert isinstance(found, Unused), found
    assert found.kind == kind
    assert why in found.why


def test_a_file_that_cannot_be_opened_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are measured all the same."""
    write(tmp_path / "good.jsonl", lines_of())
    (tmp_path / "odd.jsonl").mkdir()
    status, data = report(capsys, tmp_path)
    assert status == 0
    assert data["unreadable"] == {str(tmp_path / "odd.jsonl"): "Is a directory"}
    assert data["files"] == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["event", "data", "at", "type", "choices", "provider"]), inner
        )
    ),
    max_leaves=8,
)
odd_files = st.binary(max_size=60) | st.lists(json_values, max_size=4).map(
    lambda lines: "\n".join(map(json.dumps, lines)).encode()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(odd_files)
@example(b'{"dialect": []}\n{"event": "error", "data": [], "at": 1}')
def test_no_file_raises(tmp_path: Path, content: bytes) -> None:
    """Whatever a file holds, it is measured or named."""
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    assert isinstance(measure(path), Measured | Unused)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.integers(1, len(CLEAN)), json_values)
def test_no_event_raises(tmp_path: Path, number: int, data: Any) -> None:
    """An event of a recording may hold anything, too."""
    lines = lines_of()
    lines[number] = lines[number] | {"data": data}
    found = measure(write(tmp_path / "odd.jsonl", lines))
    assert isinstance(found, Measured | Unused)


# Files


def test_files_are_named_by_path_directory_and_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file counts once, however often it is named."""
    one = write(tmp_path / "one.jsonl", lines_of())
    write(tmp_path / "deep" / "two.jsonl", lines_of())
    write(tmp_path / "deep" / "three.txt", lines_of())
    assert report(capsys, one)[1]["used"] == 1
    assert report(capsys, tmp_path)[1]["used"] == 2
    assert report(capsys, tmp_path / "**" / "t*")[1]["used"] == 2
    assert report(capsys, one, tmp_path, tmp_path / "*.jsonl", one)[1]["used"] == 2


def test_a_name_with_the_signs_of_a_pattern_is_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is really called so comes first."""
    odd = write(tmp_path / "[a].jsonl", lines_of())
    assert report(capsys, odd)[1]["used"] == 1


@pytest.mark.parametrize("name", ["nothing.jsonl", "*.jsonl", "."])
def test_bad_usage_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What names no file is status 2, with nothing on the output."""
    monkeypatch.chdir(tmp_path)
    assert main(["gaps", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gaps: no ")
    assert repr(name) in captured.err


def test_no_names_at_all_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """The command wants recordings."""
    with pytest.raises(SystemExit) as stopped_at:
        main(["gaps"])
    assert stopped_at.value.code == 2
    assert "RECORDINGS" in capsys.readouterr().err


# Showing


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_only_a_terminal_gets_bold_headings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`NO_COLOR`, `--no-color` and a dumb terminal take that away; a pipe never has it."""
    path = str(write(tmp_path / "one.jsonl", lines_of()))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    assert main(["gaps", path]) == 0
    plain = capsys.readouterr().out
    assert plain.startswith("provider   phase")

    def shown(*arguments: str) -> str:
        terminal = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", terminal)
            assert main(["gaps", path, *arguments]) == 0
        return terminal.getvalue()

    assert shown().startswith("\x1b[1mprovider")
    assert shown("--no-color") == plain
    monkeypatch.setenv("TERM", "dumb")
    assert shown() == plain
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown() == plain


def test_progress_is_shown_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal a bar grows with the files and is gone at the end; elsewhere it is silent."""
    for number in range(45):
        write(tmp_path / f"{number}.jsonl", untimed(lines_of()))
    assert report(capsys, tmp_path)[0] == 1
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert report(capsys, tmp_path)[0] == 1
    _, *drawn, gone = terminal.getvalue().split("\r")
    assert len(drawn) == 45
    assert drawn[-1] == f"[{'#' * 25}] 100 % of 45 files"
    assert gone == "\x1b[2K"


def test_names_cannot_move_a_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files and providers come from anywhere, and are shown without their controls."""
    write(tmp_path / "a\x1b[2Jb.jsonl", lines_of(provider="evil\x1b[31m\nhost"))
    assert main(["gaps", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "evil?[31m?host" in output
    assert "a?[2Jb.jsonl" in output


def test_an_encoding_without_a_sign_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the output's encoding lacks a sign, a question mark stands for it."""
    path = write(tmp_path / "sète.jsonl", lines_of())
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert main(["gaps", str(path)]) == 0
    sys.stdout.flush()
    assert b"s?te.jsonl" in output.getvalue()


def test_times_do_not_change_what_a_recording_is(tmp_path: Path) -> None:
    """Whatever reads recordings reads those with times as well."""
    path = write(tmp_path / "one.jsonl", lines_of())
    assert Recording.read(path).to_dicts() == CLEAN
