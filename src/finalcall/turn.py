"""Iterates, waits and closes around a `Settler`; decides nothing."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast, final

from finalcall.checkpoints import checkpoint_of, provider_to_resume, replay
from finalcall.clock import Clock, is_moved_by_hand, read
from finalcall.ending import Ending, TurnVerdict
from finalcall.errors import RefusedStream
from finalcall.events import Anomaly, Event, ExternalCall
from finalcall.faults import cause_of
from finalcall.option_checks import check_options
from finalcall.options import SettlerOptions, refuse_unknown
from finalcall.outcomes import Cause, Outcome
from finalcall.pacing import Pacing, PacingChoice
from finalcall.refused import refusal_of_stream
from finalcall.results import Results
from finalcall.retry import Retry
from finalcall.settler import Settler
from finalcall.sources.choosing import open_source
from finalcall.sources.closing import close_if_possible, close_quietly, tell_settled
from finalcall.sources.opening import Opening, request_options
from finalcall.sources.waiting import Broken, Overdue, Source, Waiting
from finalcall.stats import Stats
from finalcall.stop_reasons import StopReason
from finalcall.tools import ToolsLike
from finalcall.usage import Usage

if TYPE_CHECKING:
    from finalcall.blocks import Blocks

REST: Final = 16
"""Native events to read after the end of a message: a stream that still goes on is left."""


class TurnOptions(SettlerOptions, total=False):
    """Keyword arguments of turns: those of `Settler`, and how to iterate.

    raises: An unclean ending raises after every `CallSettled` was yielded (the default).
    clock: Seconds on a monotonic scale; tests pass their own. `None` is `time.monotonic`.
    """

    raises: bool
    clock: Clock | None


class SettledTurn:
    """What a turn knows, the same for `Turn` and `AsyncTurn`. Not made directly."""

    def __init__(self, *, tools: ToolsLike | None, **options: Unpack[TurnOptions]) -> None:
        refuse_unknown(options, TurnOptions.__optional_keys__, "options of a turn")
        raises, clock = options.pop("raises", True), options.pop("clock", None)
        check_options({"raises": raises, "clock": clock})
        self._raises = raises
        self._clock: Clock = time.monotonic if clock is None else clock
        self._settler = Settler(tools=tools, **cast("SettlerOptions", options))
        self._iterated = False
        self._told: list[Event] = []

    def _refuse(self, stream: Any) -> None:
        if isinstance(stream, SettledTurn):
            raise TypeError(
                f"this is {type(stream).__name__}, a turn already: iterate it, or give its stream"
            )
        sentence = refusal_of_stream(stream) if self._settler.provider is None else None
        if sentence is not None:
            raise RefusedStream(sentence)

    def _begin(self) -> None:
        if self._iterated:
            raise RuntimeError(
                "a turn is iterated once: its stream cannot be read again; the outcomes are in "
                "turn.outcomes"
            )
        self._iterated = True

    @property
    def outcomes(self) -> list[Outcome]:
        """One outcome a call, in order of announcement.

        Raises:
            RuntimeError: The turn has not ended.
        """
        return self._settler.outcomes

    @property
    def verdict(self) -> TurnVerdict:
        """What to do next: `"done"`, `"dispatch"`, `"correct"`, `"resume"` or `"fail"`.

        Raises:
            RuntimeError: The turn has not ended.
        """
        return self._settler.verdict

    @property
    def ending(self) -> Ending | None:
        """How the stream ended, `None` while it goes on."""
        return self._settler.ending

    @property
    def error(self) -> BaseException | None:
        """What iterating raises at its end, or would with `raises=False`; `None` for nothing."""
        return self._settler.error

    @property
    def retry(self) -> Retry:
        """What asking again would have to change, and what is known to have happened.

        Raises:
            RuntimeError: The turn has not ended.
        """
        return self._settler.retry

    @property
    def stop_reason(self) -> StopReason | None:
        """The worst stop reason seen; `None` where none came or an error voided it."""
        return self._settler.stop_reason

    @property
    def provider(self) -> str | None:
        """The provider's name, `None` until it is recognised."""
        return self._settler.provider

    @property
    def text(self) -> str:
        """The message's text so far."""
        return self._settler.text

    @property
    def external_calls(self) -> list[ExternalCall]:
        """Calls that the provider or its SDK runs itself: never dispatch them."""
        return self._settler.external_calls

    @property
    def blocks(self) -> Blocks:
        """What people see of the calls: made when it is first asked for, then kept up to date.

        Whatever ends the turn, no block stays open.
        """
        return self._settler.blocks

    @property
    def usage(self) -> Usage:
        """Token counts so far."""
        return self._settler.usage

    @property
    def stats(self) -> Stats:
        """Counts of the turn."""
        return self._settler.stats

    @property
    def anomalies(self) -> list[Anomaly]:
        """What was odd in the stream; the outcomes already take it into account."""
        return self._settler.anomalies

    @property
    def request_fields(self) -> dict[str, Any]:
        """Parameters that the next request must repeat, such as a container id."""
        return self._settler.request_fields

    def checkpoint(self) -> dict[str, Any]:
        """What `resume` needs to go on with a message that stopped in the middle, as plain data.

        It holds the text of the message and the arguments of its calls: keep it as you keep those.
        It may be taken while the turn goes on, and costs a copy of the text.

        Returns:
            What `json.dumps` takes. `"response_id"` and `"sequence_number"` say where to go on.

        Raises:
            ValueError: The provider's service cannot go on (OpenAI Responses can), the message is
                over, or too little of it has arrived.
        """
        return checkpoint_of(self._settler)

    def history(
        self, results: Results | None = None, *, stored: bool = False
    ) -> list[dict[str, Any]]:
        """What to append to the conversation, in the provider's shape; after a failure too.

        Args:
            results: What the tools gave back, by outcome, key or call id.
            stored: The provider keeps the conversation on its server (OpenAI Responses with
                `previous_response_id`, which is then in `request_fields`): send only what it lacks.

        Raises:
            ValueError: A dispatchable call has no result, a result is for no call that stays, or
                the provider keeps nothing.
            TypeError: A result is nothing that can be sent.
            RuntimeError: The turn has not ended.
        """
        return self._settler.history(results, stored=stored)


