"""What a live preview costs a fragment, beside the parsers that people use for it.

Run it with `python -m benchmarks.preview`; `--quick` leaves the slow peers and the largest
documents out, `--only form` takes one shape, `--write` puts what was found into
`docs/performance.md`. Everything runs in one process, turn about, in CPU
time, and what counts is the median of the ratios: times of a shared machine are not worth much.

Each side is the loop that a program would have, from making its parser on, with nothing else
between two looks at the clock. The parsers that start anew at each fragment are measured on a
sample of the prefixes of longer documents, and the mean is taken for each fragment; a full run of
the slow ones would take hours. `60 looks` stands for a stream of a thousand fragments a second: a
screen looks at every 16th.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from benchmarks import report
from finalcall.preview import Preview

SIZES = (200, 500, 2_000, 20_000, 200_000, 2_000_000)
CUTS = (4, 50)
LOOK = 16
SECONDS = 3.0
"""How long a document in fragments of one length is measured, if that makes three rounds."""

clock = time.process_time

Measure: TypeAlias = Callable[[list[str]], float]
"""Takes the fragments, gives the seconds for all of them."""

WORDS = (
    *("the", "invoice", "run", "failed", "after", "an", "export", "and", "affected", "accounts"),
    *("are", "listed", "in", "table", "below", "please", "check", "whether", "customer", "address"),
    *("shipping", "label", "return", "window", "price", "discount", "total", "amount", "currency"),
    *("method", "priority", "urgent", "normal", "team", "ledger", "report", "monthly", "keyboard"),
)

# -- documents -------------------------------------------------------------------------------------


def sentence(chance: random.Random, length: int) -> str:
    text = ""
    while len(text) < length:
        text += chance.choice(WORDS) + " "
    return text.strip().capitalize() + "."


def form(size: int) -> str:
    """A flat form: long and short texts, numbers, booleans, nulls."""
    chance = random.Random(1)
    members: list[str] = []
    length = 2
    while length < size:
        value = chance.choices(
            [
                sentence(chance, chance.randint(20, 160)),
                " ".join(chance.choices(WORDS, k=2)),
                chance.randint(1, 99_999),
                chance.random() < 0.5,
                None,
            ],
            [4, 3, 2, 1, 1],
        )[0]
        members.append(f'"{chance.choice(WORDS)}_{len(members)}": {json.dumps(value)}')
        length += len(members[-1]) + 2
    return "{" + ", ".join(members) + "}"


def string(size: int) -> str:
    """One giant string with many escapes: a file of JSON lines, written by a tool call."""
    chance = random.Random(2)
    lines: list[str] = []
    length = 40
    while length < size:
        one, two, three, four = chance.choices(WORDS, k=4)
        lines.append(f'  {{"{one}": "{two} {three}", "{four}": {chance.randint(1, 99)}}},\n')
        length += len(json.dumps(lines[-1])) - 2
    return json.dumps({"path": "data/items.json", "content": "".join(lines)})


def prose(size: int) -> str:
    """One giant string with hardly an escape; not one of the three shapes that have bars."""
    chance = random.Random(3)
    return json.dumps({"text": "\n".join(sentence(chance, 300) for _ in range(size // 302 + 1))})


def rows(size: int) -> str:
    """Nested rows: orders with a customer, lines and a note."""
    chance = random.Random(4)
    orders: list[str] = []
    length = 14
    while length < size:
        lines = [
            {
                "sku": f"KB-{chance.randint(1000, 9999)}",
                "title": sentence(chance, chance.randint(15, 45)),
                "quantity": chance.randint(1, 9),
                "price": round(chance.random() * 200, 2),
            }
            for _ in range(chance.randint(1, 3))
        ]
        order = {
            "id": chance.randint(1000, 99_999),
            "customer": {"name": " ".join(chance.choices(WORDS, k=2)).title(), "city": "Lund"},
            "lines": lines,
            "paid": chance.random() < 0.5,
            "note": sentence(chance, chance.randint(20, 60)),
        }
        orders.append(json.dumps(order))
        length += len(orders[-1]) + 2
    return '{"orders": [' + ", ".join(orders) + "]}"


SHAPES: dict[str, Callable[[int], str]] = {
    "form": form,
    "string": string,
    "rows": rows,
    "prose": prose,
}


def cut(text: str, length: int) -> list[str]:
    """Fragments of about this length."""
    chance = random.Random(5)
    fragments: list[str] = []
    at = 0
    while at < len(text):
        end = at + chance.randint(length // 2, length + length // 2)
        fragments.append(text[at:end])
        at = end
    return fragments


# -- what is measured ---------------------------------------------------


def look_at_every_fragment(fragments: list[str]) -> float:
    start = clock()
    preview = Preview()
    feed, plain = preview.feed, preview.value.plain
    for fragment in fragments:
        feed(fragment)
        plain()
    return clock() - start


def feed_every_fragment(fragments: list[str]) -> float:
    """The structure was handed out once and is live: the value is there after every fragment."""
    start = clock()
    feed = Preview().feed
    for fragment in fragments:
        feed(fragment)
    return clock() - start


def changes_at_every_fragment(fragments: list[str]) -> float:
    start = clock()
    preview = Preview()
    for fragment in fragments:
        preview.feed(fragment)
        preview.changes()
    return clock() - start


def look_60_times_a_second(fragments: list[str]) -> float:
    start = clock()
    preview = Preview()
    feed, plain = preview.feed, preview.value.plain
    waiting: list[str] = []
    wait = waiting.append
    for at in range(0, len(fragments), LOOK):
        for fragment in fragments[at : at + LOOK]:
            wait(fragment)
        feed("".join(waiting))
        waiting.clear()
        plain()
    return clock() - start


def floor(fragments: list[str]) -> float:
    """No preview at all: append each fragment, join, one parse."""
    start = clock()
    parts: list[str] = []
    append = parts.append
    for fragment in fragments:
        append(fragment)
    json.loads("".join(parts))
    return clock() - start


def parse_bytes(parse: Callable[[bytes], Any], fragments: list[str], before: str) -> float:
    """Append each fragment to what came before, parse the whole: for parsers that take bytes.

    A `ValueError` means that there is nothing to show. A `with` to pass over it would cost as much
    as parsing a short text does.
    """
    text = before.encode()
    start = clock()
    for fragment in fragments:
        text += fragment.encode()
        try:  # noqa: SIM105
            parse(text)
        except ValueError:
            pass
    return clock() - start


def parse_text(parse: Callable[[str], Any], fragments: list[str], before: str) -> float:
    """The same for parsers that take strings."""
    text = before
    start = clock()
    for fragment in fragments:
        text += fragment
        try:  # noqa: SIM105
            parse(text)
        except ValueError:
            pass
    return clock() - start


def anew(run: Callable[[list[str], str], float], samples: int, block: int) -> Measure:
    """A parser that starts anew at each fragment.

    Args:
        run: Takes fragments and the text before them, gives the seconds for them.
        samples: At how many fragments it is measured, at 64 where there are tens of thousands. The
            mean is taken for all. Documents of up to twice as many are measured whole.
        block: How many of them are measured together, so that the clock does not count.
    """

    def measure(fragments: list[str]) -> float:
        count = len(fragments)
        if count <= 2 * samples:
            return run(fragments, "")
        blocks = samples // block if count < 10_000 else 8
        spent = 0.0
        for place in range(blocks):
            at = (2 * place + 1) * count // (2 * blocks) - block // 2
            before = "".join(fragments[:at])
            run([""], before)  # as warm as the fragment before would leave the parser
            spent += run(fragments[at : at + block], before)
        return spent / (blocks * block) * count

    return measure


def complete_by_hand(text: str) -> Any:
    """Close what is open and try: the idea that everybody starts with."""
    in_string = text.replace("\\\\", "").replace('\\"', "").count('"') % 2
    closers: list[str] = []
    inside = False
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
        elif not inside and character in "{[":
            closers.append("}" if character == "{" else "]")
        elif not inside and character in "}]" and closers:
            closers.pop()
    return json.loads(text + '"' * in_string + "".join(reversed(closers)))


def jsonriver(parse: Callable[[AsyncIterator[str]], AsyncIterator[Any]]) -> Measure:
    """The other incremental parser: it takes an asynchronous stream."""

    def measure(fragments: list[str]) -> float:
        async def stream() -> AsyncIterator[str]:
            for fragment in fragments:
                yield fragment

        async def consume() -> None:
            async for _ in parse(stream()):
                pass

        start = clock()
        asyncio.run(consume())
        return clock() - start

    return measure


@dataclass(frozen=True)
class Peer:
    """Another parser, and the largest document that it is asked to take."""

    name: str
    measure: Measure
    largest: int


def fast(parse: Callable[[Any], Any]) -> Measure:
    return anew(partial(parse_bytes, parse), samples=400, block=8)


def slow(parse: Callable[[Any], Any]) -> Measure:
    return anew(partial(parse_text, parse), samples=8, block=1)


def peers(*, quick: bool) -> Iterator[Peer]:
    """The parsers that are installed; a line says which are not."""
    jiter = {"partial_mode": "trailing-strings"}
    pydantic = {"allow_partial": "trailing-strings"}
    known: list[tuple[str, str, str, Callable[[Any], Measure], int]] = [
        ("jiter", "jiter", "from_json", lambda f: fast(partial(f, **jiter)), 2_000_000),
        ("pydantic", "pydantic_core", "from_json", lambda f: fast(partial(f, **pydantic)), 200_000),
        ("jsonriver", "jsonriver", "parse", jsonriver, 200_000),
        ("partial-json", "partial_json_parser", "loads", slow, 20_000),
        ("langchain", "langchain_core.utils.json", "parse_partial_json", slow, 20_000),
        ("json-repair", "json_repair", "loads", slow, 20_000),
    ]
    for name, module, function, wrap, largest in known[: 1 if quick else None]:
        try:
            parse = getattr(importlib.import_module(module), function)
        except ImportError:
            print(f"{name} is not installed: left out")
            continue
        yield Peer(name, wrap(parse), largest)
    if not quick:
        yield Peer("by hand", slow(complete_by_hand), 20_000)


# -- the bars --------------------------------------------------------------------------------------

AGAINST_JITER = {200: 0.5, 500: 1.3, 2_000: 5.0, 20_000: 25.0, 200_000: 300.0}


@dataclass(frozen=True)
class Row:
    """The medians of one document in fragments of one length."""

    shape: str
    size: int
    length: int
    nanoseconds: float
    ratios: dict[str, float]


def measure(shape: str, size: int, length: int, others: list[Peer]) -> Row:
    """Measure everything turn about, often for small documents, a few times for large ones."""
    fragments = cut(SHAPES[shape](size), length)
    runs: dict[str, Measure] = {
        "look": look_at_every_fragment,
        "feed": feed_every_fragment,
        "changes": changes_at_every_fragment,
        "60 looks": look_60_times_a_second,
        "floor": floor,
    }
    peers = {peer.name: peer.measure for peer in others if size <= peer.largest}
    names = [*runs, *peers]
    times: dict[str, list[float]] = {name: [] for name in names}
    chance = random.Random(6)
    end = time.monotonic() + SECONDS
    turn = 0
    while turn < 3 or (turn < 200 and time.monotonic() < end):
        chance.shuffle(names)  # for each leaves the caches warm or cold for the next
        for name in names:
            if name in runs or name == "jiter" or turn < 3:
                times[name].append((runs | peers)[name](fragments))
        turn += 1

    def ratio(over: str, under: str) -> float:
        pairs = zip(times[over], times[under], strict=False)
        return statistics.median(above / below for above, below in pairs)

    ratios = {
        "jiter/feed": ratio("jiter", "feed"),
        "look/floor": ratio("look", "floor"),
        "feed/floor": ratio("feed", "floor"),
        "60/floor": ratio("60 looks", "floor"),
        "changes/look": ratio("changes", "look"),
    }
    ratios |= {f"{name}/look": ratio(name, "look") for name in peers}
    each = statistics.median(times["look"]) / len(fragments) * 1e9
    return Row(shape, size, length, each, ratios)


def memory(shape: str, size: int) -> float:
    """The bytes needed beyond the value itself, as a share of the text's length."""
    text = SHAPES[shape](size)
    fragments = cut(text, 4)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    value = json.loads(text)
    whole = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    preview = Preview()
    for fragment in fragments:
        preview.feed(fragment)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert preview.value.plain() == value
    return (peak - whole) / len(text)


