"""The pytest plugin: a server for an agent under test, and one test run under every fault.

pytest loads it by itself wherever `finalcall` is installed; `-p no:finalcall` leaves it out.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final, Protocol

try:
    import pytest
except ModuleNotFoundError as _missing:
    raise ImportError(
        "finalcall.testing.plugin needs the package 'pytest', which is not installed: "
        "pip install 'finalcall[testing]'"
    ) from _missing

from finalcall.narrow import described
from finalcall.testing.fake_clock import FakeClock
from finalcall.testing.faults import FAULTS
from finalcall.testing.faults.checking import checked_faults, fault_named, known_faults
from finalcall.testing.replies import Reply
from finalcall.testing.server import FaultServer
from finalcall.testing.steps import Fault, NotApplicable, Script

MARK: Final = "finalcall_faults"
NO_FAULT: Final = "none"
"""The first run of a marked test: its stream is whole."""

_WITHIN: Final = 10.0
"""Seconds for which one stream may hold up a marked test, unless its mark says otherwise."""

_LOOKS: Final = 10
"""How often a stream is looked at before it is said to hold a test up."""

_PROPERTY: Final = "finalcall_fault"
_NOT_APPLICABLE: Final = pytest.StashKey[str]()
_STRUCK: Final = pytest.StashKey[bool]()
_OVERDUE: Final = pytest.StashKey[float]()


class StartServer(Protocol):
    """What the fixture `fault_server` is."""

    def __call__(self, replies: Any, *, faults: Any = ()) -> FaultServer:
        """Start a server, which ends with the test.

        Args:
            replies: As for `FaultServer`.
            faults: As for `FaultServer`, before the fault of a marked test.
        """
        ...


# What tests ask for


@pytest.fixture
def script() -> Reply:
    """An empty reply of a model, to be filled: `script.text("On it.").call("pay", {"euro": 5})`."""
    return Reply()


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock that is moved by hand: `Turn(..., clock=fake_clock)`."""
    return FakeClock()


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Fault | None:
    """The fault of this run of a test marked `finalcall_faults`; `None` where the stream is whole.

    `fault.lets_run` says whether any call of the message may run.
    """
    name: str = getattr(request, "param", NO_FAULT)
    return None if name == NO_FAULT else fault_named(name)


@pytest.fixture
def fault_server(request: pytest.FixtureRequest, fault: Fault | None) -> Iterator[StartServer]:
    """Starts loopback servers with the fault of this run in what they send: `fault_server(script)`.

    They end with the test. A marked test that one of their streams holds up for longer than its
    mark allows fails: its servers are ended then, so that whoever still waits for them gets on.
    """
    item: pytest.Item = request.node
    marker = item.get_closest_marker(MARK)
    servers: list[FaultServer] = []

    def start(replies: Any, *, faults: Any = ()) -> FaultServer:
        edits = [*checked_faults(faults), *([] if fault is None else [_noting(item, fault)])]
        server = FaultServer(replies, faults=edits)
        server.__enter__()
        servers.append(server)
        return server

    within: float = _WITHIN if marker is None else marker.kwargs.get("within", _WITHIN)
    over = threading.Event()

    def watch() -> None:
        if _held_up(servers, within, over):
            item.stash[_OVERDUE] = within
            with contextlib.suppress(Exception):  # it is raised again when the test is over
                _end(servers)

    watcher = threading.Thread(target=watch, name="fault-server-watcher")
    if marker is not None:
        watcher.start()
    try:
        yield start
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()
        _end(servers)


def _held_up(servers: list[FaultServer], within: float, over: threading.Event) -> bool:
    """Wait until one answer has been open for so long, or the test is over: whether it was first.

    A test that is slow while no stream is open is slow for reasons of its own.
    """
    ages = Counter[int]()
    while not over.wait(within / _LOOKS):
        answering = [id(request) for server in list(servers) for request in server.answering]
        ages = Counter({one: ages[one] + 1 for one in answering})
        if any(age > _LOOKS for age in ages.values()):
            return True
    return False


def _end(servers: list[FaultServer]) -> None:
    """End them all, whatever one of them raises."""
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.callback(server.__exit__, None, None, None)


def _noting(item: pytest.Item, fault: Fault) -> Callable[[Script], Script]:
    """A fault that says so to the report where it means nothing, and then does nothing."""

    def edit(script: Script) -> Script:
        try:
            faulty = fault(script)
        except NotApplicable as error:
            item.stash[_NOT_APPLICABLE] = str(error)
            return script
        item.stash[_STRUCK] = True
        return faulty

    return edit


