"""What a person sees of calls: whatever happens, every block comes to a stated end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalcall import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallSettled,
    Cause,
    Dispatchable,
    ExternalCall,
    ExternalCallChanged,
    ExternalState,
    Failed,
    Other,
    PreviewChanged,
    SchemaError,
    Settler,
    StreamQuiet,
    TextDelta,
    ToolSet,
    Turn,
)
from finalcall.block_states import BlockState
from finalcall.blocks import Blocks
from finalcall.call_block import CallBlock
from finalcall.correction import AttemptStarted, Corrections, larger_budget, run_turn
from finalcall.events import CallIdentity
from finalcall.preview import MASK, Preview
from finalcall.testing import dispatchable, schema_error
from finalcall.texts import GERMAN, JAPANESE
from finalcall.tools import Display
from tests.messages import CLEAN, TICKET_SCHEMA, call, message_start, stopped, text
from tests.streams import Case, fixture_cases, new_settler

TOOLS = ToolSet({"create_ticket": TICKET_SCHEMA, "pay": {"type": "object"}})
ASKED = [{"role": "user", "content": "go"}]

GOOD = '{"title": "x"}'
BAD = '{"title": 3}'
ENDINGS: list[Cause | None] = [None, *Cause]


def shown(turn: Iterable[Any], **options: Any) -> Blocks:
    """The blocks of a turn or a run that was iterated to its end."""
    blocks = Blocks(tools=TOOLS, **options)
    for event in turn:
        blocks.apply(event)
    return blocks


def states(blocks: Blocks) -> list[str]:
    return [block.state.value for block in blocks]


def lines(blocks: Blocks) -> list[str]:
    return [block.line() for block in blocks]


def announced(key: str = "k", name: str | None = "create_ticket") -> Call:
    return Call(CallIdentity(key, key, name))


def ready(blocks: Blocks, key: str = "k") -> CallBlock:
    """A block of a call that may be run."""
    made = announced(key)
    blocks.apply(CallAnnounced(made))
    blocks.apply(CallSettled(made, dispatchable("create_ticket", {"title": "x"})))
    return blocks[key]


# Every ending


@pytest.mark.parametrize("case", fixture_cases(), ids=lambda case: case.name)
def test_after_any_ending_no_block_is_open(case: Case) -> None:
    """Of a recorded stream, cut after any event, each call is ready or told not to run."""
    natives, tools = case.recording.to_dicts(), case.tools()
    tools = None if tools is None else ToolSet.of(tools)
    places = range(0, len(natives) + 1, 1 + len(natives) // 12)
    for turn, length in enumerate(places):
        for cause in ENDINGS[turn % 6 :: 6]:
            settler, blocks = new_settler(tools), Blocks(tools=tools)
            for native in natives[:length]:
                for event in settler.feed(native):
                    blocks.apply(event)
            for event in settler.end(cause):
                blocks.apply(event)
            calls = [block for block in blocks if not block.external]
            assert [block.open for block in calls] == [False] * len(settler.outcomes)
            blocks.end()
            assert not any(block.open for block in blocks)
            assert len(blocks) == len(settler.outcomes) + len(settler.external_calls)
            for outcome in settler.outcomes:
                block = blocks[outcome.key]
                assert (block.state is BlockState.READY) is isinstance(outcome, Dispatchable)
                assert block.cause is (outcome.cause if isinstance(outcome, Failed) else None)
                assert outcome.name is None or outcome.name in block.line() or block.label


def test_a_block_fills_in_and_ends() -> None:
    """It is preparing from its announcement on, then ready; its line says so."""
    blocks = Blocks(tools=TOOLS)
    seen = []
    for event in Turn(CLEAN, tools=TOOLS):
        blocks.apply(event)
        seen += [line for line in lines(blocks) if line not in seen]
    assert seen == ["◌ create_ticket — preparing", "✓ create_ticket — ready to run"]
    assert blocks["toolu_1"].size == len(GOOD)
    assert not blocks["toolu_1"].external
    assert repr(blocks) == "Blocks(ready)"
    assert repr(blocks["toolu_1"]) == (
        "CallBlock(key='toolu_1', name='create_ticket', state='ready')"
    )


def test_a_cut_call_says_that_it_did_not_run() -> None:
    """A connection that drops leaves a line with the cause, and nothing of the arguments."""
    stream = [message_start(), *call(0, stop=False)]
    blocks = shown(Turn(stream, tools=TOOLS, preview=Preview, raises=False))
    assert lines(blocks) == ["⊘ create_ticket — not run (the reply ended early)"]
    assert blocks["toolu_1"].cause is Cause.ENDED_EARLY
    assert blocks["toolu_1"].fields() == []


def test_an_invalid_call_of_a_turn_did_not_run() -> None:
    """Where nobody asks again, that is its end; the block tells nothing of the schema."""
    blocks = shown(Turn([message_start(), *call(0, arguments=BAD), *stopped()], tools=TOOLS))
    assert lines(blocks) == ["⊘ create_ticket — not run (the request was invalid)"]
    assert blocks["toolu_1"].cause is None


def test_a_loop_that_is_left_cancels_what_was_open() -> None:
    """Ending the blocks ends those that nobody settles any more."""
    with Blocks(tools=TOOLS) as blocks, Turn(CLEAN, tools=TOOLS) as turn:
        for event in turn:
            blocks.apply(event)
            if isinstance(event, ArgumentsDelta):
                break
        assert states(blocks) == ["preparing"]
    assert lines(blocks) == ["⊘ create_ticket — cancelled"]
    assert blocks["toolu_1"].cause is Cause.CANCELLED


def test_blocks_that_belong_to_a_turn_let_it_settle_first() -> None:
    """The turn knows better than "cancelled": what it says is shown."""
    blocks, made = Blocks(tools=TOOLS), announced()
    blocks.apply(CallAnnounced(made))
    failed = Failed("abandoned", "k", "create_ticket", "", cause=Cause.DISCONNECTED, key="k")
    settled: list[int] = []

    def settle() -> None:
        settled.append(1)
        blocks.apply(CallSettled(made, failed))

    blocks.belong_to(settle)
    blocks.end()
    blocks.end()
    assert settled == [1]
    assert lines(blocks) == ["⊘ create_ticket — not run (connection lost)"]


def test_events_that_come_twice_change_nothing() -> None:
    """A replayed announcement or a second application leaves the blocks as they were."""
    events = list(Turn(CLEAN, tools=TOOLS))
    blocks = shown([*events, *events])
    assert states(blocks) == ["ready"]


def test_a_key_may_come_again_in_another_message() -> None:
    """Keys are unique in a message only: the later call has a block of its own."""
    blocks = shown([*Turn(CLEAN, tools=TOOLS), *Turn(CLEAN, tools=TOOLS)])
    assert states(blocks) == ["ready", "ready"]
    assert blocks["toolu_1"] is list(blocks)[1]


def test_a_call_that_was_never_announced_has_no_block() -> None:
    """Asking for it is a mistake of the caller's."""
    with pytest.raises(KeyError):
        Blocks()["nothing"]


