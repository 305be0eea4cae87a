"""`python -m finalcall explain`: the events that decided, the rule, what to do; never arguments."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalcall import Cause, Dispatchable, Failed, SchemaError, Settler
from finalcall.cli import main
from finalcall.cli.explain import arguments_of
from finalcall.cli.explaining import (
    ADVICE,
    OF_A_VALID_CALL,
    OF_AN_INVALID_CALL,
    RULES,
    explain,
    what_is_wrong,
)
from finalcall.retry import CHANGES
from finalcall.strict import NotStrictJSON, parse_strict
from finalcall.testing.replaying import StoredStream
from finalcall.tools import Display, ToolSet
from tests.messages import CLEAN, TOOLS, call, message_start, stopped, text
from tests.streams import fixture_cases

SECRET = "hunter2"
FAULT = {"type": "error", "error": {"type": "overloaded_error", "message": SECRET}}


def write(path: Path, natives: Sequence[Any], times: Sequence[float] | None = None) -> str:
    lines: list[dict[str, Any]] = [{"dialect": "anthropic"}]
    for number, native in enumerate(natives):
        line = {"event": native.get("type"), "data": native}
        lines.append(line if times is None else line | {"at": times[number]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The object that a run writes."""
    assert main(["explain", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


# Rules and facts

WRONG = '{"title": "x", "priority": "hunter2"}'
SCENES: dict[str, tuple[list[Any], int, list[str]]] = {
    "cut": (
        [message_start(), *call(0, stop=False), *stopped("max_tokens")],
        1,
        [
            "2: announced",
            "5: arguments so far: 14 characters in 2 pieces",
            "6: stop reason 'max_tokens': truncated",
            "-: the call's own end never came",
            "7: the message ended: its end marker came",
        ],
    ),
    "dropped": (
        [message_start(), *call(0)],
        2,
        [
            "2: announced",
            "5: arguments so far: 14 characters in 2 pieces",
            "6: the call's own end",
            "-: no stop reason came",
            "6: the message ended: the stream was over",
        ],
    ),
    "fault": (
        [message_start(), *call(0), *stopped()[:1], FAULT],
        2,
        [
            "2: announced",
            "5: arguments so far: 14 characters in 2 pieces",
            "6: the call's own end",
            "7: stop reason 'tool_use': complete",
            "8: fault 'overloaded_error': provider_error; it voids a complete stop reason",
            "8: the message ended: the fault ended it",
        ],
    ),
    "never closed": (
        [message_start(), *call(0, stop=False), *stopped()],
        3,
        [
            "2: announced",
            "5: arguments so far: 14 characters in 2 pieces",
            "6: stop reason 'tool_use': complete",
            "-: the call's own end never came",
            "7: the message ended: its end marker came",
        ],
    ),
    "garbled": (
        [message_start(), *call(0, arguments='{"title": "hunter2"'), *stopped()],
        4,
        [
            "2: announced",
            "5: arguments so far: 19 characters in 2 pieces",
            "6: the call's own end",
            "7: stop reason 'tool_use': complete",
            "8: the message ended: its end marker came",
            "-: the text ends before its document does, after 19 characters",
        ],
    ),
    "invalid": (
        [message_start(), *call(0, arguments=WRONG), *stopped()],
        5,
        [
            "2: announced",
            "5: arguments so far: 37 characters in 2 pieces",
            "6: the call's own end",
            "7: stop reason 'tool_use': complete",
            "8: the message ended: its end marker came",
        ],
    ),
    "given": (
        [message_start(), *call(0, arguments="", input={"title": "x"}), *stopped()],
        6,
        [
            "2: announced, with 14 characters of arguments",
            "6: the call's own end",
            "7: stop reason 'tool_use': complete",
            "8: the message ended: its end marker came",
        ],
    ),
}
"""By what happened: the stream, the rule that decides, and the facts."""


@pytest.mark.parametrize("name", SCENES)
def test_the_facts_and_the_rule_are_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each fact has the number of its event; the rule is the first of the six that applies."""
    natives, rule, facts = SCENES[name]
    tools = tmp_path / "tools"
    tools.write_text(json.dumps(TOOLS))
    found = told(capsys, write(tmp_path / "a", natives), "--tools", str(tools))
    (one,) = found["calls"]
    assert [f"{fact['event'] or '-'}: {fact['said']}" for fact in one["facts"]] == facts
    assert one["rule"] == rule
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize("name", SCENES)
def test_a_person_reads_all_of_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text has the facts, the rule, what to change and what to do, in that order."""
    natives, rule, facts = SCENES[name]
    tools = tmp_path / "tools"
    tools.write_text(json.dumps(TOOLS))
    assert main(["explain", write(tmp_path / "a", natives), "--tools", str(tools)]) == 0
    output = capsys.readouterr().out
    parts = [*(fact.partition(": ")[2] for fact in facts), f"rule {rule} ", RULES[rule]]
    parts += ["what to do", "people read"]
    places = [output.index(part) for part in parts]
    assert places == sorted(places)
    assert SECRET not in output
    assert "\x1b" not in output


@pytest.mark.parametrize("case", fixture_cases(), ids=lambda case: case.name)
def test_the_rule_fits_the_outcome(case: Any) -> None:
    """On every recording: the rule's own words say what the call settled as."""
    words = {1: "truncated", 2: "abandoned", 3: "abandoned", 4: "unparseable"}
    settler = Settler(tools=case.tools(), choices="all", idle_timeout=None)
    found = explain(settler, StoredStream(tuple(case.recording.to_dicts())))
    assert [one.outcome for one in found] == settler.outcomes
    for one in found:
        match one.outcome:
            case Dispatchable():
                assert one.rule == 6
            case SchemaError():
                assert one.rule == 5
            case Failed(reason):
                assert words[one.rule] == reason
        numbers = [fact.event for fact in one.facts if fact.event is not None]
        assert numbers == sorted(numbers)
        assert numbers[-1] <= settler.stats.events
        assert all(fact.said for fact in one.facts)


def test_a_call_after_the_stop_reason_is_told() -> None:
    """A stop reason covers what came before it, and the explanation says that this came after."""
    late = call(1, "toolu_2")
    stream = [message_start(), *call(0), stopped()[0], *late, stopped()[1]]
    first, second = explain(Settler(tools=None), StoredStream(tuple(stream)))
    assert (first.rule, second.rule) == (6, 2)
    assert "no stop reason came after the call" in [fact.said for fact in second.facts]


def test_a_replayed_call_is_told() -> None:
    """Chat's whole text that differs from its pieces is no JSON that could be run."""
    identity = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    start = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0} | identity]}}]}
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    again = {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a":1}'}}
                    ]
                },
            }
        ]
    }
    (one,) = explain(Settler("openai-chat", tools=None), StoredStream((start, stop, again)))
    said = [fact.said for fact in one.facts]
    assert one.rule == 4
    assert "announced again: what follows is compared with the first" in said
    assert said[-1] == "the text was sent twice, and the second one differs"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"name": ""}, "the name of a tool never came"),
        ({"arguments": "[" * 300 + "]" * 300}, "the text is longer, or nests deeper"),
    ],
)
def test_a_text_that_is_not_read_is_told(limit: dict[str, Any], said: str) -> None:
    """A missing name and a limit are what is wrong then, not the text."""
    stream = [message_start(), *call(0, **limit), *stopped()]
    (one,) = explain(Settler(tools=None), StoredStream(tuple(stream)))
    assert one.facts[-1].said.startswith(said)


