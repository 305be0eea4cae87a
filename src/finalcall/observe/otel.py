"""Counters, histograms and spans through OpenTelemetry's API, for whatever SDK is set up.

It needs the extra `otel`. Names follow the semantic conventions for generative AI where these name
a thing; the rest begins with `finalcall.`. Argument text is in none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final
from weakref import WeakKeyDictionary, finalize

try:
    from opentelemetry import metrics, trace
except ModuleNotFoundError as _missing:
    raise ImportError(
        "finalcall.observe.otel needs the package 'opentelemetry', which is not installed: "
        "pip install 'finalcall[otel]'"
    ) from _missing

from finalcall.ending import Ending
from finalcall.events import Call
from finalcall.known import Known
from finalcall.observe.observer import Observer
from finalcall.observe.records import MAX_NAME, brief_name
from finalcall.observe.settled import Correction, SettledCall
from finalcall.outcomes import Cause
from finalcall.strict import encodable
from finalcall.version import __version__

TOOL: Final = "gen_ai.tool.name"
CALL_ID: Final = "gen_ai.tool.call.id"
PROVIDER: Final = "gen_ai.provider.name"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
ERROR: Final = "error.type"

OTHER_TOOL: Final = "_OTHER"
"""Stands for every tool name that was not offered: a model can make up any number of them."""

MAX_NAMES: Final = 100
"""Tool names that are told apart of turns whose tools are not known: the first that come."""

PROVIDER_NAMES: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "bedrock-converse": "aws.bedrock",
    "cohere": "cohere",
    "gemini": "gcp.gemini",
    "gemini-interactions": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x_ai",
}
"""What the conventions call who made a service's protocol. Others keep the name they have here."""

GAP_BOUNDS: Final = (0.01, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 360.0)
"""Seconds: finest where a stream feels slow, up to the longest that is let pass by default."""

SIZE_BOUNDS: Final = tuple(float(4**power) for power in range(3, 13))
"""Bytes: from 64 to 16 MiB."""

_Attributes = dict[str, str | tuple[str, ...] | int | float | bool]


@final
class _Turn:
    """What is remembered of a turn that goes on."""

    __slots__ = ("counted", "dropped", "span")

    def __init__(self, turn: Known, span: trace.Span) -> None:
        self.span = span
        self.counted: set[str] = set()
        # A turn that nobody ends, and nobody has any more, would keep its span for ever.
        self.dropped = finalize(turn, span.end)
        self.dropped.atexit = False  # by then, who exports spans may be gone


