"""The server of a soak, in a process of its own: loopback servers that play the plans' streams."""

from __future__ import annotations

import contextlib
import resource
from multiprocessing.connection import Connection
from typing import Final, Self

from benchmarks import soak_plans
from finalcall.testing import FaultServer, RecordedRequest, Script

PORTS: Final = 4
"""Servers: a closed connection blocks its pair of ports for a minute, so one port is too few."""


def raise_the_limit() -> int:
    """Let this process open as many files as it may.

    Returns:
        How many that are.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def serve(pipe: Connection) -> None:
    """Serve until the pipe says something; send the addresses first, and at the end a count."""
    raise_the_limit()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(_Server()) for _ in range(PORTS)]
        pipe.send([server.base_url for server in servers])
        pipe.recv()
        pipe.send(sum(server.answered for server in servers))


class _Server:
    """A replay server that forgets what it was asked."""

    def __init__(self) -> None:
        self.answered = 0
        self._server = FaultServer(self._reply)

    @property
    def base_url(self) -> str:
        return self._server.base_url

    def _reply(self, request: RecordedRequest) -> Script:
        self.answered += 1
        self._server.requests.clear()
        return soak_plans.script(soak_plans.plan_of(request.json["model"]))

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        with contextlib.suppress(Exception):  # a client that died has been judged already
            self._server.__exit__(None, None, None)
