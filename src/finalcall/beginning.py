"""Tells whose stream it is by its first event, and what is no event of anybody's."""

from __future__ import annotations

import re
from typing import Any, Final

from finalcall.errors import RefusedStream
from finalcall.iterating import TEXT_GIVEN
from finalcall.providers import UnrecognisedStream, recognise
from finalcall.providers.base import Provider
from finalcall.providers.native import read_text
from finalcall.refused import refusal
from finalcall.wire.undecodable import Undecodable

UNUSUAL: Final = frozenset({Undecodable, str})
"""Types of what may be no event: `is_unreadable` tells."""

_KEEP_ALIVE: Final = "keepalive"
"""The type of an event that the OpenAI Responses API sends at any time, before all others too."""

_MARKER: Final = re.compile(r"\[\w+\]")


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


def is_unreadable(native: Any, *, known: bool) -> bool:
    """Whether no provider could have sent this: a frame that cannot be decoded, or text.

    A marker in brackets, such as `[DONE]`, says something to its own provider, and nothing else.

    Args:
        native: An event of a stream, or what stands in its place.
        known: Whose stream it is, is known.

    Raises:
        UnrecognisedStream: It is text, and nothing tells whose: another stream was meant.
    """
    if not isinstance(native, str):
        return isinstance(native, Undecodable)
    text = native.strip()
    if _MARKER.fullmatch(text):
        return False
    if not known:
        raise UnrecognisedStream(TEXT_GIVEN)
    return text != ""
