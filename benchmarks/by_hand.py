"""What people write by hand instead: the shortest loops that give a call's arguments."""

from __future__ import annotations

import importlib
import json
import timeit
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from benchmarks.materials import Native

_PARSERS: Final = {
    "orjson": ("orjson", "loads"),
    "msgspec": ("msgspec.json", "decode"),
    "jiter": ("jiter", "from_json"),
    "json": ("json", "loads"),
}
_SAMPLE: Final = (
    b'{"type":"content_block_delta","index":0,'
    b'"delta":{"type":"input_json_delta","partial_json":"\\"tit"}}'
)


def _fastest() -> tuple[str, Callable[[bytes], Any]]:
    """The parser that reads an event in the shortest time, of those that are installed."""
    found: list[tuple[float, str, Callable[[bytes], Any]]] = []
    for name, (module, function) in _PARSERS.items():
        try:
            parse = getattr(importlib.import_module(module), function)
        except ImportError:
            continue
        spent = min(timeit.repeat(partial(parse, _SAMPLE), number=2_000, repeat=15))
        found.append((spent, name, parse))
    _, name, parse = min(found, key=lambda entry: entry[0])
    return name, parse


FASTEST, _parse = _fastest()


def decode(chunks: Iterable[bytes]) -> int:
    """Split server-sent events and parse each with the fastest parser; nothing is done with it."""
    rest = b""
    count = 0
    parse = _parse
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            data = block.partition(b"data: ")[2]
            if data != b"[DONE]":
                parse(data)
                count += 1
    return count


def _anthropic(events: Iterable[Native]) -> list[Any]:
    parts: dict[int, list[str]] = {}
    calls: list[Any] = []
    for event in events:
        assert isinstance(event, dict)
        kind = event["type"]
        if kind == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "input_json_delta":
                parts[event["index"]].append(delta["partial_json"])
        elif kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
            parts[event["index"]] = []
        elif kind == "content_block_stop" and event["index"] in parts:
            calls.append(json.loads("".join(parts[event["index"]])))
    return calls


def _openai_chat(events: Iterable[Native]) -> list[Any]:
    parts: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, str):
            break
        for choice in event["choices"]:
            for call in choice["delta"].get("tool_calls") or ():
                parts.setdefault(call["index"], []).append(call["function"]["arguments"])
    return [json.loads("".join(text)) for text in parts.values()]


def _openai_responses(events: Iterable[Native]) -> list[Any]:
    parts: dict[int, list[str]] = {}
    calls: list[Any] = []
    for event in events:
        assert isinstance(event, dict)
        kind = event["type"]
        if kind == "response.function_call_arguments.delta":
            parts[event["output_index"]].append(event["delta"])
        elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
            parts[event["output_index"]] = []
        elif kind == "response.function_call_arguments.done":
            calls.append(json.loads("".join(parts[event["output_index"]])))
    return calls


LOOPS: Final[Mapping[str, Callable[[Iterable[Native]], list[Any]]]] = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
}
"""By provider: from native events to the arguments of every call, unchecked."""
