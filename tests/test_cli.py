"""The demo: every scene settles as its row says, on a terminal and anywhere else."""

from __future__ import annotations

import dataclasses
import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import Cause, Dispatchable, Failed, SchemaError, settle
from finalcall.cli import demo, main
from finalcall.cli.scenes import SCENES, TOOLS, Scene
from finalcall.cli.screen import LiveScreen, PlainScreen, open_screen
from finalcall.testing.steps import Send
from finalcall.texts import final_line
from finalcall.wire.decoder import Decoder

BY_NAME = {scene.name: scene for scene in SCENES}


def natives(scene: Scene) -> Iterator[object]:
    decoder = Decoder()
    for step in scene.script(0.0).steps:
        if isinstance(step, Send):
            yield from decoder.feed(step.data)


def rows_of(output: str) -> list[str]:
    """What a terminal shows after some output: new lines, rows up and down, cleared lines."""
    rows, row, shown = [""], 0, 0
    for piece in re.findall(r"\x1b\[\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", output):
        if piece == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
            shown = 0
        elif piece == "\r":
            shown = 0
        elif match := re.fullmatch(r"\x1b\[(\d*)([ABK])", piece):
            distance = int(match[1] or 1)
            if match[2] == "K":
                rows[row] = ""
            else:
                row += -distance if match[2] == "A" else distance
        elif not piece.startswith("\x1b"):
            rows[row] = rows[row][:shown] + piece
            shown += len(piece)
    return rows


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_scene_settles_as_its_row_says(scene: Scene, kind: str) -> None:
    """The real client reads it: outcomes, last lines, verdict and exception are right."""
    output = io.StringIO()
    assert demo.play(scene, kind, PlainScreen(output), 0.0), output.getvalue()
    assert [line for line in scene.lines if line not in output.getvalue()] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"settles": ("Failed truncated (token_ceiling)",)},
        {"lines": ()},
        {"verdict": "fail"},
        {"raises": "StreamIdle"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_scene_that_settles_otherwise_is_told(changes: dict[str, object]) -> None:
    """Whatever differs from the row is shown, and the scene counts as failed."""
    output = io.StringIO()
    scene = dataclasses.replace(BY_NAME["clean"], **changes)  # type: ignore[arg-type]
    assert not demo.play(scene, "sync", PlainScreen(output), 0.0)
    assert output.getvalue().count("NOT AS IT MUST BE") == 1


def test_the_scenes_cover_what_can_happen() -> None:
    """Among the scenes every kind of outcome and every verdict with calls is to be seen."""
    settles = {name.split()[0] for scene in SCENES for name in scene.settles}
    assert settles == {"Dispatchable", "SchemaError", "Failed"}
    assert {scene.verdict for scene in SCENES} == {"dispatch", "correct", "fail"}
    assert len(BY_NAME) == len(SCENES)


def test_the_list_names_every_scene(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` gives one line a scene and plays nothing."""
    assert main(["demo", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(BY_NAME)


def test_scenes_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """`--scene` and `--sync` play what they name; the status is 0."""
    assert main(["demo", "--fast", "--sync", "--scene", "clean", "--scene", "malformed"]) == 0
    output = capsys.readouterr().out
    assert output.endswith("demo: 2 of 2 scenes settled as they must\n")
    assert {line.split(":")[0] for line in output.splitlines()} == {
        "clean (sync)",
        "malformed (sync)",
        "demo",
    }
    assert "\x1b" not in output


def test_an_unknown_scene_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that no scene has is a usage error that names those there are."""
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--scene", "nothing"])
    assert stopped.value.code == 2
    assert "wrong-priority" in capsys.readouterr().err


def test_without_the_client_it_says_how_to_install_it() -> None:
    """A missing `anthropic` package is status 2 and a sentence, not a traceback."""
    code = (
        "import sys\nsys.modules['anthropic'] = None\n"
        "from finalcall.cli import main\nsys.exit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'finalcall[anthropic]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_encoding_without_the_signs_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the output's encoding lacks a sign, a question mark stands for it."""
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert main(["demo", "--fast", "--sync", "--scene", "clean"]) == 0
    assert b"? create_ticket ? ready to run\n" in output.getvalue()


def test_a_reader_that_leaves_is_no_error() -> None:
    """Output into a pipe that nobody reads any more ends the command quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys\nfrom finalcall.cli import main\nsys.exit(main(['demo', '--list']))"
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [sys.executable, "-u", "-c", code], stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 0
    assert done.stderr == b""


def terminal_output(*arguments: str) -> tuple[int, str]:
    """Run a command on a pseudo-terminal and give its status and all it wrote."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "finalcall", *arguments],
        stdout=theirs,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""},
    )
    os.close(theirs)
    received: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(ours, 4096):
                received.append(data)
        except OSError:  # how a terminal says that the other side is gone
            os.close(ours)

    reader = threading.Thread(target=read)
    reader.start()
    status = process.wait()
    reader.join()
    return status, b"".join(received).decode().replace("\r\n", "\n")


def test_on_a_terminal_a_call_is_redrawn_in_place() -> None:
    """A call is one row: it fills in, and ends as its last line."""
    status, output = terminal_output("demo", "--fast", "--async", "--scene", "dropped")
    assert status == 0, output
    assert output.count("preparing, ") > 5
    assert "\x1b[31m" in output
    assert [row for row in rows_of(output) if row] == [
        "dropped (async) · the connection drops in the middle of the arguments",
        "  I'll open a ticket for the billing team now.",
        "  ⊘ create_ticket — not run (connection lost)",
        "  outcome: Failed abandoned (disconnected)",
        "  raised, after every call had settled: RemoteProtocolError",
        "  verdict: fail",
        "demo · 1 of 1 scenes settled as they must",
    ]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(*, no_colour: bool = False) -> str:
    """What a failed call's last line is on a terminal."""
    output = Terminal()
    open_screen(output, no_colour=no_colour).put("call", "⊘ create_ticket — cancelled", "bad")
    return output.getvalue()


def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_COLOR`, unless it is empty, and `--no-color` take every colour away."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    assert drawn() == "\x1b[31m  ⊘ create_ticket — cancelled\x1b[0m\n"
    assert drawn(no_colour=True) == "  ⊘ create_ticket — cancelled\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert drawn() == "  ⊘ create_ticket — cancelled\n"


def test_only_a_terminal_that_can_move_its_cursor_is_drawn_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`TERM=dumb`, and whatever is no terminal, get lines."""
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(open_screen(Terminal(), no_colour=False), LiveScreen)
    assert isinstance(open_screen(io.StringIO(), no_colour=False), PlainScreen)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_screen(Terminal(), no_colour=False), PlainScreen)


texts = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=120)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), texts, st.booleans()), max_size=30))
def test_a_live_screen_shows_the_last_text_of_every_row(
    changes: list[tuple[str, str, bool]],
) -> None:
    """Rows stand in the order in which they came, each with what was last put there, cut to fit."""
    output = io.StringIO()
    screen = LiveScreen(output, colour=True)
    screen.begin("label", "title")
    last = {"title": "label · title"}
    for row, text, grows in changes:
        (screen.grow if grows else screen.put)(row, text, "faint")
        last[row] = f"  {text}"
    room = 79
    expected = [text if len(text) <= room else f"{text[: room - 1]}…" for text in last.values()]
    assert rows_of(output.getvalue())[1:-1] == expected


def test_a_plain_screen_writes_a_growing_row_once() -> None:
    """Of a row that grows only the last is written, before whatever comes next."""
    output = io.StringIO()
    screen = PlainScreen(output)
    screen.begin("label", "title")
    screen.grow("text", "one")
    screen.grow("text", "one two")
    screen.grow("call", "3 characters")
    screen.put("call", "done")
    assert output.getvalue().splitlines() == [
        "label: title",
        "label: one two",
        "label: 3 characters",
        "label: done",
    ]


@pytest.mark.parametrize("name", ["clean", "ceiling", "wrong-priority", "malformed"])
def test_a_last_line_shows_nothing_of_the_arguments(name: str) -> None:
    """The tool, that it runs or not, and why: no value, parse error or schema."""
    (outcome,) = settle(list(natives(BY_NAME[name])), tools=TOOLS).outcomes
    line = final_line(outcome)
    assert isinstance(outcome, Dispatchable | SchemaError | Failed)
    assert line.split(" — ")[0].endswith("create_ticket")
    assert not [word for word in ("BILLING", "Night", "P1", "urgent", "enum") if word in line]


def test_a_call_without_a_name_has_a_last_line() -> None:
    """A call whose name never arrived is told of too."""
    failed = Failed("abandoned", None, None, "", cause=Cause.DISCONNECTED)
    assert final_line(failed) == "⊘ unnamed call — not run (connection lost)"
