"""What a turn costs beside the SDK: over the SDK's stream, over dicts, and over the bytes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from gc import collect
from typing import Any

from benchmarks import by_hand, materials
from benchmarks.bars import Row, Table, bar_for, figure
from benchmarks.clients import CLIENTS, Client
from benchmarks.measuring import Contestant, Estimate, estimate, ratio, timed, turn_about
from finalcall import AsyncTurn, PreviewChanged, Settler, ToolSet, Turn
from finalcall.preview import Preview

SIZES = (200, 2_000, 20_000, 200_000)
QUICK_SIZES = (200,)


def tables(*, quick: bool) -> Iterator[Table]:
    """Measure every provider at every size, one table a provider."""
    for provider in CLIENTS:
        rows: list[Row] = []
        for size in QUICK_SIZES if quick else SIZES:
            sys.stderr.write(f"streams: {provider}, {size} B\n")
            case = _Case(provider, size)
            rows += case.sync_rows(quick=quick)
            rows += case.async_rows(quick=quick)
        yield Table(f"A call from {provider}", tuple(rows))


class _Case:
    """A provider's stream with one call of one size, and every way to read it."""

    def __init__(self, provider: str, size: int) -> None:
        self.provider = provider
        self.size = size
        self.client: Client = CLIENTS[provider]
        self.events = materials.EVENTS[provider]([materials.arguments(size)])
        self.chunks = materials.chunks(materials.to_bytes(self.events))
        self.tools = ToolSet(materials.TOOLS)
        self.seconds = {20_000: 12.0, 200_000: 24.0}.get(size, 4.0)

    # What is compared

    def sync_rows(self, *, quick: bool) -> list[Row]:
        opened = self.client.connect(self.chunks)
        contestants: dict[str, Contestant] = {
            "raw": lambda: self._raw(opened),
            "turn": lambda: self._turn(opened, preview=False),
            "preview": lambda: self._turn(opened, preview=True),
            "helper": lambda: self._helper(opened),
            "dicts": lambda: timed(self._dicts),
            "minimal": lambda: timed(lambda: by_hand.LOOPS[self.provider](self.events)),
            "wire": lambda: timed(lambda: self._wire(preview=False)),
            "wire preview": lambda: timed(lambda: self._wire(preview=True)),
            "decode": lambda: timed(lambda: by_hand.decode(self.chunks)),
        }
        times = self._times(contestants, quick=quick)
        name = self.provider
        return [
            *self._sdk_rows(times, "sync"),
            self._row(times, "dicts", "minimal", "sync", "dicts / minimal loop"),
            self._row(times, "raw", "wire", "sync", f"raw / wire: {name}"),
            self._row(times, "raw", "wire preview", "sync"),
            self._row(times, "wire", "decode", "sync", "wire / by hand"),
        ]

    def async_rows(self, *, quick: bool) -> list[Row]:
        with asyncio.Runner() as runner:
            opened = self.client.aconnect(self.chunks)

            def contestant(work: Callable[[], Awaitable[float]]) -> Contestant:
                async def run() -> float:
                    return await work()

                return lambda: runner.run(run())

            contestants = {
                "raw": contestant(lambda: self._araw(opened)),
                "turn": contestant(lambda: self._aturn(opened, preview=False)),
                "preview": contestant(lambda: self._aturn(opened, preview=True)),
                "helper": contestant(lambda: self._ahelper(opened)),
            }
            times = self._times(contestants, quick=quick)
        return self._sdk_rows(times, "async")

    def _times(
        self, contestants: Mapping[str, Contestant], *, quick: bool
    ) -> dict[str, list[float]]:
        if quick:
            return turn_about(contestants, seconds=0, most=1, fewest=1)
        slow = {20_000: {"helper": 3}, 200_000: {"helper": 1}}.get(self.size)
        return turn_about(contestants, seconds=self.seconds, most=200, slow=slow)

    def _sdk_rows(self, times: dict[str, list[float]], how: str) -> list[Row]:
        name = self.provider
        helped = f"helper / turn: {name}" if name != "openai-responses" else None
        return [
            self._row(times, "turn", "raw", how, f"turn / raw: {name}"),
            self._row(times, "preview", "raw", how, f"turn with preview / raw: {name}"),
            self._row(times, "helper", "turn", how, helped),
        ]

    def _row(
        self, times: dict[str, list[float]], over: str, under: str, how: str, bar: str | None = None
    ) -> Row:
        return Row(
            f"{NAMES[over]} / {NAMES[under]}",
            f"{self.size:,} B, {how}",
            ratio(times[over], times[under]),
            bar=bar_for(bar, self.size) if bar else None,
            note=f"{self._each(times[over])} / {self._each(times[under])} µs an event",
        )

    def _each(self, seconds: Sequence[float]) -> str:
        found: Estimate = estimate(seconds)
        return figure(found.median / len(self.events) * 1e6)

    # One run of each

    def _raw(self, opened: Any) -> float:
        with self.client.raw(opened) as stream:
            return timed(lambda: _exhaust(stream))

    def _turn(self, opened: Any, *, preview: bool) -> float:
        stream = self.client.raw(opened)

        def run() -> None:
            with Turn(stream, tools=self.tools, preview=Preview if preview else None) as turn:
                if preview:
                    for event in turn:
                        if type(event) is PreviewChanged:
                            event.preview.value.plain()
                else:
                    for _ in turn:
                        pass
            assert turn.verdict == "dispatch"

        return timed(run)

    def _helper(self, opened: Any) -> float:
        with self.client.helper(opened) as stream:

            def run() -> None:
                _exhaust(stream)
                getattr(stream, self.client.finish)()

            return timed(run)

    def _dicts(self) -> None:
        with Turn(self.events, tools=self.tools) as turn:
            for _ in turn:
                pass
        assert turn.verdict == "dispatch"

    def _wire(self, *, preview: bool) -> None:
        settler = Settler(tools=self.tools, preview=Preview if preview else None)
        for chunk in self.chunks:
            for event in settler.feed(chunk):
                if type(event) is PreviewChanged:
                    event.preview.value.plain()
        assert settler.verdict == "dispatch"

    async def _araw(self, opened: Any) -> float:
        async with await self.client.raw(opened) as stream:
            start = _start()
            async for _ in stream:
                pass
            return time.process_time() - start

    async def _aturn(self, opened: Any, *, preview: bool) -> float:
        stream = await self.client.raw(opened)
        start = _start()
        async with AsyncTurn(
            stream, tools=self.tools, preview=Preview if preview else None
        ) as turn:
            async for event in turn:
                if type(event) is PreviewChanged:
                    event.preview.value.plain()
        assert turn.verdict == "dispatch"
        return time.process_time() - start

    async def _ahelper(self, opened: Any) -> float:
        async with self.client.helper(opened) as stream:
            start = _start()
            async for _ in stream:
                pass
            await getattr(stream, self.client.finish)()
            return time.process_time() - start


NAMES = {
    "raw": "the SDK's raw stream",
    "turn": "`Turn`",
    "preview": "`Turn` with preview",
    "helper": "the SDK's helper",
    "dicts": "`Turn` over dicts",
    "minimal": "a minimal loop by hand",
    "wire": "`Settler.feed(bytes)`",
    "wire preview": "the same with preview",
    "decode": f"decoding by hand with {by_hand.FASTEST}",
}


def _start() -> float:
    collect()
    return time.process_time()


def _exhaust(stream: Any) -> None:
    for _ in stream:
        pass
