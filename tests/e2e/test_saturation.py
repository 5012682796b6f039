"""Whether the load generator was the limit: an agent that is starved ends a run errored
and says why; a target that is starved ends it failed."""
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from agent import UNJUDGED, children
from bench import Bench, evidence
from engine import Engine
from peers import SippCallee

# what a quota and a nice value apply to
PLAIN = {"media_scheduling": "normal"}


@pytest.fixture(scope="module", autouse=True)
def judged():
    """By the agent's defaults, which conftest.py switches off for the other tests"""
    with pytest.MonkeyPatch.context() as patch:
        for name in UNJUDGED:
            patch.delenv(name)
        yield


def saturated(e):
    """By the figures alone: more than 1 % late, and five packets or ticks."""
    lateness = e["send_lateness_ms"]
    return (e["packets_late"] >= 5 and 100 * e["packets_late"] > lateness["n"]) or \
        e["loop_lateness_p99_ms"] > 95


def check_errored(bench, run, report, role="caller"):
    """@return the evidence of the role"""
    reason = run["result_description"]
    print(reason)
    assert run["status"] == "errored", reason
    assert f"{role}: generator saturated: " in reason, reason
    e = evidence(report, role)
    assert saturated(e), e
    assert any(f["role"] == role and f["name"] == "generator_saturated"
               for f in report["flaws"]), report["flaws"]
    # the same figures in intervals, nothing of the job left out
    parts = [g for g in report["generator"] if g["role"] == role]
    assert len(parts) >= 2, parts
    assert sum(g["packets_sent"] for g in parts) == e["packets_sent"]
    assert sum(g.get("packets_late", 0) for g in parts) == e["packets_late"]
    junit = bench.controller.request(
        "GET", f"/runs/{run['session_id']}/report/junit").text
    assert '<error type="errored" message="' in junit and "generator saturated: " in junit
    assert f'<property name="{role}.tester.packets_late" value="{e["packets_late"]}"/>' in junit
    return e


def wait_for_state(bench, session, state, roles):
    deadline = time.monotonic() + 30
    while {s["role"] for s in bench.report(session)["states"] if s["state"] == state} != roles:
        assert time.monotonic() < deadline, bench.report(session)["states"]
        time.sleep(0.1)


def run_disturbed(bench, disturb, duration=6):
    """A call whose engines are disturbed while it is up. @return (run, report)"""
    session = bench.start(bench.single_call(duration=duration, conditions=[]))
    wait_for_state(bench, session, "CALL_RTPESTAB", {"caller", "callee"})
    engines = bench.agents[0].engines()
    assert len(engines) == 2, engines
    with disturb(engines):
        run = bench.wait(session)
    return run, bench.report(session)


@contextmanager
def stopped(pids):
    """300 ms of each second, three times"""
    for _ in range(3):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.3)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.7)
    yield


def test_a_healthy_agent_passes_and_one_that_is_stopped_does_not(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        run, report = bench.run(bench.single_call(duration=3, conditions=[]))
        worst = any(saturated(evidence(report, role)) for role in ("caller", "callee"))
        # where the machine itself stood still, the sentence is right to say so
        assert run["status"] == ("errored" if worst else "passed"), run["result_description"]
        for role in ("caller", "callee"):
            e = evidence(report, role)
            assert e["packets_sent"] >= 145 and e["processor_pct"] > 0, e
            assert Path("/proc/stat").exists() == ("steal_pct" in e), e

        run, report = run_disturbed(bench, stopped)
        e = check_errored(bench, run, report)
        assert e["send_lateness_ms"]["max"] >= 280 and e["loop_lateness_max_ms"] >= 250, e
        assert "packets left more than 20 ms late" in run["result_description"]


@contextmanager
def quota_group():
    """A control group for processor time, version 1 or 2. @yield (add, set_us): of each second"""
    for mount, name in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"),
                        ("/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us"),
                        ("/sys/fs/cgroup", "cpu.max")):
        group = Path(mount) / f"offhook-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / name).exists():
            break
        group.rmdir()
    else:
        pytest.skip("control groups cannot be made here")
    if name == "cpu.cfs_quota_us":
        (group / "cpu.cfs_period_us").write_text("1000000")

    def set_us(quota):
        (group / name).write_text(str(quota) if name != "cpu.max" else
                                  f"{'max' if quota < 0 else quota} 1000000")

    def add(pid):
        (group / "cgroup.procs").write_text(str(pid))

    try:
        yield add, set_us
    finally:
        deadline = time.monotonic() + 10
        while group.exists() and time.monotonic() < deadline:
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.05)


