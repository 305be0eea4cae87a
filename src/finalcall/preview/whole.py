"""The straight way for a document that comes in one piece: one parse by the standard library.

It accepts what the reader accepts and nothing else; anything that needs a closer look is refused,
and the reader takes it.
"""

from __future__ import annotations

from json import JSONDecoder
from typing import Any, Final

from finalcall.preview.grammar import finite

__all__ = ["DECODER", "parse_whole"]


def parse_whole(text: str) -> Any:
    """Parse a whole document.

    Raises:
        ValueError: It is none, or it holds what only the reader judges: a repeated name,
            surrogates, a number too large.
        RecursionError: It is nested too deeply for the standard library.
    """
    if "\\ud" in text or "\\uD" in text:
        raise ValueError("surrogates are for the reader")
    text.encode()  # raises a ValueError on surrogates that are not escaped
    return DECODER.decode(text)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is repeated")
    return members


def _refuse(_constant: str) -> Any:
    raise ValueError("not a JSON number")


DECODER: Final = JSONDecoder(
    object_pairs_hook=_unrepeated,
    parse_float=finite,
    parse_constant=_refuse,
)