def judge(table: list[Row]) -> Iterator[str]:
    """Say for each bar whether it holds."""
    for row in table:
        if row.shape == "prose":
            continue
        where = f"{row.shape} {row.size} B, {row.length} characters"
        if row.length == 4 and row.size in AGAINST_JITER:
            wanted = AGAINST_JITER[row.size]
            for name in ("jiter/look", "jiter/feed"):
                yield verdict(where, name, row.ratios[name], ">=", wanted)
        if row.size >= 2_000:
            yield verdict(where, "look/floor", row.ratios["look/floor"], "<=", 10)
            yield verdict(where, "60/floor", row.ratios["60/floor"], "<=", 5)


def growth(shape: str, length: int) -> str:
    """Say whether a fragment costs the same however much came before, turn about."""
    small = cut(SHAPES[shape](20_000), length)
    large = cut(SHAPES[shape](2_000_000), length)
    found: list[float] = []
    for _ in range(5):
        short = statistics.median(look_at_every_fragment(small) for _ in range(15)) / len(small)
        found.append(look_at_every_fragment(large) / len(large) / short)
    where = f"{shape}, {length} characters"
    return verdict(where, "2 MB/20 kB", statistics.median(found), "<=", 1.5)


def verdict(where: str, name: str, found: float, sign: str, wanted: float) -> str:
    holds = found >= wanted if sign == ">=" else found <= wanted
    return f"{'holds ' if holds else 'MISSED'} {where:34} {name:11} {found:9.2f} {sign} {wanted}"


