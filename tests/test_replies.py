"""One reply, every provider: dicts, bytes and the SDKs' objects settle alike, as the reply says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import anthropic
import boto3
import cohere
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import types as google
from hypothesis import given, settings
from hypothesis import strategies as st
from mistralai.client import Mistral

from finalcall import Cause, Dispatchable, Settler, StopReason, ToolSet, Turn, Usage, Verdict
from finalcall.providers import PROVIDERS
from finalcall.testing import Call, CloseAbruptly, FaultServer, Reply, cut_after
from finalcall.testing.rendering import RENDERERS
from finalcall.testing.rendering.objects import to_objects
from finalcall.testing.rendering.words import WORDS, can_pause
from finalcall.testing.strategies import matching, replies, schemas, toolsets, violating
from tests.expectation import Settled, expected_outcomes, settled
from tests.facts import outside

TICKETS = {
    "create_ticket": {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }
}
TOOLS = ToolSet(TICKETS)
GOOD = Reply().thinking("Let me see.").text("On it.").call("create_ticket", {"title": "Sète 🌊"})
TWO = GOOD.call("create_ticket", {"title": 3}, fragments=1)

FORMS: Mapping[str, Callable[[Reply, str], list[Any]]] = {
    "dicts": lambda reply, provider: reply.to(provider),
    "bytes": lambda reply, provider: [reply.to_bytes(provider)],
    "objects": lambda reply, provider: reply.to_objects(provider),
}

REPLIES: Mapping[str, Reply] = {
    "nothing": Reply(),
    "text": Reply().text("High at noon."),
    "one good call": GOOD,
    "a good and a bad call": TWO,
    "no arguments": Reply().call("create_ticket", ""),
    "an unknown tool": Reply().call("create_tickets", {"title": "x"}),
    "broken arguments": Reply().call("create_ticket", '{"title": x}'),
    "arguments that are no object": Reply().call("create_ticket", "[1]"),
    "a duplicate name": Reply().call("create_ticket", '{"title": "x", "title": "y"}'),
    "a call without an end": GOOD.call("create_ticket", {"title": "y"}, closed=False),
    "truncated": GOOD.call("create_ticket", '{"title": "y', closed=False).stop("truncated"),
    "filtered": GOOD.stop("filtered"),
    "refused": Reply().text("Hm.").stop("refused"),
    "refused with a call": GOOD.stop("refused"),
    "paused": Reply().text("Wait.").stop("paused"),
    "a word of one's own": GOOD.stop("REASON_TIME_LIMIT"),
    "no stop reason": GOOD.stop(None),
    "no stop reason, cut": Reply().call("create_ticket", '{"ti', closed=False).stop(None),
}

NO_END = {"mistral", "openai-chat", "xai"}
"""No call gets an end of its own there."""

OBJECTS = {"gemini", "ollama"}
"""Arguments are objects there."""

DROPS_IDS = {("ollama", "objects")}
"""The client's models have no field for a call's id."""


def has_form(call: Call) -> bool:
    """Whether a service whose arguments are objects can say the call whole."""
    if not call.closed:
        return False
    try:
        value = json.loads(call.arguments.strip() or "{}", object_pairs_hook=unique)
    except ValueError:
        return False
    return isinstance(value, dict)


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate name")
    return dict(pairs)


def expected(reply: Reply, provider: str, form: str, tools: Any = TICKETS) -> list[Settled]:
    """What the reply's calls settle as, worked out without the library."""
    calls = [call for call in reply.calls if provider != "ollama" or has_form(call)]
    rows = [
        {
            "call_id": None if (provider, form) in DROPS_IDS else call.call_id,
            "name": call.name,
            "raw": call.arguments if has_form(call) or provider not in OBJECTS else "no JSON",
            "args": None,
            "completed": call.closed or provider in NO_END,
            "kind": "function",
            "server_side": False,
        }
        for call in calls
    ]
    reason = "stop" if reply.stop_reason == "complete" else reply.stop_reason
    offered = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
    return expected_outcomes(rows, reason, offered)


def settle(natives: Sequence[Any], provider: str | None, tools: Any = TOOLS) -> Turn:
    """A turn over a stream, to its end, whatever that is."""
    with Turn(natives, tools=tools, provider=provider, raises=False) as turn:
        for _ in turn:
            pass
    return turn


def outcomes(turn: Turn) -> list[Settled]:
    return [settled(outcome) for outcome in turn.outcomes]


