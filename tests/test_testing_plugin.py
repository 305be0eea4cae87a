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
            "cut-at-event *ok",
            "stall *ok",
            "ceiling *ok",
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
    result.stdout.fnmatch_lines(["*'duplicate-key' means nothing here*"])
    result.stdout.fnmatch_lines(["duplicate-key *n/a"])


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
    result.stdout.fnmatch_lines(["*under the fault 'stall' a stream held the test up for 1 s*"])


def test_a_test_that_is_slow_by_itself_is_not_blamed_on_a_stream(
    pytester: pytest.Pytester,
) -> None:
    """Neither before it asks, nor between its answers, nor by the sum of them."""
    result = run(
        pytester,
        """
import threading

@pytest.mark.finalcall_faults("ceiling", within=0.2)
def test_agent(fault_server, script, fault):
    server = fault_server(script.call("pay", {"euros": 5}))
    for _ in range(2):
        threading.Event().wait(0.4)
        careful(server.base_url)
""",
    )
    result.assert_outcomes(passed=2)


def test_a_failing_test_fails_whatever_a_fault_means(pytester: pytest.Pytester) -> None:
    """A fault that struck one reply and not the next is no excuse, and one that struck none too."""
    result = run(
        pytester,
        """
@pytest.mark.finalcall_faults("ceiling")
def test_two_messages(fault_server, script, fault):
    server = fault_server([script.call("pay", {"euros": 5}), script.text("Done.")])
    runs = [run for _ in range(2) for run in hasty(server.base_url)]
    assert fault is None or runs == []

@pytest.mark.finalcall_faults("ceiling")
def test_two_messages_that_are_read_well(fault_server, script, fault):
    server = fault_server([script.call("pay", {"euros": 5}), script.text("Done.")])
    runs = [run for _ in range(2) for run in careful(server.base_url)]
    assert fault is None or runs == []

@pytest.mark.finalcall_faults("duplicate-key")
def test_text(fault_server, script, fault):
    assert careful(fault_server(script.text("Done.")).base_url) == []
    assert fault is None
""",
    )
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        ["ceiling *FAILED *ok *-", "duplicate-key *-  *- *FAILED"],
    )


def test_every_server_ends_though_the_first_one_raises(pytester: pytest.Pytester) -> None:
    """What its function raised comes out of the test's end, and no thread stays."""
    result = run(
        pytester,
        """
import http.client
import threading

def test_two_servers(fault_server, script):
    bad = fault_server(lambda request: 1 / 0)
    fault_server(script.text("Hello."))
    connection = http.client.HTTPConnection(bad.base_url.removeprefix("http://"))
    connection.request("POST", "/v1/messages", b"{}")
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()

def test_nothing_is_left():
    assert not [one for one in threading.enumerate() if one.name == "fault-server"]
""",
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


def test_the_mark_of_a_class_or_a_module_is_for_those_that_ask(pytester: pytest.Pytester) -> None:
    """Its other tests run once, as they are, and so do methods of a unittest.TestCase."""
    result = run(
        pytester,
        """
import unittest

pytestmark = pytest.mark.finalcall_faults("ceiling")

def test_agent(fault_server, script):
    careful(fault_server(script.call("pay", {"euros": 5})).base_url)

@pytest.mark.parametrize("number", [1, 2])
def test_alone(number):
    assert number

class TestOld(unittest.TestCase):
    def test_alone(self):
        pass
""",
    )
    result.assert_outcomes(passed=5)
    assert "test_alone" not in result.stdout.str()


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
        *(
            (f"@pytest.mark.finalcall_faults({given})\ndef test_agent(fault): ...", sentence)
            for given, sentence in [
                ("'stal'", "*with 'stal', which is no fault; did you mean 'stall'?"),
                ("leave_out=['x']", "*with 'x', which is no fault; the faults are cut-at-byte, *"),
                ("leave_out='stall'", "*with leave_out= of type str; expected a list of names*"),
                ("leave_out=3", "*with leave_out= of type int; expected a list of names*"),
                ("['stall']", "*with a name of type list; expected strings*"),
            ]
        ),
        (
            "@pytest.mark.finalcall_faults(withn=1)\ndef test_agent(fault): ...",
            "*with withn; expected leave_out= or within=",
        ),
        *(
            (
                f"@pytest.mark.finalcall_faults(within={within})\ndef test_agent(fault): ...",
                "*with within=*; expected a number of seconds that is greater than 0",
            )
            for within in ("'a'", "0")
        ),
    ],
)
def test_a_wrong_mark_says_what_is_wrong(
    pytester: pytest.Pytester, test: str, sentence: str
) -> None:
    """A misspelt fault, an unknown argument, no time at all."""
    pytester.makepyfile(f"import pytest\n\n{test}")
    # In this process, since nothing of it is run.
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    assert result.ret in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED}
    (result.stderr if "ERROR" in result.stderr.str() else result.stdout).fnmatch_lines([sentence])
    assert "site-packages" not in result.stdout.str()  # no trace through pytest itself


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["alone", "in processes"])
def test_a_mark_that_does_nothing_fails_its_test_alone(
    pytester: pytest.Pytester, processes: list[str]
) -> None:
    """With a sentence; the tests beside it run."""
    result = run(
        pytester,
        """
import unittest

@pytest.mark.finalcall_faults()
def test_agent(): ...

class TestOld(unittest.TestCase):
    @pytest.mark.finalcall_faults("stall")
    def test_agent(self): ...

def test_beside(): ...
""",
        *processes,
    )
    result.assert_outcomes(passed=1, errors=2)
    assert result.stdout.str().count("a method of a unittest.TestCase cannot") >= 2
    assert "site-packages" not in result.stdout.str()


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
