"""Metrics and spans through the real OpenTelemetry SDK, and once through Prometheus over HTTP."""

from __future__ import annotations

import gc
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY, start_http_server

from finalcall import Cause, Settler, observe
from finalcall.correction import run_turn
from finalcall.observe.otel import MAX_NAMES, PROVIDER_NAMES, Telemetry
from finalcall.observe.records import MAX_NAME
from finalcall.providers import PROVIDERS
from tests.chat_chunks import chunk
from tests.facts import outside
from tests.messages import CLEAN, ERROR, TOOLS, call, message_start, stopped

TICKET = {"gen_ai.tool.name": "create_ticket", "gen_ai.provider.name": "anthropic"}
OTHER = {"gen_ai.tool.name": "_OTHER", "gen_ai.provider.name": "anthropic"}
CUT = [message_start(), *call(0, "a", '{"title": "S3NT1N3L'), *call(1, "b", stop=False)]


@dataclass
class Seen:
    """What the SDK has seen so far."""

    reader: InMemoryMetricReader
    exporter: InMemorySpanExporter
    tracer: trace.Tracer

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """The attributes of each point of an instrument, with its value, or its sum and count."""
        data = self.reader.get_metrics_data()
        return [
            (
                dict(point.attributes),
                point.value if hasattr(point, "value") else (point.sum, point.count),
            )
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def everything(self) -> str:
        return f"{self.reader.get_metrics_data()} {[span.to_json() for span in self.spans]}"


@pytest.fixture
def seen() -> Iterator[Seen]:
    reader, exporter, tracers = InMemoryMetricReader(), InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader])
    telemetry = Telemetry(meters, tracers)
    observe.add(telemetry)
    yield Seen(reader, exporter, tracers.get_tracer("test"))
    observe.remove(telemetry)
    assert observe.failures() == []
    meters.shutdown()


def settle(events: list[Any], cause: Cause | None = None, **options: Any) -> Settler:
    settler = Settler(**{"tools": TOOLS} | options)
    for event in events:
        settler.feed(event)
    settler.end(cause)
    return settler


def test_calls_are_counted_by_how_they_settled(seen: Seen) -> None:
    """Announced and settled agree, by tool and provider."""
    settle(CLEAN)
    settle(CLEAN)
    settle(CUT, Cause.DISCONNECTED)
    assert seen.points("finalcall.calls.announced") == [(TICKET, 4)]
    lost = {"finalcall.reason": "abandoned", "finalcall.cause": "disconnected"}
    assert seen.points("finalcall.calls.settled") == [
        (TICKET | {"finalcall.outcome": "dispatchable"}, 2),
        (TICKET | {"finalcall.outcome": "failed"} | lost, 2),
    ]
    sizes = 3 * len('{"title": "x"}') + len('{"title": "S3NT1N3L')
    assert seen.points("finalcall.call.size") == [(TICKET, (sizes, 4))]
    assert seen.points("finalcall.call.gap") == []


def test_an_announcement_counts_at_once(seen: Seen) -> None:
    """So that calls that are under way can be told from those that are not."""
    settler = Settler(tools=TOOLS)
    for event in CUT:
        settler.feed(event)
    assert seen.points("finalcall.calls.announced") == [(TICKET, 2)]
    assert seen.points("finalcall.calls.settled") == []
    settler.end()
    assert seen.points("finalcall.calls.announced") == [(TICKET, 2)]


def test_names_that_a_model_made_up_are_one(seen: Seen) -> None:
    """Else a model could make any number of time series."""
    for name in ("create_tickets", "made_up"):
        settle([message_start(), *call(0, name=name), *stopped()])
    assert seen.points("finalcall.calls.announced") == [(OTHER, 2)]
    assert seen.points("finalcall.calls.settled") == [
        (OTHER | {"finalcall.outcome": "schema_error"}, 2)
    ]


