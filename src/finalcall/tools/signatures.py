"""Declares pydantic model classes and typed callables: schema and decision are pydantic's.

pydantic is loaded only when a callable needs it; a model class shows that it is loaded already.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, cast

from finalcall.tools.aliases import aliases_of
from finalcall.tools.shapes import Declaration

if typing.TYPE_CHECKING:
    from pydantic import TypeAdapter


def is_model_class(item: object) -> bool:
    """Is it a pydantic model class, or a pydantic dataclass?"""
    return isinstance(item, type) and hasattr(item, "__pydantic_validator__")


def declare_model(model: Any, name: str | None = None) -> tuple[Declaration, TypeAdapter[Any]]:
    """Declare a model class: its name, its docstring, its fields.

    Raises:
        ValueError: pydantic can give no JSON Schema for it.
    """
    from pydantic import TypeAdapter

    return _declared(
        name or model.__name__,
        inspect.cleandoc(model.__doc__ or ""),
        functools.partial(TypeAdapter, model),
        titled=True,
    )


def declare_callable(
    function: Callable[..., Any], name: str | None = None
) -> tuple[Declaration, TypeAdapter[Any]]:
    """Declare a function, a method, a `functools.partial` or a class by its signature.

    Arguments that a partial has bound by name are not offered to the model.

    Raises:
        ValueError: A parameter has no annotation or cannot be passed by name, or pydantic can
            give no JSON Schema for one.
    """
    inner = function.func if isinstance(function, functools.partial) else function
    known = name or getattr(inner, "__name__", None) or type(inner).__name__
    declaration, adapter = _declared(
        known, inspect.getdoc(inner) or "", functools.partial(_arguments, function, inner, known)
    )
    # The function keeps its own defaults; the model is only told of them.
    properties: dict[str, Any] = (declaration.schema or {}).get("properties", {})
    for parameter in _parameters(function):
        if parameter.name in properties and isinstance(parameter.default, str | int | float):
            properties[parameter.name].setdefault("default", parameter.default)
    return declaration, adapter


def _declared(
    name: str, description: str, make: Callable[[], TypeAdapter[Any]], titled: bool = False
) -> tuple[Declaration, TypeAdapter[Any]]:
    from pydantic.errors import PydanticUserError

    try:
        adapter = make()
        schema = adapter.json_schema()
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"tool {name!r} has no usable schema: {reason}") from error
    title = schema.get("title") if titled else None  # the class's name, if it has no other
    declaration = Declaration(
        name=name,
        description=description,
        schema=schema,
        title=title,
        aliases=aliases_of(adapter.core_schema),
    )
    return declaration, adapter


def _arguments(function: Any, inner: Any, name: str) -> TypeAdapter[Any]:
    """The arguments by name, as a typed dict: it keeps any name and invents no value."""
    from typing import NotRequired, Required

    import typing_extensions
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

    hints = typing.get_type_hints(_annotated(inner), include_extras=True)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    fields: dict[str, Any] = {}
    for parameter in _parameters(function):
        if parameter.name in bound:
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ValueError(
                f"parameter {parameter.name!r} is {parameter.kind.description}; "
                "arguments are passed by name"
            )
        if parameter.name not in hints:
            raise ValueError(
                f"parameter {parameter.name!r} has no annotation; Any takes every value"
            )
        hint = hints[parameter.name]
        default = parameter.default
        needed = default is parameter.empty
        if isinstance(default, FieldInfo):
            hint = typing.Annotated[hint, default]
            needed = default.is_required()
        fields[parameter.name] = Required[hint] if needed else NotRequired[hint]
    make: Any = typing_extensions.TypedDict
    arguments = make(name, fields)
    arguments.__pydantic_config__ = {"extra": "forbid"}
    return TypeAdapter(arguments)


def _parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _annotated(function: Any) -> Any:
    """What carries the annotations of the arguments."""
    if isinstance(function, type):
        return cast("Any", function).__init__
    return function if inspect.isroutine(function) else type(function).__call__
