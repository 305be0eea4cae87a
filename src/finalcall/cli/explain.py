"""Says why the calls of one recorded stream ended as they did, for a person or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from finalcall.cli.explaining import RULES, Explanation, Fact, explain, word
from finalcall.cli.output import CUT_FILE, allow_any_text, coloured, counted, has_colours, width_of
from finalcall.cli.tool_files import TOOLS_HELP, UNCHECKED, read_tools
from finalcall.events import CallKind
from finalcall.observe.redaction import MASK, redact
from finalcall.observe.settled import outcome_name, sensitive_paths
from finalcall.outcomes import Dispatchable, Failed, Outcome, SchemaError
from finalcall.providers import PROVIDERS
from finalcall.retry import CHANGES
from finalcall.settler import Settler
from finalcall.strict import encodable
from finalcall.testing.replaying import UnreadableRecording, read_stream
from finalcall.texts import final_line, printable
from finalcall.tools import ToolSet
from finalcall.tools.violations import in_one_line
from finalcall.wording import where

_LABEL: Final = 12
"""Columns of the words on the left."""

_EPILOG: Final = """\
what is shown:
  Facts about the stream, and for invalid calls what the schema asks for: names of
  arguments may be among it, what the model wrote is not. --show-arguments adds
  that; fields that the tools of --tools mark as sensitive (writeOnly,
  format: password) are masked, and without --tools nobody knows which ones are.

examples:
  python -m finalcall explain one.jsonl
  python -m finalcall explain one.jsonl --call toolu_01A09 --tools tools.json
  python -m finalcall explain dump.sse --json

exit status:
  0  every call is explained, whatever it settled as
  1  the file could not be read, or holds no known provider's stream
  2  bad usage, such as a file that does not exist, or a call that the stream does not have
