"""What a person sees of one call: its line, its form, and what it may become.

It shows and never decides: no call runs, waits or fails because of what stands here.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, final

from finalcall.block_states import (
    BLOCK_TRANSITIONS,
    OPEN,
    BlockInput,
    BlockState,
    Why,
    advance_block,
)
from finalcall.events import Call, ExternalCall
from finalcall.outcomes import Cause
from finalcall.texts import Texts, line
from finalcall.tools import Tool, ToolSet

if TYPE_CHECKING:
    from finalcall.preview import PlainValue, Preview

Watcher: TypeAlias = Callable[["CallBlock | None"], object]
"""What is told of changes: of the block that changed or grew, or of `None` where only the waiting
did."""

_WITHOUT_ARGUMENTS: Final = frozenset(
    {BlockState.NOT_RUN, BlockState.CANCELLED, BlockState.SUPERSEDED}
)
"""The states in which nothing of what the model wrote is shown any more."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class BlockField:
    """One argument of a call as a person sees it.

    Attributes:
        label: What people call it.
        value: Text to show, a mask where it is sensitive. Never to be parsed or acted upon.
        whole: Whether all of it has arrived.
    """

    label: str
    value: str
    whole: bool

    def __repr__(self) -> str:
        return f"BlockField(label={self.label!r}, value=<hidden>, whole={self.whole})"


@final
class CallBlock:
    """What a person sees of one call. Made by `Blocks`.

    Whoever runs the call says so: `with block.running(): ...`, or `run()` and then `finish()` or
    `fail()`. These raise a `ValueError` where the person was told something else already, such as
    that the call was not run.

    Attributes:
        key: Unique in its message; the same on the call and its outcome.
        external: Whether somebody else runs the call.
        supersedes: The block of the invalid call that this one corrects, or `None`.
        misnamed: Whether the model called a tool that does not exist.
    """

    __slots__ = (
        "_call",
        "_changed",
        "_preview",
        "_state",
        "_texts",
        "_tools",
        "_why",
        "external",
        "key",
        "misnamed",
        "supersedes",
    )

    def __init__(
        self,
        key: str,
        call: Call | ExternalCall,
        tools: ToolSet | None,
        texts: Texts,
        changed: Watcher,
    ) -> None:
        self.key: Final = key
        self.external: Final = isinstance(call, ExternalCall)
        self.supersedes: CallBlock | None = None
        self.misnamed: bool = False
        self._call = call
        self._tools = tools
        self._texts = texts
        self._changed = changed
        self._preview: Preview | None = None
        self._why: Why | None = None
        self._state = BlockState.RUNNING if self.external else BlockState.PREPARING

    # What a person sees

    @property
    def state(self) -> BlockState:
        """What the person is told."""
        return self._state

    @property
    def open(self) -> bool:
        """Whether the person expects more. A call that is ready is not: it may wait for ever."""
        return self._state in OPEN

    @property
    def cause(self) -> Cause | None:
        """Why the stream did not let the call run; `None` where it did, or the call was invalid."""
        return self._why if isinstance(self._why, Cause) else None

    @property
    def name(self) -> str | None:
        """The tool's name as the model wrote it, as far as it has arrived."""
        return self._call.name

    @property
    def label(self) -> str | None:
        """The tool's name for people, or the one that the model wrote where it is no tool's."""
        tool = self._tool
        return self.name if tool is None else tool.label

    @property
    def size(self) -> int:
        """Characters of argument text so far; 0 for a call that somebody else runs."""
        return self._call.size if isinstance(self._call, Call) else 0

    def line(self) -> str:
        """One line: which tool, whether it runs, and why not. Nothing of its arguments."""
        return line(self._state, self._why, self.label, self._texts)

    def fields(self) -> list[BlockField]:
        """The arguments so far, as the tool's display says; the sensitive ones masked.

        Returns:
            What has begun to arrive; nothing where the turn keeps no previews (`preview=`), for
            free text, and once the call can never run.
        """
        if self._preview is None:
            return []
        value = self._preview.value.plain()
        if not isinstance(value, dict):
            return []
        whole = frozenset(self._preview.completed_keys())
        tool = self._tool
        names = value if tool is None or tool.fields is None else tool.fields
        return [
            BlockField(
                name if tool is None else tool.label_of(name), _shown(value[name]), name in whole
            )
            for name in names
            if name in value
        ]

    @property
    def _tool(self) -> Tool | None:
        return None if self._tools is None or self.external else self._tools.get(self.name)

    def __repr__(self) -> str:
        return f"CallBlock(key={self.key!r}, name={self.name!r}, state={self._state.value!r})"

    # What becomes of it

    def run(self) -> None:
        """Say that the call begins to run.

        Raises:
            ValueError: It is not ready.
        """
        self.step(BlockInput.STARTED)

    def finish(self) -> None:
        """Say that the call has run.

        Raises:
            ValueError: It does not run.
        """
        self.step(BlockInput.FINISHED)

    def fail(self) -> None:
        """Say that the call has run and reported a failure.

        Raises:
            ValueError: It does not run.
        """
        self.step(BlockInput.BROKE)

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        """Say that the call runs while the `with` block does, and how that ended.

        An exception is a failure. A cancelled task, an interrupt or an exit is none: how far the
        tool came is unknown then, and the person is told that it may have run. `fail()` in the
        block is for a tool that reports its failure in its result.

        Raises:
            ValueError: The call is not ready; nothing of the `with` block is run.
        """
        self.run()
        ended = BlockInput.LOST
        try:
            yield
            ended = BlockInput.FINISHED
        except Exception:
            ended = BlockInput.BROKE
            raise
        finally:
            self.step_if_possible(ended)

    # What `Blocks` tells it

    def show(self, preview: Preview) -> None:
        """Show what the call's preview shows, from now on."""
        if self._state not in _WITHOUT_ARGUMENTS:
            self._preview = preview
            self._changed(self)

    def step(self, given: BlockInput, why: Why | None = None) -> None:
        """Take a step of the table.

        Args:
            given: What happened.
            why: Why the call does not run, where that is known now.

        Raises:
            ValueError: The table has no such step.
        """
        self._state = advance_block(self._state, given)
        self._why = why or self._why
        if self._state in _WITHOUT_ARGUMENTS:
            self._preview = None
        self._changed(self)

    def step_if_possible(self, given: BlockInput, why: Why | None = None) -> None:
        """Take a step of the table where it has one: what was told already stays told."""
        if given in BLOCK_TRANSITIONS[self._state]:
            self.step(given, why)


def _shown(value: PlainValue) -> str:
    """A value as text: a string as it is, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # a model can nest deeper than the standard library writes
        return "…"
