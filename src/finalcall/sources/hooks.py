"""Lets a turn reach the response of a client that shows it to nobody, by the client's own hook.

`google-genai`, `cohere` and `ollama` return plain generators. Their HTTP client takes a function
that is called with each response: with `hear` there (`ahear` for an asynchronous one), the turn
that reads the generator hears its bytes and can wake it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

_LISTENER: Final[ContextVar[Callable[[Any], None] | None]] = ContextVar("_LISTENER", default=None)


def listen(found: Callable[[Any], None]) -> None:
    """In this thread or task, be given each response that a hook hears of.

    Args:
        found: Called with the response, before its body is read.
    """
    _LISTENER.set(found)


def hear(response: Any) -> None:
    """Show a response to the turn that reads its stream, if there is one.

    Args:
        response: An HTTP response whose body was not read yet. Put this function among the
            response hooks of a synchronous client:
            `httpx.Client(event_hooks={"response": [hear]})`.
    """
    found = _LISTENER.get()
    if found is not None:
        found(response)


async def ahear(response: Any) -> None:
    """The same for an asynchronous client.

    Args:
        response: As for `hear`: `httpx.AsyncClient(event_hooks={"response": [ahear]})`.
    """
    hear(response)
