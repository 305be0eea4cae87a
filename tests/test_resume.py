"""A message that stopped in the middle goes on from a checkpoint as if it had never stopped."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import hypothesis.strategies as st
import openai
import pytest
from hypothesis import given, settings

from finalcall import (
    Anomaly,
    ArgumentsDelta,
    AsyncTurn,
    CallAnnounced,
    CallSettled,
    Cause,
    Dispatchable,
    Event,
    Failed,
    Limits,
    PreviewChanged,
    ProviderFault,
    Settler,
    StreamEndedEarly,
    TextDelta,
    ToolSet,
    Turn,
)
from finalcall.checkpoints import checkpoint_of, replay
from finalcall.preview import Preview
from finalcall.testing import FaultServer, RecordedRequest, Script, reset_after
from tests.messages import CLEAN
from tests.responses_events import (
    ARGUMENTS,
    added,
    arguments_done,
    call,
    created,
    custom,
    delta,
    done,
    ending,
    incomplete,
    numbered,
    reasoning,
    words,
)
from tests.streams import FIXTURES, Case, cases
from tests.test_real_openai_responses import script_of

Native = dict[str, Any]

CASES = cases(FIXTURES / "openai-responses")

SMALL = numbered([created(), *words(0, "On it."), *call(1), ending(usage={"output_tokens": 7})])
INSIDE = 8
"""How many events of `SMALL` there are up to the middle of its call's arguments."""


