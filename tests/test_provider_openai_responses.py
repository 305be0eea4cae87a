"""OpenAI Responses: what announces, states and ends a call, and what a response says of itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputItem

from finalcall import Anomaly, CallWithdrawn, Dispatchable, ExternalState, Settler
from finalcall.events import ArgumentsRestated, Other
from finalcall.providers.base import Context
from finalcall.providers.openai_responses import OpenAIResponsesNormaliser
from finalcall.providers.openai_responses.history import REPEATED_FIELDS
from finalcall.providers.openai_responses.items import CLIENT_CALLS, as_plain
from tests.expectation import settled
from tests.responses_events import (
    ARGUMENTS,
    added,
    arguments_done,
    call,
    created,
    custom,
    delta,
    done,
    ending,
)
from tests.streams import FIXTURES, Case, cases

CASES = cases(FIXTURES / "openai-responses")
GOOD = ("call_1", "get_tide", "dispatchable", {"port": "Brest"})


def settle(*events: Any, **options: Any) -> Settler:
    settler = Settler("openai-responses", **{"tools": None, **options})
    for event in events:
        settler.feed(event)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Any]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def names(settler: Settler) -> list[str]:
    return [anomaly.name for anomaly in settler.anomalies]


FC = {"id": "fc_1", "call_id": "call_1", "name": "get_tide"}
WHOLE = {**FC, "arguments": ARGUMENTS, "status": "completed"}

ONE_CALL: dict[str, Sequence[Any]] = {
    "as OpenAI sends it": call(),
    "text only when it is stated": [
        added(0, "function_call", **FC),
        arguments_done(0, "fc_1", ARGUMENTS),
        done(0, "function_call", **FC),
    ],
    "text only at the item's end": [
        added(0, "function_call", **FC),
        done(0, "function_call", **WHOLE),
    ],
    "nothing but the item's end": [done(0, "function_call", **WHOLE)],
    "no end of the item, but its text stated": call()[:-1],
    "no event but the last": [],
    "pieces that the end completes": [
        added(0, "function_call", **FC),
        delta(0, "fc_1", '{"port'),
        done(0, "function_call", **WHOLE),
    ],
    "pieces that the end contradicts": [
        added(0, "function_call", **FC),
        delta(0, "fc_1", '{"port": "Nantes"}'),
        done(0, "function_call", **WHOLE),
    ],
    "an end that states nothing": [
        added(0, "function_call", **FC),
        delta(0, "fc_1", ARGUMENTS),
        done(0, "function_call", **FC, arguments="", status="completed"),
    ],
    "whole at the announcement": [
        added(0, "function_call", **WHOLE),
        done(0, "function_call", **FC),
    ],
    "arguments as an object": [
        added(0, "function_call", **FC, arguments={}),
        done(0, "function_call", **FC, arguments={"port": "Brest"}),
    ],
    "stated before it is announced, stale pieces behind": [
        arguments_done(0, "fc_1", ARGUMENTS, name="get_tide"),
        added(0, "function_call", **FC, arguments=""),
        done(0, "function_call", **WHOLE),
        delta(0, "fc_1", '{"po'),
    ],
    "pieces before the announcement": [
        delta(0, "fc_1", '{"port":'),
        added(0, "function_call", **FC, arguments=""),
        delta(0, "fc_1", ' "Brest"}'),
        done(0, "function_call", **WHOLE),
    ],
    "pieces without an announcement": [
        delta(0, "fc_1", '{"port":'),
        done(0, "function_call", **WHOLE),
    ],
    "a piece between the stated text and the end": [
        *call()[:-1],
        delta(0, "fc_call_1", "9"),
        call()[-1],
    ],
    "announced twice": [call()[0], *call()],
    "everything twice": [*call(), *call()],
    "an item id that changes at every event": [
        added(0, "function_call", **FC | {"id": "x1"}, arguments=""),
        delta(0, "x2", '{"port":'),
        delta(0, "x3", ' "Brest"}'),
        done(0, "function_call", **WHOLE | {"id": "x4"}),
    ],
    "no index and no item id": [
        added(None, "reasoning"),
        added(None, "function_call", **FC | {"id": None}, arguments=""),
        delta(None, "call_1", '{"port":'),
        delta(None, None, ' "Brest"}'),
        done(None, "reasoning"),
        done(None, "function_call", **WHOLE | {"id": None}),
    ],
    "no ids at all but the call's": [
        added(None, "function_call", **FC | {"id": None}, arguments=""),
        delta(None, None, ARGUMENTS),
        added(None, "function_call", **FC | {"id": None}, arguments=""),
        done(None, "function_call", **WHOLE | {"id": None}),
    ],
    "an id that comes with the end": [
        added(0, "function_call", name="get_tide"),
        delta(0, None, ARGUMENTS),
        done(0, "function_call", **WHOLE),
    ],
    "a name that comes with the end": [
        added(0, "function_call", id="fc_1", call_id="call_1"),
        done(0, "function_call", **WHOLE),
    ],
    "made by a program, never called completed": call(
        status="in_progress", caller={"type": "program", "caller_id": "call_p"}
    ),
    "fields of the wrong type": [
        added(0, "function_call", **FC, arguments=7),
        delta("0", ["fc_1"], {"a": 1}),  # type: ignore[arg-type]
        {"type": "response.output_item.added", "item": 7},
        {"type": "response.output_item.done"},
        {"type": ["response.created"]},
        None,
        7,
        "ping",
        done(0.0, "function_call", **WHOLE),  # type: ignore[arg-type]
    ],
    "pieces by call id": [
        added(0, "function_call", **FC),
        {
            "type": "response.function_call_arguments.delta",
            "call_id": "call_1",
            "delta": ARGUMENTS,
        },
        done(0, "function_call", **FC),
    ],
    "an object as a piece": [
        added(0, "function_call", **FC),
        delta(0, "fc_1", {}),
        delta(0, "fc_1", {"port": "Brest"}),
        done(0, "function_call", **FC),
    ],
    "no events of the item, the name with the whole text": [
        delta(0, "call_1", ARGUMENTS),
        arguments_done(0, "call_1", ARGUMENTS, name="get_tide"),
    ],
    "a name that comes with the whole text": [
        added(0, "function_call", **FC | {"name": None}),
        delta(0, "fc_1", ARGUMENTS),
        arguments_done(0, "fc_1", ARGUMENTS, name="get_tide"),
        done(0, "function_call", **WHOLE | {"name": None}),
    ],
    "framed, as Mistral's client gives it": [{"event": "x", "data": event} for event in call()],
}


@pytest.mark.parametrize("way", ONE_CALL)
def test_one_call_however_it_is_told(way: str) -> None:
    """Late, early, partly, twice or by other ids: it is one call with the arguments stated last."""
    output = [{"type": "function_call", **WHOLE}] if way == "no event but the last" else []
    settler = settle(created(), *copy.deepcopy(ONE_CALL[way]), ending(output=output))
    assert outcomes(settler) == [GOOD]
    assert settler.verdict == "dispatch"
    assert settler.outcomes[0].key in {"call_1", "call-0", "fc_1"}


HEAD, FIRST, SECOND = call()[:3]
END = done(0, "function_call", **FC)


@pytest.mark.parametrize(
    ("events", "numbers"),
    [
        ([HEAD, FIRST, SECOND, END], [1, 2, 2, 3]),
        ([HEAD, FIRST, SECOND, END], [1, 0, 0, 2]),
        ([HEAD, FIRST, FIRST, SECOND, END], [1, 2, 2, 3, 4]),
        ([HEAD, FIRST, HEAD, FIRST, SECOND, FIRST, END], [1, 2, 1, 2, 3, 2, 4]),
    ],
)
def test_a_piece_under_an_old_number(events: list[Any], numbers: list[int]) -> None:
    """It repeats a piece where its text is there already; else the numbers mean nothing."""
    told = [event | {"sequence_number": n} for event, n in zip(events, numbers, strict=True)]
    first, last = created() | {"sequence_number": 0}, ending() | {"sequence_number": 9}
    assert outcomes(settle(first, *told, last)) == [GOOD]


LOST = {
    "no end": (call()[:3], "abandoned"),
    "an end that says it was cut": (call(status="incomplete"), "abandoned"),
    "two ends that differ": (
        [*call(), done(0, "function_call", **WHOLE | {"arguments": "{}"})],
        "unparseable",
    ),
    "no name": (
        [added(0, "function_call", id="a"), done(0, "function_call", arguments="{}")],
        "unparseable",
    ),
    "an output in the same response": (
        [*call(), done(1, "function_call_output", call_id="call_1", output="x")],
        "abandoned",
    ),
    "a shell call that turns out to run in a container": (
        [
            added(0, "shell_call", id="a", call_id="c"),
            done(0, "shell_call", id="a", environment={"type": "container_reference"}),
        ],
        "abandoned",
    ),
    "an argument that is no JSON": (
        [added(0, "function_call", **FC), done(0, "function_call", **FC, arguments=object())],
        "unparseable",
    ),
}


@pytest.mark.parametrize("why", LOST)
def test_a_call_that_is_not_proved_whole(why: str) -> None:
    """It fails, however good the response's status is, and its sibling runs."""
    events, expected = LOST[why]
    settler = settle(created(), *events, *call(7, "sibling"), ending())
    assert kinds(settler) == [expected, "dispatchable"]


