"""Recording a live stream: what the reader of the stream gets, and what the recording holds."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import logging
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import AsyncTurn, Settler, ToolSet, Turn
from finalcall.errors import RefusedStream
from finalcall.narrow import is_array, is_object
from finalcall.testing import FakeClock, FaultServer, RecordedEvent, Recording, Reply
from finalcall.testing.hiding import JSONMask
from finalcall.testing.recorder import record
from finalcall.testing.rendering.objects import to_objects
from finalcall.testing.scrubbing import Scrubber
from finalcall.testing.strategies import PROVIDERS
from tests.cutting import random_cut
from tests.recorded import anthropic_tool_call, recordings
from tests.streams import outcomes_of, settle_natives

RECORDINGS = recordings()
REPLY = (
    Reply()
    .thinking("Which port?")
    .text("On it.")
    .call("get_tide", {"port": "Sète", "days": 2})
    .call("now")
    .usage(input_tokens=9, output_tokens=20)
)
CLIENT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "go"}],
}


def read(path: Path) -> Recording:
    return Recording.read(path)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def recorded(stream: Any, path: Path, **options: Any) -> Recording:
    """The recording of a stream that is read to its end."""
    assert list(record(stream, path, **options)) == list(stream)
    return read(path)


def kinds(settler: Settler) -> list[tuple[str, Any]]:
    return [(type(one).__name__, getattr(one, "reason", None)) for one in settler.outcomes]


def args_of(outcome: Any) -> Any:
    return outcome.args


# -- round trips -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_replayed_recording_records_the_same_events(name: str, tmp_path: Path) -> None:
    """From dicts, and from bytes cut at random, the events come back as they were."""
    original = read(RECORDINGS[name])
    natives, path = original.to_dicts(), tmp_path / "recording.jsonl"
    assert recorded(natives, path).to_dicts() == natives
    chunks = random_cut(original.to_bytes(), random.Random(name))
    again = recorded(chunks, path)
    assert again.to_dicts() == natives
    assert again.framing in (original.framing, "sse")


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_without_values_settles_alike(name: str, tmp_path: Path) -> None:
    """Masked, every call comes to the end that it came to before, from dicts and from bytes."""
    natives, path = read(RECORDINGS[name]).to_dicts(), tmp_path / "recording.jsonl"
    masked = recorded(natives, path, values=False)
    expected = settle_natives(natives)
    for form in (masked.to_dicts(), [masked.to_bytes()]):
        settler = settle_natives(form)
        assert kinds(settler) == kinds(expected)
        assert [one.name for one in settler.anomalies] == [one.name for one in expected.anomalies]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_objects_of_every_sdk_are_recorded(provider: str, tmp_path: Path) -> None:
    """The recording of an SDK's objects settles as they do, as dicts and as bytes."""
    objects, path = REPLY.to_objects(provider), tmp_path / "recording.jsonl"
    stream = record(objects, path)
    assert all(one is other for one, other in zip(stream, objects, strict=True))
    recording = read(path)
    assert stream.recorder.lost == 0
    assert stream.recorder.events == len(recording.events) == len(objects)
    assert recording.header["dialect"] == provider
    expected = outcomes_of(settle_natives(objects))
    assert len(expected) == 2
    assert outcomes_of(settle_natives(recording.to_dicts())) == expected
    assert outcomes_of(settle_natives([recording.to_bytes()])) == expected


LANGCHAIN = sorted(name for name in RECORDINGS if name.startswith("langchain/"))


@pytest.mark.parametrize("name", LANGCHAIN)
def test_chunks_of_langchain_are_recorded(name: str, tmp_path: Path) -> None:
    """Its messages are recorded with their type, which dumps leave out where it is a default."""
    from langchain_core.messages import AIMessageChunk

    natives, path = read(RECORDINGS[name]).to_dicts(), tmp_path / "recording.jsonl"
    objects = [AIMessageChunk(**native) for native in natives]
    assert outcomes_of(settle_natives(recorded(objects, path).to_dicts())) == outcomes_of(
        settle_natives(natives)
    )


def test_a_raw_dump_is_recorded_as_its_events(tmp_path: Path) -> None:
    """A byte order mark, comments, other line ends and a missing last blank line do no harm."""
    dump = (
        b'\xef\xbb\xbf: hello\r\n\r\nevent: message_start\r\ndata: {"type": "message_start", '
        b'"message": {}}\r\n\r\n: ping\n\ndata: {"type": "ping"}'
    )
    for content in (dump, bytearray(dump), memoryview(dump)):
        path = tmp_path / "recording.jsonl"
        list(record(content, path))
        assert read(path).to_dicts() == [{"type": "message_start", "message": {}}, {"type": "ping"}]
        assert read(path).header["framing"] == "sse"


