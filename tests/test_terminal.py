"""Blocks on a terminal and anywhere else: forms fill in, and one line a call stays."""

from __future__ import annotations

import importlib
import io
import os
import pty
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

import finalcall.terminal
from finalcall import Cause, Settler, StreamQuiet, ToolSet, Turn
from finalcall.blocks import Blocks
from finalcall.correction import run_turn
from finalcall.preview import Preview
from finalcall.terminal import LONGEST_VALUE, REDRAW_SECONDS, TerminalBlocks
from finalcall.testing import FakeClock
from finalcall.texts import ENGLISH, GERMAN
from finalcall.tools import Display
from tests.messages import CLEAN, call, message_start, stopped
from tests.test_blocks import ASKED, TICKET, WRONG_TICKET, model, reply

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "title": "Title"},
        "body": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
    },
}
TOOLS = ToolSet({"create_ticket": SCHEMA}, display={"create_ticket": Display(label="New ticket")})
ARGUMENTS = '{"title": "Night run", "password": "S3NT1N3L", "body": "It stopped\\nhalfway."}'


class Screen:
    """A terminal, or a pipe, of which a test sees what it shows."""

    def __init__(
        self, *, terminal: bool = True, encoding: str = "utf-8", width: int = 60, **environ: str
    ) -> None:
        self.bytes = io.BytesIO()
        self.clock = FakeClock()
        self.console = Console(
            file=io.TextIOWrapper(self.bytes, encoding, write_through=True, newline=""),
            force_terminal=terminal,
            width=width,
            get_time=self.clock,
            _environ={"TERM": "xterm", **environ},
        )

    @property
    def written(self) -> str:
        return self.bytes.getvalue().decode(self.console.encoding)

    @property
    def rows(self) -> list[str]:
        return rows_of(self.written)


def rows_of(output: str) -> list[str]:
    """What a terminal shows after some output: lines that are there, without colours."""
    rows, row = [""], 0
    for piece in re.findall(r"\x1b\[\??\d*(?:;\d+)*[A-Za-z]|\r|\n|[^\x1b\r\n]+", output):
        if piece == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif piece == "\x1b[2K":
            rows[row] = ""
        elif match := re.fullmatch(r"\x1b\[(\d*)A", piece):
            row -= int(match[1] or 1)
        elif not piece.startswith(("\x1b", "\r")):
            rows[row] += piece
    return [text.rstrip() for text in rows if text.strip()]


def show(screen: Screen, events: Any, **options: Any) -> list[list[str]]:
    """Show blocks, and give every view that differs from the one before."""
    blocks = Blocks(tools=TOOLS, **options)
    views: list[list[str]] = []
    with TerminalBlocks(blocks, console=screen.console):
        for event in events:
            blocks.apply(event)
            screen.clock.advance(REDRAW_SECONDS)
            if screen.rows not in views:
                views.append(screen.rows)
    return [*views, screen.rows]


def test_a_form_fills_in_and_leaves_a_line() -> None:
    """Fields appear under the call, masked where they must be; the last view is one line."""
    screen = Screen()
    stream = [message_start(), *call(0, arguments=ARGUMENTS), *stopped()]
    views = show(screen, Turn(stream, tools=TOOLS, preview=Preview))
    assert views == [
        [],
        ["◌ New ticket — preparing"],
        [
            "◌ New ticket — preparing",
            "    Title    Night run",
            "    password •••…",
        ],
        [
            "◌ New ticket — preparing",
            "    Title    Night run",
            "    password •••",
            "    body     It stopped·halfway.",
        ],
        [
            "✓ New ticket — ready to run",
            "    Title    Night run",
            "    password •••",
            "    body     It stopped·halfway.",
        ],
        ["✓ New ticket — ready to run"],
    ]
    assert "S3NT" not in screen.written


def test_a_call_that_cannot_run_loses_its_form() -> None:
    """A cut stream leaves the line with the cause, and nothing of the arguments."""
    stream = [message_start(), *call(0, arguments=ARGUMENTS, stop=False)]
    views = show(Screen(), Turn(stream, tools=TOOLS, preview=Preview, raises=False))
    assert views[-2:] == 2 * [["⊘ New ticket — not run (the reply ended early)"]]


