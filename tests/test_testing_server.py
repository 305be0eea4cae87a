"""The loopback server, seen by real clients: every ending of a stream, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from finalcall import Dispatchable, Turn
from finalcall.testing import (
    FAULTS,
    Close,
    CloseAbruptly,
    FaultServer,
    KeepOpen,
    NotApplicable,
    Pause,
    Pings,
    RecordedRequest,
    Recording,
    Reply,
    Reset,
    Script,
    Send,
    Stall,
    ceiling,
    cut_after,
    cut_at_byte,
    pings,
    reset_after,
    stall_after,
)
from tests.every_client import EVERY_CLIENT
from tests.recorded import anthropic_tool_call, recordings

RECORDING = anthropic_tool_call()
SOON = 0.2  # a client's patience where the server never answers: only from there on
PARAMETERS: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After each test there are the threads of before."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@contextlib.contextmanager
def connected(server: FaultServer, timeout: float = 30) -> Iterator[http.client.HTTPConnection]:
    host = server.base_url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=timeout)
    with contextlib.closing(connection):
        yield connection


@contextlib.contextmanager
def response(server: FaultServer, timeout: float = 30) -> Iterator[http.client.HTTPResponse]:
    with connected(server, timeout) as connection:
        connection.request("POST", "/v1/any", b"{}")
        with connection.getresponse() as answer:
            yield answer


# -- real clients ----------------------------------------------------------------------------------


def sync_events(server: FaultServer, read_timeout: float = 30) -> Iterator[Any]:
    with (
        anthropic.Anthropic(
            api_key="k", base_url=server.base_url, max_retries=0, timeout=httpx2.Timeout(30)
        ) as client,
        client.messages.create(**PARAMETERS, stream=True) as stream,
    ):
        # Once the response is there: how long that takes is this machine's affair.
        stream.response.request.extensions["timeout"]["read"] = read_timeout
        for event in stream:
            yield event.to_dict()


async def async_events(server: FaultServer) -> list[Any]:
    async with anthropic.AsyncAnthropic(
        api_key="k", base_url=server.base_url, max_retries=0
    ) as client:
        stream = await client.messages.create(**PARAMETERS, stream=True)
        return [event.to_dict() async for event in stream]


def drain(events: Iterable[Any]) -> tuple[list[Any], Exception | None]:
    """What came, and the exception that ended it."""
    came: list[Any] = []
    try:
        for event in events:
            came.append(event)  # noqa: PERF402  # what came before an exception counts
    except Exception as error:
        return came, error
    return came, None


def test_the_real_client_reads_a_recording() -> None:
    """Over HTTP the client yields the recorded events, and the request is kept."""
    with FaultServer(RECORDING) as server:
        assert list(sync_events(server)) == RECORDING.to_dicts()
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert "anthropic-version" in request.headers
    assert request.json["messages"] == PARAMETERS["messages"]


async def test_the_real_async_client_reads_a_recording() -> None:
    """The same in an event loop, twice at once."""
    async with FaultServer(RECORDING) as server:
        both = await asyncio.gather(async_events(server), async_events(server))
        assert both == [RECORDING.to_dicts()] * 2
        assert len(server.requests) == 2


ANTHROPIC = [
    path
    for name, path in recordings().items()
    if name.startswith("anthropic/") and Recording.read(path).framing == "sse"
]


def test_every_anthropic_recording_passes_through_the_real_client() -> None:
    """The client yields the events that were recorded, but for those that it keeps to itself."""
    assert ANTHROPIC
    sent = [Recording.read(path) for path in ANTHROPIC]
    with (
        FaultServer(sent) as server,
        anthropic.Anthropic(api_key="k", base_url=server.base_url, max_retries=0) as client,
    ):
        for recording in sent:
            types = [event.data["type"] for event in recording.events]
            came, raised = drain(client.messages.create(**PARAMETERS, stream=True))
            # The client swallows pings and raises errors.
            assert [event.type for event in came] == [
                name for name in types if name not in ("ping", "error")
            ]
            assert (raised is not None) == ("error" in types)
        assert len(server.requests) == len(sent)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (cut_after(3), None),
        (cut_after(3, CloseAbruptly()), httpx2.RemoteProtocolError),
        (cut_at_byte(len(b"".join(RECORDING.to_frames()[:3])) + 9), httpx2.RemoteProtocolError),
        (reset_after(3), httpx2.ReadError),
        (stall_after(3), httpx2.ReadTimeout),
    ],
    ids=["clean end", "abrupt end", "cut in an event", "reset", "stall"],
)
def test_the_real_client_sees_each_fault(fault: Any, error: type[Exception] | None) -> None:
    """What was sent before arrives, then the fault shows as it does with the real service."""
    with FaultServer(RECORDING.to_script().with_faults(fault)) as server:
        came, raised = drain(sync_events(server, SOON if error is httpx2.ReadTimeout else 30))
    assert came == RECORDING.to_dicts()[:3]
    assert type(raised) is (error or type(None))


def test_pings_keep_the_real_client_waiting() -> None:
    """Keep-alives between events are invisible, and those of a stall hold back a read limit."""
    script = RECORDING.to_script().with_faults(pings(0.01))
    with FaultServer(script) as server:
        assert list(sync_events(server)) == RECORDING.to_dicts()
    with FaultServer(script.with_faults(stall_after(6), pings(0.01))) as server:
        events = sync_events(server, SOON)
        # Every second step is a keep-alive, so six steps hold three events.
        assert [next(events) for _ in range(3)] == RECORDING.to_dicts()[:3]
        reader = threading.Thread(target=drain, args=(events,))
        reader.start()
    reader.join()
    assert not reader.is_alive()


# -- steps -----------------------------------------------------------------------------------------


def test_bytes_arrive_as_scripted() -> None:
    """Sends are joined by pauses, empty sends end nothing, and the content type is the script's."""
    script = Script((Send(b"a"), Send(b""), Pause(0.01), Send(b"b")), "text/plain")
    with FaultServer(script) as server, response(server) as answer:
        assert answer.read() == b"ab"
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/plain"
        assert answer.headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize("steps", [(), (Close(),), (Close(), Send(b"more"))])