def test_half_an_event_at_the_end_is_no_event(tmp_path: Path) -> None:
    """A recording of a body that was cut ends with the last event that came whole."""
    frames, path = anthropic_tool_call().to_frames(), tmp_path / "recording.jsonl"
    list(record([*frames[:3], frames[3][:-9]], path))
    assert read(path).to_dicts() == anthropic_tool_call().to_dicts()[:3]


def test_a_frame_that_cannot_be_read_stays_unreadable(tmp_path: Path) -> None:
    """Its bytes are not kept; what stands for it fails as it did."""
    frames, path = anthropic_tool_call().to_frames(), tmp_path / "recording.jsonl"
    chunks = [*frames[:3], b"data: {S3NT1N3L\n\n", *frames[3:]]
    recording = recorded(chunks, path)
    assert "S3NT1N3L" not in path.read_text()
    assert kinds(settle_natives([recording.to_bytes()])) == kinds(settle_natives(chunks))


# -- what is written, and when ---------------------------------------------------------------------


def test_each_event_is_in_the_file_before_it_is_handed_out(tmp_path: Path) -> None:
    """So whatever ends the program, the recording can be read, and is as long as the stream was."""
    natives, path = REPLY.to("anthropic"), tmp_path / "recording.jsonl"
    for number, _ in enumerate(record(natives, path), start=1):
        assert read(path).to_dicts() == natives[:number]
        assert path.read_bytes().endswith(b"\n")


def test_every_event_has_its_time(tmp_path: Path) -> None:
    """Seconds since the recording began, on the clock that was given; the date is in the header."""
    clock, path = FakeClock(), tmp_path / "recording.jsonl"

    def stream() -> Iterator[Any]:
        for native in REPLY.to("anthropic")[:3]:
            clock.advance(0.25)
            yield native

    list(record(stream(), path, clock=clock))
    header, *events, end = lines(path)
    assert [event["at"] for event in events] == [0.25, 0.5, 0.75]
    assert end == {"ended": "clean", "at": 0.75}
    assert header.keys() == {"provider", "dialect", "date", "recorder"}
    assert header["recorder"].startswith("finalcall ")


def test_gaps_are_measured_from_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that recommends limits reads what was recorded."""
    from finalcall.cli.commands import main

    clock, path = FakeClock(), tmp_path / "recording.jsonl"

    def stream() -> Iterator[Any]:
        for native in REPLY.to("anthropic"):
            clock.advance(3.5)
            yield native

    list(record(stream(), path, clock=clock))
    assert main(["gaps", str(path)]) == 0
    assert "3.5" in capsys.readouterr().out


def test_the_time_of_the_request_is_known_where_it_is_made_later(tmp_path: Path) -> None:
    """Of a manager the request comes after the call; of a stream that is open it came before."""
    path = tmp_path / "recording.jsonl"
    with FaultServer(REPLY) as server, anthropic_client(server) as client:
        with Turn(record(client.messages.stream(**CLIENT), path), tools=None) as turn:
            assert list(turn)
        assert lines(path)[0]["at"] == 0.0
        stream = client.messages.create(stream=True, **CLIENT)
        with Turn(record(stream, path), tools=None) as turn:
            assert list(turn)
        assert "at" not in lines(path)[0]


def test_two_recordings_of_one_path_never_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The one that begins last has the file, whole; the other ends, and says why."""
    monkeypatch.chdir(tmp_path)
    first = record(iter(Reply().call("pay", {"euros": 5}).to("anthropic")), "turn.jsonl")
    next(first)
    natives = Reply().call("pay", {"euros": 9}).to("anthropic")
    second = record(iter(natives), tmp_path / "turn.jsonl")
    next(second)
    monkeypatch.chdir("/")
    for _ in first, second:
        list(first)
    list(second)
    assert read(tmp_path / "turn.jsonl").to_dicts() == natives
    assert (first.recorder.events, second.recorder.lost) == (1, 0)
    assert first.recorder.lost > 0
    assert "another one was begun at its path" in caplog.text


