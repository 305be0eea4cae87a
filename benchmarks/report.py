"""Writes measured tables into a document, and says under which circumstances they were measured."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Final

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "performance.md"
"""Where measured tables belong."""

_PACKAGES: Final = (
    "anthropic",
    "openai",
    "httpx2",
    "jiter",
    "jsonschema",
    "jsonschema-rs",
    "orjson",
)


def circumstances() -> str:
    """A sentence with the date, the versions and the kind of machine."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    versions: list[str] = []
    for package in ("finalcall", *_PACKAGES):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return f"Measured {today} on {machine}, {python}; {', '.join(versions)}."


def rewritten(document: str, topic: str, text: str) -> str:
    """A document with the measured part of a topic replaced.

    Raises:
        ValueError: The document has no part for the topic.
    """
    part = re.compile(
        rf"(<!-- measured: {topic} -->\n).*?(<!-- measured until here -->)", re.DOTALL
    )
    if not part.search(document):
        raise ValueError(
            f"the document has no part '<!-- measured: {topic} -->'; add it where it belongs"
        )
    return part.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", document)


def write(path: Path, topic: str, text: str) -> None:
    """Replace the measured part of a topic in a file."""
    path.write_text(rewritten(path.read_text(encoding="utf-8"), topic, text), encoding="utf-8")
