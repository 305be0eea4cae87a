"""Settles many recordings on all cores with Ray: a pure function over one file, mapped over all.

    python many_recordings_ray.py 'recordings/**/*.jsonl'

On one machine `finalcall replay` does the same without Ray. Here Ray runs on one machine too; give
`ray.init` the address of a cluster, and files that every machine of it can read, and the same
program runs there.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ray

from finalcall.testing.replaying import ReplayedStream, replay_file

FILES_A_TASK = 32  # a task costs about as much as a few files
TASKS_AHEAD = 64  # bounds the memory, however many files there are


@ray.remote
def settle_files(paths: list[str]) -> list[ReplayedStream]:
    """Settle some files, in a process of Ray's."""
    return [replay_file(Path(path)) for path in paths]


def settle_all(paths: list[str]) -> Iterator[ReplayedStream]:
    """Settle files, in any order, as results come in."""
    starts = iter(range(0, len(paths), FILES_A_TASK))
    running: list[Any] = []
    while True:
        while len(running) < TASKS_AHEAD and (start := next(starts, None)) is not None:
            running.append(settle_files.remote(paths[start : start + FILES_A_TASK]))
        if not running:
            return
        (finished, *_), running = ray.wait(running)
        yield from ray.get(finished)


def tally(streams: Iterable[ReplayedStream]) -> Counter[str]:
    """Count what the calls settled as, and the files that hold no stream."""
    counts: Counter[str] = Counter()
    for stream in streams:
        counts["files"] += 1
        counts["unreadable"] += stream.unreadable is not None
        counts.update(call.outcome for call in stream.calls)
    return counts


def run(pattern: str) -> Counter[str]:
    """Settle all files that a pattern names, from this directory on."""
    paths = sorted(str(path) for path in Path().glob(pattern) if path.is_file())
    with ray.init(include_dashboard=False, log_to_driver=False):
        return tally(settle_all(paths))


if __name__ == "__main__":
    for name, count in run(sys.argv[1]).most_common():
        print(f"{count:>8,} {name}")
