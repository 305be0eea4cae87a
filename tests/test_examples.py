"""The examples run as they stand: real clients against a server on this machine."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from finalcall.testing import RecordedRequest, Recording, ReplayServer, Reply, Reset, Script

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def answering(provider: str, *replies: Reply) -> list[Recording]:
    return [reply.to_recording(provider) for reply in replies]


def roles(request: RecordedRequest) -> list[str]:
    return [message["role"] for message in request.json["messages"]]


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")


PAYMENT = {"account": "billing", "amount": 20, "to": "Ann"}


@pytest.mark.usefixtures("_keys")
def test_the_anthropic_agent_corrects_and_pays_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong account is put right, a payment is made once, also where the turn is tried again."""
    script = answering(
        "anthropic",
        Reply().text("Let me look.").call("get_balance", {"account": "biling"}),
        Reply().call("get_balance", {"account": "billing"}),
        Reply().call("send_payment", PAYMENT),
        Reply().text("Paid."),
    )
    agent = example("agent_loop_anthropic")
    ledger = str(tmp_path / "payments.db")
    payments: list[Any] = []
    pay_for_real = agent["FUNCTIONS"]["send_payment"]

    def noted(**parsed: Any) -> Any:
        payments.append(parsed)
        return pay_for_real(**parsed)

    agent["FUNCTIONS"]["send_payment"] = noted
    with ReplayServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        conversation = agent["run"]("turn-1", "Pay Ann 20 from billing.", ledger)
        told = server.requests[1].json["messages"][-1]["content"][0]
    assert "'billing'" in told["content"]
    assert told["is_error"] is True
    assert conversation[-1]["content"][0]["text"] == "Paid."
    assert capsys.readouterr().out.splitlines()[-1] == "Paid. [done, complete]"

    lost = Reply().text("Let me").stop(None).to_recording("anthropic").to_script()
    died = Script((*lost.steps, Reset()), lost.content_type)
    again = answering(
        "anthropic",
        Reply().call("get_balance", {"account": "billing"}),
        Reply().call("send_payment", {"to": "Ann", "amount": 20.0, "account": "billing"}),
        Reply().text("Paid."),
    )
    with ReplayServer([died, *again]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        conversation = agent["run"]("turn-1", "Pay Ann 20 from billing.", ledger)
    assert conversation[-2]["content"][0]["content"] == "paid 20.0 to Ann, from billing"
    assert payments == [PAYMENT]


@pytest.mark.usefixtures("_keys")
async def test_the_openai_agent_corrects_and_grows_its_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cut message is asked again with more tokens, a missing argument is asked for."""
    script = answering(
        "openai-chat",
        Reply().call("get_weather", '{"city": "Bre', closed=False).stop("truncated"),
        Reply().call("get_weather", {"unit": "celsius"}),
        Reply().call("get_weather", {"city": "Brest"}),
        Reply().text("18 degrees."),
    )
    with ReplayServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        conversation = await example("agent_loop_openai")["run"]("What is the weather in Brest?")
        ceilings = [request.json["max_completion_tokens"] for request in server.requests]
        asked = [roles(request) for request in server.requests]
    assert ceilings == [1024, 2048, 2048, 1024]
    assert asked[:3] == [["user"], ["user"], ["user", "assistant", "tool"]]
    assert conversation[-1]["content"] == "18 degrees."
    assert capsys.readouterr().out.splitlines()[-1] == "18 degrees. [done, complete]"
