"""The clients of a soak: thousands of turns over real clients, and what is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import json
import os
import random
import resource
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

import anthropic
import httpx2
import openai

from benchmarks import materials, soak_plans
from benchmarks.soak_plans import Plan
from benchmarks.soak_server import raise_the_limit
from finalcall import (
    AsyncTurn,
    CallAnnounced,
    CallSettled,
    Dispatchable,
    Failed,
    Idle,
    ToolSet,
    Turn,
)

TOOLS: Final = ToolSet(materials.TOOLS)
CONNECTIONS_EACH: Final = 20
"""Connections in a client's pool: a pool looks through all it has for every request."""

OPENING: Final = 32
"""Requests whose response has not begun, at most."""

_TLS: Final = ssl.create_default_context()
"""Not used, and slow to make for each of hundreds of clients."""

_MESSAGES: Final[list[Any]] = [{"role": "user", "content": "go"}]
_FILES_OF_OUR_OWN: Final = 200


@dataclass
class Tally:
    """What one process saw. Everything is a count unless it says otherwise."""

    turns: int = 0
    most_at_once: int = 0
    announced: int = 0
    settled: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    endings: Counter[str] = field(default_factory=Counter[str])
    readers: Counter[str] = field(default_factory=Counter[str])
    leaked_tasks: int = 0
    leaked_threads: int = 0
    leaked_sockets: int = 0
    memory_start: float = 0.0
    """Megabytes, resident."""
    memory_most: float = 0.0
    memory_end: float = 0.0
    events: int = 0
    timers_armed: int = 0
    timers_fired: int = 0
    timer_seconds: float = 0.0
    """CPU seconds in arming timers and in what they call, and in the library's own threads."""
    cpu_seconds: float = 0.0
    files: int = 0
    """Open files that the process was allowed."""
    clients: int = 0
    """Pools of connections, each with a client of either provider."""


@dataclass(frozen=True, slots=True)
class Course:
    """How long, and how much of it.

    Attributes:
        turns: How many are kept going at once.
        end: When the last is begun, on the monotonic clock.
        lives: The shortest and the longest time of a stream, in seconds.
    """

    turns: int
    end: float
    lives: tuple[float, float]


class _Judge:
    """Counts the calls of one turn by themselves: what was announced, what was settled."""

    def __init__(self, tally: Tally, plan: Plan) -> None:
        self.tally = tally
        self.plan = plan
        self.announced: set[str] = set()
        self.settled: Counter[str] = Counter()
        self.dispatched: list[Any] = []

    def saw(self, event: Any) -> None:
        self.tally.events += 1
        if isinstance(event, CallAnnounced):
            self.announced.add(event.call.key)

    def settle(self, event: CallSettled) -> None:
        outcome = event.outcome
        self.settled[event.call.key] += 1
        if isinstance(outcome, Dispatchable):
            self.dispatched.append(outcome.args)
            self.tally.outcomes["dispatchable"] += 1
        elif isinstance(outcome, Failed):
            self.tally.outcomes[f"{outcome.reason}: {outcome.cause.value}"] += 1
        else:
            self.tally.outcomes["schema error"] += 1

    def close(self, turn: Turn | AsyncTurn) -> None:
        """Compare what came with what was sent."""
        tally = self.tally
        tally.turns += 1
        tally.faults[self.plan.fault] += 1
        tally.readers[f"{self.plan.provider}, {self.plan.reader}"] += 1
        if turn.ending is None:
            tally.endings["none"] += 1
        else:
            cause = turn.ending.cause
            tally.endings["clean" if cause is None else cause.value] += 1
        tally.announced += len(self.announced | set(self.settled))
        tally.settled += len(self.settled)
        tally.lost += len(self.announced - set(self.settled))
        tally.lost += len(turn.outcomes) != len(self.settled) if turn.ending else 0
        tally.twice += sum(count - 1 for count in self.settled.values())
        sent = [json.loads(text) for text in self.plan.arguments]
        if not self.plan.whole:
            tally.wrong += len(self.dispatched)
        elif self.dispatched:
            tally.wrong += self.dispatched != sent


