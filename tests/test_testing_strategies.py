"""The strategies, and what holds of every reply, every fault and every tool that they give."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finalcall import (
    CallAnnounced,
    CallSettled,
    Dispatchable,
    SchemaError,
    Settler,
    ToolSet,
    Turn,
)
from finalcall.testing import FAULTS, CloseAbruptly, Reply, Reset, Stall
from finalcall.testing.faulty_streams import Announced, FaultyStream
from finalcall.testing.strategies import PROVIDERS, calls_of, faulty_streams, toolsets

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

WHOLE = Reply().text("On it.").call("get_tide", {"port": "Brest"}).call("now")


def settle(stream: FaultyStream, form: str) -> tuple[Turn, Counter[str]]:
    """A turn over the stream, with how often each call was settled."""
    told: Counter[str] = Counter()
    turn = Turn(
        stream.chunks() if form == "bytes" else stream.natives(),
        tools=None,
        provider=stream.provider,
        raises=False,
        on_settled=lambda event: told.update([event.outcome.key]),
    )
    with turn:
        events = list(turn)
    shown = [event.call.key for event in events if isinstance(event, CallAnnounced)]
    settled = [event.outcome.key for event in events if isinstance(event, CallSettled)]
    assert sorted(shown) == sorted(settled) == sorted(told.elements())
    return turn, told


@QUICK
@given(faulty_streams(), st.sampled_from(["bytes", "natives"]))
def test_every_announced_call_of_a_faulty_stream_is_settled_once(
    stream: FaultyStream, form: str
) -> None:
    """Whatever goes wrong, each call gets one outcome, and none runs that may not."""
    turn, told = settle(stream, form)
    found = [Announced(outcome.call_id, outcome.name) for outcome in turn.outcomes]
    assert set(told.values()) <= {1}
    assert len(found) == len(told)
    assert found == list(stream.announced)
    if not stream.may_run:
        assert not any(isinstance(outcome, Dispatchable) for outcome in turn.outcomes)


def mixed(draw: st.DrawFn, valid: bool) -> tuple[ToolSet, Reply]:
    tools = draw(toolsets())
    reply = Reply()
    for _ in range(draw(st.integers(1, 3))):
        call = draw(calls_of(tools, valid=valid))
        reply = reply.call(call.name, call.pieces)
    return ToolSet(tools), reply


@st.composite
def matching_replies(draw: st.DrawFn) -> tuple[ToolSet, Reply]:
    return mixed(draw, valid=True)


@st.composite
def violating_replies(draw: st.DrawFn) -> tuple[ToolSet, Reply]:
    return mixed(draw, valid=False)


def outcomes(tools: ToolSet, reply: Reply, provider: str) -> list[Any]:
    settler = Settler(provider, tools=tools)
    for native in reply.to(provider):
        settler.feed(native)
    settler.end()
    assert len(settler.outcomes) == len(reply.calls)
    return list(settler.outcomes)


@QUICK
@given(matching_replies(), st.sampled_from(PROVIDERS))
def test_matching_arguments_can_be_run(made: tuple[ToolSet, Reply], provider: str) -> None:
    """On a clean stream, calls whose arguments satisfy their tool are dispatchable."""
    assert {type(outcome) for outcome in outcomes(*made, provider)} == {Dispatchable}


@QUICK
@given(violating_replies(), st.sampled_from(PROVIDERS))
def test_violating_arguments_are_schema_errors(made: tuple[ToolSet, Reply], provider: str) -> None:
    """On a clean stream, calls whose arguments miss their tool's schema are schema errors."""
    assert {type(outcome) for outcome in outcomes(*made, provider)} == {SchemaError}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_faults_every_call_is_announced_and_may_run(provider: str) -> None:
    """A stream in which nothing goes wrong announces the reply's calls and gives its events."""
    stream = FaultyStream.of(provider, WHOLE)
    assert [call.name for call in stream.announced] == ["get_tide", "now"]
    assert stream.may_run
    assert stream.faults == ()
    assert list(stream.natives()) == WHOLE.to(provider)
    assert b"".join(stream.chunks()) == WHOLE.to_bytes(provider)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_in_the_streams_where_it_means_something(name: str) -> None:
    """A fault is named, changes the script and says whether calls may run; elsewhere it is none."""
    fault = FAULTS[name]
    faulty = 0
    for provider in PROVIDERS:
        clean = FaultyStream.of(provider, WHOLE)
        stream = FaultyStream.of(provider, WHOLE, [fault])
        if stream.faults:
            assert stream.faults == (fault.summary,)
            assert stream.script != clean.script
            assert stream.may_run is fault.lets_run
            faulty += 1
        else:
            assert stream == clean
    assert faulty


def test_a_fault_that_means_nothing_is_left_out() -> None:
    """Where there is no call, a fault of calls is none."""
    stream = FaultyStream.of("anthropic", Reply().text("Hello."), [FAULTS["missing-id"]])
    assert stream.faults == ()
    assert stream.may_run


@pytest.mark.parametrize(
    ("name", "last", "error"),
    [
        ("stall", Stall, TimeoutError),
        ("connection-lost", CloseAbruptly, ConnectionResetError),
        ("connection-reset", Reset, ConnectionResetError),
    ],
)
def test_a_stream_that_dies_raises_what_a_client_raises(
    name: str, last: type[object], error: type[Exception]
) -> None:
    """Silence is a timeout, a lost connection a reset; what came before has been given."""
    stream = FaultyStream.of("openai-chat", WHOLE, [FAULTS[name]])
    assert isinstance(stream.script.steps[-1], last)
    natives: list[Any] = []
    with pytest.raises(error):
        natives.extend(stream.natives())
    assert natives
    assert natives == WHOLE.to("openai-chat")[: len(natives)]


def test_a_frame_that_cannot_be_read_raises_without_its_content() -> None:
    """What clients do with garbage is to raise."""
    stream = FaultyStream.of("anthropic", WHOLE, [FAULTS["garbage-byte"]])
    with pytest.raises(ValueError, match="cannot be read: server-sent event") as caught:
        list(stream.natives())
    assert "Brest" not in str(caught.value)
