"""The agent's loop runs as it stands: real clients against a server on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from finalcall.testing import Reply, Reset, Script
from tests.example_scripts import example, roles, serving

PAYMENT = {"account": "billing", "amount": 20, "to": "Ann"}
BALANCE = {"account": "billing"}


def test_it_corrects_and_pays_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong account is put right, a payment is made once, also where the turn is tried again."""
    script = [
        Reply().text("Let me look.").call("get_balance", {"account": "biling"}),
        Reply().call("get_balance", BALANCE),
        Reply().call("send_payment", PAYMENT),
        Reply().text("Paid."),
    ]
    agent = example("agent_loop")
    ledger = str(tmp_path / "payments.db")
    payments: list[Any] = []
    pay_for_real = agent["FUNCTIONS"]["send_payment"]

    def noted(**parsed: Any) -> Any:
        payments.append(parsed)
        return pay_for_real(**parsed)

    agent["FUNCTIONS"]["send_payment"] = noted
    with serving(script, monkeypatch) as server:
        conversation = agent["run"]("anthropic", "turn-1", "Pay Ann 20 from billing.", ledger)
        told = server.requests[1].json["messages"][-1]["content"][0]
    assert "'billing'" in told["content"]
    assert told["is_error"] is True
    assert conversation[-1]["content"][0]["text"] == "Paid."
    assert capsys.readouterr().out.splitlines()[-1] == "Paid. [done, complete]"

    lost = Reply().text("Let me").stop(None).to_recording("anthropic").to_script()
    died = Script((*lost.steps, Reset()), lost.content_type)
    again = [
        Reply().call("get_balance", BALANCE),
        Reply().call("send_payment", {"to": "Ann", "amount": 20.0, "account": "billing"}),
        Reply().text("Paid."),
    ]
    with serving([died, *again], monkeypatch):
        conversation = agent["run"]("anthropic", "turn-1", "Pay Ann 20 from billing.", ledger)
    assert conversation[-2]["content"][0]["content"] == "paid 20.0 to Ann, from billing"
    assert payments == [PAYMENT]


def test_it_grows_a_budget_that_was_too_small(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cut message is asked again with more tokens, a missing argument is asked for."""
    script = [
        Reply().call("get_balance", '{"account": "bil', closed=False).stop("truncated"),
        Reply().call("get_balance", {}),
        Reply().call("get_balance", BALANCE),
        Reply().text("300 are left."),
    ]
    ledger = str(tmp_path / "payments.db")
    with serving(script, monkeypatch) as server:
        conversation = example("agent_loop")["run"]("openai", "turn-1", "What is left?", ledger)
        ceilings = [request.json["max_completion_tokens"] for request in server.requests]
        asked = [roles(request) for request in server.requests]
    assert ceilings == [1024, 2048, 2048, 1024]
    assert asked[:3] == [["user"], ["user"], ["user", "assistant", "tool"]]
    assert conversation[-1]["content"] == "300 are left."
    assert capsys.readouterr().out.splitlines()[-1] == "300 are left. [done, complete]"
