"""Whether the same request may help: by cause, and by what a service or an exception tells."""

from __future__ import annotations

from typing import Any

import anthropic
import botocore.exceptions
import grpc  # type: ignore[import-untyped]
import httpx
import openai
import pytest

from finalcall import Cause
from finalcall.correction import RunEnding, run_turn, same_request
from finalcall.ending import Ending
from finalcall.retry import CHANGES, retry_of
from tests.asking import ASKED, GOOD, TOOLS, Run, both, reply

REQUEST: Any = httpx.Request("POST", "http://127.0.0.1/v1")


def answered(status: int) -> Any:
    return httpx.Response(status, request=REQUEST)


def of_bedrock(status: int) -> Exception:
    told: Any = {"ResponseMetadata": {"HTTPStatusCode": status}, "Error": {"Code": "x"}}
    return botocore.exceptions.ClientError(told, "ConverseStream")


class Rpc(grpc.RpcError):  # type: ignore[misc] # grpc has no types
    """An error of gRPC with one of its codes."""

    def __init__(self, code: Any) -> None:
        self._code = code

    def code(self) -> Any:
        """As grpc has it."""
        return self._code


class OwnError(TimeoutError):
    """An exception of somebody's own."""


class CodedError(OSError):
    """One whose `code` is a method of another meaning."""

    def code(self, _more: str) -> str:
        """Say nothing."""
        return _more


PASSING: dict[str, Exception] = {
    "no connection": anthropic.APIConnectionError(request=REQUEST),
    "a timeout": openai.APITimeoutError(request=REQUEST),
    "408": anthropic.APIStatusError("x", response=answered(408), body=None),
    "409": anthropic.ConflictError("x", response=answered(409), body=None),
    "429": openai.RateLimitError("x", response=answered(429), body=None),
    "500": openai.InternalServerError("x", response=answered(500), body=None),
    "529": anthropic.APIStatusError("x", response=answered(529), body=None),
    "an error in the stream": openai.APIError("x", REQUEST, body={"code": "server_error"}),
    "httpx's 503": httpx.HTTPStatusError("x", request=REQUEST, response=answered(503)),
    "httpx's connection": httpx.RemoteProtocolError("x"),
    "httpx's timeout": httpx.ReadTimeout("x"),
    "Bedrock's 429": of_bedrock(429),
    "Bedrock's connection": botocore.exceptions.EndpointConnectionError(endpoint_url="x"),
    "unavailable": Rpc(grpc.StatusCode.UNAVAILABLE),
    "the system's": ConnectionResetError(),
    "one's own": OwnError(),
    "a method": CodedError(),
}
PERMANENT: dict[str, Exception] = {
    "400": anthropic.BadRequestError("x", response=answered(400), body=None),
    "401": openai.AuthenticationError("x", response=answered(401), body=None),
    "404": anthropic.NotFoundError("x", response=answered(404), body=None),
    "an error in the stream": openai.APIError("x", REQUEST, body={"type": "invalid_request_error"}),
    "httpx's 413": httpx.HTTPStatusError("x", request=REQUEST, response=answered(413)),
    "httpx's address": httpx.InvalidURL("x"),
    "Bedrock's 400": of_bedrock(400),
    "no credentials": botocore.exceptions.NoCredentialsError(),
    "an argument": Rpc(grpc.StatusCode.INVALID_ARGUMENT),
    "no key": openai.OpenAIError("x"),
    "a mistake": TypeError("x"),
    "another": KeyError("x"),
    "a value": ValueError("x"),
}


def change_after(cause: Cause, error: BaseException | None = None, code: str = "") -> str:
    """What would have to change after a stream that brought nothing."""
    return retry_of("fail", (), Ending(cause, False, error, code), None, ()).change


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
def test_an_error_that_passes_may_be_asked_again(error: Exception) -> None:
    """A connection, a timeout, a limit of rates, a fault of the service."""
    assert change_after(Cause.DISCONNECTED, error) == "same request"


@pytest.mark.parametrize("error", PERMANENT.values(), ids=PERMANENT)
def test_an_error_that_stays_is_not_asked_again(error: Exception) -> None:
    """The request's own fault, or the code's."""
    assert change_after(Cause.DISCONNECTED, error) == "none"


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("", "same request"),
        ("overloaded_error", "same request"),
        ("server_error", "same request"),
        ("503", "same request"),
        ("429", "same request"),
        ("14", "same request"),
        ("400", "none"),
        ("invalid_request_error", "none"),
        ("INVALID_ARGUMENT", "none"),
    ],
)
def test_a_fault_in_the_stream_is_judged_by_its_code(code: str, change: str) -> None:
    """As the status of an answer would be."""
    assert change_after(Cause.PROVIDER_ERROR, code=code) == change


@pytest.mark.parametrize("cause", Cause)
def test_the_table_decides_where_nothing_more_is_told(cause: Cause) -> None:
    """Every cause has its row."""
    assert change_after(cause) == CHANGES[cause]


def test_a_turn_that_did_not_fail_needs_no_other_request() -> None:
    """However its connection ended."""
    retry = retry_of("dispatch", (), Ending(Cause.DISCONNECTED), None, ())
    assert (retry.change, retry.causes, retry.safe) == ("none", (), True)


@both
@pytest.mark.parametrize("error", [PERMANENT["400"], PERMANENT["a mistake"]], ids=["400", "ours"])
def test_a_run_asks_once_where_the_error_stays(run: Run, error: Exception) -> None:
    """And the request's exception comes out as it is."""
    asked: list[Any] = []

    def request(messages: list[Any]) -> Any:
        asked.append(messages)
        raise error

    with pytest.raises(type(error)) as raised:
        run(request, on_abandoned=same_request(3))
    assert raised.value is error
    assert len(asked) == 1


@both
def test_a_run_asks_again_where_the_error_passes(run: Run) -> None:
    """As often as was chosen."""
    asked: list[Any] = []

    def request(messages: list[Any]) -> Any:
        asked.append(messages)
        if len(asked) < 3:
            raise PASSING["429"]
        return reply(GOOD)

    assert run(request, on_abandoned=same_request(3)).ending is RunEnding.COMPLETE
    assert len(asked) == 3


def test_what_a_request_raised_is_in_the_turn() -> None:
    """Also where nothing raises."""

    def request(_messages: list[Any]) -> Any:
        raise PERMANENT["400"]

    result = run_turn(request, ASKED, tools=TOOLS, turn_options={"raises": False}).result
    assert result.turn.error is PERMANENT["400"]
    assert result.turn.retry.change == "none"
    assert result.messages == ASKED
