"""What the sequence numbers of a stream say: which event is new, repeated, or missing."""

from __future__ import annotations

import enum
from typing import Any, Final, final

from finalcall.providers.native import read, read_index, read_text
from finalcall.providers.openai_responses.items import Item
from finalcall.providers.reported import error_in


@final
class Numbers:
    """The numbers of one stream. A stream where an event that counts has none is not numbered.

    Attributes:
        numbered: The numbers can be trusted, as far as the stream has come.
        highest: The highest one seen, or `None`.
        current: That of the present event; `None` where it has none, or none can be trusted.
        ahead: It is higher than all before it.
    """

    __slots__ = ("ahead", "current", "highest", "numbered")

    def __init__(self) -> None:
        self.numbered: bool = True
        self.highest: int | None = None
        self.current: int | None = None
        self.ahead: bool = True

    def count(self, native: Any, matters: bool) -> None:
        """Note an event's number.

        Args:
            native: The event.
            matters: It is of a type that changes something; one of another may have no number.
        """
        number = self.current = read_index(native, "sequence_number")
        if number is None:
            self.numbered = not matters
        elif self.highest is None or number > self.highest:
            self.highest = number
            self.ahead = True
        else:
            self.ahead = False

    def distrust(self) -> None:
        """The numbers count something else than events."""
        self.numbered, self.current = False, None

    def repeats(self, item: Item) -> bool:
        """Whether a piece of the item came before: a proxy's stream may overlap its first one."""
        if self.current is None:
            return False
        if item.number is not None and self.current <= item.number:
            return True
        item.number = self.current
        return False

    def repeats_piece(self, item: Item, piece: str) -> bool:
        """Whether a piece of a call came before. A new one under an old number is none."""
        if not self.repeats(item):
            return False
        if item.holds(piece):
            return True
        self.distrust()
        return False

    def go_on_after(self, number: int) -> None:
        """The stream so far ended with this number."""
        self.numbered, self.highest, self.ahead = True, number, True


@final
class Fit(enum.StrEnum):
    """How an event fits what a checkpoint holds."""

    NEW = "new"
    SEEN = "seen"
    GAP = "sequence_gap"
    """Events before it are missing, or it does not say where it belongs."""
    FOREIGN = "spliced_stream"
    """It is of another response."""


@final
class Seam:
    """Where the stream of a checkpoint ended, and the one that continues it must go on.

    Args:
        response_id: The response.
        number: The last sequence number that the checkpoint holds.
    """

    __slots__ = ("_joined", "_number", "_response_id")

    def __init__(self, response_id: str, number: int) -> None:
        self._response_id: Final = response_id
        self._number: Final = number
        self._joined = False

    def fit(self, native: Any, number: int | None, *, matters: bool) -> Fit:
        """Say how the next event of the continued stream fits.

        Args:
            native: The event.
            number: Its sequence number, or `None`.
            matters: It is of a type that changes something.
        """
        if error_in(native) is not None:
            return Fit.NEW  # a stream that fails says so, whatever its number
        if number is None:
            return Fit.GAP if matters else Fit.NEW
        response = read(native, "response")
        if response is not None and read_text(response, "id") != self._response_id:
            return Fit.FOREIGN
        if number <= self._number:
            return Fit.SEEN
        if not self._joined and number > self._number + 1:
            return Fit.GAP
        self._joined = True
        return Fit.NEW
