"""What a person sees of all calls, driven by events until each has come to a stated end.

It shows and never decides: no call runs, waits or fails because of what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self, final

from finalcall.attempts import AttemptStarted, expect_shown
from finalcall.block_states import (
    EXTERNAL_INPUTS,
    SIBLING,
    BlockInput,
    BlockState,
    judge_outcome,
)
from finalcall.call_block import BlockField, CallBlock, Watcher
from finalcall.events import (
    ArgumentsDelta,
    ArgumentsRestated,
    Call,
    CallAnnounced,
    CallSettled,
    Event,
    ExternalCall,
    ExternalCallChanged,
    PreviewChanged,
    StreamQuiet,
)
from finalcall.listeners import WARNING, log
from finalcall.outcomes import Cause, Outcome, SchemaError
from finalcall.texts import Texts, complete, quiet_line
from finalcall.tools import ToolSet, ToolsLike

__all__ = ["BlockField", "BlockState", "Blocks", "CallBlock"]


@final
class Blocks:
    """The blocks of a message, or of all messages of a run, in the order in which people see them.

    Iterate it for the blocks, or take one by its call's key. A call that `run_turn` has corrected
    takes the place of the one that was invalid, which is then among `superseded`.

    Args:
        tools: What was offered, with its display: give what the turn is given.
        texts: Texts in another language or of your own, such as `finalcall.texts.GERMAN`. What is
            left out is English.

    Attributes:
        superseded: The blocks that others took the place of.
        quiet: For how many seconds nothing has arrived, or `None`.

    Raises:
        ValueError: A text is for nothing that is ever told, or a tool's schema is bad.
    """

    def __init__(self, *, tools: ToolsLike | None = None, texts: Texts | None = None) -> None:
        self.superseded: list[CallBlock] = []
        self.quiet: float | None = None
        self._tools = ToolSet.of(tools)
        self._texts = complete(texts or {})
        self._shown: list[CallBlock] = []
        self._by_key: dict[str, CallBlock] = {}
        self._by_call: dict[Call, CallBlock] = {}
        self._run: list[CallBlock] = []
        self._externals: dict[ExternalCall, CallBlock] = {}
        self._attempt: AttemptStarted | None = None
        self._held: list[CallBlock] = []
        self._watchers: list[Watcher] = []
        self._settle: Callable[[], object] | None = None

    def __iter__(self) -> Iterator[CallBlock]:
        return iter(tuple(self._shown))

    def __len__(self) -> int:
        return len(self._shown)

    def __getitem__(self, key: str) -> CallBlock:
        """Give the block of a call by its key, or its outcome's: `blocks[outcome.key]`.

        Raises:
            KeyError: No such call was announced.
        """
        return self._by_key[key]

    def __repr__(self) -> str:
        return f"Blocks({', '.join(block.state.value for block in self._shown)})"

    def quiet_line(self) -> str | None:
        """The line to show while nothing arrives, or `None` while something does."""
        return None if self.quiet is None else quiet_line(self.quiet, self._texts)

    # Being told

    def apply(self, event: Event | AttemptStarted) -> None:
        """Take the next event of a turn or a run. Taking one twice changes nothing.

        Args:
            event: Whatever the turn or the run yields.

        Raises:
            TypeError: It is something else. Nothing was changed.
        """
        expect_shown(event)
        waited, self.quiet = self.quiet, None
        match event:
            case ArgumentsDelta(call) | ArgumentsRestated(call):
                self._changed(self._by_call.get(call))
            case CallAnnounced(call):
                self._block(call)
            case PreviewChanged(call, preview):
                self._block(call).show(preview)
            case CallSettled(call, outcome):
                self._settled(self._block(call), outcome)
            case ExternalCallChanged(external):
                self._external(external)
            case StreamQuiet(seconds):
                self.quiet = seconds
                self._changed(None)
            case AttemptStarted():
                self._begin(event)
            case _:
                if waited is not None:
                    self._changed(None)

    def end(self) -> None:
        """Nothing more will come: give every block that is still open its end.

        What was being written is cancelled, what waited for a correction was not run, and what
        runs may have run. A turn that these blocks belong to settles its calls first, as if it were
        closed. A call that is ready stays so: whoever has it may still run it and say so.
        """
        settle, self._settle = self._settle, None
        if settle is not None:
            settle()
        for block in self:
            cancelled = block.state is BlockState.PREPARING
            block.step_if_possible(BlockInput.ENDED, Cause.CANCELLED if cancelled else None)
        waited, self.quiet = self.quiet, None
        self._attempt = None
        self._forget_run()
        if waited is not None:
            self._changed(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def belong_to(self, settle: Callable[[], object]) -> None:
        """Belong to a turn: it applies its own events, and no one else needs to.

        Args:
            settle: Settles the calls of the turn that are still open; `end()` calls it.
        """
        self._settle = settle

    def watch(self, watcher: Watcher) -> None:
        """Be told of every change, at once and in the thread that applies the event.

        Args:
            watcher: Is called with what changed. One that raises is logged (by the type alone) and
                not told any more: a screen that broke must not break the turn.
        """
        self._watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Be told no more; does nothing for one that is not told."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def _changed(self, block: CallBlock | None) -> None:
        for watcher in tuple(self._watchers):
            try:
                watcher(block)
            except Exception as error:
                self.unwatch(watcher)
                log(
                    WARNING,
                    "a watcher of blocks raised %s and is not told any more; the turn goes on",
                    type(error).__name__,
                )

    # What happens to calls

    def _block(self, call: Call) -> CallBlock:
        """The block of a call, a new one where it is a new call."""
        # By the call itself: keys come again in later messages, and may while others go on.
        known = self._by_call.get(call)
        if known is not None:
            return known
        made = CallBlock(call.key, call, self._tools, self._texts, self._changed)
        self._by_key[call.key] = self._by_call[call] = made
        self._shown.append(made)
        self._run.append(made)
        self._succeed(made)
        self._changed(made)
        return made

    def _settled(self, block: CallBlock, outcome: Outcome) -> None:
        self._succeed(block)  # its name may have been late
        if isinstance(outcome, SchemaError):
            block.misnamed = outcome.misnamed
        given, why = judge_outcome(outcome, asked_again=self._attempt is not None)
        block.step_if_possible(given, why)

    def _external(self, external: ExternalCall) -> None:
        block = self._externals.get(external)
        if block is None:
            key = external.call_id or f"external {len(self._externals)}"
            block = CallBlock(key, external, None, self._texts, self._changed)
            self._externals[external] = block
            self._shown.append(block)
            self._changed(block)
        given = EXTERNAL_INPUTS[external.state]
        if given is not None:
            block.step_if_possible(given)

    # Attempts

    def _begin(self, attempt: AttemptStarted) -> None:
        """A message is asked for: what did not run so far may come again in it."""
        if attempt is self._attempt:
            return
        self._attempt = attempt
        if attempt.number == 1:
            # Another run: what waited for an attempt of the last one waits in vain.
            for block in self._run:
                block.step_if_possible(BlockInput.ENDED)
            self._forget_run()
        for block in self._run:
            if block.state is BlockState.READY:
                block.step(BlockInput.HELD, SIBLING)
        self._held = [block for block in self._run if block.state is BlockState.WAITING]

    def _forget_run(self) -> None:
        self._run = []
        self._held = []

    def _succeed(self, block: CallBlock) -> None:
        """Take the place of the call that this one makes again, if there is one."""
        old = None if block.supersedes else self._predecessor(block.name)
        if old is None:
            return
        block.supersedes = old
        self._held.remove(old)
        self._shown.remove(block)
        self._shown[self._shown.index(old)] = block
        self.superseded.append(old)
        old.step(BlockInput.SUPERSEDED)

    def _predecessor(self, name: str | None) -> CallBlock | None:
        """The first that waits for a call of this tool, else one whose tool did not exist."""
        if name is None:
            return None
        same = (block for block in self._held if block.name == name)
        misnamed = (block for block in self._held if block.misnamed)
        return next(same, None) or next(misnamed, None)
