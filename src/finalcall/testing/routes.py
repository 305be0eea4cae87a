"""Which provider a request asks, told from its path: one table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

from finalcall.narrow import is_object


@final
@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that the server got.

    Attributes:
        method: Such as `POST`.
        path: With the query, as sent.
        headers: By name in lower case.
        body: As sent.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body parsed as JSON.

        Raises:
            ValueError: The body is not JSON.
        """
        return json.loads(self.body)


@final
class Refusal(NamedTuple):
    """Why a request is not answered with a stream.

    Attributes:
        status: The HTTP status.
        phrase: What that status means.
        sentence: What was found, what was expected, what to do.
    """

    status: int
    phrase: str
    sentence: str


@final
class Route(NamedTuple):
    """The requests of one provider.

    Attributes:
        path: What the path ends with, without the query.
        provider: The provider.
        agent: What the client's user agent begins with, where the path is another's too.
        streams: What the body's `stream` must be: true, or no more than not false; `None` where
            the path says it.
    """

    path: str
    provider: str
    agent: str = ""
    streams: bool | None = True


ROUTES: Final = (
    Route("/v1/messages", "anthropic"),
    Route("/chat/completions", "mistral", agent="mistral"),
    Route("/chat/completions", "openai-chat"),
    Route("/responses", "openai-responses"),
    Route(":streamGenerateContent", "gemini", streams=None),
    Route("/interactions", "gemini-interactions"),
    Route("/v2/chat", "cohere"),
    Route("/api/chat", "ollama", streams=False),
    Route("/converse-stream", "bedrock-converse", streams=None),
)
"""The first that fits is taken. Mistral's path is OpenAI's: its client tells its name."""


def provider_of(request: RecordedRequest) -> str | Refusal:
    """The provider whose client sends a request.

    Args:
        request: The request.

    Returns:
        The provider's name, or why there is none.
    """
    route = _route(request)
    if route is not None:
        return route.provider
    known = ", ".join(f"{row.path} ({row.provider})" for row in ROUTES)
    return Refusal(
        404,
        "Not Found",
        f"no provider has the path {_path(request)}; expected one ending in {known}",
    )


def refuse_unstreamed(request: RecordedRequest) -> Refusal | None:
    """Refuse a request whose answer is not to be streamed.

    Args:
        request: The request.

    Returns:
        Why it is refused; `None` where it is not, or where its path is nobody's.
    """
    route = _route(request)
    if route is None or route.streams is None:
        return None
    try:
        body = request.json
    except ValueError:
        body = None
    asked = body.get("stream") if is_object(body) else None
    if asked is True or (asked is None and not route.streams):
        return None
    return Refusal(
        400,
        "Bad Request",
        f"the request to {_path(request)} does not ask for a stream; this server only streams: "
        "expected a body with stream=true",
    )


def _route(request: RecordedRequest) -> Route | None:
    agent = request.headers.get("user-agent", "")
    path = _path(request)
    return next((x for x in ROUTES if path.endswith(x.path) and agent.startswith(x.agent)), None)


def _path(request: RecordedRequest) -> str:
    return re.split(r"[?#]", request.path, maxsplit=1)[0]
