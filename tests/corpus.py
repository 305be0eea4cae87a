"""Runs a whole directory of recordings: `python -m tests.corpus DIR [--objects]`.

The directory, or its parent, holds an EXPECTED.jsonl. Every stream is settled as dicts, as bytes
in several cuts, at every prefix, in a synchronous and an asynchronous turn, and (`--objects`)
through its provider's real client against a loopback server.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

from tests.clients import CLIENTS, check_client
from tests.streams import (
    Case,
    cases,
    check_async_turns,
    check_forms,
    check_prefixes,
    check_turns,
)


def check(case: Case, counts: Counter[str], *, objects: bool) -> None:
    counts["forms"] += check_forms(case)
    counts["prefixes"] += check_prefixes(case)
    counts["turns"] += check_turns(case)
    counts["async turns"] += asyncio.run(check_async_turns(case))
    if objects and case.recording.header.get("dialect") in CLIENTS:
        counts["client runs"] += check_client(case)
    counts["streams"] += 1
    counts["calls"] += len(case.expected())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--objects", action="store_true", help="also through the real clients")
    options = parser.parse_args()
    try:
        found = cases(options.directory)
    except OSError as error:
        print(f"no recordings: {error}", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for number, case in enumerate(found, 1):
        try:
            check(case, counts, objects=options.objects)
        except Exception as error:
            failed.append(case.name)
            print(f"\n{case.name}: {type(error).__name__}: {str(error)[:1000]}")
        if sys.stderr.isatty():
            print(f"\r{number}/{len(found)}", end="", file=sys.stderr)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    print(f"{len(found) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
