"""Recorded streams and the invariants that hold on every one of them, whatever its provider."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finalcall import AsyncTurn, Dispatchable, Settler, ToolSet, Turn
from finalcall.testing import Recording
from tests.expectation import Settled, expected_outcomes, settled

FIXTURES = Path(__file__).parent / "fixtures"

OUT_OF_SCOPE = frozenset(
    {"openai-realtime", "gemini-live", "openai-assistants", "cloudflare-native"}
)
"""Dialects that the library does not speak."""

NO_TOOLS = frozenset({"008-langchain-cohere-test-async-streaming-tool-call"})
"""Recordings whose tools have a schema that is none (`"type": "int"`): a ToolSet refuses it."""

RUN_BY_PROVIDER = frozenset(
    {
        "102-js-genai-chats-tests-sendmessage-multiple-messages-with-server-side-mcp",
        "103-js-genai-chats-tests-sendmessage-multiple-messages-with-server-side-mcp",
        "105-js-genai-client-tests-server-side-mcp-server-ml-dev-should-call-server-s",
    }
)
"""Recordings whose call is answered inside the stream: the provider ran it, on a remote server."""

CHUNK_SIZES = (1, 2, 3, 7, 64, 4096)
"""Bytes a chunk, when a stream's bytes are cut again."""


@dataclass(frozen=True)
class Case:
    """A recorded stream with what its client calls must settle as."""

    name: str
    path: Path
    row: dict[str, Any]

    @property
    def recording(self) -> Recording:
        return Recording.read(self.path)

    def tools(self) -> Any:
        return None if self.path.stem in NO_TOOLS else self.recording.header.get("tools")

    def expected(self) -> list[Settled]:
        """The expected calls, judged by every stop reason that the recording carries."""
        reasons = self.row["stop_reason"]
        reasons = reasons if isinstance(reasons, list) else [reasons]
        for _, data in self.recording.events:
            for choice in (data.get("choices") or []) if isinstance(data, dict) else []:
                reasons = [*reasons, choice.get("native_finish_reason")]
        calls = [] if self.path.stem in RUN_BY_PROVIDER else self.row["calls"]
        return expected_outcomes(calls, reasons, self.tools())


def cases(directory: Path) -> list[Case]:
    """The streams below a directory that has (or whose parent has) an EXPECTED.jsonl."""
    home = directory if (directory / "EXPECTED.jsonl").exists() else directory.parent
    rows = [json.loads(line) for line in (home / "EXPECTED.jsonl").read_text().splitlines()]
    found = [
        Case(f"{home.name}/{row['file']}", home / row["file"], row)
        for row in rows
        if (home / row["file"]).is_relative_to(directory)
    ]
    found = [
        case
        for case in found
        if Recording.read(case.path).header.get("dialect") not in OUT_OF_SCOPE
    ]
    assert found, f"no recording below {directory}"  # a sweep over none would pass
    return found


def fixture_cases() -> list[Case]:
    """Every recording under tests/fixtures."""
    return [
        case
        for directory in sorted(FIXTURES.iterdir())
        if (directory / "EXPECTED.jsonl").exists()
        for case in cases(directory)
    ]


def new_settler(tools: Any) -> Settler:
    return Settler(tools=None if tools is None else ToolSet.of(tools), choices="all")


def settle_natives(natives: Sequence[Any], tools: Any = None) -> Settler:
    """Feed a settler natives (or chunks of bytes), then end it."""
    settler = new_settler(tools)
    for native in natives:
        settler.feed(native)
    settler.end()
    return settler


def outcomes_of(settler: Settler | Turn | AsyncTurn) -> list[Settled]:
    return [settled(outcome) for outcome in settler.outcomes]


def check_forms(case: Case) -> int:
    """Dicts and bytes, however they are cut, give exactly the expected outcomes."""
    recording, tools, expected = case.recording, case.tools(), case.expected()
    data = recording.to_bytes()
    forms: list[Sequence[Any]] = [recording.to_dicts(), [data]]
    forms += [list(chunks(data, size)) for size in CHUNK_SIZES if size < len(data)]
    for form in forms:
        settler = settle_natives(form, tools)
        assert outcomes_of(settler) == expected, f"{case.name}: {settler.anomalies}"
        assert settler.stats.announced == len(settler.outcomes)
        keys = [outcome.key for outcome in settler.outcomes]
        assert len(set(keys)) == len(keys)
    return len(forms)


def check_prefixes(case: Case) -> int:
    """No prefix before the stop reason dispatches; a later one gives only what the whole does."""
    natives, tools = case.recording.to_dicts(), case.tools()
    toolset = None if tools is None else ToolSet.of(tools)
    whole = {
        outcome.key: outcome
        for outcome in settle_natives(natives, toolset).outcomes
        if isinstance(outcome, Dispatchable)
    }
    for length in range(len(natives)):
        settler = settle_natives(natives[:length], toolset)
        for outcome in settler.outcomes:
            if isinstance(outcome, Dispatchable):
                assert settler.stop_reason is not None, f"{case.name}: prefix {length}"
                assert whole.get(outcome.key) == outcome, f"{case.name}: prefix {length}"
    return len(natives)


def check_turns(case: Case) -> int:
    """A synchronous turn gives the expected outcomes, each announced call settled once."""
    settled_keys: list[str] = []
    turn = Turn(
        case.recording.to_dicts(),
        tools=case.tools(),
        choices="all",
        raises=False,
        on_settled=lambda event: settled_keys.append(event.outcome.key),
    )
    with turn:
        natives = [event.native for event in turn if event.native is not None]
    assert outcomes_of(turn) == case.expected(), case.name
    assert sorted(settled_keys) == sorted(outcome.key for outcome in turn.outcomes)
    assert len(natives) == turn.stats.events
    return 1


async def check_async_turns(case: Case) -> int:
    """An asynchronous turn gives what a synchronous one gives."""

    async def stream() -> AsyncIterator[Any]:
        for native in case.recording.to_dicts():
            yield native

    turn = AsyncTurn(stream(), tools=case.tools(), choices="all", raises=False)
    async with turn:
        async for _ in turn:
            pass
    assert outcomes_of(turn) == case.expected(), case.name
    return 1


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
