"""The faults, put into scripted replies and recordings of every dialect."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from finalcall import (
    AsyncTurn,
    CallAnnounced,
    Cause,
    Dispatchable,
    Failed,
    ProviderFault,
    Settler,
    Turn,
)
from finalcall.testing import (
    FAULTS,
    Close,
    CloseAbruptly,
    Fault,
    NotApplicable,
    Pause,
    Pings,
    RecordedEvent,
    Recording,
    Reply,
    Reset,
    Script,
    Send,
    Stall,
    acancel_after,
    cancel_after,
    ceiling,
    content_filter,
    cut_after,
    deliver_twice,
    duplicate_key,
    end_twice,
    garbage_byte,
    in_band_error,
    lose_connection,
    missing_id,
    missing_index,
    ping_after,
    pings,
    refusal,
    repeated_id,
    repeated_name,
    reset_after,
    same_index,
    splice,
    split_characters,
    stall_after,
    stay_open,
    trickle,
)
from finalcall.testing.rendering import RENDERERS
from finalcall.testing.steps import LAST_STEPS
from tests.recorded import recordings

REPLY = (
    Reply().text("Öl 🌊").call("create_ticket", {"title": "Sète 🌊", "floor": 12}).call("now", "{}")
)
SAMPLES = 3
"""Recordings of each provider; the matrix has a scripted reply for all of them."""


def script_of(provider: str, reply: Reply = REPLY) -> Script:
    return reply.to_recording(provider).to_script()


def settle(script: Script, provider: str | None = None) -> Settler:
    settler = Settler(provider, tools=None)
    settler.feed(script.body())
    settler.end()
    return settler


def ran(settler: Settler) -> list[tuple[str, Any]]:
    return [(one.name, one.args) for one in settler.outcomes if isinstance(one, Dispatchable)]


def dicts(script: Script) -> list[Any]:
    return Recording.parse(script.body()).to_dicts()


def text_of(events: list[Any], index: int) -> str:
    """The argument text of a block of Anthropic's."""
    deltas = [
        event["delta"] for event in events if event.get("index") == index and "delta" in event
    ]
    return "".join(delta["partial_json"] for delta in deltas)


def some_recordings() -> dict[str, Recording]:
    """A few of each provider that have bytes of their own."""
    found: dict[str, Recording] = {}
    taken: dict[str, int] = {}
    for name, path in recordings().items():
        provider = name.partition("/")[0]
        taken[provider] = taken.get(provider, 0) + 1
        if provider in RENDERERS and taken[provider] <= SAMPLES:
            found[name] = Recording.read(path)
    return found


RECORDED = some_recordings()


@pytest.mark.parametrize("name", RECORDED)
def test_faults_do_to_recordings_what_they_say(name: str) -> None:
    """Nothing runs that a fault forbids, and what it leaves alone runs as before."""
    script = RECORDED[name].to_script()
    before = ran(settle(script))
    applied = 0
    for fault_name, fault in FAULTS.items():
        try:
            faulty = fault(script)
        except NotApplicable:
            continue
        applied += 1
        after = ran(settle(faulty))
        if fault.harm == "message":
            assert after == [], fault_name
        elif fault.harm == "none":
            assert after == before, fault_name
        elif before:
            assert after != before, fault_name
        assert all(one in before for one in after), fault_name
    assert applied


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_faults_can_be_combined(provider: str) -> None:
    """What changes events finds them in bytes that were cut or mixed with keep-alives before."""
    script = script_of(provider).with_faults(split_characters(), trickle(5, 0.0))
    assert ran(settle(script, provider)) == ran(settle(script_of(provider), provider))
    faulty = script.with_faults(ceiling(), end_twice())
    causes = {one.cause for one in settle(faulty, provider).outcomes if isinstance(one, Failed)}
    assert causes == {Cause.TOKEN_CEILING}


def test_a_keep_alive_survives_what_changes_events() -> None:
    """Comments and empty lines stay where they are."""
    for provider, keep_alive in (("anthropic", b": ping\n\n"), ("ollama", b"\n")):
        script = script_of(provider).with_faults(pings(), missing_id())
        assert script.steps.count(Send(keep_alive)) == len(script_of(provider).steps)


