"""Takes out of a recorded event what must not be kept: credentials always, values on request.

An event is walked by the names of its fields. Text that comes in pieces is followed from event to
event, so that a credential, or a sensitive field, is found wherever it is cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from finalcall.narrow import is_array, is_mapping
from finalcall.testing.hiding import JSONMask, masked_text
from finalcall.testing.recordings import RecordedEvent
from finalcall.tools import ToolSet

CREDENTIALS: Final = frozenset(
    {
        "accesstoken",
        "apikey",
        "authorization",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "cookie",
        "credential",
        "credentials",
        "idtoken",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "proxyauthorization",
        "pwd",
        "refreshtoken",
        "secret",
        "secretaccesskey",
        "secretkey",
        "sessiontoken",
        "setcookie",
        "token",
        "xamzsecuritytoken",
        "xapikey",
        "xgoogapikey",
    }
)
"""Names whose values are masked, in lower case and without `-` and `_`."""

_ENDINGS: Final = (
    "accesstoken",
    "apikey",
    "authtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretaccesskey",
    "secretkey",
    "sessiontoken",
)
"""Ends of names whose values are masked, whatever is before them, as in `OPENAI_API_KEY`."""

_STRUCTURE: Final = frozenset(
    {
        "blockReason",
        "call_id",
        "chunk_position",
        "created_at",
        "createTime",
        "done_reason",
        "encryptedContent",
        "encrypted_content",
        "event_type",
        "execution",
        "finishReason",
        "finish_reason",
        "id",
        "item_id",
        "jsonPath",
        "json_path",
        "kind",
        "language",
        "model",
        "modelVersion",
        "model_name",
        "model_provider",
        "model_version",
        "name",
        "namespace",
        "native_finish_reason",
        "nullValue",
        "null_value",
        "object",
        "outcome",
        "reason",
        "responseId",
        "response_id",
        "role",
        "service_tier",
        "signature",
        "status",
        "stopReason",
        "stop_reason",
        "system_fingerprint",
        "thoughtSignature",
        "thought_signature",
        "toolType",
        "toolUseId",
        "tool_call_id",
        "tool_type",
        "tool_use_id",
        "type",
    }
)
"""Fields whose strings say what an event is, or are sealed: they are kept as they are."""

_ARGUMENTS: Final = frozenset(
    {
        "args",
        "arguments",
        "attributes",
        "functionResponse",
        "function_response",
        "input",
        "metadata",
        "numberValue",
        "number_value",
        "partial_json",
        "tool_output",
        "variables",
    }
)
"""Fields that hold arguments: JSON text, whole or a piece of it, or a value. Or what somebody else
put there, under names of their own."""

_HEADERS: Final = frozenset({"headers", "sdkHttpResponse", "sdk_http_response"})
"""Fields that hold headers: they are `None` in a recording."""

_PLACES: Final = (
    "index",
    "output_index",
    "content_index",
    "summary_index",
    "item_id",
    "contentBlockIndex",
)
"""Fields of an event that tell which text its piece belongs to."""

_BEGINNINGS: Final = ("start", "created", "added")
"""Words in the types of events that begin something."""

_DEEPEST: Final = 32
"""Levels of an event that are walked; what is below is treated as arguments."""

_Place: TypeAlias = tuple[Any, ...]
_Path: TypeAlias = tuple[str | int, ...]


@final
class Scrubber:
    """Scrubs the events of one stream, in order.

    Args:
        values: Keep texts and arguments, but for credentials and what is sensitive.
        sensitive: Names of fields whose values are masked in arguments; or a `ToolSet`, for the
            names that its tools mark.
    """

    def __init__(self, *, values: bool, sensitive: ToolSet | Iterable[str] = ()) -> None:
        self._values = values
        self._names = CREDENTIALS | _folded(sensitive)
        self._parents = _parents(sensitive)
        self._masks: dict[tuple[_Place, _Path], JSONMask] = {}
        self._identities: dict[tuple[_Place, _Path], str] = {}
        self._place: _Place = ()
        self._kind = ""

    def scrub(self, event: RecordedEvent) -> RecordedEvent:
        """What may be kept of an event.

        Args:
            event: The event; it stays as it is.
        """
        name, data = event
        if isinstance(data, str):
            is_end = data == "[DONE]"
            mask = JSONMask(self._hides, everything=not (self._values or is_end))
            return RecordedEvent(name, mask.read(data))
        fields: Mapping[str, Any] = data if is_mapping(data) else {}
        kind = name or fields.get("type") or fields.get("event_type")
        self._kind = kind if isinstance(kind, str) else ""
        place = tuple(_key_of(fields.get(field)) for field in _PLACES)
        if any(word in self._kind.lower() for word in _BEGINNINGS):
            self._begin(place)
        self._place = (*place, self._kind)
        return RecordedEvent(name, self._node(data, ()))

    def _begin(self, place: _Place) -> None:
        """Something begins: what was being written at its place is over."""
        anywhere = all(part is None for part in place)
        for key in list(self._masks):
            if anywhere or key[0][:-1] == place:
                del self._masks[key]

    def _hides(self, name: str) -> bool:
        folded = _fold(name)
        return "*" in self._names or folded in self._names or folded.endswith(_ENDINGS)

    def _needs_object(self, name: str | None) -> bool:
        return (None if name is None else _fold(name)) in self._parents

    # Walking

    def _node(self, node: Any, path: _Path) -> Any:
        if len(path) >= _DEEPEST:
            return self._argument(node)
        if is_mapping(node):
            return self._object(node, path)
        if is_array(node):
            return [self._node(item, (*path, _number(item))) for item in node]
        if isinstance(node, str):
            return self._text(node, path, is_json="arguments" in self._kind)
        return node

    def _object(self, node: Mapping[str, Any], path: _Path) -> dict[str, Any]:
        self._notice_call(node, path)
        hidden = self._is_piece_of_hidden(node)
        kept: dict[str, Any] = {}
        for name, value in node.items():
            below = (*path, name)
            if isinstance(value, str) and _is_structure(name, node):
                kept[name] = value
            elif name in _HEADERS or (name == "logprobs" and not self._values):
                kept[name] = None
            elif name in _ARGUMENTS:
                is_text = isinstance(value, str)
                kept[name] = self._text(value, below, True) if is_text else self._argument(value)
            elif isinstance(value, str) and (
                (self._hides(name) and "logprob" not in node) or (hidden and name != "jsonPath")
            ):
                kept[name] = masked_text(value)
            else:
                kept[name] = self._node(value, below)
        return kept

    def _argument(self, value: Any) -> Any:
        """A value, masked as its JSON text would be."""
        text = json.dumps(value, ensure_ascii=False)
        return json.loads(self._argument_mask().read(text))

    def _argument_mask(self) -> JSONMask:
        return JSONMask(self._hides, not self._values, self._needs_object)

    def _is_piece_of_hidden(self, node: Mapping[str, Any]) -> bool:
        """Whether it is a piece of an argument that is sent by its path, and masked."""
        steps = (_path_of(node) or "").replace("[", ".").replace("]", "").split(".")
        names = [step for step in steps if step not in ("", "$") and not step.isdecimal()]
        return any(map(self._hides, names)) or (bool(names) and self._needs_object(names[-1]))

    # Following

    def _text(self, piece: str, path: _Path, is_json: bool) -> str:
        """The next piece of the text at a place, which goes on there from event to event."""
        if not (self._values or is_json):
            return masked_text(piece)
        key = (self._place, path)
        mask = self._masks.get(key)
        if mask is None:
            mask = JSONMask(self._hides, not self._values)
            mask = self._masks[key] = self._argument_mask() if is_json else mask
        return mask.read(piece)

    def _notice_call(self, node: Mapping[str, Any], path: _Path) -> None:
        """Another call, or argument, at the same place: its text begins anew."""
        identity = _identity_of(node)
        key = (self._place, path)
        if identity is None or self._identities.get(key) == identity:
            return
        if key in self._identities:
            for masked in list(self._masks):
                if masked[0] == self._place and masked[1][: len(path)] == path:
                    del self._masks[masked]
        self._identities[key] = identity


def _identity_of(node: Mapping[str, Any]) -> str | None:
    """What tells one call from another, or one argument that is sent by its path.

    An id alone does not: there are streams with another one on each piece.
    """
    path, call_id, function = _path_of(node), node.get("id"), node.get("function")
    if path is not None:
        return path
    name = node.get("name") or (function.get("name") if is_mapping(function) else None)
    return call_id if name and isinstance(call_id, str) else None


def _path_of(node: Mapping[str, Any]) -> str | None:
    path = node.get("jsonPath") or node.get("json_path")
    return path if isinstance(path, str) else None


def _key_of(value: Any) -> Any:
    return value if isinstance(value, str | int) else None


def _number(item: Any) -> int:
    """The number that an item of a list gives itself. Without any, each goes on where one ended."""
    number = item.get("index") if is_mapping(item) else None
    return number if isinstance(number, int) else 0


def _is_structure(name: str, node: Mapping[str, Any]) -> bool:
    """Whether a field's string says what an event is. A `code` does that with a `message` alone."""
    return name in _STRUCTURE or (name == "code" and "message" in node)


def _fold(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _folded(sensitive: ToolSet | Iterable[str]) -> frozenset[str]:
    if isinstance(sensitive, str):
        raise TypeError("sensitive= is one string; expected names of fields: put it into a list")
    if not isinstance(sensitive, ToolSet):
        return frozenset(map(_fold, sensitive))
    paths: list[Sequence[str]] = [path for tool in sensitive for path in tool.sensitive]
    return frozenset(_fold(_last_name(path)) for path in paths)


def _parents(sensitive: ToolSet | Iterable[str]) -> frozenset[str | None]:
    """Names on the way to what tools mark, which should have objects; `None` is the arguments."""
    if not isinstance(sensitive, ToolSet):
        return frozenset()
    paths = [[step for step in path if step != "*"] for one in sensitive for path in one.sensitive]
    names = {_fold(name) for path in paths for name in path[:-1]}
    return frozenset({None, *names} if paths else ())


def _last_name(path: Sequence[str]) -> str:
    """The name that a path ends with; `"*"`, which is every name, where there is none."""
    names = [step for step in path if step != "*"]
    return names[-1] if names else "*"