def test_silence_is_told_below() -> None:
    """It says how long it has waited, and goes when something comes."""
    events = list(Turn(CLEAN, tools=TOOLS))
    views = show(Screen(), [*events[:6], StreamQuiet(10.0), StreamQuiet(20.0), *events[6:]])
    quiet = [view[-1] for view in views if view and "waiting" in view[-1]]
    assert quiet == ["still waiting, 10 s", "still waiting, 20 s"]
    assert views[-1] == ["✓ New ticket — ready to run"]


@pytest.mark.parametrize("width", [200, 60, 20, 5])
@pytest.mark.parametrize("sign", ["x", "界"])
def test_a_value_takes_one_row(width: int, sign: str) -> None:
    """While it grows its end is shown, for something moves there; then its beginning."""
    screen, body = Screen(width=width), f"first{sign * 100}last"
    arguments = f'{{"body": "{body}", "title": "'
    views = show(
        screen,
        Turn(
            [message_start(), *call(0, arguments=arguments, stop=False)],
            tools=TOOLS,
            preview=Preview,
            raises=False,
        ),
    )
    assert all(cell_len(row) <= width for view in views for row in view)
    assert {len(view) for view in views} <= {0, 1, 2, 3}
    if width > 10:
        growing, whole = (view[1] for view in views if len(view) > 1)
        assert growing.endswith(f"{sign}…")
        assert whole.startswith("    body  first"[: width - 4])
        assert whole.endswith("…")
        assert cell_len(whole) <= 11 + LONGEST_VALUE


def test_growth_is_not_drawn_more_often_than_an_eye_can_follow() -> None:
    """A change of what is said is drawn at once, another character is not."""
    screen = Screen()
    blocks = Blocks(tools=TOOLS)
    drawn: list[int] = []
    with TerminalBlocks(blocks, console=screen.console):
        for event in Turn(CLEAN, tools=TOOLS, preview=Preview):
            before = len(screen.written)
            blocks.apply(event)
            if len(screen.written) > before:
                drawn.append(sum(len(block.fields()) for block in blocks))
    assert drawn == [0, 1]


def test_a_correction_keeps_its_row() -> None:
    """The corrected call stands where the invalid one stood."""
    run = run_turn(model(reply(WRONG_TICKET), reply(TICKET)), ASKED, tools=TOOLS)
    assert show(Screen(), run) == [
        [],
        ["◌ New ticket — preparing"],
        ["✓ New ticket — ready to run"],
        ["✓ New ticket — ready to run"],
    ]


def test_leaving_early_cancels_and_says_so() -> None:
    """An exception goes on unchanged, and no block stays open."""
    screen = Screen()
    blocks = Blocks(tools=TOOLS)
    with pytest.raises(LookupError), TerminalBlocks(blocks, console=screen.console):
        for event in Turn(CLEAN, tools=TOOLS):
            blocks.apply(event)
            if len(blocks):
                raise LookupError
    assert screen.rows == ["⊘ New ticket — cancelled"]


@pytest.mark.parametrize(
    "screen",
    [Screen(terminal=False), Screen(TERM="dumb")],
    ids=["pipe", "dumb terminal"],
)
def test_elsewhere_every_line_is_written_once(screen: Screen) -> None:
    """Plain lines as they become true, without forms or control characters."""
    events = list(Turn(CLEAN, tools=TOOLS, preview=Preview))
    quiet = [StreamQuiet(10.0), StreamQuiet(20.0)]
    show(screen, [*events[:9], *quiet, events[9], *quiet[:1], *events[10:]])
    assert screen.written.splitlines() == [
        "◌ New ticket — preparing",
        "still waiting, 10 s",
        "still waiting, 20 s",
        "still waiting, 10 s",
        "✓ New ticket — ready to run",
    ]


def test_elsewhere_a_correction_is_not_seen() -> None:
    """The corrected call takes the line of the invalid one: it is not told as preparing again."""
    screen = Screen(terminal=False)
    show(screen, run_turn(model(reply(WRONG_TICKET), reply(TICKET)), ASKED, tools=TOOLS))
    assert screen.written.splitlines() == [
        "◌ New ticket — preparing",
        "✓ New ticket — ready to run",
    ]


def test_colours_say_the_same_and_can_be_turned_off() -> None:
    """`NO_COLOR` leaves the redrawing and takes the colours."""
    coloured, plain = Screen(), Screen(NO_COLOR="1")
    for screen in (coloured, plain):
        show(screen, Turn(CLEAN, tools=TOOLS))
    assert "\x1b[32m" in coloured.written
    assert "\x1b[32m" not in plain.written
    assert coloured.rows == plain.rows