@pytest.mark.parametrize("events", [call(), call()[:3]], ids=["ended", "open"])
@pytest.mark.parametrize("told", [True, False])
def test_an_output_in_the_terminal_event(events: list[Any], *, told: bool) -> None:
    """Somebody else ran the call, which is told once; an output is no end of its call."""
    output = {"id": "o", "call_id": "call_1", "output": "x", "status": "completed"}
    kind = "function_call_output"
    before = [created(), *events, *([done(1, kind, **output)] if told else []), *call(2, "sibling")]
    settler = Settler("openai-responses", tools=None)
    last = ending(output=[{"type": kind, **output}])
    made = [type(event) for native in [*before, last] for event in settler.feed(native)]
    assert kinds(settler) == ["abandoned", "dispatchable"]
    assert [(one.call_id, one.state) for one in settler.external_calls] == [
        ("call_1", ExternalState.DONE)
    ]
    assert made.count(CallWithdrawn) == 1


def test_a_wrong_end_of_two_is_noted() -> None:
    """Neither text is trusted, and the anomaly says so."""
    settler = settle(created(), *LOST["two ends that differ"][0], ending())
    assert "call_replayed" in names(settler)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (call(0, "a"), call(1, "b")),
        (call(0, "a"), call(0, "b")),
        (call(0, "a", id="__fake_id__"), call(1, "b", id="__fake_id__")),
        (call(0, "same"), call(1, "same", '{"port": "Sète"}')),
        (call(0, "a")[-1:], call(0, "b")[-1:]),
    ],
    ids=["in order", "an index twice", "one id for all", "one call id for both", "only ends"],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_two_calls_stay_two(first: list[Any], second: list[Any], mixed: bool) -> None:
    """Interleaved or not, each call has its own text."""
    events = [*first, *second]
    if mixed:
        events = [event for pair in zip(first, second, strict=True) for event in pair]
    settler = settle(created(), *events, ending())
    assert kinds(settler) == ["dispatchable", "dispatchable"]
    assert [one[3] for one in outcomes(settler)] == [
        {"port": "Brest"},
        {"port": "Sète"} if first[0]["item"]["call_id"] == "same" else {"port": "Brest"},
    ]
    assert len({outcome.key for outcome in settler.outcomes}) == 2


