"""What `import finalcall` costs: the heavy libraries are loaded by whoever first needs them."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import finalcall

HEAVY = (
    "anthropic",
    "boto3",
    "botocore",
    "cohere",
    "google.genai",
    "groq",
    "httpx",
    "httpx2",
    "jsonschema",
    "jsonschema_rs",
    "logging",
    "mistralai",
    "ollama",
    "openai",
    "opentelemetry",
    "pydantic",
    "referencing",
    "xai_sdk",
)
LOOPS = ("anyio", "asyncio", "sniffio", "trio")
OURS = ("finalcall.cli", "finalcall.observe", "finalcall.preview", "finalcall.testing")


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """What importing every name of the package loads."""
    return loaded_by("from finalcall import *")


@pytest.mark.parametrize("module", [*HEAVY, *LOOPS, *OURS])
def test_importing_all_that_the_package_offers_does_not_load(loaded: set[str], module: str) -> None:
    """No SDK, no event loop, no validator, no display parser, no test kit, no command."""
    assert "finalcall.turn" in loaded
    assert module not in loaded


def test_importing_the_package_loads_nothing_of_it() -> None:
    """A name loads its module when it is first used; a module below loads what it needs."""
    assert not [name for name in loaded_by("import finalcall") if name.startswith("finalcall.")]
    assert "finalcall.settler" not in loaded_by("import finalcall.preview")


def test_every_name_is_loaded_from_where_the_stub_says() -> None:
    """What type checkers read and what runs are the same."""
    stub = ast.parse(Path(finalcall.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    declared = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(declared) == set(finalcall.__all__) <= set(dir(finalcall))
    for name, module in declared.items():
        assert getattr(finalcall, name) is getattr(importlib.import_module(str(module)), name)


def test_a_name_that_is_not_there_is_missed_as_in_any_module() -> None:
    """With the words of the language, so that tools that ask for names understand."""
    with pytest.raises(AttributeError, match="module 'finalcall' has no attribute 'turns'"):
        getattr(finalcall, "turns")  # noqa: B009 - a type checker knows better
    assert not hasattr(finalcall, "Nothing")


def test_settling_without_tools_loads_no_validator() -> None:
    """A turn that checks nothing needs neither jsonschema nor pydantic."""
    loaded = loaded_by("import finalcall\nfinalcall.settle([], tools=None, raises=False)")
    assert "finalcall.settler" in loaded
    assert not loaded & {"jsonschema", "pydantic", "finalcall.preview"}


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ({"object": "chat.completion.chunk", "choices": []}, "anthropic gemini langchain"),
        ({"candidates": []}, "openai_chat langchain cohere"),
        ({"type": "message_start", "message": {}}, "openai_chat openai_responses"),
    ],
)
def test_a_stream_loads_no_provider_that_it_cannot_be(first: object, others: str) -> None:
    """The services that most programs speak to are recognised before the others are loaded."""
    loaded = loaded_by(f"import finalcall\nfinalcall.settle([{first!r}], tools=None, raises=False)")
    assert "finalcall.providers.base" in loaded
    assert not loaded & {f"finalcall.providers.{name}" for name in others.split()}


def test_the_command_line_loads_no_sdk() -> None:
    """Reading the command line needs no client: only playing a scene does."""
    loaded = loaded_by("from finalcall.cli import main\nmain(['demo', '--list'])")
    assert "finalcall.cli.demo" in loaded
    assert "anthropic" not in loaded


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("import asyncio\nasyncio.run(main())", {"asyncio", "finalcall.sources.asyncio_reader"}),
        ("import trio\ntrio.run(main)", {"trio", "sniffio", "finalcall.sources.trio_reader"}),
    ],
)
def test_an_asynchronous_turn_loads_only_the_loop_that_runs_it(
    run: str, expected: set[str]
) -> None:
    """A program on one never loads the other, nor anything to tell them apart."""
    turn = "async def main(): await finalcall.asettle([], tools=None, raises=False)"
    loaded = loaded_by(f"import finalcall\n{turn}\n{run}")
    readers = {"finalcall.sources.asyncio_reader", "finalcall.sources.trio_reader"}
    assert loaded & {*LOOPS, *readers} == expected
