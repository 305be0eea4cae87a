"""Recordings: read from files, and to dicts and to bytes and back through the decoder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, get_args

import pytest

from finalcall.testing import (
    Close,
    CloseAbruptly,
    Framing,
    Pause,
    Pings,
    RecordedEvent,
    Recording,
    Reset,
    Script,
    Send,
    Stall,
    cut_after,
    cut_at_byte,
    end_without_terminal,
    pings,
    reset_after,
    stall_after,
)
from finalcall.wire.decoder import Decoder
from tests.cutting import random_cut
from tests.recorded import anthropic_tool_call, recordings

RECORDINGS = recordings()
FRAMINGS: tuple[Framing, ...] = get_args(Framing)


def decode(chunks: list[bytes]) -> list[Any]:
    decoder = Decoder()
    return [native for chunk in chunks for native in decoder.feed(chunk)] + decoder.end()


def made(dialect: str, *events: tuple[str | None, Any], framing: str | None = None) -> Recording:
    header = {"dialect": dialect, "framing": framing}
    return Recording(header, tuple(RecordedEvent(*event) for event in events))


# -- every recording -------------------------------------------------------------------------------


def test_there_are_recordings() -> None:
    """The directory of recordings is there and not empty."""
    assert RECORDINGS


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recording_comes_back_from_its_bytes(name: str) -> None:
    """Whole, event by event and cut at random, the bytes of a recording give its dicts."""
    recording = Recording.read(RECORDINGS[name])
    natives = recording.to_dicts()
    data = recording.to_bytes()
    assert recording.events
    assert decode([data]) == natives
    assert decode(recording.to_frames()) == natives
    assert decode(random_cut(data, random.Random(name))) == natives
    if all(isinstance(native, dict) for native in natives):
        # As Gemini sends them without server-sent events.
        assert decode([recording.to_bytes("json-array")]) == natives


# -- reading ---------------------------------------------------------------------------------------


def test_a_recording_is_read_from_json_lines(tmp_path: Path) -> None:
    """The first line is the header, every further line an event; blank lines mean nothing."""
    path = tmp_path / "recording.jsonl"
    lines = ['{"dialect": "cohere"}', '{"event": "a", "data": {"x": 1}}', ""]
    path.write_text("\n".join([*lines, '{"event": null, "data": "[DONE]"}']))
    recording = Recording.read(path)
    assert recording.header == {"dialect": "cohere"}
    assert recording.events == (RecordedEvent("a", {"x": 1}), RecordedEvent(None, "[DONE]"))
    assert recording.to_dicts() == [{"x": 1}, "[DONE]"]


def test_a_dump_of_server_sent_events_is_read() -> None:
    """A raw dump becomes a recording; comments go, text that is no JSON stays text."""
    dump = b': hi\n\nevent: a\r\ndata: {"x": 1}\r\n\r\ndata: [DONE]\n\ndata: two\ndata: lines'
    recording = Recording.parse(dump)
    assert recording.events == (
        RecordedEvent("a", {"x": 1}),
        RecordedEvent(None, "[DONE]"),
        RecordedEvent(None, "two\nlines"),
    )
    assert Recording.parse(recording.to_bytes()) == recording


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"<html>\n\n</html>", b"[1]", b": only this\n\n"]
)
def test_what_is_no_recording_is_refused(content: bytes) -> None:
    """The error says what was expected."""
    with pytest.raises(ValueError, match="expected a recording"):
        Recording.parse(content)


def test_an_event_that_lacks_a_key_is_refused() -> None:
    """The error says which event and which keys."""
    with pytest.raises(ValueError, match="line 3: event 2 lacks its 'event' or its 'data'"):
        Recording.parse(b'{}\n{"event": null, "data": 1}\n{"data": 2}\n')


# -- writing ---------------------------------------------------------------------------------------


def test_server_sent_events_are_written_with_their_names() -> None:
    """The form is the one that the services send."""
    recording = made("anthropic", ("ping", {"type": "ping"}), (None, "[DONE]"), (None, "a\nb"))
    assert recording.to_frames() == [
        b'event: ping\ndata: {"type":"ping"}\n\n',
        b"data: [DONE]\n\n",
        b"data: a\ndata: b\n\n",
    ]


def test_an_event_that_lost_its_name_gets_it_back_where_clients_need_it() -> None:
    """Clients of some services pass over events without a name; it repeats their type."""
    assert made("anthropic", (None, {"type": "ping"})).to_bytes().startswith(b"event: ping\n")
    assert made("openai-chat", (None, {"type": "ping"})).to_bytes().startswith(b"data: ")


def test_lines_and_arrays_are_written_as_they_are_sent() -> None:
    """Ollama sends a line an object, Gemini without server-sent events one array."""
    recording = made("ollama", (None, {"done": False}), (None, {"done": True}))
    assert recording.to_frames() == [b'{"done":false}\n', b'{"done":true}\n']
    assert recording.to_bytes("json-array") == b'[{"done":false},\n{"done":true}]'
    assert made("gemini").to_bytes("json-array") == b"[]"


CONVERSE = made(
    "bedrock-converse",
    ("messageStart", {"role": "assistant"}),
    ("throttlingException", {"message": "slow down"}),
)
INVOKE = made(
    "anthropic",
    (None, {"type": "ping"}),
    ("modelTimeoutException", {"message": "too slow"}),
    framing="eventstream",
)


@pytest.mark.parametrize(
    ("recording", "natives"),
    [
        (
            CONVERSE,
            [
                {"messageStart": {"role": "assistant"}},
                {"throttlingException": {"message": "slow down"}},
            ],
        ),
        (INVOKE, [{"type": "ping"}, {"modelTimeoutException": {"message": "too slow"}}]),
    ],
)
def test_bedrock_is_written_as_frames(recording: Recording, natives: list[Any]) -> None:
    """Converse frames carry the event itself, InvokeModel frames the model's own in a chunk."""
    assert recording.framing == "aws"
    assert recording.to_dicts() == natives
    assert decode([recording.to_bytes()]) == natives


