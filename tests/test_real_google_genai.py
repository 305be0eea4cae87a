"""Google's real client against a loopback server: objects settle as dicts and bytes do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from finalcall import AsyncTurn, Cause, Dispatchable, Failed, Turn
from finalcall.providers.gemini_calling import will_run_calls
from finalcall.testing import (
    Fault,
    FaultServer,
    RecordedEvent,
    Recording,
    cut_after,
    reset_after,
    stall_after,
)
from tests import gemini_chunks as gemini
from tests import interaction_events as interactions
from tests.expectation import Settled
from tests.history_rules.gemini import check
from tests.streams import FIXTURES, Case, cases, outcomes_of, settle_natives

CASES = [
    case for dialect in ("gemini", "gemini-interactions") for case in cases(FIXTURES / dialect)
]

DIFFERENCES: Mapping[str, list[Settled]] = {
    "google-105-js-genai-client-tests-server-side-mcp-server-ml-dev-should-call-server-s": [
        (None, "weather_server_get_weather", "abandoned", None)
    ],
}
"""Recordings that settle otherwise as objects. The client drops `turnToken`, which tells that the
service runs calls: only the answer in the stream shows it then, and the call is withdrawn."""


def connected(server: FaultServer) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.base_url))


def open_stream(client: Any, dialect: str, **more: Any) -> Any:
    """The stream of either API, from the client or from its asynchronous half."""
    if dialect == "gemini":
        return client.models.generate_content_stream(model="m", contents="go", **more)
    return client.interactions.create(model="m", input="go", stream=True, **more)


def run(
    replies: Any,
    dialect: str,
    *,
    waits: bool,
    tools: Any = None,
    idle: float | None = 30.0,
    provider: str | None = None,
    **more: Any,
) -> Turn | AsyncTurn:
    """Iterate a turn over the client's stream to its end."""
    options: dict[str, Any] = {
        "tools": tools,
        "raises": False,
        "idle_timeout": idle,
        "choices": "all",
        "provider": provider,
    }

    async def run_async(client: genai.Client) -> AsyncTurn:
        async with client.aio as waiting:
            turn = AsyncTurn(open_stream(waiting, dialect, **more), **options)
            async with turn:
                async for _ in turn:
                    pass
        return turn

    with FaultServer(replies) as server, connected(server) as client:
        if waits:
            return asyncio.run(run_async(client))
        with Turn(open_stream(client, dialect, **more), **options) as turn:
            for _ in turn:
                pass
        return turn


def script_of(dialect: str, events: Sequence[Any], *faults: Fault) -> Any:
    recorded = tuple(RecordedEvent(event.get("event_type"), event) for event in events)
    header = {"provider": dialect, "dialect": dialect, "framing": "sse"}
    return Recording(header, recorded).to_script("sse").with_faults(*faults)


pytestmark = pytest.mark.filterwarnings(
    # The client's own, where aiohttp is there for its asynchronous half.
    "ignore:Inheritance class AiohttpClientSession:DeprecationWarning"
)

SYNC_AND_ASYNC = pytest.mark.parametrize("waits", [False, True], ids=["sync", "async"])


@SYNC_AND_ASYNC
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_objects_settle_as_dicts_do(case: Case, waits: bool) -> None:
    """Every recording: outcomes, text, usage and external calls agree."""
    recording, tools = case.recording, case.tools()
    dicts = settle_natives(recording.to_dicts(), tools)
    turn = run(recording.to_script("sse"), recording.header["dialect"], waits=waits, tools=tools)
    assert turn.ending is not None
    assert turn.ending.exception is None
    assert outcomes_of(turn) == DIFFERENCES.get(case.path.stem, outcomes_of(dicts))
    assert turn.text == dicts.text
    assert turn.usage == dicts.usage
    assert [(one.call_id, one.name, one.state) for one in turn.external_calls] == [
        (one.call_id, one.name, one.state) for one in dicts.external_calls
    ]


GEMINI_CALL = [
    gemini.chunk({"text": "On it."}),
    gemini.chunk({**gemini.call(), "thoughtSignature": "+/+/c2ln"}),
    gemini.STOP,
]
STREAMED_CALL = [
    gemini.chunk(gemini.opened()),
    gemini.chunk(gemini.piece(gemini.string("$.port", "Bre", goes_on=True))),
    gemini.chunk(gemini.piece(gemini.string("$.port", "st"), gemini.number("$.days", 2))),
    gemini.chunk(gemini.piece({"jsonPath": "$.unit", "nullValue": None})),
    gemini.chunk(gemini.CLOSE, reason="STOP"),
]
INTERACTIONS_CALL = [interactions.created(), *interactions.call(), interactions.completed()]