@pytest.mark.parametrize("provider", sorted(RENDERERS))
@pytest.mark.parametrize("first", ["garbage-byte", "cut-at-byte", "slow-trickle", "pings"])
def test_a_fault_stays_under_those_of_events(provider: str, first: str) -> None:
    """Two faults harm what the worse of them does, whichever of them is put in first."""
    for second, fault in FAULTS.items():
        for pair in ((FAULTS[first], fault), (fault, FAULTS[first])):
            try:
                script = script_of(provider).with_faults(*pair)
            except NotApplicable:
                continue
            after = ran(settle(script, provider))
            if not all(one.lets_run for one in pair):
                assert after == [], (first, second)
            elif {one.harm for one in pair} == {"none"}:
                assert after == ran(settle(script_of(provider), provider)), (first, second)


@pytest.mark.parametrize(
    ("provider", "framing"), [("ollama", None), ("gemini", "json-array"), ("anthropic", "sse")]
)
def test_keep_alives_come_between_whole_events(provider: str, framing: Any) -> None:
    """However the bytes are cut, none comes inside of an event."""
    whole = REPLY.to_recording(provider).to_script(framing)
    keep_alive = pings()(whole).steps[0]
    assert isinstance(keep_alive, Send)
    script = whole.with_faults(trickle(1, 0.0), pings())
    assert script.steps.count(keep_alive) >= len(whole.steps)
    assert ran(settle(script, provider)) == ran(settle(whole, provider)) != []
    assert ran(settle(missing_id()(script), provider)) == ran(settle(whole, provider))


@pytest.mark.parametrize(
    ("provider", "framing"),
    [("ollama", None), ("gemini", "json-array"), ("bedrock-converse", None), ("openai-chat", None)],
)
def test_garbage_stays_where_it_is(provider: str, framing: Any) -> None:
    """A fault that changes events leaves bytes that mean none as they are."""
    script = garbage_byte()(REPLY.to_recording(provider).to_script(framing))
    (garbage,) = [
        one
        for one, other in zip(
            script.steps, REPLY.to_recording(provider).to_script(framing).steps, strict=True
        )
        if one != other
    ]
    assert isinstance(garbage, Send)
    assert garbage.data in missing_id()(script).body()


@pytest.mark.parametrize("provider", ["gemini", "mistral", "ollama", "openai-responses", "xai"])
def test_a_whole_call_that_comes_twice_runs_once(provider: str) -> None:
    """Nothing is spoiled where a call is told whole: its event twice is the same call."""
    script = script_of(provider)
    events = len(script.steps)
    for number in range(events):
        twice = deliver_twice(number)(script)
        assert len(twice.steps) == events + 1
        assert ran(settle(twice, provider)) == ran(settle(script, provider)), number


@pytest.mark.parametrize(
    ("header", "framing"),
    [
        ({"dialect": "gemini"}, "json-array"),
        ({"dialect": "anthropic", "framing": "eventstream"}, "aws"),
    ],
)
def test_every_framing_is_written_again(header: dict[str, Any], framing: Any) -> None:
    """Also those that are a provider's second one."""
    recording = REPLY.to_recording(header["dialect"])
    script = dataclasses.replace(recording, header=header).to_script(framing)
    settler = settle(script.with_faults(ceiling()))
    assert settler.stop_reason is not None
    assert settler.stop_reason.verdict == "truncated"
    assert ran(settle(script.with_faults(missing_id()))) == ran(settle(script))


def test_whose_events_they_are_is_recognised() -> None:
    """A script that does not say its dialect is judged by its first event."""
    script = Script(tuple(map(Send, REPLY.to_recording("cohere").to_frames())))
    reason = settle(ceiling()(script)).stop_reason
    assert reason is not None
    assert reason == settle(ceiling()(script_of("cohere"))).stop_reason


def test_a_fault_is_a_value() -> None:
    """It says what goes wrong and what must hold, and can be used like a function."""
    fault = FAULTS["duplicate-key"]
    assert (fault.harm, fault.lets_run) == ("call", True)
    assert not FAULTS["stall"].lets_run
    assert fault(script_of("anthropic")) == script_of("anthropic").with_faults(fault)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fault.harm = "none"  # type: ignore[misc]
    assert len({fault.summary for fault in FAULTS.values()}) == len(FAULTS)