def test_a_script_ends_with_a_clean_close(steps: tuple[Any, ...]) -> None:
    """With or without a last step the body ends properly, and nothing follows it."""
    with (
        FaultServer(Script((Send(b"a"), *steps))) as server,
        response(server) as answer,
    ):
        assert answer.headers["connection"] == "close"
        assert answer.read() == b"a"


def test_an_abrupt_close_leaves_the_body_incomplete() -> None:
    """The client can tell that the end is missing."""
    with (
        FaultServer(Script((Send(b"a"), CloseAbruptly()))) as server,
        response(server) as answer,
        pytest.raises(http.client.IncompleteRead),
    ):
        answer.read()


def test_a_reset_is_a_reset() -> None:
    """The client gets an error of the connection, not an end."""
    with (
        FaultServer(Script((Send(b"a"), Reset()))) as server,
        response(server) as answer,
        pytest.raises(ConnectionResetError),
    ):
        answer.read()


def test_a_stall_sends_nothing_more() -> None:
    """What came before a stall arrives; then the client waits in vain."""
    with (
        FaultServer(Script((Send(b"a"), Stall()))) as server,
        connected(server) as connection,
    ):
        connection.request("POST", "/v1/any", b"{}")
        patient = connection.sock
        with connection.getresponse() as answer:
            assert answer.read(1) == b"a"
            patient.settimeout(SOON)
            with pytest.raises(TimeoutError):
                answer.read(1)


def test_pings_go_on_until_the_client_leaves() -> None:
    """Keep-alives come again and again."""
    with (
        FaultServer(Script((Send(b"a"), Pings(0.001, b"p")))) as server,
        response(server) as answer,
    ):
        assert answer.read(6) == b"appppp"


