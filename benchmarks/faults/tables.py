"""The comparison as Markdown: a row a package, a column a question; then a table of all cases."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.faults.agents import Peer
from benchmarks.faults.cases import LIMIT
from benchmarks.faults.judging import Judged, requests

Row = tuple[Peer, str, Sequence[Judged]]
"""A package, the protocol, and its runs."""


_BRIEF = ("agent", "protocol", "ran a tool", "a call vanished", "a screen was", "ended a silence")
"""How the headings begin that `brief` keeps."""


def installed(package: str) -> str | None:
    """The version of a package, or `None`."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def circumstances(peers: Iterable[Peer], seconds: float) -> str:
    """A sentence with the date and the versions."""
    packages = dict.fromkeys(package for peer in peers for package in peer.packages)
    versions = ", ".join(f"{package} {installed(package)}" for package in packages)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"Measured {today} with {python}; {versions}. "
        f"Streams that never end were watched for {seconds:g} s."
    )


def summary(rows: Sequence[Row]) -> str:
    """The counts, a row a package."""
    return _table(
        (
            "agent",
            "protocol",
            "good turns done right",
            "ran a tool from a turn that was cut, refused or dead",
            "ran it with cut arguments",
            "ran arguments that are not strict JSON or miss the schema",
            "a call vanished",
            "a screen was left open",
            f"ended a silence with a limit of {LIMIT:g} s",
            "requests over a schema that is never met",
            "noticed a stop for a call that is not there",
        ),
        ((peer.title, provider, *_counts(peer, judged)) for peer, provider, judged in rows),
    )


def brief(summary: str) -> str:
    """The columns of a summary that a first page has room for.

    Args:
        summary: What `summary` gave.
    """
    lines = [line.strip("| ").split(" | ") for line in summary.splitlines()]
    wanted = [lines[0].index(heading) for heading in lines[0] if heading.startswith(_BRIEF)]
    headings, _, *rows = ([line[column] for column in wanted] for line in lines)
    return _table(headings, rows)


def details(rows: Sequence[Row]) -> str:
    """Every run, a row a case."""
    cases = list(dict.fromkeys(one.case.title for _, _, judged in rows for one in judged))
    cells = [{one.case.title: one.cell for one in judged} for _, _, judged in rows]
    return _table(
        ("the stream", *(f"{peer.title}, {provider}" for peer, provider, _ in rows)),
        ((title, *(column.get(title, "") for column in cells)) for title in cases),
    )


def _counts(peer: Peer, judged: Sequence[Judged]) -> Sequence[str]:
    of = {one.case.name: one for one in judged}
    dead = [one for one in judged if one.case.kind == "dead"]
    cut = [one for one in dead if one.case.cut]
    invalid = [one for one in judged if one.case.kind == "invalid"]
    announced = [one for one in judged if one.case.announced]
    limited = [one for one in judged if one.case.limit is not None]
    whole = [of[name] for name in ("clean", "violation") if name in of]
    return (
        _share([one.was_right for one in whole], good=True),
        _share([one.ran_unproved for one in dead]),
        _share([one.ran_cut for one in cut]),
        _share([one.ran_unproved for one in invalid]),
        _share([one.vanished for one in announced]),
        _share([one.left_open for one in announced]),
        _share([not one.facts.hung for one in limited], good=True),
        _requests(peer, of),
        "" if "no-call" not in of else "yes" if of["no-call"].noticed else "**no**",
    )


def _share(held: Sequence[bool], *, good: bool = False) -> str:
    """How many of how many; in bold where it is not as it should be."""
    if not held:
        return ""
    count = sum(held)
    shown = f"{count} of {len(held)}"
    return shown if count == (len(held) if good else 0) else f"**{shown}**"


def _requests(peer: Peer, of: Mapping[str, Judged]) -> str:
    if "violation-ever" not in of:
        return ""
    facts = of["violation-ever"].facts
    if not peer.own_loop:
        return "no loop of its own"
    shown = requests(facts).partition(" request")[0]
    return f"**{shown} and on**" if facts.capped else shown


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)
