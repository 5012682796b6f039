"""Flaky tests: what the failed runs have in common is named where the figures support it
(docs/reference/flakiness.md). That causes are found and chance is not named is a test of the
module (tests/unit/flakiness); here is what a controller collects of its runs."""
import json
import os
import re
import subprocess
import time

import pytest

from bench import Bench
from controller import Controller, build_dir
from fake_agent import NOW_US, FakeAgent, evidence, good_call
from ports import PortBlock
from sip_peer import SipPeer
from test_api_basics import problem

NONE = {"sentence": None, "common": []}


def flakiness(c, test):
    return c.api("GET", f"/tests/{test}/flakiness")["flakiness"]


def wait_judged(c, test, count):
    """Wait until so many runs of the test are over. @return its newest verdicts"""
    until = time.monotonic() + 60
    while True:
        verdict = c.api("GET", f"/tests/{test}/verdict")["verdict"]
        if len(verdict["runs"]) >= count:
            return verdict
        assert time.monotonic() < until, verdict
        time.sleep(0.05)


# ---- runs of a double ----

@pytest.fixture(scope="module")
def lab():
    c = Controller(poll_s=1, renew_s=2, lease_s=30)
    c.create_key()
    with c:
        c.project = c.api("POST", "/projects", {"name": "project"})["project"]["id"]
        c.target = c.api("POST", "/targets", {
            "name": "target", "hosts": [{"host": "127.0.0.1"}]})["target"]["id"]
        c.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        c.doubles = [FakeAgent(c, c.pool["join_token"], name) for name in ("lab1", "lab2")]
        yield c


def body_of(c, name, **call):
    return {"name": name, "project_id": c.project, "agentpool_id": c.pool["id"], "record": "sip",
            "steps": [[{"type": "call", "role": "caller", "target_pool": c.target,
                        "dial_destination": "1002", **call}]]}


def message(server, peer):
    return {"t": NOW_US, "mono": 5, "dir": "received", "transport": "udp",
            "local": "127.0.0.1:5070", "peer": peer,
            "data": f"SIP/2.0 200 OK\r\nCSeq: 1 INVITE\r\nServer: {server}\r\n\r\n"}


def make_run(c, test, failed, agent=0, server="pbx 1", peer="192.0.2.1:5060"):
    c.api("POST", f"/tests/{test}/run")
    double = c.doubles[agent]
    job, = double.jobs(1).values()
    assert double.start(job).ok
    assert double.upload(job, "sip", [message(server, peer)]).ok
    if not failed:
        assert double.upload(job, "events", [
            *good_call("caller", "offhook", "1002", True), evidence()]).ok
    assert double.finish(job, *(["failed", "403"] if failed else [])).ok


def test_what_failed_runs_have_in_common(lab):
    """Every third run fails, on the second agent, with a peer that differs from run to run."""
    test = lab.api("POST", "/tests", body_of(lab, "agent fails"))["test"]["id"]
    assert flakiness(lab, test) == {"flaky": False, "changes": 0, "failed": 0, "passed": 0, **NONE}
    for i in range(15):
        make_run(lab, test, i % 3 == 2, int(i % 3 == 2 or i == 0), peer=f"192.0.2.{i % 2}:{5060 + i}")
    found = wait_judged(lab, test, 15)
    assert (found["state"], found["changes"]) == ("flaky", 9)
    answer = flakiness(lab, test)
    common, = answer.pop("common")
    assert answer == {
        "flaky": True, "changes": 9, "failed": 5, "passed": 10,
        "sentence": "5 of 5 failed runs had agent lab2, 1 of 10 passed runs had."}
    # all 5 failed runs among the 6 of this agent: 6 of 3003 ways
    assert common.pop("p") == pytest.approx(6 / 3003)
    assert common == {"attribute": "agent", "role": None, "value": "lab2", "failed": 5,
                      "failed_of": 5, "passed": 1, "passed_of": 10}


