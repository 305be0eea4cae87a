"""Drives a provider's real client against a server of recordings, and names what differs.

The tests of one client are a table of the ways to open its streams; what they check is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finalcall import AsyncTurn, Turn
from finalcall.testing import FaultServer, Recording, Script
from tests.streams import Case, outcomes_of


def serve(*replies: Recording | Script) -> FaultServer:
    """A server that gives these replies in order."""
    return FaultServer(list(replies))


def run(stream: Any, **options: Any) -> Turn:
    """A turn over a stream, to its end, whatever that is."""
    with Turn(stream, **{"tools": None, "choices": "all", "raises": False, **options}) as turn:
        for _ in turn:
            pass
    return turn


async def arun(stream: Any, **options: Any) -> AsyncTurn:
    """The same, asynchronously."""
    options = {"tools": None, "choices": "all", "raises": False, **options}
    async with AsyncTurn(stream, **options) as turn:
        async for _ in turn:
            pass
    return turn


def differences(
    turns: Mapping[str, Turn | AsyncTurn], cases: Sequence[Case], *, ids: bool = True
) -> dict[str, Any]:
    """The recordings whose outcomes are not the wire's, with what came instead.

    Args:
        turns: By the recording's file name.
        cases: The recordings.
        ids: Compare the calls' ids, too.
    """
    found: dict[str, Any] = {}
    for case in cases:
        came, expected = outcomes_of(turns[case.path.name]), case.expected()
        if not ids:
            came, expected = [one[1:] for one in came], [one[1:] for one in expected]
        if came != expected:
            found[case.path.name] = came
    return found
