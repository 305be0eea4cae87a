"""Recordings tell how their stream ended: what is replayed ends as the turn did that was live."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import pytest
from rich.console import Console

from finalcall import AsyncTurn, Idle, Settler, Turn
from finalcall.cli import main
from finalcall.cli.explaining import ENDINGS
from finalcall.cli.gap_files import Measured, measure
from finalcall.cli.output import CUT_FILE
from finalcall.cli.replay_live import play
from finalcall.cli.tool_files import UNCHECKED
from finalcall.outcomes import Cause
from finalcall.terminal import TerminalBlocks
from finalcall.testing import (
    CloseAbruptly,
    FakeClock,
    FaultServer,
    Pings,
    RecordedEnd,
    RecordedEvent,
    Recording,
    Reply,
    Script,
    Send,
    Stall,
    Step,
    record,
)
from finalcall.testing.recorded_lines import RecordedLines, read_lines, sort_lines
from finalcall.testing.replaying import UnreadableRecording, read_stream, replay_file
from tests.messages import CLEAN, call, message_start

SECRET = "hunter2"
REPLY = Reply().text("On it.").call("pay", {"to": "Ann", "euros": 5, "pin": SECRET})
NATIVES = REPLY.to("anthropic")
FRAMES = REPLY.to_recording("anthropic").to_frames()
AMID = 8
"""Events until the call has some of its arguments."""

CLIENT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "go"}],
}


class Live(NamedTuple):
    """How a stream ends that is read from a server.

    Attributes:
        steps: What the server does.
        cause: The cause of the turn's ending.
        idle: The turn's limits.
        leave_at: The event of the turn at which the caller leaves.
    """

    steps: tuple[Step, ...]
    cause: Cause | None
    idle: Idle | None = None
    leave_at: int | None = None


CUT = tuple(map(Send, FRAMES[:AMID]))
LIVE: dict[str, Live] = {
    "clean": Live(tuple(map(Send, FRAMES)), None),
    "ended early": Live(CUT, Cause.ENDED_EARLY),
    "dropped": Live((*CUT, CloseAbruptly()), Cause.DISCONNECTED),
    "idle": Live((*CUT, Stall()), Cause.IDLE, Idle(in_call=0.2, progress=60.0)),
    "stalled": Live((*CUT, Pings(0.02)), Cause.STALLED, Idle(in_call=60.0, progress=0.2)),
    "left": Live(tuple(map(Send, FRAMES)), Cause.CANCELLED, leave_at=5),
}
OF_THE_STREAM = ("clean", "ended early", "dropped")
"""The endings for which nobody needs to ask the turn."""


def live(case: Live, path: Path, **options: Any) -> tuple[Turn, Any]:
    """Read a stream from a server with the real client, and record it."""
    with (
        FaultServer(Script(case.steps)) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        stream = record(client.messages.create(stream=True, **CLIENT), path)
        with Turn(stream, tools=None, raises=False, **limits(case), **options) as turn:
            for number, _ in enumerate(turn, start=1):
                if number == case.leave_at:
                    break
    return turn, stream


async def alive(case: Live, path: Path) -> tuple[AsyncTurn, Any]:
    """The same with the asynchronous one."""
    async with (
        FaultServer(Script(case.steps)) as server,
        anthropic.AsyncAnthropic(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        stream = record(await client.messages.create(stream=True, **CLIENT), path)
        async with AsyncTurn(stream, tools=None, raises=False, **limits(case)) as turn:
            left = case.leave_at
            async for _ in turn:
                left = None if left is None else left - 1
                if left == 0:
                    break
    return turn, stream


def limits(case: Live) -> dict[str, Any]:
    return {} if case.idle is None else {"idle_timeout": case.idle}


def told(turn: Any) -> tuple[Any, ...]:
    """What is to be the same of a live turn and its replay."""
    assert turn.ending is not None
    calls = [(one.key, one.name, *kind(one)) for one in turn.outcomes]
    return turn.verdict, turn.ending.cause, turn.ending.code, turn.stats.events, calls


def kind(outcome: Any) -> tuple[Any, ...]:
    return getattr(outcome, "reason", None), getattr(outcome, "cause", None)


def replayed(path: Path) -> tuple[Any, ...]:
    found = replay_file(path)
    assert found.unreadable is None
    calls = [(one.key, one.tool, one.reason, one.cause) for one in found.calls]
    return found.verdict, found.ending, found.code, found.events, calls


def last_line(path: Path) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(path.read_text().splitlines()[-1])
    return line


# -- live and replayed -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("pacing", ["auto", "thread"])
def test_a_replayed_turn_ends_as_the_live_one(name: str, pacing: Any, tmp_path: Path) -> None:
    """Verdict, cause and outcomes are the same, in whichever thread the stream was read."""
    case, path = LIVE[name], tmp_path / "turn.jsonl"
    turn, stream = live(case, path, pacing=pacing)
    assert turn.ending is not None
    assert turn.ending.cause == case.cause
    assert replayed(path) == told(turn)
    assert stream.recorder.lost == 0


@pytest.mark.parametrize("name", LIVE)
async def test_an_asynchronous_turn_is_replayed_alike(name: str, tmp_path: Path) -> None:
    """The same for the asynchronous client, whose events are read ahead of the turn."""
    case, path = LIVE[name], tmp_path / "turn.jsonl"
    turn, _ = await alive(case, path)
    assert turn.ending is not None
    assert turn.ending.cause == case.cause
    assert replayed(path) == told(turn)


@pytest.mark.parametrize("name", OF_THE_STREAM)
def test_what_the_stream_tells_needs_no_turn(name: str, tmp_path: Path) -> None:
    """Its own end, and what it raises, are recorded without anybody's help."""
    case, path = LIVE[name], tmp_path / "turn.jsonl"
    turn, _ = live(case, path)
    assert replayed(path) == told(turn)