def test_names_are_bounded_where_no_tools_are_known(seen: Seen) -> None:
    """The first that come are told apart; later ones, and very long ones, are one."""
    names = ["x" * (MAX_NAME + 1), *(f"tool_{number}" for number in range(MAX_NAMES + 5)), "tool_0"]
    for name in names:
        settle([message_start(), *call(0, name=name), *stopped()], tools=None)
    for instrument in ("finalcall.calls.announced", "finalcall.calls.settled"):
        points = {point["gen_ai.tool.name"]: value for point, value in seen.points(instrument)}
        assert len(points) == MAX_NAMES + 1
        assert points["_OTHER"] == 6
        assert points["tool_0"] == 2
    events = [dict(event.attributes or {}) for span in seen.spans for event in span.events]
    assert max(len(str(event["gen_ai.tool.name"])) for event in events) == MAX_NAME


def test_a_dropped_turn_ends_its_span(seen: Seen) -> None:
    """Nobody will end it any more; a turn that ended has one span."""
    settler = Settler(tools=TOOLS)
    settler.feed(CUT[0])
    assert not seen.spans
    del settler
    gc.collect()
    (span,) = seen.spans
    assert span.end_time is not None
    assert "finalcall.verdict" not in (span.attributes or {})
    settle(CLEAN)
    gc.collect()
    assert len(seen.spans) == 2


def test_a_name_that_comes_late_is_counted_whole(seen: Seen) -> None:
    """Without a tool set, too, every call is announced once, under the name it settles with."""
    settler = Settler("openai-chat", tools=None)
    for function in ({"name": "create_"}, {"name": "ticket", "arguments": "{}"}):
        settler.feed(chunk({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))
    settler.feed(chunk({}, finish="tool_calls"))
    settler.end()
    (outcome,) = settler.outcomes
    chat = {"gen_ai.tool.name": outcome.name, "gen_ai.provider.name": "openai"}
    assert seen.points("finalcall.calls.announced") == [(chat, 1)]
    assert seen.points("finalcall.calls.settled") == [
        (chat | {"finalcall.outcome": "dispatchable"}, 1)
    ]


def test_a_gap_is_recorded_where_time_was_told(seen: Seen) -> None:
    """The longest wait of each call, in seconds."""
    settler = Settler(tools=TOOLS)
    for now, event in enumerate(CLEAN):
        settler.feed(event, now * 0.25)
        settler.deadline(now * 0.25)
    assert seen.points("finalcall.call.gap") == [(TICKET, (0.25, 1))]


def test_corrections_and_anomalies_are_counted(seen: Seen) -> None:
    """A correction by what came of it, an anomaly by its name."""
    answers = iter([[message_start(), *call(0, arguments="{}"), *stopped()], CLEAN])
    assert run_turn(lambda _: next(answers), [], tools=TOOLS).result.verdict == "dispatch"
    settle([message_start(), *stopped()])
    settle([])
    anthropic = {"gen_ai.provider.name": "anthropic"}
    assert seen.points("finalcall.corrections") == [
        (anthropic | {"finalcall.verdict": "dispatch"}, 1)
    ]
    assert seen.points("finalcall.anomalies") == [
        (anthropic | {"finalcall.anomaly": "promised_calls_missing"}, 1)
    ]


def test_a_turn_is_a_span(seen: Seen) -> None:
    """Inside of the one that was current, with an event for each thing that happened to a call."""
    with seen.tracer.start_as_current_span("request") as parent:
        settle(CLEAN)
    span = seen.spans[0]
    assert span.name == "finalcall.turn"
    assert span.parent is not None
    assert span.parent.span_id == parent.get_span_context().span_id
    assert span.status.is_unset
    assert dict(span.attributes or {}) == {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 20,
        "finalcall.verdict": "dispatch",
    }
    who = {"gen_ai.tool.call.id": "toolu_1", "gen_ai.tool.name": "create_ticket"}
    how = {"finalcall.outcome": "dispatchable", "finalcall.size": 14}
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [
        ("finalcall.call.announced", who),
        ("finalcall.call.settled", who | how),
    ]


ENDINGS: dict[str, tuple[list[Any], Cause | None, dict[str, Any], bool]] = {
    "disconnected": (
        CUT,
        Cause.DISCONNECTED,
        {"finalcall.cause": "disconnected", "error.type": "disconnected"},
        False,
    ),
    "reported": (
        [*CUT, ERROR],
        None,
        {"finalcall.cause": "provider_error", "error.type": "overloaded_error"},
        False,
    ),
    "cancelled": (CUT, Cause.CANCELLED, {"finalcall.cause": "cancelled"}, True),
    "at the ceiling": ([*CUT, *stopped("max_tokens")], None, {}, True),
}


@pytest.mark.parametrize(
    ("events", "cause", "marks", "unset"), ENDINGS.values(), ids=ENDINGS.keys()
)
def test_a_span_says_how_its_turn_ended(
    events: list[Any], cause: Cause | None, marks: dict[str, Any], unset: bool, seen: Seen
) -> None:
    """A token ceiling is no error of the turn, and neither is a person who stops it."""
    settle(events, cause)
    (span,) = seen.spans
    attributes = dict(span.attributes or {})
    assert {
        key: attributes[key] for key in attributes if key in ("finalcall.cause", "error.type")
    } == marks
    assert span.status.is_unset is unset
    assert "S3NT" not in seen.everything()


def test_a_call_without_an_id_or_a_name_is_told_without(seen: Seen) -> None:
    """And a turn of which no provider is known has none."""
    settler = Settler("openai-chat", tools=TOOLS)
    settler.feed(chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}))
    settler.end()
    settle([])
    named, nameless = seen.spans
    assert [event.name for event in named.events] == [
        "finalcall.call.announced",
        "finalcall.call.settled",
    ]
    assert not dict(named.events[0].attributes or {})
    assert "gen_ai.provider.name" not in (nameless.attributes or {})
    assert seen.points("finalcall.calls.announced")[0][0]["gen_ai.tool.name"] == "_OTHER"