def through_json(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint as another process gets it."""
    copy = json.loads(json.dumps(checkpoint, allow_nan=False))
    assert copy == checkpoint
    return copy


def events_of(case: Case) -> list[Native]:
    """A recording's events, numbered where the service did not number them."""
    natives = [native for native in case.recording.to_dicts() if native != "[DONE]"]
    counted = all(native.get("sequence_number") is not None for native in natives)
    return natives if counted else numbered(natives)


def whole(natives: Sequence[Any], tools: ToolSet | None = None) -> Settler:
    settler = Settler(tools=tools)
    for native in natives:
        settler.feed(native)
    settler.end()
    return settler


def checkpoints(natives: Sequence[Any], tools: ToolSet | None = None) -> Iterator[dict[str, Any]]:
    """The checkpoint after each event but the last."""
    settler = Settler(tools=tools)
    for native in natives[:-1]:
        settler.feed(native)
        yield through_json(checkpoint_of(settler))


def resume(
    checkpoint: dict[str, Any], natives: Sequence[Any], tools: ToolSet | None = None, **options: Any
) -> tuple[Turn, list[Event]]:
    with Turn.resume(checkpoint, natives, tools=tools, **{"raises": False} | options) as turn:
        events = list(turn)
    return turn, events


def state(turn: Turn | AsyncTurn | Settler) -> dict[str, Any]:
    """All that a turn says in the end, and what it sends back."""
    answers = {one.key: "ok" for one in turn.outcomes if isinstance(one, Dispatchable)}
    return {
        "outcomes": turn.outcomes,
        "verdict": turn.verdict,
        "stop reason": turn.stop_reason,
        "cause": turn.ending and turn.ending.cause,
        "text": turn.text,
        "usage": turn.usage,
        "external calls": [(one.call_id, one.name, one.state) for one in turn.external_calls],
        "anomalies": set(turn.anomalies),
        "history": turn.history(answers),
        "stored": [turn.history(answers, stored=True), turn.request_fields],
    }


# As if it had never stopped


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cut_at_every_event(case: Case) -> None:
    """With the rest alone, with an overlap, with everything again: the same as uncut."""
    natives, tools = events_of(case), ToolSet.of(case.tools())
    expected = state(whole(natives, tools))
    for seen, checkpoint in enumerate(checkpoints(natives, tools), 1):
        # Of a long stream, only some cuts are tried with what was seen before.
        again = len(natives) < 100 or seen % 10 == 0
        for start in {seen, max(0, seen - 3), 0} if again else {seen}:
            turn, events = resume(checkpoint, natives[start:], tools)
            assert state(turn) == expected, (seen, start)
            settled = [event.outcome for event in events if isinstance(event, CallSettled)]
            assert settled == turn.outcomes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stopped_after_every_event(case: Case) -> None:
    """A checkpoint of a resumed turn is as good as the first."""
    natives, tools = events_of(case), ToolSet.of(case.tools())
    (checkpoint, *_) = checkpoints(natives, tools)
    for native in natives[1:-1]:
        turn, _ = resume(checkpoint, [native], tools)
        assert all(isinstance(outcome, Failed) for outcome in turn.outcomes)
        checkpoint = through_json(turn.checkpoint())
    turn, _ = resume(checkpoint, natives[-1:], tools)
    assert state(turn) == state(whole(natives, tools))


def external(index: int) -> list[Native]:
    where = {"output_index": index, "item_id": f"ws_{index}"}
    content = {"id": f"ws_{index}", "status": "completed"}
    return [
        added(index, "web_search_call", **content),
        {"type": "response.web_search_call.searching", **where},
        {"type": "response.web_search_call.completed", **where},
        done(index, "web_search_call", **content),
    ]


def hosted_shell(index: int) -> list[Native]:
    content = {"id": f"sh_{index}", "call_id": f"c_{index}", "environment": {"type": "local"}}
    hosted = content | {"environment": {"type": "container"}}
    return [
        added(index, "shell_call", **content),
        done(index, "shell_call", **hosted, status="completed"),
        done(index, "shell_call_output", call_id=f"c_{index}", output=[{"stdout": "x"}]),
    ]


def refusal(index: int) -> list[Native]:
    events = words(index, "No.")
    refused = events[2] | {"type": "response.refusal.delta"}
    return [*events[:3], refused | {"delta": ""}, refused | {"delta": "Never."}, *events[3:]]


def restated(index: int) -> list[Native]:
    events = call(index, f"call_{index}")
    events[3] = arguments_done(index, f"fc_call_{index}", '{"port": "Sète"}')
    return events


ITEMS = {
    "call": lambda index: call(index, f"call_{index}"),
    "custom": lambda index: custom(index, f"call_{index}"),
    "external": external,
    "hosted shell": hosted_shell,
    "reasoning": reasoning,
    "refusal": refusal,
    "restated": restated,
    "words": lambda index: words(index, f"Well {index}."),
}


@st.composite
def streams(draw: st.DrawFn) -> list[Native]:
    """Items whose events stand in each other's way, and of which some are missing or repeated."""
    kinds = draw(st.lists(st.sampled_from(sorted(ITEMS)), min_size=1, max_size=4))
    rows = [ITEMS[kind](index) for index, kind in enumerate(kinds)]
    events: list[Native] = []
    while any(rows):
        row = draw(st.sampled_from([row for row in rows if row]))
        event = row.pop(0)
        times = draw(st.sampled_from((1, 1, 1, 1, 1, 1, 0, 2)))
        nameless = draw(st.sampled_from((False, False, False, False, True)))
        if nameless:
            event = {name: value for name, value in event.items() if name != "output_index"}
        events += [event] * times
    return numbered([created(), *events, ending()])


@given(streams())
@settings(max_examples=60, deadline=None)
def test_streams_out_of_order_resume_as_they_would_have_gone_on(natives: list[Native]) -> None:
    """Items side by side, pieces without an announcement, ends that come twice: all the same."""
    expected = state(whole(natives))
    for seen, checkpoint in enumerate(checkpoints(natives), 1):
        turn, _ = resume(checkpoint, natives[seen:])
        assert state(turn) == expected, seen


# However it stopped


def dropped() -> Iterator[Native]:
    yield from SMALL[:INSIDE]
    raise ConnectionResetError


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (lambda: SMALL[:INSIDE], Cause.ENDED_EARLY),
        (dropped, Cause.DISCONNECTED),
        (lambda: iter([*to_bytes(SMALL[:INSIDE]), b'data: {"type": "resp']), Cause.ENDED_EARLY),
    ],
    ids=["ended", "dropped", "cut inside an event"],
)
def test_a_stream_that_stopped(source: Any, cause: Cause) -> None:
    """The first turn fails its call and may run nothing; the resumed one settles it for good."""
    reported: list[Any] = []
    options: dict[str, Any] = {"on_settled": reported.append, "raises": False}
    with Turn(source(), tools=None, **options) as turn:
        list(turn)
    (failed,) = turn.outcomes
    assert isinstance(failed, Failed)
    assert failed.cause is cause
    resumed, _ = resume(through_json(turn.checkpoint()), SMALL[INSIDE:], **options)
    assert state(resumed) == state(whole(SMALL))
    assert [event.outcome for event in reported] == [failed, *resumed.outcomes]


