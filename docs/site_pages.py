"""Makes pages of the site from files that stand outside `docs`, so that no copy is kept in step.

A hook of mkdocs. README.md becomes the first page, its neighbours become pages, and all examples
one page. A link is led to the page of its file; a file without a page gets no link on the site.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent

PAGES: Final[Mapping[str, str]] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""The page that a file of the repository becomes."""

EXAMPLES: Final = "examples.md"

_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for source, page in PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_linked(content, source, page)))
    files.append(File.generated(config, EXAMPLES, content=_examples()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead the links of a page of `docs` that point out of it."""
    where = page.file.src_uri
    made = where == EXAMPLES or where in PAGES.values()
    return markdown if made else _linked(markdown, f"docs/{where}", where)


def _linked(markdown: str, source: str, page: str) -> str:
    """Lead a document's links, but leave its code alone.

    Args:
        markdown: The document.
        source: Its file, from the root of the repository.
        page: The page that it becomes.
    """

    def led(match: re.Match[str]) -> str:
        image, text, link, anchor = match.groups(default="")
        if "://" in link:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        target = _page_of(file)
        if target is None:
            return text
        to, _, own = target.partition("#")
        way = posixpath.relpath(to, posixpath.dirname(page) or ".")
        return f"{image}[{text}]({way}{anchor or (own and '#' + own)})"

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)


def _page_of(file: str) -> str | None:
    """The page, and perhaps the place in it, where the site shows a file of the repository."""
    if file in PAGES:
        return PAGES[file]
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if file == "examples":
        return EXAMPLES
    if file.startswith("examples/") and file.endswith(".py"):
        return f"{EXAMPLES}#{_anchor(file)}"
    return None


def _anchor(file: str) -> str:
    return re.sub(r"\W+", "-", file.removeprefix("examples/")).strip("-").lower()


def _examples() -> str:
    """Every example with its source, in order of name."""
    lines = ["# Examples", "", "Each of these is run by the tests."]
    for path in sorted((ROOT / "examples").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT / "examples").as_posix()
        about = (ast.get_docstring(ast.parse(code)) or "").partition("\n\n")[0]
        lines += ["", f"## `{name}` {{ #{_anchor(name)} }}", "", about]
        lines += ["", f"```python\n{code.rstrip()}\n```"]
    return "\n".join(lines) + "\n"
