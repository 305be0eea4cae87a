"""Streams whose calls an SDK runs itself, or that come to hand too late: recognised and refused.

One row each: how it looks, and one sentence that says why it is refused and what to wrap instead.
A call that somebody else runs must not be dispatched a second time. Nothing is settled here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, final

from finalcall.narrow import is_mapping
from finalcall.providers.gemini_calling import shows_calling, will_run_calls
from finalcall.providers.native import read, read_text

Look: TypeAlias = Callable[[Any], bool]
"""Whether an object or a dict looks like a row's."""


@final
class Refusal(NamedTuple):
    """One row of the table.

    Attributes:
        name: Whose stream it is.
        looks: Whether an event, or a stream, is its.
        sentence: Why it is refused, and what to wrap instead.
    """

    name: str
    looks: Look
    sentence: str


def _has(node: Any, *names: str) -> bool:
    """Whether a dict or an object has all of these fields, even if they are `None`."""
    if is_mapping(node):
        return all(name in node for name in names)
    # Looked up, not asked for: a property of a stream may run code, and raise.
    fields = getattr(node, "__dict__", ())
    return all(name in fields or _declares(node.__class__, name) for name in names)


@functools.lru_cache(maxsize=4096)
def _declares(kind: Any, name: str) -> bool:
    """Whether a class or one of its bases has an attribute of this name."""
    return any(name in vars(base) for base in kind.__mro__)


def _says(field: str, words: frozenset[str]) -> Look:
    """A look at one field that holds one of these words."""
    return lambda native: read_text(native, field) in words


def _with(*names: str) -> Look:
    """A look at which fields or methods there are."""
    return lambda native: _has(native, *names)


_AG_UI: Final = frozenset(
    {
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_CHUNK",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_CHUNK",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "MESSAGES_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "RAW",
        "CUSTOM",
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "STEP_STARTED",
        "STEP_FINISHED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_MESSAGE_CHUNK",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
        "SUBAGENT_STARTED",
        "SUBAGENT_FINISHED",
        "SUBAGENT_ERROR",
    }
)
"""Every `EventType` of the protocol."""

_VERCEL: Final = frozenset(
    {
        "start",
        "start-step",
        "finish-step",
        "reset-step",
        "finish",
        "abort",
        "message-metadata",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "source-url",
        "source-document",
        "file",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-input-error",
        "tool-approval-request",
        "tool-approval-response",
        "tool-output-available",
        "tool-output-error",
        "tool-output-denied",
    }
)
"""Part types of version 1 of the UI message stream."""

_OPENAI_AGENTS: Final = frozenset(
    {"raw_response_event", "run_item_stream_event", "agent_updated_stream_event"}
)
_LANGCHAIN_PROTOCOL: Final = frozenset(
    {
        "message-start",
        "content-block-start",
        "content-block-delta",
        "content-block-finish",
        "message-finish",
        "tool-started",
        "tool-output-delta",
        "tool-finished",
        "tool-error",
    }
)
_LANGGRAPH_MODES: Final = frozenset(
    {"messages", "updates", "values", "custom", "debug", "tasks", "checkpoints"}
)
_CLAUDE_TYPES: Final = frozenset({"stream_event", "assistant", "user", "system", "result"})


def _is_pydantic_ai(native: Any) -> bool:
    return bool(read_text(native, "event_kind"))


def _is_vercel(native: Any) -> bool:
    kind = read_text(native, "type")
    return kind in _VERCEL or kind.startswith("data-")


def _is_claude_agent(native: Any) -> bool:
    if is_mapping(native):
        return read_text(native, "type") in _CLAUDE_TYPES and "session_id" in native
    return (
        _has(native, "parent_tool_use_id", "uuid")
        or _has(native, "subtype", "data")
        or _has(native, "subtype", "num_turns")
        or _has(native, "rate_limit_info", "session_id")
    )


def _is_langgraph(native: Any) -> bool:
    """A pair of a stream mode and its payload, or of a chunk and what ran it."""
    if not isinstance(native, tuple):
        return False
    parts: list[Any] = list(native)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(parts[0] if parts else None, str):
        return parts[0] in _LANGGRAPH_MODES
    origin = parts[-1] if len(parts) > 1 else None
    return is_mapping(origin) and any(str(name).startswith("langgraph_") for name in origin)


def _is_langchain_event(native: Any) -> bool:
    name = read_text(native, "event")
    return (name.startswith("on_") and _has(native, "run_id")) or name in _LANGCHAIN_PROTOCOL


def _is_whole_langchain_message(native: Any) -> bool:
    return read_text(native, "type") == "ai" and _has(native, "tool_calls", "response_metadata")


