"""What is known of a message: whatever can be asked of it, at any moment, and nothing that acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finalcall.ending import Ending, TurnVerdict, judge
from finalcall.errors import ProviderFault, Seen, StreamEndedEarly
from finalcall.events import Anomaly, ExternalCall
from finalcall.finalizing import UnconfirmedPolicy
from finalcall.history import build_history
from finalcall.message import Message, at_least_truncated
from finalcall.outcomes import Cause, Failed, Outcome
from finalcall.providers.base import Normaliser
from finalcall.results import Results
from finalcall.retry import Retry, retry_of
from finalcall.stats import Stats
from finalcall.stop_reasons import StopReason, Verdict
from finalcall.tools import ToolSet
from finalcall.usage import Usage

if TYPE_CHECKING:
    from finalcall.wire.decoder import Decoder


class Known:
    """What is known of one message. `Settler` is what finds it out.

    Args:
        message: The message's calls.
        normaliser: What translates the provider's events, where it is known already.
        ceiling: The request's output token limit, where known.
    """

    tools: ToolSet | None
    """What was offered; `None` checks nothing."""

    def __init__(
        self, message: Message, normaliser: Normaliser | None, ceiling: int | None
    ) -> None:
        self.ending: Ending | None = None
        """How the stream ended, `None` while it goes on."""
        self._message = message
        self._named = normaliser is not None
        self._decoder: Decoder | None = None
        self._unconfirmed: UnconfirmedPolicy = "fail"
        self._normaliser: Normaliser | None = normaliser
        self._ceiling = ceiling
        self._stats = Stats()
        self._outcomes: list[Outcome] = []
        self._anomalies: list[Anomaly] = []
        self._error: Exception | None = None

    def _catch_up(self) -> None:
        """Count what was only written so far."""

    def _at_ceiling(self) -> bool:
        spent = self.usage.output_tokens
        return self._ceiling is not None and spent is not None and spent >= self._ceiling

    def _close_accounts(self) -> None:
        """What a turn says of itself once it is over."""
        message = self._message
        if message.other_choices:
            self._anomalies.append(Anomaly("other_choices"))
        if message.reasons_disagree:
            self._anomalies.append(Anomaly("stop_reasons_disagree"))
        if self._normaliser is not None and not message.announced:
            reason = message.stop_reason
            if reason is not None and reason.raw in self._normaliser.promises_calls:
                self._anomalies.append(Anomaly("promised_calls_missing"))

    @property
    def error(self) -> BaseException | None:
        """What a loop should raise after the last event: `None` after a proper end or a cancel.

        Where calls may go on without a stop reason, a plain end of the stream is proper if each
        of them did.
        """
        ending = self.ending
        if ending is None or ending.clean or ending.cause is Cause.CANCELLED:
            return None
        if ending.exception is not None:
            return ending.exception
        if ending.cause is Cause.ENDED_EARLY:
            return None if self._went_on() else StreamEndedEarly(self.stats.events, self._seen())
        fault = self._message.fault
        if fault is not None:
            return ProviderFault(fault.cause, fault.code, fault.native)
        return self._error

    def _went_on(self) -> bool:
        """Whether there are calls, and each went on without a stop reason, as was asked for."""
        failed = any(isinstance(outcome, Failed) for outcome in self._outcomes)
        return self._unconfirmed == "dispatch" and bool(self._outcomes) and not failed

    def _seen(self) -> Seen:
        """What came of a stream that ended early."""
        if not self._stats.events:
            came = self._decoder is not None and self._decoder.byte_count
            return "no event" if came else "nothing"
        said = self._message.begun or self.external_calls or self.usage != Usage()
        return "nothing of this provider" if self._named and not said else "a part"

    @property
    def stats(self) -> Stats:
        """Counts so far."""
        self._catch_up()
        self._stats.announced = self._message.announced
        return self._stats

    @property
    def outcomes(self) -> list[Outcome]:
        """One outcome a call, in order of announcement.

        Raises:
            RuntimeError: The turn has not ended: nothing is settled yet.
        """
        if self.ending is None:
            raise RuntimeError(
                "the turn has not ended, so no call is settled: iterate to the end, or close it"
            )
        return list(self._outcomes)

    @property
    def verdict(self) -> TurnVerdict:
        """What to do next: done, dispatch, correct, resume or fail.

        Raises:
            RuntimeError: The turn has not ended.
        """
        # A choice that was cut leaves the message without a stop reason that is good for all of it.
        return judge(self.outcomes, self.stop_reason if self._message.stopped else None)

    @property
    def retry(self) -> Retry:
        """What asking again would have to change, and what is known to have happened.

        Raises:
            RuntimeError: The turn has not ended.
        """
        verdict, ending = self.verdict, self.ending
        assert ending is not None
        return retry_of(verdict, self._outcomes, ending, self.stop_reason, self.external_calls)

    @property
    def stop_reason(self) -> StopReason | None:
        """The worst stop reason so far; `None` where none came or an error voided it."""
        return at_least_truncated(self._message.stop_reason, self._at_ceiling())

    @property
    def normaliser(self) -> Normaliser | None:
        """What translates the provider's events, `None` until it is recognised."""
        return self._normaliser

    @property
    def provider(self) -> str | None:
        """The provider's name, `None` until it is recognised."""
        return None if self._normaliser is None else self._normaliser.provider

    @property
    def text(self) -> str:
        """The message's text so far."""
        return "" if self._normaliser is None else "".join(self._normaliser.text)

    @property
    def usage(self) -> Usage:
        """Token counts so far."""
        return Usage() if self._normaliser is None else self._normaliser.usage

    @property
    def external_calls(self) -> list[ExternalCall]:
        """Calls that the provider or its SDK runs itself: never dispatch them."""
        return [] if self._normaliser is None else self._normaliser.external_calls

    @property
    def request_fields(self) -> dict[str, Any]:
        """Parameters that the next request must repeat, such as a container id."""
        return {} if self._normaliser is None else dict(self._normaliser.request_fields)

    @property
    def anomalies(self) -> list[Anomaly]:
        """What was odd in the stream; the outcomes already take it into account."""
        noted = [] if self._normaliser is None else self._normaliser.anomalies
        return [*noted, *self._anomalies]

    def history(
        self, results: Results | None = None, *, stored: bool = False
    ) -> list[dict[str, Any]]:
        """What to append to the conversation, in the provider's shape; after a failure too.

        Args:
            results: What the tools gave back, by outcome, key or call id.
            stored: The provider keeps the conversation on its server (OpenAI Responses with
                `previous_response_id`, which is then in `request_fields`): send only what it lacks.

        Returns:
            Messages (or input items) that the provider accepts: text and reasoning stay, failed
            calls go, every call that stays is answered.

        Raises:
            ValueError: A dispatchable call has no result, a result is for no call that stays, or
                the provider keeps nothing.
            TypeError: A result is nothing that can be sent.
            RuntimeError: The turn has not ended.
        """
        outcomes = self.outcomes
        if self._normaliser is None:
            return []
        reason = self.stop_reason
        buffers = {
            outcome.key: buffer
            for outcome in outcomes
            if (buffer := self._message.buffer(outcome.key)) is not None
        }
        return build_history(
            self._normaliser,
            outcomes,
            buffers,
            results or {},
            paused=reason is not None and reason.verdict is Verdict.PAUSED,
            stored=stored,
        )
