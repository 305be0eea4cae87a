"""Settles many files, over the cores where that pays; results in order, in bounded memory."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, final

from finalcall.testing.replaying import ReplayedStream, replay_file
from finalcall.tools import ToolSet

FEW_FILES: Final = 2000
"""Up to so many files one process is done before others would have begun."""

CHUNK: Final = 32
"""Files a worker is given at a time: it is soon done with them when somebody stops the run."""

AHEAD: Final = 4
"""Chunks a worker may be ahead of what is shown. That bounds the memory."""


def cores() -> int:
    """How many processes this one may keep busy."""
    with contextlib.suppress(AttributeError):  # not every system counts them by process
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@final
class Replay:
    """How each file is settled. A worker makes its own, once.

    Args:
        provider: Whose streams they are; `None` recognises each.
        tools: The content of a tools file, or `None`.
    """

    def __init__(self, provider: str | None, tools: Any) -> None:
        self._provider = provider
        self._tools = ToolSet.of(tools)

    def file(self, path: Path) -> ReplayedStream:
        """Settle one."""
        return replay_file(path, tools=self._tools, provider=self._provider)


def replay_all(
    paths: Sequence[Path], *, jobs: int, provider: str | None, tools: Any
) -> Generator[ReplayedStream]:
    """Settle files.

    Args:
        paths: The files.
        jobs: How many processes may work; few files are settled in this one.
        provider: Whose streams they are; `None` recognises each.
        tools: The content of a tools file, or `None`.

    Yields:
        What became of each file, in their order.

    Raises:
        BrokenProcessPool: A worker died.
    """
    if jobs == 1 or len(paths) <= FEW_FILES:
        yield from map(Replay(provider, tools).file, paths)
        return
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),  # the only way that works everywhere, and beside threads
        initializer=_begin,
        initargs=(provider, tools),
    )
    waiting: deque[Future[list[ReplayedStream]]] = deque()
    chunks = _chunks(paths)
    try:
        while True:
            for chunk in islice(chunks, jobs * AHEAD - len(waiting)):
                with _interrupts_held():
                    waiting.append(executor.submit(_work, chunk))
            if not waiting:
                return
            yield from waiting.popleft().result()
    finally:
        # A worker that is still beginning needs what ends with the executor: wait for it.
        executor.shutdown(cancel_futures=True)


def _chunks(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    for start in range(0, len(paths), CHUNK):
        yield paths[start : start + CHUNK]


@contextlib.contextmanager
def _interrupts_held() -> Generator[None]:
    """Let workers begin whole, and deaf to Ctrl-C, which reaches all processes of a terminal.

    A process inherits what the thread that begins it holds back. That holds nothing back from
    this process where another thread can take the signal, as one that draws a bar: so the
    handler waits too. An interrupt that comes meanwhile is delivered afterwards.
    """
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with _signal_blocked(signal.SIGINT):
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _signal_blocked(number: signal.Signals) -> Generator[None]:
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_replay: Replay | None = None
"""A worker's own."""


def _begin(provider: str | None, tools: Any) -> None:
    global _replay  # noqa: PLW0603 - a worker process has one place to keep things
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _replay = Replay(provider, tools)


def _work(paths: Sequence[Path]) -> list[ReplayedStream]:
    assert _replay is not None
    return list(map(_replay.file, paths))