def offhook(c, *arguments):
    return subprocess.run(
        [build_dir() / "offhook", *arguments], text=True, capture_output=True, timeout=90, check=True,
        env={**os.environ, "OFFHOOK_URL": c.witness().url,
             "OFFHOOK_KEY": ":".join(c.keys["admin"])}).stdout


def test_the_command_line_says_it(lab):
    """After the test before: it uses its runs."""
    test, = [t for t in lab.api("GET", "/tests")["tests"] if t["name"] == "agent fails"]
    lab.api("POST", "/tests", body_of(lab, "has not run"))
    assert re.search(r"agent fails +flaky ", offhook(lab, "test", "list"))
    assert re.search(r"has not run +never_run ", offhook(lab, "test", "list"))
    shown = offhook(lab, "test", "show", "agent fails").splitlines()
    assert "state: flaky" in shown
    assert "flaky: 5 of 5 failed runs had agent lab2, 1 of 10 passed runs had." in shown
    assert "flaky: -" in offhook(lab, "test", "show", "has not run").splitlines()
    answer = json.loads(offhook(lab, "test", "show", "agent fails", "--json"))
    assert answer["flakiness"] == flakiness(lab, test["id"]) and answer["test"] == test


def test_a_changed_test_begins_again(lab):
    body = body_of(lab, "is changed")
    test = lab.api("POST", "/tests", body)["test"]["id"]
    for i in range(4):
        make_run(lab, test, i % 2 == 0, i % 2)
    wait_judged(lab, test, 4)
    answer = flakiness(lab, test)
    assert answer == {"flaky": True, "changes": 3, "failed": 2, "passed": 2, **NONE}
    lab.api("PUT", f"/tests/{test}", body_of(lab, "is changed", call_duration=5))
    make_run(lab, test, False)
    wait_judged(lab, test, 5)
    assert flakiness(lab, test) == {"flaky": False, "changes": 0, "failed": 0, "passed": 1, **NONE}


def test_a_test_that_is_unknown(lab):
    problem(lab.request("GET", "/tests/999999/flakiness"), 404)


# ---- runs of the real programs ----

def test_software_of_a_registrar_that_refuses(tmp_path):
    """Of two builds of a registrar one refuses its users at times. Beside it is an account that is
    refused as often, whichever build answers: no cause is named."""
    servers = {"1001": ("pbx 1", False), "1002": ("pbx 1", False)}

    def answer(request):
        server, refuses = servers[request.header("to").split("sip:")[1].split("@")[0]]
        if refuses:
            return request.reply(403, "Forbidden", f"Server: {server}")
        return request.registered(None, f"Server: {server}")

    ports = PortBlock()
    with SipPeer(ports.phone, answer), Bench(tmp_path, ports, proxy=False) as bench:
        target = bench.target(ports.phone)
        tests = [bench.api("POST", "/tests", {
            "name": user, "project_id": bench.project_id, "agentpool_id": bench.pool_id,
            "record": "sip", "steps": [[{
                "type": "register", "role": "caller", "target_pool": target,
                "credential_pool": bench.credentials(user, {user: "secret"})}]]})["test"]["id"]
            for user in servers]
        runs = 0
        # each time as many runs of both tests at once
        for count, fails, other in ((3, False, 2), (2, True, 1), (3, False, 1), (3, True, 2), (1, False, 1)):
            servers["1001"] = (f"pbx {1 + fails}", fails)
            servers["1002"] = (f"pbx {other}", fails)
            for test in tests * count:
                bench.start(test)
            runs += count
            for test in tests:
                wait_judged(bench, test, runs)
        named, unnamed = (flakiness(bench, test) for test in tests)
    assert named["sentence"] == \
        "5 of 5 failed runs had peer software pbx 2, 0 of 7 passed runs had.", named
    assert unnamed == {"flaky": True, "changes": 4, "failed": 5, "passed": 7, **NONE}
    ports.close()
