"""Compiles a tool's schema once into a function that judges arguments.

The validators are loaded here, when a tool needs one and not before.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

from finalcall.narrow import is_object
from finalcall.outcomes import Violation
from finalcall.tools.formats import ANNOTATIONS, FORMATS, FormatCheck
from finalcall.tools.pydantic_errors import from_pydantic
from finalcall.tools.schema_errors import from_jsonschema
from finalcall.tools.schemas import Graph, Schema
from finalcall.tools.tool import Check, Checker
from finalcall.tools.violations import mismatch

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator
    from pydantic import TypeAdapter


PASSED: Final = Check()


def accept(_args: dict[str, Any]) -> Check:
    """Accept any object: the schema is the service's own."""
    return PASSED


def free_text(args: dict[str, Any]) -> Check:
    """Accept what a tool that takes free text is given: `{"input": text}`."""
    if args.keys() == {"input"} and isinstance(args["input"], str):
        return PASSED
    return Check((Violation((), "type", "string", "expected {'input': text} and nothing else"),))


# -- pydantic -----------------------------------------------------------------------------------


def model_checker(adapter: TypeAdapter[Any], schema: Schema) -> Checker:
    """Let pydantic decide.

    The arguments are validated as JSON and not as Python objects: a strict model then still takes
    a date or a UUID from its text, as `model_validate_json` would.
    """
    from pydantic import ValidationError
    from pydantic_core import to_json

    def check(args: dict[str, Any]) -> Check:
        try:
            return Check(parsed=adapter.validate_json(to_json(args)))
        except ValidationError as error:
            found = cast("list[dict[str, Any]]", error.errors(include_url=False))
            return Check(from_pydantic(found, args, schema) or (mismatch(),))

    return check


# -- JSON Schema --------------------------------------------------------------------------------


def schema_checker(schema: Schema, graph: Graph, fast: bool | None) -> Checker:
    """Compile a JSON Schema. The draft is its `$schema`, or 2020-12.

    With the fast validator, it says yes or no and `jsonschema` words a no; alone, `jsonschema`
    does both.

    Args:
        schema: The schema; its references lead nowhere outside.
        graph: The same, walked.
        fast: Use the fast validator: yes, no, or (`None`) if it is installed.

    Raises:
        ValueError: The schema is bad. The text says where and how.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    if type(schema.get("$schema", "")) is not str:
        raise ValueError("at $schema: expected the address of a draft")
    draft: Any = validator_for(schema, default=Draft202012Validator)
    quick = _fast_validator(draft.__name__, schema, fast)
    if quick is None:
        try:
            draft.check_schema(schema, format_checker=None)  # whose patterns are Python's own
        except SchemaError as error:
            where = "/".join(str(part) for part in error.absolute_path) or "its root"
            raise ValueError(f"at {where}: {error.message}") from None
        _require_patterns(graph)
    slow = _slow_validator(draft, schema)

    def check(args: dict[str, Any]) -> Check:
        if quick is not None and quick(args):
            return PASSED
        errors = from_jsonschema(slow.iter_errors(args), graph)
        if errors:
            return Check(errors)
        return PASSED if quick is None else Check((mismatch(),))

    return check


@functools.cache
def installed_fast() -> Any:
    """Give the module of the fast validator, or `None`. Looked for once."""
    try:
        import jsonschema_rs
    except ImportError:
        return None
    return jsonschema_rs


def _fast_validator(
    draft: str, schema: Schema, fast: bool | None
) -> Callable[[object], bool] | None:
    module = None if fast is False else installed_fast()
    if module is None:
        if fast:
            raise ValueError("fast=True needs jsonschema-rs; install 'finalcall[fast]'")
        return None
    make = getattr(module, draft, None)
    if make is None:
        return None
    try:
        return cast(
            "Callable[[object], bool]",
            make(schema, formats=_fast_formats(), validate_formats=True, retriever=refuse).is_valid,
        )
    except ValueError:
        # The schema is bad, or has a pattern that only Python understands: jsonschema will say.
        return None


def _fast_formats() -> dict[str, FormatCheck]:
    return {**dict.fromkeys(ANNOTATIONS, _any_text), **FORMATS}


def _any_text(_value: object) -> bool:
    return True


def refuse(uri: str) -> Any:
    """Fetch nothing. References are local by now; this holds should one have been missed.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{uri!r} is never fetched")


def _slow_validator(draft: Any, schema: Schema) -> Validator:
    import referencing
    from jsonschema import FormatChecker

    formats = FormatChecker(formats=())
    for name, check in FORMATS.items():
        formats.checks(name)(check)
    # Without a registry, jsonschema would fetch what it does not know.
    empty = cast("Any", referencing).Registry()
    made = _corrected(draft)(schema, registry=empty, format_checker=formats)
    return cast("Validator", made)


@functools.cache
def _corrected(draft: Any) -> Any:
    """The draft with the keywords replaced in which jsonschema departs from JSON Schema."""
    from jsonschema import validators

    return cast("Any", validators).extend(
        draft,
        {"multipleOf": _multiple_of, "pattern": _pattern, "propertyNames": _property_names},
    )


def _multiple_of(
    validator: Validator, step: float, instance: Any, _schema: Schema
) -> Iterator[ValidationError]:
    """Divide exactly, as written: in binary 19.99 is no multiple of 0.01."""
    if validator.is_type(instance, "number") and _as_written(instance) % _as_written(step):
        yield _error()


def _as_written(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _pattern(
    _validator: Validator, pattern: str, instance: object, _schema: Schema
) -> Iterator[ValidationError]:
    if isinstance(instance, str):
        compiled = compile_pattern(pattern)
        if compiled is not None and not compiled.search(instance):
            yield _error()


def _property_names(
    validator: Validator, names: Any, instance: object, _schema: Schema
) -> Iterator[ValidationError]:
    """Report the object: an error at the name itself would be about another value."""
    if is_object(instance):
        named: Validator = cast("Any", validator).evolve(schema=names)
        if not all(named.is_valid(name) for name in instance):
            yield _error()


def _error() -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError("")


# -- patterns -----------------------------------------------------------------------------------

_DEPARTURES: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<end>\$)|(?P<named>\(\?<)(?=\w)", re.DOTALL
)


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    r"""Compile an ECMA pattern for Python, or give `None` where Python cannot.

    `$` is the very end (Python's own would let a newline follow), `\d` and `\w` are ASCII.
    """
    python = _DEPARTURES.sub(
        lambda found: r"\Z" if found["end"] else "(?P<" if found["named"] else found[0], pattern
    )
    try:
        return re.compile(python, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None


def _require_patterns(graph: Graph) -> None:
    for node in graph.nodes.values():
        found: Iterable[Any] = (node.get("pattern"), *(node.get("patternProperties") or ()))
        for pattern in found:
            if isinstance(pattern, str) and compile_pattern(pattern) is None:
                raise ValueError(
                    f"the pattern {pattern!r} is none that Python's 're' can run; "
                    "write it otherwise or install 'finalcall[fast]'"
                )
