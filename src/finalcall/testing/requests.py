"""Reads one HTTP/1.1 request, or says why what came is none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from finalcall.testing.routes import RecordedRequest, Refusal

MAX_HEAD_BYTES: Final = 256 * 1024
"""The longest head of a request, and the longest line of a body in chunks."""

HEADLESS: Final = Refusal(
    405,
    "Method Not Allowed",
    "this server only streams bodies, and HEAD asks for none; expected a POST",
)
"""The answer to a HEAD request."""

_TLS_HANDSHAKE: Final = b"\x16"
_REQUEST_LINE: Final = re.compile(r"([!-~]+) ([!-~]+) HTTP/1\.[01]")
_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?")


async def read_request(reader: asyncio.StreamReader) -> RecordedRequest | Refusal:
    """The next request of a connection.

    Args:
        reader: The connection's; its limit is `MAX_HEAD_BYTES`.

    Returns:
        The request, with a body that came in chunks put together; or why it is none.

    Raises:
        asyncio.IncompleteReadError: The client leaves before its request is whole.
    """
    first = await reader.readexactly(1)
    if first == _TLS_HANDSHAKE:
        return _malformed("a TLS handshake", "plain HTTP: a base URL that begins with http://")
    try:
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        return _malformed(f"a head of more than {MAX_HEAD_BYTES} bytes", "a shorter one")
    request_line, *lines = head.rstrip().split("\r\n")
    found = _REQUEST_LINE.fullmatch(request_line)
    if found is None:
        return _malformed("no request line", "a method, a path and HTTP/1.1")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
    }
    body = await _read_body(reader, headers)
    if isinstance(body, Refusal):
        return body
    return RecordedRequest(found[1], found[2], headers, body)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes | Refusal:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    length = headers.get("content-length", "0")
    if _DIGITS.fullmatch(length) is None:
        return _malformed("a content-length that is no number", "the body's size in bytes")
    return await reader.readexactly(int(length))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes | Refusal:
    chunks: list[bytes] = []
    wrong = _malformed("a body in chunks that cannot be read", "a size, then so many bytes")
    try:
        while True:
            found = _CHUNK_SIZE.fullmatch((await reader.readuntil(b"\r\n")).removesuffix(b"\r\n"))
            if found is None:
                return wrong
            size = int(found[1], 16)
            if size == 0:
                break
            chunks.append(await reader.readexactly(size))
            if await reader.readexactly(2) != b"\r\n":
                return wrong
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass  # a trailer
    except asyncio.LimitOverrunError:
        return wrong
    return b"".join(chunks)


def _malformed(found: str, expected: str) -> Refusal:
    return Refusal(
        400, "Bad Request", f"what came is no HTTP request: {found}; expected {expected}"
    )