def test_a_log_handler_that_fails_never_breaks_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording ends there, and the stream goes on."""

    def fail(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr(logging.getLogger("finalcall.testing.recorder"), "warning", fail)
    natives = Reply().call("pay").to("anthropic")
    assert list(record(natives, "/nowhere/turn.jsonl")) == natives


def test_an_older_recording_is_replaced(tmp_path: Path) -> None:
    """A path holds one recording, the last."""
    path = tmp_path / "recording.jsonl"
    recorded(REPLY.to("anthropic"), path)
    assert recorded(REPLY.to("gemini"), path).header["dialect"] == "gemini"


@pytest.mark.parametrize("kind", [io.StringIO, io.BytesIO])
def test_an_open_file_is_written_and_left_open(kind: type[Any]) -> None:
    """Text or binary; who opened it closes it."""
    file = kind()
    natives = REPLY.to("anthropic")
    list(record(natives, file))
    content = file.getvalue()
    recording = Recording.parse(content if isinstance(content, bytes) else content.encode())
    assert recording.to_dicts() == natives
    assert not file.closed


def test_events_before_the_first_that_tells_are_kept(tmp_path: Path) -> None:
    """A keep-alive tells nothing of whose stream it is; the header waits for what does."""
    path = tmp_path / "recording.jsonl"
    natives = [{"type": "keepalive"}, *REPLY.to("openai-responses")]
    assert recorded(natives, path).to_dicts() == natives
    assert read(path).header["dialect"] == "openai-responses"
    nothing = [{"type": "keepalive"}] * 20
    assert recorded(nothing, path).to_dicts() == nothing
    assert "dialect" not in read(path).header
    assert recorded(nothing[:2], path, provider="anthropic").header["dialect"] == "anthropic"
    assert recorded(nothing[:2], path).to_dicts() == nothing[:2]


# -- nothing breaks the stream ---------------------------------------------------------------------


def test_a_disk_that_fails_never_breaks_the_stream(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on; what is lost is counted, and told once."""
    natives = REPLY.to("anthropic")
    stream = record(natives, tmp_path / "missing" / "recording.jsonl")
    with caplog.at_level(logging.WARNING):
        assert list(stream) == natives
    assert stream.recorder.events == 0
    assert stream.recorder.lost == len(natives)
    (told,) = caplog.records
    assert told.getMessage() == (
        "a recording ends after 0 events, as it could not be written (FileNotFoundError); the "
        "stream goes on"
    )


class _Full(io.BytesIO):
    """A file on a disk with room for so many lines."""

    room = 4

    def write(self, data: Any) -> int:
        if self.room == 0:
            raise OSError(28, "No space left on device")
        self.room -= 1
        return super().write(data)


def test_a_disk_that_fills_leaves_the_beginning(caplog: pytest.LogCaptureFixture) -> None:
    """What was written is the stream's beginning, whole, and can be read."""
    natives, file = REPLY.to("anthropic"), _Full()
    stream = record(natives, file)
    assert list(stream) == natives
    assert Recording.parse(file.getvalue()).to_dicts() == natives[:3]
    assert (stream.recorder.events, stream.recorder.lost) == (3, len(natives) - 3)
    assert len(caplog.records) == 1


def test_a_line_that_the_disk_takes_in_part_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that stops in the middle leaves no half of a line behind."""
    room = {"bytes": 900}
    write = io.FileIO.write

    class Disk(io.FileIO):
        def write(self, data: Any) -> int:
            part = bytes(data)[: room["bytes"]]
            room["bytes"] -= len(part)
            if not part:
                raise OSError(28, "No space left on device")
            return write(self, part)

    def opened(path: Path, mode: str, buffering: int) -> Disk:
        assert buffering == 0
        return Disk(str(path), mode.replace("b", ""))

    natives, path = REPLY.to("anthropic"), tmp_path / "recording.jsonl"
    recorded(natives, path)
    sizes = [len(line) + 1 for line in path.read_bytes().splitlines()]
    for left in (0, 1):  # with no room at all, and with room for one character
        room["bytes"] = sum(sizes[:3]) + left
        stream = record(natives, path, clock=FakeClock())
        with monkeypatch.context() as patched:
            patched.setattr(Path, "open", opened)
            assert list(stream) == natives
        assert read(path).to_dicts() == natives[: stream.recorder.events]
        assert stream.recorder.lost == len(natives) - stream.recorder.events > 0


def test_what_cannot_be_recorded_ends_the_recording_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An event that is no SDK's goes to the reader; the message names no content."""
    path = tmp_path / "recording.jsonl"
    natives = [*REPLY.to("anthropic")[:2], object(), {"type": "ping"}]
    stream = record(natives, path)
    assert list(stream) == natives
    assert stream.recorder.lost == 2
    assert len(read(path).events) == 2
    assert "(TypeError)" in caplog.text


