"""One load job carried out by one, two and four engine processes: the same calls, numbers, counts and sums."""
import contextlib
import os
import re
import signal
import time

import stored_points
from bench import CALLEE, Bench, assert_no_flaws
from engine import Engine
from peers import SUBSCRIBERS

CALLS = 22
# enough at a time that the job may be divided
LARGE = {"max_concurrent_calls": 200, "calls_per_second": 20}
# one sample a call or registration
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


def divided_over(bench, engines):
    """Start the agent anew with this setting."""
    agent = bench.agents[0]
    if agent.conf.get("engines") == engines:
        return
    agent.stop()
    agent.conf["engines"] = engines
    agent.start()
    bench.wait_online()


def load_test(bench, ports, duration):
    return bench.api("POST", "/tests", {
        "name": f"load {time.monotonic()}", "project_id": bench.project_id, "scenario": "single-call",
        "agentpool_id": bench.pool_id, "record": "sip", "conditions": [],
        "steps": [[{"type": "call", "role": "caller", "max_total_calls": CALLS, **LARGE,
                    "target_pool": bench.target(ports.phone), "dial_destination": "9{{n}}",
                    "credential_pool": bench.callers, "call_duration": duration}]]})["test"]["id"]


def totals(bench, session):
    """{measure: (samples, their sum)} of the calls that were placed, over all intervals"""
    with contextlib.closing(bench.controller.open_database()) as db:
        found = {}
        for p in stored_points.read(db, session=session):
            if p.dir == "out":
                n, value = found.get(p.measure, (0, 0))
                found[p.measure] = n + p.n, value + p.n * p.avg
    return found


def finished(bench, callee, session, timeout=60):
    """Wait for the end of a run, while the callee's reports are read."""
    deadline = time.monotonic() + timeout
    while (run := bench.api("GET", f"/runs/{session}/status")["run"])["status"] == "running":
        assert time.monotonic() < deadline, bench.report(session)["run"]
        callee.pump(0.2)
    return run


def facts(bench, callee, session):
    """What does not depend on how the job was divided."""
    run, report = finished(bench, callee, session), bench.report(session)
    assert run["status"] == "passed", run["result_description"]
    assert_no_flaws(report)
    sip = bench.controller.session.get(f"{bench.controller.url}/run/details/{session}/sip.txt",
                                       auth=bench.controller.keys["admin"], timeout=60).text
    figures = totals(bench, session)
    return report, {
        "calls": sorted((c["call"], c["account"], c["end"]) for c in report["calls"]),
        # each name has its own number: the calls are those of the undivided job
        "numbers": sorted({(c["call"], re.search(r"9\d+", c["peer"])[0]) for c in report["calls"]}),
        # each call's once, also if it was sent again
        "invites": sorted(number for number, _ in set(re.findall(
            r"^INVITE sip:(9\d+)@(?:.+\n)*?Call-ID: (\S+)", sip, re.M))),
        "samples": {measure: figures[measure][0] for measure in PER_CALL},
        "lost": figures["rtp_lost"][1],
    }


def test_same_results_however_it_is_divided(build, tmp_path, ports):
    found = {}
    with Bench(tmp_path, ports, proxy=False) as bench, phone(build, ports) as callee:
        # all calls are up for longer than the second in which they are counted
        test = load_test(bench, ports, duration=3)
        for engines in (1, 2, 4):
            divided_over(bench, engines)
            session = bench.start(test)
            report, found[engines] = facts(bench, callee, session)
            assert len(report["evidence"]) == engines
            if engines == 1:
                assert "engines" not in report["evidence"][0]
                continue
            assert sorted(e["engine"] for e in report["evidence"]) == list(range(1, engines + 1))
            # each had its part of the calls, and those of all were added up
            assert all(e["packets_sent"] > 0 and e["engines"] == engines for e in report["evidence"])
            active = bench.points(session, "calls_active", "caller", "out")
            assert max(float(p["max"]) for p in active) > CALLS / engines + 1, (active, engines)
            assert f"divided over {engines} engines" in bench.agents[0].log()
    assert [name for name, *_ in found[1]["calls"]] == sorted(f"caller-{n + 1}" for n in range(CALLS))
    assert found[1]["numbers"] == sorted((f"caller-{n + 1}", f"9{n}") for n in range(CALLS))
    assert set(found[1]["samples"].values()) == {CALLS} and len(found[1]["invites"]) == CALLS
    assert found[2] == found[1]
    assert found[4] == found[1]


def test_an_engine_that_dies_ends_the_run_errored(build, tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False, agent_conf={"engines": 4}) as bench, phone(build, ports) as callee:
        session = bench.start(load_test(bench, ports, duration=60))
        deadline = time.monotonic() + 60
        while len({s["call"] for s in bench.report(session)["states"] if s["state"] == "CALL_ESTABLISHED"}) < CALLS:
            assert time.monotonic() < deadline
            callee.pump(0.2)
        engines = bench.agents[0].engines()
        assert len(engines) == 4, engines
        os.kill(engines[2], signal.SIGKILL)
        run, report = finished(bench, callee, session), bench.report(session)
    assert run["status"] == "errored"
    print(run["result_description"])
    assert re.search(r"engine process \d of 4 died: signal 9 \(Killed\)", run["result_description"])
    # the others ended their calls, and what they measured is there
    assert len(report["evidence"]) == 3
    assert {c["end"] for c in report["calls"]} == {"local"}


def test_accounts_are_divided_like_the_calls(tmp_path, ports):
    """Each account registers once, and the calls of an account come from the engine that has it."""
    callers = ["1003", "1004", "1005", "1006"]
    with Bench(tmp_path, ports, agent_conf={"engines": 4}) as bench:
        pool = bench.credentials("load", {user: SUBSCRIBERS[user] for user in callers})
        test = bench.api("POST", "/tests", {
            "name": "accounts", "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": bench.pool_id, "record": "sip", "conditions": [],
            "steps": [[{"type": "register", "role": "callee", "target_pool": bench.target_id,
                        "credential_pool": bench.callees}, {"type": "answer", "role": "callee"},
                       {"type": "register", "role": "caller", "target_pool": bench.target_id,
                        "credential_pool": pool}],
                      [{"type": "call", "role": "caller", "max_total_calls": 10, "dial_destination": CALLEE,
                        "call_duration": 1, **LARGE}]]})["test"]["id"]
        run, report = bench.run(test)
    assert run["status"] == "passed", run["result_description"]
    registered = [s["account"] for s in report["states"] if s["role"] == "caller" and s["state"] == "REGISTER_OK"]
    assert sorted(registered) == callers
    calls = [c for c in report["calls"] if c["role"] == "caller"]
    assert sorted((int(c["call"].split("-")[1]), c["account"]) for c in calls) == \
        [(n + 1, callers[n % 4]) for n in range(10)]
    assert len([e for e in report["evidence"] if e["role"] == "caller"]) == 4
    assert len([e for e in report["evidence"] if e["role"] == "callee"]) == 1
    assert_no_flaws(report)
