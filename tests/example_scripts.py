"""How examples are run: as they stand, with real clients, against a server on this machine."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from finalcall.testing import FaultServer, RecordedRequest

EXAMPLES = Path(__file__).parent.parent / "examples"

PATHS = {"ANTHROPIC": "", "OPENAI": "/v1"}
"""What follows the server's address in a client's base URL."""


def example(name: str) -> dict[str, Any]:
    """The names that an example binds."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@contextmanager
def serving(replies: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A model that the clients find through their own environment variables."""
    with FaultServer(replies) as server:
        for client, path in PATHS.items():
            monkeypatch.setenv(f"{client}_API_KEY", "none")
            monkeypatch.setenv(f"{client}_BASE_URL", server.base_url + path)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def roles(request: RecordedRequest) -> list[str]:
    return [message["role"] for message in request.json["messages"]]
