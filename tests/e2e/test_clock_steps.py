"""The clock of a host is set while a run is in progress."""
import contextlib
import datetime
import time

import pytest

import bench
from agent import Agent
from bench import Bench, FAULTS
from controller import Controller
from fake_agent import FakeAgent
from program_clock import Clock
from test_artifacts import scenario

HOUR = 3600


class SetController(bench.Logged):
    """A controller whose clock can be set; agents and the test keep theirs."""
    clock = None

    def start(self, timeout=30):
        with pytest.MonkeyPatch.context() as patch:
            clock = SetController.clock = SetController.clock or Clock(self.state_dir)
            clock.preload(patch)
            return super().start(timeout)


@pytest.fixture(name="clock")
def clock_fixture(monkeypatch):
    monkeypatch.setattr(bench, "Logged", SetController)
    monkeypatch.setattr(SetController, "clock", None)
    return lambda seconds: SetController.clock.set_forward(seconds)


def established(b):
    session = b.start(b.single_call(duration=2 * FAULTS["lease_s"]))
    b.wait_for_media(session)
    return session


def was_set(b, seconds):
    """The controller has taken the clock over, and knows its agents as before."""
    until = time.monotonic() + 30
    while f"the clock of this host was set by {seconds}.0 s" not in b.controller.log():
        assert time.monotonic() < until, b.controller.log()[-4000:]
        time.sleep(0.1)
    assert [a["state"] for a in b.api("GET", "/agents")["agents"]] == ["online"]


@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids=["forward", "back"])
def test_it_is_set_during_a_run(tmp_path, ports, clock, seconds):
    with Bench(tmp_path, ports, **FAULTS) as b:
        session = established(b)
        clock(seconds)
        run = b.wait(session)
        assert run["status"] == "passed", run
        was_set(b, seconds)
        after, _ = b.run(b.single_call(duration=1))
        assert after["status"] == "passed", after
        # the later run has the new time, the one during the step kept its own
        assert abs(started(after) - started(run) - seconds) < 300


def started(run):
    return datetime.datetime.fromisoformat(run["started_at"]).timestamp()


def test_an_agent_is_lost_after_it_was_set_back(tmp_path, ports, clock):
    with Bench(tmp_path, ports, **FAULTS) as b:
        session = established(b)
        clock(-HOUR)
        b.agents[0].kill()
        run = b.wait(session)
        assert run["status"] == "errored" and "stopped answering" in run["result_description"], run


def test_it_is_set_back_while_no_controller_runs(tmp_path, ports, clock):
    with Bench(tmp_path, ports, **FAULTS) as b:
        session = established(b)
        b.controller.kill()
        clock(-HOUR)
        b.controller.start()
        run = b.wait(session)
        assert run["status"] == "passed", run
        b.wait_online()
        after, _ = b.run(b.single_call(duration=1))
        assert after["status"] == "passed", after


def test_a_poll_that_was_noted_in_the_future():
    """By a request that read the time just before the clock was taken over."""
    with Controller(poll_s=1, renew_s=5, lease_s=30) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        agent = FakeAgent(c, pool["join_token"], "a")
        assert agent.poll() == []
        with contextlib.closing(c.open_database()) as db:
            db.execute("UPDATE agent SET polled_at = polled_at + 3600000")
            db.commit()
        scenario(c, pool)
        job, = agent.jobs(1).values()
        assert agent.start(job).ok


class SetAgent(Agent):
    """An agent whose clock can be set, and that of its engines."""
    clock = None

    def start(self):
        with pytest.MonkeyPatch.context() as patch:
            clock = SetAgent.clock = SetAgent.clock or Clock(self.state_dir.parent)
            clock.preload(patch)
            return super().start()


@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids=["forward", "back"])
def test_that_of_an_agent_is_set_during_a_run(tmp_path, ports, monkeypatch, seconds):
    monkeypatch.setattr(bench, "Agent", SetAgent)
    monkeypatch.setattr(SetAgent, "clock", None)
    with Bench(tmp_path, ports, **FAULTS) as b:
        session = established(b)
        SetAgent.clock.set_forward(seconds)
        run = b.wait(session)
        assert run["status"] == "passed", run
        report = b.report(session)
        bench.assert_no_flaws(report)
        after, _ = b.run(b.single_call(duration=1))
        assert after["status"] == "passed", after
