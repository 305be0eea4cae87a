"""Ways to cut bytes into chunks, which must never make a difference."""

from __future__ import annotations

import random
from collections.abc import Iterator


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, after each byte, and at random places; some with empty chunks."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    yield [chunk for at in range(len(data)) for chunk in (data[at : at + 1], b"")]
    for at in range(1, min(len(data), 400)):
        yield [data[:at], data[at:]]
    source = random.Random(len(data))
    for _ in range(10):
        yield random_cut(data, source)


def random_cut(data: bytes, source: random.Random) -> list[bytes]:
    """Pieces of very different lengths."""
    chunks: list[bytes] = []
    while data:
        size = source.choice((1, 2, 3, 5, 13, 60, 400, 5000))
        chunks.append(data[:size])
        data = data[size:]
    return chunks