def throttling(bench, add, set_us):
    """Put the agent into the group of quota_group(). @return a disturbance for run_disturbed()"""
    @contextmanager
    def throttled(pids):
        set_us(1000)
        time.sleep(2)
        set_us(-1)
        yield

    # before they have a job; an engine that is started later inherits the group
    agent = bench.agents[0].process.pid
    for pid in (agent, *(pid for pid, _ in children(agent))):
        add(pid)
    return throttled


def test_an_agent_with_a_quota_is_throttled(tmp_path, ports):
    with quota_group() as (add, set_us), \
            Bench(tmp_path, ports, agent_conf=PLAIN) as bench:
        run, report = run_disturbed(bench, throttling(bench, add, set_us))
        e = check_errored(bench, run, report)
    assert e["throttled"] > 0, e
    assert "a control group throttled the agent in " in run["result_description"]


@contextmanager
def neighbours(pids):
    """Busy programs for which our engines must wait."""
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(task.name), 19)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(4 * os.cpu_count())]
    try:
        time.sleep(2)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    yield


def test_an_agent_with_busy_neighbours_waits_for_a_processor(tmp_path, ports):
    with Bench(tmp_path, ports, agent_conf=PLAIN) as bench:
        run, report = run_disturbed(bench, neighbours)
        e = check_errored(bench, run, report)
    if "processor_wait_pct" in e:  # a kernel without CONFIG_SCHED_INFO does not know
        assert e["processor_wait_pct"] >= 1, e
        assert "waited for a processor" in run["result_description"]


def run_with_starved_target(bench, phone):
    """A call of which the post-dial delay may be 400 ms, to a phone that stands still for a second.
    @return (run, report)"""
    test = bench.api("POST", "/tests", {
        "name": f"starved target {time.monotonic_ns()}", "project_id": bench.project_id, "scenario": "single-call",
        "agentpool_id": bench.pool_id, "record": "sip",
        "steps": [[{"type": "call", "role": "caller", "max_total_calls": 1,
                    "target_pool": bench.target(bench.ports.phone), "dial_destination": "1002",
                    "credential_pool": bench.callers, "call_duration": 2}]],
        "conditions": [{"role": "caller", "conditions": [{"type": "le", "value": "400"}],
                        "condition_type": "caller-postdial-delay-conditions"}]})["test"]["id"]
    phone.pause()
    try:
        session = bench.start(test)
        wait_for_state(bench, session, "CALL_OUTGOING", {"caller"})
        time.sleep(1)
    finally:
        phone.resume()
    return bench.wait(session), bench.report(session)


def test_a_target_that_is_starved_fails_the_run(tmp_path, ports):
    """The agent is in time, the phone that it calls is not."""
    with Bench(tmp_path, ports, proxy=False) as bench, \
            SippCallee(tmp_path, ports.phone, ports.relay) as phone:
        run, report = run_with_starved_target(bench, phone)
    print(run["result_description"])
    if saturated(evidence(report, "caller")):
        pytest.skip("this machine stood still")
    assert run["status"] == "failed", run["result_description"]
    assert "generator saturated" not in run["result_description"]


def test_sip_messages_that_the_kernel_drops_are_counted(build, ports):
    """An engine that is stopped while its peer floods it: the queue of its socket is full."""
    answer = {"type": "answer", "credentials": [{"username": "1002"}]}
    with Engine(build, "callee", [[answer]], ports, sip_port=ports.sip) as engine, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
        engine.step(0)
        engine.pause()
        for _ in range(20000):
            flood.sendto(b"x" * 1000, ("127.0.0.1", ports.sip))
        engine.resume()
        engine.end()
    (e,) = [e for e in engine.events if e["kind"] == "evidence"]
    flaws = [f for f in engine.events if f["kind"] == "flaw" and f["name"] == "sip_queue_drops"]
    assert 0 < e["sip_queue_drops"] < 20000, e
    assert [f["count"] for f in flaws] == [e["sip_queue_drops"]], flaws
    parts = [g["sip_queue_drops"] for g in engine.events if g["kind"] == "generator"]
    assert sum(parts) == e["sip_queue_drops"], parts
