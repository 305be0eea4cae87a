"""Thousands of turns at once over a faulty network, for a while: is anything lost, or left over?

`python -m benchmarks.soak` runs a server, an asynchronous and a synchronous client, each in a
process of its own. It ends with 1 where a call was lost, settled twice or run without proof, or
where a task, a thread or a socket is left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TypeAlias

from benchmarks import soak_clients, soak_server
from benchmarks.soak_clients import Tally

_FAILURES = ("lost", "twice", "wrong", "leaked_tasks", "leaked_threads", "leaked_sockets")
_Arguments: TypeAlias = tuple[Sequence[str], int, float, tuple[float, float]]
_Run: TypeAlias = Callable[[Sequence[str], int, float, tuple[float, float]], Tally]


def main() -> int:
    """Run the soak and print what came of it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=120, help="how long turns are begun")
    parser.add_argument("--turns", type=int, default=10_000, help="asynchronous turns at once")
    parser.add_argument("--sync", type=int, default=200, help="synchronous turns at once")
    parser.add_argument("--life", type=float, help="seconds that a stream takes at most")
    options = parser.parse_args()
    longest = options.life or options.seconds
    lives = (longest / 2, longest)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=soak_server.serve, args=(theirs,), daemon=True)
    server.start()
    urls = ours.recv()
    shorter = (longest / 12, longest / 6)  # a thread each, so these are soon open
    runs: list[tuple[str, _Run, int, tuple[float, float]]] = [
        ("asynchronous", soak_clients.run_async, options.turns, lives),
        ("synchronous", soak_clients.run_sync, options.sync, shorter),
    ]
    clients: list[tuple[str, Connection]] = []
    for name, run, turns, life in runs:
        if turns:
            here, there = context.Pipe()
            arguments = (there, run, (urls, turns, options.seconds, life))
            context.Process(target=_client, args=arguments, daemon=True).start()
            there.close()
            clients.append((name, here))
    tallies = [(name, pipe.recv()) for name, pipe in clients]
    ours.send("stop")
    answered = ours.recv()
    server.join()
    print(f"{answered:,} streams served\n")
    failed = 0
    for name, tally in tallies:
        print("\n".join(_lines(name, tally)), end="\n\n")
        failed += sum(getattr(tally, failure) for failure in _FAILURES)
    print("nothing lost, nothing left" if not failed else f"FAILED: {failed} lost, wrong or left")
    return 1 if failed else 0


def _client(pipe: Connection, run: _Run, arguments: _Arguments) -> None:
    pipe.send(run(*arguments))


def _lines(name: str, tally: Tally) -> Iterator[str]:
    yield f"{name}: {tally.turns:,} turns, at most {tally.most_at_once:,} at once"
    yield f"  pools of connections {tally.clients:,}; open files allowed {tally.files:,}"
    yield f"  announced {tally.announced:,}, settled {tally.settled:,}"
    yield f"  lost {tally.lost}, settled twice {tally.twice}, run without proof {tally.wrong}"
    yield (
        f"  left over: tasks {tally.leaked_tasks}, threads {tally.leaked_threads}, "
        f"sockets {tally.leaked_sockets}"
    )
    for title, counts in (
        ("outcomes", tally.outcomes),
        ("read by", tally.readers),
        ("faults", tally.faults),
        ("endings", tally.endings),
    ):
        listed = ", ".join(f"{word} {count:,}" for word, count in counts.most_common())
        yield f"  {title}: {listed or 'none'}"
    yield (
        f"  memory: {tally.memory_start:.0f} MB at the start, {tally.memory_most:.0f} at most, "
        f"{tally.memory_end:.0f} at the end"
    )
    yield (
        f"  timers: armed {tally.timers_armed:,}, fired {tally.timers_fired:,}, "
        f"{tally.timer_seconds:.3f} of {tally.cpu_seconds:.1f} CPU seconds, "
        f"for {tally.events:,} events"
    )


if __name__ == "__main__":
    sys.exit(main())