def test_times_are_told_where_they_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seconds since the first event, where the recording has them; else nothing."""
    path = write(tmp_path / "a", CLEAN, [50.0 + number for number in range(len(CLEAN))])
    assert [fact["at"] for fact in told(capsys, path)["calls"][0]["facts"]][-1] == len(CLEAN) - 1
    assert main(["explain", path]) == 0
    assert f"+{len(CLEAN) - 1}.00 s" in capsys.readouterr().out
    path = write(tmp_path / "b", CLEAN)
    assert {fact["at"] for fact in told(capsys, path)["calls"][0]["facts"]} == {None}


# What is wrong with a text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": 1', "the text ends before its document does, after 7 characters"),
        ('{"a": 1,, "b": 2}', "no JSON, from character 9 of 17 on"),
        ("", "the text ends before its document does, after 0 characters"),
        ("hunter2", "no JSON, from character 1 of 7 on"),
        ('{"a": 1} hunter2', "the text goes on after its document, from character 10 of 16 on"),
        ('{"a": 1, "a": 2}', "one object of the text has a name twice"),
        ('{"a": NaN}', "the text has NaN or Infinity, which JSON does not know"),
        ('{"a": 1e999}', "the text has a number that is too large for a float"),
        ('{"a": "\ud800"}', "the text holds half of a surrogate pair: it is no Unicode text"),
        ('{"a": "\\ud800"}', "the text holds half of a surrogate pair: it is no Unicode text"),
        ("[" * 100_000, "the text holds more than a parser can take"),
        ('{"a": 1}', "the text was sent twice, and the second one differs"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_wrong_with_a_text_is_told(content: str, said: str) -> None:
    """In words that quote nothing of it."""
    assert what_is_wrong(content) == said


@given(st.text() | st.text(alphabet='{}[]":,\\ud8001eNa'))
def test_every_refused_text_has_a_reason(content: str) -> None:
    """What the strict parser refuses, the explanation finds fault with."""
    try:
        parse_strict(content)
    except NotStrictJSON:
        assert what_is_wrong(content) != "the text was sent twice, and the second one differs"


# What to do


def test_every_cause_has_its_advice() -> None:
    """The table of advice has every cause, and agrees with what a retry would have to change."""
    assert set(ADVICE) == set(Cause) == set(CHANGES)
    assert set(RULES) == {1, 2, 3, 4, 5, 6}
    for cause, change in CHANGES.items():
        asks_again = ADVICE[cause].startswith(("ask again", "send the message"))
        assert asks_again is (change != "none"), cause


@pytest.mark.parametrize(
    ("natives", "advice"),
    [
        (CLEAN, [OF_A_VALID_CALL["dispatch"]]),
        (
            [message_start(), *call(0), *call(1, "toolu_2", WRONG), *stopped()],
            [OF_A_VALID_CALL["correct"], OF_AN_INVALID_CALL["correct"]],
        ),
        (
            [
                message_start(),
                *call(0),
                *call(1, "toolu_2", WRONG),
                *call(2, "toolu_3", "{"),
                *stopped(),
            ],
            [OF_A_VALID_CALL["fail"], OF_AN_INVALID_CALL["fail"], ADVICE[Cause.MALFORMED]],
        ),
    ],
)
def test_advice_is_about_the_turn(natives: list[Any], advice: list[str]) -> None:
    """What to do about a call depends on those beside it."""
    found = explain(Settler(tools=TOOLS), StoredStream(tuple(natives)))
    assert [one.advice for one in found] == advice


def test_violations_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where and what the schema allows there, without what the model wrote."""
    (tmp_path / "tools").write_text(json.dumps(TOOLS))
    path = write(tmp_path / "a", SCENES["invalid"][0])
    assert main(["explain", path, "--tools", str(tmp_path / "tools")]) == 0
    output = capsys.readouterr().out
    assert "violations  priority: " in output
    assert "'urgent'" in output
    assert SECRET not in output


