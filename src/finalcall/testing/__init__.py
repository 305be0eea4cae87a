"""The test kit: recordings, faults, and a loopback server that real clients can be pointed at."""

from finalcall.testing.fake_clock import FakeClock
from finalcall.testing.faults import (
    cut_after,
    cut_at_byte,
    end_without_terminal,
    pings,
    reset_after,
    stall_after,
)
from finalcall.testing.recordings import Framing, RecordedEvent, Recording
from finalcall.testing.server import RecordedRequest, ReplayServer
from finalcall.testing.steps import (
    Close,
    CloseAbruptly,
    Fault,
    KeepOpen,
    Pause,
    Pings,
    Reset,
    Script,
    Send,
    Stall,
    Step,
)

__all__ = [
    "Close",
    "CloseAbruptly",
    "FakeClock",
    "Fault",
    "Framing",
    "KeepOpen",
    "Pause",
    "Pings",
    "RecordedEvent",
    "RecordedRequest",
    "Recording",
    "ReplayServer",
    "Reset",
    "Script",
    "Send",
    "Stall",
    "Step",
    "cut_after",
    "cut_at_byte",
    "end_without_terminal",
    "pings",
    "reset_after",
    "stall_after",
]
