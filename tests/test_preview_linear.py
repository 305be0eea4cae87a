"""What a fragment costs: what the fragment is long, not what came before it."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from finalcall.preview import Preview, best_effort_partial

LONG = 1_000_000
CONTAINERS = {
    "member": '{"a": "',
    "item": '["',
    "root": '"',
    "name": '{"',
    "masked member": '{"secret": "',
}
FRAGMENTS = {
    "plain": "abcd",
    "wide": "\u20ac\u2028",
    "escaped": 'a\\n\\"',
    "cut escape": "n\\",
    "rarer escapes": "\\t\\u0041",
}


@contextmanager
def untraced() -> Iterator[None]:
    """Without a tracer, under which some interpreters run other instructions."""
    tracer = sys.gettrace()
    sys.settrace(None)
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        sys.settrace(tracer)


def extra_memory(preview: Preview, fragment: str) -> int:
    """The bytes that one fragment needs for a moment beyond what was there before."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    preview.feed(fragment)
    _, peak = tracemalloc.get_traced_memory()
    return peak - before


@pytest.mark.parametrize("fragment", FRAGMENTS.values(), ids=FRAGMENTS.keys())
@pytest.mark.parametrize("start", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_a_long_string_grows_in_place(start: str, fragment: str) -> None:
    """A fragment in a string of a million characters copies none of them, on any interpreter."""
    with untraced():
        preview = Preview(sensitive={("secret",)})
        preview.feed(start + fragment * (LONG // len(fragment)))
        for _ in range(100):
            preview.feed(fragment)
        needed = [extra_memory(preview, fragment) for _ in range(20)]
    assert sum(needed) < LONG / 10


def test_looking_at_a_long_string_does_not_make_it_copied() -> None:
    """Looks and changes at every fragment leave the string free to grow in place."""
    with untraced():
        preview = Preview()
        preview.feed('{"a": "' + "x" * LONG)
        preview.changes()
        needed = 0
        for _ in range(50):
            needed += extra_memory(preview, "abcd")
            preview.value.plain()
            preview.changes()
    assert needed < LONG / 10


@pytest.mark.parametrize(
    "tail", ['", "b": "', "x", ', "c": [1, {"d": ', "\\u00", '": 12', "\\", '"'], ids=repr
)
def test_the_steps_of_a_fragment_do_not_depend_on_what_came_before(tail: str) -> None:
    """After ten or ten thousand members the same fragment takes the same lines of code."""
    counts = []
    for members in (10, 10_000):
        preview = Preview()
        preview.feed(
            "{" + ", ".join(f'"k{index}": {index}' for index in range(members)) + ', "a": "'
        )
        preview.feed("x")
        counts.append(lines_run(preview, tail))
    assert counts[0] == counts[1] > 0


def lines_run(preview: Preview, fragment: str) -> int:
    """How many lines a fragment runs, looks included."""
    count = 0

    def trace(*_: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    preview.changes()
    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        preview.feed(fragment)
        preview.changes()
        preview.completed_keys(("x",))
    finally:
        sys.settrace(tracer)
    return count


@pytest.mark.parametrize("shape", ["form", "string", "rows"])
def test_memory_beyond_the_value_is_at_most_twice_the_text(shape: str) -> None:
    """While a text comes in by small fragments, little is needed beyond the value itself."""
    value: dict[str, Any] = {
        "form": {f"field {index}": "some words here" for index in range(4000)},
        "string": {"text": 'a "quoted" word\n' * 8000},
        "rows": {"rows": [{"id": index, "name": "a name", "ok": True} for index in range(3000)]},
    }[shape]
    text = json.dumps(value)
    fragments = [text[start : start + 4] for start in range(0, len(text), 4)]
    with untraced():
        before, _ = tracemalloc.get_traced_memory()
        whole = json.loads(text)
        size = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        preview = Preview()
        for fragment in fragments:
            preview.feed(fragment)
        peak = tracemalloc.get_traced_memory()[1] - before
    assert preview.value.plain() == whole
    assert peak - size <= 2 * len(text)


@pytest.mark.parametrize(
    ("opening", "closing", "depth"), [("[", "]", 1_000_000), ('{"a":', "}", 100_000)]
)
def test_depth_does_not_recurse(opening: str, closing: str, depth: int) -> None:
    """However deep a text is, it is read, copied, asked and let go of without recursion."""
    preview = Preview()
    for text in (opening * depth, "1", closing * depth):
        preview.feed(text)
    preview.changes()
    assert preview.complete
    assert preview.completed_keys() == (["a"] if opening == '{"a":' else [])
    reached = 0
    value: Any = preview.value.copy()
    while not isinstance(value, int):
        value = value[0 if opening == "[" else "a"]
        reached += 1
    assert reached == depth


def test_a_whole_document_too_deep_for_the_standard_library_is_read_all_the_same() -> None:
    """What the one parse refuses for its depth alone, the reader takes."""
    assert best_effort_partial("[" * 50_000 + "]" * 50_000).begun
    preview = Preview()
    preview.feed("[" * 50_000 + "]" * 50_000)
    assert preview.complete


def test_a_deep_text_is_watched_at_the_cost_of_its_fragments() -> None:
    """Looking for changes at each fragment of a very deep text stays affordable."""
    preview = Preview(sensitive={("1", "b")})
    told = 0
    for _ in range(20_000):
        preview.feed("[[[[")
        told += len(preview.changes())
    assert told == 200


def test_a_whole_document_goes_straight_to_one_parse() -> None:
    """A document in one fragment is as the standard library makes it, however long."""
    value = {"rows": [{"id": index, "text": "é\n" * 50} for index in range(2000)]}
    text = json.dumps(value, ensure_ascii=False)
    assert best_effort_partial(text + "\n").plain() == value
