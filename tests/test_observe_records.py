"""One structured record a settled call: what it says, who gets it, and what is never in it."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from pythonjsonlogger.json import JsonFormatter

from finalcall import Cause, Settler, ToolSet, Turn, observe
from finalcall.blocks import Blocks
from finalcall.correction import run_turn
from finalcall.observe import (
    MASK,
    Correction,
    Observer,
    SettledCall,
    call_fields,
    correction_fields,
    record_failures,
)
from finalcall.observe.records import LEVELS, MAX_NAME, QUIET_CAUSES, brief_name, level_of
from finalcall.preview import Preview
from tests.messages import CLEAN, TOOLS, call, message_start, stopped

LOGIN = {
    "name": "log_in",
    "input_schema": {
        "type": "object",
        "properties": {
            "user": {"type": "string"},
            "password": {"type": "string", "writeOnly": True, "maxLength": 4},
            "keys": {
                "type": "array",
                "items": {"type": "object", "properties": {"pin": {"format": "password"}}},
            },
        },
    },
}
SECRET_TOOLS = ToolSet([LOGIN, *TOOLS])


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Iterator[list[Any]]:
    """The fields of the records of finalcall, as they are emitted."""
    caplog.set_level(logging.INFO, logger="finalcall")
    emitted: list[Any] = []

    def take(record: logging.LogRecord) -> bool:
        emitted.append((record.levelname, record.getMessage(), record.__dict__.get("finalcall")))
        return True

    logger = logging.getLogger("finalcall")
    logger.addFilter(take)
    yield emitted
    logger.removeFilter(take)


def settle(events: list[Any], cause: Cause | None = None, **options: Any) -> Settler:
    settler = Settler(**{"tools": TOOLS} | options)
    for event in events:
        settler.feed(event)
    settler.end(cause)
    return settler


def message(*arguments: str, reason: str = "tool_use", name: str = "create_ticket") -> list[Any]:
    calls = [call(index, f"toolu_{index}", one, name) for index, one in enumerate(arguments)]
    return [message_start(), *(event for one in calls for event in one), *stopped(reason)]


def test_a_record_has_every_field(records: list[Any]) -> None:
    """In this order, each a value that JSON can hold."""
    settler = Settler(tools=TOOLS)
    settler.deadline(1.0)
    for now, event in enumerate(message('{"title": 7}')):
        settler.feed(event, float(now))
        settler.deadline(float(now))
    ((level, text, fields),) = records
    assert level == "INFO"
    assert text == "the call 'toolu_0' of 'create_ticket' settled: schema_error"
    at, expires = fields.pop("at"), fields.pop("expires_at")
    assert json.loads(json.dumps(fields)) == fields
    assert fields == {
        "event": "call",
        "key": "toolu_0",
        "call_id": "toolu_0",
        "tool": "create_ticket",
        "offered": True,
        "provider": "anthropic",
        "outcome": "schema_error",
        "reason": None,
        "cause": None,
        "violations": ["type"],
        "bytes": 12,
        "fragments": 2,
        "largest_gap": 1.0,
        "duration": 6.0,
        "raw": '{"title": 7}',
    }
    assert at.endswith("Z")
    assert datetime.fromisoformat(expires) - datetime.fromisoformat(at) == timedelta(days=7)
    assert abs(datetime.now(UTC) - datetime.fromisoformat(at)) < timedelta(minutes=5)


ENDINGS: dict[str, tuple[list[Any], Cause | None, list[tuple[Any, ...]]]] = {
    "dispatchable": (CLEAN, None, [("INFO", "dispatchable", None, None)]),
    "invalid": (message("{}"), None, [("INFO", "schema_error", None, None)]),
    "unparseable": (message("{"), None, [("WARNING", "failed", "unparseable", "malformed")]),
    "truncated": (
        message("{}", "{", reason="max_tokens"),
        None,
        [("WARNING", "failed", "truncated", "token_ceiling")] * 2,
    ),
    "paused": (
        message("{}", reason="pause_turn"),
        None,
        [("INFO", "failed", "truncated", "paused")],
    ),
    "lost": (CLEAN[:-2], Cause.DISCONNECTED, [("WARNING", "failed", "abandoned", "disconnected")]),
    "cancelled": (CLEAN[:-2], Cause.CANCELLED, [("INFO", "failed", "abandoned", "cancelled")]),
}


@pytest.mark.parametrize(("events", "cause", "expected"), ENDINGS.values(), ids=ENDINGS.keys())
def test_every_ending_has_its_record_and_level(
    events: list[Any], cause: Cause | None, expected: list[Any], records: list[Any]
) -> None:
    """A warning is a call that was lost, and nobody wanted it to be."""
    settle(events, cause)
    assert [
        (level, fields["outcome"], fields["reason"], fields["cause"])
        for level, _, fields in records
    ] == expected


def test_only_what_is_listened_to_is_built(
    records: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """At level `WARNING` come the lost calls alone, at `ERROR` none."""
    caplog.set_level(logging.WARNING, logger="finalcall")
    settle(CLEAN)
    settle(message("{"))
    run_turn(lambda asked: message("{}") if not asked else CLEAN, [], tools=TOOLS).result  # noqa: B018
    assert [level for level, _, _ in records] == ["WARNING"]
    caplog.set_level(logging.ERROR, logger="finalcall")
    told = Everything()
    observe.add(told)
    settle(message("{"))
    run_turn(lambda asked: message("{}") if not asked else CLEAN, [], tools=TOOLS).result  # noqa: B018
    observe.remove(told)
    assert told.seen
    run_turn(lambda asked: message("{}") if not asked else CLEAN, [], tools=TOOLS).result  # noqa: B018
    assert len(records) == 1


def test_a_correction_has_its_record(records: list[Any]) -> None:
    """With what had failed, and what came of it."""
    answers = iter([message("{}"), CLEAN])
    assert run_turn(lambda _: next(answers), [], tools=TOOLS).result.verdict == "dispatch"
    level, text, fields = records[-1]
    assert (level, text) == ("INFO", "correction 1 was answered: dispatch")
    assert set(fields) - {"at", "expires_at"} == {
        "event", "provider", "attempt", "round", "tools", "violations", "verdict", "recovered"
    }  # fmt: skip
    assert (fields["event"], fields["attempt"], fields["round"]) == ("correction", 2, 1)
    assert (fields["tools"], fields["violations"]) == (["create_ticket"], ["required"])
    assert fields["recovered"] is True


def structlog_formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        processors=[
            structlog.stdlib.ExtraAdder(),
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ]
    )


@pytest.mark.parametrize(
    ("formatter", "message_name"),
    [(structlog_formatter, "event"), (JsonFormatter, "message")],
    ids=["structlog", "python-json-logger"],
)
def test_common_formatters_write_every_field(
    formatter: Callable[[], logging.Formatter],
    message_name: str,
    records: list[Any],
) -> None:
    """As an object of its own beside the message, with nothing to set up."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter())
    logging.getLogger("finalcall").addHandler(handler)
    settle(CLEAN)
    logging.getLogger("finalcall").removeHandler(handler)
    ((_, text, fields),) = records
    written = json.loads(stream.getvalue())
    assert (written[message_name], written["finalcall"]) == (text, fields)


