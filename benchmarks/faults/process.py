"""The process of one agent: it imports the package once, and runs it in a fork of itself a case.

So each run begins with a fresh package, and can be ended without a trace.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, Never

from benchmarks.faults.telling import tell, tell_into

_REMOVED: Final = ("ANTHROPIC_", "OPENAI_", "LANGCHAIN_", "LANGSMITH_", "LITELLM_")

_ALONE: Final[Mapping[str, str]] = {
    "ANTHROPIC_API_KEY": "none",
    "OPENAI_API_KEY": "none",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""A key, and no conversation with anybody but the server of the case."""


class Order(NamedTuple):
    """What to run.

    Attributes:
        provider: Over whose protocol.
        base_url: Where the server is.
        limit: The request's time limit; `None` leaves the package's own.
        facts: The file to tell into.
    """

    provider: str
    base_url: str
    limit: float | None
    facts: str


def serve(pipe: Connection, module: str, words: str) -> None:
    """Run orders until there is none.

    Args:
        pipe: Gives orders, and `None` for the last; takes `"ready"`, then for each order the id of
            its process, and `"ended"`.
        module: The agent.
        words: The file that takes whatever the package writes to its standard output and error.
    """
    for name in list(os.environ):
        if name.startswith(_REMOVED) or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ.update(_ALONE)
    output = os.open(words, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    agent = importlib.import_module(module)
    pipe.send("ready")
    while (order := pipe.recv()) is not None:
        process = os.fork()
        if not process:
            _run(agent, order)
        pipe.send(process)
        os.waitpid(process, 0)
        pipe.send("ended")


def _run(agent: ModuleType, order: Order) -> Never:
    os.environ["ANTHROPIC_BASE_URL"] = order.base_url
    os.environ["OPENAI_BASE_URL"] = f"{order.base_url}/v1"
    tell_into(Path(order.facts))
    try:
        agent.run(order.provider, order.limit)
    except Exception as error:
        traceback.print_exc()
        tell("raised", type=f"{type(error).__module__.split('.')[0]}.{type(error).__name__}")
    else:
        tell("returned")
    finally:
        sys.stderr.flush()
        os._exit(0)  # threads and pools that a package leaves behind are not what is asked
