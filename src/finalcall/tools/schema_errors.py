"""Turns the errors of a `jsonschema` validator into violations, a union told by its best branch."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from finalcall.narrow import is_array, is_object
from finalcall.outcomes import Violation
from finalcall.tools.formats import DESCRIPTIONS
from finalcall.tools.schemas import Graph
from finalcall.tools.violations import (
    MAX_SEARCHED,
    as_json,
    called,
    listed,
    missing,
    nearest,
    ranked,
    sentence,
    type_names,
    unexpected,
)

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def from_jsonschema(errors: Iterable[ValidationError], graph: Graph) -> tuple[Violation, ...]:
    """Word the errors of a `jsonschema` validator, most relevant first.

    Args:
        errors: As the validator gives them.
        graph: The schema, walked.
    """
    return ranked(_worded(error) for error in _leaves(islice(errors, MAX_SEARCHED), graph))


def _leaves(
    errors: Iterable[ValidationError], graph: Graph
) -> Iterator[ValidationError | Violation]:
    """Replace each failed union by the errors of the branch that was most likely meant."""
    pending = deque(errors)
    while pending:
        error = pending.popleft()
        if error.validator not in {"anyOf", "oneOf"} or not error.context:
            yield error
            continue
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            # A branch that is `false` has no place in the path.
            branches.setdefault(next(iter(inner.relative_schema_path), None), []).append(inner)
        merged = _merged(error, list(branches.values()))
        if merged is not None:
            yield merged
        else:
            pending.extendleft(reversed(_meant(error, branches, graph)))


def _meant(
    union: ValidationError, branches: Mapping[Any, list[ValidationError]], graph: Graph
) -> list[ValidationError]:
    """The errors of the branch that was most likely meant."""
    schemas: Any = union.validator_value
    names = {
        index: _properties(schemas[index], graph) if isinstance(index, int) else frozenset[str]()
        for index in branches
    }
    given = frozenset(union.instance) if is_object(union.instance) else frozenset[str]()

    def distance(index: Any) -> tuple[bool, bool, int, int, bool]:
        """Another type, another tag, names that the branch does not know, more errors, no null."""
        errors = branches[index]
        # What tells branches apart is a property of several; any other just has a wrong value.
        tags = frozenset[str]().union(*(names[other] for other in names if other != index))
        return (
            any(e.validator in {"type", None} and not e.relative_path for e in errors),
            any(e.validator in {"const", "enum"} and _is_tag(e, tags) for e in errors),
            len(given - names[index]),
            len(errors),
            any(e.validator == "type" and e.validator_value == "null" for e in errors),
        )

    return branches[min(branches, key=distance)]


def _is_tag(error: ValidationError, tags: Collection[str]) -> bool:
    path = tuple(error.relative_path)
    return not path or (len(path) == 1 and path[0] in tags)


def _properties(schema: Any, graph: Graph) -> frozenset[str]:
    """The names of the properties that a schema speaks of, through references and `allOf`."""
    found: set[str] = set()
    seen: set[int] = set()
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if not is_object(node) or id(node) in seen:
            continue
        seen.add(id(node))
        found.update(node.get("properties") or ())
        pending += graph.targets.get(id(node), [])
        pending += node.get("allOf") or ()
    return frozenset(found)


def _format(error: ValidationError) -> str | None:
    """The format of a text where something else than text was found: it tells more than the type.

    `None` where the error is another one, and where the format has no words of its own.
    """
    schema: Any = error.schema
    if error.validator != "type" or error.validator_value != "string":
        return None
    name: Any = schema.get("format")
    return name if isinstance(name, str) and name in DESCRIPTIONS else None


def _merged(union: ValidationError, branches: list[list[ValidationError]]) -> Violation | None:
    """Word a union of plain values or types in one sentence: `'low', 'high' or null`."""
    members: list[Any] = []
    types: list[Any] = []
    for branch in branches:
        simple: dict[Any, Any] = {error.validator: error.validator_value for error in branch}
        if any(map(_format, branch)):
            return None
        if not simple.keys() <= {"const", "enum", "type"} or any(e.relative_path for e in branch):
            return None
        if "enum" in simple:
            members += simple["enum"]
        elif "const" in simple:
            members.append(simple["const"])
        else:
            kind = simple["type"]
            types += kind if is_array(kind) else [kind]
    path = tuple(union.absolute_path)
    types = list(dict.fromkeys(types))
    if not members:
        return sentence(path, "type", types, union.instance)
    if types == ["null"]:
        return sentence(path, "enum", [*members, None], union.instance)
    if not types:
        return sentence(path, "enum", members, union.instance)
    found, hint = called("enum", members, union.instance), nearest(union.instance, members)
    return Violation(
        path,
        "anyOf",
        [*as_json(members), *types],
        f"expected {listed(members)} or {type_names(types)}; found {found}{hint}",
    )


def _worded(error: ValidationError | Violation) -> Violation:
    if isinstance(error, Violation):
        return error
    path = tuple(error.absolute_path)
    validator: Any = error.validator
    limit: Any = error.validator_value
    found: Any = error.instance
    if validator is None:
        # jsonschema tells the place above: the schema `false` itself has no path.
        return Violation(path, "false", None, "found what the schema never allows; leave it out")
    keyword = str(validator)
    if keyword == "required":
        return missing(path, [name for name in limit if name not in found])
    if keyword in {"dependentRequired", "dependencies"} and is_object(limit):
        needed: list[str] = [n for name, names in limit.items() if name in found for n in names]
        return missing(path, [name for name in dict.fromkeys(needed) if name not in found])
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        schema: Any = error.schema
        known = list(schema.get("properties", {}))
        extra = [name for name in found if name not in known]
        told = keyword == "additionalProperties" and "patternProperties" not in schema
        return unexpected(path, known if told else None, extra if told else [], keyword)
    if name := _format(error):
        return sentence(path, "format", name, found)
    return sentence(path, keyword, limit, found)
