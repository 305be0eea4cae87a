"""What a scripted server or model answers with, and a sentence for whatever is no answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast

from finalcall.narrow import described, expect
from finalcall.testing.recordings import Recording
from finalcall.testing.replies import Reply
from finalcall.testing.steps import Script

Answer: TypeAlias = Reply | Recording | Script
"""What a request is answered with: a reply in the words of whoever is asked, or a body as it is."""

_EXPECTED: Final = "a Reply, a Recording or a Script"


def checked_answer(answer: object) -> Answer:
    """An answer, once it is one.

    Args:
        answer: What was given for one, or what a function of the request gave.

    Raises:
        TypeError: It is none.
    """
    expect(answer, (Reply, Recording, Script), "an answer", _EXPECTED)
    return cast("Answer", answer)


def checked_answers(answers: object) -> tuple[Answer, ...]:
    """The answers of a list, or the only one, once each is one.

    Args:
        answers: What was given where an answer or a list of them is asked for.

    Raises:
        TypeError: It is neither, or something in the list is no answer.
    """
    if isinstance(answers, Reply | Recording | Script):
        return (answers,)
    what = described(answers)
    if isinstance(answers, bytes | str | Mapping) or not isinstance(answers, Iterable):
        raise TypeError(
            f"what to answer is {what}; expected {_EXPECTED}, a list "
            "of these, or a function that gives one for a request"
        )
    return tuple(map(checked_answer, cast("Iterable[object]", answers)))
