"""The steps of an interaction as the next request must repeat them, and the results of its calls.

Thought signatures go back where they were, calls with the arguments that the model wrote, and a
step that somebody else's call began goes back only with its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from finalcall.narrow import is_object
from finalcall.providers.base import Answered, OpenCall
from finalcall.providers.native import read_text, to_plain

_NOT_SENT: Final = frozenset({"UNKNOWN", "user_input", "function_result", ""})
"""Steps that a request never repeats as the model's."""


@final
class Step:
    """One step: how it began, and what was added.

    Attributes:
        kind: Its type; `""` while only pieces of it have come.
        start: The step as it began, plain, with what was merged into it.
        content: Its output: texts that go on are one item.
        summary: The pieces of a thought's summary.
        signature: The pieces of its signature, base64.
        closed: It has ended.
        open_call: The client's call.
    """

    __slots__ = ("closed", "content", "kind", "open_call", "signature", "start", "summary")

    def __init__(self, kind: str, native: Any) -> None:
        self.kind: str = kind
        self.start: dict[str, Any] = _plain(native)
        self.content: list[dict[str, Any] | list[str]] = []
        self.summary: list[str] = []
        self.signature: list[str] = []
        self.closed: bool = False
        self.open_call: OpenCall | None = None

    @property
    def call_id(self) -> str:
        """The id of the call that a result step answers."""
        return read_text(self.start, "call_id")

    def restart(self, kind: str, native: Any) -> None:
        """Take the start of a step whose pieces came first."""
        self.kind = kind
        self.start = _plain(native)

    def merge(self, delta: Any) -> None:
        """Take what a delta of a step that the service runs says: each field whole."""
        self.start.update(_plain(delta))

    def add_content(self, content: Any, text: str) -> None:
        """Add output: a piece of text, or another item."""
        if not text:
            plain = _plain(content)
            if plain and plain.get("type") != "text":
                self.content.append(plain)
            return
        last = self.content[-1] if self.content else None
        if isinstance(last, list):
            last.append(text)
        else:
            self.content.append([text])


def input_steps(steps: Sequence[Step], answers: Mapping[str, Answered]) -> list[dict[str, Any]]:
    """The interaction's own steps, then one result a call.

    The service refuses a call without its result, a thought without its signature and an output
    without content: none of them is sent, and neither are thoughts alone.

    Args:
        steps: The steps of the interaction.
        answers: The calls that stay, by key.
    """
    answered = {step.call_id for step in steps if step.kind.endswith("_result")}
    asked = {read_text(step.start, "id") for step in steps if step.kind.endswith("_call")}
    sent: list[dict[str, Any]] = []
    for step in steps:
        if step.open_call is not None:
            answer = answers.get(step.open_call.identity.key)
            if answer is not None and answer.call.call_id:
                sent.append(_function_call(step, answer))
        elif step.kind.endswith("_call"):
            sent += [step.start] if read_text(step.start, "id") in answered else []
        elif step.kind.endswith("_result") and step.kind not in _NOT_SENT:
            sent += [step.start] if step.call_id in asked else []
        elif step.kind not in _NOT_SENT:
            sent += _own_step(step)
    if all(step.get("type") == "thought" for step in sent):
        return []
    return sent + answer_steps(steps, answers)


def answer_steps(steps: Sequence[Step], answers: Mapping[str, Answered]) -> list[dict[str, Any]]:
    """The results alone, in the order of their calls. A call without an id cannot be answered."""
    return [
        _function_result(answer)
        for step in steps
        if step.open_call is not None
        and (answer := answers.get(step.open_call.identity.key)) is not None
        and answer.call.call_id
    ]


def _own_step(step: Step) -> list[dict[str, Any]]:
    if step.kind == "thought":
        signature = "".join(step.signature) or read_text(step.start, "signature")
        if not signature:
            return []
        made: dict[str, Any] = {"type": "thought", "signature": signature}
        summary = "".join(step.summary)
        if summary:
            made["summary"] = [{"type": "text", "text": summary}]
        return [made]
    if step.kind != "model_output":
        return [step.start] if step.start else []
    content = [
        {"type": "text", "text": "".join(item)} if isinstance(item, list) else item
        for item in step.content
    ]
    return [{"type": "model_output", "content": content}] if content else []


def _function_call(step: Step, answer: Answered) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "function_call",
        "id": answer.call.call_id,
        "name": answer.name,
        "arguments": answer.args,
    }
    signature = "".join(step.signature) or read_text(step.start, "signature")
    if signature:
        made["signature"] = signature
    return made


def _function_result(answer: Answered) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": "function_result",
        "call_id": answer.call.call_id,
        "name": answer.name,
        "result": answer.result.content,
    }
    if answer.result.is_error:
        result["is_error"] = True
    return result


def _plain(native: Any) -> dict[str, Any]:
    """A native step or delta as a plain dict, empty and unset fields left out."""
    plain = to_plain(native)
    if not is_object(plain):
        return {}
    return {name: value for name, value in plain.items() if value is not None and value != ""}
