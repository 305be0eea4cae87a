"""Whoever hands in the wrong thing is told so at once: what it was, and what to give instead."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from finalcall import AsyncTurn, Limits, Settler, ToolSet, Turn, asettle, observe, settle
from finalcall.blocks import Blocks
from finalcall.bridges import AGUI, UIMessageStream
from finalcall.listeners import MOMENTS
from finalcall.observe import Monitor, Observer
from finalcall.terminal import TerminalBlocks
from finalcall.testing import (
    FAULTS,
    Fault,
    FaultServer,
    FaultyStream,
    Reply,
    Script,
    ScriptedModel,
    stall_after,
)
from finalcall.testing.faults.checking import fault_named

SECRET = "S3NT1N3L"
NATIVE: Any = {"type": "content_block_delta", "delta": {"partial_json": SECRET}}
REPLY = Reply().call("pay", {"pin": SECRET})
SCRIPT = REPLY.to_recording("anthropic").to_script()
STALL = FAULTS["stall"]


class Halved:
    """Has one of an observer's methods, and derives from nothing."""

    def call_settled(self, turn: object, settled: object) -> None:
        """Be told."""


def to_nothing(_: Script) -> Any:
    """Forgets to give a script back."""


def made_up() -> Fault:
    return STALL


def ui(**options: Any) -> UIMessageStream:
    return UIMessageStream(tools=None, **options)


def agui(**options: Any) -> AGUI:
    return AGUI(tools=None, **{"thread_id": "a", "run_id": "b", **options})


def monitor(**options: Any) -> Monitor:
    return Monitor(**{"bands": {}, "on_change": print, **options})


def server(*answers: Any, **options: Any) -> FaultServer:
    return FaultServer(*answers, **options)


def faulty(*faults: Any) -> FaultServer:
    return server(REPLY, faults=list(faults))


def script(*faults: Any) -> Script:
    return SCRIPT.with_faults(*faults)


def model(answers: Any) -> ScriptedModel:
    return ScriptedModel(answers)


def stream(faults: Any) -> FaultyStream:
    return FaultyStream.of("anthropic", REPLY, faults)


def settler(**options: Any) -> Settler:
    return Settler(tools=None, **options)


def turn(stream: Any = (), **options: Any) -> Turn:
    return Turn(stream, **{"tools": None, **options})


def async_turn(**options: Any) -> AsyncTurn:
    return AsyncTurn((), tools=None, **options)


def settled(**options: Any) -> Turn:
    return settle((), tools=None, **options)


def asettled(**options: Any) -> AsyncTurn:
    return asyncio.run(asettle((), tools=None, **options))


def limits(**bounds: Any) -> Limits:
    return Limits(**bounds)


def tools(**options: Any) -> ToolSet:
    return ToolSet({"pay": {}}, **options)


def shown(*blocks: Any, **options: Any) -> TerminalBlocks:
    return TerminalBlocks(*blocks, **options)


TYPE, VALUE = TypeError, ValueError
ANY: Any = None

WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    # Bridges and blocks
    (lambda: ui(sensitive={("pin",)}), TYPE, "sensitive= is of type set; expected 'mask' or"),
    (lambda: ui(sensitive={("pin",)}), TYPE, "display={name: Display(sensitive=...)}"),
    (lambda: ui(sensitive="maks"), VALUE, "sensitive='maks'; expected 'mask' or 'send'"),
    (lambda: agui(thread_id=7), TYPE, "thread_id= is of type int; expected a string"),
    (lambda: agui(run_id=ANY), TYPE, "run_id= is of type NoneType; expected a string"),
    (lambda: ui().feed(NATIVE), TYPE, "an event is of type dict; expected one that a turn"),
    (lambda: agui().feed(ANY), TYPE, "wrap the provider's stream in a Turn"),
    (
        lambda: ui().feed([NATIVE]),
        TYPE,
        "gives: wrap the provider's stream in a Turn and give what that yields, one",
    ),
    (lambda: ui().result(NATIVE, 3), TYPE, "of type dict; expected a Dispatchable of turn.outco"),
    (lambda: ui().end(ANY), TYPE, "the last turn is of type NoneType; expected a Turn"),
    (lambda: Blocks().apply(NATIVE), TYPE, "an event is of type dict; expected one that a turn"),
    (lambda: shown(ToolSet({"pay": {}})), TYPE, "of type ToolSet; expected Blocks, as Blocks(t"),
    (lambda: shown(Blocks), TYPE, "what to show is the class Blocks; expected Blocks, as Blocks("),
    (lambda: shown(Blocks(), console=sys.stderr), TYPE, "expected a rich.console.Console: of a"),
    # Settlers and turns
    *(
        (lambda options=options: settler(**options), error, words)
        for options, error, words in [
            ({"ceiling": "4096"}, TYPE, "ceiling= is of type str; expected a number of tokens abo"),
            ({"ceiling": True}, TYPE, "ceiling= is of type bool; expected a number of tokens abov"),
            ({"ceiling": 4096.0}, TYPE, "ceiling= is of type float; expected a number of tokens a"),
            ({"ceiling": 0}, VALUE, "ceiling= is 0; expected a number of tokens above 0, or None "),
            ({"truncation": "lats"}, VALUE, "truncation= is 'lats'; expected 'all' or 'last'"),
            ({"truncation": None}, TYPE, "truncation= is of type NoneType; expected 'all' or 'la"),
            ({"unconfirmed": "all"}, VALUE, "unconfirmed= is 'all'; expected 'fail' or 'dispatch"),
            ({"unconfirmed": True}, TYPE, "unconfirmed= is of type bool; expected 'fail' or 'dis"),
            ({"choices": 1}, TYPE, "choices= is of type int; expected 'first' or 'all'"),
            ({"choices": "every"}, VALUE, "choices= is 'every'; expected 'first' or 'all'"),
            ({"after_stop": None}, TYPE, "after_stop= is of type NoneType; expected seconds, 0 or"),
            ({"after_stop": "2"}, TYPE, "after_stop= is of type str; expected seconds, 0 or more"),
            ({"after_stop": -1}, VALUE, "after_stop= is -1; expected seconds, 0 or more"),
            ({"after_stop": float("nan")}, VALUE, "after_stop= is nan; expected seconds, 0 or mo"),
            ({"limits": None}, TYPE, "limits= is of type NoneType; expected a Limits, such as"),
            ({"limits": Limits}, TYPE, "limits= is the class Limits; expected a Limits, such as"),
            ({"preview": "yes"}, TYPE, "preview= is of type str; expected finalcall.preview.Prev"),
            ({"on_settled": []}, TYPE, "on_settled= is of type list; expected a function that"),
            ({"blocks": True}, TYPE, "blocks= is of type bool; expected Blocks, as Blocks(tools="),
            ({"blocks": Blocks}, TYPE, "blocks= is the class Blocks; expected Blocks, as Blocks("),
            ({"stop_reasons": ["x"]}, TYPE, "stop_reasons= is of type list; expected a mapping"),
        ]
    ),
    *(
        (lambda make=make: make(raises="x"), TYPE, "raises= is of type str; expected True or False")
        for make in (turn, async_turn, settled, asettled)
    ),
    (lambda: turn(clock=3), TYPE, "clock= is of type int; expected a function that gives seco"),
    (lambda: turn(pacing="threads"), VALUE, "pacing= is 'threads'; expected 'auto' or 'thread'"),
    (lambda: turn(pacing=None), TYPE, "pacing= is of type NoneType; expected 'auto' or 'thread'"),
    (lambda: limits(calls="3"), TYPE, "Limits.calls is of type str; expected a whole number ab"),
    (lambda: limits(message=1e6), TYPE, "Limits.message is of type float; expected a whole num"),
    (lambda: limits(calls=True), TYPE, "Limits.calls is of type bool; expected a whole number"),
    (lambda: limits(arguments=0), VALUE, "Limits.arguments is 0; expected a whole number above"),
    # Tools
    *(
        (lambda options=options: tools(**options), TYPE, words)
        for options, words in [
            ({"once": 3}, "once= is of type int; expected a collection of tool names, as (name,)"),
            ({"once": None}, "once= is of type NoneType; expected a collection of tool names"),
            ({"once": ["pay", None]}, "what once= holds is of type NoneType; expected names of c"),
            ({"once": [["pay"]]}, "what once= holds is of type list; expected names of client"),
            ({"display": True}, "display= is of type bool; expected a mapping of tool names to Di"),
            ({"display": [1]}, "display= is of type list; expected a mapping of tool names to Di"),
            ({"display": {"pay": {"label": "Pay"}}}, "'pay' is of type dict; expected a Display,"),
        ]
    ),
    (lambda: tools(display={3: 3, None: 4}), VALUE, "display names 3, None; expected names of cl"),
    # Observers
    (lambda: observe.add(Observer), TYPE, "is the class Observer; expected an object of it"),
    (lambda: observe.add(Monitor), TYPE, "expected an object of it: add(Monitor(...))"),
    (lambda: observe.add(Halved()), TYPE, "of type Halved, which lacks turn_begun, call_annou"),
    (lambda: observe.add(print), TYPE, "derive it from finalcall.observe.Observer"),
    (lambda: monitor(bands=0.02), TYPE, "bands= is of type float; expected a band for each r"),
    (lambda: monitor(bands={"truncate": (0, 1)}), VALUE, "there is no ratio 'truncate'; expecte"),
    *(
        (lambda band=band: monitor(bands={"truncated": band}), error, words)
        for band, error, words in [
            (0.02, TYPE, "the band of truncated is of type float; expected a pair of numbers, the"),
            ((0.02,), TYPE, "is of type tuple; expected a pair of numbers"),
            ((0, 0.5, 1), TYPE, "is of type tuple; expected a pair of numbers"),
            (["0", "1"], TYPE, "is of type list; expected a pair of numbers"),
            ((0.02, 0.0), VALUE, "is (0.02, 0.0); expected the lowest share that is no news, then"),
            ((0.0, 2.0), VALUE, "both from 0 to 1"),
        ]
    ),
    (lambda: monitor(on_change=None), TYPE, "on_change= is of type NoneType; expected a functi"),
    (lambda: monitor(window="600"), TYPE, "window= is of type str; expected a number of seconds"),
    (lambda: monitor(minimum=None), TYPE, "minimum= is of type NoneType; expected a number of "),
    # Faults
    (lambda: faulty("stall"), TYPE, "the fault 'stall' is a string; expected a fault, FAULTS['st"),
    (lambda: faulty("stal"), TYPE, "one of FAULTS: did you mean 'stall'?"),
    (lambda: faulty("x"), TYPE, "one of FAULTS: the faults are cut-at-byte, cut-at-event, "),
    (lambda: faulty(stall_after), TYPE, "expected what it makes: stall_after()"),
    (lambda: faulty(made_up), TYPE, "made_up makes faults and is none"),
    (
        lambda: faulty(Fault),
        TYPE,
        "a fault is the class Fault; expected one of FAULTS, a Fault, or",
    ),
    (lambda: faulty([STALL]), TYPE, "a fault is of type list; expected one of FAULTS"),
    (lambda: server(REPLY, faults=STALL), TYPE, "of type Fault; expected a list of faults, as [F"),
    (lambda: server(REPLY, faults="stall"), TYPE, "of type str; expected a list of faults, as"),
    (lambda: server(REPLY, faults=3), TYPE, "faults= is of type int; expected a list of faults"),
    (lambda: script("stall"), TYPE, "expected a fault, FAULTS['stall']"),
    (lambda: script(to_nothing), TYPE, "made of a script is of type NoneType; expected another"),
    (lambda: stream(["stall"]), TYPE, "expected a fault, FAULTS['stall']"),
    (lambda: stream(STALL), TYPE, "faults= is of type Fault; expected a list of faults"),
    (lambda: stream([to_nothing]), TYPE, "of type function; expected a Fault, which says what"),
    (lambda: fault_named("pinks"), VALUE, "there is no fault 'pinks'; did you mean 'pings'?"),
    # Answers
    *(
        (lambda make=make, answer=answer: make(answer), TYPE, words)
        for make in (server, model)
        for answer, words in [
            (
                NATIVE,
                "what to answer is of type dict; expected a Reply, a Recording or a Script, a",
            ),
            (b"data", "what to answer is of type bytes; expected a Reply"),
            (7, "what to answer is of type int; expected a Reply"),
            (Reply, "what to answer is the class Reply; expected a Reply"),
            (
                REPLY.to("anthropic"),
                "an answer is of type dict; expected a Reply, a Recording or a",
            ),
        ]
    ),
    (lambda: model(lambda _: None)([]), TYPE, "an answer is of type NoneType; expected a Reply"),
]
"""What is handed in, the error that comes of it, and words of its sentence."""


