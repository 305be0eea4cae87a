"""`python -m finalcall serve`: as a person uses it, with a real client at the other end."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anthropic
import pytest

from finalcall import Dispatchable, Turn
from finalcall.cli import main
from finalcall.testing import FAULTS, FaultServer, Reply
from tests.recorded import recordings

RECORDING = str(recordings()["anthropic/005-rig-unicode-arguments-streaming.jsonl"])
MESSAGES = [{"role": "user", "content": "go"}]


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The command while it runs, the address that it prints, and the rest of that line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "finalcall", "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            address, _, said = process.stdout.readline().partition(" ")
            yield process, address, said
        finally:
            process.kill()


def stop(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; gives what is printed from then on."""
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (0, "")
    return out


def test_a_recording_is_served_to_a_real_client() -> None:
    """The client's turn ends as recorded, each request is one line, and Ctrl-C ends it well."""
    with serving(RECORDING) as (process, address, said):
        assert said.endswith("with no fault; Ctrl-C ends it\n")
        with anthropic.Anthropic(base_url=address, api_key="S3NT1N3L", max_retries=0) as client:
            stream = client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)
            with Turn(stream, tools=None) as turn:
                list(turn)
        assert any(isinstance(one, Dispatchable) for one in turn.outcomes)
        told = stop(process)
    assert re.fullmatch(r"POST /v1/messages, \d+ bytes\nstopped after 1 request\n", told)


def test_faults_are_put_into_it() -> None:
    """Several faults in order, on the port that is asked for, for any path; keys are not shown."""
    with FaultServer(Reply()) as other:
        port = other.base_url.rpartition(":")[2]
    words = ("--fault", "ceiling", "--fault", "slow-trickle", "--port", port)
    with serving(RECORDING, *words) as (process, address, said):
        assert address == f"http://127.0.0.1:{port}"
        assert "with ceiling, slow-trickle;" in said
        with closing(http.client.HTTPConnection(address.removeprefix("http://"))) as connection:
            connection.request("GET", "/any?key=S3NT1N3L")
            assert b'"stop_reason":"max_tokens"' in connection.getresponse().read()
        assert stop(process) == "GET /any, 0 bytes\nstopped after 1 request\n"


def test_the_faults_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Every fault has a line with its name and what goes wrong."""
    assert main(["serve", "--list-faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FAULTS)
    assert all(fault.summary in line for fault, line in zip(FAULTS.values(), lines, strict=True))


def test_the_help_shows_how(capsys: pytest.CaptureFixture[str]) -> None:
    """It has examples and the exit statuses."""
    with pytest.raises(SystemExit, match="0"):
        main(["serve", "--help"])
    shown = capsys.readouterr().out
    assert "finalcall serve recording.jsonl --fault stall" in shown
    assert "exit status:" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "no recording is named; expected a file, or --list-faults"),
        (("no.jsonl",), r"No such file"),
        ((RECORDING, "--fault", "stal"), "there is no fault 'stal'; did you mean stall?"),
        ((RECORDING, "--fault", "zzz"), "no fault 'zzz'; --list-faults names them"),
        ((RECORDING, "--fault", "repeated-id"), "'repeated-id' means nothing here: pieces of"),
        ((str(Path(__file__)),), "is no recording; the content begins with no JSON object"),
        ((str(Path(__file__).parent),), "Is a directory"),
    ],
)
def test_bad_usage_is_a_sentence(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found and what was expected, without a traceback, and the status 2."""
    assert main(["serve", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.match(rf"serve: .*{expected}", said.err)
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("content", ["{", "{}\n3", "{}\n[]", '{"a": 1}\n{"event": 1}', "[1]", ""])
def test_a_file_that_is_no_recording_is_a_sentence(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is in it."""
    path = tmp_path / "x.jsonl"
    path.write_text(content, encoding="utf-8")
    assert main(["serve", str(path)]) == 2
    assert "is no recording" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "http", "\N{SUPERSCRIPT TWO}"])
def test_a_port_that_is_none_is_a_sentence(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said before anything is opened."""
    with pytest.raises(SystemExit, match="2"):
        main(["serve", RECORDING, f"--port={port}"])
    assert "is no port; expected a number up to 65535" in capsys.readouterr().err


def test_a_port_that_is_taken_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """Two servers do not share a port."""
    with FaultServer(Reply()) as other:
        assert main(["serve", RECORDING, "--port", other.base_url.rpartition(":")[2]]) == 2
    assert "serve: " in capsys.readouterr().err
