"""What a model's message consists of, as plain values that belong to no provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, final

# These values are shown whole: they hold a test's own text, and a failing property prints them.


@final
@dataclass(frozen=True, slots=True)
class Text:
    """What the model says.

    Attributes:
        pieces: The words, in the pieces in which they come.
    """

    pieces: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thinks aloud.

    Attributes:
        pieces: The words, in the pieces in which they come.
    """

    pieces: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the caller's tools.

    Attributes:
        call_id: Its id.
        name: The tool's name.
        pieces: The argument text, in the pieces in which it comes. It need not be JSON.
        closed: Whether the call gets its own end.
    """

    call_id: str
    name: str
    pieces: tuple[str, ...]
    closed: bool = True

    @property
    def arguments(self) -> str:
        """The whole argument text."""
        return "".join(self.pieces)


Part: TypeAlias = Text | Thinking | Call
"""One part of a message."""


@final
class Tokens(NamedTuple):
    """What the provider says that the message cost; `None` where it does not say.

    Attributes:
        input: Tokens of the request.
        output: Tokens of the reply.
    """

    input: int | None = None
    output: int | None = None

    @property
    def is_reported(self) -> bool:
        """Whether the provider says anything."""
        return self != NOT_REPORTED

    @property
    def counts(self) -> tuple[int, int]:
        """Both as numbers: 0 for what is not said, as services fill in."""
        return self.input or 0, self.output or 0


NOT_REPORTED: Final = Tokens()
"""The provider says nothing of the cost."""


def cut(text: str, size: int) -> tuple[str, ...]:
    """A text in pieces of so many characters, the last one as long as is left.

    Args:
        text: The text.
        size: Characters a piece.

    Raises:
        ValueError: The size is less than 1.
    """
    if size < 1:
        raise ValueError(f"a fragment of {size} characters is none; expected 1 or more")
    return tuple(text[start : start + size] for start in range(0, len(text), size))