def test_two_ends_under_one_index_without_item_ids() -> None:
    """The call id says whose end it is."""
    a = {"call_id": "a", "name": "get_tide"}
    b = {"call_id": "b", "name": "get_tide"}
    heads = [added(0, "function_call", **a), added(0, "function_call", **b)]
    ends = [
        done(0, "function_call", **a, arguments='{"n": 1}'),
        done(0, "function_call", **b, arguments='{"n": 2}'),
    ]
    assert outcomes(settle(created(), *heads, *ends, ending())) == [
        ("a", "get_tide", "dispatchable", {"n": 1}),
        ("b", "get_tide", "dispatchable", {"n": 2}),
    ]


def test_an_item_told_again_under_another_index_runs_once() -> None:
    """Same ids, same name, same text: the second is no call of its own."""
    settler = settle(created(), *call(), *call(1), ending())
    assert kinds(settler) == ["dispatchable", "abandoned"]
    assert "call_replayed" in names(settler)


def test_the_last_event_may_leave_the_status_out() -> None:
    """There an item that states its arguments is whole; one that states none proves nothing."""
    item = {"type": "function_call", **FC}
    open_call = [created(), added(0, "function_call", **FC), delta(0, "fc_1", ARGUMENTS[:4])]
    whole = ending(output=[item | {"arguments": ARGUMENTS}])
    assert outcomes(settle(*open_call, whole)) == [GOOD]
    assert kinds(settle(*open_call, ending(output=[item]))) == ["abandoned"]
    cut = ending(output=[item | {"arguments": ARGUMENTS, "status": "incomplete"}])
    assert kinds(settle(*open_call, cut)) == ["abandoned"]


