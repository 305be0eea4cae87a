"""Token counts of one message, as the provider reports them."""

from __future__ import annotations

from typing import final


@final
class Usage:  # noqa: PLW1641 - its counts change, so it has no hash
    """Tokens so far; `None` where the provider has not said.

    Args:
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the reply, reasoning included where the provider counts it in.
    """

    __slots__ = ("_output_tokens", "input_tokens")

    def __init__(self, input_tokens: int | None = None, output_tokens: int | None = None) -> None:
        self.input_tokens: int | None = input_tokens
        self._output_tokens = output_tokens

    @property
    def output_tokens(self) -> int | None:
        """Tokens of the reply: the most that any report said, since output is never taken back."""
        return self._output_tokens

    @output_tokens.setter
    def output_tokens(self, count: int | None) -> None:
        if count is not None and count > (self._output_tokens or -1):
            self._output_tokens = count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Usage):
            return NotImplemented
        mine = (self.input_tokens, self.output_tokens)
        return mine == (other.input_tokens, other.output_tokens)

    def __repr__(self) -> str:
        return f"Usage(input_tokens={self.input_tokens}, output_tokens={self.output_tokens})"