# Calls that run


def test_a_call_that_runs_is_told_as_running_then_done() -> None:
    """Whoever runs it says so."""
    blocks = Blocks()
    block = ready(blocks)
    with block.running():
        assert block.line() == "▸ create_ticket — running"
        assert block.open
    assert block.line() == "✓ create_ticket — done"


def test_a_tool_that_raises_has_failed() -> None:
    """Its exception goes on unchanged."""
    block = ready(Blocks())
    with pytest.raises(LookupError, match="S3NT1N3L"), block.running():
        raise LookupError("S3NT1N3L")
    assert block.line() == "✗ create_ticket — failed"


def test_a_tool_may_report_its_failure_in_its_result() -> None:
    """What was told inside of the `with` block stays told."""
    block = ready(Blocks())
    with block.running():
        block.fail()
    assert block.state is BlockState.FAILED


async def test_a_tool_whose_task_is_cancelled_may_have_run() -> None:
    """How far it came is unknown, and is told so."""
    block = ready(Blocks())

    async def run() -> None:
        with block.running():
            await asyncio.Event().wait()

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert block.line() == "? create_ticket — unknown, may have run"


def test_a_tool_may_outlive_its_screen() -> None:
    """At the end it may have run; if it ends after all, that is told."""
    blocks = Blocks()
    block = ready(blocks)
    block.run()
    blocks.end()
    assert block.state is BlockState.UNKNOWN
    block.finish()
    assert block.state is BlockState.DONE