def test_a_connection_that_is_kept_open_serves_the_next_request() -> None:
    """After a proper end the same connection answers again."""
    scripts = [Script((Send(b"a"), KeepOpen())), Script((Send(b"b"),))]
    with FaultServer(scripts) as server, connected(server) as connection:
        bodies: list[bytes] = []
        sockets: list[socket.socket] = []
        for _ in scripts:
            connection.request("POST", "/", b"{}")
            sockets.append(connection.sock)
            with connection.getresponse() as answer:
                bodies.append(answer.read())
        assert bodies == [b"a", b"b"]
        assert sockets[0] is sockets[1]
        assert len(server.requests) == 2


@pytest.mark.parametrize("step", [Stall(), Pause(1000), Pings(0.001), Pings(1000)])
def test_a_client_that_leaves_holds_nothing_up(step: Any) -> None:
    """Whatever the server waits for when a client goes, others are served and it stops at once."""
    scripts = [Script((Send(b"a"), step, Send(b"late"))), Script((Send(b"b"),))]
    with FaultServer(scripts) as server:
        with response(server) as first:
            assert first.read(1) == b"a"
        with response(server) as second:
            assert second.read() == b"b"


# -- replies ---------------------------------------------------------------------------------------


def test_a_list_answers_in_order_and_its_last_repeats() -> None:
    """The first request gets the first script, requests beyond the list the last."""
    scripts = [Script((Send(b"a"),)), Script((Send(b"b"),))]
    bodies: list[bytes] = []
    with FaultServer(scripts) as server:
        for _ in range(4):
            with response(server) as answer:
                bodies.append(answer.read())
    assert bodies == [b"a", b"b", b"b", b"b"]


def test_a_function_answers_by_the_request() -> None:
    """The reply may depend on the method, the path, the headers and the body."""

    def reply(request: RecordedRequest) -> Script:
        text = f"{request.method} {request.path} {request.headers['x-one']} {request.json['n']}"
        return Script((Send(text.encode()),))

    with FaultServer(reply) as server, connected(server) as connection:
        connection.request("PUT", "/a?b=c", b'{"n": 7}', {"X-One": "1"})
        with connection.getresponse() as answer:
            assert answer.read() == b"PUT /a?b=c 1 7"


def test_a_reply_function_that_fails_is_heard_of() -> None:
    """Its exception cuts the connection and comes out of the block, unless another one does."""

    def reply(request: RecordedRequest) -> Script:
        raise LookupError(request.path)

    with (
        pytest.raises(LookupError, match="/v1/any"),
        FaultServer(reply) as server,
        pytest.raises(http.client.RemoteDisconnected),
        response(server),
    ):
        pass  # there is no response
    with (
        pytest.raises(http.client.RemoteDisconnected),
        FaultServer(reply) as server,
        response(server),
    ):
        pass


def test_a_failure_is_raised_once() -> None:
    """A server that is started again has none to raise."""

    def reply(request: RecordedRequest) -> Script:
        raise LookupError(request.path)

    server = FaultServer(reply)
    with (
        pytest.raises(LookupError),
        server,
        pytest.raises(http.client.RemoteDisconnected),
        response(server),
    ):
        pass  # there is no response
    with server:
        assert server.connections == 1


def answer_to(server: FaultServer, sent: bytes) -> bytes:
    """Everything that a plain socket gets for some bytes."""
    host, port = server.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(sent)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (b"hello\r\n\r\n", b"no request line"),
        (b"\r\n\r\n\r\n", b"no request line"),
        (b"\x16\x03\x01\x02\x00\x01", b"a TLS handshake"),
        (b"POST / HTTP/1.1\r\nx: " + b"a" * 300_000, b"a head of more than"),
        (b"POST / HTTP/1.1\r\ncontent-length: abc\r\n\r\n", b"a content-length"),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"a content-length"),
        *(
            (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + body, b"in chunks")
            for body in (b"-1\r\n", b"2\r\n{}xx", b"a" * 300_000)
        ),
    ],
)
def test_what_is_no_request_is_answered_so(sent: bytes, found: bytes) -> None:
    """It gets a 400 with a sentence, and leaves nothing behind: no request and no exception."""
    with FaultServer(Script((Send(b"a"),))) as server:
        answer = answer_to(server, sent)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert found in answer
        assert server.requests == []


