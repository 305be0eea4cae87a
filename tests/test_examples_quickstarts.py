"""The quickstarts run as they stand: real clients against a server on this machine."""

from __future__ import annotations

import pytest

from finalcall.testing import Reply
from tests.example_scripts import example, serving

TICKET = {"project": "BILLING", "title": "Night run", "priority": "urgent"}


def test_anthropics_corrects_a_call_and_runs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong call is answered for the caller, the right one runs, the message ends the loop."""
    script = [
        Reply().text("One moment.").call("create_ticket", TICKET | {"priority": "high"}),
        Reply().call("create_ticket", TICKET),
        Reply().text("It is open."),
    ]
    with serving(script, monkeypatch) as server:
        verdict = example("quickstart_anthropic")["run"]("The night run stopped.")
        answers = [request.json["messages"][-1]["content"] for request in server.requests[1:]]
    assert verdict == "done"
    assert [answer[0].get("is_error", False) for answer in answers] == [True, False]
    assert answers[1][0]["content"] == "opened BILLING-17 (urgent): Night run"
    assert capsys.readouterr().out == "One moment. [correct]\n [dispatch]\nIt is open. [done]\n"


async def test_openais_corrects_a_call_and_runs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same over the Responses API, in asyncio."""
    script = [
        Reply().call("get_weather", {"unit": "celsius"}),
        Reply().call("get_weather", {"city": "Brest"}),
        Reply().text("18 degrees."),
    ]
    with serving(script, monkeypatch) as server:
        verdict = await example("quickstart_openai")["run"]("What is the weather in Brest?")
        answers = [request.json["input"][-1] for request in server.requests[1:]]
    assert verdict == "done"
    assert [answer["type"] for answer in answers] == ["function_call_output"] * 2
    assert "city" in answers[0]["output"]
    assert answers[1]["output"] == "18 degrees celsius in Brest"
    assert capsys.readouterr().out == " [correct]\n [dispatch]\n18 degrees. [done]\n"


async def test_a_message_that_was_cut_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both say which call did not run, and why."""
    cut = Reply().call("create_ticket", TICKET).stop("truncated")
    with serving(cut, monkeypatch):
        assert example("quickstart_anthropic")["run"]("Go.") == "fail"
        assert await example("quickstart_openai")["run"]("Go.") == "fail"
    line = "⊘ create_ticket — not run (the request was cut short)"
    assert capsys.readouterr().out.splitlines() == [" [fail]", line] * 2


async def test_a_loop_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that calls for ever, or is paused for ever, is given up."""
    ticket = Reply().call("create_ticket", TICKET)
    with serving(ticket, monkeypatch) as server:
        assert example("quickstart_anthropic")["run"]("Go.") == "fail"
        assert len(server.requests) == 10
    with serving(Reply().text("x").stop("paused"), monkeypatch) as server:
        assert example("quickstart_anthropic")["run"]("Go.") == "fail"
        assert len(server.requests) == 10
    weather = Reply().call("get_weather", {"city": "Brest"})
    with serving(weather, monkeypatch) as server:
        assert await example("quickstart_openai")["run"]("Go.") == "fail"
        assert len(server.requests) == 10