@pytest.mark.filterwarnings("ignore:REASON_TIME_LIMIT is not a valid FinishReason")
@pytest.mark.parametrize("provider", sorted(RENDERERS))
@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_settles_alike_everywhere(name: str, provider: str) -> None:
    """The outcomes are those that the reply spells, whoever sends it and in whatever form."""
    reply = REPLIES[name]
    for form, rendered in FORMS.items():
        turn = settle(rendered(reply, provider), provider, TOOLS)
        assert outcomes(turn) == expected(reply, provider, form), form
        assert (turn.stop_reason is None) == (reply.stop_reason is None), form


@pytest.mark.filterwarnings("error")
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_reply_settles_alike_everywhere(data: st.DataObject) -> None:
    """So do drawn ones: any parts, pieces, ends and stops, with right and wrong arguments."""
    tools = data.draw(toolsets())
    reply = data.draw(replies(tools))
    toolset = ToolSet(tools)
    for provider in RENDERERS:
        for form, rendered in FORMS.items():
            turn = settle(rendered(reply, provider), provider, toolset)
            assert outcomes(turn) == expected(reply, provider, form, tools), (provider, form)


@given(replies())
@settings(max_examples=25, deadline=None)
def test_what_the_model_says_comes_out_everywhere(reply: Reply) -> None:
    """The text is the same; Ollama's also holds the calls that it has no form for."""
    words = "".join("".join(part.pieces) for part in reply.parts if type(part).__name__ == "Text")
    for provider in RENDERERS:
        text = settle(reply.to(provider), provider, None).text
        if provider != "ollama" and reply.stop_reason != "refused":
            assert text == words, provider
        assert all(piece in text for piece in words), provider


def test_every_provider_is_there() -> None:
    """A provider that is rendered has its words, and one without says that it stays outside."""
    assert set(RENDERERS) == set(WORDS) == set(PROVIDERS) - outside("replies")


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_the_words_are_the_providers_own(provider: str) -> None:
    """Each word of the table has the verdict that its column promises, where there is one."""
    table = PROVIDERS[provider].normaliser.stop_reasons
    words = {stop: Verdict(table[word]) for stop, word in WORDS[provider]._asdict().items()}
    assert (words["calls"], words["complete"]) == (Verdict.COMPLETE, Verdict.COMPLETE)
    assert words["truncated"] is Verdict.TRUNCATED
    assert (words["paused"] is Verdict.PAUSED) == can_pause(provider)
    unsafe = {Verdict.FILTERED, Verdict.ERROR, Verdict.TRUNCATED}
    assert {words["filtered"], words["refused"]} <= unsafe


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_a_refusal_is_one(provider: str) -> None:
    """A refusal never ends as a good message does."""
    turn = settle(REPLIES["refused"].to(provider), provider)
    assert turn.stop_reason is not None
    assert turn.stop_reason.verdict is not Verdict.COMPLETE


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_a_pause_can_be_sent_back(provider: str) -> None:
    """A paused message resumes where the provider pauses."""
    turn = settle(REPLIES["paused"].to(provider), provider)
    assert (turn.verdict == "resume") == can_pause(provider)


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_usage_is_what_the_reply_says(provider: str) -> None:
    """Counts come out as given; where none are given, only Anthropic's zeros do."""
    told = GOOD.usage(input_tokens=9, output_tokens=20)
    for rendered in FORMS.values():
        assert settle(rendered(told, provider), provider).usage == Usage(9, 20)
        silent = settle(rendered(GOOD, provider), provider).usage
        assert silent == (Usage(0, 0) if provider == "anthropic" else Usage())


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_the_stream_is_recognised(provider: str) -> None:
    """The first event tells whose it is; on the wire Mistral's chunks are OpenAI's."""
    turn = settle(GOOD.to(provider), None)
    assert turn.provider == ("openai-chat" if provider == "mistral" else provider)
    assert turn.anomalies == []
    assert settle(GOOD.to_objects(provider), None).provider == provider


@pytest.mark.parametrize("provider", sorted(set(RENDERERS) - {"gemini", "ollama"}))
def test_no_prefix_of_the_stream_dispatches(provider: str) -> None:
    """What is cut before its stop reason runs nothing."""
    natives = GOOD.to(provider)
    for length in range(len(natives)):
        settler = Settler(provider, tools=TOOLS)
        for native in natives[:length]:
            settler.feed(native)
        settler.end()
        runs = [one for one in settler.outcomes if isinstance(one, Dispatchable)]
        assert not runs or settler.stop_reason is not None


