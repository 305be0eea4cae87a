"""The inside of strings: where they end, what their escapes mean, what a border has cut.

Nothing here knows where in a document a string stands.
"""

from __future__ import annotations

import json.decoder
import re
from collections.abc import Callable
from typing import Any, Final, cast

__all__ = ["decode_open", "split_pieces"]

_HIGH: Final = r"u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = r"u[dD][c-fC-F][0-9a-fA-F]{2}"
_UNPAIRED: Final = r"u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"

_GOOD: Final = re.compile(rf'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|{_UNPAIRED}|{_HIGH}\\{_LOW}))*+')
_CUT_ESCAPE: Final = re.compile(
    r"\\(?:u(?:[0-9a-cA-CefEF][0-9a-fA-F]{0,2}|[dD](?:[0-7][0-9a-fA-F]?|[89abAB][0-9a-fA-F]?)?)?)?"
    rf"|\\{_HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?"
)
_HALF: Final = re.compile("[\ud800-\udfff]")

_scan_string: Final = cast(
    "Callable[[str, int], tuple[str, int]]", cast("Any", json.decoder).scanstring
)
"""The standard library's own: from after a quote to after the next, decoded."""


def decode_open(text: str) -> tuple[str | None, str]:
    r"""Decode a fragment that lies wholly inside a string.

    Args:
        text: Not empty; begins inside a string and outside an escape.

    Returns:
        The characters it means, and the end of the text that the border has cut from its other
        part, to be put before the next fragment. None and an empty text where the string ends in
        the fragment, or the fragment is malformed.
    """
    if text.isascii() and "\\u" not in text:
        held = "\\" if text[-1] == "\\" and _backslashes_at_end(text) % 2 else ""
        whole = text[:-1] if held else text
        try:
            piece, end = _scan_string(whole + '"', 0)
        except ValueError:
            return None, ""
        return (piece, held) if end > len(whole) else (None, "")
    text, held, broken = _join_halves(text)
    piece, end, rest = _read_string(text + '"', 0)
    goes_on = _CUT_ESCAPE.fullmatch(rest) if rest else end > len(text)
    return (None, "") if broken or not goes_on else (piece, rest + held)


def split_pieces(text: str, *, in_string: bool) -> tuple[list[str], str, bool]:
    """Split a fragment at its quotes, with what is inside strings decoded.

    Args:
        text: Begins outside an escape.
        in_string: Whether it begins inside a string.

    Returns:
        The pieces, by turns inside and outside strings; the end of the text that the border has cut
        from its other part, to be put before the next fragment; and whether the pieces end where
        the text becomes malformed.
    """
    text, held, broken = _join_halves(text)
    closed = text + '"'
    pieces: list[str] = []
    at = 0
    while True:
        if in_string:
            piece, at, rest = _read_string(closed, at)
            pieces.append(piece)
            if rest and not broken and _CUT_ESCAPE.fullmatch(rest):
                return pieces, rest + held, False
            if rest:
                return pieces, "", True
        else:
            end = closed.index('"', at)
            pieces.append(closed[at:end])
            at = end + 1
        if at > len(text):
            break
        in_string = not in_string
    if held and not in_string:
        return pieces, "", True  # outside strings no character is left to wait for
    return pieces, held, broken


def _backslashes_at_end(text: str) -> int:
    return len(text) - len(text.rstrip("\\"))


def _read_string(closed: str, at: int) -> tuple[str, int, str]:
    """Read the inside of a string, up to its quote or to the quote that closes the text.

    Returns:
        The characters it means, where it ends, and what of it could not be decoded.
    """
    try:
        piece, end = _scan_string(closed, at)
    except ValueError:
        pass
    else:
        if piece.isascii() or _HALF.search(piece) is None:
            return piece, end, ""
    good = _GOOD.match(closed, at, len(closed) - 1)
    end = good.end() if good else at
    return _scan_string(closed[at:end] + '"', 0)[0], end, closed[end:-1]


def _join_halves(text: str) -> tuple[str, str, bool]:
    """Join the halves of characters that a service has sent in two fragments.

    Returns:
        The text up to a half that is alone; the first half at the very end, whose other half may
        still come; whether a half is alone for good.
    """
    if text.isascii() or _HALF.search(text) is None:
        return text, "", False
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    alone = _HALF.search(joined)
    if alone is None:
        return joined, "", False
    start = alone.start()
    if start == len(joined) - 1 and joined[start] < "\udc00":
        return joined[:start], joined[start:], False
    return joined[:start], "", True
