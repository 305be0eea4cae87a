"""How a turn waits: what ends a wait that has lasted too long, and what breaks its silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

WaitEnd: TypeAlias = Literal["transport", "thread", "task", "memory"]
"""What ends a wait.

`"transport"`: the timeout that each read of the connection is given. `"thread"`: a thread of the
turn's own reads, and is waited for no longer. `"task"`: the same with a task. `"memory"`: what is
read is there already.
"""

Hears: TypeAlias = Literal["bytes", "events"]
"""What breaks a silence: any bytes, the keep-alives that SDKs swallow included; or events alone."""

PacingChoice: TypeAlias = Literal["auto", "thread"]
"""What a caller may ask for: the least that does, or a thread that lets every silence be told."""


@final
@dataclass(frozen=True, slots=True)
class Pacing:
    """How a turn waits for its stream.

    Attributes:
        ended_by: What ends a wait that has lasted too long.
        hears: What breaks a silence.
    """

    ended_by: WaitEnd
    hears: Hears