@pytest.mark.parametrize("provider", sorted(RENDERERS))
def test_faults_take_a_reply(provider: str) -> None:
    """A reply's recording is a script that faults cut, event by event."""
    recording = GOOD.to_recording(provider)
    frames = recording.to_frames()
    script = recording.to_script().with_faults(cut_after(len(frames) - 3))
    turn = settle([script.body()], provider)
    assert turn.verdict == "fail" or turn.stop_reason is not None
    assert b"".join(frames) == GOOD.to_bytes(provider)


def test_the_word_of_a_reply_goes_out_as_it_is() -> None:
    """A word that names no stop is the provider's own."""
    turn = settle(GOOD.stop("model_context_window_exceeded").to("anthropic"), "anthropic")
    reason = StopReason("model_context_window_exceeded", Verdict.TRUNCATED)
    assert turn.stop_reason == reason
    failed = settle(GOOD.stop("failed").to("openai-responses"), "openai-responses")
    assert [outcome[2] for outcome in outcomes(failed)] == ["abandoned"]


def test_a_reply_is_a_value() -> None:
    """Methods give new replies, equal ones are equal, and pieces come as asked for."""
    begun = Reply().text("On it.")
    assert begun.call("now") != begun
    assert begun == Reply().text("On it.")
    assert hash(begun.call("now")) == hash(Reply().text("On it.").call("now"))
    calls = begun.call("now").call("now", ["{", "}"]).call("now", '{"a": 1}', fragments=3).calls
    assert [call.call_id for call in calls] == ["call_1", "call_2", "call_3"]
    assert [call.pieces for call in calls] == [("{}",), ("{", "}"), ('{"a', '": ', "1}")]
    assert begun.call("now", call_id="mine").calls[0].call_id == "mine"


def test_what_makes_no_reply_is_refused() -> None:
    """No pieces of no size, and no provider that is none."""
    with pytest.raises(ValueError, match="a fragment of 0 characters is none"):
        Reply().text("x", fragments=0)
    for rendering in (GOOD.to, GOOD.to_bytes, GOOD.to_objects, GOOD.to_recording):
        with pytest.raises(ValueError, match=r"unknown provider 'langchain'; .* one of anthropic"):
            rendering("langchain")


