"""Plays one stored stream as it came, with the blocks of its calls on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

from finalcall.settler import Settler
from finalcall.terminal import TerminalBlocks
from finalcall.testing.recorded_lines import EXPECTED
from finalcall.testing.replaying import StoredStream, UnreadableRecording, end_stream

PACE: Final = 0.03
"""Seconds before each event of a stream without times: about as models write."""

Sleep: TypeAlias = Callable[[float], object]


def play(
    settler: Settler,
    stream: StoredStream,
    screen: TerminalBlocks,
    *,
    speed: float,
    sleep: Sleep = time.sleep,
) -> None:
    """Play a stream to its end, on a clock of its own: the screen's work costs it no time.

    Args:
        settler: A new one, whose blocks the screen shows. It is told the recorded times, so what
            it says of a silence comes when it would have come.
        stream: What to play.
        screen: Where its blocks are shown.
        speed: How many recorded seconds pass in one.
        sleep: Waits so many seconds.

    Raises:
        ValueError: The stream is no known provider's.
        RefusedStream: Its calls are run by an SDK.
    """
    now = stream.begun

    def wait_until(due: float) -> float:
        before = now
        while (alarm := settler.deadline(before)) < due and settler.ending is None:
            sleep((alarm - before) / speed)
            before = alarm
            settler.tick(before)
        sleep((due - before) / speed)
        return due

    with screen:
        for number, native in enumerate(stream.natives):
            now = wait_until(now + PACE if stream.times is None else stream.times[number])
            settler.feed(native, now)
        if stream.over is not None and settler.ending is None:
            wait_until(stream.over)
        end_stream(settler, stream)
    if settler.provider is None:
        raise UnreadableRecording(f"it holds no event of a known provider; {EXPECTED}")
