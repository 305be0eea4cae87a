"""One client tool and what it says of arguments. How it is compiled is not its business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from finalcall.events import CallKind
from finalcall.narrow import is_object
from finalcall.outcomes import Violation

if TYPE_CHECKING:
    from finalcall.tools.shapes import Declaration


@final
@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What a tool says of arguments.

    Attributes:
        errors: What is wrong, most relevant first; empty where the arguments are right.
        parsed: The tool's own view of them: a model instance, the keyword arguments of a
            callable, or `None`.
    """

    errors: tuple[Violation, ...] = ()
    parsed: Any = None

    def __repr__(self) -> str:
        keywords = ", ".join(error.keyword for error in self.errors)
        return f"Check(errors=<{keywords}>)"


Checker: TypeAlias = Callable[[dict[str, Any]], Check]
"""Judges arguments that are an object. May raise: `Tool.check` turns that into a violation."""


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Tool:
    """One client tool. Made by `ToolSet`, safe to share between threads.

    Attributes:
        name: What the model calls it.
        description: For the model; empty where none was given.
        schema: JSON Schema of the arguments, a copy; `None` where the tool takes free text or the
            service itself defines the schema.
        kind: `"function"` (arguments are an object) or `"custom"` (free text, as
            `{"input": text}`).
        label: The name for people: the tool's title, or `name`.
        sensitive: Paths in the arguments that must not be shown or kept (`writeOnly`,
            `format: password`, `x-sensitive`, pydantic's `SecretStr`); `"*"` is any index or name.
        declaration: What is written into a provider's list.
        checker: The compiled schema. Use `check()`, which never raises.
        once: A call of it must not be dispatched twice in a user turn, however often the model is
            asked again: `run_turn` consults its ledger first. `ToolSet(..., once=...)` sets it.
        fields: The properties of its arguments that people are shown, in order, with what they call
            each; `None` where the display does not say.
    """

    name: str
    description: str
    schema: dict[str, Any] | None
    kind: CallKind
    label: str
    sensitive: frozenset[tuple[str, ...]]
    declaration: Declaration
    checker: Checker
    once: bool = False
    fields: Mapping[str, str] | None = None

    def label_of(self, field: str) -> str:
        """What people call a property of the arguments: by the display, its title, or its name."""
        if self.fields is not None and field in self.fields:
            return self.fields[field]
        properties = (self.schema or {}).get("properties")
        described = properties.get(field) if is_object(properties) else None
        title = described.get("title") if is_object(described) else None
        return title if isinstance(title, str) and title else field

    def check(self, args: object) -> Check:
        """Judge arguments.

        Args:
            args: The parsed JSON document, of any type. It is not changed.

        Returns:
            The violations and, where there are none, the tool's own view of the arguments. A
            validator that raises is a violation too, `"validator_error"`.
        """
        if not is_object(args):
            from finalcall.tools.violations import not_an_object

            return Check((not_an_object(args),))
        try:
            check = self.checker(args)
        except Exception as error:
            # Any exception: a validator may be the user's own code, and a call that could not be
            # judged must never run.
            from finalcall.tools.violations import validator_error

            return Check((validator_error(error),))
        if check.errors and self.sensitive:
            from finalcall.tools.withholding import withheld

            return Check(withheld(check.errors, self.sensitive))
        return check

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, kind={self.kind.value!r})"
