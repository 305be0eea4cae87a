"""What a person is told of a settled call: which tool, whether it runs, and why not.

Never the arguments, the parse error or the schema: those belong in a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from finalcall.outcomes import Cause, Dispatchable, Failed, Outcome, SchemaError

NOT_RUN: Final[Mapping[Cause, str]] = {
    Cause.TOKEN_CEILING: "not run (the request was cut short)",
    Cause.SAFETY: "not run (stopped by a safety filter)",
    Cause.PAUSED: "not run (the service paused)",
    Cause.PROVIDER_ERROR: "not run (the service failed)",
    Cause.UNKNOWN_STOP: "not run (stopped for an unknown reason)",
    Cause.ENDED_EARLY: "not run (the reply ended early)",
    Cause.DISCONNECTED: "not run (connection lost)",
    Cause.IDLE: "not run (the connection went silent)",
    Cause.STALLED: "not run (the service made no progress)",
    Cause.CANCELLED: "cancelled",
    Cause.MALFORMED: "not run (the request was garbled)",
    Cause.LIMIT: "not run (the request was too large)",
}
"""Why a failed call did not run, by cause."""


def final_line(outcome: Outcome) -> str:
    """The last line of a call's block, for example `⊘ create_ticket — cancelled`."""
    name = outcome.name or "unnamed call"
    match outcome:
        case Dispatchable():
            return f"✓ {name} — ready to run"
        case SchemaError():
            return f"⊘ {name} — not run (to be corrected)"
        case Failed():
            return f"⊘ {name} — {NOT_RUN[outcome.cause]}"