@pytest.mark.parametrize(("hand_in", "error", "words"), WRONG, ids=[words for _, _, words in WRONG])
def test_the_wrong_thing_is_refused_at_once(
    hand_in: Callable[[], object], error: type[Exception], words: str
) -> None:
    """In a sentence that tells nothing of what is in it."""
    with pytest.raises(error) as raised:
        hand_in()
    sentence = str(raised.value)
    assert words in sentence
    assert SECRET not in sentence
    assert sentence[0] == sentence[0].lower() or sentence.startswith("Limits.")
    assert raised.type is error


def test_a_bridge_that_refused_goes_on() -> None:
    """Nothing was told, and the turn that comes then is told from its beginning."""
    refusing, other = ui(), ui()
    for wrong in (NATIVE, None, []):
        with pytest.raises(TypeError):
            refusing.feed(wrong)
    settler = Settler(tools=None)
    events = [event for native in REPLY.to("anthropic") for event in settler.feed(native)]
    assert [refusing.feed(event) for event in events] == [other.feed(event) for event in events]


def test_blocks_that_refused_are_unchanged() -> None:
    """What waits still waits."""
    blocks = Blocks()
    blocks.quiet = 3.0
    with pytest.raises(TypeError):
        blocks.apply(NATIVE)
    assert blocks.quiet == 3.0