def test_the_calls_text_is_appended_or_replaced_as_it_comes() -> None:
    """What the end adds is a piece; what it contradicts is a restatement."""
    normaliser = OpenAIResponsesNormaliser(Context())
    normaliser.feed(added(0, "function_call", **FC))
    normaliser.feed(delta(0, "fc_1", '{"port": '))
    (piece, other) = normaliser.feed(arguments_done(0, "fc_1", ARGUMENTS))
    assert getattr(piece, "text", None) == '"Brest"}'
    assert isinstance(other, Other)
    (restated, _) = normaliser.feed(done(0, "function_call", **WHOLE | {"arguments": "{}"}))[:2]
    assert isinstance(restated, ArgumentsRestated)
    assert restated.call.size == 2


BUILT_IN: dict[str, tuple[dict[str, Any], Any]] = {
    "apply_patch_call": (
        {"operation": {"type": "delete_file", "path": "a"}},
        {"type": "delete_file", "path": "a"},
    ),
    "computer_call": ({"action": {"type": "wait"}}, {"type": "wait"}),
    "local_shell_call": (
        {"action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "exec", "command": ["ls"], "env": {}},
    ),
    "shell_call": (
        {"action": {"commands": ["ls"]}, "environment": {"type": "local"}},
        {"commands": ["ls"]},
    ),
    "tool_search_call": ({"arguments": {"goal": "x"}, "execution": "client"}, {"goal": "x"}),
}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_built_in_tool_that_the_caller_runs(kind: str) -> None:
    """It goes by its item's type; its arguments are an object that its end states."""
    content, expected = BUILT_IN[kind]
    start: dict[str, Any] = {name: {} for name in content}
    start["execution"] = content.get("execution")
    settler = settle(
        created(),
        added(0, kind, id="i", call_id="c", **start),
        done(0, kind, id="i", call_id="c", status="completed", **content),
        ending(),
    )
    assert outcomes(settler) == [("c", kind, "dispatchable", expected)]


def test_several_computer_actions_in_one_call() -> None:
    """Their list is wrapped, since arguments are an object."""
    many = done(0, "computer_call", id="i", call_id="c", action=None, actions=[{"type": "wait"}])
    assert outcomes(settle(created(), many, ending()))[0][3] == {"actions": [{"type": "wait"}]}


def test_every_kind_of_client_call_is_tried() -> None:
    """The table and the tests hold the same kinds."""
    named = {"function_call", "custom_tool_call", "mcp_approval_request"}
    assert set(CLIENT_CALLS) == set(BUILT_IN) | named


def test_the_call_id_of_the_end_counts() -> None:
    """A client's tool search has another one at its announcement."""
    settler = settle(
        created(),
        added(0, "tool_search_call", id="i", call_id="first", arguments={}, execution="client"),
        done(0, "tool_search_call", id="i", call_id="last", arguments={"goal": "x"}),
        ending(),
    )
    assert outcomes(settler) == [("last", "tool_search_call", "dispatchable", {"goal": "x"})]


def test_an_approval_is_asked_by_name() -> None:
    """It goes by the name of the tool that wants to run, and its own id."""
    asked = {"id": "mcpr_1", "name": "pay", "server_label": "bank", "arguments": '{"eur": 5}'}
    settler = settle(
        created(),
        added(0, "mcp_approval_request", **asked),
        done(0, "mcp_approval_request", **asked),
        ending(),
    )
    assert outcomes(settler) == [("mcpr_1", "pay", "dispatchable", {"eur": 5})]


@pytest.mark.parametrize("kind", ["apply_patch_call", "shell_call"])
def test_a_patch_or_a_command_that_grows_is_a_sign_of_life(kind: str) -> None:
    """Its pieces count as progress, and are no argument text."""
    normaliser = OpenAIResponsesNormaliser(Context())
    normaliser.feed(added(0, kind, id="i", call_id="c"))
    piece = {"type": f"response.{kind}_x.delta", "output_index": 0, "delta": "+"}
    (event,) = normaliser.feed(piece)
    assert getattr(event, "text", None) == ""
    (event,) = normaliser.feed(piece | {"type": f"response.{kind}_x.done"})
    assert isinstance(event, Other)
    (event,) = normaliser.feed(piece | {"output_index": 9})
    assert isinstance(event, Other)


TOOLS = [{"type": "custom", "name": "run_sql"}]


def test_custom_calls_are_free_text() -> None:
    """A declared one is dispatched with its text, which nobody parses."""
    settler = settle(created(), *custom(text="{'x"), ending(), tools=TOOLS)
    assert outcomes(settler) == [("call_1", "run_sql", "dispatchable", {"input": "{'x"})]


def test_a_custom_call_that_was_not_declared_is_the_providers() -> None:
    """xAI reports its own searches so. Without tools nothing tells, and nothing is dispatched."""
    search = custom(0, "xs_call_1", '{"query": "x"}', "x_keyword_search")
    settler = settle(created(), *search, ending(), tools=TOOLS)
    assert settler.outcomes == []
    (external,) = settler.external_calls
    assert (external.name, external.state) == ("x_keyword_search", ExternalState.DONE)
    assert kinds(settle(created(), *search, ending())) == ["schema_error"]


def test_a_custom_call_whose_pieces_come_first() -> None:
    """Who runs it comes out with its name: one of the provider's is withdrawn."""
    late = custom(0, "c", "x", "x_keyword_search")
    late[0], late[1] = late[1], late[0]
    settler = settle(created(), *late, ending(), tools=TOOLS)
    assert kinds(settler) == ["abandoned"]
    assert settler.external_calls[0].state is ExternalState.DONE
    late = custom()
    late[0], late[1] = late[1], late[0]
    assert kinds(settle(created(), *late, ending(), tools=TOOLS)) == ["dispatchable"]


PROVIDERS = [
    ("web_search_call", {"action": {"type": "search"}}, "completed", ExternalState.DONE),
    ("image_generation_call", {}, "failed", ExternalState.FAILED),
    ("mcp_call", {"error": {"type": "x"}}, "completed", ExternalState.FAILED),
    ("tool_search_call", {"execution": "server"}, "completed", ExternalState.DONE),
    ("tool_of_next_year_call", {}, "completed", ExternalState.DONE),
    ("program", {}, None, ExternalState.UNKNOWN),
    (
        "shell_call",
        {"environment": {"type": "container_reference"}},
        "completed",
        ExternalState.UNKNOWN,
    ),
]


@pytest.mark.parametrize(("kind", "content", "status", "state"), PROVIDERS)
def test_what_the_provider_runs_is_no_outcome(
    kind: str, content: dict[str, Any], status: str | None, state: ExternalState
) -> None:
    """Known kinds and unknown ones: external, with the state that its item gives."""
    settler = settle(
        created(),
        added(0, kind, id="x_1", call_id="c", name=None, **content),
        added(0, kind, id="x_1", call_id="c", name=None, **content),
        {"type": f"response.{kind}.searching", "output_index": 0, "item_id": "x_1"},
        done(0, kind, id="x_1", call_id="c", status=status, **content),
        ending(),
    )
    assert settler.outcomes == []
    assert settler.verdict == "done"
    assert [(one.call_id, one.name, one.state) for one in settler.external_calls] == [
        ("c", kind, state)
    ]


@pytest.mark.parametrize(
    ("word", "state"), [("completed", ExternalState.DONE), ("failed", ExternalState.FAILED)]
)
def test_a_hosted_calls_state_comes_with_its_events(word: str, state: ExternalState) -> None:
    """Its arguments come in pieces like a client's, and a stream that dies leaves what is known."""
    settler = settle(
        created(),
        added(0, "mcp_call", id="mcp_1", name="ask", server_label="x"),
        delta(0, "mcp_1", "{}", "response.mcp_call_arguments.delta"),
        delta(0, "mcp_1", "{}"),
        arguments_done(0, "mcp_1", "{}"),
        {"type": f"response.mcp_call.{word}", "output_index": 0, "item_id": "mcp_1"},
    )
    assert settler.outcomes == []
    assert [(one.name, one.state) for one in settler.external_calls] == [("ask", state)]


def test_a_container_shell_call_is_done_with_its_output() -> None:
    """The call's own end only says what will be run."""
    container = {"type": "container_reference", "container_id": "cntr_1"}
    output = {"id": "sho_1", "call_id": "c", "output": []}
    settler = settle(
        created(),
        done(0, "shell_call", id="sh_1", call_id="c", environment=container, action={}),
        added(1, "shell_call_output", **output),
        done(1, "shell_call_output", **output),
        done(2, "program_output", call_id="of an earlier response", result=""),
        ending(),
    )
    assert [(one.name, one.state) for one in settler.external_calls] == [
        ("shell_call", ExternalState.DONE)
    ]


def test_what_the_last_event_lists_is_not_the_stream() -> None:
    """It ends a call that it names and that had no end; others it cannot add, only promise."""
    known = {"type": "function_call", **WHOLE}
    other = {"type": "function_call", **WHOLE, "id": "x", "call_id": "x"}
    open_call = [added(0, "function_call", **FC), delta(0, "fc_1", ARGUMENTS)]
    assert outcomes(settle(created(), *open_call, ending(output=[known]))) == [GOOD]
    cut = known | {"status": "in_progress"}
    assert kinds(settle(created(), *open_call, ending(output=[cut]))) == ["abandoned"]
    settler = settle(created(), *call(), ending(output=[known, other]))
    assert outcomes(settler) == [GOOD]
    assert "promised_calls_missing" in names(settler)


@pytest.mark.parametrize(
    ("anomaly", "events"),
    [
        ("delta_after_end", [*call(), delta(0, "fc_call_1", "x")]),
        ("delta_for_unknown_call", [delta(0, "fc_1", "x")]),
        ("no_name", [added(0, "function_call", id="fc_1")]),
        ("no_call_id", [added(0, "function_call", name="f")]),
        ("call_replayed", [call()[0], call()[0]]),
    ],
)
def test_oddities_are_named(anomaly: str, events: Sequence[Any]) -> None:
    """Each once, with the call that it concerns."""
    settler = settle(created(), *events, ending())
    (found,) = [one for one in settler.anomalies if one.name == anomaly]
    assert found.key == settler.outcomes[0].key


def test_an_id_that_comes_late_is_not_missed() -> None:
    """Pieces before the announcement leave no complaint about an id that came after all."""
    settler = settle(created(), *ONE_CALL["pieces before the announcement"], ending())
    assert Anomaly("no_call_id", settler.outcomes[0].key) not in settler.anomalies


def test_a_namespace_scopes_a_name() -> None:
    """It is on the call, and a later statement may bring it."""
    normaliser = OpenAIResponsesNormaliser(Context())
    (event, _) = normaliser.feed(added(0, "function_call", **FC, namespace="tides"))
    assert getattr(event, "call", None) is not None
    assert event.call.namespace == "tides"  # type: ignore[union-attr]


def test_a_native_that_cannot_be_copied_is_empty() -> None:
    """An object that fails to dump itself, or is none, loses its echo and nothing else."""

    class Broken:
        def model_dump(self, **_: Any) -> Any:
            raise ValueError("no")

    assert as_plain(Broken()) == {}
    assert as_plain("text") == {}


def test_every_item_type_of_the_sdk_is_known() -> None:
    """What the next request repeats of an item is listed for each type the SDK has."""
    union = get_args(get_args(ResponseOutputItem)[0])
    types = {get_args(model.model_fields["type"].annotation)[0] for model in union}
    assert types <= set(REPEATED_FIELDS)


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(allow_nan=True), st.text(max_size=3),
    st.just([]), st.just({}), st.just([None]), st.just({"type": None}), st.just({"type": ["x"]}),
    st.just([{"type": "function_call"}]), st.just({"error": {"code": []}}),
)  # fmt: skip
SHORT = [case for case in CASES if len(case.recording.events) < 60]