def raising(error: BaseException, events: int = AMID) -> Iterator[Any]:
    yield from NATIVES[:events]
    raise error


class APIError(Exception):
    """Named as the exception of a client that read an error from its stream."""


RAISED: dict[BaseException, Cause] = {
    ConnectionResetError(SECRET): Cause.DISCONNECTED,
    TimeoutError(SECRET): Cause.IDLE,
    ValueError(SECRET): Cause.MALFORMED,
    APIError(SECRET): Cause.PROVIDER_ERROR,
    RuntimeError(SECRET): Cause.DISCONNECTED,
}


@pytest.mark.parametrize("events", [AMID, len(NATIVES) - 1])
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_exception_is_recorded_by_its_type(
    error: Exception, events: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cause that it means and its name, never its text; it voids what it voided."""
    path = tmp_path / "turn.jsonl"
    with Turn(record(raising(error, events), path), tools=None, raises=False) as turn:
        list(turn)
    line = last_line(path)
    assert {**line, "at": 0} == {
        "ended": RAISED[error],
        "exception": type(error).__name__,
        "at": 0,
    }
    assert replayed(path) == told(turn)
    assert SECRET not in json.dumps(line)
    assert main(["explain", str(path)]) == 0
    said = capsys.readouterr().out
    assert SECRET not in said
    assert f"({type(error).__name__})" in said
    if events == AMID:
        assert ENDINGS[RAISED[error]] in said
        assert f"ended by {RAISED[error]}" in said


def test_a_loop_that_is_left_without_a_turn_is_cancelled(tmp_path: Path) -> None:
    """What closes a stream leaves it, and what was read of it is replayed as cancelled."""
    path = tmp_path / "turn.jsonl"

    def stream() -> Iterator[Any]:
        yield from NATIVES

    reading = record(stream(), path)
    for _ in range(AMID):
        next(reading)
    reading.close()
    assert last_line(path)["ended"] == "left"
    assert replay_file(path).ending == Cause.CANCELLED


def test_a_message_that_was_whole_is_not_cancelled_by_leaving_it(tmp_path: Path) -> None:
    """Who has its stop reason may close the stream, as clients do."""
    path = tmp_path / "turn.jsonl"

    class Open:
        """A stream whose body stays open after the stop reason."""

        def __iter__(self) -> Iterator[Any]:
            return iter(NATIVES[:-1])

        def close(self) -> None:
            """Close it."""

    stream = record(Open(), path)
    reading = iter(stream)
    for _ in NATIVES[:-1]:
        next(reading)
    stream.close()
    assert last_line(path)["ended"] == "left"
    assert (replay_file(path).verdict, replay_file(path).ending) == ("dispatch", None)


async def test_a_task_that_is_cancelled_leaves_its_stream(tmp_path: Path) -> None:
    """A cancellation is no failure of the stream."""
    path, waiting = tmp_path / "turn.jsonl", asyncio.Event()

    async def stream() -> AsyncIterator[Any]:
        for native in NATIVES[:AMID]:
            yield native
        waiting.set()
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in record(stream(), path):
            pass

    task = asyncio.create_task(read())
    await waiting.wait()
    task.cancel()
    await asyncio.wait({task})
    assert last_line(path).items() >= {"ended": "left", "exception": "CancelledError"}.items()
    assert replay_file(path).ending == Cause.CANCELLED


def test_a_turn_has_the_last_word(tmp_path: Path) -> None:
    """Once it is settled, nothing that a blocked read still gives is recorded; nor is it twice."""
    path, go_on = tmp_path / "turn.jsonl", threading.Event()

    def stream() -> Iterator[Any]:
        yield from NATIVES[:AMID]
        go_on.wait(30)
        yield from NATIVES[AMID:]

    reading = record(stream(), path)
    idle = Idle(in_call=0.05, progress=60.0)
    with Turn(reading, tools=None, raises=False, idle_timeout=idle) as turn:
        reading.recorder.settled(turn)  # nothing yet
        list(turn)
        reading.recorder.settled(turn)
        content = path.read_bytes()
    go_on.set()
    reading.recorder.settled(turn)
    reading.recorder.take(NATIVES[AMID])
    reading.recorder.end()
    assert last_line(path)["ended"] == "idle"
    assert path.read_bytes() == content
    assert replayed(path) == told(turn)


def test_a_settler_of_ones_own_is_told_of_too(tmp_path: Path) -> None:
    """Who keeps time without a turn says how it ended in the same way."""
    path, clock = tmp_path / "turn.jsonl", FakeClock()
    settler = Settler(tools=None, idle_timeout=5.0)
    reading = record(iter(NATIVES), path, clock=clock)
    for _ in range(AMID):
        settler.feed(next(reading), clock())
    settler.deadline(clock())
    clock.advance(9.0)
    settler.tick(clock())
    reading.recorder.settled(settler)
    assert last_line(path) == {"ended": "idle", "at": 9.0}
    assert replayed(path) == told(settler)
    assert read_stream(path).over == 9.0


# -- what reads it ---------------------------------------------------------------------------------


def ended(path: Path, *ends: dict[str, Any], natives: Any = None, header: Any = None) -> Path:
    """A recording with times, and last lines."""
    events = NATIVES[:AMID] if natives is None else natives
    lines = [header or {"dialect": "anthropic", "provider": "anthropic", "at": 0.0}]
    for number, native in enumerate(events, start=1):
        lines.append({"event": native["type"], "data": native, "at": number / 10})
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *ends]))
    return path


def test_the_last_line_counts(tmp_path: Path) -> None:
    """One that more of the stream follows was no end; without any it is not known."""
    path = tmp_path / "a.jsonl"
    assert read_stream(ended(path)).ended is None
    idle, left = {"ended": "idle", "at": 9.0}, {"ended": "left"}
    assert read_stream(ended(path, left, idle)).ended == RecordedEnd("idle", at=9.0)
    event = {"event": None, "data": {"type": "ping"}, "at": 2.0}
    assert read_stream(ended(path, idle, event)).ended is None
    assert Recording.read(ended(path, idle)).ended == RecordedEnd("idle", at=9.0)
    assert Recording.read(ended(path, idle)).to_dicts() == NATIVES[:AMID]


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ({"ended": "idle", "exception": "a\x1b[2J", "at": "9"}, RecordedEnd("idle")),
        ({"ended": "idle", "exception": 7, "events": -1}, RecordedEnd("idle")),
        ({"ended": "clean", "events": 3}, RecordedEnd("clean", events=3)),
    ],
)
def test_odd_facts_of_an_end_are_passed_over(
    line: dict[str, Any], end: RecordedEnd, tmp_path: Path
) -> None:
    """What is no name, no number and no time says nothing."""
    assert read_stream(ended(tmp_path / "a.jsonl", line)).ended == end


@pytest.mark.parametrize("word", ["hunter2", None, 7, "cut", ["idle"]])
def test_an_end_that_is_not_known_is_refused(word: Any, tmp_path: Path) -> None:
    """The message names the line and the words that are known, not the one that was found."""
    path = ended(tmp_path / "a.jsonl", {"ended": word})
    with pytest.raises(UnreadableRecording, match=f"line {AMID + 2}: an ending") as caught:
        read_stream(path)
    assert "disconnected" in str(caught.value)
    assert SECRET not in str(caught.value)
    with pytest.raises(ValueError, match=rf"a\.jsonl: line {AMID + 2}: an ending"):
        Recording.read(path)


def test_an_end_comes_back_from_its_line() -> None:
    """What is written is what is read."""
    for end in (RecordedEnd("clean"), RecordedEnd("idle", "ReadTimeout", 3, 1.5)):
        content = b"{}\n" + json.dumps(end.to_line()).encode()
        _, line = read_lines(content).lines
        assert sort_lines(RecordedLines([line], is_cut=False)) == ([], end)


LAST_STEPS: dict[str, type[Step] | None] = {
    "clean": None,
    "left": None,
    "cancelled": None,
    "disconnected": CloseAbruptly,
    "provider_error": CloseAbruptly,
    "idle": Stall,
    "stalled": Pings,
}


@pytest.mark.parametrize("word", LAST_STEPS)
def test_a_server_ends_it_as_it_ended(word: str) -> None:
    """A recording's script does after the events what was done to the reader."""
    events = tuple(RecordedEvent(one["type"], one) for one in NATIVES[:AMID])
    for dialect in ("anthropic", "ollama"):
        steps = Recording({"dialect": dialect}, events, RecordedEnd(word)).to_script().steps
        assert [type(one) for one in steps[:AMID]] == [Send] * AMID
        wanted = Stall if dialect == "ollama" and word == "stalled" else LAST_STEPS[word]
        assert [type(one) for one in steps[AMID:]] == ([] if wanted is None else [wanted])


def test_a_dropped_stream_is_served_dropped(tmp_path: Path) -> None:
    """The recording of what a client met is met by the next client."""
    path = tmp_path / "turn.jsonl"
    first, _ = live(LIVE["dropped"], path)
    again, _ = live(Live(Recording.read(path).to_script().steps, None), tmp_path / "again.jsonl")
    assert told(again) == told(first)


def test_a_silence_at_the_end_is_played(tmp_path: Path) -> None:
    """It lasts as long as it did, and the call is told as it was."""
    path = ended(tmp_path / "a.jsonl", {"ended": "idle", "at": 60.0})
    slept: list[float] = []
    settler, output = Settler(tools=None, idle_timeout=None), io.StringIO()
    blocks = TerminalBlocks(settler.blocks, console=Console(file=output, width=60))
    play(settler, read_stream(path), blocks, speed=1.0, sleep=slept.append)
    assert sum(slept) == pytest.approx(60.0)
    assert settler.ending is not None
    assert settler.ending.cause == Cause.IDLE


def test_gaps_count_only_where_the_end_was_proper(tmp_path: Path) -> None:
    """A whole message whose reader left it counts; one that was cancelled does not."""
    for word, cause in (("left", None), ("cancelled", "cancelled"), ("clean", None)):
        found = measure(ended(tmp_path / "a.jsonl", {"ended": word}, natives=NATIVES[:-1]))
        assert isinstance(found, Measured)
        assert (found.provider, found.cause, found.requested) == ("anthropic", cause, True)


# -- files that are cut ----------------------------------------------------------------------------


def cut(path: Path, characters: int = 20) -> Path:
    """The recording of a program that was killed while it wrote."""
    path.write_bytes(ended(path, natives=CLEAN).read_bytes()[:-characters])
    return path


def test_a_last_line_that_is_cut_is_left_out(tmp_path: Path) -> None:
    """Wherever it is cut, the stream is what came before, and ended early."""
    path = tmp_path / "a.jsonl"
    whole = ended(path, natives=[message_start(), *call(0)]).read_bytes()
    length = len(whole.splitlines(keepends=True)[-1])
    for characters in range(2, length):
        path.write_bytes(whole[:-characters])
        found = replay_file(path)
        assert (found.cut, found.events, found.ending) == (True, 5, Cause.ENDED_EARLY)
        assert Recording.read(path).ended == RecordedEnd("cut")
    for characters in (1, length):  # without its line end, and without any of it
        path.write_bytes(whole[:-characters])
        assert not replay_file(path).cut


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "replay": lambda path: ["replay", path],
    "live": lambda path: ["replay", "--live", "--speed", "1e6", path],
    "explain": lambda path: ["explain", path],
    "gaps": lambda path: ["gaps", path],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_that_a_file_is_cut(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, in a line, and goes on."""
    path = ended(tmp_path / "a.jsonl", natives=[message_start(), *call(0), {"type": "ping"}])
    path.write_bytes(path.read_bytes()[:-9])
    assert main(COMMANDS[command](str(path))) in (0, 1)
    output = capsys.readouterr()
    assert output.out.count(CUT_FILE) == 1
    assert output.err == ""
    assert "ended_early" in output.out


@pytest.mark.parametrize("broken", ['{"event": nu', '"hunter2"', "\udcff", '{"event": "hunter2"}'])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_broken_line_in_the_middle_is_named(
    command: str, broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file and the number of the line, in one sentence, without what it holds."""
    path = ended(tmp_path / "a.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2:3] = [b"\n", broken.encode("utf-8", "surrogateescape") + b"\n"]
    path.write_bytes(b"".join(lines))
    assert main(COMMANDS[command](str(path))) == 1
    output = capsys.readouterr()
    said = output.out + output.err
    assert "line 4" in said
    assert str(path) in said
    assert "at at" not in said
    assert SECRET not in said
    assert "Traceback" not in said


def test_a_number_that_is_too_long_is_no_traceback(tmp_path: Path) -> None:
    """Python reads no more than some thousand digits."""
    path = ended(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes() + b'{"event": null, "data": ' + b"1" * 9999 + b"}\n")
    assert f"line {AMID + 2}: JSON that" in str(replay_file(path).unreadable)


# -- what was not checked --------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["replay", "live", "explain"])
def test_calls_that_were_not_checked_are_told(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, where a call may run and no tools were given, with the option that gives them."""
    path, tools = ended(tmp_path / "a.jsonl", natives=CLEAN), tmp_path / "tools.json"
    tools.write_text('{"create_ticket": {"type": "object"}}')
    words = COMMANDS[command](str(path))
    assert main(words) == 0
    assert capsys.readouterr().out.count(UNCHECKED) == 1
    assert main([*words, "--tools", str(tools)]) == 0
    assert UNCHECKED not in capsys.readouterr().out
    assert main(COMMANDS[command](str(ended(path)))) in (0, 1)
    assert UNCHECKED not in capsys.readouterr().out


def test_nothing_of_the_stream_is_in_the_last_line(tmp_path: Path) -> None:
    """Whatever ends it: words, a type's name and numbers."""
    for name in ("clean", "dropped", "left"):
        live(LIVE[name], tmp_path / "turn.jsonl")
        line = last_line(tmp_path / "turn.jsonl")
        assert line.keys() <= {"ended", "exception", "events", "at"}