def test_a_call_that_waits_for_its_caller_stays_ready() -> None:
    """The end of the stream and of the screen says nothing about a call that may run later."""
    blocks = Blocks()
    block = ready(blocks)
    blocks.end()
    assert block.state is BlockState.READY
    assert not block.open
    with block.running():
        pass
    assert block.state is BlockState.DONE


def test_a_call_that_a_person_saw_cancelled_is_not_run() -> None:
    """Saying that it runs is refused before anything of it has run."""
    blocks, ran = Blocks(), []
    blocks.apply(CallAnnounced(announced()))
    blocks.end()
    refused = pytest.raises(ValueError, match=r"sees as 'cancelled' cannot take 'started'")
    with refused, blocks["k"].running():
        ran.append(1)
    assert ran == []


# Calls that somebody else runs


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (ExternalState.RUNNING, "? web_search — unknown, may have run"),
        (ExternalState.DONE, "✓ web_search — done"),
        (ExternalState.FAILED, "✗ web_search — failed"),
        (ExternalState.UNKNOWN, "? web_search — unknown, may have run"),
    ],
)
def test_a_call_that_the_provider_runs_has_an_end_too(state: ExternalState, line: str) -> None:
    """It runs from its beginning; where nobody saw its end, it may have run."""
    blocks, external = Blocks(), ExternalCall("srv_1", "web_search")
    blocks.apply(ExternalCallChanged(external))
    assert lines(blocks) == ["▸ web_search — running"]
    external.state = state
    blocks.apply(ExternalCallChanged(external))
    blocks.end()
    assert lines(blocks) == [line]
    (block,) = blocks
    assert (block.key, block.external, block.size) == ("srv_1", True, 0)


def test_external_calls_without_an_id_are_told_apart() -> None:
    """Each object is a call of its own."""
    blocks = Blocks()
    for _ in range(2):
        blocks.apply(ExternalCallChanged(ExternalCall(None, "code_execution")))
    assert [block.key for block in blocks] == ["external 0", "external 1"]


# Corrections


def reply(*calls: tuple[str, str], reason: str = "tool_use") -> list[Any]:
    """A message with calls, as pairs of name and arguments."""
    made = [call(i, f"toolu_{i}", a, n) for i, (n, a) in enumerate(calls)]
    return [message_start(), *(event for one in made for event in one), *stopped(reason)]


def model(*replies: list[Any]) -> Callable[..., list[Any]]:
    left = iter(replies)
    return lambda _messages, ceiling=None: next(left)  # noqa: ARG005 - as a request is called


TICKET, WRONG_TICKET, PAY = ("create_ticket", GOOD), ("create_ticket", BAD), ("pay", "{}")
MISNAMED = ("creat_ticket", GOOD)
SAID = [message_start(), *text("I give up."), *stopped("end_turn")]