PLAIN = Script((Send(b"ab"), Send(b"cd")), "text/plain")
TEXT = Reply().text("High at noon.")
CALL = Reply().call("pay", {"euros": 5})


@pytest.mark.parametrize(
    ("fault", "script", "sentence"),
    [
        (
            cut_after(),
            PLAIN,
            "a body of type 'text/plain' holds no events that are known; expected",
        ),
        (pings(), PLAIN, "a body of type 'text/plain' has no keep-alives; types that have are"),
        (ping_after(1), script_of("bedrock-converse"), "has no keep-alives"),
        (ceiling(), Script((Send(b'data: {"x": 1}\n\n'),)), "nobody's words are recognised"),
        (ceiling(), Script(()), "nobody's words are recognised in the stream; expected"),
        (stall_after(), script_of("anthropic", TEXT), "the stream announces no call; expected one"),
        (ceiling(), script_of("anthropic", REPLY.stop(None)), "does not say why it stopped"),
        (refusal(), script_of("openai-chat", REPLY.stop(None)), "does not say why it stopped"),
        (ceiling(call_end=False), script_of("mistral"), "no end of their own in mistral"),
        (
            content_filter(),
            script_of("ollama"),
            "ollama has no word for a message that is filtered",
        ),
        (refusal(), script_of("cohere"), "cohere has no word for a message that is refused"),
        (in_band_error(), script_of("xai"), "errors are no events of the stream in xai"),
        (duplicate_key(), script_of("ollama"), "arguments are objects in ollama; only a text can"),
        (duplicate_key(), script_of("cohere", Reply().call("a", "[1]")), "are no object"),
        (duplicate_key(), script_of("cohere", Reply().call("a", "{")), "are no object"),
        (missing_index(), script_of("gemini"), "calls have no index in gemini"),
        (repeated_id(), script_of("anthropic"), "no place for a call's id or name in anthropic"),
        (splice(), script_of("ollama"), "no event tells one message from another in ollama"),
        (split_characters(), script_of("cohere", TEXT), "every character of the body is one byte"),
        (deliver_twice(), script_of("gemini"), "a call is told whole in gemini"),
        (deliver_twice(), script_of("openai-responses"), "told whole in openai-responses"),
        (deliver_twice(), script_of("cohere", Reply().call("a", ["{}"])), "come in one piece"),
        (deliver_twice(), script_of("cohere", Reply().call("a", [" ", "{}"])), "come in one piece"),
        (repeated_name(), missing_index()(script_of("openai-chat")), "have no index"),
        (
            missing_index(),
            repeated_name()(script_of("openai-chat")),
            "each piece of a call repeats",
        ),
        (end_twice(), cut_after(0)(script_of("gemini")), "the stream has no event; expected one"),
        (end_twice(), FAULTS["cut-at-byte"](script_of("ollama", CALL)), "the stream has no event"),
        (deliver_twice(99), script_of("cohere"), "there is no event 99 to send twice; the script"),
    ],
)
def test_what_means_nothing_says_so(fault: Fault, script: Script, sentence: str) -> None:
    """A fault without a place in a script is refused with the reason, never left out in silence."""
    with pytest.raises(NotApplicable) as refused:
        fault(script)
    assert sentence in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_nothing_to_take_out_is_said() -> None:
    """Once gone, ids and indices cannot be left out again."""
    for fault, sentence in ((missing_id(), "have no ids"), (missing_index(), "have no index")):
        once = fault(script_of("openai-chat"))
        with pytest.raises(NotApplicable, match=sentence):
            fault(once)