# One test under every fault


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(*names, leave_out=(), within={_WITHIN:g}): run the test once with a whole stream "
        "and once under each fault that finalcall.testing.FAULTS names (or under the named ones, "
        "without those to leave out), let a stream hold it up for at most so many seconds, and "
        "report a table; of a class or a module, the tests that ask for fault_server or fault",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a marked test once a fault, and refuse a mark whose arguments are wrong."""
    test = metafunc.definition
    marker = test.get_closest_marker(MARK)
    if marker is None:
        return
    wrong = _wrong_with(marker)
    if wrong is not None:
        # While tests are collected, pytest shows this one as a sentence, and any other as a trace.
        raise pytest.Collector.CollectError(f"{test.nodeid} is marked {MARK} with {wrong}")
    if "fault" in metafunc.fixturenames:
        left_out = marker.kwargs.get("leave_out", ())
        names = [name for name in marker.args or FAULTS if name not in left_out]
        metafunc.parametrize("fault", [NO_FAULT, *names], indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose mark does nothing.

    One of a class or a module is for those of its tests that ask for the fixture.
    """
    if _fault_of(item) is None and any(mark.name == MARK for mark in item.own_markers):
        pytest.fail(
            f"{item.nodeid} is marked {MARK} and asks for neither fault_server nor fault, so "
            "nothing would go wrong in it; ask for the fixture fault_server (a method of a "
            "unittest.TestCase cannot: make it a function)",
            pytrace=False,
        )


def _fault_of(item: pytest.Item) -> str | None:
    """The name of the fault of this run of a marked test; `None` where it is run but once."""
    if item.get_closest_marker(MARK) is None or not isinstance(item, pytest.Function):
        return None
    # Only a test with parameters has any, and a method of a unittest.TestCase never.
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("fault")


def _wrong_with(marker: pytest.Mark) -> str | None:
    """What is wrong with the arguments of a mark, and what was expected."""
    leave_out = marker.kwargs.get("leave_out", ())
    if isinstance(leave_out, str) or not hasattr(leave_out, "__iter__"):
        return f"leave_out= {described(leave_out)}; expected a list of names, as ['stall']"
    for name in (*marker.args, *leave_out):
        if not isinstance(name, str):
            return f"a name {described(name)}; expected strings, as {MARK}('stall', 'ceiling')"
        if name not in FAULTS:
            return f"{name!r}, which is no fault; {known_faults(name)}"
    surplus = marker.kwargs.keys() - {"leave_out", "within"}
    if surplus:
        return f"{', '.join(sorted(surplus))}; expected leave_out= or within="
    within = marker.kwargs.get("within", _WITHIN)
    if not isinstance(within, int | float) or not 0 < within < math.inf:
        return f"within={within!r}; expected a number of seconds that is greater than 0"
    return None


# What is reported


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say so where a fault meant nothing to a test, and where a stream held it up."""
    report = yield
    name = _fault_of(item)
    if name is None or call.when != "call":
        return report
    report.user_properties.append((_PROPERTY, name))
    path, line, _ = item.location
    struck_nothing = _NOT_APPLICABLE in item.stash and _STRUCK not in item.stash
    if report.passed and struck_nothing:
        report.outcome = "skipped"
        reason = f"Skipped: the fault {name!r} means nothing here: {item.stash[_NOT_APPLICABLE]}"
        report.longrepr = (path, (line or 0) + 1, reason)
    elif _OVERDUE in item.stash:
        report.outcome = "failed"
        report.longrepr = (
            f"under the fault {name!r} a stream held the test up for {item.stash[_OVERDUE]:g} s; "
            "give the turn (idle_timeout=) or the client (timeout=) a shorter limit than that, or "
            f"mark the test {MARK}(within=...)"
        )
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table: a row a fault, a column a test."""
    results: dict[str, dict[str, str]] = {}
    for category, word in (("passed", "ok"), ("failed", "FAILED"), ("skipped", "n/a")):
        for report in terminalreporter.stats.get(category, ()):
            properties: dict[str, str] = dict(getattr(report, "user_properties", ()))
            fault = properties.get(_PROPERTY)
            if fault is not None:
                found = results.setdefault(report.nodeid.partition("[")[0], {})
                found[fault] = "FAILED" if found.get(fault) == "FAILED" else word
    if not results:
        return
    tests = list(results)
    faults = [
        fault for fault in (NO_FAULT, *FAULTS) if any(fault in found for found in results.values())
    ]
    terminalreporter.section("finalcall faults")
    for number, test in enumerate(tests, 1):
        terminalreporter.write_line(f"{number}: {test}")
    width = max(map(len, faults))
    terminalreporter.write_line(
        " ".join([" " * width, *(f"{number:>6}" for number in range(1, len(tests) + 1))])
    )
    for fault in faults:
        cells = (f"{results[test].get(fault, '-'):>6}" for test in tests)
        terminalreporter.write_line(" ".join([f"{fault:<{width}}", *cells]))
