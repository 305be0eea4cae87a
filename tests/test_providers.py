"""A provider is one file, one fixture folder, one row: none without the other two."""

from __future__ import annotations

from pathlib import Path

import pytest

import finalcall.providers
from finalcall import Settler
from finalcall.providers import PROVIDERS
from finalcall.stop_reasons import Verdict
from finalcall.testing.routes import ROUTES
from finalcall.tools.shapes import SHAPES
from tests.facts import FACTS, FIXTURES, outside

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
    facts = FACTS[name]
    assert {"title", "announced", "ended", "stopped", "complete"} <= set(facts)
    for quirk in facts.get("quirks", []):
        assert quirk["text"].strip()
        assert "recording" not in quirk or (folder / quirk["recording"]).is_file(), quirk
    assert (folder / "EXPECTED.jsonl").is_file()


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_words_that_end_well_are_the_tables(name: str) -> None:
    """What the recordings' folder says ends a message well, the provider's own table says too."""
    table = PROVIDERS[name].normaliser.stop_reasons
    assert {word: table.get(word) for word in FACTS[name]["complete"]} == dict.fromkeys(
        FACTS[name]["complete"], Verdict.COMPLETE
    )


def test_a_provider_has_a_row_in_each_table_that_it_does_not_stay_outside_of() -> None:
    """Lists of tools and the server's paths; replies and OpenTelemetry have a test of their own."""
    assert set(SHAPES) - {"mcp"} == set(PROVIDERS) - outside("tools")
    assert {route.provider for route in ROUTES} == set(PROVIDERS) - outside("server")
    named = {word for facts in FACTS.values() for word in facts.get("outside", [])}
    assert named == {"replies", "tools", "server", "opentelemetry"}


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
