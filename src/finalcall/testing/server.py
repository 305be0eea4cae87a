"""A loopback HTTP/1.1 server that answers as a model's provider, well or with faults.

It runs in one thread of its own. Leaving its `with` block ends every connection and the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self, TypeAlias, final

from finalcall.testing.answers import Answer, checked_answer, checked_answers
from finalcall.testing.faults.checking import checked_faults
from finalcall.testing.recordings import Recording
from finalcall.testing.replies import Reply
from finalcall.testing.requests import HEADLESS, MAX_HEAD_BYTES, read_request
from finalcall.testing.routes import RecordedRequest, Refusal, provider_of, refuse_unstreamed
from finalcall.testing.steps import (
    LAST_STEPS,
    Close,
    CloseAbruptly,
    Edit,
    KeepOpen,
    Pause,
    Pings,
    Reset,
    Script,
    Send,
    Stall,
    Step,
)

_LINGER_ZERO: Final = struct.pack("ii", 1, 0)  # closing then sends RST instead of FIN

_LAST_WORDS: Final = 1.0
"""Seconds in which a client that was refused may still send before its connection is closed."""

Answers: TypeAlias = Answer | Sequence[Answer] | Callable[[RecordedRequest], Answer]
"""One answer for every request; a list, whose first item answers the first request and whose last
answers all that follow; or a function of the request."""


@final
class FaultServer:
    """Answers the requests of a provider's real client, and keeps them.

    Use it as a context manager, sync or async, and point the client at `base_url`. A `Reply` is
    answered in the words of the provider whose path is asked: `finalcall.testing.routes` has the
    table; any other path gets a 404 that says so. A recording or script is answered whatever is
    asked. A request for a reply or a recording that is not to be streamed gets a 400.

    What a function of the request or a fault raises cuts its connection, and is raised again when
    the block is left. What is no HTTP/1.1 request gets a 400, and is not kept.

    Args:
        replies: One reply, recording or script for every request; a list, whose first item answers
            the first request and whose last answers all that follow; or a function of the request.
        faults: Put into each answer, in order.
        port: Where to listen; 0 takes a port that is free.
        tls: A server's context with its certificate, to speak TLS; `None` speaks plain HTTP.

    Raises:
        TypeError: Something in `replies` is no answer, or something in `faults` no fault.
        ValueError: The list is empty.
        NotApplicable: A fault means nothing for a script or a recording that is given.
    """

    def __init__(
        self,
        replies: Answers,
        *,
        faults: Sequence[Edit] = (),
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._faults = checked_faults(faults)
        self._answer_to = self._answer_function(replies)
        self._wanted_port = port
        self._tls = tls
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] | None = None
        self._failures: list[BaseException] = []
        self._port = 0
        self.requests: list[RecordedRequest] = []
        """The requests so far, in the order in which they came."""
        self.connections = 0
        """How many connections were accepted so far."""
        self._answering: dict[int, RecordedRequest] = {}

    @property
    def answering(self) -> tuple[RecordedRequest, ...]:
        """The requests whose answer is still open."""
        return tuple(self._answering.copy().values())

    @property
    def base_url(self) -> str:
        """Where the server listens, such as `http://127.0.0.1:49152`.

        Raises:
            RuntimeError: The server is not running.
        """
        if self._thread is None:
            raise RuntimeError("the server is not running; enter its with block first")
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise RuntimeError("the server is running already; make another one")
        self._failures.clear()
        listener = socket.create_server(("127.0.0.1", self._wanted_port))
        self._port = listener.getsockname()[1]
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run,
            args=(listener, started),
            name="fault-server",
            daemon=True,  # one whose block is never left must not keep the process alive
        )
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None and self._stop is not None:
            self._stop()
            self._thread.join()
        self._thread = self._stop = None
        if self._failures and exception is None:
            raise self._failures[0]

    # Starting and stopping take milliseconds and wait for nothing of the caller's, so the async
    # form needs no loop of any particular kind.

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(exception_type, exception, traceback)

    def _run(self, listener: socket.socket, started: Future[None]) -> None:
        try:
            # The loop that has readers of plain sockets, on every system.
            with (
                listener,
                asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner,
            ):
                runner.run(self._serve(listener, started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)  # there are too few file descriptors, say

    async def _serve(self, listener: socket.socket, started: Future[None]) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stopping.set)
        conversations: set[asyncio.Task[None]] = set()

        # `asyncio.start_server` can leak a connection that it is accepting while it is closed.
        def accept() -> None:
            with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
                connection, _ = listener.accept()
                self.connections += 1
                task = asyncio.ensure_future(self._converse(connection))
                conversations.add(task)
                task.add_done_callback(lambda task: self._finish(task, connection))
                task.add_done_callback(conversations.discard)

        listener.setblocking(False)
        loop.add_reader(listener, accept)
        started.set_result(None)
        await stopping.wait()
        loop.remove_reader(listener)
        listener.close()
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    def _finish(self, conversation: asyncio.Task[None], connection: socket.socket) -> None:
        connection.close()  # not in the task: one that is cancelled before it starts does nothing
        if not conversation.cancelled() and (failure := conversation.exception()) is not None:
            self._failures.append(failure)

    async def _converse(self, connection: socket.socket) -> None:
        """Answer the requests of one connection, until one side has enough of it."""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            reader, writer = await _open(connection, self._tls)
            try:
                while await self._converse_once(reader, writer):
                    pass
                writer.close()
                await writer.wait_closed()
            finally:
                writer.transport.abort()  # does nothing to what is closed already

    async def _converse_once(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request, and say whether the connection is kept for another one."""
        request = await read_request(reader)
        if isinstance(request, Refusal):
            await _refuse(reader, writer, request)
            return False
        self.requests.append(request)
        self._answering[id(request)] = request
        try:
            return await self._answer(request, reader, writer)
        finally:
            del self._answering[id(request)]

    async def _answer(
        self,
        request: RecordedRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        script = self._script_for(request)
        if isinstance(script, Refusal):
            await _refuse(reader, writer, script, head_only=request.method == "HEAD")
            return False
        persists = any(isinstance(step, KeepOpen) for step in script.steps)
        writer.write(
            b"HTTP/1.1 200 OK\r\n"
            b"Content-Type: %s\r\n"
            b"Transfer-Encoding: chunked\r\n"
            b"Connection: %s\r\n\r\n"
            % (script.content_type.encode(), b"keep-alive" if persists else b"close")
        )
        # A client says nothing while it is answered: whatever is read means that it has gone.
        gone = asyncio.ensure_future(reader.read(1))
        keep_open = False
        try:
            for step in script.steps:
                await _perform(step, writer, gone)
                if gone.done():
                    break
                if isinstance(step, LAST_STEPS):
                    keep_open = isinstance(step, KeepOpen)
                    break
            else:
                await _perform(Close(), writer, gone)
        finally:
            gone.cancel()
            await asyncio.wait({gone})
        return keep_open

    def _answer_function(self, answers: Answers) -> Callable[[RecordedRequest], Answer]:
        if callable(answers) and not isinstance(answers, type):
            return answers
        sequence = checked_answers(answers)
        if not sequence:
            raise ValueError(
                "the list of replies is empty; expected at least one reply, script or recording"
            )
        for answer in sequence:
            if not isinstance(answer, Reply):  # a reply is nobody's until it is asked for
                _to_script(answer).with_faults(*self._faults)
        upcoming = itertools.chain(sequence, itertools.repeat(sequence[-1]))
        return lambda _: next(upcoming)

    def _script_for(self, request: RecordedRequest) -> Script | Refusal:
        if request.method == "HEAD":
            return HEADLESS
        answer = checked_answer(self._answer_to(request))
        if isinstance(answer, Reply | Recording):
            refusal = refuse_unstreamed(request)
            if refusal is not None:
                return refusal
        if isinstance(answer, Reply):
            provider = provider_of(request)
            if isinstance(provider, Refusal):
                return provider
            answer = answer.to_recording(provider)
        return _to_script(answer).with_faults(*self._faults)


def _to_script(answer: Recording | Script) -> Script:
    return answer.to_script() if isinstance(answer, Recording) else answer


async def _open(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The server's side of a connection that was accepted."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_HEAD_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _perform(step: Step, writer: asyncio.StreamWriter, gone: asyncio.Future[bytes]) -> None:
    match step:
        case Send(data):
            await _write_chunk(writer, data)
        case Pause(seconds):
            await asyncio.wait({gone}, timeout=seconds)
        case Stall():
            await asyncio.wait({gone})
        case Pings(every, data):
            while not gone.done():
                await _write_chunk(writer, data)
                await asyncio.wait({gone}, timeout=every)
        case Reset():
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO
            )
            writer.transport.abort()
        case Close() | KeepOpen():
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        case CloseAbruptly():
            pass  # closing the connection is all


async def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data:  # an empty chunk would end the body
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()


async def _refuse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    refusal: Refusal,
    *,
    head_only: bool = False,
) -> None:
    """Answer what is no request that a script is for.

    A client that is still sending would lose an answer that a close follows at once, so what it
    sends is read for a moment, and thrown away.
    """
    body = json.dumps({"error": {"type": "fault_server", "message": refusal.sentence}}).encode()
    writer.write(
        b"HTTP/1.1 %d %s\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: %d\r\n"
        b"Connection: close\r\n\r\n" % (refusal.status, refusal.phrase.encode(), len(body))
    )
    if not head_only:
        writer.write(body)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(_LAST_WORDS):
            while await reader.read(MAX_HEAD_BYTES):
                pass