def mutated(natives: list[Any], data: st.DataObject) -> list[Any]:
    """Fields dropped or of the wrong type, events repeated, moved or replaced."""
    for _ in range(data.draw(st.integers(1, 5))):
        position = data.draw(st.integers(0, len(natives) - 1))
        target = natives[position]
        match data.draw(st.sampled_from(["field", "inner", "repeat", "move", "drop", "replace"])):
            case "field" if isinstance(target, dict):
                target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JUNK)
            case "inner" if isinstance(target, dict):
                inner = [value for value in target.values() if isinstance(value, dict) and value]
                if inner:
                    chosen = data.draw(st.sampled_from(inner))
                    chosen[data.draw(st.sampled_from(sorted(chosen)))] = data.draw(JUNK)
            case "repeat":
                natives.insert(position, copy.deepcopy(target))
            case "move":
                natives.insert(data.draw(st.integers(0, len(natives) - 1)), natives.pop(position))
            case "drop" if len(natives) > 1:
                del natives[position]
            case _:
                kind = data.draw(st.sampled_from(sorted(OpenAIResponsesNormaliser._handlers)))
                natives[position] = {"type": kind, "item": data.draw(JUNK), "delta": "x"}
    return natives


@settings(max_examples=150, deadline=None)
@given(case=st.sampled_from(SHORT), data=st.data())
def test_whatever_a_service_sends_nothing_is_lost(case: Case, data: st.DataObject) -> None:
    """Announced = outcomes, every native is carried once, and the history can be built."""
    settler = Settler("openai-responses", tools=None)
    for native in mutated(copy.deepcopy(case.recording.to_dicts()), data):
        before = settler.ending
        events = settler.feed(native)
        assert before or [one.native for one in events].count(native) >= (native is not None)
    settler.end()
    assert settler.stats.announced == len(settler.outcomes)
    results = {one: "ok" for one in settler.outcomes if isinstance(one, Dispatchable)}
    assert isinstance(settler.history(results), list)
