"""Modules that users import from say what is theirs, and a type checker lets them have it."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, is_typeddict

import pytest

from tests.test_architecture import definition, export_order, is_documented

EXPORTS: dict[str, set[str]] = {
    "finalcall.blocks": {"BlockField", "BlockState", "Blocks", "CallBlock"},
    "finalcall.correction": {"Corrections", "run_turn"},
    "finalcall.gaps": {"GapSummary", "Gaps"},
    "finalcall.observe": {"JsonlHandler", "Monitor", "Observer", "redact"},
    "finalcall.terminal": {"TerminalBlocks"},
    "finalcall.texts": {"GERMAN", "JAPANESE", "Texts"},
    "finalcall.tools": {"Display", "ToolSet"},
}
"""Modules beside the first one, with some of what they must offer."""


def is_protocol(found: type) -> bool:
    return bool(getattr(found, "_is_protocol", False))


@pytest.mark.parametrize(("module", "wanted"), EXPORTS.items(), ids=EXPORTS.keys())
def test_a_public_module_names_what_it_offers(module: str, wanted: set[str]) -> None:
    """In order, each with a sentence about it; each class is final, a protocol or a dict."""
    loaded: Any = importlib.import_module(module)
    assert wanted <= set(loaded.__all__)
    assert list(loaded.__all__) == sorted(loaded.__all__, key=export_order)
    for name in loaded.__all__:
        assert is_documented(*definition(module, name)), name
        found = getattr(loaded, name)
        if inspect.isclass(found):
            final = getattr(found, "__final__", False)
            assert final or is_protocol(found) or is_typeddict(found), name