def test_the_levels_name_every_outcome() -> None:
    """And a cause that is nobody's fault comes before."""
    assert set(LEVELS) == {"dispatchable", "schema_error", "failed"}
    assert {Cause.CANCELLED, Cause.PAUSED} == QUIET_CAUSES


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ("x" * 5000, "x" * 4096),
        ("é" * 3000, "é" * 2048),
        ("x" + "é" * 3000, "x" + "é" * 2047),
        ("a\ud83d", "a\ufffd"),
        ("\ud83d" + "\ude00", "😀"),
    ],
)
def test_the_text_is_cut_between_characters(arguments: str, kept: str, records: list[Any]) -> None:
    """At 4 KiB of UTF-8; half a character that a service has sent can be written all the same."""
    settle([message_start(), *call(0, arguments=arguments), *stopped()])
    ((_, _, fields),) = records
    assert fields["raw"] == kept
    whole = arguments.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert fields["bytes"] == len(whole.encode())


def test_a_mask_makes_no_text_longer_than_is_kept(records: list[Any]) -> None:
    """The cut is after the masks as well."""
    raw = '{"keys": [' + '{"pin": 1},' * 400
    settle([message_start(), *call(0, arguments=raw, name="log_in")], tools=SECRET_TOOLS)
    ((_, _, fields),) = records
    assert fields["raw"].startswith('{"keys": [{"pin": "•••"},')
    assert len(fields["raw"].encode()) <= 4096


