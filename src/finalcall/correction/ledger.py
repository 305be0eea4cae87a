"""Notes which calls were dispatched, so that a tool that must not run twice does not.

A ledger never decides: it says what it noted, and its caller decides what that means.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, final

from finalcall.narrow import is_object
from finalcall.outcomes import Dispatchable
from finalcall.results import ToolResult, as_result

EntryState: TypeAlias = Literal["done", "unknown"]
"""Whether the result of a call that was dispatched before is known."""

_TOOL_RESULT: Final = "finalcall.ToolResult"
"""Names, in what is noted, a result that was a `ToolResult` or an exception."""

_RUNS: Final = 10_000
"""Run keys that a `MemoryLedger` holds: far more than turns are under way in one process."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Entry:
    """What a ledger noted of a call that was dispatched before.

    Attributes:
        state: `"done"`: it was run, and `result` is what it gave. `"unknown"`: it was begun and no
            result was ever noted. Its process died, or it is running elsewhere at this moment: it
            may have had its effect, so it is never to be run again by itself.
        result: What it gave, where the state is `"done"`: a JSON value; or a `ToolResult`, where
            `dispatch` returned one or an exception. It can be returned as it is. Else `None`.
    """

    state: EntryState
    result: Any = field(default=None, hash=False)

    def __repr__(self) -> str:
        return f"Entry({self.state!r}, result=<hidden>)"


@final
@dataclass(frozen=True, slots=True)
class AlreadyDispatched:
    """A call that must not run twice and was dispatched before, in an earlier try of this turn.

    `run_turn` hands it to `dispatch` in place of the `Dispatchable`, and what `dispatch` returns
    for it is the call's result, as for any other. Where `previous.state` is `"done"`, return
    `previous.result`, which says the same to the model as the first time, or look the effect up.
    Where it is `"unknown"`, find out what happened, ask a person, or return an error that tells the
    model so. Running `call` is a decision that only you can make.

    Attributes:
        call: The call as the model made it now.
        previous: What the ledger noted of it.
    """

    call: Dispatchable
    previous: Entry


class Ledger(Protocol):
    """Where dispatched calls are noted: two operations, each atomic.

    A call is named by three things:

    1. `run_key`: one message of the model in one turn of the user. The same when that message is
       asked for again, another for every other message.
    2. `fingerprint`: `Dispatchable.fingerprint`.
    3. `occurrence`: 0 for the first call of that fingerprint in the message, 1 for the second, so
       that two equal calls of one message are two.

    When entries are forgotten is each ledger's own affair. It promises nothing of a turn that is
    asked again after that, so keep entries longer than any turn can last.
    """

    def begin(self, run_key: str, fingerprint: str, occurrence: int) -> Entry | None:
        """Note that a call is about to be dispatched, unless it is noted already.

        Returns:
            `None` where it was not: the caller, and nobody else, may run it. Else what is noted.
        """
        ...

    def finish(self, run_key: str, fingerprint: str, occurrence: int, result: Any) -> None:
        """Note the result of a call that was begun.

        Args:
            run_key: As for `begin`.
            fingerprint: As for `begin`.
            occurrence: As for `begin`.
            result: What JSON can hold; see `encode_result`.

        Raises:
            ValueError: The result is nothing JSON can hold. Nothing changed: the call stays begun.
        """
        ...


@final
class MemoryLedger:
    """A ledger that lives as long as its process, and may be shared between its threads.

    It holds the newest `runs` run keys with all of their entries. When one more comes, the run key
    that was used the longest ago is forgotten.
    """

    __slots__ = ("_limit", "_lock", "_runs")

    def __init__(self, *, runs: int = _RUNS) -> None:
        """Make an empty ledger.

        Args:
            runs: How many run keys are held, at least 1.

        Raises:
            ValueError: `runs` is less than 1.
        """
        if runs < 1:
            raise ValueError(f"runs is {runs}; a ledger holds at least 1")
        self._limit = runs
        self._lock = threading.Lock()
        self._runs: dict[str, dict[tuple[str, int], str | None]] = {}

    def begin(self, run_key: str, fingerprint: str, occurrence: int) -> Entry | None:
        """Note that a call is about to be dispatched. See `Ledger.begin`."""
        with self._lock:
            calls = self._used(run_key)
            call = (fingerprint, occurrence)
            if call in calls:
                return decode_entry(calls[call])
            calls[call] = None
        return None

    def finish(self, run_key: str, fingerprint: str, occurrence: int, result: Any) -> None:
        """Note the result of a call. See `Ledger.finish`."""
        text = encode_result(result)
        with self._lock:
            self._used(run_key)[fingerprint, occurrence] = text

    def _used(self, run_key: str) -> dict[tuple[str, int], str | None]:
        """The calls of a run key, which is now the one that was used last."""
        calls = self._runs[run_key] = self._runs.pop(run_key, {})
        if len(self._runs) > self._limit:
            del self._runs[next(iter(self._runs))]
        return calls


def encode_result(result: Any) -> str:
    """Write a result as a ledger keeps it.

    Args:
        result: What `json.dumps` takes. It comes back as JSON has it: tuples as lists, names of
            any kind as text.

    Returns:
        ASCII text, never empty.

    Raises:
        ValueError: JSON cannot hold it.
    """
    try:
        return json.dumps(result, allow_nan=False)
    except TypeError as error:
        found = str(error)
    except (ValueError, RecursionError):
        found = "a number is not finite, or it is nested too deeply or in itself"
    raise ValueError(
        f"a result cannot be noted: {found}; expected what JSON can hold. The call has been run "
        "and stays noted as begun"
    )


def decode_entry(text: str | bytes | None) -> Entry:
    """Read what a ledger keeps of a call: the text of its result; nothing where none was noted."""
    return Entry("done", json.loads(text)) if text else Entry("unknown")


def noted(result: Any) -> Any:
    """Make of what `dispatch` returned what a ledger is given.

    Args:
        result: What `as_result` takes.

    Returns:
        A `ToolResult`, and an exception as what the model is told of it, as a JSON object that
        `recalled` knows again; anything else unchanged.
    """
    if isinstance(result, ToolResult | BaseException):
        told = as_result(result)
        return {_TOOL_RESULT: {"content": told.content, "is_error": told.is_error}}
    return result


def recalled(entry: Entry) -> Entry:
    """Give an entry as `dispatch` sees it: with the `ToolResult` that `noted` took apart."""
    if not is_object(entry.result) or entry.result.keys() != {_TOOL_RESULT}:
        return entry
    return Entry(entry.state, ToolResult(**entry.result[_TOOL_RESULT]))