def to_bytes(natives: Sequence[Native]) -> list[bytes]:
    return [b"data: %s\n\n" % json.dumps(native).encode() for native in natives]


def test_bytes_go_on_as_dicts_do() -> None:
    """A continued stream of bytes, with what was seen before."""
    *_, checkpoint = checkpoints(SMALL)
    turn, _ = resume(checkpoint, iter(to_bytes(SMALL)))
    assert state(turn) == state(whole(SMALL))


def test_a_loop_that_was_left() -> None:
    """What was cancelled can go on; so can what still goes on, which loses nothing by it."""
    with Turn(SMALL, tools=None) as turn:
        for event in turn:
            if isinstance(event, ArgumentsDelta):
                running = turn.checkpoint()
                break
    assert [outcome.cause for outcome in turn.outcomes if isinstance(outcome, Failed)] == [
        Cause.CANCELLED
    ]
    assert turn.checkpoint() == running
    assert running["sequence_number"] == SMALL[INSIDE - 2]["sequence_number"]
    resumed, _ = resume(running, SMALL[INSIDE - 1 :])
    assert state(resumed) == state(whole(SMALL))


def test_a_turn_of_its_own_can_go_on_while_another_reads() -> None:
    """What a checkpoint holds does not change with the turn that gave it."""
    settler = Settler(tools=None)
    held: list[tuple[dict[str, Any], str]] = []
    for native in SMALL[:-1]:
        settler.feed(native)
        checkpoint = checkpoint_of(settler)
        held.append((checkpoint, json.dumps(checkpoint)))
    assert all(json.dumps(checkpoint) == text for checkpoint, text in held)


async def test_asynchronous_turns() -> None:
    """Both ways round: the checkpoint of one kind of turn goes on in the other."""

    async def stream(natives: Sequence[Native]) -> AsyncIterator[Native]:
        for native in natives:
            yield native

    async with AsyncTurn(stream(SMALL[:INSIDE]), tools=None, raises=False) as first:
        async for _ in first:
            pass
    checkpoint = through_json(first.checkpoint())
    turn, told = resume(checkpoint, SMALL[INSIDE:])
    rest = stream(SMALL[INSIDE:])
    async with AsyncTurn.resume(checkpoint, rest, tools=None) as second:
        events = [event async for event in second]
    assert state(second) == state(turn) == state(whole(SMALL))
    assert [type(event) for event in events] == [type(event) for event in told]


IN_ANOTHER_PROCESS = """
import json, sys
from finalcall import Turn
given = json.load(sys.stdin)
with Turn.resume(given["checkpoint"], given["rest"], tools=None) as turn:
    list(turn)
(outcome,) = turn.outcomes
print(json.dumps([outcome.call_id, outcome.args, turn.text, turn.verdict]))
"""


def test_another_process_goes_on() -> None:
    """All that is needed is in the text of the checkpoint."""
    settler = Settler(tools=None)
    for native in SMALL[:INSIDE]:
        settler.feed(native)
    given = json.dumps({"checkpoint": checkpoint_of(settler), "rest": SMALL[INSIDE:]})
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == ["call_1", json.loads(ARGUMENTS), "On it.", "dispatch"]


# What a resumed turn tells


