"""A model's reply, written once, that comes out as any provider's stream.

`Reply().text("On it.").call("create_ticket", {"title": "x"})` says what the model does, in nobody's
words; `.to("anthropic")` are Anthropic's events of it, `.to_bytes("gemini")` Gemini's bytes. So
one test of an agent runs on every provider.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

from finalcall.testing.recordings import Recording
from finalcall.testing.rendering import render
from finalcall.testing.rendering.objects import to_objects
from finalcall.testing.reply_parts import NOT_REPORTED, Call, Part, Text, Thinking, Tokens, cut

FRAGMENT: Final = 8
"""Characters a piece, unless a test says otherwise: about two tokens, as services send them."""

Arguments: TypeAlias = Mapping[str, Any] | str | Sequence[str]
"""What a call's arguments are written as: an object; its text as it comes, which need not be JSON;
or the pieces of that text."""


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """One message of a model. Every method gives a new reply; none changes this one.

    A new one is empty, complete, and says nothing of its cost.

    Every provider can be asked for every reply. Where one has no form for something, it comes as
    near to it as that service ever comes:

    - Gemini, Mistral, Ollama and xAI send calls whole, whatever their pieces.
    - Chat completions (and Mistral) and xAI know no end of a call, so `closed=False` changes
      nothing there.
    - Gemini has arguments as objects: a call that is not closed, or whose text is no strict JSON
      object, is one whose streamed arguments break off.
    - Ollama has arguments as objects, and finds calls in the model's text itself: such a call stays
      text there. Its client drops the ids of calls.
    - A service without a word for a stop uses another one that lets nothing run:
      `finalcall.testing.rendering.words` has the table.
    - xAI speaks gRPC: its dicts are protobuf's JSON form, its bytes that form as server-sent
      events, for a turn to read; no client does.

    Attributes:
        parts: What it consists of, in order.
        stop_reason: Why it stops; see `stop`.
        tokens: What it cost; see `usage`.
    """

    parts: tuple[Part, ...] = ()
    stop_reason: str | None = "complete"
    tokens: Tokens = NOT_REPORTED

    def text(self, words: str | Sequence[str], *, fragments: int = FRAGMENT) -> Reply:
        """The model says something.

        Args:
            words: What; a sequence holds the pieces in which it comes.
            fragments: Characters a piece, where the pieces are not given.

        Raises:
            ValueError: `fragments` is less than 1.
        """
        return self._and(Text(_pieces(words, fragments)))

    def thinking(self, words: str | Sequence[str], *, fragments: int = FRAGMENT) -> Reply:
        """The model thinks aloud.

        Args:
            words: As for `text`.
            fragments: As for `text`.

        Raises:
            ValueError: `fragments` is less than 1.
        """
        return self._and(Thinking(_pieces(words, fragments)))

    def call(
        self,
        name: str,
        arguments: Arguments = "{}",
        *,
        call_id: str | None = None,
        fragments: int = FRAGMENT,
        closed: bool = True,
    ) -> Reply:
        """The model calls a tool.

        Args:
            name: The tool's name.
            arguments: An object; its text as it comes, which need not be JSON; or the pieces of
                that text.
            call_id: The call's id; by default `call_1` for the first call, and so on.
            fragments: Characters a piece, where the pieces are not given.
            closed: Whether the call gets its own end, where the provider has one.

        Raises:
            TypeError: The object holds what JSON cannot.
            ValueError: `fragments` is less than 1.
        """
        text = json.dumps(arguments) if isinstance(arguments, Mapping) else arguments
        number = len(self.calls) + 1
        made_id = f"call_{number}" if call_id is None else call_id
        return self._and(Call(made_id, name, _pieces(text, fragments), closed))

    def stop(self, reason: str | None) -> Reply:
        """Why the message stops.

        Args:
            reason: `"complete"`, `"truncated"` (by a token ceiling), `"filtered"`, `"refused"` or
                `"paused"`, in the provider's word for it; any other word goes out as it is, which
                only its own provider knows; `None` ends the stream after the last part, cleanly,
                without a reason and without the provider's end marker.
        """
        return replace(self, stop_reason=reason)

    def usage(self, *, input_tokens: int | None = None, output_tokens: int | None = None) -> Reply:
        """What the provider says that the message cost. It says so where it says why it stopped.

        Args:
            input_tokens: Tokens of the request; `None` if it does not say.
            output_tokens: Tokens of the reply; `None` if it does not say.
        """
        return replace(self, tokens=Tokens(input_tokens, output_tokens))

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, Call))

    def to(self, provider: str) -> list[Any]:
        """The stream as the provider's native dicts, and strings such as `[DONE]`.

        Args:
            provider: Such as `"anthropic"`; any that `Settler` takes but `"langchain"`.

        Raises:
            ValueError: There is no such provider.
        """
        return self.to_recording(provider).to_dicts()

    def to_bytes(self, provider: str) -> bytes:
        """The body of the response, in the wire format that the provider's own clients read.

        Args:
            provider: As for `to`.

        Raises:
            ValueError: There is no such provider.
        """
        return self.to_recording(provider).to_bytes()

    def to_objects(self, provider: str) -> list[Any]:
        """The stream as the provider's SDK hands it out: its own objects.

        Args:
            provider: As for `to`. Bedrock's client hands out dicts.

        Raises:
            ImportError: The SDK is not installed; the message names the extra that brings it.
            ValueError: There is no such provider.
        """
        return to_objects(provider, self.to(provider))

    def to_recording(self, provider: str) -> Recording:
        """The stream as a recording, for `FaultServer` and for faults.

        `reply.to_recording("cohere").to_script().with_faults(stall_after(3))` stalls.

        Args:
            provider: As for `to`.

        Raises:
            ValueError: There is no such provider.
        """
        return render(provider, self.parts, self.stop_reason, self.tokens)

    def _and(self, part: Part) -> Reply:
        return replace(self, parts=(*self.parts, part))


def _pieces(text: str | Sequence[str], fragments: int) -> tuple[str, ...]:
    return cut(text, fragments) if isinstance(text, str) else tuple(text)
