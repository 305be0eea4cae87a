"""docs/adding-a-provider.md, followed: its file, its folder and its row make a provider."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import finalcall.providers
import tests.expectation
import tests.facts
from finalcall.providers import PROVIDERS
from tests import documents, test_providers
from tests.streams import Case, cases, check_forms, check_prefixes, check_turns

PAGE = documents.ROOT / "docs" / "adding-a-provider.md"
NAME = "toy"


def shown(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return [block.text for block in documents.blocks(PAGE) if block.language == language]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """The page's provider in the table, and its recording on the disk."""
    module = ModuleType("finalcall.providers.toy")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(shown("python")[0], str(PAGE), "exec"), vars(module))
    names: Any = vars(finalcall.providers)["_NAMES"]
    monkeypatch.setattr(finalcall.providers, "_NAMES", (NAME, *names))

    recording, expected = shown("json")
    folder = tmp_path / NAME
    folder.mkdir()
    folder.joinpath("EXPECTED.jsonl").write_text(expected)
    folder.joinpath(json.loads(expected)["file"]).write_text(recording)
    folder.joinpath("provider.toml").write_text(shown("toml")[0])
    facts = {**tests.facts.FACTS, **tests.facts.read(tmp_path)}
    monkeypatch.setattr(tests.facts, "FACTS", facts)
    monkeypatch.setattr(test_providers, "FACTS", facts)
    monkeypatch.setattr(test_providers, "FIXTURES", tmp_path)
    monkeypatch.setattr(tests.expectation, "COMPLETE", tests.facts.complete())
    (case,) = cases(folder)
    return case


def test_the_recording_of_the_page_settles(toy: Case) -> None:
    """Its one call may run, whatever the form, the cut and the prefix."""
    assert [outcome for _, _, outcome, _ in toy.expected()] == ["dispatchable"]
    assert check_forms(toy) > 2
    assert check_prefixes(toy) == 2
    check_turns(toy)


@pytest.mark.usefixtures("toy")
def test_the_provider_of_the_page_is_whole() -> None:
    """It passes what the suite asks of every provider, with nothing but what the page shows."""
    assert NAME in PROVIDERS
    test_providers.test_every_provider_has_its_fixtures(NAME)
    test_providers.test_a_provider_knows_words_that_stop_well_and_words_that_do_not(NAME)
    test_providers.test_the_words_that_end_well_are_the_tables(NAME)
    test_providers.test_a_provider_has_a_row_in_each_table_that_it_does_not_stay_outside_of()


def test_the_files_that_the_page_names_are_there() -> None:
    """No step of it points to what has moved."""
    text = PAGE.read_text(encoding="utf-8")
    named = {
        word
        for word in text.replace("`", "\n").splitlines()
        if word.startswith(("src/", "tests/")) and "NAME" not in word
    }
    assert len(named) >= 6
    assert {name for name in named if not (documents.ROOT / name).exists()} == set()