def test_it_begins_with_what_is_known() -> None:
    """The text and each call's arguments so far, in one piece each, and then what is new."""
    checkpoint = list(checkpoints(SMALL))[INSIDE - 2]
    turn, events = resume(checkpoint, SMALL[INSIDE - 1 :], preview=Preview)
    middle = len(ARGUMENTS) // 2
    pieces = [event.text for event in events if isinstance(event, ArgumentsDelta)]
    assert pieces == [ARGUMENTS[:middle], ARGUMENTS[middle:]]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["On it."]
    assert [type(event) for event in events[:4]] == [
        TextDelta,
        CallAnnounced,
        ArgumentsDelta,
        PreviewChanged,
    ]
    last = [event for event in events if isinstance(event, PreviewChanged)][-1]
    assert last.preview.value.copy() == {"port": "Brest"}
    assert turn.stats.announced == 1


def test_native_events_are_only_those_that_are_new() -> None:
    """What was seen is dropped, and what a checkpoint holds is nobody's event."""
    checkpoint = list(checkpoints(SMALL))[INSIDE - 1]
    with Turn.resume(checkpoint, SMALL, tools=None) as turn:
        assert list(turn.native_events()) == SMALL[INSIDE:]
    assert turn.stats.events == len(SMALL)


@pytest.mark.parametrize(
    ("seen", "limit"),
    [(1, 120.0), (4, 60.0), (6, 360.0), (INSIDE, 360.0), (len(SMALL) - 1, 60.0)],
)
def test_the_clocks_know_what_is_waited_for(seen: int, limit: float) -> None:
    """A resumed turn inside a call is as patient as any inside a call."""
    settler = Settler("openai-responses", tools=None)
    replay(list(checkpoints(SMALL))[seen - 1], settler)
    assert settler.deadline(0.0, hard=True) == limit


def test_its_size_is_bounded_by_the_text() -> None:
    """However many pieces the text came in."""
    text = "x" * 20_000
    item = [added(0, "function_call", call_id="c", name="f")]
    sizes = [
        len(json.dumps([*checkpoints(numbered([created(), *item, *pieces, ending()]))][-1]))
        for pieces in ([delta(0, "", text)], [delta(0, "", piece) for piece in text[:200]])
    ]
    assert sizes[0] < len(text) + 1000
    assert sizes[1] < 200 + 1000


# What cannot be trusted


def faulty(rest: Sequence[Native], *, seen: int = INSIDE) -> Turn:
    """A turn that goes on with something else than the rest of `SMALL`."""
    checkpoint = list(checkpoints(SMALL))[seen - 1]
    turn = Turn.resume(checkpoint, rest, tools=None)
    with turn, pytest.raises(ProviderFault) as caught:
        list(turn)
    assert caught.value.cause is Cause.MALFORMED
    assert [type(outcome) for outcome in turn.outcomes] == [Failed] * turn.stats.announced
    with pytest.raises(ValueError, match="nothing to go on with"):
        turn.checkpoint()
    return turn


def without_number(native: Native) -> Native:
    return {name: value for name, value in native.items() if name != "sequence_number"}


@pytest.mark.parametrize(
    "rest",
    [
        SMALL[INSIDE + 1 :],
        [*SMALL[: INSIDE - 2], *SMALL[INSIDE + 1 :]],
        [without_number(native) for native in SMALL[INSIDE:]],
        [SMALL[INSIDE], *(without_number(native) for native in SMALL[INSIDE + 1 :])],
        [SMALL[-1]],
    ],
    ids=["rest", "overlap", "no numbers", "numbers that end", "end alone"],
)
def test_a_gap_dispatches_nothing(rest: list[Native]) -> None:
    """Where an event is missing, or may be, the message is over and its calls fail."""
    assert Anomaly("sequence_gap") in faulty(rest).anomalies