def leaves_rest(settler: Settler, clock: Clock) -> bool:
    """Whether a turn that ended at its message's own marker must still read the source's end.

    Only after a proper end, and not by a clock that is moved by hand: it would not pass meanwhile.
    """
    ending = settler.ending
    whole = ending is not None and ending.clean and ending.marker
    return whole and not is_moved_by_hand(clock)


@final
class Turn(SettledTurn):
    """One message of a model, read from a synchronous stream.

    Iterate it for events; every call settles in a `CallSettled` before the iteration ends or
    raises. Leaving its `with` block settles what is open and closes the stream, whatever happened;
    so does an error in what it was given.

    Args:
        stream: An SDK stream (or its context manager), an open httpx response, or an iterable of
            native events, dicts or bytes.
        tools: What was offered: a `ToolSet`, a raw list, or `None` to check nothing.
        pacing: `"thread"` reads in a thread, so that a `StreamQuiet` comes while the stream is
            quiet; by default it may come when the silence is over, and no thread reads that need
            not.
        options: See `Settler` and `TurnOptions`.

    Raises:
        TypeError: An option is unknown or of the wrong type; the text says what was expected.
        ValueError: An option is nothing that there is, or a tool's schema is bad.
        RefusedStream: The stream's calls are run by an SDK; the message says what to wrap.

    Iterating raises, after every call has settled: the transport's own exception unchanged,
    `StreamIdle`, `StreamEndedEarly` or `ProviderFault`; and `TypeError` or `UnrecognisedStream`
    where the stream is none. `raises=False` turns the first four off; `ending` says it either way.
    """

    def __init__(
        self,
        stream: Any,
        *,
        tools: ToolsLike | None,
        pacing: PacingChoice = "auto",
        **options: Unpack[TurnOptions],
    ) -> None:
        try:
            check_options({"pacing": pacing})
            super().__init__(tools=tools, **options)
            self._refuse(stream)
        except BaseException:
            close_quietly(stream)  # nobody else can, where it was opened within the call
            raise
        self._stream = stream
        self._choice: PacingChoice = pacing
        self._source: Source | None = None
        self._iteration: weakref.ref[Generator[Event, None, None]] | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        create: Callable[..., Any],
        /,
        *arguments: Any,
        turn_options: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> Turn:
        """Make the request itself, when iteration begins, so that the clock covers its headers.

        Args:
            create: The client's method, for example `client.messages.create`.
            arguments: Positional arguments for it.
            turn_options: Keyword arguments for the turn. `tools` and `ceiling` are read from the
                request's parameters unless given here.
            parameters: The request's parameters, `stream=True` included where `create` needs it.
        """
        options = request_options(parameters) | dict(turn_options or {})
        return cls(Opening(create, arguments, parameters), **options)

    @classmethod
    def resume(
        cls,
        checkpoint: Mapping[str, Any],
        stream: Any,
        *,
        tools: ToolsLike | None,
        pacing: PacingChoice = "auto",
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Go on with a message that stopped in the middle, in another process too.

        The turn begins with what the checkpoint holds, in few events; then comes what is new.
        Events that the checkpoint has seen already are dropped. Where some are missing in between,
        the turn ends with a fault, and no call of it runs.

        Args:
            checkpoint: What `checkpoint()` gave.
            stream: The rest of the message, such as
                `client.responses.retrieve(response_id, stream=True, starting_after=number)`.
            tools: What was offered.
            pacing: See `Turn`.
            options: Those of the first turn.

        Raises:
            ValueError: The checkpoint is of another version or provider, or is damaged.
        """
        try:
            options["provider"] = provider_to_resume(checkpoint, options.get("provider"))
            turn = cls(stream, tools=tools, pacing=pacing, **options)
            turn._told = replay(checkpoint, turn._settler)
        except BaseException:
            close_quietly(stream)
            raise
        return turn

    @property
    def pacing(self) -> Pacing | None:
        """How the turn waits, and what it hears; `None` before iteration."""
        return None if self._source is None else self._source.pacing

    def __iter__(self) -> Iterator[Event]:
        self._begin()
        iteration = self._events()
        # Only weakly: a loop that is left without `with` then closes the stream at once.
        self._iteration = weakref.ref(iteration)
        return iteration

    def _events(self) -> Generator[Event, None, None]:
        settler, clock = self._settler, self._clock
        try:
            yield from self._told
            clocks = settler.clocks
            waiting = Waiting(clocks, clock)
            source = self._source = open_source(self._stream, waiting, self._choice)
            while settler.ending is None:
                try:
                    yield from settler.feed_all(source.natives(), clock)
                    events = settler.end(now=clock())
                except Overdue:
                    events = settler.tick(clocks.moment(clock()))
                except Broken as broken:
                    events = settler.end(cause_of(broken.error), broken.error, clock())
                yield from events
            if leaves_rest(settler, clock):
                self._read_rest(source)
        except GeneratorExit:
            self._settle_open(None)
            raise
        except BaseException as error:
            self._settle_open(error)
            raise
        finally:
            self._close_source()
        if self._raises and settler.error is not None:
            raise settler.error

    def _read_rest(self, source: Source) -> None:
        """Read what follows the message, for a moment, so that its connection can be used again."""
        self._settler.clocks.wait_last(self._clock())
        with contextlib.suppress(Exception):  # however it ends, the message was over before
            for native in islice(source.natives(), REST):
                self._settler.feed(native)

    def native_events(self) -> Iterator[Any]:
        """Iterate the provider's own events, each once and unchanged, and settle beside them."""
        for event in self:
            if event.native is not None:
                yield event.native

    def close(self) -> None:
        """Settle every open call (cause `CANCELLED`) and close the stream. May be called twice."""
        iteration = None if self._iteration is None else self._iteration()
        self._iterated = True
        if iteration is not None:
            # In another thread the iteration may be running: it ends when its source is closed.
            with contextlib.suppress(ValueError):
                iteration.close()
        self._settle_open(None)
        self._close_source()

    def _settle_open(self, error: BaseException | None) -> None:
        if self._settler.ending is None:
            self._settler.end(Cause.CANCELLED, error, read(self._clock))

    def _close_source(self) -> None:
        if self._closed:
            return
        self._closed = True
        tell_settled(self._stream, self._settler)
        # A stream that cannot be closed is gone already; its error must not mask the caller's.
        with contextlib.suppress(Exception):
            if self._source is None:
                close_if_possible(self._stream)
            else:
                self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
