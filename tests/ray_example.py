"""Runs the example on Ray, in processes of its own: `python -m tests.ray_example`.

It is no part of the suite, for Ray is heavy: the dependency group `examples` has it. Every
recording of one provider is settled, and the counts are compared with those of each file alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

from finalcall.testing.replaying import replay_file
from tests.example_scripts import EXAMPLES

ROOT = EXAMPLES.parent
PATTERN = "tests/fixtures/anthropic/*.jsonl"


def expected() -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in ROOT.glob(PATTERN):
        stream = replay_file(path)
        counts["files"] += 1
        counts["unreadable"] += stream.unreadable is not None
        counts.update(call.outcome for call in stream.calls)
    return counts


def counted() -> Counter[str]:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "many_recordings_ray.py"), PATTERN],
        cwd=ROOT,
        env={"RAY_raylet_start_wait_time_s": "300", **os.environ},  # for machines that are busy
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = (line.split() for line in ran.stdout.splitlines())
    return Counter({name: int(count.replace(",", "")) for count, name in lines})


def main() -> int:
    alone, together = expected(), counted()
    print(dict(together))
    if alone != together:
        print(f"each file alone gives {dict(alone)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
