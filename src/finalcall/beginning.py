"""Tells whose stream it is by its first event, unless that comes before all that could tell."""

from __future__ import annotations

from typing import Any, Final

from finalcall.errors import RefusedStream
from finalcall.providers import recognise
from finalcall.providers.base import Provider
from finalcall.providers.native import read_text
from finalcall.refused import refusal

_KEEP_ALIVE: Final = "keepalive"
"""The type of an event that the OpenAI Responses API sends at any time, before all others too."""


def provider_of(native: Any) -> Provider | None:
    """Whose stream begins with an event.

    Args:
        native: The first event, or one before which only such came as tell nothing.

    Returns:
        The provider; `None` where any stream may begin with this.

    Raises:
        UnrecognisedStream: It is no known provider's.
        RefusedStream: It is of a stream whose calls an SDK runs itself.
    """
    if native is None or native == "[DONE]" or read_text(native, "type") == _KEEP_ALIVE:
        return None
    sentence = refusal(native)
    if sentence is not None:
        raise RefusedStream(sentence)
    return recognise(native)
