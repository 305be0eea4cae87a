"""Settles recorded streams from files, and writes what became of each: a table, or JSON lines."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Final

from finalcall.cli.explaining import word
from finalcall.cli.gap_files import find
from finalcall.cli.output import CUT_FILE, allow_any_text, has_colours, width_of
from finalcall.cli.replay_pool import cores, replay_all
from finalcall.cli.replay_table import Table, Totals
from finalcall.cli.tool_files import TOOLS_HELP, UNCHECKED, read_tools
from finalcall.errors import RefusedStream
from finalcall.outcomes import Dispatchable
from finalcall.providers import PROVIDERS
from finalcall.settler import Settler
from finalcall.testing.replaying import (
    PASSED,
    ReplayedStream,
    UnreadableRecording,
    read_stream,
)
from finalcall.texts import printable
from finalcall.tools import ToolSet

_EPILOG: Final = """\
what a file may hold:
  A recording: JSON lines, a header first, then {"event": ..., "data": ...} for
  each event, with "at" (seconds) where it says when the event arrived, and perhaps
  {"ended": ...} for how the stream ended; without that it just ends. Or the raw
  bytes of a response: server-sent events, JSON lines, an AWS event stream.
  A directory stands for the *.jsonl files in it and below.

what is shown:
  What each stream settled as, never what the model wrote. With --live and
  --show-arguments the arguments fill in too. Fields that the tools of --tools
  mark as sensitive (writeOnly, format: password) are masked; without --tools
  nobody knows which ones are.

examples:
  python -m finalcall replay recordings/
  python -m finalcall replay 'runs/**/*.sse' --tools tools.json
  python -m finalcall replay runs/ --json | jq 'select(.verdict == "fail")'
  python -m finalcall replay one.jsonl --live --speed 4

exit status:
  0  every stream settled as done, dispatch or resume: all its calls may run
  1  some stream settled as correct or fail, or some file could not be read
  2  bad usage, such as a file that does not exist
  130  stopped by Ctrl-C
"""

_FEW_FILES: Final = 50
"""Up to so many files are settled before anybody has seen a bar."""

_BATCH: Final = 20
"""Streams that are written at a time: a bar on the same terminal is drawn again for each write."""

_NO_RICH: Final = """\
replay: --live draws with rich, which is not installed here; install it with

    python -m pip install 'finalcall[cli]'
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "replay",
        help="settle recorded streams: a table of what became of each",
        description="Settles every call of recorded streams and writes what became of each\n"
        "stream: whose it is, how many calls, what to do next, what ended it, outcomes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a directory, or a pattern such as 'a/**/*.sse'",
    )
    parser.add_argument(
        "--provider",
        choices=sorted(PROVIDERS),
        metavar="NAME",
        help="whose streams they are, where they are not recognised: " + ", ".join(PROVIDERS),
    )
    parser.add_argument("--tools", metavar="FILE", help=TOOLS_HELP)
    parser.add_argument("--json", action="store_true", help="write one JSON object a stream")
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=cores(),
        metavar="N",
        help="processes to use where there are many files (default: the cores, here %(default)s)",
    )
    live = parser.add_argument_group("one stream as it came")
    live.add_argument(
        "--live", action="store_true", help="play one file with its recorded times, block by block"
    )
    live.add_argument(
        "--speed", type=_speed, default=1.0, metavar="X", help="so many times as fast (default: 1)"
    )
    live.add_argument(
        "--show-arguments", action="store_true", help="show what the model wrote, with --live"
    )
    parser.add_argument("--no-color", action="store_true", help="no colours, as NO_COLOR=1")
    parser.set_defaults(run=run)


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; expected 1 or more")
    return int(text)


def _speed(text: str) -> float:
    with contextlib.suppress(ValueError):
        speed = float(text)
        if math.isfinite(speed) and speed > 0:
            return speed
    raise argparse.ArgumentTypeError(f"{text!r} is no speed; expected a number above 0")