def _is_mistral_run(native: Any) -> bool:
    if "run_stream_async" in str(getattr(native, "__qualname__", "")):
        return True
    kind = read_text(native, "type") or read_text(read(native, "data"), "type")
    return kind == "function.result" or _has(native, "input_entries", "output_entries")


def _is_whole_anthropic_message(native: Any) -> bool:
    return read_text(native, "type") == "message" and _has(native, "content", "stop_reason")


_RUNNER: Final = (
    "the Anthropic tool runner runs the tools itself, so its calls must not be dispatched again: "
    "wrap client.messages.create(stream=True) or client.messages.stream() instead"
)
_AGENTS: Final = (
    "the OpenAI Agents SDK runs the tools itself, and its events say `completed` even of a cut "
    "response: wrap the model's own stream, client.responses.create(stream=True), instead"
)
_PYDANTIC_AI: Final = (
    "Pydantic AI runs the tools itself and ends a part when the next one begins, so its events "
    "prove no call whole: wrap the stream of the model's own SDK instead"
)
_CLAUDE: Final = (
    "the Claude Agent SDK runs the tools itself and gives every call twice: wrap "
    "client.messages.create(stream=True) of the anthropic SDK instead"
)
_GEMINI: Final = (
    "google-genai calls the functions itself: pass their declarations instead of Python callables, "
    "or automatic_function_calling with disable=True, and wrap generate_content_stream() of that"
)
_MISTRAL: Final = (
    "Mistral's run_stream_async runs the tools itself, so its calls must not be dispatched again: "
    "wrap client.beta.conversations.start_stream() or client.chat.stream() instead"
)

STREAMS: Final = (
    Refusal(
        "Anthropic tool runner",
        _with("until_done", "generate_tool_call_response"),
        _RUNNER,
    ),
    Refusal("OpenAI Agents SDK", _with("stream_events", "to_input_list"), _AGENTS),
    Refusal("Pydantic AI", _with("all_messages", "new_messages", "run_id"), _PYDANTIC_AI),
    Refusal("Claude Agent SDK", _with("receive_messages", "receive_response"), _CLAUDE),
    Refusal("Mistral run_stream", _is_mistral_run, _MISTRAL),
    Refusal("Gemini automatic function calling", will_run_calls, _GEMINI),
)
"""What people hold and may hand over in place of a stream."""

EVENTS: Final = (
    Refusal("Pydantic AI", _is_pydantic_ai, _PYDANTIC_AI),
    Refusal("OpenAI Agents SDK", _says("type", _OPENAI_AGENTS), _AGENTS),
    Refusal("Claude Agent SDK", _is_claude_agent, _CLAUDE),
    Refusal(
        "Anthropic tool runner",
        _with("get_final_message", "until_done"),
        _RUNNER,
    ),
    Refusal("Anthropic tool runner", _is_whole_anthropic_message, _RUNNER),
    Refusal(
        "Gemini automatic function calling",
        shows_calling,
        _GEMINI,
    ),
    Refusal(
        "LangGraph",
        _is_langgraph,
        "a LangGraph graph runs the tools itself: wrap the model's own stream, model.stream(), "
        "inside the node that calls it",
    ),
    Refusal(
        "LangChain events",
        _is_langchain_event,
        "LangChain's event stream wraps the model's chunks among a whole run's events, and its "
        "protocol form parses calls tolerantly: wrap the model's own stream, model.stream() or "
        "model.astream(), instead",
    ),
    Refusal(
        "whole LangChain message",
        _is_whole_langchain_message,
        "a LangChain model that cannot stream gives one message whose calls are parsed already, "
        "so their text is gone: wrap the stream of a model that streams instead",
    ),
    Refusal(
        "AG-UI",
        _says("type", _AG_UI),
        "AG-UI events come from an agent that has run its tools and carry no stop reason that "
        "would prove a call whole: wrap the model's own stream, where the agent calls it",
    ),
    Refusal(
        "Vercel AI UI message stream",
        _is_vercel,
        "a Vercel AI UI message stream comes from a server that has parsed the calls and may have "
        "run them: wrap the model's own stream, on that server",
    ),
)
"""What such a stream yields."""


def refusal(native: Any) -> str | None:
    """Why an event is not accepted, and what to wrap instead.

    Args:
        native: An event of a stream.

    Returns:
        One sentence, or `None` where nothing is known against it.
    """
    return _find((*EVENTS, *STREAMS), native)


def refusal_of_stream(stream: Any) -> str | None:
    """Why a stream is not accepted, before anything of it is read.

    Args:
        stream: What was handed over as a stream.

    Returns:
        One sentence, or `None` where nothing is known against it.
    """
    return _find(STREAMS, stream)


def _find(rows: tuple[Refusal, ...], native: Any) -> str | None:
    if native is None or isinstance(native, str | bytes):
        return None
    return next((row.sentence for row in rows if row.looks(native)), None)
