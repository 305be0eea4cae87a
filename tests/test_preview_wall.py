"""The wall: what a preview shows cannot be taken for arguments."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import finalcall
import finalcall.preview
from finalcall.preview import Preview, PreviewValue, best_effort_partial

TEXT = '{"name": "hidden", "list": [1, {"deep": "hidden"}]}'
SOURCES = Path(finalcall.__file__).parent


def run(**args: Any) -> Any:
    """What a dispatcher would do."""
    return args


ATTEMPTS: dict[str, Callable[[Any], Any]] = {
    "unpack": lambda value: run(**value),
    "unpack in order": lambda value: [*value],
    "dict": dict,
    "list": list,
    "merge": lambda value: {} | value,
    "update": {}.update,
    "name": lambda value: value["name"],
    "index": lambda value: value[0],
    "iterate": iter,
    "length": len,
    "contains": lambda value: "name" in value,
    "json": json.dumps,
    "json inside": lambda value: json.dumps({"args": value}),
    "vars": vars,
    "pydantic": TypeAdapter(dict[str, Any]).validate_python,
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_the_value_cannot_be_used_as_arguments(attempt: Callable[[Any], Any]) -> None:
    """Unpacking, indexing, iterating, dumping and validating all fail."""
    with pytest.raises((TypeError, ValidationError)):
        attempt(best_effort_partial(TEXT))


def test_the_value_has_one_door() -> None:
    """Nothing but `plain()`, `copy()` and `begun` is there, and no container interface."""
    value = best_effort_partial(TEXT)
    assert [name for name in dir(value) if not name.startswith("_")] == ["begun", "copy", "plain"]
    assert not isinstance(value, Mapping | Iterable | Sized)


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, ascii])
def test_no_content_in_a_repr(show: Callable[[Any], str]) -> None:
    """Neither the value nor the preview prints what it holds."""
    preview = Preview()
    preview.feed(TEXT)
    preview.changes()
    for shown in (preview, preview.value, *preview.changes()):
        assert "hidden" not in show(shown)
        assert "name" not in show(shown)


def test_plain_is_the_live_structure() -> None:
    """`plain()` hands out the same growing structure at each look."""
    preview = Preview()
    preview.feed('{"a": "x')
    plain = preview.value.plain()
    preview.feed('y", "b": [')
    assert plain == {"a": "xy", "b": []}
    assert preview.value.plain() is plain


def test_copy_shares_nothing() -> None:
    """`copy()` stays as it was, and changing it changes nothing."""
    preview = Preview()
    preview.feed('{"a": ["x", {"b": 1}], "c": "y')
    kept: Any = preview.value.copy()
    preview.feed('z"}')
    assert kept == {"a": ["x", {"b": 1}], "c": "y"}
    kept["a"][1]["b"] = 2
    assert preview.value.plain() == {"a": ["x", {"b": 1}], "c": "yz"}


def test_nothing_yet_is_told_from_null() -> None:
    """Where nothing has begun the value says so; None alone could be a null."""
    for text, begun in (("", False), (" ", False), ("nul", False), ("null", True)):
        value = best_effort_partial(text)
        assert (value.begun, value.plain(), value.copy()) == (begun, None, None)


def test_the_value_is_a_live_view_that_outlives_a_restart() -> None:
    """A value that was handed out once shows the restated text too."""
    preview = Preview()
    value = preview.value
    preview.feed('{"a": "x\\')
    before = value.plain()
    preview.restart()
    assert not value.begun
    preview.feed("[1")
    preview.feed("]")
    assert value.plain() == [1]
    assert before == {"a": "x"}
    assert preview.value is value


def test_the_value_lives_without_its_preview() -> None:
    """A one-shot value keeps what it needs, and a copy of it is the same view."""
    value = best_effort_partial('{"a": [1, "x')
    assert value.plain() == {"a": [1, "x"]}
    assert isinstance(copy.copy(value), PreviewValue)


@pytest.mark.parametrize("text", ["12", "-0.5e3", "[12", '{"a": 12'])
def test_one_shot_takes_a_number_only_where_it_is_the_document(text: str) -> None:
    """A number at the very end is shown where nothing can come to make it longer."""
    plain = best_effort_partial(text).plain()
    assert plain == {"12": 12, "-0.5e3": -500.0, "[12": [], '{"a": 12': {}}[text]


def test_the_end_makes_only_a_root_number_whole() -> None:
    """After `end()` a root number is shown; anything else is as it was."""
    preview = Preview()
    preview.feed("12")
    assert not preview.value.begun
    preview.end()
    assert preview.complete
    preview.end()
    assert preview.value.plain() == 12
    preview.feed("3")
    assert preview.malformed
    for text in ("-", "[12", '"a', "tru", ""):
        preview = Preview()
        preview.feed(text)
        shown = preview.value.copy()
        preview.end()
        assert (preview.value.copy(), preview.complete, preview.malformed) == (shown, False, False)


@pytest.mark.parametrize(
    ("path", "completed"),
    [
        ((), ["a", "b"]),
        (("a",), ["x"]),
        (("b", 1), ["y"]),
        (("c",), []),
        (("c", "d", 0), ["e"]),
        (("b", 7), []),
        (("nowhere",), []),
        (("a", "x"), []),
        (("a", "x", 0), []),
        (("b", "y"), []),
    ],
)
def test_completed_keys_at_a_path(path: tuple[str | int, ...], completed: list[str]) -> None:
    """Every object can be asked; where there is none, nothing is completed."""
    preview = Preview()
    preview.feed('{"a": {"x": "s"}, "b": [0, {"y": 1}], "c": {"d": [{"e": 1, "f": "g')
    assert preview.completed_keys(path) == completed


def test_the_preview_needs_nothing_but_the_standard_library() -> None:
    """No module of the preview imports anything else but the rule of what is out of sight."""
    for module in (*(SOURCES / "preview").glob("*.py"), SOURCES / "sensitive.py"):
        for imported in imports(module):
            assert imported.split(".")[0] in sys.stdlib_module_names or imported.startswith(
                ("finalcall.preview", "finalcall.sensitive")
            )


def test_nothing_that_dispatches_imports_the_preview() -> None:
    """When it runs, nothing outside the preview but the edges imports it."""
    importers = {
        module.relative_to(SOURCES).parts[0]
        for module in SOURCES.rglob("*.py")
        if any(f"{name}.".startswith("finalcall.preview.") for name in imports(module))
    }
    assert importers <= {"preview", "cli", "testing"}


def test_importing_the_library_does_not_load_the_preview() -> None:
    """A program without a screen never pays for one."""
    program = "import sys, finalcall; sys.exit('finalcall.preview' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def imports(module: Path) -> set[str]:
    """The modules that a source file imports when it runs."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(module.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        todo.extend(ast.iter_child_nodes(node))
    return found
