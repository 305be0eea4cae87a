"""Token counts of one message, as the provider reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(slots=True)
class Usage:
    """Tokens so far; `None` where the provider has not said.

    Attributes:
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the reply, reasoning included where the provider counts it in.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
