"""Walks a JSON Schema: its subschemas, where its references lead, what it marks sensitive.

Nothing here validates, and nothing fetches: a reference that leaves the schema is an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urljoin

from finalcall.narrow import is_array, is_object

Schema: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

ANY: Final = "*"
"""The path part that stands for every index of an array and every name of an open object."""

_NAME: Final = "<the property's name>"

_SUBSCHEMAS: Final[dict[str, Path | None]] = {
    # keyword: what it adds to the path of the value; `None` where it describes no part of it
    "properties": (_NAME,),
    "patternProperties": (ANY,),
    "additionalProperties": (ANY,),
    "unevaluatedProperties": (ANY,),
    "items": (ANY,),
    "prefixItems": (ANY,),
    "additionalItems": (ANY,),
    "unevaluatedItems": (ANY,),
    "contains": (ANY,),
    "allOf": (),
    "anyOf": (),
    "oneOf": (),
    "if": (),
    "then": (),
    "else": (),
    "dependentSchemas": (),
    "dependencies": (),
    "not": None,
    "propertyNames": None,
    "contentSchema": None,
    "$defs": None,
    "definitions": None,
}
_BY_NAME: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "dependentSchemas",
        "dependencies",
        "$defs",
        "definitions",
    }
)
"""Keywords whose value maps names to schemas; the others hold one schema or a list of them."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_METASCHEMAS: Final = ("https://json-schema.org/draft/", "http://json-schema.org/draft-")
"""Known to every validator, so a reference to one needs no fetching."""


def children(schema: Schema) -> Iterator[tuple[Path | None, Schema]]:
    """Give the direct subschemas, each with what it adds to the path of the value."""
    for keyword, step in _SUBSCHEMAS.items():
        held = schema.get(keyword)
        if is_object(held):
            if keyword not in _BY_NAME:
                yield step, held
                continue
            for name, child in held.items():
                if is_object(child):
                    yield (name,) if step == (_NAME,) else step, child
        elif is_array(held):
            for child in held:
                if is_object(child):
                    yield step, child


class Graph:
    """Every subschema of one schema and where its references lead.

    Attributes:
        nodes: The subschemas by identity, the root first.
        targets: For each subschema with references, by identity, the subschemas they lead to.
    """

    def __init__(self, root: Schema) -> None:
        """Walk the schema.

        Raises:
            ValueError: A reference leads out of the schema or nowhere; the text names it.
        """
        self.root = root
        self.nodes: dict[int, Schema] = {}
        self.targets: dict[int, list[Schema]] = {}
        self._resources: dict[str, Schema] = {"": root}
        self._anchors: dict[tuple[str, str], Schema] = {}
        unresolved = self._collect(root, "")
        while unresolved:
            node, base, reference = unresolved.popleft()
            found, target = self._resolve(base, reference)
            if not found:
                raise ValueError(_explain(reference))
            if is_object(target):
                self.targets.setdefault(id(node), []).append(target)
                unresolved.extend(self._collect(target, base))

    def _collect(self, start: Schema, base: str) -> deque[tuple[Schema, str, str]]:
        references: deque[tuple[Schema, str, str]] = deque()
        pending = [(start, base)]
        while pending:
            node, base = pending.pop()
            if id(node) in self.nodes:
                continue
            self.nodes[id(node)] = node
            base = self._register(node, base)
            for keyword in _REFERENCES:
                reference = node.get(keyword)
                if isinstance(reference, str):
                    references.append((node, base, reference))
            pending.extend((child, base) for _, child in children(node))
        return references

    def _register(self, node: Schema, base: str) -> str:
        identifier = node.get("$id")
        if isinstance(identifier, str) and identifier.startswith("#"):
            self._anchors[base, identifier[1:]] = node
        elif isinstance(identifier, str):
            base = urljoin(base, identifier).partition("#")[0]
            self._resources[base] = node
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = node.get(keyword)
            if isinstance(anchor, str):
                self._anchors[base, anchor] = node
        return base

    def _resolve(self, base: str, reference: str) -> tuple[bool, Any]:
        address, _, fragment = reference.partition("#")
        uri = urljoin(base, address) if address else base
        if uri.startswith(_METASCHEMAS):
            return True, None
        resource: Any = self._resources.get(uri)
        if resource is None:
            return False, None
        if fragment and not fragment.startswith("/"):
            anchored = self._anchors.get((uri, fragment))
            return anchored is not None, anchored
        return _follow(resource, unquote(fragment))


def _follow(value: Any, pointer: str) -> tuple[bool, Any]:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if is_object(value) and key in value:
            value = value[key]
        elif is_array(value) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False, None
    return True, value


