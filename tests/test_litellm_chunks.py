"""LiteLLM's chunks, built from recordings the way it builds them from a service's own chunks."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

from finalcall import Settler
from tests.chat_chunks import DONE, chunk, entry, message, settle, words
from tests.streams import FIXTURES, Case, cases, outcomes_of

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning"),  # its types are built when used
]

CASES = cases(FIXTURES / "openai-chat")


@pytest.fixture(scope="module")
def litellm_chunk() -> Any:
    """LiteLLM's class of chunks. Its import takes long, so only these tests pay for it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it is fetched over the network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from litellm.types.utils import ModelResponseStream
    return ModelResponseStream


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_chunks_settle_as_the_services_own(case: Case, litellm_chunk: Any) -> None:
    """It fills indexes in and renames reasons; the calls settle as they would on the wire."""
    settler = Settler(tools=case.tools(), choices="all")
    for native in case.recording.to_dicts():
        settler.feed(native if isinstance(native, str) else litellm_chunk(**native))
    settler.end()
    assert settler.provider == "openai-chat"
    assert outcomes_of(settler) == case.expected()


def test_indexes_numbered_anew_in_each_chunk(litellm_chunk: Any) -> None:
    """Where a service sends none, each chunk's calls are numbered from 0: the ids tell."""
    heads = chunk({"tool_calls": [entry('{"x":1}', "f", "a", None), entry("{}", "g", "b", None)]})
    more = chunk({"tool_calls": [entry('{"x":2}', "f", "c", None)]})
    natives = [litellm_chunk(**native) for native in (heads, more, chunk(finish="tool_calls"))]
    assert words(settle(*natives, DONE)) == [
        ("a", "f", "dispatchable", {"x": 1}),
        ("b", "g", "dispatchable", {}),
        ("c", "f", "dispatchable", {"x": 2}),
    ]


def test_thinking_blocks_and_thought_signatures_go_back(litellm_chunk: Any) -> None:
    """What it keeps for the service behind it is in the history."""
    signed = entry("{}", "f", "a", provider_specific_fields={"thought_signature": "c2ln"})
    thinking = {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}
    natives = [chunk(thinking), *message(signed)[:-1]]
    settler = settle(*[litellm_chunk(**native) for native in natives])
    assistant, _ = settler.history({"a": "ok"})
    assert assistant["thinking_blocks"][0]["signature"] == "c2ln"
    (call,) = assistant["tool_calls"]
    assert call["provider_specific_fields"] == {"thought_signature": "c2ln"}