# -- asynchronous ----------------------------------------------------------------------------------


def run_async(urls: Sequence[str], turns: int, seconds: float, lives: tuple[float, float]) -> Tally:
    """Keep that many asynchronous turns going for a while, then cancel what is left."""
    tally = Tally(files=raise_the_limit())
    turns = min(turns, tally.files - _FILES_OF_OUR_OWN)
    threads_before = set(threading.enumerate())
    asyncio.run(_run_async(tally, urls, Course(turns, time.monotonic() + seconds, lives)))
    tally.leaked_threads = len(set(threading.enumerate()) - threads_before)
    return tally


async def _run_async(tally: Tally, urls: Sequence[str], course: Course) -> None:
    tasks_before, turns = asyncio.all_tasks(), course.turns
    with _counted_timers(tally, asyncio.get_running_loop()):
        opening = asyncio.Semaphore(OPENING)
        pools = [
            _Pool(urls[number % len(urls)], opening)
            for number in range(-(-turns // CONNECTIONS_EACH))
        ]
        tally.clients = len(pools)
        gc.collect()
        sockets_before, tally.memory_start = open_sockets(), resident()
        live = [0]
        workers = [
            asyncio.ensure_future(
                _keep_going(tally, pools[number % len(pools)], number, course, live)
            )
            for number in range(turns)
        ]
        watch = asyncio.ensure_future(_watch(tally))
        _, late = await asyncio.wait(workers, timeout=max(0.0, course.end - time.monotonic()))
        for worker in late:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        failures = Counter(
            type(worker.exception()).__name__
            for worker in workers
            if not worker.cancelled() and worker.exception() is not None
        )
        tally.endings.update({f"a worker died of {name}": n for name, n in failures.items()})
        tally.wrong += sum(failures.values())
        for pool in pools:
            await pool.close()
        await asyncio.sleep(0.5)  # transports close in a later pass of the loop
    workers.clear()
    gc.collect()
    tally.leaked_tasks = len(asyncio.all_tasks() - tasks_before)
    tally.leaked_sockets = max(0, open_sockets() - sockets_before)
    _weigh(tally)


class _Pool:
    """Real clients that share a bounded pool of connections, and a plain one for the bytes."""

    def __init__(self, url: str, opening: asyncio.Semaphore) -> None:
        self._opening = opening
        limits = httpx2.Limits(
            max_connections=CONNECTIONS_EACH + 20, max_keepalive_connections=CONNECTIONS_EACH
        )
        self.url = url
        timeout = httpx2.Timeout(None)
        self.http = httpx2.AsyncClient(limits=limits, timeout=timeout, verify=_TLS)
        self.anthropic = anthropic.AsyncAnthropic(
            api_key="none", base_url=url, http_client=self.http, max_retries=0, timeout=600
        )
        self.openai = openai.AsyncOpenAI(
            api_key="none", base_url=url, http_client=self.http, max_retries=0, timeout=600
        )

    async def open(self, plan: Plan) -> Any:
        """An open stream of the real client, or the response itself.

        Only so many are opened at once: where thousands wait for each other, none is ever open.
        """
        async with self._opening:
            return await self._open(plan)

    async def _open(self, plan: Plan) -> Any:
        model = plan.model
        if plan.reader == "bytes":
            body = json.dumps({"model": model})
            request = self.http.build_request("POST", f"{self.url}/raw", content=body)
            return await self.http.send(request, stream=True)
        if plan.provider == "anthropic":
            return await self.anthropic.messages.create(
                model=model, max_tokens=999, messages=_MESSAGES, stream=True
            )
        return await self.openai.chat.completions.create(
            model=model, messages=_MESSAGES, stream=True
        )

    async def close(self) -> None:
        await self.http.aclose()


async def _keep_going(
    tally: Tally, pool: _Pool, number: int, course: Course, live: list[int]
) -> None:
    await asyncio.sleep(random.Random(number).uniform(0, course.lives[1] / 3))
    while time.monotonic() < course.end:
        plan = soak_plans.plan(number, seconds=course.lives)
        number += course.turns
        try:
            stream = await pool.open(plan)
        except (anthropic.APIError, openai.APIError, httpx2.HTTPError, OSError) as error:
            tally.endings[f"not opened: {type(error).__name__}"] += 1
            continue
        live[0] += 1
        tally.most_at_once = max(tally.most_at_once, live[0])
        try:
            await _one_turn(tally, plan, stream)
        finally:
            live[0] -= 1


async def _one_turn(tally: Tally, plan: Plan, stream: Any) -> None:
    judge = _Judge(tally, plan)
    turn = AsyncTurn(
        stream, tools=TOOLS, idle_timeout=LIMITS, raises=False, on_settled=judge.settle
    )
    leaves_at = 1 + int(plan.at * 20)

    async def read() -> None:
        seen = 0
        async with turn:
            async for event in turn:
                judge.saw(event)
                seen += 1
                if seen == leaves_at and plan.leaves == "breaks":
                    break
                if seen == leaves_at and plan.leaves == "cancels":
                    current = asyncio.current_task()
                    assert current is not None
                    current.cancel()

    try:
        if plan.leaves == "cancels":
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.ensure_future(read())
        else:
            await read()
    finally:
        await turn.aclose()  # a task that is cancelled before it begins has not entered the turn
        judge.close(turn)


LIMITS: Final = Idle(first=60, between=20, in_call=20, progress=30, quiet=5)
"""Longer than any pause of a stream that is well, shorter than a soak."""


async def _watch(tally: Tally) -> None:
    while True:
        await asyncio.sleep(1)
        tally.memory_most = max(tally.memory_most, resident())


@contextlib.contextmanager
def _counted_timers(tally: Tally, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Measure what the library spends on timers: arming them, and what they call.

    The loop's own `call_at` is wrapped: the CPU time of this thread is read before and after both,
    for callbacks that are the library's.
    """
    arm = loop.call_at

    def call_at(when: float, callback: Any, *arguments: Any, **more: Any) -> Any:
        if not str(getattr(callback, "__module__", "")).startswith("finalcall"):
            return arm(when, callback, *arguments, **more)

        def fired(*given: Any) -> None:
            start = time.thread_time()
            callback(*given)
            tally.timer_seconds += time.thread_time() - start
            tally.timers_fired += 1

        start = time.thread_time()
        handle = arm(when, fired, *arguments, **more)
        tally.timer_seconds += time.thread_time() - start
        tally.timers_armed += 1
        return handle

    with mock.patch.object(loop, "call_at", call_at):
        yield


# -- synchronous -----------------------------------------------------------------------------------


@dataclass
class _Live:
    """The turns that are being read, for whoever must close them."""

    turns: set[Turn] = field(default_factory=set[Turn])
    lock: threading.Lock = field(default_factory=threading.Lock)


def run_sync(urls: Sequence[str], turns: int, seconds: float, lives: tuple[float, float]) -> Tally:
    """Keep that many synchronous turns going in a thread each, then close what is left."""
    tally = Tally(files=raise_the_limit(), clients=turns)
    threads_before = set(threading.enumerate())
    live = _Live()
    with _counted_threads(tally, live.lock):
        gc.collect()
        sockets_before, tally.memory_start = open_sockets(), resident()
        course = Course(turns, time.monotonic() + seconds, lives)
        readers = [
            threading.Thread(
                target=_keep_reading,
                args=(tally, live, urls[number % len(urls)], number, course),
            )
            for number in range(turns)
        ]
        for reader in readers:
            reader.start()
        while time.monotonic() < course.end:
            tally.memory_most = max(tally.memory_most, resident())
            with live.lock:
                tally.most_at_once = max(tally.most_at_once, len(live.turns))
            time.sleep(0.5)
        while any(reader.is_alive() for reader in readers):
            with live.lock:
                left = list(live.turns)
            for turn in left:
                turn.close()
            time.sleep(0.5)
        for reader in readers:
            reader.join()
    del readers
    gc.collect()
    tally.leaked_threads = len(set(threading.enumerate()) - threads_before)
    tally.leaked_sockets = max(0, open_sockets() - sockets_before)
    _weigh(tally)
    return tally


def _keep_reading(tally: Tally, live: _Live, url: str, number: int, course: Course) -> None:
    client = anthropic.Anthropic(api_key="none", base_url=url, max_retries=0, timeout=600)
    chat = openai.OpenAI(api_key="none", base_url=url, max_retries=0, timeout=600)
    with client, chat:
        while time.monotonic() < course.end:
            plan = soak_plans.plan(number, seconds=course.lives)
            number += course.turns
            mine = Tally()
            turn = _sync_turn(mine, plan, client, chat)
            if turn is not None:
                with live.lock:
                    live.turns.add(turn[0])
                _read_sync(*turn)
            with live.lock:
                _add(tally, mine)
                live.turns -= {turn[0]} if turn is not None else set()


def _sync_turn(tally: Tally, plan: Plan, client: Any, chat: Any) -> tuple[Turn, _Judge] | None:
    plan = dataclasses.replace(plan, reader="client")
    judge = _Judge(tally, plan)
    try:
        if plan.provider == "anthropic":
            stream = client.messages.create(
                model=plan.model, max_tokens=999, messages=_MESSAGES, stream=True
            )
        else:
            stream = chat.chat.completions.create(model=plan.model, messages=_MESSAGES, stream=True)
    except (anthropic.APIError, openai.APIError) as error:
        tally.endings[f"not opened: {type(error).__name__}"] += 1
        return None
    options: Any = {"idle_timeout": LIMITS, "raises": False, "on_settled": judge.settle}
    return Turn(stream, tools=TOOLS, **options), judge


def _read_sync(turn: Turn, judge: _Judge) -> None:
    leaves_at = 1 + int(judge.plan.at * 20)
    # One that was closed before it is begun says so.
    with turn, contextlib.suppress(RuntimeError):
        for seen, event in enumerate(turn, 1):
            judge.saw(event)
            if seen == leaves_at and judge.plan.leaves != "stays":
                break
    judge.close(turn)


def _add(tally: Tally, mine: Tally) -> None:
    for name in ("turns", "announced", "settled", "lost", "twice", "wrong", "events"):
        setattr(tally, name, getattr(tally, name) + getattr(mine, name))
    for name in ("outcomes", "faults", "endings", "readers"):
        getattr(tally, name).update(getattr(mine, name))


@contextlib.contextmanager
def _counted_threads(tally: Tally, lock: threading.Lock) -> Iterator[None]:
    """Measure the CPU time of the threads that the library starts to keep time or to read."""
    run = threading.Thread.run

    def counted(thread: threading.Thread) -> None:
        run(thread)
        if thread.name.startswith("finalcall-"):
            with lock:
                tally.timers_armed += 1
                tally.timer_seconds += time.thread_time()

    with mock.patch.object(threading.Thread, "run", counted):
        yield


# -- what is left ----------------------------------------------------------------------------------


def open_sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            count += entry.readlink().name.startswith("socket:")
    return count


def resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _weigh(tally: Tally) -> None:
    gc.collect()
    tally.memory_end = resident()
    tally.memory_most = max(tally.memory_most, tally.memory_end)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    tally.cpu_seconds = usage.ru_utime + usage.ru_stime
