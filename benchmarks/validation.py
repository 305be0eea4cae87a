"""What settling a call costs beside parsing it alone, and beside parsing it and checking it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jiter
import jsonschema

from benchmarks import materials
from benchmarks.bars import Row, Table, bar_for, figure
from benchmarks.measuring import estimate, ratio, timed, turn_about
from finalcall import ToolSet
from finalcall.accumulator import Accumulator
from finalcall.events import (
    ArgumentsDelta,
    Call,
    CallAnnounced,
    CallCompleted,
    CallIdentity,
    MessageStopped,
)
from finalcall.finalizing import finalize
from finalcall.outcomes import Dispatchable
from finalcall.stop_reasons import StopReason, Verdict

SIZES = (200, 2_000, 20_000)
STOPPED = StopReason("tool_use", Verdict.COMPLETE)


def tables(*, quick: bool) -> Iterator[Table]:
    """Measure the settling of one call of every size."""
    rows: list[Row] = []
    for size in SIZES[:1] if quick else SIZES:
        sys.stderr.write(f"validation: {size} B\n")
        rows += _rows(size, quick=quick)
    yield Table(
        "Settling a call",
        tuple(rows),
        "`fast` means that jsonschema-rs decides; without it jsonschema does, from a validator "
        "that is compiled once.",
    )


def _rows(size: int, *, quick: bool) -> list[Row]:
    text = materials.arguments(size)
    data = text.encode()
    whole = _accumulated(text)
    fast = ToolSet(materials.TOOLS, fast=True)
    slow = ToolSet(materials.TOOLS, fast=False)
    compiled = jsonschema.Draft202012Validator(materials.SCHEMA)
    works: dict[str, Callable[[], object]] = {
        "fast": lambda: _settled(whole, fast),
        "slow": lambda: _settled(whole, slow),
        "unchecked": lambda: _settled(whole, None),
        "jiter": lambda: jiter.from_json(data),
        "validate": lambda: jsonschema.validate(json.loads(text), materials.SCHEMA),
        "compiled": lambda: compiled.validate(json.loads(text)),
    }
    counts = dict.fromkeys(works, 1) if quick else _counts(works)
    times = turn_about(
        {name: _repeated(work, counts[name]) for name, work in works.items()},
        seconds=0 if quick else 6,
        most=1 if quick else 200,
        fewest=1 if quick else 3,
    )
    each = {name: [spent / counts[name] for spent in found] for name, found in times.items()}

    def row(over: str, under: str, bar: str | None = None) -> Row:
        figures = [figure(estimate(each[name]).median * 1e6) for name in (over, under)]
        return Row(
            f"{NAMES[over]} / {NAMES[under]}",
            f"{size:,} B",
            ratio(each[over], each[under]),
            bar=bar_for(bar, size) if bar else None,
            note=f"{figures[0]} / {figures[1]} µs a call",
        )

    return [
        row("fast", "jiter", "finalize / jiter"),
        row("unchecked", "jiter"),
        row("slow", "jiter"),
        row("validate", "fast"),
        row("validate", "slow"),
        row("compiled", "fast"),
        row("compiled", "slow"),
    ]


NAMES = {
    "fast": "`finalize` with `fast`",
    "slow": "`finalize` without `fast`",
    "unchecked": "`finalize` with `tools=None`",
    "jiter": "jiter's parse alone",
    "validate": "`json.loads` and `jsonschema.validate`",
    "compiled": "`json.loads` and a compiled jsonschema validator",
}


def _accumulated(text: str) -> Accumulator:
    """A message with one whole call of these arguments."""
    accumulator = Accumulator()
    call = Call(CallIdentity("toolu_1", "toolu_1", materials.TOOL))
    accumulator.feed(CallAnnounced(call))
    for part in materials.fragments(text):
        accumulator.feed(ArgumentsDelta(call, part))
    accumulator.feed(CallCompleted(call))
    accumulator.feed(MessageStopped(STOPPED))
    return accumulator


def _settled(accumulator: Accumulator, tools: ToolSet | None) -> Any:
    (outcome,) = finalize(accumulator, STOPPED, tools=tools)
    assert isinstance(outcome, Dispatchable)
    return outcome


def _counts(works: dict[str, Callable[[], object]]) -> dict[str, int]:
    """How often each is done in one measurement, so that it takes some milliseconds."""
    counts: dict[str, int] = {}
    for name, work in works.items():
        work()
        counts[name] = max(1, int(0.005 / max(1e-6, timed(work))))
    return counts


def _repeated(work: Callable[[], object], count: int) -> Callable[[], float]:
    def run() -> None:
        for _ in range(count):
            work()

    return lambda: timed(run)
