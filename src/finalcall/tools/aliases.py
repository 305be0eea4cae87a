"""The other names by which pydantic takes a value that its JSON Schema has under one name.

The schema that a model is told of has one of them. What is sensitive is so under all.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from finalcall.narrow import is_array, is_mapping
from finalcall.tools.schemas import ANY, Path

Aliases: TypeAlias = Mapping[str, frozenset[Path]]
"""By name, all the places where a value of that name may stand, from where the name would be."""

_FIELDS: Final = frozenset(
    {"arguments-parameter", "dataclass-field", "model-field", "typed-dict-field"}
)
"""What pydantic's core schema calls that which has a name."""


def aliases_of(core_schema: object) -> Aliases:
    """Find the names of every field anywhere in a model, those that are not told included.

    A field's own name is among them, also where only its alias is taken: a model may well write
    it, and then a call that is refused holds the value all the same.

    Args:
        core_schema: As pydantic has it on a `TypeAdapter`.
    """
    found: dict[str, frozenset[Path]] = {}
    for name, field in _fields(core_schema):
        places = {(name,), *_alias_places(field)}
        if len(places) == 1:
            continue
        for place in places:
            if len(place) == 1:
                found[place[0]] = found.get(place[0], frozenset()) | places
    return found


def under_all_names(paths: Collection[Path], aliases: Aliases) -> frozenset[Path]:
    """Give paths under every name that each of their parts has."""
    found: set[Path] = set()
    for path in paths:
        choices = [aliases.get(part, frozenset({(part,)})) for part in path]
        found.update(tuple(itertools.chain(*chosen)) for chosen in itertools.product(*choices))
    return frozenset(found)


def _fields(core_schema: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every field with its name. A model may refer to itself, so nothing is entered twice."""
    seen: set[int] = set()
    pending: list[tuple[str, object]] = [("", core_schema)]
    while pending:
        key, node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if is_mapping(node):
            if node.get("type") in _FIELDS:
                yield str(node.get("name", key)), node
            pending.extend((str(name), value) for name, value in node.items())
        elif isinstance(node, list | tuple):  # a union has its labels in tuples
            pending.extend(("", value) for value in cast("Iterable[object]", node))


def _alias_places(field: Mapping[str, Any]) -> Iterator[Path]:
    """What a field may be called: one name, one path, or several paths."""
    given: Any = field.get("validation_alias", field.get("alias"))
    if isinstance(given, str):
        yield (given,)
    elif is_array(given):
        for path in given if all(map(is_array, given)) else [given]:
            # An index may count from the end: which item that is, nobody knows before.
            yield tuple(part if isinstance(part, str) else ANY for part in path)