def test_a_turn_that_may_repeat_something_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a call of a failed turn was proved whole, asking again may bring it again."""
    natives = [message_start(), *call(0), *call(1, "toolu_2", "{"), *stopped()]
    path = write(tmp_path / "a", natives)
    assert main(["explain", path]) == 0
    assert "asking again may repeat something: 1 call may run" in capsys.readouterr().out
    assert told(capsys, path)["retry"] == {
        "change": "same request",
        "causes": ["malformed"],
        "safe": False,
    }


# The command


def test_one_call_can_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its id or key; an id that the stream does not have is a usage error that names those."""
    natives = [message_start(), *call(0), *call(1, "toolu_2"), *stopped()]
    path = write(tmp_path / "a", natives)
    (one,) = told(capsys, path, "--call", "toolu_2")["calls"]
    assert one["call_id"] == "toolu_2"
    assert told(capsys, path, "--call", one["key"])["calls"] == [one]
    assert main(["explain", path, "--call", "toolu_3"]) == 2
    assert "the stream has: toolu_1, toolu_2" in capsys.readouterr().err


def test_a_stream_without_calls_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that none was announced, and how the stream ended."""
    path = write(tmp_path / "a", [message_start(), *text("x"), FAULT])
    assert main(["explain", path]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "verdict fail, no stop reason counts, ended by provider_error 'overloaded_error'",
        "no call was announced",
    ]


@pytest.mark.parametrize("shows", [True, False])
def test_arguments_are_shown_only_where_asked(
    shows: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--show-arguments` shows them, with what is sensitive masked, of a broken text too."""
    schema = {"properties": {"city": {}, "pin": {"type": "string", "writeOnly": True}}}
    (tmp_path / "tools").write_text(json.dumps({"create_ticket": schema}))
    for arguments in ('{"city": "Sète", "pin": "hunter2"}', '{"city": "Sète", "pin": "hunter2"'):
        natives = [message_start(), *call(0, arguments=arguments), *stopped()]
        path = write(tmp_path / "a", natives)
        options = ["--show-arguments"] if shows else []
        for more in ([], ["--json"]):
            tools = ["--tools", str(tmp_path / "tools")]
            assert main(["explain", path, *tools, *options, *more]) == 0
            output = capsys.readouterr().out
            assert ("te\\u0300" in output or "S\\u00e8te" in output or "Sète" in output) is shows
            assert SECRET not in output
    assert told(capsys, path)["calls"][0].get("arguments") is None