def test_a_head_request_gets_a_head() -> None:
    """There is no stream without a body."""
    with FaultServer(Script((Send(b"a"),))) as server:
        answer = answer_to(server, b"HEAD /v1/messages HTTP/1.1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert answer.endswith(b"\r\n\r\n")


def test_a_request_in_chunks_is_put_together() -> None:
    """With an extension and a trailer, as clients that stream their bodies may send."""
    body = b'5;a=b\r\n{"str\r\nA\r\neam":true}\r\n0\r\nx: y\r\n\r\n'
    head = b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with FaultServer(RECORDING) as server:
        assert answer_to(server, head + body).startswith(b"HTTP/1.1 200 ")
        assert server.requests[0].json == {"stream": True}


def test_a_server_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What kept it from starting is raised, its port is free again, and it can be started later."""
    server = FaultServer(RECORDING)
    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "SelectorEventLoop", lambda: socket.socket(fileno=-2))
        with pytest.raises(ValueError, match="negative file descriptor"):
            server.__enter__()
    with server:
        assert list(sync_events(server)) == RECORDING.to_dicts()


def test_open_answers_are_known() -> None:
    """A request counts from when it came until its answer has ended."""
    with FaultServer(RECORDING, faults=[stall_after(1)]) as server:
        with response(server) as answer:
            answer.read1()
            assert server.answering == tuple(server.requests)
        for _ in range(1000):
            if not server.answering:
                break
            threading.Event().wait(0.01)
        assert server.answering == ()


def test_an_empty_list_is_refused() -> None:
    """There must be something to answer with."""
    with pytest.raises(ValueError, match="expected at least one"):
        FaultServer([])


# -- starting and stopping -------------------------------------------------------------------------


@pytest.mark.parametrize("step", [Stall(), Pause(1000), Pings(1000), KeepOpen()])
def test_stopping_ends_every_connection(step: Any) -> None:
    """A client that still waits sees the end, the port is free, and no socket is left open."""
    with contextlib.ExitStack() as stack:
        with FaultServer(Script((Send(b"a"), step))) as server:
            host, port = server.base_url.removeprefix("http://").split(":")
            answer = stack.enter_context(response(server))
            assert answer.read(1) == b"a"
            idle = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
        with contextlib.suppress(http.client.IncompleteRead):
            assert answer.read() == b""
        with contextlib.suppress(ConnectionResetError):  # where it was not accepted yet
            assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)))
    gc.collect()  # a socket left open would be a ResourceWarning now, and warnings are errors


def test_a_server_runs_only_within_its_block() -> None:
    """Before and after there is no address; it can be started again, but not twice at once."""
    server = FaultServer(Script((Send(b"a"),)))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not running"):
            _ = server.base_url
        with server:
            assert server.base_url.startswith("http://127.0.0.1:")
            with pytest.raises(RuntimeError, match="running already"):
                server.__enter__()
    server.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url


def test_a_request_that_is_cut_off_is_no_request() -> None:
    """A client that leaves in its head or in its body disturbs nothing."""
    with FaultServer(Script((Send(b"a"),))) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        for part in (b"", b"POST / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc"):
            with socket.create_connection((host, int(port))) as client:
                client.sendall(part)
        with response(server) as answer:
            assert answer.read() == b"a"
        assert len(server.requests) == 1


# -- a reply, for whoever asks ---------------------------------------------------------------------

REPLY = Reply().text("On it.").call("create_ticket", {"title": "x"})


@pytest.mark.parametrize("provider", EVERY_CLIENT)
def test_a_reply_is_answered_in_the_words_of_who_is_asked(provider: str) -> None:
    """One server speaks with every provider's real client, which its path tells."""
    client = EVERY_CLIENT[provider]
    with FaultServer(REPLY) as server:
        connected = client.connect(server.base_url)
        with Turn(client.stream(connected), tools=None) as turn:
            list(turn)
        client.close(connected)
        assert len(server.requests) == 1
    assert turn.provider == provider
    assert turn.text == "On it."
    assert [(one.name, one.args) for one in turn.outcomes if isinstance(one, Dispatchable)] == [
        ("create_ticket", {"title": "x"})
    ]


def ask(server: FaultServer, path: str, body: bytes = b'{"stream": true}') -> tuple[int, str]:
    """The status of an answer and its text."""
    with connected(server) as connection:
        connection.request("POST", path, body)
        with connection.getresponse() as answer:
            return answer.status, answer.read().decode("utf-8", "replace")


@pytest.mark.parametrize(
    "path", ["/", "/v1/any", "/v1/messages/count", "/v1/completions?a=/responses"]
)
def test_a_path_that_is_nobodys_says_what_was_expected(path: str) -> None:
    """A 404 names the paths, and asks for nothing else."""
    with FaultServer(REPLY) as server:
        status, text = ask(server, path)
    assert status == 404
    message = json.loads(text)["error"]["message"]
    assert message.startswith(f"no provider has the path {path.partition('?')[0]}; expected one")
    assert "/chat/completions (openai-chat)" in message


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/messages", b"{}", 400),
        ("/v1/messages", b'{"stream": false}', 400),
        ("/v1/messages", b'{"stream": "true"}', 400),
        ("/v1/messages", b"", 400),
        ("/v1/messages", b"[]", 400),
        ("/v1/messages", b'{"stream": true}', 200),
        ("/v1/chat/completions?api-version=1", b'{"stream": true}', 200),
        ("/openai/deployments/m/chat/completions", b"{}", 400),
        ("/v1/responses", b"{}", 400),
        ("/v2/chat", b"{}", 400),
        ("/api/chat", b'{"stream": false}', 400),
        ("/api/chat", b"{}", 200),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", b"{}", 200),
        ("/model/m/converse-stream", b"{}", 200),
    ],
)
def test_only_streams_are_served(path: str, body: bytes, status: int) -> None:
    """Who asks for a whole message is told so; Ollama streams where nothing is said."""
    for reply in (REPLY, RECORDING):
        with FaultServer(reply) as server:
            came, text = ask(server, path, body)
        assert came == status
        assert ("does not ask for a stream" in text) == (status == 400)


