"""The recipe of docs/testing.md: its test finds the bug, passes after the fix, and reports so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import documents

pytest_plugins = ["pytester"]

PAGE = documents.ROOT / "docs" / "testing.md"


def blocks(heading: str) -> list[str]:
    """The Python blocks under a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def table(name: str) -> list[str]:
    """The lines of a table that the page shows."""
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- table: {name} -->")[1]
    return text.split("```console\n")[1].split("```")[0].splitlines()


@pytest.mark.parametrize("name", ["before", "after"])
def test_the_recipe_gives_the_tables_of_the_page(pytester: pytest.Pytester, name: str) -> None:
    """The page's own agent, test and fix, run as a user would run them."""
    bug, reply, *_ = blocks("An agent with a bug")
    fix = blocks("The fix")[0].split("\nran.clear()")[0] if name == "after" else ""
    setup = reply.split("\nwith FaultServer")[0]
    (test,) = blocks("The test that finds it")
    pytester.makepyfile(test_payments=f"{bug}\n\n{setup}\n\n{fix}\n\n{test}")
    pytester.path.joinpath("pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-n", "2")
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if "finalcall faults" in line)
    shown = table(name)
    found = [line.rstrip() for line in lines[start + 1 : start + 1 + len(shown)]]
    print("\n".join(found))
    assert found == shown
    assert result.parseoutcomes().get("failed", 0) == sum("FAILED" in line for line in shown)


def test_the_page_has_both_tables() -> None:
    """Neither is empty, and only the one before the fix has failures."""
    assert any("FAILED" in line for line in table("before"))
    assert not any("FAILED" in line for line in table("after"))
    assert Path(PAGE).exists()
