"""The keyword arguments that a settler takes and turns pass on. `Settler` documents each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from finalcall.events import CallSettled
from finalcall.finalizing import TruncationPolicy, UnconfirmedPolicy
from finalcall.idle import Idle
from finalcall.limits import Limits
from finalcall.message import Choices
from finalcall.previews import PreviewFactory
from finalcall.stop_reasons import Verdict

if TYPE_CHECKING:
    from finalcall.blocks import Blocks

OnSettled: TypeAlias = Callable[[CallSettled], object]
"""What is called with each call's outcome, once."""


class SettlerOptions(TypedDict, total=False):
    """Keyword arguments of `Settler` that turns pass through; `Settler` documents them."""

    provider: str | None
    ceiling: int | None
    truncation: TruncationPolicy
    unconfirmed: UnconfirmedPolicy
    choices: Choices
    stop_reasons: Mapping[str, Verdict] | None
    limits: Limits
    idle_timeout: float | Idle | None
    after_stop: float
    on_settled: OnSettled | None
    preview: PreviewFactory | None
    blocks: Blocks | None


def refuse_unknown(given: Iterable[str], known: Collection[str], what: str) -> None:
    """Refuse the keyword arguments that nobody takes.

    Args:
        given: The names that were given.
        known: The names that there are.
        what: What they are, in the plural, for the message.

    Raises:
        TypeError: A name is unknown; the text says what there is.
    """
    for name in given:
        if name not in known:
            import difflib  # only somebody's mistake needs it

            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(
                f"{name!r} is none of the {what}: they are {', '.join(sorted(known))}{hint}"
            )
