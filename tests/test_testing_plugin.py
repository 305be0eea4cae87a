"""The pytest plugin, as somebody else's tests use it."""

from __future__ import annotations

import pytest

from finalcall import Settler
from finalcall.testing import FAULTS, Reply, assert_settled

pytest_plugins = ["pytester"]

AGENT = '''
import anthropic
import pytest
from finalcall import Dispatchable, Turn

TOOLS = {"pay": {"properties": {"euros": {"type": "integer"}}, "required": ["euros"]}}

def careful(base_url, idle_timeout=0.3):
    with anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0) as client:
        stream = client.messages.create(
            model="m", max_tokens=99, messages=[{"role": "user", "content": "Pay."}], stream=True
        )
        with Turn(stream, tools=TOOLS, raises=False, idle_timeout=idle_timeout) as turn:
            for _ in turn:
                pass
    return [outcome.args for outcome in turn.outcomes if isinstance(outcome, Dispatchable)]

def hasty(base_url):
    """Runs what parses, as many do."""
    with anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0) as client:
        with client.messages.stream(
            model="m", max_tokens=99, messages=[{"role": "user", "content": "Pay."}]
        ) as stream:
            message = stream.get_final_message()
    return [block.input for block in message.content if block.type == "tool_use"]
'''


def run(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(AGENT + tests)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_a_marked_test_runs_once_a_fault(pytester: pytest.Pytester) -> None:
    """An agent that only runs what is proved passes whole and cut, and the table says so."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("ceiling", "cut-at-event", "stall")
def test_agent(fault_server, script, fault):
    server = fault_server(script.text("Paying.").call("pay", {"euros": 5}))
    runs = careful(server.base_url)
    assert runs == ([{"euros": 5}] if fault is None else [])
    assert len(server.requests) == 1
""",
    )
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "*= finalcall faults =*",
            "1: *::test_agent",
            "none *ok",
            "ceiling *ok",
            "cut-at-event *ok",
            "stall *ok",
        ]
    )


def test_an_agent_that_runs_a_cut_call_is_caught(pytester: pytest.Pytester) -> None:
    """The fault under which it ran a call that was not whole fails, and the others do not."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("ceiling", "slow-trickle")
def test_agent(fault_server, script, fault):
    runs = hasty(fault_server(script.call("pay", {"euros": 5})).base_url)
    assert runs == ([{"euros": 5}] if fault is None or fault.lets_run else [])
""",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["none *ok", "ceiling *FAILED", "slow-trickle *ok"])


def test_every_fault_is_run_where_none_is_named(pytester: pytest.Pytester) -> None:
    """A bare mark means all of them, but for those that are left out."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults(leave_out=["stall"])
def test_agent(fault):
    pass
""",
    )
    result.assert_outcomes(passed=len(FAULTS))  # a whole stream, and all but one


def test_what_means_nothing_is_said(pytester: pytest.Pytester) -> None:
    """A fault of calls, in a reply without one: neither passed nor failed."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("duplicate-key")
def test_agent(fault_server, script):
    assert careful(fault_server(script.text("Nothing to pay.")).base_url) == []
""",
        "-rs",
    )
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*'duplicate-key' means nothing here*", "duplicate-key *n/a"])


def test_an_agent_that_waits_for_ever_fails(pytester: pytest.Pytester) -> None:
    """Its servers are ended, and the report says what to do."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("stall", within=1.0)
def test_agent(fault_server, script, fault):
    if fault is None:
        return
    careful(fault_server(script.call("pay", {"euros": 5})).base_url, idle_timeout=600.0)
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*under the fault 'stall' the test was not over after 1 s*"])


def test_it_works_over_several_processes(pytester: pytest.Pytester) -> None:
    """With xdist the table is the same."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("ceiling")
def test_agent(fault_server, script, fault):
    careful(fault_server(script.call("pay", {"euros": 5})).base_url)
""",
        "-n",
        "2",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["none *ok", "ceiling *ok"])


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ('@pytest.mark.finalcall_faults("stal")\ndef test_agent(fault): ...', "*with 'stal'; the*"),
        ("@pytest.mark.finalcall_faults()\ndef test_agent(): ...", "*ask for the fixture*"),
        (
            "@pytest.mark.finalcall_faults(withn=1)\ndef test_agent(fault): ...",
            "*with withn; expected leave_out= or within=",
        ),
    ],
)
def test_a_wrong_mark_says_what_is_wrong(
    pytester: pytest.Pytester, test: str, sentence: str
) -> None:
    """A misspelt fault, a fixture that is not asked for, an unknown argument."""
    result = run(pytester, test)
    assert result.ret in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED}
    (result.stderr if "ERROR" in result.stderr.str() else result.stdout).fnmatch_lines([sentence])


def test_the_fixtures_work_without_a_mark(pytester: pytest.Pytester) -> None:
    """A server with a fault of the test's own choice, and a clock that is moved by hand."""
    result = run(
        pytester,
        """
from finalcall.testing import FAULTS, assert_settled

def test_server(fault_server, script, fault):
    assert fault is None
    server = fault_server(script.call("pay", {"euros": 5}), faults=[FAULTS["ceiling"]])
    assert careful(server.base_url) == []

def test_clock(fake_clock, script):
    turn = Turn(script.call("pay", {"euros": 5}).to("cohere"), tools=None, clock=fake_clock)
    with turn:
        for _ in turn:
            pass
    assert_settled(turn)
""",
    )
    result.assert_outcomes(passed=2)
    assert "finalcall faults" not in result.stdout.str()


def test_a_turn_that_goes_on_is_not_settled() -> None:
    """The message says what to do about it."""
    settler = Settler(tools=None)
    *events, last = Reply().call("pay").to("anthropic")
    for event in events:
        settler.feed(event)
    with pytest.raises(AssertionError, match="1 call was announced so far; iterate it"):
        assert_settled(settler)
    settler.feed(last)
    assert_settled(settler)
