"""What importing adds to a fresh interpreter: the package alone, and the names that turns need."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.bars import Row, Table, bar_for
from benchmarks.measuring import Estimate, estimate

CODES = {
    "`import finalcall`": "import finalcall",
    "`from finalcall import Turn, ToolSet`": "from finalcall import Turn, ToolSet",
    "and a `ToolSet` of one schema": (
        "from finalcall import Turn, ToolSet; ToolSet({'t': {'type': 'object'}})"
    ),
    "`import asyncio`, for comparison": "import asyncio",
    "`import anthropic`, for comparison": "import anthropic",
}
_HELD = "`import finalcall`"


def tables(*, quick: bool) -> Iterator[Table]:
    """Measure fresh interpreters, turn about with bare ones."""
    sys.stderr.write("imports\n")
    rounds = 1 if quick else 40
    codes = {"bare": "pass"} | CODES
    times: dict[str, list[float]] = {name: [] for name in codes}
    with tempfile.TemporaryDirectory() as cache:
        for code in codes.values():
            _spent(code, cache)  # writes the compiled files that every later start reads
        for _ in range(rounds):
            for name, code in codes.items():
                times[name].append(_spent(code, cache))
    rows: list[Row] = []
    for name in CODES:
        added = [with_ - bare for with_, bare in zip(times[name], times["bare"], strict=True)]
        found: Estimate = estimate(added)
        least = min(times[name]) - min(times["bare"])
        bar = bar_for("import") if name == _HELD else None
        rows.append(
            Row(name, "CPU", found, "ms", bar, f"{least:.1f} ms between the shortest of each")
        )
    yield Table("Importing", tuple(rows), "Above a bare interpreter, compiled files written.")


def _spent(code: str, cache: str) -> float:
    """The CPU milliseconds, user and system, of a fresh interpreter."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env=environment | {"PYTHONPYCACHEPREFIX": cache},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent * 1e3
