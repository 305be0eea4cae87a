"""Models of a few replies, and the two ways to run a message of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from finalcall import ToolSet
from finalcall.correction import RunResult, arun_turn, run_turn
from tests.messages import TICKET_SCHEMA, call, message_start, stopped, text

TOOLS = ToolSet({"create_ticket": TICKET_SCHEMA, "pay": {"type": "object"}}, once=["pay"])
ASKED = [{"role": "user", "content": "go"}]

GOOD = '{"title": "x"}'
NO_TITLE = "{}"
BAD_TITLE = '{"title": 3}'
BAD_PRIORITY = '{"title": "x", "priority": "soon"}'


def reply(*arguments: str, reason: str = "tool_use", name: str = "create_ticket") -> list[Any]:
    """A message of the model with one call for each argument text."""
    calls = [
        call(index, f"toolu_{index}", arguments=one, name=name)
        for index, one in enumerate(arguments)
    ]
    return [message_start(), *(event for one in calls for event in one), *stopped(reason)]


def said(words: str, reason: str = "end_turn") -> list[Any]:
    return [message_start(), *text(words), *stopped(reason)]


def cut(*arguments: str) -> list[Any]:
    """A message that dies before its stop reason."""
    return reply(*arguments)[:-2]


class Model:
    """Answers with one reply after another, and remembers what it was asked."""

    def __init__(self, *replies: list[Any]) -> None:
        self.replies = list(replies)
        self.asked: list[list[Any]] = []
        self.ceilings: list[int | None] = []

    def __call__(self, messages: list[Any], ceiling: int | None = None) -> list[Any]:
        self.asked.append(messages)
        self.ceilings.append(ceiling)
        return self.replies[len(self.asked) - 1]


def run_sync(model: Any, **options: Any) -> RunResult:
    return run_turn(model, ASKED, tools=TOOLS, **options).result


def run_async(model: Any, **options: Any) -> RunResult:
    async def main() -> RunResult:
        return await arun_turn(model, ASKED, tools=TOOLS, **options)

    return asyncio.run(main())


both = pytest.mark.parametrize("run", [run_sync, run_async], ids=["sync", "async"])
Run = Callable[..., RunResult]