@final
class Telemetry(Observer):
    """Counts calls and traces turns. Add it: `observe.add(Telemetry())`.

    Counters: `finalcall.calls.announced` (by tool and provider), `finalcall.calls.settled` (also by
    outcome, reason and cause), `finalcall.corrections` (by provider and verdict) and
    `finalcall.anomalies` (by provider and name). Histograms: `finalcall.call.gap` (the longest wait
    inside of a call, in seconds; only where time was told) and `finalcall.call.size` (in bytes).
    One span a turn, `finalcall.turn`, from when it was made to its end, in whatever span was
    current, with an event for each announcement and settling. Of a turn that is dropped before its
    end, the span ends when the turn is garbage, and says nothing of an end.

    A tool that was not offered is `_OTHER` in metrics. Where a turn has no tools (`tools=None`),
    the first 100 names that such turns have are told apart, and any other is `_OTHER`.

    A call is counted as announced when it is, if its whole name is known then, else when it
    settles: so that both counters have it under the same name.

    Args:
        meter_provider: Whose meter to use; the global one if left out.
        tracer_provider: Whose tracer to use; the global one if left out.
    """

    def __init__(
        self,
        meter_provider: metrics.MeterProvider | None = None,
        tracer_provider: trace.TracerProvider | None = None,
    ) -> None:
        meter = metrics.get_meter("finalcall", __version__, meter_provider)
        self._tracer = trace.get_tracer("finalcall", __version__, tracer_provider)
        self._turns: WeakKeyDictionary[Known, _Turn] = WeakKeyDictionary()
        self._names: set[str] = set()
        self._announced = meter.create_counter(
            "finalcall.calls.announced", "{call}", "Tool calls that streams announced."
        )
        self._settled = meter.create_counter(
            "finalcall.calls.settled", "{call}", "Tool calls that settled, each once."
        )
        self._corrections = meter.create_counter(
            "finalcall.corrections", "{correction}", "Corrections that a model answered."
        )
        self._anomalies = meter.create_counter(
            "finalcall.anomalies", "{anomaly}", "Oddities that streams had."
        )
        self._gap = meter.create_histogram(
            "finalcall.call.gap",
            "s",
            "The longest wait inside of a tool call.",
            explicit_bucket_boundaries_advisory=GAP_BOUNDS,
        )
        self._size = meter.create_histogram(
            "finalcall.call.size",
            "By",
            "Argument text of a tool call.",
            explicit_bucket_boundaries_advisory=SIZE_BOUNDS,
        )

    def turn_begun(self, turn: Known) -> None:
        """Start the turn's span."""
        self._turns[turn] = _Turn(turn, self._tracer.start_span("finalcall.turn"))

    def call_announced(self, turn: Known, call: Call) -> None:
        """Note it in the span, and count it where its name is one that was offered."""
        ours = self._turns[turn]
        ours.span.add_event("finalcall.call.announced", _identity(call.call_id, call.name))
        name = call.name
        if name is not None and turn.tools is not None and turn.tools.get(name) is not None:
            ours.counted.add(call.key)
            self._announced.add(1, _named(name, turn.provider))

    def call_settled(self, turn: Known, settled: SettledCall) -> None:
        """Count the call, and note it in the span."""
        ours = self._turns[turn]
        tool = self._name_of(settled, known=turn.tools is not None)
        named = _named(tool, settled.provider)
        if settled.key not in ours.counted:
            self._announced.add(1, named)
        how = _how(settled)
        self._settled.add(1, named | how)
        self._size.record(settled.size, named)
        if settled.largest_gap is not None:
            self._gap.record(settled.largest_gap, named)
        identity = _identity(settled.call_id, settled.tool)
        size: _Attributes = {"finalcall.size": settled.size}
        ours.span.add_event("finalcall.call.settled", identity | how | size)

    def _name_of(self, settled: SettledCall, *, known: bool) -> str:
        """What a metric calls a tool: by its name if that is one of a bounded number."""
        name = settled.tool if settled.offered else None
        if not name:
            return OTHER_TOOL
        if known or name in self._names:
            return name
        if len(self._names) >= MAX_NAMES or len(name) > MAX_NAME:
            return OTHER_TOOL
        self._names.add(name)
        return name

    def turn_ended(self, turn: Known) -> None:
        """Count the anomalies, and end the span."""
        ours = self._turns.pop(turn)
        ours.dropped.detach()
        span = ours.span
        for anomaly in turn.anomalies:
            name: _Attributes = {"finalcall.anomaly": anomaly.name}
            self._anomalies.add(1, _provider(turn.provider) | name)
        span.set_attributes(_of_turn(turn))
        if turn.ending is not None and not turn.ending.clean:
            _mark(span, turn.ending)
        span.end()

    def correction_settled(self, correction: Correction) -> None:
        """Count it."""
        verdict: _Attributes = {"finalcall.verdict": correction.verdict}
        self._corrections.add(1, _provider(correction.provider) | verdict)


def _provider(provider: str | None) -> _Attributes:
    return {} if provider is None else {PROVIDER: PROVIDER_NAMES.get(provider, provider)}


def _named(tool: str, provider: str | None) -> _Attributes:
    # Half a character in one name would break the export of everything else, too.
    return {TOOL: encodable(tool)} | _provider(provider)


def _identity(call_id: str | None, name: str | None) -> _Attributes:
    parts = ((CALL_ID, call_id), (TOOL, name))
    return {key: encodable(brief_name(value)) for key, value in parts if value is not None}


def _how(settled: SettledCall) -> _Attributes:
    how: _Attributes = {"finalcall.outcome": settled.outcome}
    if settled.reason is not None and settled.cause is not None:
        how |= {"finalcall.reason": settled.reason, "finalcall.cause": settled.cause.value}
    return how


def _of_turn(turn: Known) -> _Attributes:
    found = _provider(turn.provider) | {"finalcall.verdict": turn.verdict}
    if turn.stop_reason is not None:
        found[FINISH_REASONS] = (encodable(turn.stop_reason.raw),)
    for name, tokens in (
        (INPUT_TOKENS, turn.usage.input_tokens),
        (OUTPUT_TOKENS, turn.usage.output_tokens),
    ):
        if tokens is not None:
            found[name] = tokens
    return found


def _mark(span: trace.Span, ending: Ending) -> None:
    """Say of an unclean end what it was. A cancelled turn is no error."""
    cause = ending.cause or Cause.ENDED_EARLY
    span.set_attribute("finalcall.cause", cause.value)
    if cause is not Cause.CANCELLED:
        span.set_attribute(ERROR, encodable(ending.code or cause.value))
        span.set_status(trace.StatusCode.ERROR)
