"""Measures what the library costs beside its peers, and says which bars hold.

`python -m benchmarks` prints Markdown tables; `--write` puts them into `docs/performance.md`;
`--quick` only shows that everything runs. Topics may be named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping

from benchmarks import imports, report, scale, streams, validation
from benchmarks.bars import Table, markdown

TOPICS: Mapping[str, Callable[..., Iterator[Table]]] = {
    "streams": streams.tables,
    "validation": validation.tables,
    "scale": scale.tables,
    "imports": imports.tables,
}


def main() -> None:
    """Measure the topics that were named, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topics", nargs="*", help=f"of {', '.join(TOPICS)}; all if none is named")
    parser.add_argument(
        "--quick", action="store_true", help="run everything once; times mean nothing"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"write into docs/{report.DOCUMENT.name}"
    )
    options = parser.parse_args()
    unknown = set(options.topics) - set(TOPICS)
    if unknown:
        parser.error(f"unknown topics {', '.join(sorted(unknown))}; expected {', '.join(TOPICS)}")
    if options.quick and options.write:
        parser.error("--quick measures nothing that is worth writing")
    missed = held = 0
    for topic in options.topics or TOPICS:
        written: list[str] = [report.circumstances()]
        print(written[0], flush=True)
        for table in TOPICS[topic](quick=options.quick):
            written.append(markdown(table, judged=not options.quick))
            print(f"\n{written[-1]}", flush=True)
            held += sum(row.verdict == "held" for row in table.rows)
            missed += sum(row.verdict == "missed" for row in table.rows)
        if options.write:
            report.write(report.DOCUMENT, topic, "\n\n".join(written))
    judged = "once each, so no bar is judged" if options.quick else f"{held} held, {missed} missed"
    sys.stderr.write(f"done: {judged}\n")


if __name__ == "__main__":
    main()
