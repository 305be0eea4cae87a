"""Errors that a service reports in its stream, in whatever form.

Asked of events that are of no known kind: a gateway, a router or a server's own framework answers
in a form of its own, whatever the service's events look like. Beside content that is known far
less counts as an error.
"""

from __future__ import annotations

from typing import Any, Final

from finalcall.narrow import is_array, is_mapping
from finalcall.providers.native import read, read_text

_KINDS: Final = ("type", "event_type", "object")
"""Fields by which an event says that it is an error."""

_LOOSE_KINDS: Final = (*_KINDS, "event", "status")
"""The same of an event that has no type: of others a status may be that of what they tell of."""

_SIGNS: Final = ("detail", "error_code", "error_msg")
"""Fields that only errors have: FastAPI's, and Baidu's."""

_NO_CODES: Final = (200, "200", "0")
"""Codes that say that all is well."""

_CODES: Final = ("code", "error_code", "status_code", "type", "status")
"""Fields of an error that say which it is, the best first."""


def error_in(native: Any) -> Any:
    """The error that an event of no known kind reports, or that event; `None` where it has none.

    An event that has a type says by that alone whether it is an error.
    """
    typed = read_text(native, "type") or read_text(native, "event_type")
    named = any(_names_error(read(native, kind)) for kind in (_KINDS if typed else _LOOSE_KINDS))
    if typed and not named:
        return None
    error = read(native, "error")
    if error is not None and error is not False:
        return error
    if errors := read(native, "errors"):
        return errors[0] if is_array(errors) else errors
    if (
        named
        or read(native, "success") is False
        or any(_is_bad(read(native, sign)) for sign in _SIGNS)
        or (_is_bad(read(native, "code")) and read_text(native, "message"))
    ):
        return native
    name = next(iter(native)) if is_mapping(native) and len(native) == 1 else None
    return {"code": name} if is_exception(name) else error_beside(native)


def error_beside(native: Any) -> Any:
    """The error that an event reports beside what it brings; `None` where it has none.

    Some gateways put one beside good content of which every field is blank.
    """
    error = read(native, "error")
    if error and not (is_mapping(error) and not any(error.values())):
        return error
    status = read(native, "base_resp")  # MiniMax's own; its code is 0 where all is well
    if _is_bad(read(status, "status_code")):
        return status
    return native if "error" in (read(native, "object"), read(native, "type")) else None


def is_exception(name: Any) -> bool:
    """Whether a frame's name is that of one of AWS's exceptions, such as `throttlingException`."""
    return isinstance(name, str) and name.endswith(("Exception", "Error"))


def error_code(error: Any) -> str:
    """The type or code of a provider's error object: never its message, which may quote text."""
    for name in _CODES:
        value = read(error, name)
        if _is_code(value):
            return str(value)[:80]
    return "error"


def _names_error(kind: Any) -> bool:
    return isinstance(kind, str) and (kind == "error" or kind.endswith("_error"))


def _is_bad(code: Any) -> bool:
    # Its type is asked last: a type checker would say of a list that it does not know of what.
    return bool(code) and code not in _NO_CODES and isinstance(code, str | int | list | dict)


def _is_code(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < 10**9  # longer ones are no codes, and may not even be printable
    return isinstance(value, str) and value not in ("", "error")