def test_an_error_event_says_that_it_is_one_in_both_forms() -> None:
    """Dicts and bytes agree on an event that only its name makes an error."""
    recording = made("openai-chat", ("error", {"message": "m"}), ("error", {"error": {"code": 1}}))
    expected = [{"type": "error", "error": {"message": "m"}}, {"error": {"code": 1}}]
    assert recording.to_dicts() == expected
    assert decode([recording.to_bytes()]) == expected


@pytest.mark.parametrize("framing", FRAMINGS)
def test_half_of_a_surrogate_pair_survives_every_framing(framing: Framing) -> None:
    """What only an escape can carry is written as one."""
    recording = made("x", (None, {"t": "\ud83d"}), (None, {"t": "\ude00 é"}))
    assert decode([recording.to_bytes(framing)]) == recording.to_dicts()


def test_a_script_sends_one_event_a_step() -> None:
    """The script of a recording has its frames and its content type."""
    for recording, content_type in (
        (anthropic_tool_call(), "text/event-stream"),
        (made("ollama", (None, {})), "application/x-ndjson"),
        (CONVERSE, "application/vnd.amazon.eventstream"),
    ):
        script = recording.to_script()
        assert script.steps == tuple(map(Send, recording.to_frames()))
        assert script.body() == recording.to_bytes()
        assert script.content_type == content_type
    assert anthropic_tool_call().to_script("json-array").content_type == "application/json"


# -- faults ----------------------------------------------------------------------------------------

ABC = Script((Send(b"ab"), Pause(1), Send(b"cd"), Send(b"ef"), Close()))


@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        (cut_after(0), (Close(),)),
        (cut_after(1), (Send(b"ab"), Pause(1), Close())),
        (cut_after(2), (Send(b"ab"), Pause(1), Send(b"cd"), Close())),
        (cut_after(9), (Send(b"ab"), Pause(1), Send(b"cd"), Send(b"ef"), Close())),
        (cut_after(1, CloseAbruptly()), (Send(b"ab"), Pause(1), CloseAbruptly())),
        (stall_after(1), (Send(b"ab"), Pause(1), Stall())),
        (reset_after(1), (Send(b"ab"), Pause(1), Reset())),
        (cut_at_byte(0), (CloseAbruptly(),)),
        (cut_at_byte(1), (Send(b"a"), CloseAbruptly())),
        (cut_at_byte(3), (Send(b"ab"), Pause(1), Send(b"c"), CloseAbruptly())),
        (cut_at_byte(9, Stall()), (Send(b"ab"), Pause(1), Send(b"cd"), Send(b"ef"), Stall())),
    ],
)
def test_each_fault_changes_the_steps(fault: Any, steps: tuple[Any, ...]) -> None:
    """A fault gives a new script and leaves the old one alone."""
    before = ABC.steps
    assert ABC.with_faults(fault) == Script(steps)
    assert ABC.steps == before


def test_faults_combine_in_order() -> None:
    """Each fault is applied to the result of the one before."""
    ping, event = Send(b": ping\n\n"), Send(b"data: 1\n\n")
    script = Script((event, Pause(1), event, event))
    assert script.with_faults(stall_after(2), pings(0.5)).steps == (
        ping,
        event,
        Pause(1),
        ping,
        event,
        Pings(0.5),
    )
    assert ABC.with_faults() == ABC


@pytest.mark.parametrize("framing", ["sse", "ndjson", "json-array"])
def test_pings_change_nothing_that_is_read(framing: Framing) -> None:
    """Keep-alives of each wire format are no events."""
    recording = anthropic_tool_call()
    script = recording.to_script(framing).with_faults(pings(1))
    assert len(script.body()) > len(recording.to_bytes(framing))
    assert decode([script.body()]) == recording.to_dicts()


def test_a_format_without_keep_alives_cannot_be_pinged() -> None:
    """The error says which formats can."""
    with pytest.raises(ValueError, match="types that have are"):
        CONVERSE.to_script().with_faults(pings(1))


TEXT = {"type": "x", "choices": [{"finish_reason": None}, None], "delta": {"stop_reason": ""}}
ENDS: dict[str, Any] = {
    "anthropic": {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    "chat": {"choices": [{"delta": {}}, {"finish_reason": "stop"}]},
    "the closing marker": "[DONE]",
    "responses": {"type": "response.incomplete"},
    "gemini": {"candidates": [{"finishReason": "STOP"}]},
    "interactions": {"event_type": "interaction.completed"},
    "converse": {"messageStop": {"stopReason": "end_turn"}},
    "cohere": {"type": "message-end"},
    "ollama": {"done": True},
}


@pytest.mark.parametrize("dialect", ENDS)
def test_the_end_can_be_taken_away(dialect: str) -> None:
    """From the first event that says how the message ended, nothing is sent."""
    end = ENDS[dialect]
    recording = made("x", (None, TEXT), (None, TEXT), (None, end), (None, end))
    script = recording.to_script().with_faults(end_without_terminal())
    assert script.steps[-1] == Close()
    assert decode([script.body()]) == [TEXT, TEXT]


def test_a_stream_that_says_no_end_keeps_every_event() -> None:
    """Where nothing says how the message ended, nothing is taken away."""
    recording = made("x", (None, TEXT), (None, json.loads("{}")))
    script = recording.to_script().with_faults(end_without_terminal())
    assert decode([script.body()]) == recording.to_dicts()
