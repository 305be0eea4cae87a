"""Whether Google's SDK runs the calls of a stream itself: automatic function calling.

With Python callables or MCP sessions as tools, it runs every call and streams the next answer in
the same iterator. The first answer shows nothing of that, and the call has run before it is seen.
"""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Final

from finalcall.narrow import is_array, is_mapping
from finalcall.providers.native import read, read_either, read_list

_METHODS: Final = ("generate_content_stream", "send_message_stream")
_FRAMES: Final = ("gi_frame", "ag_frame", "cr_frame")
_CONFIGS: Final = ("config", "parsed_config", "method_config")
"""What the SDK's methods call the request's configuration."""


def will_run_calls(stream: Any) -> bool:
    """Whether a stream of the SDK's was asked for with tools that the SDK runs itself.

    The SDK's streams are generators, which hold what they were called with until they are done.

    Args:
        stream: What was handed over as a stream, or the awaitable of one; nothing is read of it.
    """
    if not isinstance(stream, GeneratorType | AsyncGeneratorType | CoroutineType):
        return False
    frame = next((found for name in _FRAMES if (found := read(stream, name)) is not None), None)
    code = read(frame, "f_code")
    if not any(method in str(read(code, "co_qualname")) for method in _METHODS):
        return False
    names = read(frame, "f_locals")
    held = dict(names) if is_mapping(names) else {}
    configs = [held.get(name) for name in _CONFIGS]
    configs.append(read(held.get("self"), "_config"))  # a chat keeps one for all its requests
    return _calls(next((config for config in configs if config is not None), None))


def _calls(config: Any) -> bool:
    calling = read_either(config, "automaticFunctionCalling", "automatic_function_calling")
    most = read_either(calling, "maximumRemoteCalls", "maximum_remote_calls")
    if read(calling, "disable") is True or (isinstance(most, int) and most <= 0):
        return False
    return any(callable(tool) or hasattr(tool, "call_tool") for tool in read_list(config, "tools"))


def shows_calling(response: Any) -> bool:
    """Whether a response carries the history of calls that the SDK has run."""
    history = read_either(
        response, "automaticFunctionCallingHistory", "automatic_function_calling_history"
    )
    return is_array(history) and bool(history)
