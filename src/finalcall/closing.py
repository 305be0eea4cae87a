"""Closes whatever a stream is, where it can be closed."""

from __future__ import annotations

import contextlib
from typing import Any


def close_if_possible(stream: Any) -> None:
    """Call `close()` where there is one."""
    close = getattr(stream, "close", None)
    if callable(close):
        close()


def close_quietly(stream: Any) -> None:
    """Close a stream whose own exception, if it raised one, must not be replaced."""
    with contextlib.suppress(Exception):
        close_if_possible(stream)
