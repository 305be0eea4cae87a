"""A model that says what a test tells it to: for loops that ask a model again.

`run_turn(ScriptedModel([bad, good]), messages, tools=TOOLS)` runs the loop without a service.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, final

from finalcall.testing.answers import Answer, checked_answer, checked_answers
from finalcall.testing.rendering.words import can_pause
from finalcall.testing.replies import Arguments, Reply
from finalcall.testing.steps import Close, CloseAbruptly, KeepOpen, Reset, Script, Send

Form: TypeAlias = Literal["dicts", "bytes", "objects"]
"""What a stream is made of: native dicts, the body's bytes, or the SDK's own objects."""


@final
@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model was asked.

    Attributes:
        messages: The conversation, as it was then.
        parameters: The other arguments.
    """

    messages: list[Any]
    parameters: Mapping[str, Any]


Rule: TypeAlias = Callable[[ModelRequest], Answer]
"""What a model answers a request with."""

Wrong: TypeAlias = Arguments | Callable[[int], Arguments]
"""Arguments that miss a schema; or a function that gives them for the first message, the second,
and so on, from 1."""


@final
class ModelOptions(TypedDict, total=False):
    """Keyword arguments of `ScriptedModel`.

    provider: Whose streams it answers with; Anthropic's if left out.
    form: What they are made of; native dicts if left out.
    """

    provider: str
    form: Form


@final
class ScriptedModel:
    """Answers every request with the stream of a scripted reply.

    Call it as `run_turn` calls its `request`: with the messages, and whatever else; that is noted
    and changes nothing. The stream is a synchronous one, which asynchronous turns take too.

    Args:
        replies: One reply, recording or script for every request; a list with one for each, in
            order; or a function of the request. A script is played as bytes, and raises where it
            loses the connection.
        options: See `ModelOptions`.

    Raises:
        TypeError: Something in `replies` is no answer.
    """

    def __init__(
        self,
        replies: Answer | Sequence[Answer] | Rule,
        **options: Unpack[ModelOptions],
    ) -> None:
        self._provider = options.get("provider", "anthropic")
        self._form: Form = options.get("form", "dicts")
        if callable(replies) and not isinstance(replies, type):
            self._rule = replies
        else:
            self._rule = self._in_order(replies)
        self.requests: list[ModelRequest] = []
        """The requests so far, in the order in which they came."""

    def __call__(self, messages: Sequence[Any], **parameters: Any) -> Iterator[Any]:
        """Open the stream of the next reply.

        Args:
            messages: The conversation so far.
            parameters: Whatever the request says besides.

        Raises:
            RuntimeError: There is a list of replies, and no more in it.
            TypeError: A function gave what is no answer.
            ValueError: The reply is a script that waits: only a server can play that.
        """
        request = ModelRequest(copy.deepcopy(list(messages)), parameters)
        self.requests.append(request)
        return self._stream(checked_answer(self._rule(request)))

    @classmethod
    def corrected(
        cls,
        name: str,
        wrong: Wrong,
        right: Arguments,
        *,
        times: int = 1,
        **options: Unpack[ModelOptions],
    ) -> ScriptedModel:
        """A model whose calls miss the tool's schema so many times, and then do not.

        Args:
            name: The tool's name.
            wrong: Arguments that miss its schema.
            right: Arguments that satisfy it.
            times: How many messages are wrong.
            options: See `ModelOptions`.
        """
        return cls([*_calls(name, wrong, times), _call(name, right, times + 1)], **options)

    @classmethod
    def incorrigible(
        cls, name: str, wrong: Wrong, **options: Unpack[ModelOptions]
    ) -> ScriptedModel:
        """A model whose calls miss the tool's schema for ever.

        Args:
            name: The tool's name.
            wrong: Arguments that miss its schema: a function misses it differently each time.
            options: See `ModelOptions`.
        """

        def answer(_: ModelRequest) -> Reply:
            number = len(model.requests)
            return _call(name, _wrong(wrong, number), number)

        model = cls(answer, **options)
        return model

    @classmethod
    def cut(
        cls,
        name: str,
        wrong: Wrong,
        *,
        by: Literal["token ceiling", "dropped connection"],
        times: int = 1,
        **options: Unpack[ModelOptions],
    ) -> ScriptedModel:
        """A model whose calls miss the tool's schema so many times; the next one is cut.

        Args:
            name: The tool's name.
            wrong: Arguments that miss its schema.
            by: What cuts it: a ceiling, in the middle of the arguments; or the connection, after
                them and before the message's end.
            times: How many messages are wrong.
            options: See `ModelOptions`.
        """
        last = _call(name, _wrong(wrong, times + 1), times + 1)
        cut: Answer
        if by == "token ceiling":
            cut = _halved(last)
        else:
            script = last.stop(None).to_recording(options.get("provider", "anthropic")).to_script()
            cut = Script((*script.steps, Reset()), script.content_type)
        return cls([*_calls(name, wrong, times), cut], **options)

    @classmethod
    def pausing(
        cls, reply: Reply, *, times: int = 1, **options: Unpack[ModelOptions]
    ) -> ScriptedModel:
        """A model that pauses so many times, and then gives the reply.

        Args:
            reply: What comes in the end.
            times: How many messages are pauses, each with a word of text.
            options: See `ModelOptions`.

        Raises:
            ValueError: The provider never pauses.
        """
        provider = options.get("provider", "anthropic")
        if not can_pause(provider):
            raise ValueError(f"{provider!r} has no word for a pause: its messages never do")
        return cls([*[Reply().text("Wait.").stop("paused")] * times, reply], **options)

    def _in_order(self, replies: object) -> Rule:
        listed = checked_answers(replies)
        if listed == (replies,):  # it was no list
            return lambda _: listed[0]

        def answer(_: ModelRequest) -> Answer:
            number = len(self.requests)
            if number > len(listed):
                raise RuntimeError(
                    f"the model was asked {number} times, but {len(listed)} replies are scripted; "
                    "script more, or find out why it was asked again"
                )
            return listed[number - 1]

        return answer

    def _stream(self, reply: Answer) -> Iterator[Any]:
        if isinstance(reply, Script):
            return _play(reply)
        if isinstance(reply, Reply):
            if self._form == "objects":
                return iter(reply.to_objects(self._provider))
            reply = reply.to_recording(self._provider)
        return iter(reply.to_frames() if self._form == "bytes" else reply.to_dicts())


