# What `finalcall` offers and where each name comes from, for type checkers; `__init__.py` loads it.

from finalcall.accumulator import Accumulator, Buffer
from finalcall.aio import AsyncTurn
from finalcall.ending import Ending, TurnVerdict
from finalcall.errors import ProviderFault, RefusedStream, StreamEndedEarly, StreamIdle
from finalcall.events import (
    Anomaly,
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallCompleted,
    CallKind,
    CallSettled,
    CallWithdrawn,
    Event,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    MessageStopped,
    Other,
    PreviewChanged,
    ReasoningDelta,
    StreamFault,
    StreamQuiet,
    TextDelta,
)
from finalcall.finalizing import finalize
from finalcall.idle import Idle
from finalcall.lifecycle import State
from finalcall.limits import Limits
from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome, SchemaError, Violation
from finalcall.pacing import Pacing
from finalcall.providers import UnrecognisedStream
from finalcall.results import ToolResult
from finalcall.settler import Settler
from finalcall.settling import asettle, settle
from finalcall.sources.hooks import ahear, hear
from finalcall.stats import Stats
from finalcall.stop_reasons import StopReason, Verdict
from finalcall.tools import Tool, ToolSet
from finalcall.turn import Turn
from finalcall.usage import Usage
from finalcall.version import __version__

__all__ = [
    "Accumulator",
    "Anomaly",
    "ArgumentsDelta",
    "ArgumentsRestated",
    "AsyncTurn",
    "Buffer",
    "Call",
    "CallAnnounced",
    "CallCompleted",
    "CallKind",
    "CallSettled",
    "CallWithdrawn",
    "Cause",
    "Dispatchable",
    "Ending",
    "Event",
    "ExternalCall",
    "ExternalCallChanged",
    "ExternalState",
    "Failed",
    "Idle",
    "Limits",
    "MessageStopped",
    "Other",
    "Outcome",
    "Pacing",
    "PreviewChanged",
    "ProviderFault",
    "ReasoningDelta",
    "RefusedStream",
    "SchemaError",
    "Settler",
    "State",
    "Stats",
    "StopReason",
    "StreamEndedEarly",
    "StreamFault",
    "StreamIdle",
    "StreamQuiet",
    "TextDelta",
    "Tool",
    "ToolResult",
    "ToolSet",
    "Turn",
    "TurnVerdict",
    "UnrecognisedStream",
    "Usage",
    "Verdict",
    "Violation",
    "__version__",
    "ahear",
    "asettle",
    "finalize",
    "hear",
    "settle",
]
