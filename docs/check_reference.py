"""Checks that the built reference has an entry for every public name.

Run it after `python -m mkdocs build`: it reads the inventory that the build writes for links from
other sites. Public is what `finalcall` and the modules right below it name in `__all__`, and what a
document or an example imports.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import finalcall

ROOT: Final = Path(__file__).parent.parent
INVENTORY: Final = ROOT / "site" / "objects.inv"

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def entries(inventory: bytes) -> set[str]:
    """The names in an inventory: four lines of header, then compressed lines, a name first."""
    *_, body = inventory.split(b"\n", 4)
    return {line.split(" ", 1)[0] for line in zlib.decompress(body).decode().splitlines()}


def exported() -> Iterator[str]:
    """Every name in the `__all__` of a public module."""
    below = (f"finalcall.{module.name}" for module in pkgutil.iter_modules(finalcall.__path__))
    for module in ("finalcall", *sorted(below)):
        if not module.endswith("__main__"):
            names: list[str] = getattr(importlib.import_module(module), "__all__", [])
            yield from (f"{module}.{name}" for name in names)


def imported() -> Iterator[str]:
    """Every name that a reader is shown to import from `finalcall`."""
    for code in _shown():
        for node in ast.walk(ast.parse(code)):
            if (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").split(".")[0] == "finalcall"
            ):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _shown() -> Iterator[str]:
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield from _PYTHON.findall(document.read_text(encoding="utf-8"))
    for example in sorted((ROOT / "examples").rglob("*.py")):
        yield example.read_text(encoding="utf-8")


def defined(name: str) -> str | None:
    """Where a public class or function is defined: some share their name with their module.

    Returns:
        Its full name; `None` for a module, which is a page and no entry.
    """
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module), last)
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"{found.__module__}.{found.__qualname__}"
    return None if inspect.ismodule(found) else name


def main() -> int:
    """Say which public names have no entry."""
    there = {None, *entries(INVENTORY.read_bytes())}
    missing = sorted(name for name in {*exported(), *imported()} if defined(name) not in there)
    for name in missing:
        sys.stdout.write(f"{name} is public, and no page of docs/api has a line `::: {name}`\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