def test_the_streams_own_exception_goes_through(tmp_path: Path) -> None:
    """What the stream raises, its reader gets, unchanged; what came before is recorded."""
    error, path = ConnectionResetError("lost"), tmp_path / "recording.jsonl"

    def stream() -> Iterator[Any]:
        yield from REPLY.to("anthropic")[:4]
        raise error

    turn = Turn(record(stream(), path), tools=None)
    with pytest.raises(ConnectionResetError) as caught, turn:
        list(turn)
    assert caught.value is error
    assert len(read(path).events) == 4


# -- the stream stays what it is -------------------------------------------------------------------


def anthropic_client(server: FaultServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0)


OPENINGS: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "stream": lambda client: client.messages.create(stream=True, **CLIENT),
    "manager": lambda client: client.messages.stream(**CLIENT),
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_turn_reads_a_recorded_stream_as_it_would_without(opening: str, tmp_path: Path) -> None:
    """The turn hears its bytes, waits on its connection, closes it, and settles the same."""
    path = tmp_path / "recording.jsonl"
    turns: list[Turn] = []
    with FaultServer(REPLY) as server, anthropic_client(server) as client:
        for recording in (False, True):
            stream = OPENINGS[opening](client)
            stream = record(stream, path) if recording else stream
            with Turn(stream, tools=None) as turn:
                assert list(turn)
            turns.append(turn)
        response = getattr(stream, "response", None)
        assert response is None or response.is_closed
    plain, with_recording = turns
    assert with_recording.pacing == plain.pacing
    assert outcomes_of(with_recording) == outcomes_of(plain)
    assert outcomes_of(settle_natives(read(path).to_dicts())) == outcomes_of(plain)


@pytest.mark.parametrize("way", ["awaitable", "stream", "manager"])
async def test_an_asynchronous_turn_reads_it_too(way: str, tmp_path: Path) -> None:
    """Awaitables, streams and managers of the asynchronous client are recorded."""
    path = tmp_path / "recording.jsonl"
    async with (
        FaultServer(REPLY) as server,
        anthropic.AsyncAnthropic(base_url=server.base_url, api_key="none") as client,
    ):
        stream: Any = (
            client.messages.stream(**CLIENT)
            if way == "manager"
            else client.messages.create(stream=True, **CLIENT)
        )
        if way == "stream":
            stream = await stream
        async with AsyncTurn(record(stream, path), tools=None) as turn:
            async for _ in turn:
                pass
    assert turn.pacing is not None
    assert turn.pacing.hears == "bytes"
    assert outcomes_of(settle_natives(read(path).to_dicts())) == outcomes_of(turn)
    assert ("at" in lines(path)[0]) is (way != "stream")


def test_an_open_response_is_recorded_by_its_bytes(tmp_path: Path) -> None:
    """An HTTP response has no events; the turn reads its bytes, and hears them."""
    path = tmp_path / "recording.jsonl"
    recording = REPLY.to_recording("anthropic")
    with (
        FaultServer(recording) as server,
        httpx.Client() as client,
        client.stream("POST", server.base_url, json={}) as response,
        Turn(record(response, path), tools=None) as turn,
    ):
        assert list(turn)
    assert turn.pacing is not None
    assert turn.pacing.hears == "bytes"
    assert read(path).to_dicts() == recording.to_dicts()


async def test_an_asynchronous_response_is_recorded_by_its_bytes(tmp_path: Path) -> None:
    """The same for an asynchronous client."""
    path = tmp_path / "recording.jsonl"
    recording = REPLY.to_recording("anthropic")
    async with (
        FaultServer(recording) as server,
        httpx.AsyncClient() as client,
        client.stream("POST", server.base_url, json={}) as response,
        AsyncTurn(record(response, path), tools=None) as turn,
    ):
        async for _ in turn:
            pass
    assert read(path).to_dicts() == recording.to_dicts()


async def test_a_synchronous_stream_in_an_asynchronous_turn_is_recorded(tmp_path: Path) -> None:
    """The turn reads it in a thread; the recording is the same."""
    natives, path = REPLY.to("anthropic"), tmp_path / "recording.jsonl"
    async with AsyncTurn(record(natives, path), tools=None) as turn:
        async for _ in turn:
            pass
    assert read(path).to_dicts() == natives


