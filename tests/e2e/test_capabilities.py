"""A run is placed on agents with the capabilities that its roles need. Otherwise it
waits and names what is missing."""
import time
from contextlib import closing

import pytest

from agent import Agent
from controller import Controller
from test_orchestration import TIMES, Bench, finish

NATIVE = ["client:native"]
BARESIP = ["client:native", "client:baresip"]
FOREIGN_CALLER = {"step.1.0.client": "baresip", "step.1.1.client": "baresip"}
NEEDS_OPUS = {"step.0.1.audio_codecs": '["opus", "PCMU"]'}


@pytest.fixture
def bench():
    with Controller(**{**TIMES, "claim_timeout_s": 300, "poll_s": 1, "lease_s": 60, "offer_s": 60}) as c:
        yield Bench(c)


def start(bench, **overrides):
    """(session, what it waits for)"""
    data = bench.c.api("POST", f"/tests/{bench.test}/run", overrides)["data"]
    return data["session_id"], data["waiting_for"]


def waiting_for(bench, session):
    return bench.get(session)["waiting_for"]


def carried_out(session, *shares):
    """Each (agent, roles) is offered these roles of the run."""
    for agent, roles in shares:
        jobs = agent.jobs(len(roles))
        assert set(jobs) == set(roles)
        for job in jobs.values():
            assert job["session_id"] == session
            assert agent.start(job).ok
        finish(agent, *jobs.values())


def test_the_capability_and_who_lacks_it_are_named(bench):
    """At once, although an agent is online and has capacity."""
    plain = [bench.agent(f"agent-{i}", features=NATIVE) for i in (1, 2)]
    session, said = start(bench, **FOREIGN_CALLER)
    assert said == (
        "capabilities missing: no agent online in the pool pool has what the role caller needs: "
        "agent-1 lacks client:baresip; agent-2 lacks client:baresip")
    for agent in plain:
        assert agent.poll() == []
    assert waiting_for(bench, session) == said
    # an agent with the capability comes online: it gets the run that the others cannot
    # execute
    able = bench.agent("agent-3", features=BARESIP)
    assert waiting_for(bench, session) is None
    carried_out(session, (able, {"caller", "callee"}))
    assert bench.ended(session)


def test_labels_that_a_test_requires(bench):
    """Strict: an agent that reports no such label does not have it."""
    fra = {"step.1.1.requires": '["site=fra", "client=baresip"]'}
    bench.agent("agent-1", features=NATIVE)
    bench.agent("agent-2", features=[*BARESIP, "site=frankfurt", "site:fra2"])
    session, said = start(bench, **fra)
    assert said == (
        "capabilities missing: no agent online in the pool pool has what the role caller needs: "
        "agent-1 lacks site=fra, client=baresip; agent-2 lacks site=fra")
    able = bench.agent("agent-3", features=[*BARESIP, "site=fra"])
    assert waiting_for(bench, session) is None
    carried_out(session, (able, {"caller", "callee"}))
    assert bench.ended(session)


@pytest.mark.parametrize("value", [["a b"], [""], ["x" * 61], ["é"], [1], ["a"] * 17, "site=fra", 7])
def test_labels_that_no_agent_can_have(bench, value):
    answer = bench.c.request("POST", f"/tests/{bench.test}/run", {"step.1.1.requires": value})
    assert answer.status_code == 422
    assert [e["pointer"] for e in answer.json()["errors"]] == ["/step.1.1.requires"]


def test_each_role_goes_to_an_agent_that_has_what_it_needs(bench):
    """No agent has all capabilities. The first one to poll has capacity for one role,
    and gets the one it can execute."""
    baresip = bench.agent("agent-1", capacity=1, features=[*BARESIP, "codec:PCMU"])
    opus = bench.agent("agent-2", capacity=1, features=[*NATIVE, "codec:opus"])
    session, said = start(bench, **FOREIGN_CALLER, **NEEDS_OPUS)
    assert said is None
    carried_out(session, (opus, {"callee"}), (baresip, {"caller"}))
    assert bench.ended(session)


def test_those_that_have_it_are_busy(bench):
    able = bench.agent("agent-1", capacity=2, features=BARESIP)
    bench.agent("agent-2", capacity=4, features=NATIVE)
    first, _ = start(bench, **FOREIGN_CALLER)
    jobs = able.jobs(2)
    assert all(able.start(job).ok for job in jobs.values())
    second, said = start(bench, **FOREIGN_CALLER)
    assert said == ("the agents online in the pool pool that have what the run needs "
                    "(client:baresip) are busy")
    finish(able, *jobs.values())
    assert bench.ended(first)
    carried_out(second, (able, {"caller", "callee"}))


def test_those_that_have_it_are_too_small(bench):
    bench.agent("agent-1", capacity=1, features=BARESIP)
    bench.agent("agent-2", capacity=4, features=NATIVE)
    _, said = start(bench, **FOREIGN_CALLER, **{"step.0.1.client": "baresip",
                                                "step.0.0.client": "baresip"})
    assert said == ("capabilities missing: the agents online in the pool pool that have what the "
                    "run needs (client:baresip) can take too few jobs")


def test_an_agent_that_does_not_report_a_kind_is_asked(bench):
    """An older agent, which rejects the job itself if it lacks the capability."""
    agent = bench.agent(features=["sip", "rtp"])
    session, said = start(bench, **FOREIGN_CALLER, **NEEDS_OPUS)
    assert said is None
    carried_out(session, (agent, {"caller", "callee"}))


def test_a_poll_reports_what_has_changed(bench):
    """baresip is installed later, and the agent restarted."""
    agent = bench.agent(features=NATIVE)
    session, said = start(bench, **FOREIGN_CALLER)
    assert "agent-1 lacks client:baresip" in said
    (job, _) = agent.poll(features=BARESIP)
    assert job["session_id"] == session
    (shown,) = bench.c.api("GET", "/agents")["agents"]
    assert shown["features"] == BARESIP
    assert agent.post("/poll", {"free": 1, "features": "opus"}).status_code == 422


def test_nobody_comes_who_has_it():
    """The run ends like one without any agent."""
    with Controller(**{**TIMES, "claim_timeout_s": 2}) as c:
        bench = Bench(c)
        agent = bench.agent(features=NATIVE)
        session, _ = start(bench, **FOREIGN_CALLER)
        for _ in range(3):
            assert agent.poll() == []
        run = bench.ended(session)
        assert run["status"] == "errored"
        assert run["result_description"] == (
            "capabilities missing: no agent online in the pool pool has what the role caller "
            "needs: agent-1 lacks client:baresip")


def test_an_agent_reports_what_it_is_able_to_do(bench, tmp_path, ports):
    """On a loopback address baresip cannot be used."""
    with closing(Agent(tmp_path, bench.c.witness().url, bench.token, ports.rtp)) as agent:
        agent.start()
        until = time.monotonic() + 30
        while not (agents := bench.c.api("GET", "/agents")["agents"]):
            assert time.monotonic() < until and agent.process.poll() is None, agent.log()
            time.sleep(0.05)
        features = agents[0]["features"]
        session, said = start(bench, **FOREIGN_CALLER)
        assert said == (
            "capabilities missing: no agent online in the pool pool has what the role caller "
            f"needs: {agents[0]['name']} lacks client:baresip")
        bench.c.api("POST", f"/runs/{session}/stop")
        bench.ended(session)
        log = agent.log()
    assert {"client:native", "codec:opus", "codec:G722", "encryption:dtls",
            "transport:tls"} <= set(features)
    assert "client:baresip" not in features and "not offered: client baresip: " in log