CORRECTED: dict[str, tuple[list[list[Any]], list[str], int]] = {
    "corrected": ([reply(WRONG_TICKET), reply(TICKET)], ["ready"], 1),
    "corrected at the second try": (
        [reply(WRONG_TICKET), reply(("create_ticket", "{}")), reply(TICKET)],
        ["ready"],
        2,
    ),
    "budget spent": (
        [reply(WRONG_TICKET), reply(("create_ticket", "{}")), reply(WRONG_TICKET)],
        ["not run"],
        2,
    ),
    "given up by the model": ([reply(WRONG_TICKET), SAID], ["not run"], 0),
    "two of one tool": (
        [reply(WRONG_TICKET, WRONG_TICKET), reply(TICKET, TICKET)],
        2 * ["ready"],
        2,
    ),
    "one of two comes again": (
        [reply(WRONG_TICKET, WRONG_TICKET), reply(TICKET)],
        ["ready", "not run"],
        1,
    ),
    "a good sibling comes again": (
        [reply(PAY, WRONG_TICKET), reply(PAY, TICKET)],
        2 * ["ready"],
        2,
    ),
    "a good sibling is left out": (
        [reply(PAY, WRONG_TICKET), reply(TICKET)],
        ["not run", "ready"],
        1,
    ),
    "another tool instead": ([reply(WRONG_TICKET), reply(PAY)], ["not run", "ready"], 0),
    "a name corrected": ([reply(MISNAMED), reply(TICKET)], ["ready"], 1),
    "a name corrected beside another": (
        [reply(MISNAMED, WRONG_TICKET), reply(TICKET, TICKET)],
        ["ready", "ready"],
        2,
    ),
}


@pytest.mark.parametrize(("replies", "expected", "superseded"), CORRECTED.values(), ids=CORRECTED)
def test_a_corrected_call_takes_the_place_of_the_invalid_one(
    replies: list[list[Any]], expected: list[str], superseded: int
) -> None:
    """The same tool in order, else one that did not exist; what never comes again did not run."""
    run = run_turn(model(*replies), ASKED, tools=TOOLS, corrections=Corrections(max=2))
    blocks = shown(run)
    assert run.result.turns
    blocks.end()
    assert states(blocks) == expected
    assert [block.state.value for block in blocks.superseded] == ["superseded"] * superseded
    assert sum(block.supersedes is not None for block in blocks) <= superseded


def test_a_person_sees_nothing_of_a_correction() -> None:
    """There is one block of the call, which prepares until the corrected one is ready."""
    blocks = Blocks(tools=TOOLS)
    seen: list[list[str]] = []
    for event in run_turn(model(reply(WRONG_TICKET), reply(TICKET)), ASKED, tools=TOOLS):
        blocks.apply(event)
        if lines(blocks) not in seen:
            seen.append(lines(blocks))
    assert seen == [[], ["◌ create_ticket — preparing"], ["✓ create_ticket — ready to run"]]


def test_only_the_end_of_the_run_says_not_run() -> None:
    """Until then another attempt may come; a sibling is told why it was left out."""
    blocks = shown(run_turn(model(reply(PAY, WRONG_TICKET), SAID), ASKED, tools=TOOLS))
    assert states(blocks) == ["waiting", "waiting"]
    blocks.end()
    assert lines(blocks) == [
        "⊘ pay — not run (a request made with it was invalid)",
        "⊘ create_ticket — not run (the request was invalid)",
    ]


def test_what_a_run_dispatched_is_not_superseded() -> None:
    """A sibling that ran stays, and the corrected call takes the other's place."""
    blocks = Blocks(tools=TOOLS)

    def dispatch(one: Any) -> str:
        with blocks[one.key].running():
            return "done"

    for event in run_turn(
        model(reply(PAY, WRONG_TICKET), reply(TICKET, PAY), SAID),
        ASKED,
        tools=TOOLS,
        dispatch=dispatch,
    ):
        blocks.apply(event)
    blocks.end()
    assert states(blocks) == ["done", "done", "done"]
    assert [block.name for block in blocks] == ["pay", "create_ticket", "pay"]