def test_a_recorded_stream_has_what_its_stream_has(tmp_path: Path) -> None:
    """Its class, attributes and methods are the stream's; what it lacks, this lacks."""
    natives = REPLY.to("anthropic")
    with FaultServer(REPLY) as server, anthropic_client(server) as client:
        stream: Any = client.messages.create(stream=True, **CLIENT)
        same: Any = record(stream, tmp_path / "recording.jsonl")
        assert same.__class__ is stream.__class__
        assert same.response is stream.response
        same.mark = 1
        assert stream.mark == 1
        assert repr(same) == "<a recorded anthropic.Stream>"
        with pytest.raises(AttributeError):
            _ = same.no_such_thing
        assert not hasattr(same, "__aiter__")
        with same as entered:
            assert entered is same
            assert next(entered).type == natives[0]["type"]
            assert [event.type for event in entered][-1] == "message_stop"
    assert stream.response.is_closed


def test_a_loop_that_is_left_can_be_gone_on_with(tmp_path: Path) -> None:
    """As with the stream itself, what was left is read, and recorded, by the next loop."""
    natives, path = REPLY.to("anthropic"), tmp_path / "recording.jsonl"
    stream = record(iter(natives), path)
    for _ in stream:
        break
    assert list(stream) == natives[1:]
    assert read(path).to_dicts() == natives


def test_closing_a_turn_closes_a_generator_that_is_recorded(tmp_path: Path) -> None:
    """A turn that is left early ends the generator, and the recording is what was read."""
    path, closed = tmp_path / "recording.jsonl", threading.Event()

    def stream() -> Iterator[Any]:
        try:
            yield from REPLY.to("anthropic")
        finally:
            closed.set()

    with Turn(record(stream(), path), tools=None) as turn:
        for _ in turn:
            break
    assert closed.wait(10)  # by the thread that reads it
    assert read(path).events


async def test_closing_a_turn_closes_an_asynchronous_generator(tmp_path: Path) -> None:
    """The same for an asynchronous one."""
    path = tmp_path / "recording.jsonl"
    closed: list[bool] = []

    async def stream() -> AsyncIterator[Any]:
        try:
            for native in REPLY.to("anthropic"):
                await asyncio.sleep(0)
                yield native
        finally:
            closed.append(True)

    async with AsyncTurn(record(stream(), path), tools=None) as turn:
        async for _ in turn:
            break
    assert closed == [True]
    assert read(path).events


def test_a_stream_that_is_refused_is_refused_recorded(tmp_path: Path) -> None:
    """A turn sees through the recording what an SDK runs itself."""

    class Runner:
        def __iter__(self) -> Iterator[Any]:
            return iter(())

        def generate_tool_call_response(self) -> None:
            """What the tool runner of Anthropic's client has."""

        def until_done(self) -> None:
            """The same."""

    def refused(stream: Any) -> str:
        with pytest.raises(RefusedStream) as caught:
            Turn(stream, tools=None)
        return str(caught.value)

    assert refused(record(Runner(), tmp_path / "recording.jsonl")) == refused(Runner())


def test_chat_completions_are_recorded_through_their_client(tmp_path: Path) -> None:
    """The client keeps `[DONE]` to itself; the recording settles all the same."""
    path = tmp_path / "recording.jsonl"
    with (
        FaultServer(REPLY) as server,
        openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="none") as client,
    ):
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "go"}], stream=True
        )
        with Turn(record(stream, path), tools=None) as turn:
            assert list(turn)
    assert outcomes_of(settle_natives([read(path).to_bytes()])) == outcomes_of(turn)


def test_objects_of_gemini_leave_the_headers_behind(tmp_path: Path) -> None:
    """What the client adds of the response to its first event is not kept."""
    natives = REPLY.to("gemini")
    natives[0] = natives[0] | {"sdkHttpResponse": {"headers": {"x-secret": "S3NT1N3L"}}}
    path = tmp_path / "recording.jsonl"
    list(record(to_objects("gemini", natives), path))
    assert len(read(path).events) == len(natives)
    assert "S3NT1N3L" not in path.read_text()


# -- scrubbing -------------------------------------------------------------------------------------

