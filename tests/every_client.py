"""Every provider's real client, synchronous and asynchronous, and the stream that it opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anthropic
import boto3
import cohere
import httpx
import ollama
import openai
from google import genai
from google.genai import types as google
from mistralai.client import Mistral

MESSAGES: Any = [{"role": "user", "content": "go"}]


class Client(NamedTuple):
    """How a provider's client is made, opens a stream and is closed."""

    connect: Callable[[str], Any]
    stream: Callable[[Any], Any]
    connect_async: Callable[[str], Any]
    stream_async: Callable[[Any], Any]
    close: Callable[[Any], Any] = lambda client: client.close()
    close_async: Callable[[Any], Any] = lambda client: client.close()


def _bedrock(url: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )


def _converse(client: Any) -> Any:
    messages = [{"role": "user", "content": [{"text": "go"}]}]
    return client.converse_stream(modelId="m", messages=messages)["stream"]


def _cohere(url: str) -> Any:
    return cohere.ClientV2("none", base_url=url, httpx_client=httpx.Client())


def _cohere_async(url: str) -> Any:
    return cohere.AsyncClientV2("none", base_url=url, httpx_client=httpx.AsyncClient())


def _close_cohere(client: Any) -> Any:
    """Its own client holds the HTTP client that it was given."""
    return client._client_wrapper.httpx_client.httpx_client.close()


async def _aclose_cohere(client: Any) -> None:
    await client._client_wrapper.httpx_client.httpx_client.aclose()


def _google(url: str) -> Any:
    return genai.Client(api_key="none", http_options=google.HttpOptions(base_url=url))


def _mistral(url: str) -> Any:
    return Mistral(api_key="none", server_url=url)


def _openai(url: str) -> Any:
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0)


def _openai_async(url: str) -> Any:
    return openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)


def _messages(client: Any) -> Any:
    return client.messages.create(stream=True, model="m", max_tokens=99, messages=MESSAGES)


def _chat_stream(client: Any) -> Any:
    return client.chat_stream(model="m", messages=MESSAGES)


def _generate(client: Any) -> Any:
    return client.models.generate_content_stream(model="m", contents="go")


def _interact(client: Any) -> Any:
    return client.interactions.create(model="m", input="go", stream=True)


def _chat(client: Any) -> Any:
    return client.chat(model="m", messages=MESSAGES, stream=True)


def _complete(client: Any) -> Any:
    return client.chat.completions.create(stream=True, model="m", messages=MESSAGES)


def _respond(client: Any) -> Any:
    return client.responses.create(stream=True, model="m", input="go")


async def _close_google(client: Any) -> None:
    await client.aio.aclose()
    client.close()


def _leave(client: Any) -> None:
    client.__exit__(None, None, None)


async def _aleave(client: Any) -> None:
    await client.__aexit__(None, None, None)


async def _close_now(client: Any) -> None:
    client.close()


EVERY_CLIENT: Mapping[str, Client] = {
    "anthropic": Client(
        lambda url: anthropic.Anthropic(base_url=url, api_key="none", max_retries=0),
        _messages,
        lambda url: anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0),
        _messages,
    ),
    # Its client has no asynchronous form; turns of both kinds take its stream.
    "bedrock-converse": Client(_bedrock, _converse, _bedrock, _converse, close_async=_close_now),
    "cohere": Client(
        _cohere, _chat_stream, _cohere_async, _chat_stream, _close_cohere, _aclose_cohere
    ),
    # Its asynchronous half lives as long as the client does.
    "gemini": Client(
        _google,
        _generate,
        _google,
        lambda client: _generate(client.aio),
        close_async=_close_google,
    ),
    "gemini-interactions": Client(
        _google,
        _interact,
        _google,
        lambda client: _interact(client.aio),
        close_async=_close_google,
    ),
    "mistral": Client(
        _mistral,
        lambda client: client.chat.stream(model="m", messages=MESSAGES),
        _mistral,
        lambda client: client.chat.stream_async(model="m", messages=MESSAGES),
        _leave,
        _aleave,
    ),
    "ollama": Client(ollama.Client, _chat, ollama.AsyncClient, _chat),
    "openai-chat": Client(_openai, _complete, _openai_async, _complete),
    "openai-responses": Client(_openai, _respond, _openai_async, _respond),
}
"""By provider. xAI's client speaks gRPC, which the loopback server does not."""