def test_a_message_asked_for_again_brings_new_blocks() -> None:
    """What a ceiling cut did not run, and says so; the larger budget's call is another."""
    run = run_turn(
        model(reply(TICKET, reason="max_tokens"), reply(TICKET)),
        ASKED,
        tools=TOOLS,
        ceiling=100,
        on_truncated=larger_budget(factor=2, ceiling=400),
    )
    blocks = shown(run)
    assert lines(blocks) == [
        "⊘ create_ticket — not run (the request was cut short)",
        "✓ create_ticket — ready to run",
    ]


def test_another_run_does_not_correct_the_last_one() -> None:
    """What waited when a new run begins did not run, and what was ready stays so."""
    blocks = Blocks(tools=TOOLS)
    for event in run_turn(model(reply(PAY, WRONG_TICKET), SAID), ASKED, tools=TOOLS):
        blocks.apply(event)
    for event in run_turn(model(reply(TICKET)), ASKED, tools=TOOLS):
        blocks.apply(event)
    assert states(blocks) == ["not run", "not run", "ready"]
    assert blocks.superseded == []


def test_a_name_that_comes_late_supersedes_when_it_is_there() -> None:
    """At the latest when the call has settled."""
    blocks, first, identity = Blocks(), announced("a"), CallIdentity("b", "b", None)
    wrong = schema_error("create_ticket", {"title": 3}, tools=TOOLS)
    late = Call(identity)
    one = AttemptStarted(1, "first")
    for event in (one, one, CallAnnounced(first), CallSettled(first, wrong)):
        blocks.apply(event)
    blocks.apply(AttemptStarted(2, "correction"))
    blocks.apply(CallAnnounced(late))
    assert lines(blocks) == ["◌ create_ticket — preparing", "◌ unnamed call — preparing"]
    identity.name = "create_ticket"
    blocks.apply(CallSettled(late, dispatchable("create_ticket", {"title": "x"})))
    assert lines(blocks) == ["✓ create_ticket — ready to run"]
    assert blocks["b"].supersedes is blocks.superseded[0]


# Forms


LOGIN = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "title": "Name"},
        "password": {"type": "string", "writeOnly": True},
        "note": {"type": "string"},
        "tags": {"type": "array"},
        "keys": {"type": "array", "items": {"type": "object"}},
    },
}
ARGUMENTS = (
    '{"note": "n", "tags": ["a", 1.5, null], "user": "ann", "pass\\u0077ord": "S3NT1N3L", '
    '"keys": [{"pin": "S3NT1N3L"}]}'
)


def form(tools: ToolSet, arguments: str = ARGUMENTS) -> CallBlock:
    """The block of a call of which some text has come."""
    blocks = Blocks(tools=tools)
    stream = [message_start(), *call(0, arguments=arguments, name="login", stop=False)]
    for event in Turn(stream, tools=tools, preview=Preview, raises=False):
        if not isinstance(event, CallSettled):
            blocks.apply(event)
    return blocks["toolu_1"]


def pairs(block: CallBlock) -> list[tuple[str, str]]:
    return [(field.label, field.value) for field in block.fields()]


def test_a_form_shows_arguments_by_their_titles() -> None:
    """Without a display: all of them, in the order of the text, those of the schema masked."""
    assert pairs(form(ToolSet({"login": LOGIN}))) == [
        ("note", "n"),
        ("tags", '["a", 1.5, null]'),
        ("Name", "ann"),
        ("password", MASK),
        ("keys", '[{"pin": "S3NT1N3L"}]'),
    ]


def test_a_form_shows_what_the_display_says() -> None:
    """Which, in which order, under which names; what is sensitive is masked, further down too."""
    display = Display(
        label="Sign in",
        fields={"user": "Who", "password": "Secret", "keys": "Keys", "tags": "Tags"},
        sensitive=[("keys", "*", "pin"), "tags"],
    )
    block = form(ToolSet({"login": LOGIN}, display={"login": display}))
    assert pairs(block) == [
        ("Who", "ann"),
        ("Secret", MASK),
        ("Keys", f'[{{"pin": "{MASK}"}}]'),
        ("Tags", MASK),
    ]
    assert block.line() == "◌ Sign in — preparing"
    assert "S3NT" not in repr(block.fields())