"""


def add_parser(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to a command line.

    Args:
        add: The method that adds a parser to those of all commands.
    """
    parser = add(
        "explain",
        help="say why the calls of a recorded stream ended as they did",
        description="Says of each call of a recorded stream why it ended so: the events that\n"
        "decided, the rule, the cause, and what to do.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", help="a recording (JSON lines), or the raw bytes of a response"
    )
    parser.add_argument("--call", metavar="ID", help="this call only: its id, or its key")
    parser.add_argument(
        "--provider",
        choices=sorted(PROVIDERS),
        metavar="NAME",
        help="whose stream it is, where it is not recognised: " + ", ".join(PROVIDERS),
    )
    parser.add_argument("--tools", metavar="FILE", help=TOOLS_HELP)
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    parser.add_argument("--show-arguments", action="store_true", help="show what the model wrote")
    parser.add_argument("--no-color", action="store_true", help="no colours, as NO_COLOR=1")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Explain a stream.

    Args:
        options: What `add_parser` reads.

    Returns:
        0 where it is explained, 1 where the file could not be read, 2 for bad usage.
    """
    allow_any_text(sys.stdout)
    if not Path(options.file).exists():
        sys.stderr.write(f"explain: no file is called {options.file!r}\n")
        return 2
    try:
        _, tools = read_tools(options.tools)
    except ValueError as error:
        sys.stderr.write(f"explain: {error}\n")
        return 2
    settler = Settler(options.provider, tools=tools, idle_timeout=None)
    try:
        stream = read_stream(options.file)
        explanations = explain(settler, stream)
    except UnreadableRecording as error:
        sys.stderr.write(f"explain: {printable(options.file)}: {error}\n")
        return 1
    chosen = [one for one in explanations if _is_chosen(one.outcome, options.call)]
    if options.call is not None and not chosen:
        known = ", ".join(_id(one.outcome) for one in explanations) or "none"
        sys.stderr.write(f"explain: no call {options.call!r}; the stream has: {known}\n")
        return 2
    if options.json:
        found = _as_json(options.file, settler, chosen, shown=options.show_arguments)
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    colours = has_colours(sys.stdout, no_colour=options.no_color)
    width = width_of(sys.stdout)
    lines = [*_header(options.file, settler, chosen)]
    if stream.is_cut:
        lines.append(CUT_FILE)
    if tools is None and any(isinstance(one.outcome, Dispatchable) for one in chosen):
        lines.append(UNCHECKED)
    for one in chosen:
        lines += ["", coloured(_title(one.outcome), "bold", allowed=colours)]
        lines += _told(one, settler.tools, width, shown=options.show_arguments)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _is_chosen(outcome: Outcome, wanted: str | None) -> bool:
    return wanted is None or wanted in (outcome.call_id, outcome.key)


def _id(outcome: Outcome) -> str:
    return printable(outcome.call_id or outcome.key)


# For a person


def _header(file: str, settler: Settler, chosen: Sequence[Explanation]) -> Iterator[str]:
    yield f"{printable(file)}: {settler.provider}, {settler.stats.events:,} events"
    ending, reason = settler.ending, settler.stop_reason
    told = [f"verdict {settler.verdict}"]
    told.append("no stop reason counts" if reason is None else f"stop reason {word(reason.raw)}")
    if ending is not None and ending.cause is not None:
        told.append(f"ended by {ending.cause}" + (f" {word(ending.code)}" if ending.code else ""))
    told += dict.fromkeys(f"odd: {anomaly.name}" for anomaly in settler.anomalies)
    yield ", ".join(told)
    if not settler.retry.safe and settler.verdict == "fail":
        whole, external = len(settler.retry.dispatchable), len(settler.retry.external)
        yield (
            f"asking again may repeat something: {counted(whole, 'call')} may run, "
            f"{counted(external, 'call')} ran elsewhere"
        )
    if not chosen:
        yield "no call was announced"


def _title(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return f"{_id(outcome)}: {outcome.reason} ({outcome.cause})"
    return f"{_id(outcome)}: {outcome_name(outcome)}"


def _told(
    one: Explanation, tools: ToolSet | None, width: int | None, *, shown: bool
) -> Iterator[str]:
    outcome = one.outcome
    for number, fact in enumerate(one.facts):
        yield from _labelled("decided by" if number == 0 else "", _fact(fact), width)
    yield from _labelled(f"rule {one.rule}", RULES[one.rule], width)
    if isinstance(outcome, SchemaError):
        for number, error in enumerate(outcome.errors):
            sentence = f"{where(error.path)}: {in_one_line(error.message)}"
            yield from _labelled("violations" if number == 0 else "", sentence, width)
    if isinstance(outcome, Failed):
        yield from _labelled("to change", CHANGES[outcome.cause], width)
    yield from _labelled("what to do", one.advice, width)
    yield from _labelled("people read", final_line(outcome), width)
    if shown:
        yield from _labelled("arguments", printable(arguments_of(outcome, tools)), width)


def _fact(fact: Fact) -> str:
    event = "" if fact.event is None else f"event {fact.event}"
    at = "" if fact.at is None else f" +{fact.at:.2f} s"
    return f"{event + at:{20 if fact.at is not None else 10}} {fact.said}"


def _labelled(label: str, text: str, width: int | None) -> list[str]:
    """A label and text beside it, over several lines where the terminal is narrow."""
    first = f"  {label:{_LABEL}}"
    if width is None:
        return [first + text]
    return textwrap.wrap(
        text,
        max(width - 1, _LABEL + 12),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        drop_whitespace=True,
    )


def arguments_of(outcome: Outcome, tools: ToolSet | None) -> str:
    """What the model wrote in a call, its sensitive fields masked.

    Args:
        outcome: What the call settled as.
        tools: What was offered: only it says which fields are sensitive.
    """
    sensitive = sensitive_paths(tools, outcome.name)
    tool = None if tools is None else tools.get(outcome.name)
    if tool is not None and tool.kind is CallKind.CUSTOM and sensitive:
        return MASK  # free text is one value: no place in it could be named
    if isinstance(outcome, Dispatchable):
        return redact(json.dumps(outcome.args, ensure_ascii=False), sensitive)
    return redact(encodable(outcome.raw), sensitive)


# As JSON


def _as_json(
    file: str, settler: Settler, chosen: Sequence[Explanation], *, shown: bool
) -> dict[str, Any]:
    ending, reason, retry = settler.ending, settler.stop_reason, settler.retry
    return {
        "file": file,
        "provider": settler.provider,
        "events": settler.stats.events,
        "verdict": settler.verdict,
        "stop_reason": None if reason is None else {"raw": reason.raw, "verdict": reason.verdict},
        "ending": None if ending is None else ending.cause,
        "code": "" if ending is None else ending.code,
        "anomalies": list(dict.fromkeys(anomaly.name for anomaly in settler.anomalies)),
        "retry": {"change": retry.change, "causes": list(retry.causes), "safe": retry.safe},
        "calls": [_call_as_json(one, settler.tools, shown=shown) for one in chosen],
    }


def _call_as_json(one: Explanation, tools: ToolSet | None, *, shown: bool) -> dict[str, Any]:
    outcome = one.outcome
    failed = outcome if isinstance(outcome, Failed) else None
    errors = outcome.errors if isinstance(outcome, SchemaError) else ()
    found: dict[str, Any] = {
        "key": outcome.key,
        "call_id": outcome.call_id,
        "tool": outcome.name,
        "outcome": outcome_name(outcome),
        "reason": None if failed is None else failed.reason,
        "cause": None if failed is None else failed.cause,
        "rule": one.rule,
        "facts": [{"event": f.event, "at": f.at, "said": f.said} for f in one.facts],
        "violations": [
            {"path": list(e.path), "keyword": e.keyword, "message": e.message} for e in errors
        ],
        "change": None if failed is None else CHANGES[failed.cause],
        "advice": one.advice,
    }
    if shown:
        found["arguments"] = arguments_of(outcome, tools)
    return found
