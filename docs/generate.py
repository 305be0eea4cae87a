"""Writes the generated parts of the documents from the tables in the code.

`python docs/generate.py` writes them anew; with `--check` it writes nothing and fails where one is
stale. A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; a generated
picture is a file of its own.
"""

from __future__ import annotations

import ast
import enum
import importlib
import itertools
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import lifecycle_svg
import scenes_svg

from finalcall.cli.explaining import ADVICE
from finalcall.lifecycle import TERMINAL, TRANSITIONS, Input, State
from finalcall.outcomes import Cause
from finalcall.providers import PROVIDERS
from finalcall.retry import CHANGES
from finalcall.stop_reasons import CAUSES, Verdict
from finalcall.testing import FAULTS
from finalcall.testing.faults import table as fault_table
from finalcall.texts import ENGLISH

DOCS: Final = Path(__file__).parent
FIXTURES: Final = DOCS.parent / "tests" / "fixtures"

UNSEEN: Final = "from the SDK's types, unseen"
"""What stands for a recording where no recording shows a quirk."""

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def meanings(kind: type[enum.Enum]) -> dict[str, str]:
    """The sentence below each member of an enumeration, by the member's name."""
    path = importlib.import_module(kind.__module__).__file__
    assert path is not None
    module = ast.parse(Path(path).read_text(encoding="utf-8"))
    (body,) = (
        node.body
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    found: dict[str, str] = {}
    for member, below in itertools.pairwise(body):
        match member, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    headings = list(headings)
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def lifecycle_table() -> str:
    """What every input leads to from every state; a hyphen is a forbidden step."""
    states = [state for state in State if state not in TERMINAL]
    sentences = meanings(Input)
    return table(
        ["input", "meaning", *(f"from `{state}`" for state in states)],
        (
            [
                f"`{given}`",
                sentences[given.name],
                *(f"`{to}`" if (to := TRANSITIONS[state].get(given)) else "-" for state in states),
            ]
            for given in Input
        ),
    )


def causes() -> str:
    """Every cause, what it means, what a person is told, what asking again would change."""
    sentences = meanings(Cause)
    return table(
        ["cause", "meaning", "a person reads", "`retry.change`"],
        (
            [f"`{cause}`", sentences[cause.name], ENGLISH[cause], f"`{CHANGES[cause]}`"]
            for cause in Cause
        ),
    )


def advice() -> str:
    """What to do about each cause."""
    return table(
        ["cause", "what to do"],
        ([f"`{cause}`", ADVICE[cause].replace("|", "\\|")] for cause in Cause),
    )


def makers() -> dict[str, str]:
    """How each fault of the test kit is made, by its name: as its table has it."""
    module = ast.parse(Path(fault_table.__file__).read_text(encoding="utf-8"))
    return {
        ast.literal_eval(name): ast.unparse(made)
        for node in module.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
        for name, made in zip(node.value.keys, node.value.values, strict=True)
        if name is not None
    }


def faults() -> str:
    """Every fault of the test kit by its name."""
    made = makers()
    return table(
        ["name", "made by", "what goes wrong", "some call may run"],
        (
            [f"`{name}`", f"`{made[name]}`", fault.summary, "yes" if fault.lets_run else "no"]
            for name, fault in FAULTS.items()
        ),
    )


def verdicts() -> str:
    """Every verdict on a stop reason, from good to worst."""
    sentences = meanings(Verdict)
    return table(
        ["verdict", "meaning", "cause of a call that it fails"],
        (
            [f"`{verdict}`", sentences[verdict.name], f"`{cause}`" if cause else "-"]
            for verdict in Verdict
            for cause in [CAUSES.get(verdict)]
        ),
    )


def stop_reasons() -> str:
    """Every provider's own words for why a message stopped."""
    rows: list[list[str]] = []
    for provider in PROVIDERS.values():
        words = provider.normaliser.stop_reasons
        for verdict in Verdict:
            found = [f"`{word}`" for word, given in words.items() if given is verdict]
            if found:
                rows.append([f"`{provider.name}`", f"`{verdict}`", ", ".join(found)])
    return table(["provider", "verdict", "words"], rows)


def providers() -> str:
    """A section a provider: what announces, ends and stops a call, its words, its quirks."""
    return "\n\n".join(_provider(name) for name in PROVIDERS)


def _provider(name: str) -> str:
    facts = tomllib.loads((FIXTURES / name / "provider.toml").read_text(encoding="utf-8"))
    words = PROVIDERS[name].normaliser.stop_reasons
    lines = [
        f"## {facts['title']} (`{name}`)",
        "",
        f"- announced by: {facts['announced']}",
        f"- ended by: {facts['ended']}",
        f"- stopped by: {facts['stopped']}",
        "",
        table(
            ["verdict", "stop reasons"],
            (
                [f"`{verdict}`", ", ".join(found)]
                for verdict in Verdict
                if (found := [f"`{word}`" for word, given in words.items() if given is verdict])
            ),
        ),
        "",
        table(
            ["quirk", "shown by"],
            (
                [
                    quirk["text"].replace("|", "\\|"),
                    f"`{quirk['recording']}`" if "recording" in quirk else UNSEEN,
                ]
                for quirk in facts.get("quirks", [])
            ),
        ),
    ]
    return "\n".join(lines)


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "advice": advice,
    "causes": causes,
    "faults": faults,
    "lifecycle": lifecycle_table,
    "providers": providers,
    "stop_reasons": stop_reasons,
    "verdicts": verdicts,
}
"""The generated parts by name."""

PICTURES: Final[Mapping[str, Callable[[], str]]] = {
    "lifecycle.svg": lifecycle_svg.draw,
    "scenes.svg": scenes_svg.draw,
}
"""The generated pictures by the name of their file."""


def regenerated(document: str) -> str:
    """A document with its generated parts as they must be."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n\n{part[3]}", document)


def stale(directory: Path = DOCS) -> dict[Path, str]:
    """The documents and pictures that are not as they must be, with what they must be."""
    found: dict[Path, str] = {}
    for path in sorted(directory.rglob("*.md")) + sorted(directory.rglob("*.svg")):
        content = path.read_text(encoding="utf-8")
        fresh = PICTURES[path.name]() if path.name in PICTURES else regenerated(content)
        if fresh != content:
            found[path] = fresh
    return found


def main(arguments: list[str]) -> int:
    """Write what is stale, or only say what is."""
    check = "--check" in arguments
    found = stale()
    for path, fresh in found.items():
        if not check:
            path.write_text(fresh, encoding="utf-8")
        sys.stdout.write(f"{path.name}: {'stale' if check else 'written'}\n")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
