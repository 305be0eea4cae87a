"""Takes the model's own event out of what boto3's `invoke_model_with_response_stream` yields."""

from __future__ import annotations

from typing import Any

from finalcall.narrow import is_object
from finalcall.wire.undecodable import Undecodable


def unwrapped(native: Any, *, begun: bool) -> Any:
    """The event in a `{"chunk": {"bytes": b"..."}}`; anything else as it is.

    Args:
        native: A native event.
        begun: It is known whose stream it is. Before that a chunk that holds no event is left as
            it is: other operations of AWS stream plain text in such chunks.

    Returns:
        A dict, an `Undecodable`, or what was given.
    """
    if native.__class__ is not dict or len(native) != 1 or "chunk" not in native:
        return native
    chunk = native["chunk"]
    data = chunk.get("bytes") if is_object(chunk) else None
    if not isinstance(data, bytes):
        return native
    from finalcall.wire.natives import read_object  # only these streams need it

    event = read_object(data, "AWS event stream, chunk")
    return event if begun or type(event) is not Undecodable else native
