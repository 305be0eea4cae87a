"""Hand-written Gemini response chunks, and the settler that takes them."""

from __future__ import annotations

from typing import Any

from google.genai import types

from finalcall import Settler
from tests.expectation import Settled, settled

ARGUMENTS = {"port": "Brest"}
GOOD: Settled = (None, "get_tide", "dispatchable", ARGUMENTS)
"""The outcome of the one call that most tests make."""


def chunk(*parts: dict[str, Any], reason: Any = None, **more: Any) -> dict[str, Any]:
    """One response chunk with one candidate."""
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], **more}


def call(name: str = "get_tide", args: Any = ARGUMENTS, **more: Any) -> dict[str, Any]:
    """A part with a whole call; `more` are fields of the call."""
    return {"functionCall": {"name": name, "args": args, **more}}


def opened(name: str = "get_tide", **more: Any) -> dict[str, Any]:
    """A part that opens a call whose arguments stream."""
    return {"functionCall": {"name": name, "willContinue": True, **more}}


def piece(*entries: Any, goes_on: bool = True, **more: Any) -> dict[str, Any]:
    """A part with paths and values of the call that streams."""
    inner: dict[str, Any] = {"partialArgs": list(entries), **more}
    return {"functionCall": {**inner, "willContinue": True} if goes_on else inner}


def string(path: str, text: Any, *, goes_on: bool = False) -> dict[str, Any]:
    """A path with a piece of a string."""
    entry = {"jsonPath": path, "stringValue": text}
    return {**entry, "willContinue": True} if goes_on else entry


def number(path: str, value: Any) -> dict[str, Any]:
    """A path with a number."""
    return {"jsonPath": path, "numberValue": value}


CLOSE: dict[str, Any] = {"functionCall": {}}
"""The part that ends a streamed call."""

STOP = chunk(reason="STOP")


def answer(name: str = "get_tide", role: str = "model", **more: Any) -> dict[str, Any]:
    """A chunk with the response to a call that somebody else ran."""
    response = {"name": name, "response": {"output": "high"}, **more}
    made = chunk({"functionResponse": response})
    made["candidates"][0]["content"]["role"] = role
    return made


def settle(*chunks: Any, **options: Any) -> Settler:
    """Feed chunks to a settler, then end it."""
    settler = Settler("gemini", **{"tools": None, "choices": "all", **options})
    for one in chunks:
        settler.feed(one)
    settler.end()
    return settler


def outcomes(settler: Settler) -> list[Settled]:
    return [settled(outcome) for outcome in settler.outcomes]


def kinds(settler: Settler) -> list[str]:
    return [outcome[2] for outcome in outcomes(settler)]


def names(settler: Settler) -> set[str]:
    """The anomalies, but for the one that most of these calls have."""
    return {anomaly.name for anomaly in settler.anomalies} - {"no_call_id"}


def as_object(native: dict[str, Any]) -> types.GenerateContentResponse:
    """A chunk as the SDK gives it."""
    return types.GenerateContentResponse._from_response(response=native, kwargs={})