def test_what_has_not_all_arrived_is_marked() -> None:
    """A string that grows is not whole, nor is an array that is open."""
    block = form(ToolSet({"login": LOGIN}), '{"note": "n", "user": "an')
    assert [(field.label, field.whole) for field in block.fields()] == [
        ("note", True),
        ("Name", False),
    ]


def test_a_form_of_unknown_tools_shows_names() -> None:
    """Where nothing is known of the tool, the model's own names stand."""
    blocks, made, preview = Blocks(), announced(), Preview()
    preview.feed('{"a": 1}')
    blocks.apply(PreviewChanged(made, preview))
    assert pairs(blocks["k"]) == [("a", "1")]


@pytest.mark.parametrize("arguments", ["", "[1, 2]", '"text"'])
def test_what_is_no_object_has_no_form(arguments: str) -> None:
    """Arguments that are none show nothing."""
    assert form(ToolSet({"login": LOGIN}), arguments).fields() == []


def test_a_form_is_gone_once_the_call_cannot_run() -> None:
    """Nothing of the arguments stays, not even if a late preview comes."""
    blocks, made, preview = Blocks(), announced(), Preview()
    preview.feed('{"title": "S3NT1N3L"}')
    blocks.apply(PreviewChanged(made, preview))
    assert pairs(blocks["k"]) == [("title", "S3NT1N3L")]
    blocks.end()
    blocks.apply(PreviewChanged(made, preview))
    assert blocks["k"].fields() == []


def test_arguments_nested_too_deeply_are_left_out() -> None:
    """A form is never an exception."""
    blocks, made, preview = Blocks(), announced(), Preview()
    preview.feed('{"a": ' + "[" * 50_000)
    blocks.apply(PreviewChanged(made, preview))
    assert pairs(blocks["k"]) == [("a", "…")]


SENTINEL = "S3NT1N3L"
KEYS_HIDDEN = ToolSet({"login": LOGIN}, display={"login": Display(sensitive=["keys"])})


@settings(max_examples=60)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.just(SENTINEL), st.text()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=8,
    ),
    st.data(),
)
def test_a_sensitive_argument_never_shows(value: Any, data: st.DataObject) -> None:
    """Cut anywhere, under any spelling, no four characters of it are in a form."""
    whole = json.dumps({"user": "ann", "keys": value, "password": SENTINEL})
    arguments = whole[: data.draw(st.integers(0, len(whole)))]
    told = str(pairs(form(KEYS_HIDDEN, arguments)))
    assert not [SENTINEL[i : i + 4] for i in range(5) if SENTINEL[i : i + 4] in told]


# Watching


def test_a_watcher_is_told_of_every_change() -> None:
    """Of the block that changed or grew; of silence and its end, with none."""
    blocks, told, made = Blocks(), [], announced()
    blocks.watch(told.append)
    events = [
        CallAnnounced(made),
        ArgumentsDelta(made, "{"),
        ArgumentsRestated(made, "{}"),
        Other(),
        StreamQuiet(10.0),
        TextDelta("x"),
        CallSettled(made, dispatchable("create_ticket")),
    ]
    for event in events:
        blocks.apply(event)
    block = blocks["k"]
    assert told == [block, block, block, None, None, block]
    blocks.unwatch(told.append)
    blocks.unwatch(told.append)
    blocks.end()
    assert len(told) == 6


def test_silence_is_told_until_something_comes() -> None:
    """The line says for how long; any event takes it away, and so does the end."""
    blocks = Blocks()
    assert blocks.quiet_line() is None
    for _ in range(2):
        blocks.apply(StreamQuiet(20.2))
        assert blocks.quiet_line() == "still waiting, 20 s"
        blocks.apply(Other())
        assert blocks.quiet_line() is None
    blocks.apply(StreamQuiet(10.0))
    blocks.end()
    assert blocks.quiet_line() is None