def test_an_encoding_without_the_signs_is_no_error() -> None:
    """A question mark stands for what the encoding lacks."""
    screen = Screen(terminal=False, encoding="ascii")
    show(screen, Turn(CLEAN, tools=TOOLS), texts=GERMAN)
    assert screen.written.splitlines() == [
        "? New ticket ? wird vorbereitet",
        "? New ticket ? bereit zur Ausf?hrung",
    ]


def test_what_a_model_writes_cannot_draw() -> None:
    """Neither markup nor control characters of a name or a value reach the terminal."""
    screen = Screen()
    arguments = '{"[red]x": "\\u001b[2J[bold]y"}'
    stream = [message_start(), *call(0, arguments=arguments, name="[on red]\x1b[3J")]
    views = show(screen, Turn(stream, tools=TOOLS, preview=Preview, raises=False))
    assert "\x1b[2J" not in screen.written
    assert "\x1b[3J" not in screen.written
    assert [
        "◌ [on red]·[3J — preparing",
        "    [red]x ·[2J[bold]y",
    ] in views


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_is_drawn(cause: Cause) -> None:
    """However a stream ends, the last row is the call's line."""
    screen, blocks, settler = Screen(), Blocks(tools=TOOLS), Settler(tools=TOOLS)
    with TerminalBlocks(blocks, console=screen.console):
        for native in [message_start(), *call(0, stop=False)]:
            for event in settler.feed(native):
                blocks.apply(event)
        for event in settler.end(cause):
            blocks.apply(event)
    assert screen.rows == [f"⊘ New ticket — {ENGLISH[cause]}"]


def test_without_rich_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match=r"pip install 'finalcall\[cli\]'"):
        importlib.reload(finalcall.terminal)


SCRIPT = textwrap.dedent(
    """\
    from finalcall import ToolSet, Turn
    from finalcall.blocks import Blocks
    from finalcall.preview import Preview
    from finalcall.terminal import TerminalBlocks
    from tests.messages import CLEAN, TOOLS

    blocks = Blocks(tools=TOOLS)
    with TerminalBlocks(blocks):
        for event in Turn(CLEAN, tools=TOOLS, preview=Preview):
            blocks.apply(event)
            if event.native and event.native["type"] == "content_block_stop":
                print("between", flush=True)
    """
)


def test_on_a_real_terminal_printing_goes_above() -> None:
    """What the program prints meanwhile stays, and the blocks come below it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=theirs,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
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
    assert process.wait() == 0
    reader.join()
    output = b"".join(received).decode().replace("\r\n", "\n")
    assert rows_of(output) == ["between", "between", "✓ create_ticket — ready to run"]
    assert output.count("preparing") > 1


class _Gone(io.StringIO):
    """A terminal that goes away after some writes."""

    def __init__(self, left: int, error: OSError) -> None:
        super().__init__()
        self.left = left
        self.error = error

    def write(self, text: str, /) -> int:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return len(text)


@pytest.fixture
def own_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """At a broken pipe rich closes whatever standard output is: give it a file of its own."""
    with (tmp_path / "stdout").open("w") as file, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", file)
        yield


@pytest.mark.usefixtures("own_output")
@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "gone")], ids=repr)
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("left", [2, 6])
def test_a_terminal_that_goes_away_breaks_nothing(
    error: OSError, terminal: bool, left: int
) -> None:
    """The turn goes on, and the `with` block is left for its own reason."""
    streams = sys.stdout, sys.stderr
    console = Console(file=_Gone(left, error), force_terminal=terminal, _environ={"TERM": "xterm"})
    blocks = Blocks(tools=TOOLS)
    with pytest.raises(KeyError, match="mine"), TerminalBlocks(blocks, console=console):
        with Turn([message_start(), *call(0), *call(1, "b"), *stopped()], tools=None) as turn:
            for event in turn:
                blocks.apply(event)
        assert turn.verdict == "dispatch"
        raise KeyError("mine")
    assert (sys.stdout, sys.stderr) == streams


@pytest.mark.usefixtures("own_output")
def test_a_terminal_that_is_gone_already_is_refused() -> None:
    """With an error, not an exit; what was redirected is given back."""
    streams = sys.stdout, sys.stderr
    console = Console(file=_Gone(0, BrokenPipeError()), force_terminal=True)
    with pytest.raises(OSError, match="nobody reads"), TerminalBlocks(Blocks(), console=console):
        pass
    assert (sys.stdout, sys.stderr) == streams
