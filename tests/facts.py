"""What the folder of recordings of each provider says about it, in its `provider.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The facts of the providers that have a folder below this one."""
    return {
        path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*/provider.toml"))
    }


FACTS = read(FIXTURES)
"""By provider."""


def complete() -> frozenset[str]:
    """Every word that ends a message well, as the folders say."""
    return frozenset(word for facts in FACTS.values() for word in facts["complete"])


def outside(convenience: str) -> set[str]:
    """The providers that say that they stay outside of a convenience."""
    return {name for name, facts in FACTS.items() if convenience in facts.get("outside", [])}
