"""Native dicts made into the objects of each provider's own SDK, which is loaded when it is asked.

Objects are built as the SDKs build them, without judging what is in them: a reply may hold what
their types do not foresee. `[DONE]` makes none: the clients keep it to themselves.
"""

from __future__ import annotations

import functools
import importlib
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

Natives: TypeAlias = Sequence[dict[str, Any]]


@final
class _SDK(NamedTuple):
    """How an SDK's objects are made.

    Attributes:
        extra: The extra of this package that installs it.
        make: Makes the objects of one stream.
    """

    extra: str
    make: Callable[[Natives], list[Any]]


def to_objects(provider: str, natives: Sequence[Any]) -> list[Any]:
    """Native events as the provider's SDK hands them out.

    Args:
        provider: Whose.
        natives: Its events as dicts, and strings such as `[DONE]`.

    Raises:
        ImportError: The SDK is not installed, or too old; the message names the extra.
    """
    sdk = _SDKS[provider]
    try:
        return sdk.make([native for native in natives if not isinstance(native, str)])
    except ImportError as error:
        raise ImportError(
            f"the SDK objects of {provider!r} need the package {error.name!r}, which is not "
            f"installed, or too old: pip install 'finalcall[{sdk.extra}]'"
        ) from error


def _anthropic(natives: Natives) -> list[Any]:
    union = _load("anthropic.types", "RawMessageStreamEvent")
    return _constructed(natives, _members(union))


def _responses(natives: Natives) -> list[Any]:
    union = _load("openai.types.responses", "ResponseStreamEvent")
    return _constructed(natives, _members(union))


def _constructed(natives: Natives, classes: Mapping[str, Any]) -> list[Any]:
    """Objects of the class that has the event's type, as the clients construct them."""
    return [classes[native["type"]].construct(**native) for native in natives]


def _chat(natives: Natives) -> list[Any]:
    chunk = _load("openai.types.chat", "ChatCompletionChunk")
    return [chunk.construct(**native) for native in natives]


def _gemini(natives: Natives) -> list[Any]:
    response = _load("google.genai.types", "GenerateContentResponse")
    return [response.model_validate(native) for native in natives]


def _interactions(natives: Natives) -> list[Any]:
    validate = _validator(_load("google.genai.interactions", "InteractionSSEEvent"))
    return [validate(native) for native in natives]


def _bedrock(natives: Natives) -> list[Any]:
    """The client hands out dicts."""
    return list(natives)


def _mistral(natives: Natives) -> list[Any]:
    event = _load("mistralai.client.models", "CompletionEvent")
    return [event.model_validate({"data": native}) for native in natives]


def _cohere(natives: Natives) -> list[Any]:
    construct = _load("cohere.core.unchecked_base_model", "construct_type")
    union = _load("cohere.v2.types", "V2ChatStreamResponse")
    return [construct(type_=union, object_=native) for native in natives]


def _ollama(natives: Natives) -> list[Any]:
    response = _load("ollama", "ChatResponse")
    return [response(**native) for native in natives]


def _xai(natives: Natives) -> list[Any]:
    """Pairs of the reply so far and the increment, as a chat's stream yields them."""
    parse = _load("google.protobuf.json_format", "ParseDict")
    chat = importlib.import_module("xai_sdk.chat")
    protocol = importlib.import_module("xai_sdk.proto").chat_pb2
    begun = protocol.GetChatCompletionResponse(outputs=[protocol.CompletionOutput()])
    reply = chat.Response(begun, None)
    pairs: list[Any] = []
    for native in natives:
        increment = parse(native, protocol.GetChatCompletionChunk())
        reply.process_chunk(increment)
        pairs.append((reply, chat.Chunk(increment, None)))
    return pairs


_SDKS: Final[Mapping[str, _SDK]] = {
    "anthropic": _SDK("anthropic", _anthropic),
    "bedrock-converse": _SDK("bedrock", _bedrock),
    "cohere": _SDK("cohere", _cohere),
    "gemini": _SDK("google", _gemini),
    "gemini-interactions": _SDK("google", _interactions),
    "mistral": _SDK("mistral", _mistral),
    "ollama": _SDK("ollama", _ollama),
    "openai-chat": _SDK("openai", _chat),
    "openai-responses": _SDK("openai", _responses),
    "xai": _SDK("xai", _xai),
}


def _load(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


@functools.cache
def _members(union: Any) -> dict[str, Any]:
    """The classes of an annotated union, by the type that each stands for."""
    classes = typing.get_args(typing.get_args(union)[0])
    return {
        kind: one
        for one in classes
        for kind in typing.get_args(one.model_fields["type"].annotation)
    }


@functools.cache
def _validator(union: Any) -> Callable[[Any], Any]:
    """What builds an object of a union: kept, for it takes seconds to be made."""
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(union)
    return adapter.validate_python