def test_a_refused_observer_is_not_added() -> None:
    """The turns that begin then are told to nobody else than before."""
    before = observe.failures()
    with pytest.raises(TypeError):
        observe.add(Halved())
    assert observe.failures() == before


def test_what_an_observer_must_have_is_what_the_protocol_has() -> None:
    """The names that are asked for are those of the protocol's methods."""
    methods = inspect.getmembers(Observer, inspect.isfunction)
    assert sorted(MOMENTS) == sorted(name for name, _ in methods if not name.startswith("_"))


def test_an_observer_need_not_derive() -> None:
    """One that has every method is one, whatever it is made of."""
    whole = type("Whole", (), dict.fromkeys(MOMENTS, lambda *_: None))()
    observe.add(whole)
    try:
        assert (whole, 0) in observe.failures()
    finally:
        observe.remove(whole)


def test_a_function_that_gives_no_answer_is_named_when_the_block_is_left() -> None:
    """The client's connection is cut, and the sentence comes where the server is."""
    with (
        pytest.raises(TypeError, match="an answer is of type NoneType; expected a Reply"),
        server(lambda _: None) as running,
    ):
        client = http.client.HTTPConnection(running.base_url.removeprefix("http://"))
        client.request("POST", "/v1/messages", b'{"stream": true}')
        with pytest.raises(http.client.RemoteDisconnected):
            client.getresponse()


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("opentelemetry", "import finalcall.observe.otel", "otel"),
        ("pytest", "import finalcall.testing.plugin", "testing"),
        ("hypothesis", "import finalcall.testing.strategies", "testing"),
        ("rich.console", "import finalcall.terminal", "cli"),
        ("xai_sdk", "from finalcall.testing import Reply; Reply().to_objects('xai')", "xai"),
    ],
)
def test_a_package_that_is_missing_is_named(package: str, code: str, extra: str) -> None:
    """The last line is an ImportError that says what to install."""
    blocked = f"import sys; sys.modules[{package!r}] = None\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=False
    )
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith("ImportError: ")
    assert f"pip install 'finalcall[{extra}]'" in sentence
    assert package.partition(".")[0] in sentence