@SYNC_AND_ASYNC
def test_a_call_whose_arguments_stream(waits: bool) -> None:
    """The client makes doubles of numbers and drops null: the arguments are the wire's."""
    turn = run(script_of("gemini", STREAMED_CALL), "gemini", waits=waits)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Dispatchable)
    assert outcome.args == {"port": "Brest", "days": 2, "unit": None}
    assert type(outcome.args["days"]) is int


@SYNC_AND_ASYNC
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (cut_after(2), Cause.ENDED_EARLY),
        (reset_after(2), Cause.DISCONNECTED),
        (stall_after(2), Cause.IDLE),
    ],
    ids=["cut", "reset", "stalled"],
)
@pytest.mark.parametrize(
    ("dialect", "events"),
    [
        ("gemini", GEMINI_CALL),
        ("gemini", STREAMED_CALL),
        ("gemini-interactions", INTERACTIONS_CALL),
    ],
    ids=["whole", "streamed", "interactions"],
)
def test_a_stream_that_dies_after_the_announcement(
    dialect: str, events: list[Any], fault: Fault, cause: Cause, waits: bool
) -> None:
    """Ended, lost or silent: the call is abandoned, and the turn says why."""
    turn = run(script_of(dialect, events, fault), dialect, waits=waits, idle=0.3)
    (outcome,) = turn.outcomes
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.cause) == ("abandoned", cause)
    assert turn.ending is not None
    assert turn.ending.cause is cause