def run(options: argparse.Namespace) -> int:
    """Settle the streams that were named.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where all of them passed, 1 where one did not, 2 for bad usage.
    """
    allow_any_text(sys.stdout)
    try:
        paths = find(options.files)
        content, tools = read_tools(options.tools)
        _check_usage(options, paths)
    except ValueError as error:
        sys.stderr.write(f"replay: {error}\n")
        return 2
    if options.live:
        return _play(paths[0], tools, options)
    streams = replay_all(paths, jobs=options.jobs, provider=options.provider, tools=content)
    try:
        # A worker must not be left behind, whatever stops the loop.
        with contextlib.closing(streams), _progress(len(paths)) as step:
            totals = _write(_counting(streams, step), paths, options)
    except BrokenProcessPool:
        sys.stderr.write("replay: a worker process died, perhaps for want of memory; --jobs 1 ")
        sys.stderr.write("settles all files in one process\n")
        return 2
    if not options.json:
        lines = [*totals.lines(), *([UNCHECKED] if tools is None and totals.dispatchable else [])]
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in lines))
    return 0 if totals.passed else 1


def _check_usage(options: argparse.Namespace, paths: list[Path]) -> None:
    if options.live and (len(paths) != 1 or options.json):
        raise ValueError(f"--live plays one file, without --json; {len(paths)} were named")
    if options.show_arguments and not options.live:
        raise ValueError("--show-arguments needs --live: a table has no place for arguments")


def _write(
    streams: Iterator[ReplayedStream], paths: list[Path], options: argparse.Namespace
) -> Totals:
    """Write each stream once it is settled, and count them."""
    totals = Totals()
    colours = has_colours(sys.stdout, no_colour=options.no_color)
    table = Table(paths, width=width_of(sys.stdout), colours=colours)
    if not options.json:
        sys.stdout.write(table.headings() + "\n")
    while batch := list(islice(streams, _BATCH)):
        lines: list[str] = []
        for stream in batch:
            totals.take(stream)
            lines += [json.dumps(stream.as_json())] if options.json else table.rows(stream)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return totals


def _counting(
    streams: Iterator[ReplayedStream], step: Callable[[], object]
) -> Iterator[ReplayedStream]:
    for stream in streams:
        yield stream
        step()


def _progress(total: int) -> AbstractContextManager[Callable[[], object]]:
    """A bar, where somebody looks at standard error and rich is there to draw it."""
    looked_at = sys.stderr.isatty() and total > _FEW_FILES
    if not looked_at or importlib.util.find_spec("rich") is None:
        return contextlib.nullcontext(lambda: None)
    return _bar(total)


@contextlib.contextmanager
def _bar(total: int) -> Generator[Callable[[], object]]:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    progress = Progress(
        *Progress.get_default_columns(),
        MofNCompleteColumn(),
        console=Console(file=sys.stderr),
        redirect_stdout=sys.stdout.isatty(),  # rows go above the bar, not through it
        redirect_stderr=False,
        transient=True,
    )
    with progress:
        task = progress.add_task("settling", total=total)
        yield lambda: progress.advance(task)


def _play(path: Path, tools: ToolSet | None, options: argparse.Namespace) -> int:
    """Play one stream, then say what to do next."""
    if importlib.util.find_spec("rich") is None:
        sys.stderr.write(_NO_RICH)
        return 2
    from rich.console import Console

    from finalcall.cli.replay_live import play
    from finalcall.preview import Preview
    from finalcall.terminal import TerminalBlocks

    settler = Settler(
        options.provider,
        tools=tools,
        idle_timeout=None,
        preview=Preview if options.show_arguments else None,
    )
    console = Console(no_color=True if options.no_color else None)
    try:
        stream = read_stream(path)
        play(settler, stream, TerminalBlocks(settler.blocks, console=console), speed=options.speed)
    except (RefusedStream, ValueError) as error:
        sys.stderr.write(f"replay: {printable(str(path))}: {_why(error)}\n")
        return 1
    reason, ending = settler.stop_reason, settler.ending
    told = [f"verdict: {settler.verdict}"]
    if reason is not None:
        told.append(f"stop reason: {word(reason.raw)}")
    if ending is not None and ending.cause is not None:
        told.append(f"ended by: {ending.cause}")
    sys.stdout.write(", ".join(told) + "\n")
    if stream.is_cut:
        sys.stdout.write(CUT_FILE + "\n")
    if tools is None and any(isinstance(one, Dispatchable) for one in settler.outcomes):
        sys.stdout.write(UNCHECKED + "\n")
    return 0 if settler.verdict in PASSED else 1


def _why(error: Exception) -> str:
    known = isinstance(error, UnreadableRecording | RefusedStream)
    return str(error) if known else "no known provider's stream; name the provider with --provider"
