"""Ways in which a model's stream goes wrong, as values that can be put into any script.

`script.with_faults(stall_after(3), pings(0.1))` is a stream that sends three events and then
nothing but keep-alives; `script.with_faults(FAULTS["ceiling"])` is cut by a token ceiling.
"""

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
from finalcall.testing.faults.table import FAULTS
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

__all__ = [
    "FAULTS",
    "ceiling",
    "content_filter",
    "cut_after",
    "cut_at_byte",
    "deliver_twice",
    "duplicate_key",
    "end_twice",
    "end_without_terminal",
    "garbage_byte",
    "in_band_error",
    "lose_connection",
    "missing_id",
    "missing_index",
    "ping_after",
    "pings",
    "refusal",
    "repeated_id",
    "repeated_name",
    "reset_after",
    "same_index",
    "splice",
    "split_characters",
    "stall_after",
    "stay_open",
    "trickle",
]
