"""The preview of one call's arguments: fragments go in, a value for screens can be looked at.

Nothing here decides whether a call may run, and nothing that does may import it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NoReturn, cast, final

from finalcall.preview.changes import DEEPEST, ChangeFinder, PreviewChange
from finalcall.preview.grammar import END, FROZEN
from finalcall.preview.reader import RESTART, Reader
from finalcall.preview.value import PreviewValue

__all__ = ["Preview", "best_effort_partial"]


@final
class Preview:
    """Shows a JSON text while it comes in, fragment by fragment. For screens only.

    A fragment costs what the fragment is long, however long the text is already. No text raises.
    What a screen can rely on, however the text is cut:

    1. A value never changes its type.
    2. Strings only grow. An escape, or a character of two halves, appears when it is whole.
    3. Numbers, `true`, `false` and `null` appear when they are whole, and never change: a literal
       at its last letter, a number at the character after it.
    4. A name appears once its value has begun.
    5. Containers only grow, and only at their end; names are in the order of the text.
    6. `completed_keys()` says which values are whole. They never change again.
    7. A repeated name is malformed, at the quote that ends it: its first value stays.
    8. Malformed text freezes the preview: `malformed` is set at the first character that no JSON
       document could have there, the last good value stays, and later text is ignored. Malformed is
       what the strict parser refuses, except for depth: also NaN and Infinity, a number too large,
       an unpaired surrogate.
    9. After a valid document the value is what a strict parse gives, and `complete` is set.
    10. Only the text counts, not how it was cut.
    11. Nothing of a sensitive value is ever in the structure: a mask is there once it has begun.
    12. The changes, applied in order, give the value.

    Args:
        sensitive: Paths of values to mask, from the root; `"*"` is any name or index.

    Attributes:
        feed: Takes the next fragment, a `str` of any length. It is the reader's own entry, so that
            a fragment costs one call; it returns None. What is no text raises a `TypeError` and
            changes nothing; who keeps `feed` itself, for a loop, takes it anew after that.
        value: The value so far: a live view that stays good, also after `restart()`. It is made
            once, so that a look costs one call.
    """

    __slots__ = ("__weakref__", "_finder", "_reader", "feed", "value")

    feed: Callable[[str], None]
    value: Final[PreviewValue]

    def __init__(self, *, sensitive: Collection[tuple[str, ...]] = ()) -> None:
        self._reader = Reader([], frozenset(sensitive))
        self._finder: ChangeFinder | None = None
        self.value = PreviewValue(self._reader.root)
        self._read_on()

    def _read_on(self) -> None:
        # Only weakly: a preview that is dropped then goes at once, and waits for no collector.
        reading = self._reader.reading(functools.partial(self._refuse, weakref.ref(self)))
        next(reading)
        self.feed = reading.send

    @staticmethod
    def _refuse(reference: weakref.ref[Preview], given: object) -> NoReturn:
        """Say what was fed. A generator that raises is over: the next fragment needs a new one."""
        preview = reference()
        if preview is not None:
            preview._read_on()
        raise _no_text("a fragment", given)

    @property
    def malformed(self) -> bool:
        """Whether the text can no longer become a JSON document. The value stays as it was."""
        return self._reader.row is FROZEN

    @property
    def complete(self) -> bool:
        """Whether the text is one whole JSON document. It says nothing about the call."""
        return self._reader.row is END

    def changes(self) -> list[PreviewChange]:
        """Give what is new since the last time this was asked; first, everything.

        It costs what is new, and nothing while nobody asks. Long waits between two looks are fine:
        the text of a string comes in one change.

        Returns:
            Changes in the order of the text; empty where nothing is new.
        """
        if self._finder is None:
            self._finder = ChangeFinder(self._reader.root)
        return self._finder.find(*self._reader.open_containers(DEEPEST + 1))

    def completed_keys(self, path: Sequence[str | int] = ()) -> list[str]:
        """Give the names in an object whose values are whole, in the order of the text.

        Args:
            path: Names and indexes from the root to the object.

        Returns:
            The names; empty where there is no object at the path.
        """
        place: Any = self._reader.root
        for key in (0, *path):
            try:
                place = place[key]
            except (KeyError, IndexError, TypeError):
                return []
        if place.__class__ is not dict:
            return []
        names: list[str] = list(place)
        depth = len(path) + 1
        containers, writing = self._reader.open_containers(depth + 2)
        is_open = depth < len(containers) and containers[depth] is place
        if is_open and (writing is place or depth + 1 < len(containers)):
            names.pop()
        return names

    def end(self) -> None:
        """Say that the text is over. Only a number at the root needs it to be whole.

        Text that is fed later is read on; after a document, anything but whitespace is malformed.
        """
        if self._reader.may_end_number():
            self.feed(" ")

    def restart(self) -> None:
        """Forget everything that was fed, as when a provider restates the whole text.

        The structure handed out before no longer grows; `value` shows the new text. If `changes()`
        was ever asked, its next answer begins with a `restart`.
        """
        self.feed(RESTART)
        if self._finder is not None:
            self._finder.restart()


def best_effort_partial(raw: str) -> PreviewValue:
    """Show what can be shown of a text that may be cut anywhere. For screens only: never act on it.

    Args:
        raw: All the text there is. A number at its very end is whole only where it is the document.

    Returns:
        The value, as a `Preview` shows it after the same text; never an exception on text.

    Raises:
        TypeError: `raw` is no text.
    """
    if not isinstance(cast("Any", raw), str):
        raise _no_text("raw", raw)
    preview = Preview()
    preview.feed(raw)
    preview.end()
    return preview.value


def _no_text(what: str, given: object) -> TypeError:
    return TypeError(
        f"{what} is of type {type(given).__name__}; expected a str: give the text of the arguments "
        "as it comes, decoded where it is bytes"
    )
