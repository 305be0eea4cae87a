"""A turn in the events of AG-UI, the protocol between agents and front ends."""

from __future__ import annotations

import json
from typing import Any, Final, final

from finalcall.block_states import BlockState, Why
from finalcall.bridges.bridge import FAILURES, Bridge, Part, SensitiveChoice
from finalcall.bridges.told import ToldCall
from finalcall.events import ReasoningDelta, TextDelta
from finalcall.narrow import expect
from finalcall.outcomes import Cause
from finalcall.results import as_result
from finalcall.settler import Settler
from finalcall.texts import Texts
from finalcall.tools import ToolsLike
from finalcall.turn import SettledTurn

_EXPECTED_ID: Final = "a string, as the front end's request has it"


@final
class AGUI(Bridge):
    """Tells a turn as the events of one AG-UI run.

    Every call ends in one `TOOL_CALL_END`, when it has settled. One that will not run is answered
    at once by a `TOOL_CALL_RESULT`, whose text is the line that a block of it would show: a front
    end runs only what has no result. What it may run is in `pendingToolCallIds`.

    See `Bridge` for the methods. Send each event with `to_sse`.

    Args:
        thread_id: The conversation, as the front end's request names it.
        run_id: The run, likewise.
        tools: See `Bridge`.
        texts: See `Bridge`.
        sensitive: See `Bridge`.

    Raises:
        TypeError: An id is no string; or see `Bridge`.
        ValueError: See `Bridge`.
    """

    def __init__(
        self,
        *,
        thread_id: str,
        run_id: str,
        tools: ToolsLike | None,
        texts: Texts | None = None,
        sensitive: SensitiveChoice = "mask",
    ) -> None:
        super().__init__(tools=tools, texts=texts, sensitive=sensitive)
        self._run = {"threadId": thread_id, "runId": run_id}
        expect(thread_id, str, "thread_id=", _EXPECTED_ID)
        expect(run_id, str, "run_id=", _EXPECTED_ID)
        self._message_id = ""

    def _opening(self) -> list[Part]:
        return [{"type": "RUN_STARTED", **self._run}]

    def _next_message(self) -> list[Part]:
        self._message_id = f"{self._run['runId']}-{self._messages}"
        return []

    def _speech_id(self, kind: type[TextDelta | ReasoningDelta]) -> str:
        word = "text" if kind is TextDelta else "reasoning"
        return f"{self._run['runId']}-{word}-{self._speeches}"

    def _open_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        told = {"messageId": self._speech_id(kind)}
        if kind is ReasoningDelta:
            start = {"type": "REASONING_MESSAGE_START", **told, "role": "reasoning"}
            return [{"type": "REASONING_START", **told}, start]
        self._message_id = told["messageId"]  # the calls that follow belong to it
        return [{"type": "TEXT_MESSAGE_START", **told, "role": "assistant"}]

    def _say(self, kind: type[TextDelta | ReasoningDelta], text: str) -> list[Part]:
        name = "TEXT" if kind is TextDelta else "REASONING"
        told = {"messageId": self._speech_id(kind), "delta": text}
        return [{"type": f"{name}_MESSAGE_CONTENT", **told}]

    def _close_speech(self, kind: type[TextDelta | ReasoningDelta]) -> list[Part]:
        told = {"messageId": self._speech_id(kind)}
        if kind is TextDelta:
            return [{"type": "TEXT_MESSAGE_END", **told}]
        return [{"type": "REASONING_MESSAGE_END", **told}, {"type": "REASONING_END", **told}]

    def _announce(self, told: ToldCall, name: str) -> list[Part]:
        start = {"type": "TOOL_CALL_START", "toolCallId": told.id, "toolCallName": name}
        return [{**start, "parentMessageId": self._message_id}]

    def _piece(self, told: ToldCall, text: str) -> Part:
        return {"type": "TOOL_CALL_ARGS", "toolCallId": told.id, "delta": text}

    def _available(self, told: ToldCall, name: str, arguments: Any) -> list[Part]:
        whole = json.dumps(arguments, ensure_ascii=False)
        if not told.sent:
            return [self._piece(told, whole), _end(told)]
        if not told.restated:
            return [_end(told)]
        # Text that was sent cannot be taken back, so the call is told again under another id.
        parts = self._refused(told, BlockState.SUPERSEDED, None)
        told.id = self._unused(told.id)
        return [*parts, *self._announce(told, name), self._piece(told, whole), _end(told)]

    def _refused(self, told: ToldCall, state: BlockState, why: Why | None) -> list[Part]:
        return [_end(told), self._answer(told, self._line(told, state, why), state, why)]

    def _ran(self, told: ToldCall) -> list[Part]:
        return self._refused(told, BlockState.DONE, None)

    def _succeeded(self, told: ToldCall, value: Any) -> list[Part]:
        content = as_result(value).content
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return [self._answer(told, text, BlockState.DONE, None)]

    def _failed(self, told: ToldCall, state: BlockState, why: Why | None = None) -> list[Part]:
        answer = self._answer(told, self._line(told, state, why), state, why)
        return [_end(told), answer] if told.external else [answer]

    def _answer(self, told: ToldCall, text: str, state: BlockState, why: Why | None) -> Part:
        """What stands in the conversation as the call's result, and in `metadata` what it is."""
        return {
            "type": "TOOL_CALL_RESULT",
            "messageId": f"{told.id}-result",
            "toolCallId": told.id,
            "content": text,
            "role": "tool",
            "metadata": {"state": state.value, "cause": None if why is None else str(why)},
        }

    def _closing(self, turn: SettledTurn | Settler) -> list[Part]:
        ending = turn.ending
        if ending is None or ending.cause is Cause.CANCELLED:
            outcome: Part = {"type": "cancelled"}
        elif ending.cause is not None:
            code = ending.code or ending.cause.value
            return [{"type": "RUN_ERROR", "message": FAILURES[ending.cause], "code": code}]
        else:
            pending = [told.id for told in self._told if told.answerable]
            outcome = {"type": "success", "pendingToolCallIds": pending}
        return [{"type": "RUN_FINISHED", **self._run, "outcome": outcome}]


def _end(told: ToldCall) -> Part:
    return {"type": "TOOL_CALL_END", "toolCallId": told.id}
