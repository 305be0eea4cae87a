"""Runs one agent in one case: the server here, the agent in a process that is ended in time."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.faults.agents import Peer
from benchmarks.faults.cases import Case, Run
from benchmarks.faults.process import Order, serve
from finalcall.testing import FaultServer, RecordedRequest, Script

MOST_REQUESTS: Final = 20
STARTING: Final = 120.0
"""Seconds that a package has from its start to its first request."""
FINISHING: Final = 60.0
"""Seconds that a package has from its first request to its end, where the server ends as well."""

_Pipe: TypeAlias = "Connection[Any, Any]"
_POLL: Final = 0.05
_MODEL_PATHS: Final = ("/messages", "/chat/completions", "/responses")


@dataclass(slots=True)
class Facts:
    """What happened in one run.

    Attributes:
        peer: Which package.
        provider: Over whose protocol.
        case: In which case.
        runs: The runs of tools, with their arguments.
        ended: What the application was given about ends of calls: id and the package's word.
        answered: The ids of calls that a later request holds a result for.
        raised: The exception that came out, or `None`.
        returned: The agent came to an end by itself.
        hung: It was ended because it took too long.
        capped: It was ended because it made too many requests.
        requests: How many requests for a message it made.
        warned: The loggers that warned, or worse.
        noticed: What else the package said about the stream.
    """

    peer: str
    provider: str
    case: str
    runs: list[Run] = field(default_factory=list)
    ended: list[tuple[str | None, str]] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    raised: str | None = None
    returned: bool = False
    hung: bool = False
    capped: bool = False
    requests: int = 0
    warned: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)


class BrokenRunError(Exception):
    """An agent's process did not get as far as a request: nothing can be said of the package."""


class _Model:
    """The server's side: counts requests, and knows when the first one came."""

    def __init__(self, case: Case, provider: str) -> None:
        self._case = case
        self._provider = provider
        self.asked: list[RecordedRequest] = []
        self.first_at: float | None = None

    def reply(self, request: RecordedRequest) -> Script:
        if not request.path.partition("?")[0].endswith(_MODEL_PATHS):
            return Script((), "application/json")
        self.asked.append(request)
        if self.first_at is None:
            self.first_at = time.monotonic()
        return self._case.script(self._provider, len(self.asked) - 1)


def run(
    peer: Peer, wanted: Sequence[tuple[str, Case]], seconds: float
) -> Iterator[tuple[Case, Facts]]:
    """Run an agent in cases, one after the other.

    Args:
        peer: On which package.
        wanted: Over whose protocol, against which replies.
        seconds: How long a stream that never ends is watched.

    Yields:
        Each case with its facts.

    Raises:
        BrokenRunError: The agent cannot be imported, or did not get as far as a request.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder, "words.txt")
        words.touch()
        process = context.Process(target=serve, args=(theirs, peer.module, str(words)), daemon=True)
        process.start()
        theirs.close()
        try:
            if not ours.poll(STARTING):
                raise BrokenRunError(f"{peer.name} did not start within {STARTING:g} s")
            ours.recv()
            for number, (provider, case) in enumerate(wanted):
                told = Path(folder, f"{number}.jsonl")
                yield case, _run(ours, Facts(peer.name, provider, case.name), case, told, seconds)
            ours.send(None)
            process.join(STARTING)
        except EOFError as error:  # the process has died
            shown = words.read_text(encoding="utf-8", errors="replace")[-2_000:]
            raise BrokenRunError(f"{peer.name}: {shown}") from error
        finally:
            process.kill()
            process.join()


def _run(pipe: _Pipe, facts: Facts, case: Case, told: Path, seconds: float) -> Facts:
    model = _Model(case, facts.provider)
    with FaultServer(model.reply) as server:
        pipe.send(Order(facts.provider, server.base_url, case.limit, str(told)))
        process = pipe.recv()
        _watch(pipe, model, facts, seconds if case.is_silent else FINISHING)
        if facts.hung or facts.capped:
            os.kill(process, signal.SIGKILL)  # not reaped yet, so it is still this process
        pipe.recv()
    _read(facts, told)
    facts.requests = len(model.asked)
    facts.answered = [key for request in model.asked for key in _answered(request.json)]
    if model.first_at is None:
        raise BrokenRunError(
            f"{facts.peer} over {facts.provider}, {case.name}: no request, {facts.raised}"
        )
    return facts


def _watch(pipe: _Pipe, model: _Model, facts: Facts, window: float) -> None:
    """Wait for the run's end, for too much time, or for too many requests."""
    started = time.monotonic()
    while not facts.capped and not facts.hung and not pipe.poll(_POLL):
        now = time.monotonic()
        facts.capped = len(model.asked) >= MOST_REQUESTS
        facts.hung = (
            now - started > STARTING if model.first_at is None else now - model.first_at > window
        )


def _read(facts: Facts, told: Path) -> None:
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    for line in map(json.loads, lines):
        match line:
            case {"fact": "ran", "tool": tool, "arguments": arguments}:
                facts.runs.append((tool, arguments))
            case {"fact": "ended", "call": call_id, "how": how}:
                facts.ended.append((call_id, how))
            case {"fact": "raised", "type": name}:
                facts.raised = name
            case {"fact": "warned", "logger": logger}:
                facts.warned.append(logger)
            case {"fact": "noticed", "what": what}:
                facts.noticed.append(what)
            case {"fact": "returned"}:
                facts.returned = True


def _answered(body: Any) -> Iterator[str]:
    """The ids of the calls that a request holds results for, in each provider's form."""
    items: Any = body.get("messages") or body.get("input") or []
    for item in items if isinstance(items, list) else []:
        content = item.get("content")
        blocks = content if isinstance(content, list) else []
        if item.get("role") == "tool":
            yield item["tool_call_id"]
        if item.get("type") == "function_call_output":
            yield item["call_id"]
        yield from (block["tool_use_id"] for block in blocks if block.get("type") == "tool_result")
