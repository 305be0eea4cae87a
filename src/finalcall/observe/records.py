"""One structured record a settled call, through the standard `logging`.

A record is a log record of the logger `finalcall` with its fields in one attribute, `finalcall`, a
dict that JSON can hold. So any JSON formatter writes it, and structlog's `ExtraAdder` finds it.

Nothing is built unless a handler would get it: set the logger's level to `INFO` to have every
record, to `WARNING` for those of calls that failed. The library adds no handler.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, overload

from finalcall.listeners import LOG_FAILURES, LOGGER, log
from finalcall.observe.settled import Correction, SettledCall
from finalcall.outcomes import Cause

FIELD: Final = "finalcall"
"""The attribute of a log record that holds the fields."""

KEPT_DAYS: Final = 7
"""How long a record is kept: long enough to look into what a user reports, no longer."""

LEVELS: Final[Mapping[str, int]] = {
    "dispatchable": logging.INFO,
    "schema_error": logging.INFO,
    "failed": logging.WARNING,
}
"""By outcome. An invalid call is mostly corrected, and a call that failed is lost."""

QUIET_CAUSES: Final = frozenset({Cause.CANCELLED, Cause.PAUSED})
"""Causes that are nobody's fault: calls that failed for them are `INFO`."""

MAX_NAME: Final = 256
"""Characters that are kept of a name, a key or an id: a model, or a proxy, may send any number."""

_LOGGER: Final = logging.getLogger(LOGGER)


def record_failures() -> int:
    """How often a log handler or filter has raised at what finalcall logged, in this process."""
    return LOG_FAILURES.count


def level_of(settled: SettledCall) -> int:
    """The level of a call's record."""
    if settled.cause in QUIET_CAUSES:
        return logging.INFO
    return LEVELS[settled.outcome]


def call_fields(settled: SettledCall, at: datetime, days: float = KEPT_DAYS) -> dict[str, Any]:
    """The fields of a call's record, in the order in which they are written.

    Args:
        settled: The call.
        at: When it settled, aware of its time zone.
        days: How long the record may be kept.

    Returns:
        What `json.dumps` takes: `event` (`"call"`), `at`, `key`, `call_id`, `tool`, `offered`,
        `provider`, `outcome`, `reason`, `cause`, `violations` (keywords), `bytes`, `fragments`,
        `largest_gap` and `duration` (seconds), `raw`, `expires_at`. Times are ISO 8601 in UTC.
        What is not known is `None`. See `SettledCall` for each. Of names and ids, 256 characters
        are kept; one that was cut ends in `…`.
    """
    return {
        "event": "call",
        "at": timestamp(at),
        "key": brief_name(settled.key),
        "call_id": brief_name(settled.call_id),
        "tool": brief_name(settled.tool),
        "offered": settled.offered,
        "provider": settled.provider,
        "outcome": settled.outcome,
        "reason": settled.reason,
        "cause": None if settled.cause is None else settled.cause.value,
        "violations": [brief_name(word) for word in settled.violations],
        "bytes": settled.size,
        "fragments": settled.fragments,
        "largest_gap": _brief(settled.largest_gap),
        "duration": _brief(settled.duration),
        "raw": settled.raw,
        "expires_at": timestamp(at + timedelta(days=days)),
    }


def correction_fields(
    correction: Correction, at: datetime, days: float = KEPT_DAYS
) -> dict[str, Any]:
    """The fields of a correction's record: what came of telling the model of its mistakes.

    Args:
        correction: The correction.
        at: When the message that answered it was settled, aware of its time zone.
        days: How long the record may be kept.

    Returns:
        What `json.dumps` takes: `event` (`"correction"`), `at`, `provider`, `attempt`, `round`,
        `tools`, `violations`, `verdict`, `recovered`, `expires_at`. See `Correction` for each.
    """
    return {
        "event": "correction",
        "at": timestamp(at),
        "provider": correction.provider,
        "attempt": correction.attempt,
        "round": correction.round,
        "tools": [brief_name(name) for name in correction.tools],
        "violations": [brief_name(word) for word in correction.violations],
        "verdict": correction.verdict,
        "recovered": correction.recovered,
        "expires_at": timestamp(at + timedelta(days=days)),
    }


def log_call(settled: SettledCall) -> None:
    """Log a call's record, if its level is listened to."""
    level = level_of(settled)
    if _LOGGER.isEnabledFor(level):
        how = [word for word in (settled.outcome, settled.reason, settled.cause) if word]
        _log(
            level,
            f"the call {brief_name(settled.key)!r} of {brief_name(settled.tool)!r} settled: "
            f"{', '.join(how)}",
            call_fields(settled, datetime.now(UTC)),
        )


def log_correction(correction: Correction) -> None:
    """Log a correction's record, if its level is listened to."""
    if _LOGGER.isEnabledFor(logging.INFO):
        _log(
            logging.INFO,
            f"correction {correction.round} was answered: {correction.verdict}",
            correction_fields(correction, datetime.now(UTC)),
        )


@overload
def brief_name(name: str) -> str: ...
@overload
def brief_name(name: None) -> None: ...
def brief_name(name: str | None) -> str | None:
    """As much of a name, a key or an id as is kept."""
    return name if name is None or len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def timestamp(at: datetime) -> str:
    """A time as records have it: ISO 8601, in UTC, to the millisecond, ending in `Z`."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _log(level: int, message: str, fields: dict[str, Any]) -> None:
    # Passed apart, so that a % in a name is no place for an argument.
    log(level, "%s", message, extra={FIELD: fields})


def _brief(seconds: float | None) -> float | None:
    """Seconds to the microsecond: what no clock measures is not written."""
    return None if seconds is None else round(seconds, 6)
