"""The invariants, on every recorded stream under tests/fixtures."""

from __future__ import annotations

import pytest

from tests.clients import CLIENTS, check_client
from tests.streams import (
    FIXTURES,
    Case,
    check_async_turns,
    check_forms,
    check_prefixes,
    check_turns,
    fixture_cases,
)

CASES = fixture_cases()
WITH_CLIENTS = [case for case in CASES if case.recording.header.get("dialect") in CLIENTS]


def test_there_are_recordings() -> None:
    """An empty folder would make everything here pass."""
    assert len(CASES) >= 20
    for case in CASES:
        assert case.recording.header["source"], case.name
        assert case.recording.header["licence"], case.name


def test_every_recording_has_a_row_and_every_row_a_recording() -> None:
    """A file that nothing expects anything of would be skipped silently."""
    files = {path.name for path in FIXTURES.glob("*/*.jsonl")} - {"EXPECTED.jsonl"}
    assert files == {case.path.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_dicts_and_bytes_in_any_cut_settle_as_expected(case: Case) -> None:
    """Announced = outcomes, each as the recording says."""
    assert check_forms(case) >= 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_prefix_dispatches_early(case: Case) -> None:
    """Cut anywhere, a stream dispatches nothing before its stop reason, and never anything else."""
    assert check_prefixes(case) > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_sync_and_async_turns_agree(case: Case) -> None:
    """Both wrappers give what the settler gives, and report each call once."""
    assert check_turns(case) == 1
    assert await check_async_turns(case) == 1


@pytest.mark.parametrize("case", WITH_CLIENTS, ids=lambda case: case.name)
def test_the_real_client_gives_what_the_wire_gives(case: Case) -> None:
    """SDK objects settle as dicts and bytes do, whichever way the client was asked."""
    assert check_client(case) > 0