def test_faults_are_put_into_every_answer() -> None:
    """Into replies, recordings and scripts alike, in order."""
    answers = [REPLY, REPLY.to_recording("anthropic"), REPLY.to_recording("anthropic").to_script()]
    with FaultServer(answers, faults=[ceiling(), cut_after(2)]) as server:
        bodies = {ask(server, "/v1/messages")[1] for _ in answers}
    (body,) = bodies
    assert body.count("event: ") == 2


def test_a_fault_that_means_nothing_is_heard_of() -> None:
    """What is known before is refused at once; for a reply it is raised when the block is left."""
    fault = FAULTS["repeated-id"]
    with pytest.raises(NotApplicable, match="in cohere"):
        FaultServer([REPLY.to_recording("cohere")], faults=[fault])
    with (
        pytest.raises(NotApplicable, match="in anthropic"),
        FaultServer(REPLY, faults=[fault]) as server,
        pytest.raises(http.client.RemoteDisconnected),
    ):
        ask(server, "/v1/messages")


def test_a_port_can_be_asked_for() -> None:
    """One that was free a moment ago."""
    with FaultServer(REPLY) as server:
        port = int(server.base_url.rpartition(":")[2])
    with FaultServer(REPLY, port=port) as server:
        assert server.base_url == f"http://127.0.0.1:{port}"


def test_a_server_that_is_never_left_lets_the_process_end() -> None:
    """A crashed notebook must not hang."""
    code = (
        "from finalcall.testing import FaultServer, Reply\n"
        "FaultServer(Reply().text('x')).__enter__()\n"
        "print('end')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == "end\n"
