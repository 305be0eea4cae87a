"""Refuses what is no fault where faults are given, and says which name was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Final, cast

from finalcall.narrow import described, expect
from finalcall.testing.faults.table import FAULTS
from finalcall.testing.steps import Edit, Fault

_EXPECTED: Final = "a list of faults, as [FAULTS['stall']]"

_MAKE: Final = ("Fault", Fault)
"""What a function that makes faults says that it returns."""


def known_faults(name: object) -> str:
    """What to say of a name that no fault has: the names that are near, or else all of them.

    Args:
        name: The name.
    """
    near = difflib.get_close_matches(str(name), FAULTS)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"the faults are {', '.join(FAULTS)}"


def fault_named(name: str) -> Fault:
    """The fault of a name.

    Args:
        name: A name in `FAULTS`.

    Raises:
        ValueError: No fault has it; the message names those that are near.
    """
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; {known_faults(name)}")
    return FAULTS[name]


def checked_faults(faults: object) -> tuple[Edit, ...]:
    """Faults as they were given, once each is one.

    Args:
        faults: What was given where a list of faults is asked for.

    Raises:
        TypeError: It is no list, or something in it is no fault.
    """
    if isinstance(faults, str) or callable(faults):
        raise TypeError(f"faults= is {described(faults)}; expected {_EXPECTED}")
    expect(faults, Iterable, "faults=", _EXPECTED)
    found = tuple(cast("Iterable[Any]", faults))
    for fault in found:
        _check(fault)
    return found


def _check(fault: Any) -> None:
    if isinstance(fault, str):
        meant = f"FAULTS[{fault!r}]" if fault in FAULTS else f"one of FAULTS: {known_faults(fault)}"
        raise TypeError(f"the fault {fault!r} is a string; expected a fault, {meant}")
    if isinstance(fault, type) or not callable(fault):
        raise TypeError(
            f"a fault is {described(fault)}; expected one of FAULTS, a Fault, or a function from "
            "a Script to another"
        )
    if getattr(fault, "__annotations__", {}).get("return") in _MAKE:
        name = getattr(fault, "__name__", "it")
        raise TypeError(f"{name} makes faults and is none; expected what it makes: {name}()")
