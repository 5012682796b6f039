"""Fixtures of the end-to-end tests; docs/internals/testing.md explains the pieces."""
import os
import sys
from pathlib import Path

import pytest
from _pytest import runner
from _pytest.assertion import rewrite

sys.path.insert(0, str(Path(__file__).parent))

import agent  # noqa: E402
import contract  # noqa: E402
import logs  # noqa: E402
import sip_witness  # noqa: E402
from netns import cable  # noqa: E402
from ports import PortBlock  # noqa: E402

contract.install()

os.environ.update(agent.UNJUDGED)

# pytest sets and deletes PYTEST_CURRENT_TEST for each phase of a test, while the threads of a
# fixture may be copying the environment (requests does for each request): os.environ then
# raises KeyError. Nothing here reads that variable.
runner._update_current_test_var = lambda item, when: None

MESSAGE_CHARS = 8000
short = rewrite.saferepr
# Show the whole message of an assertion: pytest cuts one that is not a string to 240
# characters.
rewrite.saferepr = lambda value, maxsize=None: \
    short(value, maxsize) if maxsize else repr(value)[:MESSAGE_CHARS]


def pytest_configure(config):
    config.addinivalue_line("markers", "looks: has a page looked at, see browser.looked_at()")


def pytest_runtest_setup():
    logs.test_begins()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """Show the logs of the programs below a failed test."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.sections += logs.written()


@pytest.fixture(autouse=True)
def answers_as_documented():
    """Also check the responses that a test's threads received."""
    broken = contract.CONTRACT.broken if contract.CONTRACT else []
    before = len(broken)
    yield
    broken = contract.CONTRACT.broken if contract.CONTRACT else []
    assert broken[before:] == []


@pytest.fixture(scope="session", autouse=True)
def messages_as_they_must_be():
    """Check the SIP messages that the tests of this file sent."""
    yield
    assert sip_witness.findings() == []


@pytest.fixture(scope="session")
def build():
    """The build directory with the three programs."""
    root = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("OFFHOOK_BUILD", root / "build"))


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


@pytest.fixture(scope="module")
def namespaces():
    """The names of two network namespaces with a cable between them (netns.py)."""
    with cable() as names:
        yield names
