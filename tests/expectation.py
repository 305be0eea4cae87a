"""An independent reading of what a recorded stream must settle as.

It works from the recording's expected calls, derived from the wire without this library, and
spells the settling rules out once more with the standard library and jsonschema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from finalcall import Dispatchable, Failed, Outcome, SchemaError
from tests.facts import complete

COMPLETE = complete()
"""Every word in the recordings that ends a message well, as their folders say it."""

Settled = tuple[str | None, str | None, str, Any]
"""Call id, tool name, outcome word, arguments where the document was read."""


def settled(outcome: Outcome) -> Settled:
    """An outcome in the words of the expectations."""
    match outcome:
        case Dispatchable(call_id, name, args):
            return call_id, name, "dispatchable", args
        case SchemaError(call_id, name, args):
            return call_id, name, "schema_error", args
        case Failed(reason, call_id, name):
            return call_id, name, reason, None


def expected_outcomes(
    calls: Sequence[Mapping[str, Any]], stop_reason: Any, tools: Sequence[Any] | None
) -> list[Settled]:
    """What the client calls of a recording settle as."""
    reasons = stop_reason if isinstance(stop_reason, list) else [stop_reason]
    reasons = [reason for reason in reasons if reason]
    schemas = None if tools is None else schemas_of(tools)
    return [_expected(call, reasons, schemas) for call in calls if not call["server_side"]]


def _expected(
    call: Mapping[str, Any], reasons: Sequence[str], schemas: Mapping[str, Any] | None
) -> Settled:
    call_id, name = call["call_id"] or None, call["name"]
    if not reasons or "failed" in reasons:
        return call_id, name, "abandoned", None
    if any(reason not in COMPLETE for reason in reasons):
        return call_id, name, "truncated", None
    if not call["completed"]:
        return call_id, name, "abandoned", None
    if call["kind"] == "custom":
        value: Any = {"input": call["raw"]}
    else:
        try:
            value = _read(call)
        except ValueError:
            return call_id, name, "unparseable", None
    return call_id, name, *_checked(name, value, schemas)


def _read(call: Mapping[str, Any]) -> Any:
    raw = call["raw"]
    if raw is None or not raw.strip():
        return call["args"] or {}
    return json.loads(raw, object_pairs_hook=_unique, parse_constant=_refuse)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("duplicate name")
    return dict(pairs)


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _checked(name: str, value: Any, schemas: Mapping[str, Any] | None) -> tuple[str, Any]:
    args = value if isinstance(value, dict) else None
    if args is None:
        return "schema_error", None
    if schemas is None:
        return "dispatchable", args
    if name not in schemas:
        return "schema_error", args
    valid = Draft202012Validator(schemas[name]).is_valid(args)
    return ("dispatchable" if valid else "schema_error"), args


def schemas_of(tools: Sequence[Any]) -> dict[str, Any]:
    """The schemas of a recorded request's tools, by name, in whichever shape they were sent."""
    found: dict[str, Any] = {}
    for tool in tools:
        declarations = tool.get("functionDeclarations") or tool.get("function_declarations")
        if declarations:
            found |= schemas_of(declarations)
            continue
        inner = tool.get("function") or tool.get("toolSpec") or tool.get("custom") or tool
        schema = (
            inner.get("input_schema")
            or inner.get("parameters")
            or inner.get("parametersJsonSchema")
            or inner.get("inputSchema", {}).get("json")
            or {}
        )
        if "name" in inner:
            found[inner["name"]] = _lowered(schema)
        if tool.get("execution") == "client":
            found[f"{tool['type']}_call"] = {}
    return found


def _lowered(schema: Any) -> Any:
    """A schema with the upper-case type names of one provider written as JSON Schema has them."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [_lowered(item) for item in schema]
    return schema
