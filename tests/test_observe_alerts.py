"""The alert rules and the documents name what Prometheus really gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from finalcall import Cause, Settler, observe
from finalcall.correction import run_turn
from finalcall.ending import TurnVerdict
from finalcall.observe import OutcomeName
from finalcall.observe.otel import Telemetry
from finalcall.outcomes import Reason
from tests.documents import ROOT
from tests.messages import CLEAN, TOOLS, call, message_start, stopped

ALERTS = ROOT / "docs" / "alerts"
RULES = (ALERTS / "finalcall.rules.yml").read_text(encoding="utf-8")
TEST = (ALERTS / "finalcall.rules.test.yml").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")

METRIC = re.compile(r"\bfinalcall_[a-z_]+_(?:total|bucket|sum|count)\b")
LABEL = re.compile(r"\b(?:finalcall_(?:outcome|reason|cause|verdict|anomaly)|gen_ai_[a-z_]+)\b")


@pytest.fixture
def exposed() -> Iterator[dict[str, set[str]]]:
    """The labels of each sample that a Prometheus server would get, by the sample's name."""
    from prometheus_client import generate_latest

    provider = MeterProvider([PrometheusMetricReader()])
    telemetry = Telemetry(provider)
    observe.add(telemetry)
    try:
        answers = iter([[message_start(), *call(0, arguments="{}"), *stopped()], CLEAN])
        assert run_turn(lambda _: next(answers), [], tools=TOOLS).result.verdict == "dispatch"
        for events in (CLEAN[:-2], [message_start(), *stopped()]):
            settler = Settler(tools=TOOLS)
            for now, event in enumerate(events):
                settler.feed(event, float(now))
                settler.deadline(float(now))
            settler.end()
        families = text_string_to_metric_families(generate_latest(REGISTRY).decode())
        found: dict[str, set[str]] = {}
        for family in families:
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        yield found
    finally:
        observe.remove(telemetry)
        provider.shutdown()


@pytest.mark.parametrize("text", [RULES, TEST, PAGE], ids=["rules", "test", "page"])
def test_only_what_is_exposed_is_named(text: str, exposed: dict[str, set[str]]) -> None:
    """Every metric, and every label of ours that a rule asks for."""
    named = set(METRIC.findall(text))
    assert named
    assert named <= set(exposed)
    labels = set[str]().union(*(exposed[name] for name in named))
    assert set(LABEL.findall(text)) <= labels


def test_each_selector_asks_for_labels_of_its_metric(exposed: dict[str, set[str]]) -> None:
    """A selector for a label that a metric lacks would match nothing, or everything."""
    selectors = re.findall(r"(finalcall_[a-z_]+)\{([^}]*)\}", RULES + TEST)
    assert len(selectors) > 10
    for metric, asked in selectors:
        assert set(re.findall(r"(\w+)(?:=~|!=|=)", asked)) <= exposed[metric]


def test_the_page_has_every_metric(exposed: dict[str, set[str]]) -> None:
    """And every attribute, under the name that OpenTelemetry has for it."""
    ours = {name for name in exposed if name.startswith("finalcall_")}
    ours = {name for name in ours if name.endswith(("_total", "_bucket"))}
    assert ours == set(METRIC.findall(PAGE))
    labels = set[str]().union(*(exposed[name] for name in ours)) - {"le"}
    attributes = {name for name in labels if not name.startswith("otel_")}
    table = PAGE[PAGE.index("| instrument |") : PAGE.index("| alert |")]
    named = {name.replace(".", "_") for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", table)}
    assert attributes <= named


def test_only_values_that_exist_are_asked_for() -> None:
    """Outcomes, reasons, causes and verdicts by the words that the counters have."""
    words = {
        "finalcall_outcome": set(get_args(OutcomeName)),
        "finalcall_reason": set(get_args(Reason)),
        "finalcall_cause": {cause.value for cause in Cause},
        "finalcall_verdict": set(get_args(TurnVerdict)),
    }
    asked = re.findall(r"\b(finalcall_\w+)(?:=~|!=|=)\"([^\"]+)\"", RULES + TEST)
    assert {label for label, _ in asked} == set(words)
    for label, value in asked:
        assert set(value.split("|")) <= words[label]


def test_every_alert_is_tested_and_on_the_page() -> None:
    """By its name, with a case in which it speaks."""
    alerts = set(re.findall(r"alert: (\w+)", RULES))
    assert len(alerts) == 6
    spoken = re.findall(r"alertname: (\w+)\n +exp_alerts:\n", TEST)
    assert set(spoken) == alerts == set(re.findall(r"`(Finalcall\w+)`", PAGE))


def test_the_page_has_the_windows_minima_and_severities_of_the_rules() -> None:
    """A row of its table says what the rule of that name asks for."""
    stated = {
        name: (window, int(least), severity)
        for name, window, least, severity in re.findall(
            r"^\| `(Finalcall\w+)` \|[^|]+\| (\w+) \| (\d+) \w+ \| (\w+) \|$", PAGE, re.MULTILINE
        )
    }
    rules = RULES.split("- alert: ")[1:]
    asked = {rule.split("\n", 1)[0]: window_minimum_and_severity(rule) for rule in rules}
    assert len(asked) == 6
    assert stated == asked


def window_minimum_and_severity(rule: str) -> tuple[str, int, str]:
    """The one window of a rule, the count that it asks for, and how loud it is."""
    (window,) = set(re.findall(r"\[(\w+)\]|:increase(\w+)", rule))
    (least,) = re.findall(r">= (\d+)", rule)
    (severity,) = re.findall(r"severity: (\w+)", rule)
    return "".join(window), int(least), severity
