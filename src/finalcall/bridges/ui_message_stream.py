"""A turn in Vercel's UI message stream, which `useChat` of the AI SDK reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from finalcall.block_states import BlockState, Why
from finalcall.bridges.bridge import FAILURES, Bridge, Part
from finalcall.bridges.told import ToldCall
from finalcall.events import ReasoningDelta, TextDelta
from finalcall.outcomes import Cause, Dispatchable
from finalcall.settler import Settler
from finalcall.stop_reasons import Verdict
from finalcall.turn import SettledTurn

_FINISH_REASONS: Final[Mapping[Verdict | None, str]] = {
    None: "other",
    Verdict.COMPLETE: "stop",
    Verdict.UNKNOWN: "other",
    Verdict.PAUSED: "other",
    Verdict.TRUNCATED: "length",
    Verdict.FILTERED: "content-filter",
    Verdict.ERROR: "error",
}

_SPEECH: Final[Mapping[type[TextDelta | ReasoningDelta], str]] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
}


@final
class UIMessageStream(Bridge):
    """Tells a turn as parts of a UI message, version 1 of the stream.

    `tool-input-available` is sent for calls that are proved whole, and for no other: any other call
    ends as `tool-input-error`, whose text is the line that a block of it would show. The provider's
    own calls end as `tool-output-available` or `tool-output-error`.

    See `Bridge` for the arguments and methods. Send each part with `to_sse`, `DONE` after the last,
    and `HEADERS` before the first.

    Attributes:
        HEADERS: The headers of the response.
        DONE: The last bytes of its body.
    """

    HEADERS: Final[Mapping[str, str]] = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
    DONE: Final = b"data: [DONE]\n\n"

    def _opening(self) -> list[Part]:
        return [{"type": "start"}]

    def _next_message(self) -> list[Part]:
        earlier: list[Part] = [{"type": "finish-step"}] if self._messages > 1 else []
        return [*earlier, {"type": "start-step"}]

    def _open_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        return [{"type": f"{_SPEECH[kind]}-start", "id": str(self._speeches)}]

    def _say(self, kind: type[TextDelta | ReasoningDelta], text: str) -> list[Part]:
        return [{"type": f"{_SPEECH[kind]}-delta", "id": str(self._speeches), "delta": text}]

    def _close_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        return [{"type": f"{_SPEECH[kind]}-end", "id": str(self._speeches)}]

    def _announce(self, told: ToldCall, name: str) -> list[Part]:
        return [_tool("tool-input-start", told, toolName=name)]

    def _piece(self, told: ToldCall, text: str) -> Part:
        return {"type": "tool-input-delta", "toolCallId": told.id, "inputTextDelta": text}

    def _available(self, told: ToldCall, name: str, arguments: Any) -> list[Part]:
        return [_tool("tool-input-available", told, toolName=name, input=arguments)]

    def _refused(self, told: ToldCall, state: BlockState, why: Why | None) -> list[Part]:
        text = self._line(told, state, why)
        name = self._name(told)
        # Nothing of the arguments of a call that can never run is kept on the screen.
        return [_tool("tool-input-error", told, toolName=name, input=None, errorText=text)]

    def _ran(self, told: ToldCall) -> list[Part]:
        return self._succeeded(told, None)

    def _succeeded(self, told: ToldCall, value: Any) -> list[Part]:
        return [_tool("tool-output-available", told, output=value)]

    def _failed(self, told: ToldCall, state: BlockState, why: Why | None = None) -> list[Part]:
        return [_tool("tool-output-error", told, errorText=self._line(told, state, why))]

    def _closing(self, turn: SettledTurn | Settler) -> list[Part]:
        parts: list[Part] = [{"type": "finish-step"}] if self._messages else []
        ending = turn.ending
        if ending is None or ending.cause is Cause.CANCELLED:
            return [*parts, {"type": "abort"}]
        if ending.cause is not None:
            parts += [{"type": "error", "errorText": FAILURES[ending.cause]}]
            return [*parts, {"type": "finish", "finishReason": "error"}]
        return [*parts, {"type": "finish", "finishReason": _finish_reason(turn)}]


def _tool(kind: str, told: ToldCall, **fields: Any) -> Part:
    """A part about a call."""
    by_provider = {"providerExecuted": True} if told.external else {}
    return {"type": kind, "toolCallId": told.id, **fields, **by_provider}


def _finish_reason(turn: SettledTurn | Settler) -> str:
    """Why the last message stopped, in the protocol's words."""
    verdict = None if turn.stop_reason is None else turn.stop_reason.verdict
    if verdict is Verdict.COMPLETE and any(isinstance(one, Dispatchable) for one in turn.outcomes):
        return "tool-calls"
    return _FINISH_REASONS[verdict]
