"""What each option of a settler and of a turn may be: one table, read before anything begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final, get_args

from finalcall.finalizing import TruncationPolicy, UnconfirmedPolicy
from finalcall.limits import Limits
from finalcall.message import Choices
from finalcall.narrow import described, is_mapping
from finalcall.pacing import PacingChoice


def _any(_: Any) -> bool:
    return True


@final
@dataclass(frozen=True, slots=True)
class Expected:
    """What an option may be.

    Attributes:
        words: What is expected, for the message.
        has_type: Whether a value is of the right type.
        holds: Whether a value of that type will do.
        optional: `None` will do, too.
    """

    words: str
    has_type: Callable[[Any], bool]
    holds: Callable[[Any], bool] = _any
    optional: bool = False


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_blocks(value: Any) -> bool:
    from finalcall.blocks import Blocks  # whoever gives some has loaded it

    return isinstance(value, Blocks)


def _one_of(choice: Any) -> Expected:
    words: tuple[str, ...] = get_args(choice)
    return Expected(
        " or ".join(map(repr, words)), lambda value: isinstance(value, str), words.__contains__
    )


CEILING: Final = Expected(
    "a number of tokens above 0, or None where none is known",
    _is_whole_number,
    lambda value: value > 0,
    optional=True,
)
"""The request's output token limit."""

OPTIONS: Final[Mapping[str, Expected]] = {
    "ceiling": CEILING,
    "truncation": _one_of(TruncationPolicy),
    "unconfirmed": _one_of(UnconfirmedPolicy),
    "choices": _one_of(Choices),
    "pacing": _one_of(PacingChoice),
    "stop_reasons": Expected(
        "a mapping of the service's words to verdicts, such as {'my_word': Verdict.COMPLETE}",
        is_mapping,
        optional=True,
    ),
    "limits": Expected(
        "a Limits, such as Limits(calls=100)", lambda value: isinstance(value, Limits)
    ),
    "after_stop": Expected("seconds, 0 or more", _is_number, lambda value: value >= 0),
    "on_settled": Expected("a function that takes a CallSettled, or None", callable, optional=True),
    "preview": Expected(
        "finalcall.preview.Preview, a function that makes one, or None", callable, optional=True
    ),
    "blocks": Expected("Blocks, as Blocks(tools=...), or None", _is_blocks, optional=True),
    "raises": Expected("True or False", lambda value: isinstance(value, bool)),
    "clock": Expected(
        "a function that gives seconds, such as time.monotonic, or None", callable, optional=True
    ),
}
"""By option. `provider`, `tools`, `idle_timeout` and what `stop_reasons` holds are checked by who
reads them."""


def check_options(given: Mapping[str, Any], expected: Mapping[str, Expected] = OPTIONS) -> None:
    """Refuse an option that is not what its row says.

    Args:
        given: Options by name, each of which has a row.
        expected: The rows.

    Raises:
        TypeError: An option is of the wrong type; the text says what was found and expected.
        ValueError: It is of the right type, and nothing that there is.
    """
    for name, value in given.items():
        row = expected[name]
        if value is None and row.optional:
            continue
        if not row.has_type(value):
            raise TypeError(f"{name}= is {described(value)}; expected {row.words}")
        if not row.holds(value):
            raise ValueError(f"{name}= is {value!r}; expected {row.words}")
