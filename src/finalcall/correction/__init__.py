"""Asking a model again: for a call that was wrong, a message that was cut, one that died."""

from finalcall.attempts import AttemptStarted
from finalcall.correction.budget import Corrections, Spent
from finalcall.correction.ledger import AlreadyDispatched, Entry, Ledger, MemoryLedger
from finalcall.correction.options import DispatchFunction, Request, RunOptions
from finalcall.correction.policies import Abandoned, Truncated, larger_budget, same_request
from finalcall.correction.result import RunEnding, RunResult
from finalcall.correction.runs import (
    AsyncTurnRun,
    TurnRun,
    arun_turn,
    run_turn,
)
from finalcall.correction.sqlite_ledger import SQLiteLedger
from finalcall.retry import Retry

__all__ = [
    "Abandoned",
    "AlreadyDispatched",
    "AsyncTurnRun",
    "AttemptStarted",
    "Corrections",
    "DispatchFunction",
    "Entry",
    "Ledger",
    "MemoryLedger",
    "Request",
    "Retry",
    "RunEnding",
    "RunOptions",
    "RunResult",
    "SQLiteLedger",
    "Spent",
    "Truncated",
    "TurnRun",
    "arun_turn",
    "larger_budget",
    "run_turn",
    "same_request",
]
