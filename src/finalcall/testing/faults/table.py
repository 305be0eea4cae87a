"""Every fault by name, with the parameters that suit any stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from finalcall.testing.faults.calls import (
    deliver_twice,
    duplicate_key,
    end_twice,
    missing_id,
    missing_index,
    repeated_id,
    repeated_name,
    same_index,
    splice,
)
from finalcall.testing.faults.meaning import ceiling, content_filter, in_band_error, refusal
from finalcall.testing.faults.transport import (
    cut_after,
    cut_at_byte,
    end_without_terminal,
    garbage_byte,
    lose_connection,
    ping_after,
    pings,
    reset_after,
    split_characters,
    stall_after,
    stay_open,
    trickle,
)
from finalcall.testing.steps import Fault

FAULTS: Final[Mapping[str, Fault]] = {
    "cut-at-byte": cut_at_byte(),
    "cut-at-event": cut_after(),
    "end-without-terminal": end_without_terminal(),
    "connection-lost": lose_connection(),
    "connection-reset": reset_after(),
    "stall": stall_after(),
    "stall-with-pings": ping_after(),
    "ceiling": ceiling(),
    "ceiling-without-call-end": ceiling(call_end=False),
    "content-filter": content_filter(),
    "refusal": refusal(),
    "in-band-error": in_band_error(),
    "garbage-byte": garbage_byte(),
    "duplicate-key": duplicate_key(),
    "missing-index": missing_index(),
    "same-index": same_index(),
    "missing-id": missing_id(),
    "repeated-id": repeated_id(),
    "repeated-name": repeated_name(),
    "double-delivery": deliver_twice(),
    "double-end": end_twice(),
    "spliced": splice(),
    "slow-trickle": trickle(),
    "split-characters": split_characters(),
    "pings": pings(),
    "open-after-end": stay_open(),
}
"""Every named fault, by name. What strikes at one place does so in the first call."""
