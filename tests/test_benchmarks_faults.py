"""The comparison of faults: that it runs, and that what it says comes from the run's facts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.faults import tables
from benchmarks.faults.agents import MODELS, PEERS
from benchmarks.faults.cases import CASES, CUT, INVALID, NOT_A_NUMBER, TEXT, TWICE, VALID, Case
from benchmarks.faults.judging import Judged
from benchmarks.faults.running import Facts
from benchmarks.faults.telling import FUNCTIONS
from finalcall import Dispatchable, Settler, ToolSet
from tests import documents

OF = {case.name: case for case in CASES}
CHOSEN = [peer for peer in PEERS if peer.name != "litellm"]  # some ten seconds to import
INSTALLED = [peer for peer in CHOSEN if all(tables.installed(package) for package in peer.packages)]
PAIRS = [
    pytest.param(case, provider, id=f"{case.name}-{provider}")
    for case in CASES
    for provider in MODELS
    if case.never != provider
]


def judged(case: str, **happened: Any) -> Judged:
    return Judged(OF[case], replace(Facts("peer", "anthropic", case), **happened))


@pytest.mark.timeout(600)  # some packages take long to import on a busy machine
def test_it_runs_whatever_is_installed() -> None:
    """Every agent that is installed comes to an end, and tells its facts; others are named."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.faults",
        "--peers",
        ",".join(peer.name for peer in CHOSEN),
        "--cases",
        "clean,ceiling-whole",
        "--json",
    ]
    run = subprocess.run(command, cwd=documents.ROOT, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in run.stdout.splitlines()]
    expected = [
        (peer.name, provider, case)
        for peer in INSTALLED
        for provider in peer.providers
        for case in ("clean", "ceiling-whole")
    ]
    assert sorted((one["peer"], one["provider"], one["case"]) for one in found) == sorted(expected)
    assert "finalcall" in {one["peer"] for one in found}
    for one in found:
        assert one["returned"] or one["raised"]
        if one["case"] == "clean":
            assert one["runs"] == [["write_file", {**VALID, "keep_days": 7.0}]]
        elif one["peer"] == "finalcall":
            assert one["runs"] == []
            assert one["ended"] == [["call_1", "Failed"]]
    for peer in CHOSEN:
        left_out = f"{peer.name} is left out, it is not installed: pip install "
        assert (left_out in run.stderr) is (peer not in INSTALLED)


@pytest.mark.parametrize(("case", "provider"), PAIRS)
def test_a_case_proves_what_it_says_it_proves(case: Case, provider: str) -> None:
    """What a settler lets run of the replies, as far as their bodies go, are the proved runs."""
    tools = ToolSet(list(FUNCTIONS.values()))
    ran: list[tuple[str, Any]] = []
    for number in range(len(case.replies)):
        settler = Settler(provider, tools=tools)
        settler.feed(case.script(provider, number).body())
        settler.end()
        for outcome in settler.outcomes:
            if isinstance(outcome, Dispatchable):
                ran.append((outcome.name, outcome.args))
    assert tuple(ran) == case.proved


def test_the_texts_are_what_their_names_say() -> None:
    """One text is valid; the others are cut, or differ from it in the one thing that is asked."""
    assert json.loads(TEXT) == VALID
    assert TEXT.startswith(CUT)
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(CUT)
    assert json.loads(TWICE) == VALID
    assert json.loads(NOT_A_NUMBER)["keep_days"] != VALID["keep_days"]
    assert json.loads(INVALID) == {**VALID, "mode": "replace"}


@pytest.mark.parametrize(
    ("case", "happened", "cell"),
    [
        ("clean", {"runs": [("write_file", VALID)], "returned": True}, "right"),
        ("clean", {"returned": True}, "**vanished**"),
        ("ceiling-cut", {"runs": [("write_file", {})], "returned": True}, "**ran cut**"),
        ("ceiling-cut", {"answered": ["call_1"], "returned": True}, "told"),
        ("ceiling-whole", {"runs": [("write_file", VALID)], "returned": True}, "**ran**"),
        ("ceiling-whole", {"returned": True}, "**vanished**"),
        ("ceiling-whole", {"ended": [("call_2", "x")], "returned": True}, "**vanished**"),
        ("lost", {"raised": "x.Error"}, "raised"),
        ("lost", {"raised": "x.Error", "ended": [("call_1", "Failed")]}, "told, raised"),
        ("silence", {"hung": True}, "**nothing**"),
        ("duplicate", {"runs": [("write_file", VALID)], "returned": True}, "**ran**"),
        (
            "violation",
            {"runs": [("write_file", VALID)], "answered": ["call_1"], "returned": True},
            "right",
        ),
        ("violation-ever", {"answered": ["call_1"], "capped": True}, "told, 20 requests and on"),
        (
            "violation-ever",
            {"answered": ["call_1"], "requests": 3, "returned": True},
            "told, 3 requests",
        ),
        ("no-call", {"returned": True}, "**unnoticed**"),
        ("no-call", {"returned": True, "warned": ["x"]}, "noticed"),
    ],
)
def test_a_run_is_judged_by_its_facts(case: str, happened: dict[str, Any], cell: str) -> None:
    """Other facts of the same case give another verdict."""
    assert judged(case, **happened).cell == cell


def test_a_row_counts_over_its_cases() -> None:
    """Counts that are not as they should be are in bold; a question that was not asked is empty."""
    row = [
        judged("clean", runs=[("write_file", VALID)], returned=True),
        judged("ceiling-whole", runs=[("write_file", VALID)], returned=True),
        judged("eof-cut", returned=True),
        judged("silence-limit", hung=True),
    ]
    (line,) = tables.summary([(PEERS[0], "anthropic", row)]).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2:] == [
        "1 of 1",
        "**1 of 3**",
        "0 of 2",
        "",
        "**1 of 4**",
        "**2 of 4**",
        "**0 of 1**",
        "",
        "",
    ]


def test_the_readme_shows_what_the_page_shows() -> None:
    """The first page's table is of the same run, and of nothing else."""

    def measured(document: str) -> list[str]:
        text = (documents.ROOT / document).read_text(encoding="utf-8")
        part = text.split("<!-- measured: faults -->")[1].split("<!-- measured until here -->")[0]
        return part.strip().split("\n\n")

    circumstances, summary, _ = measured("docs/comparison.md")
    assert measured("README.md") == [tables.brief(summary), circumstances]
    assert tables.brief(summary).count("\n") == summary.count("\n")