def test_the_end_alone_cannot_come_twice_with_a_call() -> None:
    """Some services stop in the event that holds the calls."""
    (*_, call, stop) = REPLY.to_recording("gemini").events
    stop.data["candidates"][0]["content"] = call.data["candidates"][0]["content"]
    script = Recording({"dialect": "gemini"}, (stop,)).to_script()
    with pytest.raises(NotApplicable, match="the last event holds a call, too"):
        end_twice()(script)
    assert cut_after()(script).body() == b""


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        (cut_after(), Close()),
        (lose_connection(), CloseAbruptly()),
        (reset_after(), Reset()),
        (stall_after(), Stall()),
        (ping_after(every=0.5), Pings(0.5)),
    ],
)
@pytest.mark.parametrize("provider", sorted(set(RENDERERS) - {"bedrock-converse"}))
def test_the_middle_is_in_the_first_call(fault: Fault, last: Any, provider: str) -> None:
    """Where no place is given the stream breaks once the first call has begun, before its end."""
    *_, step = (script := fault(script_of(provider))).steps
    assert type(step) is type(last)
    settler = settle(script, provider)
    assert [one.name for one in settler.outcomes if isinstance(one, Failed)] == ["create_ticket"]


def test_places_can_be_given() -> None:
    """Counted in events or bytes of the body."""
    script = script_of("anthropic")
    sends = [step for step in script.steps if isinstance(step, Send)]
    assert stall_after(2)(script).steps == (*sends[:2], Stall())
    assert ping_after(1, every=9.0)(script).steps == (sends[0], Pings(9.0))
    assert reset_after(0)(script).steps == (Reset(),)
    assert lose_connection(1)(script).steps == (sends[0], CloseAbruptly())
    assert deliver_twice(0)(script).steps[:3] == (sends[0], *sends[:2])
    assert garbage_byte(0, 0x21)(script).body() == b"!" + script.body()[1:]
    first = in_band_error(1)(script)
    assert [type(step) for step in first.steps] == [Send, Send, Close]
    assert b"overloaded_error" in first.body()
    assert trickle(1000, 2.0)(Script((Send(b"ab"), Stall()))).steps == (
        Send(b"ab"),
        Pause(2.0),
        Stall(),
    )
    with pytest.raises(ValueError, match="a chunk of 0 bytes is none"):
        trickle(0)


def test_an_open_body_ends_in_a_stall() -> None:
    """Everything is sent, and then nothing happens."""
    script = script_of("openai-chat")
    assert stay_open()(script).steps == (*script.steps, Stall())
    assert stay_open()(script.with_steps(*script.steps, Close())) == stay_open()(script)


def test_no_chunk_holds_a_whole_character_of_several_bytes() -> None:
    """Each one is cut behind its first byte."""
    script = split_characters()(script_of("anthropic"))
    for step in script.steps:
        assert isinstance(step, Send)
        assert step.data.decode("utf-8", "ignore").isascii()


@pytest.mark.parametrize("call_end", [True, False])
def test_a_ceiling_cuts_the_last_call(call_end: bool) -> None:
    """Half of its text comes, with or without its end, and the stop reason says so."""
    reply = Reply().call("now").call("pay", {"amount": 12345678}, fragments=3)
    script = script_of("anthropic", reply)
    whole, events = dicts(script), dicts(ceiling(call_end=call_end)(script))
    ends = [event["index"] for event in events if event["type"] == "content_block_stop"]
    assert ends == ([0, 1] if call_end else [0])
    text, cut = text_of(whole, 1), text_of(events, 1)
    assert cut == text[: len(text) // 2]
    assert events[-2]["delta"]["stop_reason"] == "max_tokens"


def test_a_ceiling_of_a_response_is_said_everywhere() -> None:
    """The item is incomplete, its text is cut in each place, and the response is incomplete."""
    events = dicts(ceiling()(script_of("openai-responses")))
    *_, arguments, item, last = events
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert item["item"]["status"] == "incomplete"
    assert arguments["arguments"] == item["item"]["arguments"] == "{"


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses"])
def test_a_refusal_is_said_where_it_is_a_text(provider: str) -> None:
    """The message stops well all the same, so only the text tells."""
    script = refusal()(script_of(provider))
    assert b"refusal" in script.body()
    settler = settle(script)
    assert settler.stop_reason is not None
    assert settler.stop_reason.verdict == "filtered"
    assert ran(settler) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": [2]}', '{"a": 1, "b": [2], "a": 1}'),
        ("{}", '{"twice": null, "twice": null}'),
        (' {"é": "}"} ', ' {"é": "}", "\\u00e9": "}"}'),
    ],
)
def test_a_key_comes_twice(text: str, expected: str) -> None:
    """The first one, at the end; the pieces stay as they were cut."""
    events = dicts(duplicate_key()(script_of("anthropic", Reply().call("a", text))))
    assert text_of(events, 0) == expected


