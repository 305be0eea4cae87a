"""The documents' promises: their code runs, and what is generated is fresh."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests import documents

DOCS = documents.ROOT / "docs"


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    """The generator, which is a script and in no package; a module beside it draws."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        spec.loader.exec_module(module)
    yield module
    sys.modules.pop("lifecycle_svg")


WITH_CODE = [
    document
    for document in documents.documents()
    if any(block.language == "python" for block in documents.blocks(document))
    and document.is_relative_to(DOCS)  # the README needs a model to talk to: see its own tests
]


@pytest.mark.parametrize("document", WITH_CODE, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_code_runs(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs as it stands and prints what the document says it prints."""
    monkeypatch.chdir(documents.ROOT)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert documents.run(document) > 0


def test_generated_parts_are_fresh(generate: ModuleType) -> None:
    """What the documents take from the tables is what the tables say."""
    assert not generate.stale()


def test_a_stale_part_is_found_and_written(generate: ModuleType, tmp_path: Path) -> None:
    """A part that differs from its table is reported with the text that it must have."""
    document = tmp_path / "causes.md"
    document.write_text("before\n<!-- generated: causes -->\nold\n<!-- end -->\nafter\n")
    (fresh,) = generate.stale(tmp_path).values()
    assert "`token_ceiling`" in fresh
    assert fresh.startswith("before\n")
    assert fresh.endswith("<!-- end -->\nafter\n")
    document.write_text(fresh)
    assert not generate.stale(tmp_path)


def test_every_generated_part_is_used(generate: ModuleType) -> None:
    """No part is generated for nobody."""
    text = "".join(path.read_text(encoding="utf-8") for path in documents.documents())
    assert [name for name in generate.PARTS if f"<!-- generated: {name} -->" not in text] == []


def test_the_way_into_the_code_is_there() -> None:
    """CONTRIBUTING names files that exist, and says of every package what it is for."""
    text = (documents.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text.split("## Where to begin reading\n")[1].split("\n## ")[0]
    source = documents.ROOT / "src" / "finalcall"
    files = re.findall(r"`([a-z_/]+\.py)`", text)
    assert len(files) == 9
    places = (source, documents.ROOT / "tests")
    assert [name for name in files if not any((place / name).is_file() for place in places)] == []
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    assert set(re.findall(r"`([a-z_]+)/`", text)) - {"tests", "fixtures"} == packages


def test_the_check_fails_when_stale(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--check` writes nothing and gives status 1; without it the part is written."""
    assert sys.modules.get("generate") is None
    document = tmp_path / "verdicts.md"
    document.write_text("<!-- generated: verdicts -->\n<!-- end -->\n")
    monkeypatch.setattr(generate.stale, "__defaults__", (tmp_path,))
    assert generate.main(["--check"]) == 1
    assert "`complete`" not in document.read_text()
    assert generate.main([]) == 0
    assert "`complete`" in document.read_text()
    assert generate.main(["--check"]) == 0
