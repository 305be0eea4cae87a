"""The chunks of boto3's `invoke_model_with_response_stream`, as dicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from finalcall import Anomaly, Cause, Failed, Settler, UnrecognisedStream
from finalcall.wire.unwrapping import unwrapped
from tests.chat_chunks import calls, entry
from tests.chat_chunks import chunk as chat_chunk
from tests.messages import CLEAN, TOOLS, call


def chunk(event: Any) -> dict[str, Any]:
    """An event as boto3 gives it."""
    return {"chunk": {"bytes": json.dumps(event).encode()}}


def settle(natives: list[Any]) -> Settler:
    settler = Settler(tools=TOOLS)
    for native in natives:
        settler.feed(native)
    settler.end()
    return settler


@pytest.mark.parametrize(
    "events",
    [CLEAN, [calls(entry("{}", "create_ticket", "a")), chat_chunk(finish="stop")]],
    ids=["anthropic", "openai-chat"],
)
def test_a_chunk_settles_as_the_event_in_it(events: list[Any]) -> None:
    """Whichever model it is that speaks."""
    settler, plain = settle([chunk(event) for event in events]), settle(events)
    assert settler.outcomes == plain.outcomes
    assert settler.outcomes
    assert settler.provider == plain.provider


def test_the_native_event_is_the_models_own() -> None:
    """Loops that read it need not know of the chunks."""
    settler = Settler(tools=TOOLS)
    natives = [one.native for event in CLEAN for one in settler.feed(chunk(event)) if one.native]
    assert natives == CLEAN


def test_an_error_among_the_chunks_voids_the_stop_reason() -> None:
    """It comes beside the chunks, under its own name."""
    error = {"internalServerException": {"message": "S3NT1N3L"}}
    (outcome,) = settle([*map(chunk, CLEAN[:-1]), error]).outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.PROVIDER_ERROR


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff", b'{"type":"message_stop"}{}'])
def test_a_chunk_that_holds_no_event_ends_the_message(data: bytes) -> None:
    """It is read as strictly as an event of the wire's."""
    (outcome,) = settle([*map(chunk, CLEAN[:-1]), {"chunk": {"bytes": data}}]).outcomes
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.MALFORMED


def test_a_stream_of_text_is_nobodys() -> None:
    """Agents stream plain text in such chunks."""
    with pytest.raises(UnrecognisedStream, match="a dict with the keys chunk"):
        settle([{"chunk": {"bytes": b"Hello"}}])


def test_a_call_in_a_chunk_after_the_end_is_named() -> None:
    """Late chunks are read too, and a late one that cannot be read is nothing."""
    settler = settle([chunk(event) for event in CLEAN])
    settler.feed({"chunk": {"bytes": b"{"}})
    assert settler.anomalies == []
    settler.feed(chunk(call(1, "late")[0]))
    assert settler.anomalies == [Anomaly("call_after_end")]


@pytest.mark.parametrize(
    "native",
    [
        {"chunk": {"bytes": "{}"}},
        {"chunk": {}},
        {"chunk": None},
        {"chunk": {"bytes": b"{}"}, "type": "chunk"},
        {"type": "ping"},
        {},
        "[DONE]",
    ],
)
def test_what_is_no_such_chunk_stays_as_it_is(native: Any) -> None:
    """The OpenAI client's helper has events with a field of that name, for one."""
    assert unwrapped(native, begun=True) is native
