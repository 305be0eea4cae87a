"""What an exception from a source means: the provider failed, the bytes are bad, or the line broke.

SDKs are not imported, so exceptions are told apart by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from finalcall.outcomes import Cause

EXCEPTIONS: Final[Mapping[str, Cause]] = {
    # Connection classes come before their parents in the method resolution order.
    "APITimeoutError": Cause.IDLE,
    "APIConnectionError": Cause.DISCONNECTED,
    "ReadTimeout": Cause.IDLE,
    "ReadTimeoutError": Cause.IDLE,
    "TimeoutError": Cause.IDLE,
    "APIStatusError": Cause.PROVIDER_ERROR,
    "APIError": Cause.PROVIDER_ERROR,
    "ApiError": Cause.PROVIDER_ERROR,
    "SDKError": Cause.PROVIDER_ERROR,
    "EventStreamError": Cause.PROVIDER_ERROR,
    "ResponseError": Cause.PROVIDER_ERROR,
    "MidStreamFallbackError": Cause.PROVIDER_ERROR,
    "RpcError": Cause.PROVIDER_ERROR,
    # An SDK that could not decode an event raises one of ValueError's family.
    "ValueError": Cause.MALFORMED,
}
"""By class name: the first name found in the exception's method resolution order decides."""


def cause_of(error: BaseException) -> Cause:
    """The cause of calls that a source's exception cut; `DISCONNECTED` where no row matches."""
    for cls in type(error).__mro__:
        cause = EXCEPTIONS.get(cls.__name__)
        if cause is not None:
            return cause
    return Cause.DISCONNECTED