@SYNC_AND_ASYNC
@pytest.mark.parametrize("dialect", ["gemini", "gemini-interactions"])
def test_an_error_in_the_stream(dialect: str, waits: bool) -> None:
    """Raised by the client or yielded by it: no call runs, though a good reason had come."""
    events = {
        "gemini": [*GEMINI_CALL, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}],
        "gemini-interactions": [
            *INTERACTIONS_CALL[:-1],
            {"event_type": "error", "error": {"code": "overloaded", "message": "x"}},
        ],
    }[dialect]
    turn = run(script_of(dialect, events), dialect, waits=waits)
    assert [settled[2] for settled in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.PROVIDER_ERROR
    assert isinstance(turn.ending.exception, errors.APIError) is (dialect == "gemini")


def get_tide(port: str) -> str:
    """The tide at a port."""
    ran.append(port)
    return "high"


ran: list[str] = []


@SYNC_AND_ASYNC
def test_calls_that_the_client_runs_itself_are_not_run_again(waits: bool) -> None:
    """Even where the caller insists on such a stream: the call ran once, in the client."""
    ran.clear()
    spoken = [gemini.chunk({"text": "High."}, reason="STOP")]
    replies = [script_of("gemini", GEMINI_CALL), script_of("gemini", spoken)]
    turn = run(replies, "gemini", waits=waits, provider="gemini", config={"tools": [get_tide]})
    assert ran == ["Brest"]
    assert [settled[2] for settled in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.code == "calls_run_by_sdk"


DECLARED = {"function_declarations": [{"name": "get_tide"}]}


class Session:
    """What the client takes for an MCP session."""

    def call_tool(self) -> None: ...


CONFIGS: dict[str, tuple[Any, bool]] = {
    "none": (None, False),
    "no tools": ({}, False),
    "declarations": ({"tools": [DECLARED]}, False),
    "declarations, as an object": (types.GenerateContentConfig(tools=[DECLARED]), False),
    "a callable": ({"tools": [get_tide]}, True),
    "a callable, in an object": (types.GenerateContentConfig(tools=[get_tide]), True),
    "a session": ({"tools": [Session()]}, True),
    "denied": (
        {"tools": [get_tide], "automatic_function_calling": {"disable": True}},
        False,
    ),
    "denied by the wire's name": (
        {"tools": [get_tide], "automaticFunctionCalling": {"disable": True}},
        False,
    ),
    "no call left": (
        {"tools": [get_tide], "automatic_function_calling": {"maximum_remote_calls": 0}},
        False,
    ),
    "a few calls": (
        {"tools": [get_tide], "automatic_function_calling": {"maximum_remote_calls": 3}},
        True,
    ),
}


@pytest.mark.parametrize("form", CONFIGS)
async def test_streams_whose_calls_the_client_will_run_are_known(form: str) -> None:
    """Before anything is read, and before an asynchronous one is awaited; of chats too."""
    config, expected = CONFIGS[form]
    request: dict[str, Any] = {"model": "m", "contents": "go", "config": config}
    with genai.Client(api_key="none") as client:
        chat = client.chats.create(model="m", config=config)
        waiting = client.aio.models.generate_content_stream(**request)
        waiting_chat = client.aio.chats.create(model="m").send_message_stream("go", config)
        streams = [
            client.models.generate_content_stream(**request),
            chat.send_message_stream("go"),
            client.chats.create(model="m").send_message_stream("go", config),
            waiting,
            waiting_chat,
        ]
        assert [will_run_calls(stream) for stream in streams] == [expected] * len(streams)
        waiting.close()
        waiting_chat.close()


async def test_an_awaited_stream_is_known_too() -> None:
    """The asynchronous methods give another generator."""
    async with genai.Client(api_key="none").aio as client:
        for config, expected in ({"tools": [get_tide]}, True), ({"tools": [DECLARED]}, False):
            stream = await client.models.generate_content_stream(
                model="m", contents="go", config=config
            )
            assert will_run_calls(stream) is expected


@pytest.mark.parametrize(
    "stream", [None, [], iter([]), (x for x in []), object()], ids=lambda one: type(one).__name__
)
def test_other_streams_are_not(stream: Any) -> None:
    """Generators of the caller's, for one."""
    assert not will_run_calls(stream)


@SYNC_AND_ASYNC
def test_the_client_goes_on_by_itself(waits: bool) -> None:
    """After a pause it makes another request: that is still one message, on either API."""
    half = gemini.chunk({"text": "Let me "}, reason="CONTINUATION", responseId="1")
    half["candidates"][0]["continuationToken"] = "c2ln"
    rest = gemini.chunk({"text": "see."}, gemini.call(), reason="STOP", responseId="2")
    replies = [script_of("gemini", [half]), script_of("gemini", [rest])]
    turn = run(replies, "gemini", waits=waits)
    assert outcomes_of(turn) == [gemini.GOOD]
    assert turn.text == "Let me see."
    paused = interactions.completed("requires_continuation", continuation_token="t")
    replies = [
        script_of(
            "gemini-interactions",
            [interactions.created(), *interactions.words(0, "Let me see."), paused],
        ),
        script_of(
            "gemini-interactions",
            [
                interactions.created("v1_2"),
                *interactions.call(),
                interactions.completed(interaction_id="v1_2"),
            ],
        ),
    ]
    turn = run(replies, "gemini-interactions", waits=waits)
    assert outcomes_of(turn) == [interactions.GOOD]
    assert turn.text == "Let me see."


def test_the_history_is_sent_as_it_stands() -> None:
    """The client's own types take it and put it on the wire unchanged, signature included."""
    turn = run(script_of("gemini", GEMINI_CALL), "gemini", waits=False)
    (outcome,) = turn.outcomes
    contents = turn.history({outcome: "high"})
    assert check(contents) == []
    dicts = settle_natives(GEMINI_CALL)
    assert contents == dicts.history({dicts.outcomes[0]: "high"})
    first = {"role": "user", "parts": [{"text": "go"}]}
    with FaultServer(script_of("gemini", [gemini.STOP])) as server, connected(server) as client:
        stream = client.models.generate_content_stream(model="m", contents=[first, *contents])
        assert len(list(stream)) == 1
        sent = server.requests[0].json["contents"]
    assert sent[0] == first
    signature = sent[1]["parts"][1].pop("thoughtSignature")
    assert signature.translate({ord("-"): "+", ord("_"): "/"}) == "+/+/c2ln"
    contents[0]["parts"][1].pop("thoughtSignature")
    assert sent[1:] == contents


def test_stored_interactions_go_on_from_their_id() -> None:
    """Only the result is sent, beside the field that the turn names."""
    turn = run(
        script_of("gemini-interactions", INTERACTIONS_CALL), "gemini-interactions", waits=False
    )
    (outcome,) = turn.outcomes
    steps = turn.history({outcome: "high"}, stored=True)
    reply = [interactions.created("v1_2"), interactions.completed("completed", "v1_2")]
    script = script_of("gemini-interactions", reply)
    with FaultServer(script) as server, connected(server) as client:
        stream = client.interactions.create(
            model="m", input=steps, stream=True, **turn.request_fields
        )
        assert len(list(stream)) == 2
        sent = server.requests[0].json
    assert sent["previous_interaction_id"] == "v1_1"
    assert sent["input"] == [
        {"type": "function_result", "call_id": "fc_1", "name": "get_tide", "result": "high"}
    ]
