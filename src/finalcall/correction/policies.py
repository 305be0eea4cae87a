"""When a failed message may be asked for again: explicit choices, off unless they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from finalcall.retry import Retry

Truncated: TypeAlias = Callable[[int | None], int | None]
"""Takes the ceiling that a cut message met, or `None` where none is known; gives the one to ask
again with. The run ends where it gives `None`, or a ceiling that is not larger."""

Abandoned: TypeAlias = Callable[[Retry, int], bool]
"""Takes what is known of a failed message and how often the run has asked again already, 0 at
first; says whether to ask once more. It alone bounds that number. It is not called where the same
request cannot help, and should look at `retry.safe`."""


def larger_budget(factor: float = 2.0, *, ceiling: int) -> Truncated:
    """Ask a cut message again with more tokens: `on_truncated=larger_budget(ceiling=8192)`.

    Where the run was not told its request's `ceiling=`, there is nothing to multiply: it then asks
    once more, with the largest one.

    Args:
        factor: By how much the ceiling grows each time, above 1.
        ceiling: The largest one to ask with, in tokens.

    Raises:
        ValueError: The ceiling would not grow, or is none.
    """
    if not factor > 1:
        raise ValueError(f"factor is {factor!r}; expected more than 1, or the ceiling stays")
    if ceiling < 1:
        raise ValueError(f"ceiling is {ceiling!r}; expected tokens, at least 1")

    def grow(present: int | None) -> int | None:
        larger = ceiling if present is None else min(ceiling, int(present * factor))
        return larger if present is None or larger > present else None

    return grow


def same_request(times: int = 1, *, external: bool = False) -> Abandoned:
    """Ask an abandoned message again, unchanged: `on_abandoned=same_request()`.

    Only where nothing of it can have run: none of its calls was whole, and nobody else ran one.

    Args:
        times: How often, at least 1.
        external: Ask again although calls that the provider runs may have had their effect.

    Raises:
        ValueError: `times` is less than 1.
    """
    if times < 1:
        raise ValueError(f"times is {times!r}; expected 1 or more")

    def again(retry: Retry, asked: int) -> bool:
        safe = retry.safe or (external and not retry.dispatchable)
        return safe and asked < times

    return again
