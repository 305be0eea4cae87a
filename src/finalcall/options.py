"""The keyword arguments that a settler takes and turns pass on. `Settler` documents each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from finalcall.events import CallSettled
from finalcall.finalize import TruncationPolicy, UnconfirmedPolicy
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