def _explain(reference: str) -> str:
    if reference.startswith("#"):
        return f"$ref {reference!r} leads nowhere in the schema"
    return (
        f"$ref {reference!r} leads out of the schema and is never fetched; "
        "put the definition under '$defs'"
    )


# -- sensitive values ---------------------------------------------------------------------------


def is_sensitive(schema: Mapping[str, Any]) -> bool:
    """Does this very subschema mark its value? `SecretStr` fields carry the first two marks."""
    return (
        schema.get("writeOnly") is True
        or schema.get("format") == "password"
        or bool(schema.get("x-sensitive"))
    )


def sensitive_paths(graph: Graph) -> frozenset[Path]:
    """Give the paths of the values that must not be shown or kept.

    A recursive definition is entered once on each path; where it is entered again, its whole value
    is given, since secrets may lie at any depth below.

    Returns:
        Paths from the root of the arguments; `"*"` stands for any index or open name.
    """
    edges = _edges(graph)
    holding = _leading_to(edges, {key for key, node in graph.nodes.items() if is_sensitive(node)})
    if id(graph.root) not in holding:
        return frozenset()
    recursive = {
        id(target)
        for targets in graph.targets.values()
        for target in targets
        if id(target) in holding and _returns_to(edges, id(target))
    }
    found: set[Path] = set()
    pending: list[tuple[Schema, Path, bool]] = [(graph.root, (), id(graph.root) in recursive)]
    while pending:
        node, path, inside = pending.pop()
        if id(node) not in holding:
            continue
        if is_sensitive(node):
            found.add(path)
            continue
        for step, child in children(node):
            if step is not None:
                pending.append((child, path + step, inside))
        for target in graph.targets.get(id(node), ()):
            again = id(target) in recursive
            if inside and again:
                found.add(path)
            else:
                pending.append((target, path, inside or again))
    return frozenset(found)


# -- places --------------------------------------------------------------------------------------


def unknown_part(graph: Graph, path: Path) -> tuple[int, list[str]] | None:
    """Find the first part of a path for which a schema has no place.

    Args:
        graph: The schema.
        path: From the root of the arguments; `"*"` is any index or name.

    Returns:
        Which part it is, and the names that the schema has there; `None` where it has a place for
        every part, or leaves open what is there.
    """
    nodes = _at_one_place(graph, [graph.root])
    for number, part in enumerate(path):
        if any(_is_open(graph, node) for node in nodes):
            return None
        listed: dict[str, Any] = {}
        for node in nodes:
            listed |= node.get("properties") or {}
        if part in listed and not is_object(listed[part]):
            return None  # `true`: anything may be there
        inner = [(step, child) for node in nodes for step, child in children(node) if step]
        nodes = _at_one_place(
            graph, [child for step, child in inner if part == ANY or step[0] in (ANY, part)]
        )
        if not nodes:
            return None if part == ANY else (number, list(listed))
    return None


def _at_one_place(graph: Graph, nodes: list[Schema]) -> list[Schema]:
    """All that describes the same value: what is combined, and where references lead."""
    found: dict[int, Schema] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if id(node) not in found:
            found[id(node)] = node
            pending += graph.targets.get(id(node), ())
            pending += [child for step, child in children(node) if step == ()]
    return list(found.values())


def _is_open(graph: Graph, node: Schema) -> bool:
    """Whether a subschema lets a container hold anything, and says of nothing what it is."""
    types: Any = node.get("type", "object")
    holds = types in ("object", "array") or (is_array(types) and {"object", "array"} & {*types})
    told = "properties" in node or id(node) in graph.targets
    return bool(holds) and not told and all(step is None for step, _ in children(node))


def _edges(graph: Graph) -> dict[int, set[int]]:
    edges: dict[int, set[int]] = {}
    for key, node in graph.nodes.items():
        applied = {id(child) for step, child in children(node) if step is not None}
        edges[key] = applied | {id(target) for target in graph.targets.get(key, ())}
    return edges


def _leading_to(edges: dict[int, set[int]], goals: set[int]) -> set[int]:
    backwards: dict[int, set[int]] = {}
    for key, ends in edges.items():
        for end in ends:
            backwards.setdefault(end, set()).add(key)
    return _reachable(backwards, goals)


def _returns_to(edges: dict[int, set[int]], key: int) -> bool:
    return key in _reachable(edges, edges[key])


def _reachable(edges: dict[int, set[int]], starts: set[int]) -> set[int]:
    seen: set[int] = set()
    pending = list(starts)
    while pending:
        key = pending.pop()
        if key not in seen:
            seen.add(key)
            pending.extend(edges.get(key, ()))
    return seen
