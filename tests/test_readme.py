"""The README's promises: the problem first, code that runs, commands of one line."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from finalcall.cli.scenes import SCENES
from finalcall.testing import (
    FaultServer,
    RecordedEvent,
    RecordedRequest,
    Recording,
    Reply,
    Script,
)
from tests import documents

README = documents.ROOT / "README.md"
TICKET = (
    Reply()
    .text("I'll open a ticket for the billing team now.")
    .call(
        "create_ticket",
        {"project": "BILLING", "title": "Night run", "priority": "urgent", "description": "It..."},
    )
)


def model(request: RecordedRequest) -> Script | Reply:
    """A model that opens a ticket, and says so once it is told that it is open."""
    if not request.path.endswith("/v1/messages"):
        return TICKET  # in whatever format the path is of
    if request.json["messages"][-1]["role"] == "user" and isinstance(
        request.json["messages"][-1]["content"], list
    ):
        return told().to_script()
    return SCENES[0].script(0.0)


def told() -> Recording:
    text = {"type": "text_delta", "text": "BILLING-17 is open."}
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_2",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    return Recording(
        {"dialect": "anthropic"}, tuple(RecordedEvent(event["type"], event) for event in events)
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A loopback model that the SDK finds through its own environment variables."""
    with FaultServer(model) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.base_url}/v1")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.base_url)
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running


def test_the_code_runs(server: FaultServer) -> None:
    """Every Python block runs as it stands and prints what the README says it prints."""
    assert documents.run(README) == 9
    assert len(server.requests) == 7


def test_the_problem_comes_first() -> None:
    """The first block is code, begins in the first 20 lines, and is ten lines long."""
    first = next(documents.blocks(README))
    assert first.language == "python"
    assert first.line <= 20
    assert len([line for line in first.text.splitlines() if line.strip()]) == 10


def test_the_commands_are_single_lines() -> None:
    """One command runs the demo and one the tests; each makes and uses its own environment."""
    commands = [block.text for block in documents.blocks(README) if block.language == "sh"]
    assert len(commands) == 2
    for command in commands:
        assert command.count("\n") == 1
        words = shlex.split(command)
        assert words[:4] == ["python3", "-m", "venv", ".venv"]
        programs = [after for before, after in itertools.pairwise(words) if before == "&&"]
        assert all(program.startswith(".venv/bin/") for program in programs)
    assert "finalcall demo" in commands[0]
    assert "pytest" in commands[1]


@pytest.mark.parametrize("document", documents.documents(), ids=lambda path: path.name)
def test_links_lead_somewhere(document: Any) -> None:
    """Every relative link of a document is to a file that is there."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    missing = [link for link in local if not (document.parent / link).exists()]
    assert not missing


def test_every_page_is_linked_from_here() -> None:
    """Nobody has to look into a folder to find a page."""
    linked = set(re.findall(r"\]\((docs/[^)#]+)", README.read_text(encoding="utf-8")))
    pages = {path.relative_to(documents.ROOT).as_posix() for path in documents.documents()}
    unlinked = {page for page in pages - {"README.md"} - linked if "/api/" not in page}
    assert unlinked == set()