@pytest.mark.parametrize(
    ("provider", "package", "extra"),
    [
        ("anthropic", "anthropic", "anthropic"),
        ("cohere", "cohere", "cohere"),
        ("gemini", "google.genai", "google"),
        ("gemini-interactions", "google.genai", "google"),
        ("mistral", "mistralai", "mistral"),
        ("ollama", "ollama", "ollama"),
        ("openai-chat", "openai", "openai"),
        ("openai-responses", "openai", "openai"),
        ("xai", "xai_sdk", "xai"),
    ],
)
def test_a_missing_sdk_is_named(
    provider: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    for module in [one for one in sys.modules if f"{one}.".startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'finalcall\[{extra}\]'"):
        GOOD.to_objects(provider)


def test_the_kit_loads_no_sdk_and_no_hypothesis() -> None:
    """They are imported when they are asked for, and a missing one is named."""
    code = """
import sys
import finalcall.testing
loaded = {"anthropic", "boto3", "cohere", "google.genai", "hypothesis", "mistralai", "ollama",
          "openai", "pytest", "xai_sdk"} & set(sys.modules)
assert not loaded, loaded
sys.modules["hypothesis"] = None
try:
    import finalcall.testing.strategies
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "pip install 'finalcall[testing]'" in done.stdout


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_arguments_match_or_miss_their_schema(data: st.DataObject) -> None:
    """The strategies keep what their names say."""
    schema = data.draw(schemas())
    tools = ToolSet({"tool": schema})
    assert tools.check("tool", data.draw(matching(schema))).errors == ()
    assert tools.check("tool", data.draw(violating(schema))).errors


# What the real clients make of a reply

MESSAGES: Any = [{"role": "user", "content": "go"}]
TOLD = TWO.usage(input_tokens=9, output_tokens=20)


@contextmanager
def over_http(base_url: str) -> Iterator[Any]:
    with httpx.Client() as http:
        yield cohere.ClientV2("none", base_url=base_url, httpx_client=http)


@contextmanager
def converse(base_url: str) -> Iterator[Any]:
    client: Any = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=base_url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    with closing(client):
        yield client


def _openai(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)


def _google(base_url: str) -> Any:
    return genai.Client(api_key="none", http_options=google.HttpOptions(base_url=base_url))


CLIENTS: Mapping[str, tuple[Callable[[str], Any], Callable[[Any], Any]]] = {
    "anthropic": (
        lambda url: anthropic.Anthropic(base_url=url, api_key="none", max_retries=0),
        lambda client: client.messages.create(
            stream=True, model="m", max_tokens=99, messages=MESSAGES
        ),
    ),
    "bedrock-converse": (
        converse,
        lambda client: client.converse_stream(
            modelId="m", messages=[{"role": "user", "content": [{"text": "go"}]}]
        )["stream"],
    ),
    "cohere": (over_http, lambda client: client.chat_stream(model="m", messages=MESSAGES)),
    "gemini": (
        _google,
        lambda client: client.models.generate_content_stream(model="m", contents="go"),
    ),
    "gemini-interactions": (
        _google,
        lambda client: client.interactions.create(model="m", input="go", stream=True),
    ),
    "mistral": (
        lambda url: Mistral(api_key="none", server_url=url),
        lambda client: client.chat.stream(model="m", messages=MESSAGES),
    ),
    "ollama": (
        ollama.Client,
        lambda client: client.chat(model="m", messages=MESSAGES, stream=True),
    ),
    "openai-chat": (
        _openai,
        lambda client: client.chat.completions.create(stream=True, model="m", messages=MESSAGES),
    ),
    "openai-responses": (
        _openai,
        lambda client: client.responses.create(stream=True, model="m", input="go"),
    ),
}
"""By provider: the client, and the stream that it opens."""


def plain(native: Any) -> Any:
    """An object as dicts, without what a client adds of the response's headers."""
    if isinstance(native, dict):
        return native
    dumped = native.model_dump(mode="json", exclude_unset=True, warnings=False)
    return {name: value for name, value in dumped.items() if not name.startswith("sdk_")}


@pytest.mark.parametrize("provider", CLIENTS)
@pytest.mark.parametrize("reply", [TOLD, TOLD.stop("truncated")], ids=["complete", "truncated"])
def test_the_objects_are_those_of_the_real_client(provider: str, reply: Reply) -> None:
    """The client reads a reply's bytes, and hands out what `to_objects` gives."""
    connect, open_stream = CLIENTS[provider]
    with FaultServer(reply.to_recording(provider)) as server, connect(server.base_url) as client:
        came = list(open_stream(client))
    made = reply.to_objects(provider)
    assert [type(one) for one in came] == [type(one) for one in made]
    assert [plain(one) for one in came] == [plain(one) for one in made]
    assert outcomes(settle(came, None)) == expected(reply, provider, "objects")


@pytest.mark.parametrize("provider", ["anthropic", "openai-chat", "openai-responses"])
def test_a_helper_can_build_its_message(provider: str) -> None:
    """The SDKs' own accumulators take a rendered reply and end with its calls."""
    with FaultServer(GOOD.usage(input_tokens=9, output_tokens=20).to_recording(provider)) as server:
        connect, _ = CLIENTS[provider]
        with connect(server.base_url) as client:
            match provider:
                case "anthropic":
                    opened = client.messages.stream(model="m", max_tokens=99, messages=MESSAGES)
                    with opened as stream:
                        args = stream.get_final_message().content[-1].input
                case "openai-chat":
                    with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
                        message = stream.get_final_completion().choices[0].message
                        args = json.loads(message.tool_calls[0].function.arguments)
                case _:
                    with client.responses.stream(model="m", input="go") as stream:
                        args = json.loads(stream.get_final_response().output[-1].arguments)
    assert args == {"title": "Sète 🌊"}


def test_a_server_with_faults_takes_a_reply() -> None:
    """A connection that is lost in the middle of a reply fails its call."""
    script = GOOD.to_recording("anthropic").to_script().with_faults(cut_after(11, CloseAbruptly()))
    connect, open_stream = CLIENTS["anthropic"]
    with FaultServer(script) as server, connect(server.base_url) as client:
        turn = settle(open_stream(client), None)
    assert turn.ending is not None
    assert turn.ending.cause is Cause.DISCONNECTED
    assert [outcome[2] for outcome in outcomes(turn)] == ["abandoned"]


def test_objects_are_made_of_events_alone() -> None:
    """`[DONE]` is no object: clients keep it to themselves."""
    assert len(to_objects("openai-chat", GOOD.to("openai-chat"))) == len(GOOD.to("openai-chat")) - 1
