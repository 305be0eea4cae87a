"""finalcall: every tool call that a model's stream announces is settled exactly once.

Put it between a model's event stream and the code that runs its tool calls. A call that is proved
whole is a `Dispatchable`; anything else is a `SchemaError`, which can be answered to the model, or
a `Failed`, which says how far the call got and why.
"""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "Accumulator": "accumulator",
    "Anomaly": "events",
    "ArgumentsDelta": "events",
    "ArgumentsRestated": "events",
    "AsyncTurn": "aio",
    "Buffer": "accumulator",
    "Call": "events",
    "CallAnnounced": "events",
    "CallCompleted": "events",
    "CallKind": "events",
    "CallSettled": "events",
    "CallWithdrawn": "events",
    "Cause": "outcomes",
    "Dispatchable": "outcomes",
    "Ending": "ending",
    "Event": "events",
    "ExternalCall": "events",
    "ExternalCallChanged": "events",
    "ExternalState": "events",
    "Failed": "outcomes",
    "Idle": "idle",
    "Limits": "limits",
    "MessageStopped": "events",
    "Other": "events",
    "Outcome": "outcomes",
    "Pacing": "pacing",
    "PreviewChanged": "events",
    "ProviderFault": "errors",
    "ReasoningDelta": "events",
    "RefusedStream": "errors",
    "SchemaError": "outcomes",
    "Settler": "settler",
    "State": "lifecycle",
    "Stats": "stats",
    "StopReason": "stop_reasons",
    "StreamEndedEarly": "errors",
    "StreamFault": "events",
    "StreamIdle": "errors",
    "StreamQuiet": "events",
    "TextDelta": "events",
    "Tool": "tools",
    "ToolResult": "results",
    "ToolSet": "tools",
    "Turn": "turn",
    "TurnVerdict": "ending",
    "UnrecognisedStream": "providers",
    "Usage": "usage",
    "Verdict": "stop_reasons",
    "Violation": "outcomes",
    "__version__": "version",
    "ahear": "sources.hooks",
    "asettle": "settling",
    "finalize": "finalizing",
    "hear": "sources.hooks",
    "settle": "settling",
}
"""The module of each name. It is loaded when the name is first used, so that `import finalcall`
costs next to nothing, and a module below it no more than it needs. Type checkers read
`__init__.pyi`."""

__all__ = [*_HOMES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"finalcall.{_HOMES[name]}"), name)
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