@pytest.mark.parametrize(
    ("name", "tools", "raw", "kept"),
    [
        (
            "log_in",
            SECRET_TOOLS,
            '{"password": "x", "user": "u"}',
            '{"password": "•••", "user": "u"}',
        ),
        ("create_ticket", SECRET_TOOLS, '{"password": "x"}', '{"password": "x"}'),
        ("log_on", SECRET_TOOLS, '{"password": "x"}', '{"password": "•••"}'),
        ("log", SECRET_TOOLS, '{"keys": [{"pin": 1', '{"keys": [{"pin": "•••"'),
        ("log_in", None, '{"password": "x"}', '{"password": "x"}'),
    ],
)
def test_a_tool_that_was_not_offered_hides_what_any_would(
    name: str, tools: Any, raw: str, kept: str, records: list[Any]
) -> None:
    """The model may have meant any of them; where nothing is known of tools, nothing is hidden."""
    settle([message_start(), *call(0, arguments=raw, name=name), *stopped()], tools=tools)
    ((_, _, fields),) = records
    assert fields["raw"] == kept
    assert fields["offered"] is (tools is None or name in ("log_in", "create_ticket"))


@pytest.mark.parametrize(("sensitive", "kept"), [(["input"], MASK), ([], '{"input": "ls"}')])
def test_free_text_is_one_value(sensitive: list[str], kept: str, records: list[Any]) -> None:
    """Where it is sensitive it is masked wholly, however much it looks like a document."""
    from finalcall.tools import Display

    tools = ToolSet(
        [{"type": "custom", "name": "shell"}], display={"shell": Display(sensitive=sensitive)}
    )
    item = {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "shell", "input": ""}
    settler = Settler("openai-responses", tools=tools)
    settler.feed({"type": "response.output_item.added", "output_index": 0, "item": item})
    settler.feed(
        {
            "type": "response.custom_tool_call_input.delta",
            "item_id": "i",
            "output_index": 0,
            "delta": '{"input": "ls"}',
        }
    )
    settler.end(Cause.DISCONNECTED)
    ((_, _, fields),) = records
    assert fields["raw"] == kept


def test_names_are_cut(records: list[Any]) -> None:
    """A model can write a name of any length; a record stays small."""
    long = "n" * 2_000_000
    settle([message_start(), *call(0, long, name=long), *stopped()])
    ((_, line, fields),) = records
    kept = "n" * (MAX_NAME - 1) + "…"
    assert [fields[name] for name in ("key", "call_id", "tool")] == [kept] * 3
    assert kept in line
    assert len(line) + len(json.dumps(fields)) < 3_000
    cut = Correction(
        provider=None, attempt=2, round=1, tools=(long, None), violations=(long,), verdict="done"
    )
    told = correction_fields(cut, datetime.now(UTC))
    assert (told["tools"], told["violations"]) == ([kept, None], [kept])
    assert brief_name("n" * MAX_NAME) == "n" * MAX_NAME


def test_a_handler_that_raises_breaks_nothing(records: list[Any]) -> None:
    """It is counted, and warned of once by the type alone."""

    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError(record.__dict__["finalcall"]["raw"])

    before = record_failures()
    handler = Failing()
    logging.getLogger("finalcall").addHandler(handler)
    try:
        if before:
            settled = settle(message("{}", "{}"))
        else:
            with pytest.warns(
                RuntimeWarning, match="raised RuntimeError; its record is lost"
            ) as told:
                settled = settle(message("{}", "{}"))
            assert len(told) == 1
        assert settled.verdict == "correct"
        assert record_failures() == before + 2
        assert len(records) == 2
    finally:
        logging.getLogger("finalcall").removeHandler(handler)


