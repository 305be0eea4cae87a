"""What bridges tell, and what they keep to themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from finalcall import (
    ArgumentsDelta,
    Call,
    CallAnnounced,
    CallSettled,
    Cause,
    Dispatchable,
    ExternalCall,
    ExternalCallChanged,
    Settler,
    TextDelta,
    ToolResult,
    ToolSet,
    Turn,
)
from finalcall.bridges import AGUI, Part, UIMessageStream, to_sse
from finalcall.correction import run_turn
from finalcall.events import CallIdentity, CallKind
from finalcall.testing import Reply, dispatchable
from finalcall.texts import GERMAN

SIGN = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "token": {"type": "string", "writeOnly": True}},
    "required": ["name"],
}
TOOLS = ToolSet({"pay": {"type": "object", "required": ["to"]}, "sign": SIGN})
SIGNED = {"name": "Ann", "token": "S3NT1N3L"}
PAID = {"to": "Ann"}

Bridge = UIMessageStream | AGUI


def ui(tools: ToolSet | None = TOOLS, **options: Any) -> UIMessageStream:
    return UIMessageStream(tools=tools, **options)


def ag_ui(tools: ToolSet | None = TOOLS, **options: Any) -> AGUI:
    return AGUI(thread_id="t", run_id="r", tools=tools, **options)


BOTH = pytest.mark.parametrize("new", [ui, ag_ui])


def fed(bridge: Bridge, events: Iterable[Any]) -> list[Part]:
    return [part for event in events for part in bridge.feed(event)]


def turn(reply: Reply, tools: ToolSet | None = TOOLS) -> Turn:
    return Turn(reply.to("anthropic"), tools=tools, raises=False)


def kinds(parts: list[Part]) -> list[str]:
    return [part["type"] for part in parts]


def announced(name: str | None = "pay", key: str = "k", **more: Any) -> tuple[CallIdentity, Call]:
    identity = CallIdentity(key, None, name, **more)
    return identity, Call(identity)


# Argument text


@BOTH
def test_sensitive_arguments_are_masked(new: Any) -> None:
    """Of such a tool nothing is sent while it is written, and at the end a mask."""
    parts = fed(new(), turn(Reply().call("sign", SIGNED)))
    assert "S3NT" not in str(parts)
    assert str(parts).count("•••") == 1
    assert "tool-input-delta" not in kinds(parts)


@BOTH
def test_a_front_end_that_runs_such_tools_is_sent_all(new: Any) -> None:
    """`sensitive="send"` sends the text as it comes."""
    parts = fed(new(sensitive="send"), turn(Reply().call("sign", SIGNED)))
    pieces = [part.get("inputTextDelta", part.get("delta", "")) for part in parts]
    assert "S3NT1N3L" in "".join(pieces)
    available = [part["input"] for part in parts if part["type"] == "tool-input-available"]
    assert available in ([], [SIGNED])


@BOTH
def test_of_a_tool_that_was_not_offered_nothing_is_sent(new: Any) -> None:
    """Nobody knows which of its arguments are sensitive; with no tools at all, none are."""
    reply = Reply().call("sgin", SIGNED)
    parts = fed(new(), turn(reply))
    assert "S3NT" not in str(parts)
    assert "not run (the request was invalid)" in str(parts)
    assert "S3NT1N3L" in str(fed(new(None), turn(reply, None))) or new is ag_ui


@BOTH
def test_free_text_is_sent_at_the_end(new: Any) -> None:
    """It is no JSON, which front ends expect of the pieces."""
    _, made = announced(kind=CallKind.CUSTOM)
    settled = CallSettled(made, dispatchable("pay", {"input": "select 1"}))
    parts = fed(new(), [CallAnnounced(made), ArgumentsDelta(made, "select 1"), settled])
    assert str(parts).count("select 1") == 1


@BOTH
def test_a_name_in_pieces_is_waited_for(new: Any) -> None:
    """A call is announced when its tool is known, at the latest with its first text."""
    identity, made = announced(None)
    bridge = new()
    assert kinds(fed(bridge, [CallAnnounced(made), ArgumentsDelta(made, "{")]))[1:] in (
        ["start-step"],
        [],
    )
    identity.name = "pay"
    parts = fed(bridge, [ArgumentsDelta(made, '"to": '), ArgumentsDelta(made, '"Ann"}')])
    assert [part.get("toolName", part.get("toolCallName")) for part in parts] == ["pay", None, None]
    assert "".join(part.get("inputTextDelta", part.get("delta", "")) for part in parts) == (
        '{"to": "Ann"}'
    )


@BOTH
def test_a_call_without_a_name_is_announced_at_its_end(new: Any) -> None:
    """It never had one, and is told as unnamed."""
    settler = Settler("anthropic", tools=TOOLS)
    settler.end()
    _, made = announced(None)
    bridge = new()
    fed(bridge, [CallAnnounced(made)])
    assert "unnamed call — cancelled" in str(bridge.end(settler))


# Many messages


@BOTH
def test_ids_are_never_used_twice(new: Any) -> None:
    """Two messages of a loop may name their calls alike; to the front end they are others."""
    bridge = new()
    reply = Reply().call("pay", PAID, call_id="same")
    parts = fed(bridge, turn(reply)) + fed(bridge, turn(reply)) + fed(bridge, turn(reply))
    starts = ("tool-input-start", "TOOL_CALL_START")
    ids = [part["toolCallId"] for part in parts if part["type"] in starts]
    assert ids == ["same", "same-2", "same-3"]


@BOTH
def test_a_call_of_a_message_that_was_left_stays_cancelled(new: Any) -> None:
    """Another call of its name and id, in a later message, is not mistaken for it."""
    bridge, reply = new(), Reply().call("pay", PAID, call_id="same")
    for event in turn(reply):
        bridge.feed(event)
        if isinstance(event, ArgumentsDelta):
            break
    second = turn(reply)
    fed(bridge, second)
    parts = bridge.end(second)
    assert [part["toolCallId"] for part in parts if "toolCallId" in part] in (
        ["same"],
        ["same", "same"],
    )
    assert "⊘ pay — cancelled" in str(parts)


def test_each_message_is_a_step() -> None:
    """A step ends when the next begins, or with the stream: results of its calls belong to it."""
    bridge, last = ui(), turn(Reply().text("Paid."))
    first = turn(Reply().call("pay", PAID))
    parts = fed(bridge, first)
    (outcome,) = first.outcomes
    assert isinstance(outcome, Dispatchable)
    parts += bridge.result(outcome, ToolResult("paid"))
    parts += fed(bridge, last) + bridge.end(last)
    assert [kind for kind in kinds(parts) if "delta" not in kind] == [
        "start",
        "start-step",
        "tool-input-start",
        "tool-input-available",
        "tool-output-available",
        "finish-step",
        "start-step",
        "text-start",
        "text-end",
        "finish-step",
        "finish",
    ]
    assert parts[-1]["finishReason"] == "stop"


@BOTH
def test_a_sibling_that_a_correction_left_out_does_not_stay_runnable(new: Any) -> None:
    """When the model is asked again, what may have run and did not is told not to run."""
    replies = iter([Reply().call("pay", PAID).call("pay", {}), Reply().call("pay", PAID)])
    bridge = new()
    run = run_turn(lambda _: next(replies).to("anthropic"), [], tools=TOOLS)
    parts = fed(bridge, run)
    told = str(parts)
    assert told.count("not run (a request made with it was invalid)") == 1
    end = bridge.end(run.result.turn)
    assert end[-1].get("outcome", {}).get("pendingToolCallIds", ["call_1-2"]) == ["call_1-2"]


# Results and the end


@BOTH
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("paid", "paid"),
        ({"paid": 1}, "paid"),
        ([{"type": "text", "text": "paid"}], "paid"),
        (OSError("S3NT1N3L"), "✗ pay — failed"),
        (ToolResult("S3NT1N3L", is_error=True), "✗ pay — failed"),
    ],
    ids=["text", "json", "blocks", "exception", "error"],
)
def test_a_result_is_told_once(new: Any, value: Any, shown: str) -> None:
    """Of a failure only that it is one; a second result is refused."""
    bridge, paid = new(), turn(Reply().call("pay", PAID))
    fed(bridge, paid)
    (outcome,) = paid.outcomes
    assert isinstance(outcome, Dispatchable)
    told = str(bridge.result(outcome, value))
    assert shown in told
    assert "S3NT" not in told
    with pytest.raises(ValueError, match="awaits no result"):
        bridge.result(outcome, value)


@BOTH
def test_a_result_of_nobodys_call_is_refused(new: Any) -> None:
    """One that was never fed, and one that comes after the end."""
    bridge, paid = new(), turn(Reply().call("pay", PAID))
    with pytest.raises(ValueError, match="awaits no result"):
        bridge.result(dispatchable("pay", PAID), "paid")
    fed(bridge, paid)
    bridge.end(paid)
    (outcome,) = paid.outcomes
    assert isinstance(outcome, Dispatchable)
    with pytest.raises(ValueError, match="awaits no result"):
        bridge.result(outcome, "paid")


@BOTH
def test_nothing_follows_the_end(new: Any) -> None:
    """A second end, and events that come late, tell nothing."""
    bridge, said = new(), turn(Reply().text("x"))
    fed(bridge, said)
    assert bridge.end(said)
    assert bridge.end(said) == []
    assert bridge.feed(TextDelta("late")) == []


@pytest.mark.parametrize(
    ("cause", "ui_kinds", "ag_ui_end"),
    [
        (Cause.CANCELLED, ["abort"], {"outcome": {"type": "cancelled"}}),
        (Cause.IDLE, ["error", "finish"], {"message": "the connection went silent"}),
    ],
)
def test_a_message_that_broke_off_says_so(
    cause: Cause, ui_kinds: list[str], ag_ui_end: dict[str, Any]
) -> None:
    """Without any call too: cancelled is no error."""
    settler = Settler("anthropic", tools=None)
    settler.end(cause)
    assert kinds(ui().end(settler)) == ["start", *ui_kinds]
    last = ag_ui().end(settler)[-1]
    assert {name: last[name] for name in ag_ui_end} == ag_ui_end


def test_a_turn_that_goes_on_is_cancelled() -> None:
    """Whoever ends the bridge first leaves the loop."""
    assert kinds(ui().end(Settler("anthropic", tools=None))) == ["start", "abort"]
    assert ag_ui().end(Settler("anthropic", tools=None))[-1]["outcome"] == {"type": "cancelled"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply().text("x"), "stop"),
        (Reply().text("x").call("pay", PAID), "tool-calls"),
        (Reply().text("x").stop("truncated"), "length"),
        (Reply().text("x").stop("refused"), "content-filter"),
        (Reply().text("x").stop("paused"), "other"),
        (Reply().text("x").stop("a new word"), "other"),
    ],
)
def test_the_finish_reason_is_the_protocols_word(reply: Reply, reason: str) -> None:
    """What the service said, in the six words of the protocol."""
    bridge, read = ui(), turn(reply)
    fed(bridge, read)
    assert bridge.end(read)[-1] == {"type": "finish", "finishReason": reason}


# Texts


def test_choices_do_not_mix() -> None:
    """The text of another choice is a text of its own."""
    parts = fed(ui(), [TextDelta("a"), TextDelta("b", choice=1), TextDelta("c", choice=1)])
    assert [part["id"] for part in parts if "id" in part] == ["1", "1", "1", "2", "2", "2"]


@BOTH
def test_lines_are_those_of_blocks(new: Any) -> None:
    """In another language, and by the tool's label."""
    reply = Reply().call("pay", '{"to": ', closed=False).stop("truncated")
    assert "⊘ pay — nicht ausgeführt (die Anfrage wurde abgeschnitten)" in str(
        fed(new(texts=GERMAN), turn(reply))
    )


@BOTH
def test_a_provider_call_that_is_told_twice_has_one_end(new: Any) -> None:
    """Its state may be told again."""
    external = ExternalCall(None, "search")
    bridge = new()
    parts = fed(bridge, [ExternalCallChanged(external)] * 2)
    external.state = type(external.state).FAILED
    parts += fed(bridge, [ExternalCallChanged(external)] * 2)
    ended = [part for part in parts if part["type"] in ("tool-output-error", "TOOL_CALL_END")]
    assert len(ended) == 1
    assert "✗ search — failed" in str(parts)


def test_half_a_surrogate_pair_can_be_sent() -> None:
    """A piece of text may end in the middle of one."""
    assert to_sse({"delta": "\ud83d"}) == b'data: {"delta":"\\ud83d"}\n\n'


@BOTH
def test_a_provider_call_that_ended_is_not_lost(new: Any) -> None:
    """The end of the stream adds nothing to one whose end was told."""
    external = ExternalCall("srv", "search")
    settler = Settler("anthropic", tools=None)
    settler.end()
    bridge = new()
    external.state = type(external.state).DONE
    assert "unknown" not in str(fed(bridge, [ExternalCallChanged(external)]) + bridge.end(settler))
