"""Asking a model again: for a call that was wrong, a message that was cut, one that died."""

from finalcall.correction.budget import Corrections, Spent
from finalcall.correction.ledger import AlreadyDispatched, Entry, Ledger, MemoryLedger
from finalcall.correction.policies import larger_budget, same_request
from finalcall.correction.result import RunEnding, RunResult
from finalcall.correction.runs import (
    AsyncTurnRun,
    AttemptStarted,
    RunOptions,
    TurnRun,
    arun_turn,
    run_turn,
)
from finalcall.correction.sqlite_ledger import SQLiteLedger

__all__ = [
    "AlreadyDispatched",
    "AsyncTurnRun",
    "AttemptStarted",
    "Corrections",
    "Entry",
    "Ledger",
    "MemoryLedger",
    "RunEnding",
    "RunOptions",
    "RunResult",
    "SQLiteLedger",
    "Spent",
    "TurnRun",
    "arun_turn",
    "larger_budget",
    "run_turn",
    "same_request",
]
