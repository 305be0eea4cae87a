"""Reads argument text as one strict JSON document, or says that it is none. Repairs nothing.

Strict means I-JSON (RFC 7493): no duplicate names, no NaN or Infinity, no number that overflows
to infinity, no lone surrogate, nothing after the document, and bounded depth and digits. What the
parser itself says about bad text is dropped: it quotes the text.
"""

from __future__ import annotations

import json
import marshal
import math
import struct
from typing import Any, Final

import jiter

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Cause

_INFINITIES: Final = tuple(struct.pack("<d", sign * math.inf) for sign in (1, -1))
"""The eight bytes of either infinity, as `marshal` writes them too."""

_PASSED: Final = ("recursion limit", "number out of range")
"""What the parser says of a text past `MAX_DEPTH`, and of a number past `MAX_DIGITS`."""


class NotStrictJSON(ValueError):  # noqa: N818 - says what the text is
    """The text is not one strict JSON document. Carries a cause and no text.

    Attributes:
        cause: `MALFORMED`, or `LIMIT` where only the depth, or a number's digits, are too many.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"argument text is not one strict JSON document ({cause.value})")
        self.cause = cause


def parse_strict(text: str) -> Any:
    """Parse one JSON document.

    Args:
        text: The whole argument text. Surrogate pairs that fragments split are joined.

    Returns:
        The value: dict, list, str, int, float, bool or None. Integers keep every digit, of
        which there may be `MAX_DIGITS`.

    Raises:
        NotStrictJSON: The text is anything else, including empty.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = join_surrogates(text).encode()
    try:
        value: Any = jiter.from_json(
            data, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys"
        )
    except ValueError as error:
        limit = any(words in str(error) for words in _PASSED)
        raise NotStrictJSON(Cause.LIMIT if limit else Cause.MALFORMED) from None
    if _holds_infinity(value):
        raise NotStrictJSON(Cause.MALFORMED)
    return value


def same_value(one: str, other: str) -> bool:
    """Whether two texts are strict JSON documents of one value: blanks and order aside."""
    try:
        # Compared as text: to Python `1`, `1.0` and `true` are equal.
        first, second = (json.dumps(parse_strict(text), sort_keys=True) for text in (one, other))
    except ValueError:
        return False
    return first == second


def join_surrogates(text: str) -> str:
    """Join the halves of surrogate pairs that fragments split.

    Raises:
        NotStrictJSON: A surrogate has no other half, so the text is no Unicode text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise NotStrictJSON(Cause.MALFORMED) from None
    return text


def encodable(text: str) -> str:
    """Text that UTF-8 can carry: split surrogate pairs joined, lone halves replaced."""
    try:
        return join_surrogates(text)
    except NotStrictJSON:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _holds_infinity(value: Any) -> bool:
    """Whether a number overflowed: jiter gives infinity for it."""
    # Written down and searched at C speed: to visit every value takes longer than to parse them.
    written = marshal.dumps(value)
    return any(infinity in written for infinity in _INFINITIES) and _visit(value)


def _visit(value: Any) -> bool:
    """The same without a doubt: a text may hold those bytes as well."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, float):
            if math.isinf(node):
                return True
        elif is_object(node):
            pending.extend(node.values())
        elif is_array(node):
            pending.extend(node)
    return False