def test_a_percent_sign_is_no_place_for_an_argument(records: list[Any]) -> None:
    """Names are written as they are."""
    settle([message_start(), *call(0, "%s%d", name="50%s"), *stopped()])
    assert records[0][1].startswith("the call '%s%d' of '50%s' settled: schema_error")


NOTHING_LOADED = """
import sys, finalcall
{setup}
events = {events!r}
settler = finalcall.Settler(tools=None)
for event in events:
    settler.feed(event)
assert settler.verdict == "dispatch"
print(*(name for name in ("logging", "finalcall.observe") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("setup", "loaded"),
    [
        ("", ""),
        ("import logging", "logging"),
        ("import logging; logging.basicConfig(level='CRITICAL')", "logging"),
        ("import logging; logging.basicConfig(level='INFO')", "logging finalcall.observe"),
    ],
)
def test_who_does_not_listen_pays_nothing(setup: str, loaded: str) -> None:
    """Nothing is loaded unless logging was, and has a handler that would get a record."""
    code = NOTHING_LOADED.format(setup=setup, events=CLEAN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == loaded
    assert bool(done.stderr) is ("observe" in loaded)


# What is never there

SENTINEL = "QZXJKVWYHPFM"


def leaks(text: str) -> bool:
    return any(SENTINEL[at : at + 4] in text for at in range(len(SENTINEL) - 3))


class Everything(Observer):
    """Writes down all that an observer can see of a call."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def call_settled(self, turn: object, settled: SettledCall) -> None:
        self.seen += [repr(turn), repr(settled), str(call_fields(settled, datetime.now(UTC)))]
        assert level_of(settled) in (logging.INFO, logging.WARNING)


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from(
        [
            '{"user": "ada", "password": "%s", "n": [1]}',
            r'{"p\u0061ssword": "%s", "password": "%s"}',
            '{"keys": [{"pin": "%s"}, {"n": 1, "pin": {"a": ["%s"]}}], "user": 1}',
            '{"password": ["%s"], "password": {"x": "%s"}}',
            '{"user": {"a": "}"}, "password": "%s"',
        ]
    ),
    st.text('"\\{}[]:, a1', max_size=4),
    st.sampled_from(["tool_use", "max_tokens", None]),
    st.sampled_from(["log_in", "log_on"]),
)
def test_nothing_of_a_secret_is_seen_anywhere(
    template: str, tail: str, reason: str | None, name: str
) -> None:
    """Cut anywhere: not in records, lines of blocks, reprs, exceptions or what observers get."""
    raw = template.replace("%s", SENTINEL)
    everything = Everything()
    written: list[str] = []

    class Writing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(f"{record.getMessage()} {record.__dict__}")

    handler, logger = Writing(), logging.getLogger("finalcall")
    observe.add(everything)
    logger.addHandler(handler)
    try:
        for end in range(len(raw) + 1):
            last = [] if reason is None else stopped(reason)
            events = [message_start(), *call(0, "a", raw[:end] + tail, name), *last]
            blocks = Blocks(tools=SECRET_TOOLS)
            seen: list[object] = []
            with Turn(events, tools=SECRET_TOOLS, preview=Preview, raises=False) as turn:
                for event in turn:
                    blocks.apply(event)
                    seen.append(event)
            seen += [blocks, *blocks, *(block.line() for block in blocks), turn.error, turn.ending]
            seen += turn.outcomes
            assert not any(leaks(f"{one!r} {one}") for one in seen)
    finally:
        observe.remove(everything)
        logger.removeHandler(handler)
    assert len(everything.seen) == 3 * (len(raw) + 1)
    assert not any(map(leaks, everything.seen))
    assert written
    assert not any(map(leaks, written))
