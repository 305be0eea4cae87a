"""Serves a recorded stream on this machine, with faults, for a client to be tried by hand."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from finalcall.cli.output import CUT_FILE, counted
from finalcall.testing import (
    FAULTS,
    FaultServer,
    NotApplicable,
    RecordedRequest,
    Recording,
    Script,
)
from finalcall.testing.recorded_lines import CUT
from finalcall.texts import printable

_EPILOG: Final = """\
examples:
  python -m finalcall serve recording.jsonl
  python -m finalcall serve recording.jsonl --fault stall
  python -m finalcall serve dump.sse --fault ceiling --fault slow-trickle --port 8080
  python -m finalcall serve --list-faults

  Point a provider's client at the address that is printed:
    anthropic.Anthropic(base_url="http://127.0.0.1:8080", api_key="none")
  Every request, whatever its path, is answered with the recording. Ctrl-C ends it.

exit status:
  0  it was stopped
  2  bad usage, such as a file that is no recording, or a fault that means nothing for it
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "serve",
        help="answer real clients with a recording, and with faults put into it",
        description="Serves a recorded stream on 127.0.0.1, in its provider's wire format, with\n"
        "the faults that are named.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "recording",
        nargs="?",
        metavar="RECORDING",
        help="JSON lines, a header first; or a raw dump of server-sent events",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help="what goes wrong; may be given several times, each is put into what the ones before "
        "left",
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="where to listen; a free one if left out"
    )
    parser.add_argument("--list-faults", action="store_true", help="name all faults, and stop")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve the recording until the person stops it.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where it was stopped or the faults were listed, 2 where there was nothing to serve.
    """
    if options.list_faults:
        sys.stdout.write("\n".join(_fault_lines()) + "\n")
        return 0
    with contextlib.ExitStack() as stack:
        try:
            recording = _recording(options.recording, options.fault)
            script = _script(recording, options.fault)
            server = stack.enter_context(FaultServer(_told(script), port=options.port))
        except OSError as error:
            sys.stderr.write(f"serve: {error.filename or options.port}: {error.strerror}\n")
            return 2
        except ValueError as error:
            sys.stderr.write(f"serve: {error}\n")
            return 2
        faults = ", ".join(options.fault) or "no fault"
        if recording.ended is not None and recording.ended.how == CUT:
            faults += f"; {CUT_FILE}"
        try:
            _say(f"{server.base_url} serves {options.recording} with {faults}; Ctrl-C ends it")
            asyncio.run(_forever())
        except KeyboardInterrupt:
            _say(f"stopped after {counted(len(server.requests), 'request')}")
    return 0


def _recording(path: str | None, names: Sequence[str]) -> Recording:
    """The recording, once it is known that there are such faults.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no recording, or there is no such fault.
    """
    if path is None:
        raise ValueError("no recording is named; expected a file, or --list-faults")
    for name in names:
        if name not in FAULTS:
            close = difflib.get_close_matches(name, FAULTS)
            hint = f"did you mean {' or '.join(close)}?" if close else "--list-faults names them"
            raise ValueError(f"there is no fault {name!r}; {hint}")
    try:
        return Recording.parse(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path!r} is no recording; {error}") from None


def _script(recording: Recording, names: Sequence[str]) -> Script:
    """The faulty stream.

    Raises:
        ValueError: A fault means nothing for it.
    """
    script = recording.to_script()
    for name in names:
        try:
            script = FAULTS[name](script)
        except NotApplicable as error:
            raise ValueError(f"the fault {name!r} means nothing here: {error}") from None
    return script


def _told(script: Script) -> Callable[[RecordedRequest], Script]:
    """Answers every request with a script, and says each in a line, without what it holds."""

    def answer(request: RecordedRequest) -> Script:
        path = request.path.partition("?")[0]  # keys are sent in queries, too
        _say(f"{request.method} {printable(path)}, {len(request.body):,} bytes")
        return script

    return answer


async def _forever() -> None:
    await asyncio.Event().wait()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _fault_lines() -> Iterator[str]:
    width = max(map(len, FAULTS))
    for name, fault in FAULTS.items():
        yield f"{name:<{width}}  {fault.summary}"


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; expected a number up to 65535")
    return port
