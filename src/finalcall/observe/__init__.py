"""What the operator keeps: records, metrics and a monitor of how calls settle. Decides nothing.

Records go to the logger `finalcall` by themselves, once it has a handler and a level; observers are
told of turns once they are added. Where neither is, a turn loads none of this.
"""

from finalcall.listeners import add, failures, remove
from finalcall.observe.handlers import JsonlHandler
from finalcall.observe.monitor import Change, Monitor, MonitorCounts, Ratio
from finalcall.observe.observer import Observer
from finalcall.observe.records import call_fields, correction_fields, record_failures
from finalcall.observe.redaction import MASK, redact
from finalcall.observe.settled import Correction, OutcomeName, SettledCall

__all__ = [
    "MASK",
    "Change",
    "Correction",
    "JsonlHandler",
    "Monitor",
    "MonitorCounts",
    "Observer",
    "OutcomeName",
    "Ratio",
    "SettledCall",
    "add",
    "call_fields",
    "correction_fields",
    "failures",
    "record_failures",
    "redact",
    "remove",
]
