"""Takes out of violations what could tell something of a sensitive value. Words nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Violation
from finalcall.tools.violations import SIZED, Location, asked


def withheld(
    violations: Iterable[Violation], sensitive: Collection[tuple[str, ...]]
) -> tuple[Violation, ...]:
    """Take out of violations what could tell something of a sensitive value.

    Of a sensitive field are told its place, and a missing part, a type, a format or a length that
    is asked for. Not told are members, constants, patterns and bounds, how long the value is,
    what it is close to, and where inside of it a fault lies. Of a value that holds a sensitive
    field, members and constants are not told.

    Args:
        violations: In order; the order stays.
        sensitive: A tool's `sensitive`: paths, in which `"*"` is any index or name.
    """
    told = (_withheld(violation, sensitive) for violation in violations)
    return tuple({(each.path, each.message): each for each in told}.values())


def _withheld(violation: Violation, sensitive: Collection[tuple[str, ...]]) -> Violation:
    path, keyword = violation.path, violation.keyword
    if _holds_values(violation) and any(_leads_to(path, steps) for steps in sensitive):
        told = "not as the tool's schema asks; a field of it is sensitive, so no more is told"
        return Violation(path, keyword, None, told)
    depths = [len(steps) for steps in sensitive if _leads_to(steps, path)]
    if not depths:
        return violation
    if min(depths) == len(path):
        if keyword in {"format", "required", "type"}:
            return violation
        if keyword in SIZED:
            told = f"expected {asked(keyword, violation.expected)}"
            return Violation(path, keyword, violation.expected, told)
    return Violation(
        path[: min(depths)],
        keyword,
        None,
        "not as the tool's schema asks; the field is sensitive, so no more is told",
    )


def _holds_values(violation: Violation) -> bool:
    """Whether what is allowed is told as whole objects or arrays, with the fields in them."""
    allowed = violation.expected if is_array(violation.expected) else [violation.expected]
    return any(is_array(member) or is_object(member) for member in allowed)


def _leads_to(above: Location, below: Location) -> bool:
    """Whether one path is the other or leads to it; `"*"` is any index or name."""
    return len(above) <= len(below) and all(
        "*" in {one, other} or str(one) == str(other)
        for one, other in zip(above, below, strict=False)
    )
