"""The wall for type checkers: each marked line is a wrong program, and must stay one.

A comment that no longer hides an error is itself an error, so a wrong program that begins to check
fails the build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_type

from finalcall.preview import (
    PlainValue,
    Preview,
    PreviewChange,
    PreviewValue,
    best_effort_partial,
)


def run(name: str, args: Mapping[str, Any]) -> None:
    """What a dispatcher is: it takes arguments."""


def book(**args: Any) -> None:
    """What a tool is: it takes its arguments by name."""


def right(preview: Preview) -> None:
    """What a screen does."""
    preview.feed("text")
    assert_type(preview.value, PreviewValue)
    plain: PlainValue = preview.value.plain()
    kept: PlainValue = preview.value.copy()
    assert_type(preview.changes(), list[PreviewChange])
    assert_type(preview.completed_keys(("rows", 0)), list[str])
    assert_type(best_effort_partial('{"a": '), PreviewValue)
    assert_type(preview.malformed or preview.complete, bool)
    Preview(sensitive={("card", "*", "number")})
    if isinstance(plain, dict) and isinstance(kept, dict):
        title: PlainValue = plain["title"]
        print(title)


def wrong(preview: Preview, change: PreviewChange) -> None:
    """What nobody must do."""
    value = preview.value
    run("book", value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    run("book", value.plain())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    run("book", preview)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    run("book", best_effort_partial(""))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    book(**value)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    book(**value.plain())  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    print(value["title"])  # type: ignore[index]  # pyright: ignore[reportIndexIssue, reportUnknownArgumentType]
    print(value.args)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    print(len(value))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    print([*value])  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownArgumentType]
    args: dict[str, Any] = value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    more: Mapping[str, Any] = value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    items: Iterable[Any] = value  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    change.text = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    preview.value = value  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    preview.feed(b"bytes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    preview.feed(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    print(args, more, items)


class Open(PreviewValue):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    """The type is final: no subclass can open it."""
