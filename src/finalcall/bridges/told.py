"""What a front end has been told of one call so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from finalcall.events import Call, ExternalCall


@final
@dataclass(slots=True, eq=False)
class ToldCall:
    """One call, from its first mention to its end.

    Attributes:
        call: Whose it is.
        id: Its id in the front end's stream, used for no other call of it.
        announced: Whether the front end knows of it.
        ended: Whether the front end was told its end.
        answerable: Whether it may run, and no result of it was told.
        held: Argument text that came before the front end knew of the call.
        sent: Whether argument text was sent.
        restated: Whether the provider took back text that had come.
    """

    call: Call | ExternalCall
    id: str
    announced: bool = False
    ended: bool = False
    answerable: bool = False
    held: list[str] = field(default_factory=list[str])
    sent: bool = False
    restated: bool = False

    @property
    def external(self) -> bool:
        """Whether somebody else runs it."""
        return isinstance(self.call, ExternalCall)
