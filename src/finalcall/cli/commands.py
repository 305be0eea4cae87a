"""Reads the command line and hands over to one command. No command's work is done here."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Sequence

from finalcall.cli import demo, explain, gaps, replay, report, serve
from finalcall.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after the program's name; `None` takes those of this process.

    Returns:
        The exit status: 0 for success, 1 where a command found something wrong, 2 where it could
        not run, 130 where the person stopped it.
    """
    parser = argparse.ArgumentParser(
        prog="python -m finalcall",
        description="Every tool call that a model's stream announces, settled exactly once.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = functools.partial(commands.add_parser, allow_abbrev=False)
    demo.add_parser(add)
    explain.add_parser(add)
    gaps.add_parser(add)
    replay.add_parser(add)
    report.add_parser(add)
    serve.add_parser(add)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough of it; leave nothing for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