KEY = "sk-ant-api03-S3NT1N3LS3NT1N3LS3NT1N3L"
SECRETS = {
    "a key in text": Reply().text(f"It is {KEY}, then."),
    "a key in thinking": Reply().thinking(f"({KEY})"),
    "a key in arguments": Reply().call("f", {"note": f"use {KEY}\nnow"}),
    "a bearer": Reply().text("Authorization: Bearer abcd/efghS3NT1N3L+x=="),
    "a private key": Reply().text("-----BEGIN RSA PRIVATE KEY-----\nS3NT1N3L/S3NT1N3L\n-----END"),
    "a private key in arguments": Reply().call(
        "f", {"pem": "-----BEGIN PRIVATE KEY-----\nS3NT1N3L\nS3NT1N3L\n-----END PRIVATE KEY-----"}
    ),
    "a field by its name": Reply().call("f", {"api_key": "S3NT1N3L", "to": "Bob"}),
    "a field whose name is escaped": Reply().call("f", r'{"pass\u0077ord": "S3NT1N3L"}'),
    "an object by its name": Reply().call("f", {"credentials": {"u": ["S3NT1N3L"]}, "to": "Bob"}),
    "a call that is cut": Reply().call("f", '{"token": "S3NT1N3L', closed=False),
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_credentials_are_masked_wherever_they_are_cut(provider: str, tmp_path: Path) -> None:
    """In no form, and in no pieces, is a credential in a recording; calls settle as before."""
    path = tmp_path / "recording.jsonl"
    for secret, size in itertools.product(SECRETS, (1, 5, 1000)):
        natives = recut(SECRETS[secret], size).to(provider)
        recording = recorded(natives, path)
        told = json.dumps(texts(recording, provider))
        assert "S3NT1N3L" not in path.read_text() + told, (secret, size)
        assert kinds(settle_natives(recording.to_dicts())) == kinds(settle_natives(natives))


def recut(reply: Reply, size: int) -> Reply:
    """The same reply in other pieces."""
    made = Reply()
    for part in reply.parts:
        text = "".join(part.pieces)
        match type(part).__name__:
            case "Text":
                made = made.text(text, fragments=size)
            case "Thinking":
                made = made.thinking(text, fragments=size)
            case _:
                made = made.call("f", text, fragments=size, closed=size != 1)
    return made


def texts(recording: Recording, provider: str) -> str:
    """Everything that a replay puts together of pieces."""
    settler = Settler(provider, tools=None)
    events = [event for native in recording.to_dicts() for event in settler.feed(native)]
    return "".join(getattr(event, "text", "") for event in events)


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"a": inner}
    return inner


SEALED = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "thinking", "thinking": "", "signature": "eyJhbGciOiJIUzI1NiJ9=="},
}


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (SEALED, SEALED),
        ({"usage": {"token": 7}}, {"usage": {"token": 7}}),
        ({"authorization": None}, {"authorization": None}),
        ({"authorization": "a-b c"}, {"authorization": "x-x x"}),
        ({"X-Api-Key": "abc"}, {"X-Api-Key": "xxx"}),
        ({"headers": {"a": "b"}}, {"headers": None}),
        (
            {"token": "Hi", "logprob": -0.5, "bytes": [72]},
            {"token": "Hi", "logprob": -0.5, "bytes": [72]},
        ),
        (
            {"input": {"password": 1203, "n": [1, None]}},
            {"input": {"password": 1101, "n": [1, None]}},
        ),
        (
            {"partialArgs": [{"jsonPath": "$.a['x'].api_key", "stringValue": "abc"}]},
            {"partialArgs": [{"jsonPath": "$.a['x'].api_key", "stringValue": "xxx"}]},
        ),
        ("Bearer abcdefghijk", "Bearer abcdefghxxx"),
        ("Authorization: Basic abcd==", "Authorization: Basic xxxx=="),
        ("a Basic understanding", "a Basic understanding"),
        ("https://me:S3/x%41@db:5432/a:b", "https://me:xx/x%xx@db:5432/a:b"),
        ("ratio 3:4, a://b, c:/d:e", "ratio 3:4, a://b, c:/d:e"),
        ("PGPASSWORD=ab&c api_key=d a=b", "PGPASSWORD=xx&c api_key=x a=b"),
        ("n" * 70 + "password=ab", "n" * 70 + "password=ab"),
        *(
            ({name: "abc"}, {name: "xxx"})
            for name in ("aws_secret_access_key", "OPENAI_API_KEY", "db-password", "pwd")
        ),
        ({"next_page_token": "abc"}, {"next_page_token": "abc"}),
        ([{"secret": "abc"}], [{"secret": "xxx"}]),
        ({"arguments": r'{"token": "\uq1"'}, {"arguments": r'{"token": "\ux' + 'x"'}),
        (nested(40, {"secret": "abc"}), nested(40, {"secret": "xxx"})),
    ],
)
def test_what_is_scrubbed_and_what_is_not(data: Any, kept: Any) -> None:
    """Names and words tell credentials; what is sealed, counted or empty is none."""
    assert Scrubber(values=True).scrub(RecordedEvent(None, data)).data == kept