@pytest.mark.parametrize("seen", [1, INSIDE, len(SMALL) - 1])
def test_another_response_dispatches_nothing(seen: int) -> None:
    """Its first event, its last one: either shows whose it is, numbers that fit do not help."""
    other = numbered([created("resp_2"), *words(0, "On it."), *call(1), ending()])
    other[-1]["response"]["id"] = "resp_2"
    for rest in (other, other[seen:]):
        assert Anomaly("spliced_stream") in faulty(rest, seen=seen).anomalies


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "x", "sequence_number": 0},
        {"error": {"code": "server_error"}},
        ending("failed", error={"code": "server_error"}) | {"sequence_number": INSIDE},
    ],
)
def test_a_failure_is_heard_whatever_its_number(error: Native) -> None:
    """A service that cannot go on says so in an event that no checkpoint has seen."""
    turn, _ = resume(list(checkpoints(SMALL))[INSIDE - 1], [error])
    assert turn.ending is not None
    assert (turn.ending.cause, turn.ending.code) == (Cause.PROVIDER_ERROR, "server_error")


def test_what_changes_nothing_needs_no_number() -> None:
    """Pings and events of types to come pass, before the seam and after it."""
    ping = {"type": "keepalive"}
    rest = [ping, SMALL[0], ping, *SMALL[INSIDE:-1], ping, SMALL[-1]]
    turn, _ = resume([*checkpoints([ping | SMALL[0], ping, *SMALL[1:]])][INSIDE], rest)
    assert state(turn) == state(whole(SMALL))


def test_a_continued_stream_that_is_cut_again() -> None:
    """It raises what every cut stream raises, and can be resumed."""
    turn = Turn.resume([*checkpoints(SMALL)][INSIDE - 1], SMALL[INSIDE:-1], tools=None)
    with turn, pytest.raises(StreamEndedEarly):
        list(turn)
    resumed, _ = resume(through_json(turn.checkpoint()), SMALL[-1:])
    assert state(resumed) == state(whole(SMALL))


def test_a_ceiling_counts_in_a_resumed_turn() -> None:
    """What the response said of itself before the cut still holds."""
    ceiling = created(max_output_tokens=7)
    natives = numbered([ceiling, *call(0), ending(usage={"output_tokens": 7})])
    turn, _ = resume([*checkpoints(natives)][2], natives[3:])
    assert turn.verdict == "fail"
    natives = numbered([created(), *call(0), incomplete("max_output_tokens")])
    turn, _ = resume([*checkpoints(natives)][2], natives[3:])
    assert turn.verdict == "fail"


def test_a_lower_limit_ends_the_turn_at_once() -> None:
    """Before anything is read of the continued stream."""
    checkpoint = [*checkpoints(SMALL)][-1]
    turn, events = resume(checkpoint, SMALL[-1:], limits=Limits(calls=1, message=3))
    assert turn.ending is not None
    assert turn.ending.cause is Cause.LIMIT
    assert isinstance(events[-1], CallSettled) or turn.stats.announced == 0
    assert turn.stats.events == 0


# What cannot be resumed


@pytest.mark.parametrize(
    ("natives", "says"),
    [
        ([], "nothing has arrived"),
        (CLEAN[:3], "'anthropic' cannot be resumed.*openai-responses"),
        (SMALL, "is over"),
        (SMALL[:INSIDE] + numbered([created("resp_2")], INSIDE), "was at fault"),
        ([created()], "without a sequence number"),
        (numbered([created(id="")]), "no response id"),
        ([*SMALL[:3], created() | {"sequence_number": None}], "without a sequence number"),
        (numbered([{"type": "mystery"}]), "no known provider"),
    ],
)
def test_a_turn_that_cannot_be_resumed_gives_no_checkpoint(
    natives: list[Native], says: str
) -> None:
    """The error says why, and what can be resumed."""
    turn = Turn(natives, tools=None, raises=False)
    with pytest.raises(ValueError, match=says):
        with turn:
            list(turn)
        turn.checkpoint()


GOOD = [*checkpoints(SMALL)][INSIDE - 1]


