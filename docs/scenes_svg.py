"""Draws what a person sees of each stream of the demo, from the table that the demo is held to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final

from finalcall.cli.scenes import SCENES, Scene

WIDTH: Final = 910
LEFT, RIGHT, TOP = 24, 470, 64
LINE: Final = 20
GAP: Final = 18
WRAP: Final = 54
"""Characters in a line of the left column."""

STYLE: Final = """\
text { fill: #263238 }
.soft { fill: #546e7a }
.card { fill: #fff; stroke: #cfd8dc }
.runs { fill: #2e7d32 }
.not { fill: #b3261e }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e8ec }
  .soft { fill: #a3b1bb }
  .card { fill: #14191f; stroke: #3a444d }
  .runs { fill: #66d17a }
  .not { fill: #ff8f85 }
}"""


def draw() -> str:
    """The picture, as a file's text."""
    rows: list[str] = []
    y = TOP + GAP
    for scene in SCENES:
        rows.extend(_row(scene, y))
        y += LINE * max(len(_about(scene)), len(scene.lines)) + GAP
    body = "\n".join(rows)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"
 role="img" font-family="system-ui, sans-serif" font-size="15">
<title>What a person sees of each stream</title>
<desc>{escape("; ".join(f"{scene.about}: {', '.join(scene.lines)}" for scene in SCENES))}</desc>
<style>
{STYLE}
</style>
<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1}" rx="10"/>
<text class="soft" x="{LEFT}" y="38">what the stream does</text>
<text class="soft" x="{RIGHT}" y="38">what the person is told at its end</text>
{body}
</svg>
"""


def _about(scene: Scene) -> list[str]:
    return textwrap.wrap(scene.about, WRAP)


def _row(scene: Scene, y: int) -> Iterator[str]:
    for number, words in enumerate(_about(scene)):
        yield f'<text x="{LEFT}" y="{y + LINE * number}">{escape(words)}</text>'
    for number, (line, settled) in enumerate(zip(scene.lines, scene.settles, strict=True)):
        look = "runs" if settled == "Dispatchable" else "not"
        yield f'<text class="{look}" x="{RIGHT}" y="{y + LINE * number}">{escape(line)}</text>'
