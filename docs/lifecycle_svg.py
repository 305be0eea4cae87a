"""Draws the lifecycle from its table, as an SVG that needs no script and nothing from elsewhere.

Only where a state stands is written down here; every arrow and every word is the table's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from finalcall.lifecycle import TERMINAL, TRANSITIONS, State


class Place(NamedTuple):
    """The middle of a state's box, in pixels."""

    x: int
    y: int


PLACES: Final[Mapping[State, Place]] = {
    State.ANNOUNCED: Place(110, 130),
    State.ACCUMULATING: Place(340, 130),
    State.FINISHED: Place(570, 130),
    State.DISPATCHABLE: Place(800, 65),
    State.SCHEMA_ERROR: Place(800, 130),
    State.UNPARSEABLE: Place(800, 195),
    State.TRUNCATED: Place(225, 290),
    State.ABANDONED: Place(455, 290),
}
"""Open states in a row; beside it what the text decides, below it what the message decides."""

WIDTH, HEIGHT = 910, 332
HALF_WIDTH, HALF_HEIGHT = 72, 24

COLOURS: Final[Mapping[State, str]] = {
    State.DISPATCHABLE: "#2e7d32",
    State.SCHEMA_ERROR: "#b26a00",
    State.UNPARSEABLE: "#b3261e",
    State.TRUNCATED: "#b3261e",
    State.ABANDONED: "#b3261e",
}
"""Green runs, amber can be answered to the model, red does not run."""

OPEN_COLOUR: Final = "#37474f"


def draw() -> str:
    """The diagram, as a file's text."""
    parts = "\n".join([*_arrows(), *_boxes()])
    words = "; ".join(
        f"{state} to {after} by {given}"
        for state, steps in TRANSITIONS.items()
        for given, after in steps.items()
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"
 height="{HEIGHT}" role="img" font-family="sans-serif" font-size="15" text-anchor="middle">
<title>The life of a call</title>
<desc>{words}</desc>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
 orient="auto"><path d="M0 0 8 4 0 8Z" fill="context-stroke"/></marker>
<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>
{parts}
</svg>
"""


def _boxes() -> Iterator[str]:
    for state, (x, y) in PLACES.items():
        colour = COLOURS.get(state, OPEN_COLOUR)
        inputs = (
            sorted(
                {
                    given
                    for steps in TRANSITIONS.values()
                    for given in steps
                    if steps[given] is state
                }
            )
            if state in TERMINAL
            else []
        )
        yield (
            f'<rect x="{x - HALF_WIDTH}" y="{y - HALF_HEIGHT}" width="{2 * HALF_WIDTH}" '
            f'height="{2 * HALF_HEIGHT}" rx="{8 if state in TERMINAL else 24}" fill="#fff" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
        yield f'<text x="{x}" y="{y - 2 if inputs else y + 5}" fill="{colour}">{state}</text>'
        if inputs:
            yield (
                f'<text x="{x}" y="{y + 15}" fill="#546e7a" font-size="12">'
                f"by {', '.join(inputs)}</text>"
            )


def _arrows() -> Iterator[str]:
    """An arrow for each two states; its inputs stand at it, or in the box where all end."""
    for state, steps in TRANSITIONS.items():
        for after in dict.fromkeys(steps.values()):
            inputs = ", ".join(given for given, to in steps.items() if to is after)
            here, there = PLACES[state], PLACES[after]
            if after in TERMINAL:
                yield _path(_straight(here, there), COLOURS[after])
            elif after is state:
                yield from _loop(here, inputs)
            elif there.x - here.x > 4 * HALF_WIDTH:
                yield from _over(here, there, inputs)
            else:
                yield _path(_straight(here, there), OPEN_COLOUR)
                yield _label((here.x + there.x) // 2, here.y - 8, inputs)


def _path(way: str, colour: str) -> str:
    return (
        f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="1.5" '
        'marker-end="url(#head)"/>'
    )


def _label(x: int, y: int, words: str) -> str:
    return f'<text x="{x}" y="{y}" fill="#546e7a" font-size="13">{words}</text>'


def _straight(here: Place, there: Place) -> str:
    """From the near side of one box to the near side of another."""
    if there.y - here.y > 3 * HALF_HEIGHT:
        lean = 30 if there.x > here.x else -30
        return (
            f"M{here.x + lean} {here.y + HALF_HEIGHT}L{there.x - lean} {there.y - HALF_HEIGHT - 2}"
        )
    return f"M{here.x + HALF_WIDTH} {here.y}L{there.x - HALF_WIDTH - 2} {there.y}"


def _loop(here: Place, inputs: str) -> Iterator[str]:
    """From a box back into it, over its top."""
    top = here.y - HALF_HEIGHT
    yield _path(
        f"M{here.x - 22} {top}C{here.x - 34} {top - 40} {here.x + 34} {top - 40} "
        f"{here.x + 22} {top - 2}",
        OPEN_COLOUR,
    )
    yield _label(here.x, top - 36, inputs)


def _over(here: Place, there: Place, inputs: str) -> Iterator[str]:
    """From one box to another, over what stands between."""
    top, peak = here.y - HALF_HEIGHT, here.y - 112
    yield _path(
        f"M{here.x} {top}C{here.x + 40} {peak} {there.x - 100} {peak} {there.x - 45} {top - 2}",
        OPEN_COLOUR,
    )
    yield _label((here.x + there.x) // 2, peak + 13, inputs)
