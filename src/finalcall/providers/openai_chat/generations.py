"""Notices that the chunks of one choice come from two generations of the model.

A proxy that starts over, or merges two responses, changes the chunks' `id`. Many services change
it for other reasons, at every chunk even, so only an id that had lasted counts.
"""

from __future__ import annotations

from typing import final


@final
class Generations:
    """Counts the generations that a choice's chunks come from.

    Attributes:
        number: Which generation the last chunk belongs to, from 0.
        mixed: An id came back after another: two generations take turns.
    """

    __slots__ = ("_before", "_current", "_run", "mixed", "number")

    def __init__(self) -> None:
        self.number: int = 0
        self.mixed: bool = False
        self._before = ""
        self._current = ""
        self._run = 0

    @property
    def current(self) -> str:
        """The id of the last chunk that had one, or `""`."""
        return self._current

    @property
    def settled(self) -> bool:
        """Whether one more chunk of the same id changes nothing."""
        return self.lasting or not self._current

    def see(self, chunk_id: str, *, says: bool) -> None:
        """Take the id of the next chunk; an empty one says nothing.

        Args:
            chunk_id: The id.
            says: The chunk says something; one that does not, as gateways send to keep a
                connection alive under an id of its own, begins no generation.
        """
        if chunk_id == self._current:
            self._run += 1
        elif chunk_id and (says or not self._current):
            self.mixed = self.mixed or chunk_id == self._before
            self.number += self.lasting
            self._before, self._current, self._run = self._current, chunk_id, 1

    @property
    def lasting(self) -> bool:
        """Whether more than one chunk came with the last id: then it names a generation."""
        return self._run > 1