@pytest.mark.parametrize("tools", [TOOLS, None], ids=["tools", "no tools"])
def test_half_a_character_can_be_exported(tools: Any, seen: Seen) -> None:
    """One in a name, an id, a stop reason or a code would keep everything else from being sent."""
    broken = [message_start(), *call(0, "id\ud83d", name="na\ud83dme"), *stopped("stop\ud83d")]
    settle(broken, tools=tools)
    error = {"type": "error", "error": {"type": "bad\ud83d", "message": "x"}}
    settle([message_start(), *call(0), error], tools=tools)
    attributes = [
        attributes
        for span in seen.spans
        for attributes in (span.attributes, *(event.attributes for event in span.events))
    ]
    attributes += [one for one, _ in seen.points("finalcall.calls.settled")]
    assert "na\ufffdme" in f"{attributes}"
    assert f"{attributes}".count("bad\ufffd") == 1
    assert "\\ud83d" not in f"{attributes}"


def test_every_provider_has_its_name_in_the_conventions() -> None:
    """But for those that the conventions do not know."""
    assert set(PROVIDERS) - set(PROVIDER_NAMES) == outside("opentelemetry")


@pytest.fixture
def scrape() -> Iterator[Callable[[], str]]:
    """What a Prometheus server would get from this process."""
    provider = MeterProvider([PrometheusMetricReader()])
    server, thread = start_http_server(0, "127.0.0.1", REGISTRY)
    telemetry = Telemetry(provider)
    observe.add(telemetry)

    def get() -> str:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as response:
            return str(response.read().decode())

    yield get
    observe.remove(telemetry)
    server.shutdown()
    server.server_close()
    thread.join()
    provider.shutdown()


def test_prometheus_gets_the_ratio_to_alarm_on(scrape: Callable[[], str]) -> None:
    """Both counters over HTTP, under names that an alert can use."""
    settle(CLEAN)
    settle(CUT, Cause.DISCONNECTED)
    samples = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in scrape().splitlines()
        if line.startswith("finalcall_")
    }
    announced = sum(
        value
        for name, value in samples.items()
        if name.startswith("finalcall_calls_announced_total{")
    )
    abandoned = [
        value
        for name, value in samples.items()
        if name.startswith("finalcall_calls_settled_total{")
        and 'finalcall_reason="abandoned"' in name
        and 'gen_ai_tool_name="create_ticket"' in name
        and 'gen_ai_provider_name="anthropic"' in name
    ]
    assert announced == 3.0
    assert abandoned == [2.0]
    assert any(name.startswith("finalcall_call_size_bytes_bucket{") for name in samples)
