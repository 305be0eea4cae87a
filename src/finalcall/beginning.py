"""Tells whose stream it is by its first event."""

from __future__ import annotations

import re
from typing import Any, Final

from finalcall.errors import RefusedStream
from finalcall.iterating import TEXT_GIVEN
from finalcall.providers import UnrecognisedStream, recognise
from finalcall.providers.base import Provider
from finalcall.providers.native import read_text
from finalcall.refused import refusal

_KEEP_ALIVES: Final = frozenset({"keepalive", "ping"})
"""Types of events that services and gateways send at any time, before all others too."""

_MARKER: Final = re.compile(r"\[\w+\]")
"""What some services say around a stream, such as `[DONE]`: it tells nothing of whose it is."""


def provider_of(native: Any) -> Provider | None:
    """Whose stream begins with an event.

    Args:
        native: The first event, or one before which only such came as tell nothing.

    Returns:
        The provider; `None` where any stream may begin with this.

    Raises:
        UnrecognisedStream: It is no known provider's, or it is text: events were meant.
        RefusedStream: It is of a stream whose calls an SDK runs itself.
    """
    if native is None or native == {} or read_text(native, "type") in _KEEP_ALIVES:
        return None
    if isinstance(native, str):
        if _MARKER.fullmatch(native.strip()):
            return None
        raise UnrecognisedStream(TEXT_GIVEN)
    sentence = refusal(native)
    if sentence is not None:
        raise RefusedStream(sentence)
    return recognise(native)
