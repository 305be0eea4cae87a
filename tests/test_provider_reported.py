"""Errors in the stream, in every form that is known, after a good stop reason of every provider."""

from __future__ import annotations

from typing import Any

import pytest

from finalcall import Cause, Failed, Settler, StreamFault
from finalcall.providers import PROVIDERS
from tests.streams import FIXTURES, cases

ERRORS: dict[str, Any] = {
    "OpenAI's": {"error": {"message": "S3NT1N3L", "type": "server_error", "code": None}},
    "a sentence": {"error": "S3NT1N3L"},
    "an empty one": {"error": {}},
    "Anthropic's": {"type": "error", "error": {"type": "api_error", "message": "S3NT1N3L"}},
    "without its error": {"type": "error", "error": None},
    "a typed sentence": {"type": "error", "message": "S3NT1N3L"},
    "by its kind": {"type": "overloaded_error", "message": "S3NT1N3L"},
    "the Interactions API's": {"event_type": "error", "error": {"message": "S3NT1N3L"}},
    "vLLM's": {"object": "error", "message": "S3NT1N3L", "type": "BadRequestError", "code": 400},
    "FastAPI's": {"detail": "S3NT1N3L"},
    "FastAPI's own checks": {"detail": [{"loc": ["body"], "msg": "S3NT1N3L"}]},
    "several": {"errors": [{"code": 10000, "message": "S3NT1N3L"}]},
    "one of several": {"errors": {"message": "S3NT1N3L"}},
    "Cloudflare's": {"success": False, "result": None, "errors": [], "messages": []},
    "DashScope's": {"code": "DataInspectionFailed", "message": "S3NT1N3L", "request_id": "r"},
    "Baidu's": {"error_code": 336003, "error_msg": "S3NT1N3L", "id": "as-1"},
    "MiniMax's": {"base_resp": {"status_code": 1027, "status_msg": "S3NT1N3L"}},
    "a status": {"status": "error", "message": "S3NT1N3L"},
    "AWS's": {"throttlingException": {"message": "S3NT1N3L"}},
}

NO_ERRORS: dict[str, Any] = {
    "a type that is not known": {"type": "new", "code": "x", "message": "y", "detail": "z"},
    "a type with a status": {"type": "tool", "status": "error"},
    "another such": {"event_type": "new", "code": "x", "message": "y", "error_msg": "z"},
    "all is well": {"code": "200", "message": "y", "success": True, "status": "ok"},
    "and has no code": {"code": 0, "message": "y", "error_code": 0, "error_msg": "", "errors": []},
    "by its words": {"error": False, "detail": None, "base_resp": {"status_code": 0}},
    "a code alone": {"code": "x"},
    "a message alone": {"message": "y"},
    "nothing": {},
}


def good_events(provider: str) -> list[Any]:
    """The events of a recording with a call that runs, up to the one that ends the message."""
    for case in cases(FIXTURES / provider):
        settler = Settler(provider, tools=None)
        events: list[Any] = []
        for native in case.recording.to_dicts():
            settler.feed(native)
            if settler.ending is not None:
                break
            events.append(native)
        settler.end()
        if settler.verdict == "dispatch":
            return events
    raise AssertionError(f"{provider} has no recording with a call that runs")


GOOD = {provider: good_events(provider) for provider in PROVIDERS}
ENDED = ("cohere", "gemini-interactions", "ollama", "openai-responses")
STOPPED = [name for name in PROVIDERS if name not in ENDED]
"""Those whose stop reason comes before the end, so that more may follow."""


def settle(provider: str | None, *natives: Any) -> Settler:
    settler = Settler(provider, tools=None)
    for native in natives:
        settler.feed(native)
    settler.end()
    return settler


@pytest.mark.parametrize("form", ERRORS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_voids_the_stop_reason(provider: str, form: str) -> None:
    """Whoever words it, no call of the message runs, and what it says is not repeated."""
    settler = settle(provider, *GOOD[provider], ERRORS[form])
    assert settler.outcomes
    for outcome in settler.outcomes:
        assert isinstance(outcome, Failed)
        assert outcome.cause is Cause.PROVIDER_ERROR
    assert settler.stop_reason is None
    assert settler.ending is not None
    assert "S3NT1N3L" not in f"{settler.ending.code} {settler.error}"


@pytest.mark.parametrize("form", NO_ERRORS)
@pytest.mark.parametrize("provider", STOPPED)
def test_what_is_no_error_changes_nothing(provider: str, form: str) -> None:
    """A field may be called as an error's is: a type, or a good code, says that it is none."""
    assert settle(provider, *GOOD[provider], NO_ERRORS[form]).verdict == "dispatch"


@pytest.mark.parametrize("form", ERRORS)
def test_a_stream_that_begins_with_an_error(form: str) -> None:
    """Nobody need know whose stream it would have been."""
    settler = Settler(tools=None)
    (event,) = settler.feed(ERRORS[form])
    assert isinstance(event, StreamFault)
    assert event.cause is Cause.PROVIDER_ERROR
    assert settler.ending is not None


CODES = {
    "OpenAI's": "server_error",
    "by its kind": "overloaded_error",
    "vLLM's": "400",
    "several": "10000",
    "DashScope's": "DataInspectionFailed",
    "Baidu's": "336003",
    "MiniMax's": "1027",
    "AWS's": "throttlingException",
    "FastAPI's": "error",
}


@pytest.mark.parametrize("form", CODES)
def test_the_code_is_kept(form: str) -> None:
    """It says what happened, where the error has one."""
    ending = settle("anthropic", ERRORS[form]).ending
    assert ending is not None
    assert ending.code == CODES[form]