@pytest.mark.parametrize(
    ("checkpoint", "options", "says"),
    [
        (GOOD | {"version": 2}, {}, "no checkpoint of version 1"),
        ({}, {}, "no checkpoint of version 1"),
        ("x", {}, "no checkpoint of version 1"),
        (GOOD | {"provider": "anthropic"}, {}, "'anthropic' cannot be resumed"),
        (GOOD | {"provider": 5}, {}, "'5' cannot be resumed"),
        (GOOD, {"provider": "xai"}, "is of 'openai-responses', and the turn of 'xai'"),
        (GOOD | {"response_id": "resp_2"}, {}, "damaged"),
        (GOOD | {"response_id": None}, {}, "damaged"),
        (GOOD | {"sequence_number": "7"}, {}, "damaged"),
        (GOOD | {"events": None}, {}, "damaged"),
        (GOOD | {"events": [*GOOD["events"], ending()]}, {}, "damaged"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    checkpoint: Any, options: dict[str, Any], says: str
) -> None:
    """A checkpoint that is none is refused before its stream is touched."""
    rest = iter(SMALL[INSIDE:])
    with pytest.raises(ValueError, match=says):
        Turn.resume(checkpoint, rest, tools=None, **options)
    assert next(rest) == SMALL[INSIDE]


@pytest.mark.parametrize("checkpoint", [{}, GOOD | {"response_id": None}])
def test_a_stream_that_no_turn_resumes_with_is_closed(checkpoint: Any) -> None:
    """It was opened for a turn that never comes to be."""
    rest = (native for native in SMALL[INSIDE:])
    with pytest.raises(ValueError, match="checkpoint"):
        Turn.resume(checkpoint, rest, tools=None)
    assert list(rest) == []


def test_a_refused_checkpoint_is_not_quoted() -> None:
    """No error about a checkpoint holds the arguments in it."""
    with pytest.raises(ValueError, match="damaged") as caught:
        Turn.resume(GOOD | {"sequence_number": None}, [], tools=None)
    assert "port" not in str(caught.value)


# With the real client

RICH = [
    created(),
    *reasoning(0),
    *words(1, "On it."),
    *external(2),
    *call(3),
    *custom(4, "call_2"),
    done(5, "computer_call", id="i", call_id="c", action={"type": "wait"}, status="completed"),
    ending(usage={"input_tokens": 3, "output_tokens": 7}),
]
REQUEST: dict[str, Any] = {"model": "m", "input": "go", "background": True, "stream": True}


def service(seen: int) -> Callable[[RecordedRequest], Script]:
    """A service that drops the first connection, and goes on where it is asked to."""

    def reply(request: RecordedRequest) -> Script:
        if request.method == "POST":
            return script_of(RICH, reset_after(seen))
        after = int(parse_qs(urlsplit(request.path).query)["starting_after"][0])
        return Script(script_of(RICH).steps[after + 1 :])

    return reply


def go_on_sync(base_url: str) -> Turn:
    with openai.OpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        with Turn(client.responses.create(**REQUEST), tools=None, raises=False) as turn:
            list(turn)
        held = through_json(turn.checkpoint())
        rest = client.responses.retrieve(
            held["response_id"], stream=True, starting_after=held["sequence_number"]
        )
        with Turn.resume(held, rest, tools=None) as turn:
            list(turn)
    return turn


def go_on_async(base_url: str) -> AsyncTurn:
    async def run() -> AsyncTurn:
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            async with AsyncTurn(
                client.responses.create(**REQUEST), tools=None, raises=False
            ) as turn:
                async for _ in turn:
                    pass
            held = through_json(turn.checkpoint())
            rest = client.responses.retrieve(
                held["response_id"], stream=True, starting_after=held["sequence_number"]
            )
            async with AsyncTurn.resume(held, rest, tools=None) as turn:
                async for _ in turn:
                    pass
        return turn

    return asyncio.run(run())


@pytest.mark.parametrize("seen", [1, 2, 6, 12, 13, 17, len(RICH) - 1])
@pytest.mark.parametrize("go_on", [go_on_sync, go_on_async])
def test_the_real_client(go_on: Callable[[str], Turn | AsyncTurn], seen: int) -> None:
    """Dropped, and asked for what comes after the last event that arrived: as if uncut."""
    with FaultServer(service(seen)) as server:
        turn = go_on(server.base_url)
    assert state(turn) == state(whole(numbered(RICH)))
    first, second = server.requests
    assert first.json["background"] is True
    assert (second.method, second.path) == (
        "GET",
        f"/responses/resp_1?starting_after={seen - 1}&stream=true",
    )
