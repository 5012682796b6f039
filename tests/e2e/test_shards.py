"""One role carried out by several agents: the same calls, numbers and counts as by one; each shard is shown; a lost one ends the run."""
import collections
import contextlib
import math
import re
import time

import pytest

import stored_points
from agent import Agent
from bench import CALLEE, FAULTS, Bench, assert_no_flaws
from engine import Engine
from peers import SUBSCRIBERS

CALLS = 26
INTERVAL_S = 3600
LOAD = {"max_concurrent_calls": 26, "calls_per_second": 20}
# one sample a call
PER_CALL = ("sip_pdd", "sip_invite_200_time", "sip_bye_200_time")


@contextlib.contextmanager
def phone(build, ports):
    """A callee with all the numbers that are dialled, and an RTP range of its own."""
    answer = {"type": "answer", "credentials": [{"username": f"9{n}"} for n in range(CALLS)]}
    with Engine(build, "callee", [[answer]], ports, sip_port=ports.phone,
                offset=(ports.relay[0] - ports.rtp[0]) // 4, rtp_last=ports.relay[1]) as engine:
        engine.step(0)
        yield engine
        if not engine.finish:
            engine.end()


def load_steps(target, agents=None, **call):
    call = {"type": "call", "role": "caller", "max_total_calls": CALLS, **LOAD, "target_pool": target,
            "dial_destination": "9{{n}}", "call_duration": 3, **call}
    if agents is not None:
        call["agents"] = agents
    return [[{"type": "wait", "role": "caller"}], [call]]


def load_test(bench, steps, conditions=()):
    return bench.api("POST", "/tests", {
        "name": f"load {time.monotonic()}", "project_id": bench.project_id, "scenario": "single-call",
        "agentpool_id": bench.pool_id, "record": "sip", "conditions": list(conditions), "steps": steps})["test"]["id"]


def finished(bench, callee, session, timeout=90):
    """Wait for the end of a run, while the callee's reports are read."""
    deadline = time.monotonic() + timeout
    while (run := bench.api("GET", f"/runs/{session}/status")["run"])["status"] == "running":
        assert time.monotonic() < deadline, bench.api("GET", f"/runs/{session}")
        callee.pump(0.2)
    return run


def rows(bench, session, sql):
    with contextlib.closing(bench.controller.open_database()) as db:
        return db.execute(sql, (session,)).fetchall()


def samples(bench, session):
    found = collections.Counter()
    with contextlib.closing(bench.controller.open_database()) as db:
        for p in stored_points.read(db, session=session):
            if p.dir == "out":
                found[p.measure] += p.n
    return dict(found)


def calls_of_agents(bench, session):
    """How many calls each shard's lease reported."""
    return [n for _, n in sorted(rows(
        bench, session, "SELECT l.shard, count(*) FROM event e JOIN lease l ON l.id = e.lease_id JOIN run r ON r.id = l.run_id "
                        "WHERE r.session_id = ? AND e.kind = 'call' AND l.role = 'caller' GROUP BY l.shard"))]


def facts(bench, callee, session):
    """What does not depend on how the role was divided."""
    run, report = finished(bench, callee, session), bench.report(session)
    assert run["status"] == "passed", run["result_description"]
    assert_no_flaws(report)
    sip = bench.controller.session.get(f"{bench.controller.url}/run/details/{session}/sip.txt",
                                       auth=bench.controller.keys["admin"], timeout=60).text
    counts = samples(bench, session)
    return report, {
        "calls": sorted((c["call"], c["account"], c["end"]) for c in report["calls"]),
        "numbers": sorted({(c["call"], re.search(r"9\d+", c["peer"])[0]) for c in report["calls"]}),
        "invites": sorted(number for number, _ in set(re.findall(  # without retransmissions
            r"^INVITE sip:(9\d+)@[^\n]*\n(?:[^\n]+\n)*?Via:[^\n]*branch=([^;\s]+)", sip, re.M))),
        "samples": {measure: counts[measure] for measure in PER_CALL},
    }


def check_percentile(bench, session, report):
    """The merged percentile is within 1 % of the samples around its rank."""
    delays = sorted(c["pdd_ms"] for c in report["calls"])
    points = bench.points(session, "sip_pdd", "caller", "out")
    assert len(points) == 1, "the interval is longer than the run"
    for name, fraction in (("median", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95)):
        rank = fraction * (len(delays) - 1)
        low, high = delays[math.floor(rank)], delays[math.ceil(rank)]
        assert low * 0.99 <= float(points[0][name]) <= high * 1.01, (name, points[0], delays)
    assert float(points[0]["max"]) == pytest.approx(delays[-1], rel=1e-6)


def check_calls_active(bench, session):
    """Calls of a second add up over the agents."""
    active = bench.points(session, "calls_active", "caller", "out")
    assert max(float(p["max"]) for p in active) > CALLS / 2 + 1, active
    assert all(float(p["min"]) <= float(p["avg"]) <= float(p["max"]) for p in active), active


def test_same_results_over_one_two_and_four_agents(build, tmp_path, ports):
    found = {}
    with Bench(tmp_path, ports, proxy=False, agents=4, interval_s=INTERVAL_S, max_duration_s=INTERVAL_S) as bench, \
            phone(build, ports) as callee:
        target = bench.target(ports.phone)
        for agents, parameter in ((1, None), (2, 2), (4, "3-4")):
            # intervals end at multiples of the wall clock
            if (left := INTERVAL_S - time.time() % INTERVAL_S) < 30:
                time.sleep(left)
            session = bench.start(load_test(bench, load_steps(target, parameter)))
            report, found[agents] = facts(bench, callee, session)
            shards = bench.api("GET", f"/runs/{session}")["run"]["shards"]
            if agents == 1:
                assert shards == report["shards"] == []
                assert "shards" not in report["evidence"][0]
                continue
            assert shards == report["shards"]
            print(shards)
            assert [(s["role"], s["shard"], s["shards"], s["state"]) for s in shards] == \
                [("caller", k + 1, agents, "finished") for k in range(agents)]
            assert len({s["agent"] for s in shards}) == agents
            # the counts of the agents themselves
            assert calls_of_agents(bench, session) == [CALLS // agents + (k < CALLS % agents) for k in range(agents)]
            assert sorted(e["shard"] for e in report["evidence"]) == list(range(1, agents + 1))
            assert all(e["packets_sent"] > 0 and e["shards"] == agents for e in report["evidence"])
            # one host, one clock: the starts were together, as far as can be told
            assert min(s["start_offset_ms"] for s in shards) == 0
            assert all(s["start_offset_ms"] >= 0 and s["clock_error_ms"] > 0 for s in shards)
            check_percentile(bench, session, report)
            check_calls_active(bench, session)
    assert [name for name, *_ in found[1]["calls"]] == sorted(f"caller-{n + 1}" for n in range(CALLS))
    assert found[1]["numbers"] == sorted((f"caller-{n + 1}", f"9{n}") for n in range(CALLS))
    assert set(found[1]["samples"].values()) == {CALLS}
    assert found[2] == found[1]
    assert found[4] == found[1]


def test_accounts_are_divided_over_agents_and_engines(tmp_path, ports):
    """Each account registers once, and its calls come from the engine that has it."""
    callers = ["1003", "1004", "1005", "1006"]
    with Bench(tmp_path, ports, agents=2, agent_conf={"engines": 2}) as bench:
        pool = bench.credentials("load", {user: SUBSCRIBERS[user] for user in callers})
        test = load_test(bench, [
            [{"type": "register", "role": "callee", "target_pool": bench.target_id, "credential_pool": bench.callees},
             {"type": "answer", "role": "callee"},
             {"type": "register", "role": "caller", "target_pool": bench.target_id, "credential_pool": pool}],
            [{"type": "call", "role": "caller", "max_total_calls": 10, "dial_destination": CALLEE, "call_duration": 1,
              "agents": 2, "max_concurrent_calls": 200, "calls_per_second": 20}]])
        run, report = bench.run(test)
    assert run["status"] == "passed", run["result_description"]
    registered = [s["account"] for s in report["states"] if s["role"] == "caller" and s["state"] == "REGISTER_OK"]
    assert sorted(registered) == callers
    calls = [c for c in report["calls"] if c["role"] == "caller"]
    assert sorted((int(c["call"].split("-")[1]), c["account"]) for c in calls) == [(n + 1, callers[n % 4]) for n in range(10)]
    evidence = [e for e in report["evidence"] if e["role"] == "caller"]
    assert sorted((e["shard"], e["engine"]) for e in evidence) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert len([e for e in report["evidence"] if e["role"] == "callee"]) == 1
    assert_no_flaws(report)


def test_calls_in_the_first_step_begin_together(build, tmp_path, ports):
    """All agents wait for each other before it. Their starts are known while the calls are up."""
    with Bench(tmp_path, ports, proxy=False, agents=3) as bench, phone(build, ports) as callee:
        steps = load_steps(bench.target(ports.phone), 2, call_duration=60)[1:]
        steps[0].append({"type": "options", "role": "A", "target_pool": bench.target(ports.phone)})  # of one agent
        session = bench.start(load_test(bench, steps))
        deadline = time.monotonic() + 60
        run = bench.api("GET", f"/runs/{session}")["run"]
        while None in [s["start_offset_ms"] for s in run["shards"]]:
            assert time.monotonic() < deadline, run
            callee.pump(0.2)
            run = bench.api("GET", f"/runs/{session}")["run"]
        assert run["phase"] == "running" and {s["state"] for s in run["shards"]} == {"started"}
        assert all(s["clock_error_ms"] > 0 for s in run["shards"])
        bench.api("POST", f"/runs/{session}/stop")
        assert finished(bench, callee, session)["status"] == "stopped"
        steps[0][0]["call_duration"] = 1
        report, found = facts(bench, callee, bench.start(load_test(bench, steps)))
    print(report["shards"])
    assert [name for name, *_ in found["calls"]] == sorted(f"caller-{n + 1}" for n in range(CALLS))
    assert set(found["samples"].values()) == {CALLS}


def kill_one_in_call(bench, callee, session):
    deadline = time.monotonic() + 60
    while len({s["call"] for s in bench.report(session)["states"] if s["state"] == "CALL_ESTABLISHED"}) < 8:
        assert time.monotonic() < deadline, bench.api("GET", f"/runs/{session}")
        callee.pump(0.2)
    bench.agents[1].kill()


def test_a_run_goes_on_without_an_agent_that_is_killed(build, tmp_path, ports):
    """It is judged by the calls of the others, and says everywhere what it lacks."""
    with Bench(tmp_path, ports, proxy=False, agents=2, **FAULTS) as bench, phone(build, ports) as callee:
        steps = load_steps(bench.target(ports.phone), 2, call_duration=10, allow_reduced=True)
        steps.append([{"type": "wait", "role": "caller", "wait_ms": 1}])  # a barrier that the lost one does not reach
        session = bench.start(load_test(bench, steps, [{"role": "caller", "condition_type": "caller-call-count-conditions", "conditions": [
            {"type": "eq", "count": "established", "value": str(CALLS // 2)}]}]))
        kill_one_in_call(bench, callee, session)
        run = finished(bench, callee, session)
        whole, report = bench.api("GET", f"/runs/{session}")["run"], bench.report(session)
        texts = {kind: bench.controller.session.get(
            f"{bench.controller.url}/api/v2/runs/{session}/report/{kind}", auth=bench.controller.keys["admin"], timeout=60).text
            for kind in ("junit", "markdown", "html")}
    print(run["result_description"])
    assert run["status"] == "passed", run["result_description"]
    assert (whole["reduced"], whole["shards_lost"]) == (report["run"]["reduced"], report["run"]["shards_lost"]) == (True, 1)
    lost, kept = sorted(whole["shards"], key=lambda s: s["state"] != "lost")
    assert (lost["agent"], lost["state"], kept["agent"], kept["state"]) == ("agent1", "lost", "agent0", "finished")
    assert lost["reason"].startswith(f"caller (shard {lost['shard']} of 2): agent agent1 ") and kept["reason"] is None
    assert run["result_description"] == f"the run went on without {lost['reason']}"
    assert [s["calls"] for s in whole["shards"]] == [CALLS // 2] * 2
    assert {s["calls_per_second"] for s in whole["shards"]} == {LOAD["calls_per_second"] / 2}
    # all calls of the other one, and none in place of those of the lost one
    ours = [n for n in (int(c["call"].split("-")[1]) for c in report["calls"]) if (n - 1) % 2 == kept["shard"] - 1]
    assert sorted(ours) == list(range(kept["shard"], CALLS + 1, 2))
    assert '<property name="shards_lost" value="1"/>' in texts["junit"]
    for text in texts.values():
        assert "1 shard was lost; the run went on without" in text
    for kind in ("markdown", "html"):
        assert "agent1" in texts[kind] and "lost" in texts[kind] and "The shards of caller began within" in texts[kind]


def test_an_agent_that_is_killed_ends_the_run_errored(build, tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False, agents=2, **FAULTS) as bench, phone(build, ports) as callee:
        session = bench.start(load_test(bench, load_steps(bench.target(ports.phone), 2, call_duration=60)))
        kill_one_in_call(bench, callee, session)
        run = finished(bench, callee, session)
        shards = bench.api("GET", f"/runs/{session}")["run"]["shards"]
        report = bench.report(session)
        whole = bench.api("GET", f"/runs/{session}")["run"]
    assert run["status"] == "errored"
    assert (whole["reduced"], whole["shards_lost"]) == (False, 0)
    print(run["result_description"])
    lost = next(s for s in shards if s["agent"] == "agent1")
    assert lost["state"] == "lost"
    assert run["result_description"].startswith(f"caller (shard {lost['shard']} of 2): agent agent1 ")
    # the other one ended its calls, and took none of those of the lost one
    numbers = collections.Counter((int(c["call"].split("-")[1]) - 1) % 2 for c in report["calls"])
    assert set(numbers) == {2 - lost["shard"]}


def test_a_run_waits_for_agents_that_are_different(build, tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False, agents=1, agent_conf={"capacity": 8}, claim_timeout_s=120) as bench, \
            phone(build, ports) as callee:
        session = bench.start(load_test(bench, load_steps(bench.target(ports.phone), "2-3", call_duration=1)))
        waits = bench.api("GET", f"/runs/{session}")["run"]["waiting_for"]
        assert waits == ("the role caller needs 2 different agents of the pool pool, 1 online can carry it out: "
                         "start more, or lower its parameter agents")
        first = bench.agents[0]
        bench.agents.append(Agent(tmp_path, first.conf["controller"], first.conf["join_token"], ports.rtp, name="second",
                                  capacity=8).start())
        with contextlib.closing(bench.agents[1]):
            assert finished(bench, callee, session)["status"] == "passed"
            shards = bench.api("GET", f"/runs/{session}")["run"]["shards"]
            assert len(shards) == 3 and {s["agent"] for s in shards} == {"agent0", "second"}


REFUSED = (
    (4, {"max_concurrent_calls": 3}, "max_concurrent_calls", "3 cannot be divided over 4: raise it to at least 4"),
    (4, {"max_total_calls": 2}, "max_total_calls", "2 cannot be divided over 4: raise it to at least 4"),
    (2, {"rtp_capture": True}, "rtp_capture", "switch it off"),
    (2, {"client": "baresip"}, "client", "only the native client"),
)


def test_what_cannot_be_divided_is_refused(tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False) as bench:
        target = bench.target(ports.phone)

        def refused(steps, overrides=None):
            test = load_test(bench, steps)
            answer = bench.controller.request("POST", f"/tests/{test}/run", overrides or {})
            assert answer.status_code == 422, answer.text
            (error,) = answer.json()["errors"]
            return error["pointer"], error["detail"]

        for agents, more, member, words in REFUSED:
            pointer, detail = refused(load_steps(target, agents, **more))
            assert pointer == f"/step.1.0.{member}" and words in detail, (pointer, detail)
        pointer, detail = refused(load_steps(target, 2, allow_reduced=True), {"step.1.0.agents": "1"})
        assert pointer == "/step.1.0.allow_reduced" and detail.endswith("without agents: the loss of the only agent ends the run")
        for wrong in ("5-4", "4-2"):
            pointer, detail = refused(load_steps(target), {"step.1.0.agents": wrong})
            assert pointer == "/step.1.0.agents" and "must be a number of agents from 1 to 8" in detail
        steps = load_steps(target, 2)
        steps[0].append({"type": "answer", "role": "caller"})
        assert refused(steps)[0] == "/step.0.1.type"
        steps = load_steps(target, 2)
        steps.append([{**steps[1][0], "agents": 3}])
        assert refused(steps) == ("/step.2.0.agents", "the role caller is divided by another action already: all its actions have "
                                  "the same agents")
        steps = load_steps(target, 2, credential_pool=bench.callers)
        assert refused(steps) == ("/step.1.0.credential_pool", "the 1 accounts cannot be divided evenly over 2 shards, and "
                                  "no account is in two: make it a multiple of 2")
        steps = load_steps(target, 2)
        steps[0][0] = {"type": "register", "role": "caller", "target_pool": target, "credential_pool": bench.callers}
        assert refused(steps)[0] == "/step.0.0.credential_pool"