def lines(*, quick: bool, shapes: Sequence[str]) -> Iterator[str]:
    """Measure, and say what was found, line by line."""
    yield f"Python {sys.version.split()[0]}; medians of ratios; `look` takes the value each time"
    others = list(peers(quick=quick))
    table: list[Row] = []
    for shape in shapes:
        for size in SIZES[:-1] if quick else SIZES:
            for length in CUTS:
                row = measure(shape, size, length, others)
                table.append(row)
                shown = "  ".join(f"{name} {value:.3g}" for name, value in row.ratios.items())
                yield f"{shape:7}{size:8} B /{length:2}  {row.nanoseconds:7.0f} ns  {shown}"
        yield f"{shape:7} memory beyond the value: {memory(shape, 200_000):.2f} x the text (bar: 2)"
        if not quick:
            yield from (growth(shape, length) for length in CUTS)
    yield from judge(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="jiter only, up to 200 kB")
    parser.add_argument("--only", choices=SHAPES, help="one shape")
    parser.add_argument("--write", action="store_true", help="write into docs/performance.md")
    options = parser.parse_args()
    found: list[str] = []
    for line in lines(quick=options.quick, shapes=[options.only] if options.only else SHAPES):
        print(line, flush=True)
        found.append(line)
    if options.write:
        text = "\n".join(["```text", *found, "```"])
        report.write(report.DOCUMENT, "preview", f"{report.circumstances()}\n\n{text}")


if __name__ == "__main__":
    main()