def test_a_watcher_that_breaks_breaks_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, by its type, and left out; the blocks go on."""
    blocks, told = Blocks(), []

    def broken(_: CallBlock | None) -> None:
        raise OSError("S3NT1N3L")

    blocks.watch(broken)
    blocks.watch(told.append)
    with caplog.at_level(logging.WARNING, logger="finalcall"):
        ready(blocks)
    assert len(told) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "a watcher of blocks raised OSError and is not told any more; the turn goes on"
    ]


def test_a_watcher_may_leave_or_end_the_blocks_and_break() -> None:
    """Whatever it did before it broke, the others are told, and it is not told again."""

    def leave() -> None:
        blocks.unwatch(broken)

    def end() -> None:
        blocks.end()

    for first in (leave, end):
        blocks, told, calls = Blocks(), [], []

        def broken(
            _: CallBlock | None, calls: list[None] = calls, first: Callable[[], None] = first
        ) -> None:
            calls.append(None)
            first()
            raise ZeroDivisionError

        blocks.watch(broken)
        blocks.watch(told.append)
        ready(blocks)
        assert told
        seen = len(calls)
        blocks.apply(StreamQuiet(10.0))
        assert len(calls) == seen


def test_a_watcher_that_ends_the_blocks_each_time_is_told_on() -> None:
    """An end that changes nothing is no change."""
    blocks, told = Blocks(), []

    def ends(block: CallBlock | None) -> None:
        told.append(block)
        blocks.end()

    blocks.watch(ends)
    ready(blocks)
    assert states(blocks) == ["cancelled"]
    assert len(told) == 2


def test_messages_with_the_same_keys_may_overlap() -> None:
    """Each call has its block, whichever comes to its end first; the key is the later one's."""
    stream = [message_start(), *call(0, "k"), *stopped()]
    blocks = Blocks(tools=TOOLS)
    first, second = (Settler(tools=TOOLS, blocks=blocks) for _ in range(2))
    for native in stream[:3]:
        first.feed(native)
    for native in stream:
        second.feed(native)
    assert states(blocks) == ["preparing", "ready"]
    first.end(Cause.CANCELLED)
    assert states(blocks) == ["cancelled", "ready"]
    assert blocks["k"].state is BlockState.READY


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (GERMAN, "⊘ create_ticket — nicht ausgeführt (Verbindung verloren)"),
        (JAPANESE, "⊘ create_ticket — 未実行（接続が切れました）"),
        ({Cause.DISCONNECTED: "gone"}, "⊘ create_ticket — gone"),
    ],
    ids=["german", "japanese", "own"],
)
def test_texts_are_replaceable(texts: dict[str, str], line: str) -> None:
    """Another table, or a part of one."""
    settler, blocks = new_settler(TOOLS), Blocks(tools=TOOLS, texts=texts)
    for native in [message_start(), *call(0, stop=False)]:
        for event in settler.feed(native):
            blocks.apply(event)
    for event in settler.end(Cause.DISCONNECTED):
        blocks.apply(event)
    assert lines(blocks) == [line]


def test_a_text_for_nothing_is_refused() -> None:
    """The mistake is told when the blocks are made."""
    with pytest.raises(ValueError, match="texts has 'lost'"):
        Blocks(texts={"lost": "x"})


def test_schema_errors_of_handlers_are_shown() -> None:
    """An outcome made for a test is shown as one of a stream."""
    blocks, made = Blocks(), announced()
    wrong = schema_error("create_ticket", {"title": 3}, tools=TOOLS)
    assert isinstance(wrong, SchemaError)
    blocks.apply(CallSettled(made, wrong))
    assert states(blocks) == ["not run"]