def test_sensitive_fields_are_masked_and_others_stay(tmp_path: Path) -> None:
    """By their names, or as the tools mark them."""
    schema = {
        "type": "object",
        "properties": {
            "card": {"type": "string", "writeOnly": True},
            "to": {"type": "string"},
            "extra": {"additionalProperties": {"type": "string", "format": "password"}},
        },
    }
    reply = Reply().call("pay", {"card": "4111 1111", "to": "Bob", "Extra": {"a": "x1"}})
    path = tmp_path / "recording.jsonl"
    for sensitive in (["card"], ToolSet({"pay": schema})):
        recording = recorded(reply.to("anthropic"), path, sensitive=sensitive)
        outcome = settle_natives(recording.to_dicts()).outcomes[0]
        assert args_of(outcome) == {
            "card": "xxxx xxxx",
            "to": "Bob",
            "Extra": {"a": "xx" if sensitive != ["card"] else "x1"},
        }
    with pytest.raises(TypeError, match="put it into a list"):
        record([], path, sensitive="card")


LOGIN = ToolSet(
    {
        "f": {
            "properties": {
                "auth": {"properties": {"token": {"type": "string", "writeOnly": True}}},
                "keys": {"items": {"properties": {"pin": {"writeOnly": True}}}},
            }
        }
    }
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"auth": {"token": "S", "user": "Bob"}}', '{"auth": {"token": "x", "user": "Bob"}}'),
        (r'{"auth": "{\"token\": \"S\"}"}', r'{"auth": "{\"xxxxx\": \"x\"}"}'),
        ('{"auth": ["S", ["S"]], "to": "Bob"}', '{"auth": ["x", ["x"]], "to": "Bob"}'),
        ('{"auth": "S"}', '{"auth": "x"}'),
        ('{"auth": 42, "to": "Bob"}', '{"auth": 11, "to": "Bob"}'),
        (
            '{"keys": [{"pin": "S", "of": "Bob"}, "S"]}',
            '{"keys": [{"pin": "x", "of": "Bob"}, "x"]}',
        ),
        (r'"{\"token\": \"S\"}"', r'"{\"xxxxx\": \"x\"}"'),
        ('["S", {"to": "Bob"}]', '["x", {"to": "Bob"}]'),
    ],
)
def test_what_is_not_of_the_shape_of_its_tool_is_masked_too(text: str, kept: str) -> None:
    """A string, a number or a list in the place of an object with something sensitive is hidden."""
    for pieces in ([text], list(text)):
        scrubber = Scrubber(values=True, sensitive=LOGIN)
        scrubbed = [
            scrubber.scrub(RecordedEvent(None, {"partial_json": piece})).data["partial_json"]
            for piece in pieces
        ]
        assert "".join(scrubbed) == kept
    said = Scrubber(values=True, sensitive=LOGIN).scrub(RecordedEvent(None, {"text": '"Bob"'}))
    assert said.data == {"text": '"Bob"'}
    event = RecordedEvent(None, {"args": [json.loads(text)]})
    whole = Scrubber(values=True, sensitive=LOGIN).scrub(event)
    assert whole.data == {"args": [json.loads(kept)]}


def test_an_argument_by_its_path_is_masked_where_an_object_should_be() -> None:
    """Some services send arguments one by one, by their paths."""
    scrubber = Scrubber(values=True, sensitive=LOGIN)
    for path, kept in (("$.auth", "x"), ("$.auth[0]", "x"), ("$.auth.user", "S"), ("$", "S")):
        event = RecordedEvent(None, {"jsonPath": path, "stringValue": "S"})
        assert scrubber.scrub(event).data["stringValue"] == kept, path


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"executableCode": {"language": "PYTHON", "code": "S = 42"}}, None),
        ({"item": {"type": "code_interpreter_call", "code": "S"}}, None),
        ({"response": {"metadata": {"name": "S", "id": "S"}}}, None),
        ({"prompt": {"id": "p", "variables": {"type": "S"}}}, None),
        ({"results": [{"attributes": {"status": "S", "n": 5}}]}, None),
        ({"sources": [{"tool_output": {"id": "S"}}]}, None),
        ("S of Q", "x xx x"),
        ('data: {"name": "S"}', 'xxxx: {"name": "x"}'),
        ("[DONE]", "[DONE]"),
        (
            {"error": {"code": "server_error", "message": "S"}},
            {"error": {"code": "server_error", "message": "x"}},
        ),
    ],
)
def test_what_has_names_of_its_own_is_no_structure(data: Any, kept: Any) -> None:
    """Code, metadata and text that is no JSON are values, whatever their fields are called."""
    scrubbed = Scrubber(values=False).scrub(RecordedEvent(None, data)).data
    assert scrubbed == kept if kept is not None else "S" not in json.dumps(scrubbed)


