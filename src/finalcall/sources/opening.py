"""A request that a turn makes itself: the call, and what its parameters say about the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, final

from finalcall.narrow import is_mapping

CEILINGS: Final[tuple[tuple[str, ...], ...]] = (
    ("max_tokens",),
    ("max_completion_tokens",),
    ("max_output_tokens",),
    ("config", "max_output_tokens"),
    ("inferenceConfig", "maxTokens"),
    ("options", "num_predict"),
)
"""Where requests of the providers' clients say how many tokens the reply may have."""

TOOLS: Final[tuple[tuple[str, ...], ...]] = (
    ("tools",),
    ("config", "tools"),
    ("toolConfig", "tools"),
)
"""Where they say which tools are on offer."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Opening:
    """A request not yet made.

    Attributes:
        create: The client's method.
        arguments: Its positional arguments.
        parameters: Its keyword arguments.
    """

    create: Callable[..., Any]
    arguments: tuple[Any, ...]
    parameters: Mapping[str, Any]

    def __call__(self) -> Any:
        """Make the request."""
        return self.create(*self.arguments, **self.parameters)


def request_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Read `tools` and `ceiling` from a request's parameters.

    Args:
        parameters: The keyword arguments of a client's method.

    Returns:
        Options for a turn; `tools` is `None` where the request offers none.
    """
    ceiling = _first(parameters, CEILINGS)
    options: dict[str, Any] = {"tools": _first(parameters, TOOLS)}
    if isinstance(ceiling, int) and ceiling > 0:
        options["ceiling"] = ceiling
    return options


def _first(parameters: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> Any:
    for path in paths:
        node: Any = parameters
        for name in path:
            node = node.get(name) if is_mapping(node) else getattr(node, name, None)
        if node is not None and isinstance(node, int | list | tuple):
            return cast("Any", node)
    return None
