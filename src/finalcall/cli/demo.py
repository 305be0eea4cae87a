"""Plays the demo: the real client, a loopback server, and one turn a scene, sync then async.

Needs no key and no network. It is a check too: a scene that settles otherwise than its row says
makes the exit status 1.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import io
import ssl
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO, final

from finalcall.aio import AsyncTurn
from finalcall.cli.scenes import SCENES, TOOLS, TYPING_PAUSE, Scene
from finalcall.cli.screen import Screen, Style, open_screen
from finalcall.events import (
    ArgumentsDelta,
    CallAnnounced,
    CallSettled,
    Event,
    MessageStopped,
    StreamQuiet,
    TextDelta,
)
from finalcall.outcomes import Dispatchable, Failed, Outcome, SchemaError
from finalcall.testing import FaultServer
from finalcall.texts import final_line, printable
from finalcall.turn import SettledTurn, Turn

_TAIL: Final = 48
"""Characters of a growing argument text that a terminal shows."""

_MISSING = """\
the demo drives the real Anthropic client, which is not installed here; install it with

    python -m pip install 'finalcall[anthropic]'
"""

_EXAMPLES = """\
examples:
  python -m finalcall demo                     every scene, sync then async
  python -m finalcall demo --scene dropped     one of them
  python -m finalcall demo --list              what there is
  python -m finalcall demo --fast --async      without the pauses of typing, async only

exit status:
  0  every scene settled as it must
  1  some scene settled otherwise
  2  bad usage, or the client is not installed
  130  stopped by Ctrl-C
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "demo",
        help="watch calls settle: whole, cut, dropped, silent, wrong, cancelled",
        description="The real Anthropic client reads recorded messages from a loopback server, "
        "and every call in them settles. No key and no network is needed.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--scene",
        action="append",
        choices=[scene.name for scene in SCENES],
        help="play this scene only; may be given again for more",
        metavar="NAME",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--sync", dest="kinds", action="store_const", const=("sync",), help="sync only"
    )
    kinds.add_argument(
        "--async", dest="kinds", action="store_const", const=("async",), help="async only"
    )
    parser.add_argument("--fast", action="store_true", help="leave the pauses of typing out")
    parser.add_argument("--no-color", action="store_true", help="no colours, as NO_COLOR=1")
    parser.add_argument("--list", action="store_true", help="name the scenes and stop")
    parser.set_defaults(run=run, kinds=("sync", "async"))


def run(options: argparse.Namespace) -> int:
    """Play the scenes that were asked for.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where every scene settled as its row says, 1 where one did not, 2 where the client is
        not installed.
    """
    if options.list:
        width = max(len(scene.name) for scene in SCENES)
        for scene in SCENES:
            sys.stdout.write(f"{scene.name:{width}}  {scene.about}\n")
        return 0
    if importlib.util.find_spec("anthropic") is None:
        sys.stderr.write(_MISSING)
        return 2
    _allow_any_text(sys.stdout)
    screen = open_screen(sys.stdout, no_colour=options.no_color)
    pause = 0.0 if options.fast else TYPING_PAUSE
    played = failed = 0
    for scene in SCENES:
        if options.scene is None or scene.name in options.scene:
            for kind in options.kinds:
                played += 1
                failed += not play(scene, kind, screen, pause)
    screen.begin("demo", f"{played - failed} of {played} scenes settled as they must")
    return 1 if failed else 0