def test_tools_that_mark_every_name_have_everything_masked(tmp_path: Path) -> None:
    """Where any name may be sensitive, every value is."""
    schema = {"type": "object", "additionalProperties": {"type": "string", "writeOnly": True}}
    path = tmp_path / "recording.jsonl"
    natives = Reply().call("f", {"a": "Bob", "b": [True]}).to("gemini")
    recording = recorded(natives, path, sensitive=ToolSet({"f": schema}))
    assert args_of(settle_natives(recording.to_dicts()).outcomes[0]) == {
        "a": "xxx",
        "b": [True],
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["a", "b", "api_key", 'q"', "é"]), VALUES),
    st.booleans(),
    st.booleans(),
    st.integers(0, 40),
    st.integers(1, 9),
)
def test_the_cut_of_a_text_makes_no_difference_to_its_mask(
    value: Any, ascii_only: bool, everything: bool, missing: int, size: int
) -> None:
    """Pieces are masked as the whole, a prefix as the whole's prefix; length and JSON stay."""

    def mask() -> JSONMask:
        return JSONMask(lambda name: name == "api_key", everything)

    text = json.dumps(value, ensure_ascii=ascii_only)
    whole, pieces = mask().read(text), mask()
    assert "".join(pieces.read(text[at : at + size]) for at in range(0, len(text), size)) == whole
    assert len(whole) == len(text)
    cut = text[: max(0, len(text) - missing)]
    assert mask().read(cut) == whole[: len(cut)]
    assert shape(json.loads(whole)) == shape(value)


def shape(value: Any) -> Any:
    """Names and kinds of values, and nothing of the values."""
    if is_object(value):
        return {name: shape(item) for name, item in value.items()}
    if is_array(value):
        return [shape(item) for item in value]
    return type(value).__name__


@given(st.text(alphabet='{}[]",:\\u0dDe1-+ .tnNIx"é\ud83d\ude00'), st.booleans())
def test_text_that_is_no_json_is_masked_too(text: str, everything: bool) -> None:
    """Whatever the text is, its mask has its length and its punctuation, and is none the better."""
    masked = JSONMask(lambda name: name == "x", everything).read(text)
    assert len(masked) == len(text)
    assert [one for one in masked if one in '{}[]",:\\ '] == [
        one for one in text if one in '{}[]",:\\ '
    ]


def test_without_values_nothing_that_was_said_is_kept(tmp_path: Path) -> None:
    """Texts, thoughts and arguments are masked in every provider's stream; names and ids stay."""
    reply = (
        Reply()
        .thinking("Zanzibar thoughts")
        .text("Zanzibar text 42")
        .call("get_tide", {"port": "Zanzibar 42 \n é🌊", "deep": [{"n": 4242.5}], "ok": True})
    )
    for provider in PROVIDERS:
        for fragments in (reply, recut_named(reply)):
            path = tmp_path / "recording.jsonl"
            natives = fragments.to(provider)
            recording = recorded(natives, path, values=False, clock=FakeClock())
            content = path.read_text() + json.dumps(texts(recording, provider))
            assert "anzi" not in content
            assert "4242" not in content
            (outcome,) = settle_natives(recording.to_dicts()).outcomes
            assert outcome.name == "get_tide"
            assert args_of(outcome) == {
                "port": "xxxxxxxx xx \n x\U00010000",
                "deep": [{"n": 1111.1}],
                "ok": True,
            }


def recut_named(reply: Reply) -> Reply:
    thinking, text, call = ("".join(part.pieces) for part in reply.parts)
    return (
        Reply()
        .thinking(thinking, fragments=1)
        .text(text, fragments=1)
        .call("get_tide", call, fragments=1)
    )
