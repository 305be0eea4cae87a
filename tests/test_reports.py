"""Faults reported by users of other libraries, as events with the outcome that is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finalcall import Cause
from tests.expectation import settled
from tests.streams import new_settler

REPORTS = [
    json.loads(line)
    for line in (Path(__file__).parent / "fixtures" / "reports.jsonl").read_text().splitlines()
]

ENDINGS = {
    "eof": None,
    "error": Cause.DISCONNECTED,
    "hang": Cause.IDLE,
    "cancel": Cause.CANCELLED,
}
"""How each report's stream ended."""


@pytest.mark.parametrize(
    "report", REPORTS, ids=lambda report: f"{report['id']}-{report['provider']}-{report['kind']}"
)
def test_a_reported_fault_settles_as_it_should(report: dict[str, Any]) -> None:
    """Each announced call of the report has the outcome that its users needed."""
    settler = new_settler(report["tools"])
    for event in report["events"]:
        settler.feed(event)
    settler.end(ENDINGS[report["ending"]])
    found = [settled(outcome) for outcome in settler.outcomes]
    expected = [
        (call["call_id"], call["name"], call["outcome"], call["args"])
        for call in report["expected"]
    ]
    if report.get("partial"):
        assert [one for one in found if one in expected] == expected
    else:
        assert found == expected