def _wrong(wrong: Wrong, number: int) -> Arguments:
    return wrong(number) if callable(wrong) else wrong


def _call(name: str, arguments: Arguments, number: int) -> Reply:
    """A message with one call, whose id no other message has."""
    return Reply().call(name, arguments, call_id=f"call_{number}")


def _calls(name: str, wrong: Wrong, times: int) -> list[Reply]:
    return [_call(name, _wrong(wrong, number), number) for number in range(1, times + 1)]


def _halved(reply: Reply) -> Reply:
    """The reply, cut by a ceiling in the middle of its call."""
    call = reply.calls[0]
    text = call.arguments[: len(call.arguments) // 2]
    cut = Reply().call(call.name, text, call_id=call.call_id, closed=False)
    return cut.stop("truncated")


def _play(script: Script) -> Iterator[bytes]:
    """The body of a script that waits for nothing."""
    waiting = [
        type(step).__name__
        for step in script.steps
        if not isinstance(step, Send | Reset | Close | CloseAbruptly | KeepOpen)
    ]
    if waiting:
        raise ValueError(
            f"the script has a step that waits ({waiting[0]}): give it to a FaultServer and "
            "point a client at that"
        )
    return _body(script)


def _body(script: Script) -> Iterator[bytes]:
    for step in script.steps:
        if isinstance(step, Send):
            yield step.data
        elif isinstance(step, Reset | CloseAbruptly):
            raise ConnectionResetError("the scripted connection was lost")
        else:
            return
