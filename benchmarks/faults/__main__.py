"""What a package does when a model's stream goes wrong: run for real, over HTTP on this machine.

`python -m benchmarks.faults` runs every case on every agent that is installed and prints Markdown;
`--write` puts it into `docs/comparison.md`, and some of its columns into the README. Packages that
are missing are named, and left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import report
from benchmarks.faults import tables
from benchmarks.faults.agents import PEERS, Peer
from benchmarks.faults.cases import CASES, Case
from benchmarks.faults.judging import Judged
from benchmarks.faults.running import BrokenRunError, run

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "comparison.md"
README = DOCUMENT.parent.parent / "README.md"
QUICK = ("clean", "ceiling-whole", "eof-cut")
SECONDS = 10.0
AT_ONCE = 2  # processes: more of them and a slow machine, not a package, would be late


def main() -> int:
    """Run the comparison; 1 if an agent could not be run at all."""
    options = _options()
    peers = [peer for peer in PEERS if peer.name in options.peers and _is_installed(peer)]
    cases = [case for case in CASES if case.name in options.cases]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda peer: _rows(peer, cases, as_json=options.json), peers)
        rows = list(itertools.chain.from_iterable(found))
    circumstances, summary = tables.circumstances(peers, SECONDS), tables.summary(rows)
    text = "\n\n".join((circumstances, summary, tables.details(rows)))
    if not options.json:
        print(text)
    complete = all(len(judged) == len(_sent(cases, name)) for _, name, judged in rows)
    if options.write and complete:
        report.write(DOCUMENT, "faults", text)
        report.write(README, "faults", f"{tables.brief(summary)}\n\n{circumstances}")
    return 0 if complete else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", type=_one_of(PEERS), default=[peer.name for peer in PEERS])
    parser.add_argument("--cases", type=_one_of(CASES), default=[case.name for case in CASES])
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    parser.add_argument("--json", action="store_true", help="print each run's facts instead")
    parser.add_argument("--write", action="store_true", help=f"write into docs/{DOCUMENT.name}")
    options = parser.parse_args()
    if options.quick:
        options.cases = QUICK
    if options.write and len(options.peers) + len(options.cases) < len(PEERS) + len(CASES):
        parser.error("a part of the comparison is not worth writing: leave out the choice")
    return options


def _one_of(known: Sequence[Peer] | Sequence[Case]) -> Callable[[str], list[str]]:
    """A reader of names with commas between them."""
    names = [one.name for one in known]

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := set(chosen) - set(names):
            found, expected = ", ".join(sorted(unknown)), ", ".join(names)
            raise argparse.ArgumentTypeError(f"found {found}; expected some of {expected}")
        return chosen

    return read


def _is_installed(peer: Peer) -> bool:
    missing = [package for package in peer.packages if tables.installed(package) is None]
    if missing:
        command = f"pip install {' '.join(missing)}"
        sys.stderr.write(f"{peer.name} is left out, it is not installed: {command}\n")
    return not missing


def _rows(peer: Peer, cases: Sequence[Case], *, as_json: bool) -> list[tables.Row]:
    """One package in all cases, a row a protocol; what cannot be run leaves its rows short."""
    wanted = [(name, case) for name in peer.providers for case in _sent(cases, name)]
    judged: dict[str, list[Judged]] = {provider: [] for provider in peer.providers}
    try:
        for case, facts in run(peer, wanted, SECONDS):
            one = Judged(case, facts)
            judged[facts.provider].append(one)
            _tell(one, as_json=as_json)
    except BrokenRunError as error:
        sys.stderr.write(f"not run: {error}\n")
    return [(peer, provider, found) for provider, found in judged.items()]


def _sent(cases: Sequence[Case], provider: str) -> list[Case]:
    return [case for case in cases if case.never != provider]


def _tell(one: Judged, *, as_json: bool) -> None:
    facts = one.facts
    words = one.cell.replace("*", "")
    sys.stderr.write(f"{facts.peer} over {facts.provider}, {facts.case}: {words}\n")
    if as_json:
        print(json.dumps(dataclasses.asdict(facts)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
