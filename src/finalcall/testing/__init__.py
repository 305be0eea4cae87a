"""The test kit: models' replies, recordings, faults, and a loopback server for real clients."""

from finalcall.testing.fake_clock import FakeClock
from finalcall.testing.faults import (
    cut_after,
    cut_at_byte,
    end_without_terminal,
    pings,
    reset_after,
    stall_after,
)
from finalcall.testing.outcomes import dispatchable, schema_error
from finalcall.testing.recordings import Framing, RecordedEvent, Recording
from finalcall.testing.replies import Reply
from finalcall.testing.reply_parts import Call, Part, Text, Thinking, Tokens
from finalcall.testing.scripted_model import ModelOptions, ModelRequest, ScriptedModel
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
    "Call",
    "Close",
    "CloseAbruptly",
    "FakeClock",
    "Fault",
    "Framing",
    "KeepOpen",
    "ModelOptions",
    "ModelRequest",
    "Part",
    "Pause",
    "Pings",
    "RecordedEvent",
    "RecordedRequest",
    "Recording",
    "ReplayServer",
    "Reply",
    "Reset",
    "Script",
    "ScriptedModel",
    "Send",
    "Stall",
    "Step",
    "Text",
    "Thinking",
    "Tokens",
    "cut_after",
    "cut_at_byte",
    "dispatchable",
    "end_without_terminal",
    "pings",
    "reset_after",
    "schema_error",
    "stall_after",
]
