"""boto3's ConverseStream against a server of recordings, through its own event stream parser."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EventStreamError

from finalcall import Cause, Turn
from finalcall.testing import RecordedEvent, Recording, cut_after, stall_after
from tests.messages import CLEAN, TOOLS
from tests.real_clients import arun, differences, run, serve
from tests.streams import FIXTURES, cases, outcomes_of

CASES = cases(FIXTURES / "bedrock-converse")
CALL = next(case for case in CASES if "-020-" in case.path.name)


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's own, and no search for credentials."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


@contextmanager
def bedrock(base_url: str) -> Iterator[Any]:
    """A client of the server."""
    # A stream that is being read can only be closed once its read returns: the client's own limit.
    config = Config(retries={"total_max_attempts": 1}, read_timeout=1)
    client: Any = boto3.client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=base_url, config=config
    )
    with closing(client):
        yield client


@contextmanager
def converse(base_url: str) -> Iterator[Any]:
    """The event stream of one request."""
    messages = [{"role": "user", "content": [{"text": "go"}]}]
    with (
        bedrock(base_url) as client,
        closing(client.converse_stream(modelId="m", messages=messages)["stream"]) as stream,
    ):
        yield stream


@contextmanager
def invoke(base_url: str) -> Iterator[Any]:
    """The event stream of one request in the model's own terms."""
    with (
        bedrock(base_url) as client,
        closing(client.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"]) as body,
    ):
        yield body


def converse_with(reply: Any, **options: Any) -> Turn:
    """A turn over the stream of one request, to its end."""
    with serve(reply) as server, converse(server.base_url) as stream:
        return run(stream, **options)


def test_the_client_gives_what_the_wire_gives() -> None:
    """Its dicts settle as those of the recording do; it drops padding and nothing that counts."""
    turns = {case.path.name: converse_with(case.recording, tools=case.tools()) for case in CASES}
    assert differences(turns, CASES) == {}
    for turn in turns.values():
        assert turn.provider == "bedrock-converse"
        assert turn.ending is not None
        assert turn.ending.clean


async def test_an_asynchronous_turn_takes_the_synchronous_stream() -> None:
    """boto3 has no other."""
    with serve(CALL.recording) as server, converse(server.base_url) as stream:
        turn = await arun(stream, tools=CALL.tools())
    assert outcomes_of(turn) == CALL.expected()


@pytest.mark.parametrize("events", range(1, len(CALL.recording.events), 5))
def test_a_clean_cut(events: int) -> None:
    """The client ends quietly; every call that was announced by then is abandoned, or whole."""
    turn = converse_with(CALL.recording.to_script().with_faults(cut_after(events)))
    stopped = turn.stop_reason is not None
    assert {one[2] for one in outcomes_of(turn)} <= {"dispatchable" if stopped else "abandoned"}
    assert turn.ending is not None
    assert turn.ending.clean is stopped


def test_silence_inside_a_call() -> None:
    """The turn ends by its own clock while the client still waits."""
    script = CALL.recording.to_script().with_faults(stall_after(len(CALL.recording.events) - 4))
    turn = converse_with(script, idle_timeout=0.3)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
    assert turn.ending is not None
    assert turn.ending.cause is Cause.IDLE


EXCEPTIONS = [
    "internalServerException",
    "modelStreamErrorException",
    "throttlingException",
    "validationException",
    "serviceUnavailableException",
]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_frame(name: str) -> None:
    """The client raises what the dicts and bytes report: the calls settle alike, and none runs."""
    error = RecordedEvent(name, {"message": "S3NT1N3L"})
    stopped = CALL.recording.events[:-1]
    recording = Recording(CALL.recording.header, (*stopped, error))
    turn = converse_with(recording)
    assert turn.ending is not None
    assert isinstance(turn.ending.exception, EventStreamError)
    for form in (recording.to_dicts(), [recording.to_bytes()]):
        assert outcomes_of(run(form)) == outcomes_of(turn)
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]


def test_bytes_of_an_open_body_settle_as_events_do() -> None:
    """The frames themselves, for people without boto3."""
    body = CALL.recording.to_script().body()
    assert outcomes_of(run([body], tools=CALL.tools())) == CALL.expected()


def chunks(*more: RecordedEvent) -> Recording:
    """A message of Anthropic's as Amazon Bedrock frames it, without its end where more follows."""
    framed = [
        RecordedEvent("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode()})
        for event in CLEAN[: -1 if more else None]
    ]
    return Recording(CALL.recording.header, (*framed, *more))


async def test_chunks_of_the_models_own_events() -> None:
    """Both turns take the body of the response; the events are the model's own, as from bytes."""
    with serve(chunks(), chunks()) as server:
        with invoke(server.base_url) as body, Turn(body, tools=TOOLS) as turn:
            natives = [event.native for event in turn if event.native is not None]
        with invoke(server.base_url) as body:
            other = await arun(body, tools=TOOLS)
    assert natives == CLEAN
    assert (turn.provider, turn.verdict) == ("anthropic", "dispatch")
    assert outcomes_of(other) == outcomes_of(turn)


def test_an_exception_frame_among_chunks() -> None:
    """The client raises it: no call runs, though the stop reason was good."""
    error = RecordedEvent("internalServerException", {"message": "S3NT1N3L"})
    with serve(chunks(error)) as server, invoke(server.base_url) as body:
        turn = run(body, tools=TOOLS)
    assert turn.ending is not None
    assert turn.ending.cause is Cause.PROVIDER_ERROR
    assert [one[2] for one in outcomes_of(turn)] == ["abandoned"]