@pytest.mark.parametrize(
    ("fault", "entries"),
    [
        (missing_index(), [{"id": "call_1", "name": "a"}, {}]),
        (same_index(), [{"index": 0, "id": "call_1", "name": "a"}, {"index": 0}]),
        (missing_id(), [{"index": 0, "name": "a"}, {"index": 0}]),
        (repeated_id(), [{"index": 0, "id": "call_1", "name": "a"}, {"index": 0, "id": "call_1"}]),
        (repeated_name(), [{"index": 0, "id": "call_1", "name": "a"}, {"index": 0, "name": "a"}]),
    ],
)
def test_calls_of_a_chat_are_told_otherwise(fault: Fault, entries: list[Any]) -> None:
    """Each fault changes one thing."""
    events = dicts(fault(script_of("openai-chat", Reply().call("a", ["{}"]))))
    found = [
        entry
        for event in events
        if isinstance(event, dict)
        for choice in event["choices"]
        for entry in choice["delta"].get("tool_calls", ())
    ]
    known = [
        {**{k: one[k] for k in ("index", "id") if k in one}}
        | ({"name": one["function"]["name"]} if "name" in one["function"] else {})
        for one in found
    ]
    assert known == entries


def test_a_stream_of_ones_own_is_spliced_in() -> None:
    """Another message comes where the first call has begun; its steps that end it do not."""
    other = script_of("anthropic", Reply().call("pay", "{}")).with_faults(stay_open())
    script = splice(other)(script_of("anthropic"))
    assert not [step for step in script.steps if isinstance(step, LAST_STEPS)]
    settler = settle(script)
    assert ran(settler) == []
    assert "pay" in [one.name for one in settler.outcomes if isinstance(one, Failed)]


def test_bytes_that_are_no_events_are_left_alone() -> None:
    """What cannot be read stays as it is, and what can is changed around it."""
    broken = Send(b"data: {\xff\n\n")
    script = script_of("openai-chat")
    mixed = script.with_steps(*script.steps[:3], broken, *script.steps[3:])
    assert broken in ceiling()(mixed).steps
    events = (RecordedEvent(None, "text"), *REPLY.to_recording("openai-chat").events)
    kept = Recording({"dialect": "openai-chat"}, events).to_script()
    assert b"data: text\n\n" in ceiling()(kept).body()


# -- cancelling ------------------------------------------------------------------------------------


async def slowly(natives: list[Any]) -> AsyncIterator[Any]:
    for native in natives:
        yield native


@pytest.mark.parametrize("events", [0, 1, 5])
async def test_a_turn_is_cancelled_after_some_events(events: int) -> None:
    """Both kinds of turn have ended then, with every call settled and none to run."""
    natives = REPLY.to("anthropic")
    turn = Turn(natives, tools=None)
    came = cancel_after(turn, events)
    aturn = AsyncTurn(slowly(natives), tools=None)
    acame = await acancel_after(aturn, events)
    assert len(came) == len(acame) == events
    for ended in (turn, aturn):
        assert ended.ending is not None
        assert ended.ending.cause is Cause.CANCELLED
        assert len(ended.outcomes) == sum(isinstance(one, CallAnnounced) for one in came)


async def test_a_short_turn_comes_to_its_own_end() -> None:
    """There is nothing to cancel, and what it raises is raised."""
    turn, aturn = (
        Turn(REPLY.to("anthropic"), tools=None),
        AsyncTurn(slowly(REPLY.to("anthropic")), tools=None),
    )
    assert len(cancel_after(turn, 999)) == len(await acancel_after(aturn, 999))
    assert turn.verdict == aturn.verdict == "dispatch"
    failing: Callable[[], list[Any]] = lambda: dicts(in_band_error()(script_of("anthropic")))  # noqa: E731
    with pytest.raises(ProviderFault):
        cancel_after(Turn(failing(), tools=None), 999)
    with pytest.raises(ProviderFault):
        await acancel_after(AsyncTurn(slowly(failing()), tools=None), 999)
