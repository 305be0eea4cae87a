"""Who listens to the turns of this process: its observers, and its logging where it was set up.

It loads neither: a turn that nobody listens to pays for two look-ups. No failure of a listener may
break a turn, so they are counted here, and all that is logged goes through one guarded function.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from finalcall.observe.observer import Observer

LOGGER: Final = "finalcall"
"""The name of the logger that gets a record of every settled call."""

WARNING: Final = 30
"""`logging.WARNING`: no record of ours is above that."""


@final
class Failures:
    """Counts the failures of somebody who listens, and warns of the first.

    Args:
        who: Who fails, for the warning.
        then: What becomes of it, for the warning.

    Attributes:
        count: How many there were.
    """

    __slots__ = ("_then", "_who", "count")

    def __init__(self, who: str, then: str) -> None:
        self.count: int = 0
        self._who = who
        self._then = then

    def note(self, error: BaseException) -> None:
        """Count a failure. The warning has its type alone: a message may quote anything."""
        self.count += 1
        if self.count > 1:
            return
        # Where warnings are errors, or shown by code that fails, nothing is raised: it would break
        # what it must not.
        with contextlib.suppress(Exception):
            warnings.warn(
                f"{self._who} raised {type(error).__name__}; {self._then}",
                RuntimeWarning,
                stacklevel=2,
            )


@final
class Listener:
    """An observer, and how it fares.

    Attributes:
        observer: The observer.
        failures: What it has raised.
    """

    __slots__ = ("failures", "observer")

    def __init__(self, observer: Observer) -> None:
        self.observer: Observer = observer
        self.failures: Failures = Failures(
            f"the observer {type(observer).__name__}",
            "the turn goes on, and more failures of it are only counted: see "
            "finalcall.observe.failures()",
        )


LOG_FAILURES: Final = Failures(
    "a handler of the logger 'finalcall'",
    "its record is lost, and more of them are only counted: see "
    "finalcall.observe.record_failures()",
)
"""What handlers and filters have raised at whatever this library logs."""


def log(
    level: int, message: str, *parts: object, extra: Mapping[str, object] | None = None
) -> None:
    """Log something; all that this library logs goes through here. Raises nothing.

    Args:
        level: As `logging` has it.
        message: The text, with a `%s` for each part. Nothing of what a model wrote.
        parts: What goes into it.
        extra: As `logging` takes it.
    """
    try:
        import logging  # a program that has nothing to log need not load it

        logging.getLogger(LOGGER).log(level, message, *parts, extra=extra)
    except Exception as error:  # a handler or a filter of anybody's must not break a turn
        LOG_FAILURES.note(error)


_LISTENERS: Final[list[Listener]] = []

MOMENTS: Final = (
    "turn_begun",
    "call_announced",
    "call_settled",
    "turn_ended",
    "correction_settled",
)
"""The methods of an observer, which this module does not load."""


def listeners() -> tuple[Listener, ...]:
    """Whoever observes the turns that begin now."""
    return tuple(_LISTENERS)


def add(observer: Observer) -> None:
    """Have an observer told of every turn of this process that begins from now on.

    Args:
        observer: Is told in the thread that drives the turn, in the order in which the observers
            were added. One that was added already is not added again. What it raises is counted
            (`failures()`) and warned of once; it breaks no turn, and the observer is told on.

    Raises:
        TypeError: It is a class, or lacks one of an observer's methods.
    """
    _refuse_stranger(observer)
    if all(known.observer is not observer for known in listeners()):
        _LISTENERS.append(Listener(observer))


def _refuse_stranger(observer: object) -> None:
    if isinstance(observer, type):
        raise TypeError(
            f"the observer is the class {observer.__name__}; expected an object of it: "
            f"add({observer.__name__}(...))"
        )
    missing = [name for name in MOMENTS if not callable(getattr(observer, name, None))]
    if missing:
        raise TypeError(
            f"the observer is of type {type(observer).__name__}, which lacks "
            f"{', '.join(missing)}; expected one that has every moment's method: derive it from "
            "finalcall.observe.Observer, which has them all"
        )


def remove(observer: Observer) -> None:
    """Tell an observer no more, but of the turns that have begun; does nothing for a stranger."""
    for known in listeners():
        if known.observer is observer:
            _LISTENERS.remove(known)


def failures() -> list[tuple[Observer, int]]:
    """How often each observer has raised, in the order in which they were added."""
    return [(known.observer, known.failures.count) for known in listeners()]


def is_logging() -> bool:
    """Whether records would reach a handler. A program that never loaded `logging` has none."""
    logging = sys.modules.get("logging")
    if logging is None:
        return False
    logger = logging.getLogger(LOGGER)
    return bool(logger.isEnabledFor(WARNING) and logger.hasHandlers())
