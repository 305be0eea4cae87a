"""The table of providers: one row each. A new provider is one file, one fixture folder, one row."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast, final

from finalcall.narrow import is_mapping
from finalcall.providers.base import Provider
from finalcall.providers.native import read_text

__all__ = ["PROVIDERS", "UnrecognisedStream", "provider_named", "recognise"]

_NAMES: Final = (
    "anthropic",
    "openai-responses",
    "bedrock-converse",
    "gemini-interactions",
    "gemini",
    "cohere",
    "ollama",
    "xai",
    "mistral",
    "langchain",
    "openai-chat",  # last: it also takes an error that says no more
)
_BY_OBJECT: Final = {"chat.completion.chunk": "openai-chat"}
"""What events call themselves that are nobody else's, though their row is asked late."""


@final
class _Table(Mapping[str, Provider]):
    """The rows by name. A row's module is loaded when it is first asked, for most need few."""

    def __getitem__(self, name: str) -> Provider:
        if name not in _NAMES:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
        row: Provider = module.PROVIDER
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


PROVIDERS: Final[Mapping[str, Provider]] = _Table()
"""By name. Recognition asks the rows in this order."""


@final
class UnrecognisedStream(ValueError):  # noqa: N818 - the name says what happened
    """The first event of a stream is no known provider's. Nothing of the stream was settled."""


def provider_named(name: str) -> Provider:
    """Look a provider up.

    Raises:
        ValueError: There is none of that name.
    """
    try:
        return PROVIDERS[name]
    except KeyError:
        raise ValueError(
            f"unknown provider {name!r}; known are {', '.join(sorted(PROVIDERS))}"
        ) from None


def recognise(native: Any) -> Provider:
    """Tell whose stream it is from its first event.

    Raises:
        UnrecognisedStream: No provider's; the message says what was seen, without its content.
    """
    if name := _BY_OBJECT.get(read_text(native, "object")):
        return PROVIDERS[name]
    for row in PROVIDERS.values():
        if row.recognises(native):
            return row
    if isinstance(native, tuple):
        raise UnrecognisedStream(
            "what was given hands out pairs of a field and its value, as a whole response does: "
            "expected its stream (was stream=True passed?)"
        )
    raise UnrecognisedStream(
        f"the stream's first event, {_shape(native)}, is no known provider's; pass provider= one "
        f"of {', '.join(sorted(PROVIDERS))}, and wrap the SDK's own stream, an iterator of its "
        "dicts or of its bytes"
    )


def _shape(native: Any) -> str:
    """What an event looks like, names of fields only."""
    if is_mapping(native):
        names = sorted(str(name)[:40] for name in native)[:8]
        kind = native.get("type")
        typed = f" of type {kind[:60]!r}" if isinstance(kind, str) else ""
        return f"a dict{typed} with the keys {', '.join(names) or 'none'}"
    cls = type(cast("object", native))
    return f"a {cls.__module__}.{cls.__qualname__}"