def test_sensitive_free_text_is_masked_whole() -> None:
    """No place in free text could be named, so where any is sensitive, all of it is."""
    free = {"type": "custom", "name": "create_ticket"}
    tools = ToolSet([free], display={"create_ticket": Display(sensitive=["input"])})
    failed = Failed("abandoned", "c", "create_ticket", SECRET)
    assert arguments_of(failed, tools) == "•••"
    assert arguments_of(failed, ToolSet([free])) == SECRET


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (b"", [], "empty"),
        (b"# Notes", [], "no event of a known provider"),
        (b'{"a": 1}\n{"event": null, "data": {"odd": 1}}\n', [], "first event"),
        (b"{}", ["--tools", "none"], "none: No such file"),
    ],
)
def test_bad_input_is_a_sentence(
    content: bytes,
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """1 for a file that is none, 2 for bad usage; never a traceback."""
    path = tmp_path / "a\x1b[2Jb"
    path.write_bytes(content)
    assert main(["explain", str(path), *arguments]) == (2 if arguments else 1)
    output = capsys.readouterr()
    assert sentence in output.err
    assert "\x1b" not in output.err
    assert output.out == ""


def test_a_file_that_does_not_exist_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is for every other command, and as `--help` says."""
    for command in ("explain", "replay", "gaps", "report", "serve"):
        assert main([command, str(tmp_path / "none.jsonl")]) == 2
        output = capsys.readouterr()
        assert output.err.startswith(f"{command}: ")
        assert output.out == ""


@pytest.mark.parametrize("command", ["demo", "explain", "gaps", "replay", "report", "serve"])
def test_every_help_lists_its_statuses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page about the commands says so of each."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    output = capsys.readouterr().out
    assert "exit status:\n  0  " in output
    assert "\n  2  bad usage" in output


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [30, 50, 100])
def test_lines_fit_a_terminal(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences go on below themselves; colours come and go as everywhere."""
    natives = [message_start(), *call(0), *call(1, "toolu_2", WRONG), *stopped("max_tokens")]
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = write(tmp_path / "a", natives)

    def shown(*arguments: str) -> str:
        terminal = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", terminal)
            assert main(["explain", path, *arguments]) == 0
        return terminal.getvalue()

    plain = shown("--no-color")
    lines = [line for line in plain.splitlines() if line.startswith("  ")]
    assert max(map(len, lines)) < columns
    assert shown() == plain.replace(
        "toolu_1: truncated (token_ceiling)", "\x1b[1mtoolu_1: truncated (token_ceiling)\x1b[0m"
    ).replace(
        "toolu_2: truncated (token_ceiling)", "\x1b[1mtoolu_2: truncated (token_ceiling)\x1b[0m"
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown() == plain


def test_words_of_a_stream_cannot_move_a_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ids, names and stop reasons come from anywhere, and are shown without their controls."""
    natives = [
        message_start(),
        *call(0, "evil\x1b[31mid", name="evil\x1b[2Jname"),
        *stopped("evil\x1b[1mword" + "x" * 99),
    ]
    path = write(tmp_path / "a", natives)
    for more in ([], ["--show-arguments"]):
        assert main(["explain", path, *more]) == 0
        assert "\x1b" not in capsys.readouterr().out
    assert main(["explain", path, "--call", "x\x1b[1my"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert "\x1b" not in json.dumps(told(capsys, path))


def test_help_has_examples_and_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` says how to use it, what is masked, and what comes of it."""
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    output = capsys.readouterr().out
    assert "examples:\n  python -m finalcall explain one.jsonl" in output
    assert "exit status:\n  0  " in output
    assert "masked" in output
