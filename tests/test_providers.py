"""A provider is one file, one fixture folder, one row: none without the other two."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import finalcall.providers
from finalcall import Settler
from finalcall.providers import PROVIDERS
from finalcall.stop_reasons import Verdict
from tests.streams import FIXTURES

SOURCE = Path(finalcall.providers.__file__).parent

NOT_PROVIDERS = frozenset({"refused"})
"""Modules beside the providers that define a table of their own and no provider."""


def modules_with_a_row() -> set[str]:
    """The modules and packages of the folder that define a PROVIDER."""
    return {
        path.stem if path.parent == SOURCE else path.parent.name
        for path in [*SOURCE.glob("*.py"), *SOURCE.glob("*/*.py")]
        if "PROVIDER: Final" in path.read_text(encoding="utf-8") and path.stem != "__init__"
    } - NOT_PROVIDERS


def test_every_file_has_a_row_and_every_row_a_file() -> None:
    """A module that no row names would never be asked."""
    rows = {row.normaliser.__module__.split(".")[2] for row in PROVIDERS.values()}
    rows |= {name.replace("-", "_") for name in PROVIDERS}
    assert modules_with_a_row() <= rows
    for name, row in PROVIDERS.items():
        assert row.name == name
        assert row.normaliser.__module__.startswith("finalcall.providers.")


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_has_its_fixtures(name: str) -> None:
    """Recordings with their expectations, and the facts that the documents are made of."""
    folder = FIXTURES / name
    facts = tomllib.loads((folder / "provider.toml").read_text(encoding="utf-8"))
    assert {"title", "announced", "ended", "stopped"} <= set(facts)
    for quirk in facts.get("quirks", []):
        assert quirk["text"].strip()
        assert "recording" not in quirk or (folder / quirk["recording"]).is_file(), quirk
    assert (folder / "EXPECTED.jsonl").is_file()


def test_every_fixture_folder_has_a_provider() -> None:
    """A folder without a row would be skipped silently."""
    assert {path.name for path in FIXTURES.iterdir() if path.is_dir()} == set(PROVIDERS)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_knows_words_that_stop_well_and_words_that_do_not(name: str) -> None:
    """A table that calls everything complete would run cut calls."""
    verdicts = set(PROVIDERS[name].normaliser.stop_reasons.values())
    assert Verdict.COMPLETE in verdicts
    assert Verdict.TRUNCATED in verdicts


@pytest.mark.parametrize(
    "provider", ["gemini", "gemini-interactions", "openai-chat", "openai-responses"]
)
def test_a_closing_marker_may_have_blanks_around_it(provider: str) -> None:
    """A client that cuts lines may leave them; other text closes nothing."""
    settler = Settler(provider, tools=None)
    settler.feed("DONE")
    assert settler.ending is None
    settler.feed(" [DONE]\n")
    assert settler.ending is not None
