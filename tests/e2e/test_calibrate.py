"""The calibration of a host: by hand, and at an agent's start. How good its figures are is the
subject of tests/bench/bench-calibrate.py: a machine that runs tests is no place for that."""
import json
import os
import re
import signal
import stat
import subprocess
import time
from contextlib import ExitStack

import pytest

from agent import Agent, children
from bench import QUICK, Bench
from controller import Controller
from fake_agent import FakeAgent
from fake_agent import calibration as example
from ports import PortBlock
from until import until


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


def calibrate(program, folder, *arguments, ports=None):
    conf = folder / "agent.conf"
    low, high = ports.rtp if ports else (20000, 20031)
    (folder / "state").mkdir(exist_ok=True)
    conf.write_text(f'state_dir = "{folder}/state"\nrtp_min = {low}\nrtp_max = {high}\n')
    done = subprocess.run([program, "calibrate", *arguments, "--config", conf], timeout=120,
                          capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done


def test_by_hand(build, tmp_path, ports):
    done = calibrate(build / "offhook", tmp_path, "2", "--json", ports=ports)
    kept = tmp_path / "state" / "calibration.json"
    found = json.loads(done.stdout)
    assert found == json.loads(kept.read_text())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert done.returncode == (0 if found["calls"] else 1)
    assert found["kernel"] == os.uname().release[:63]
    assert found["processors"] == os.cpu_count()
    assert found["bounds_calls"] <= found["calls"] <= 2 * (ports.rtp[1] - ports.rtp[0] + 1)
    assert "calls: send lateness p99" in done.stderr
    assert not list((tmp_path / "state").glob("*.part"))


def test_table(build, tmp_path, ports):
    done = calibrate(build / "offhook", tmp_path, "2", ports=ports)
    assert "limited by" in done.stdout
    if done.returncode == 0:
        assert "error bounds with up to" in done.stdout


@pytest.mark.parametrize("arguments, said", [
    (["1"], "--calibrate=1: not a number of seconds from 2 to 3600"),
    (["3601"], "not a number of seconds from 2 to 3600"),
    (["x"], "not a number of seconds"),
    (["9" * 80], "not a number of seconds"),
    (["2", "3"], "offhook calibrate: 3: not expected"),
    (["--never"], "never"),
])
def test_wrong_usage(build, tmp_path, arguments, said):
    done = calibrate(build / "offhook", tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_json_needs_a_calibration(build):
    done = subprocess.run([build / "offhook-agent", "--json"], timeout=60, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--json is of use with --calibrate only" in done.stderr


def test_nowhere_to_keep_it(build, tmp_path, ports):
    (tmp_path / "state" / "calibration.json.part").mkdir(parents=True)
    done = calibrate(build / "offhook", tmp_path, "2", ports=ports)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def calibrating(agent):
    return [pid for pid, words in children(agent.process.pid) if b"--calibrate" in words]


def test_at_the_start(tmp_path, ports):
    """It is due as there is none; the agent goes on when it fails, and ends at once when asked to."""
    with Controller(**QUICK) as c:
        token = c.api("POST", "/agent-pools", {"name": "P"})["agent_pool"]["join_token"]
        agent = Agent(tmp_path, c.witness().url, token, ports.rtp, calibrate="30d").start()
        try:
            until(lambda: calibrating(agent), "no calibration")
            os.kill(calibrating(agent)[0], signal.SIGKILL)
            until(lambda: c.api("GET", "/agents")["agents"], "not enrolled")
            assert "the calibration of this host failed" in agent.log()
            agent.stop()
            agent.start()
            until(lambda: calibrating(agent), "no calibration")
            assert agent.stop() == 0
            assert "stopping on Terminated" in agent.log()
        finally:
            agent.close()


@pytest.mark.parametrize("change, due", [
    ({}, False),
    ({"kernel": "another"}, True),
    ({"version": "another"}, True),
    ({"processors": 4000}, True),
    ({"time": "2020-01-01 00:00:00"}, True),
    ({"time": "2999-01-01 00:00:00"}, True),
    ({"calls": -1}, True),
])
def test_when_it_is_due(build, tmp_path, ports, change, due):
    version = subprocess.run([build / "offhook", "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    same = {"time": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()), "version": version,
            "kernel": os.uname().release[:63], "processors": os.cpu_count()}
    agent = Agent(tmp_path, "http://127.0.0.1:9", "token", ports.rtp, calibrate="30d")
    (agent.state_dir / "calibration.json").write_text(json.dumps(example(**{**same, **change})))
    agent.start()
    try:
        until(lambda: calibrating(agent) or "serves" in agent.log(), "neither")
        assert bool(calibrating(agent)) == due
        assert ("is not used: wrong or missing: calls" in agent.log()) == ("calls" in change)
    finally:
        agent.close()


@pytest.fixture
def lab():
    with Controller(**QUICK) as c:
        token = c.api("POST", "/agent-pools", {"name": "P"})["agent_pool"]["join_token"]
        yield c, token


def shown(c):
    agent, = c.api("GET", "/agents")["agents"]
    assert c.api("GET", f"/agents/{agent['id']}")["agent"] == agent
    return agent["calibration"]


def test_the_controller_keeps_it(lab):
    c, token = lab
    agent = FakeAgent(c, token, "A")
    assert shown(c) is None
    agent.poll(calibration=example(unknown=1))
    assert shown(c) == example()
    agent.poll()
    assert shown(c) == example()
    without = example(calls=0, bounds_calls=0)
    del without["jitter_bound_ms"]
    agent.poll(calibration=without)
    assert shown(c) == without
    for wrong, pointer in [(example(calls=-1), "/calibration/calls"), ({}, "/calibration/time"), ([], "/calibration"),
                           (example(kernel="x" * 64), "/calibration/kernel")]:
        answer = agent.post("/poll", {"free": 1, "calibration": wrong})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == pointer
    assert shown(c) == without


def test_it_comes_with_the_enrolment(lab):
    c, token = lab
    body = {"token": token, "name": "A", "version": "0", "protocols": [1], "features": [], "capacity": 1}
    answer = c.request("POST", "/agent/register", {**body, "calibration": example(lost=-1)}, key=None)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/calibration/lost"
    answer = c.request("POST", "/agent/register", {**body, "calibration": example()}, key=None)
    assert answer.status_code == 201
    assert shown(c) == example()


def test_an_edit_leaves_it(lab):
    c, token = lab
    FakeAgent(c, token, "A").poll(calibration=example())
    agent, = c.api("GET", "/agents")["agents"]
    c.api("PUT", f"/agents/{agent['id']}", {**agent, "name": "B"})
    assert shown(c) == example()




def offhook(controller, *command):
    env = {**os.environ, "OFFHOOK_URL": controller.witness().url, "OFFHOOK_KEY": ":".join(controller.keys["admin"])}
    return subprocess.run([os.environ["OFFHOOK_BUILD"] + "/offhook", *command], env=env, text=True, check=True, capture_output=True).stdout


def calibrated_run(bench, test, **members):
    """A run by an agent with this calibration. @return its report"""
    agent, = bench.agents
    agent.stop()
    (agent.state_dir / "calibration.json").write_text(json.dumps(example(**members)))
    agent.start()
    bench.wait_online()
    return bench.run(test)[1]


def test_reports_state_the_bounds(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        test = bench.single_call(duration=2, max_concurrent_calls=1)
        report = calibrated_run(bench, test)
        assert [e["calibration"] for e in report["evidence"]] == [example()] * 2
        assert [e["calls_most"] for e in report["evidence"]] == [1] * 2
        streams = [s for c in report["calls"] for s in c["streams"]]
        assert len(streams) == 4
        for s in streams:
            received = s["dir"] == "in"
            assert s.get("jitter_bound_ms") == (0.05 if received else None)
            assert s.get("loss_bound_pct") == (0 if received else None)
            assert s.get("rtt_bound_ms") == (0.04 if "rtt_ms" in s else None)
        session = report["run"]["session_id"]
        assert " ± 0.05 / " in bench.controller.request("GET", f"/runs/{session}/report/html").text
        assert " ± 0.05 / " in bench.controller.request("GET", f"/runs/{session}/report/markdown").text

        assert {(s["measure"], s["dir"]): s["bound"] for s in report["series"] if "bound" in s} == {
            ("rtp_jitter", "in"): 0.05, ("rtp_lost_pct", "in"): 0, ("rtp_rtt", "in"): 0.04, ("rtp_rtt", "out"): 0.04}
        api = bench.controller.api
        for measure, bound in (("rtp_jitter", "0.05"), ("rtp_lost_pct", "0"), ("rtp_mos", None)):
            records = api("GET", f"/runs/{session}/stats/{measure}?dir=in")["stats_data"]
            assert records and {r.get("bound") for r in records} == {bound}
        html = bench.controller.request("GET", f"/runs/{session}/report/html").text
        assert "in ± 0.05</span>" in html and "<polygon class=" in html
        junit = bench.controller.request("GET", f"/runs/{session}/report/junit").text
        assert 'name="caller.jitter_bound_ms" value="0.05"' in junit
        said = offhook(bench.controller, "run", "show", session)
        assert re.search(r"jitter received, callee: mean \d+\.\d\d ± 0\.05 ms, highest", said)
        assert re.search(r"rtp_jitter +callee +in .* 0\.05$", offhook(bench.controller, "run", "stats", session), re.M)

        assert report["run"]["warnings"] == []
        report = calibrated_run(bench, test, bounds_calls=0, calls=0)
        assert not [s for s in report["series"] if "bound" in s]
        assert "bound_" not in json.dumps(report["calls"])
        session = report["run"]["session_id"]
        warning, = report["run"]["warnings"]  # 1 call at a time, calibrated for none
        assert warning.startswith("role caller asks for 1 calls at a time")
        assert api("GET", f"/runs/{session}")["run"]["warnings"] == [warning]
        assert f"Warning: {warning}\n" in offhook(bench.controller, "run", "show", session)
        texts = {name: bench.controller.request("GET", f"/runs/{session}/report/{name}").text
                 for name in ("html", "markdown", "junit")}
        assert f"<b>Warning:</b> {warning}</p>" in texts["html"] and "±" not in texts["html"]
        assert f"> Warning: {warning}" in texts["markdown"]
        assert f"\nwarning: {warning}\n" in texts["junit"]


BEYOND = "no agent of its pool is calibrated for more than 100"


@pytest.mark.parametrize("rule", ["allow", "warn", "refuse"])
def test_more_calls_than_calibrated(rule, lab_of):
    c, token, start = lab_of(beyond_calibration=rule)
    agent = FakeAgent(c, token, "A")
    assert start(101).json()["data"]["warnings"] == []  # it is not calibrated
    agent.poll(calibration=example())
    assert start(100).json()["data"]["warnings"] == []
    answer = start(101)
    if rule == "refuse":
        assert answer.status_code == 422
        assert BEYOND in answer.json()["errors"][0]["detail"]
    else:
        said = answer.json()["data"]["warnings"]
        assert [BEYOND in s for s in said] == ([True] if rule == "warn" else [])
        session = answer.json()["data"]["session_id"]
        assert c.api("GET", f"/runs/{session}")["run"]["warnings"] == said
    other = FakeAgent(c, token, "B")  # may take it, and nothing is known of it
    assert start(101).json()["data"]["warnings"] == []
    other.poll(calibration=example(calls=101, bounds_calls=1))
    assert start(101).json()["data"]["warnings"] == []


@pytest.fixture
def lab_of():
    with ExitStack() as stack:
        def make(**conf):
            c = stack.enter_context(Controller(**QUICK, **conf))
            pool = c.api("POST", "/agent-pools", {"name": "P"})["agent_pool"]
            project = c.api("POST", "/projects", {"name": "P"})["project"]["id"]
            test = c.api("POST", "/tests", {
                "name": "T", "project_id": project, "agentpool_id": pool["id"], "steps": [[{
                    "type": "stream", "role": "caller", "dial_destination": "127.0.0.1:9",
                    "call_duration": 1, "max_total_calls": 1000}]]})["test"]["id"]
            return c, pool["join_token"], lambda calls: c.request(
                "POST", f"/tests/{test}/run", {"step.0.0.max_concurrent_calls": calls})
        yield make