def _allow_any_text(stream: TextIO) -> None:
    """Where an encoding lacks a sign, show "?" for it."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def play(scene: Scene, kind: str, screen: Screen, pause: float) -> bool:
    """Play a scene.

    Args:
        scene: Its row.
        kind: `"sync"` or `"async"`.
        screen: Where to show it.
        pause: Seconds before each event.

    Returns:
        Whether all of it was as its row says.
    """
    screen.begin(f"{scene.name} ({kind})", scene.about)
    narrator = Narrator(screen)
    read = _READERS[kind]
    with FaultServer(scene.script(pause)) as server:
        turn, raised = read(server.base_url, scene, narrator)
    narrator.finish(turn, raised)
    wrong = _differences(scene, narrator, turn, raised)
    for number, difference in enumerate(wrong):
        screen.put(f"wrong {number}", f"NOT AS IT MUST BE: {difference}", "bad")
    return not wrong


def _differences(
    scene: Scene, narrator: Narrator, turn: SettledTurn, raised: str | None
) -> list[str]:
    found = (
        ("outcomes", tuple(map(settled_as, turn.outcomes)), scene.settles),
        ("last lines", tuple(narrator.lines), scene.lines),
        ("verdict", turn.verdict, scene.verdict),
        ("raised", raised, scene.raises),
    )
    return [f"{what} {is_}, expected {must}" for what, is_, must in found if is_ != must]


def settled_as(outcome: Outcome) -> str:
    """An outcome in the words of the table of scenes."""
    match outcome:
        case Dispatchable():
            return "Dispatchable"
        case SchemaError():
            return f"SchemaError ({', '.join(error.keyword for error in outcome.errors)})"
        case Failed():
            return f"Failed {outcome.reason} ({outcome.cause.value})"


@final
class Narrator:
    """Puts a turn's events on a screen, a row for the text and one a call.

    Attributes:
        lines: The last line of each call, in the order in which they settled.
    """

    def __init__(self, screen: Screen) -> None:
        self.lines: list[str] = []
        self.pieces: int = 0
        self._screen = screen
        self._text = ""
        self._tails: dict[str, str] = {}

    def show(self, event: Event) -> None:
        """Put one event on the screen. Settled calls come through `settled`, on every path."""
        match event:
            case TextDelta(text):
                self._text += text
                self._screen.grow("text", self._text)
            case CallAnnounced(call):
                self._screen.put(call.key, f"◌ {call.name} — preparing", "faint")
            case ArgumentsDelta(call, text):
                self.pieces += 1
                tail = self._tails[call.key] = (self._tails.get(call.key, "") + text)[-_TAIL:]
                line = f"◌ {call.name} — preparing, {call.size} characters"
                self._screen.grow(call.key, line, "faint", passing=f"  …{printable(tail)}")
            case StreamQuiet(seconds):
                self._screen.put("quiet", f"still waiting, {seconds:.0f} s", "faint")
            case MessageStopped(stop_reason):
                self._screen.put("stop", f"stop reason: {stop_reason.raw}", "faint")
            case _:
                pass

    def settled(self, event: CallSettled) -> None:
        """Put a call's last line on the screen."""
        line = final_line(event.outcome)
        self.lines.append(line)
        style: Style = "good" if isinstance(event.outcome, Dispatchable) else "bad"
        self._screen.put(event.call.key, line, style)

    def finish(self, turn: SettledTurn, raised: str | None) -> None:
        """Put on the screen what the caller's code gets."""
        for outcome in turn.outcomes:
            self._screen.put(f"outcome {outcome.key}", f"outcome: {settled_as(outcome)}")
        if raised:
            self._screen.put("raised", f"raised, after every call had settled: {raised}")
        self._screen.put("verdict", f"verdict: {turn.verdict}")


def _request() -> dict[str, Any]:
    return {
        "model": "demo",
        "max_tokens": 1024,
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "The night run stopped. Tell billing."}],
        "stream": True,
    }


_LOOPBACK: Final[dict[str, Any]] = {
    "trust_env": False,  # proxies are for the network, and a loopback server is not on it
    "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts nobody, and is quick to make
}
"""How an HTTP client reaches the loopback server."""


def _read_sync(base_url: str, scene: Scene, narrator: Narrator) -> tuple[SettledTurn, str | None]:
    """Read a scene with the synchronous client; stopping is a `break`."""
    import anthropic

    http_client = anthropic.DefaultHttpxClient(**_LOOPBACK)
    with anthropic.Anthropic(
        base_url=base_url, api_key="none", max_retries=0, http_client=http_client
    ) as client:
        turn = Turn(
            client.messages.create(**_request()),
            tools=TOOLS,
            idle_timeout=scene.idle_timeout,
            on_settled=narrator.settled,
        )
        try:
            with turn:
                for event in turn:
                    narrator.show(event)
                    if narrator.pieces == scene.stop_after:
                        break
        except Exception as error:  # what it may raise is what the scene is about
            return turn, type(error).__name__
        return turn, None


def _read_async(base_url: str, scene: Scene, narrator: Narrator) -> tuple[SettledTurn, str | None]:
    """Read a scene with the asynchronous client."""
    return asyncio.run(_read_in_task(base_url, scene, narrator))


async def _read_in_task(
    base_url: str, scene: Scene, narrator: Narrator
) -> tuple[SettledTurn, str | None]:
    """Read a turn in a task; stopping cancels the task."""
    import anthropic

    http_client = anthropic.DefaultAsyncHttpxClient(**_LOOPBACK)
    async with anthropic.AsyncAnthropic(
        base_url=base_url, api_key="none", max_retries=0, http_client=http_client
    ) as client:
        turn = AsyncTurn(
            client.messages.create(**_request()),
            tools=TOOLS,
            idle_timeout=scene.idle_timeout,
            on_settled=narrator.settled,
        )
        stopped = asyncio.Event()

        async def read() -> None:
            async with turn:
                async for event in turn:
                    narrator.show(event)
                    if narrator.pieces == scene.stop_after:
                        stopped.set()

        reading = asyncio.create_task(read())
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()  # does nothing to a task that is done
        stopping.cancel()
        (result,) = await asyncio.gather(reading, return_exceptions=True)
        cancelled = isinstance(result, asyncio.CancelledError)
        return turn, None if result is None or cancelled else type(result).__name__


_READERS: Final[dict[str, Callable[[str, Scene, Narrator], tuple[SettledTurn, str | None]]]] = {
    "sync": _read_sync,
    "async": _read_async,
}
