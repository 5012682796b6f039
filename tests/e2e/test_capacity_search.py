"""Capacity searches that the controller drives, against a phone that refuses calls above a number at
a time."""
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench import Bench
from controller import build_dir
from ports import PortBlock
from test_capacity import Phone

WAIT_S = 120
LIMIT = 6
# Trials as short as the daemons allow: the phone is at its limit at once.
SHORT = {"trial_s": 1, "warm_up_s": 0, "cool_down_s": 0}
QUICK = {**SHORT, "min": 3, "max": 14, "width_percent": 50, "repeats": 1}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("search"), ports, proxy=False, project_runs_limit=1) as b, \
            Phone(ports.phone, ports.relay[0], LIMIT) as phone:
        b.phone = phone
        call = {"type": "call", "role": "caller", "dial_destination": "1002",
                "target_pool": b.target(ports.phone), "credential_pool": b.callers}
        make = lambda name, *steps: b.api("POST", "/tests", {
            "name": name, "project_id": b.project_id, "agentpool_id": b.pool_id, "retries_on_failure": 2,
            "steps": steps, "conditions": []})["test"]["id"]
        b.test = make("calls of a phone", [call])
        b.two_calls = make("two calls", [call], [call])
        b.no_call = make("no call", [{"type": "wait", "role": "caller", "wait_ms": 1}])
        yield b
    ports.close()


def begin(lab, **params):
    return lab.api("POST", "/capacity-searches", {"test_id": lab.test, **QUICK, **params})["capacity_search"]["id"]


def read(lab, number):
    return lab.api("GET", f"/capacity-searches/{number}")["capacity_search"]


def until(lab, number, condition):
    deadline = time.monotonic() + WAIT_S
    while not condition(found := read(lab, number)):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def over(search):
    return search["status"] != "running"


def test_a_search_goes_on_when_its_controller_was_killed(lab):
    """Killed in a trial and between trials: no trial is made twice, and the interval contains the limit."""
    before = lab.api("GET", "/runs?count=1")["total"]
    number = begin(lab)
    for trials in (1, 3):
        until(lab, number, lambda s, n=trials: len(s["trials"]) >= n and lab.phone.calls)
        lab.controller.kill()
        lab.controller.start()
    search = until(lab, number, over)
    assert search["status"] == "done" and search["description"] == ""
    result, trials = search["result"], search["trials"]
    assert result["reached"] and result["limit"] == "target"
    assert result["lower"] <= LIMIT <= result["upper"]
    assert result["condition"] == "caller: every call placed is established"
    assert "503 Full" in result["sentence"]
    assert result["text"] == f"{result['lower']:g} to {result['upper']:g} calls at a time"
    # the trials are runs, each one that was started, with the load that they are said to have
    assert lab.api("GET", "/runs?count=1")["total"] - before == len(trials) == search["trial_count"]
    for trial in trials:
        run = lab.api("GET", f"/runs/{trial['session_id']}")["run"]
        assert (run["attempt"], run["test_id"]) == (1, lab.test)
        assert trial["outcome"] == {"passed": "held", "failed": "failed"}[run["status"]]
        assert (trial["outcome"] == "held") == (trial["load"] <= LIMIT)
        calls = [c for c in lab.report(trial["session_id"])["calls"] if c["role"] == "caller"]
        assert len(calls) == trial["load"]
    assert lab.phone.most <= LIMIT
    curve = search["curve"]
    assert (curve[0]["load"], round(curve[-1]["load"], 6)) == (QUICK["min"], QUICK["max"])
    shares = [p["share"] for p in curve]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.8 and shares[-1] < 0.2
    listed, = [s for s in lab.api("GET", "/capacity-searches")["capacity_searches"] if s["id"] == number]
    assert listed == {k: v for k, v in search.items() if k not in ("trials", "curve")}
    starts = [e for e in lab.api("GET", "/audit?count=1000&kind=run")["audit"]
              if e["actor_kind"] == "capacity_search"]
    assert len(starts) == len(trials)
    assert {(e["actor_id"], e["path"], e["record"]) for e in starts} == {
        (number, f"/tests/{lab.test}/run", "calls of a phone")}


def test_a_repeated_start_starts_one_search(lab):
    body = {"test_id": lab.test, **QUICK, "trial_s": 60}
    send = lambda: lab.controller.request("POST", "/capacity-searches", json=body,
                                          headers={"Idempotency-Key": "once"})
    first, second = send(), send()
    assert (first.status_code, second.status_code) == (201, 201)
    number = first.json()["capacity_search"]["id"]
    assert first.headers["Location"] == f"/api/v2/capacity-searches/{number}"
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.json() == first.json()
    lab.api("POST", f"/capacity-searches/{number}/stop")
    until(lab, number, over)


def test_the_scenario(lab):
    """Without a stored test, with its conditions: the accounts are in the request."""
    data = lab.api("POST", "/tests/scenarios/capacity-search", {
        "agentpool_id": lab.pool_id, **SHORT, "min": 2, "max": 4, "max_trials": 1, "register": 0,
        "caller.username": "1001", "caller.password": "secret", "callee.credential_pool": lab.callees,
        "target": f"127.0.0.1:{lab.ports.phone}", "dial_destination": "1002"})["data"]
    lab.controller.secrets.discard("secret")
    number = data["capacity_search_id"]
    assert data["status_url"].endswith(f"/api/v2/capacity-searches/{number}")
    assert data["report_url"].endswith(f"/capacity/{number}")
    search = until(lab, number, over)
    assert (search["status"], search["test_id"], search["test_name"]) == ("done", None, "capacity-search")
    trial, = search["trials"]  # the phone sends no audio
    assert trial["outcome"] == "failed" and "rtp_mos" in trial["condition"], trial
    assert lab.api("GET", f"/runs/{trial['session_id']}")["run"]["testcase_name"] == "capacity-search"


def test_the_command_line_starts_the_scenario(lab, build):
    env = {**os.environ, "OFFHOOK_URL": lab.controller.witness().url,
           "OFFHOOK_KEY": ":".join(lab.controller.keys["admin"])}
    words = ["scenario", "run", "capacity-search", f"agentpool_id={lab.pool_id}", "min=2", "max=4", "max_trials=1",
             "trial_s=1", f"caller.credential_pool={lab.callers}", f"callee.credential_pool={lab.callees}",
             f"target=127.0.0.1:{lab.ports.phone}", "register=0"]
    run = lambda *more: subprocess.run([build / "offhook", *words, *more], env=env, capture_output=True, text=True,
                                       timeout=WAIT_S, check=False)
    refused = run("--wait")
    assert refused.returncode == 2 and "look at its report_url" in refused.stderr, refused
    before = lab.api("GET", "/capacity-searches")["total"]
    done = run()
    assert done.returncode == 0, done
    number = int(re.search(r"capacity_search_id: (\d+)", done.stdout)[1])
    assert lab.api("GET", "/capacity-searches")["total"] == before + 1
    lab.controller.request("POST", f"/capacity-searches/{number}/stop")
    until(lab, number, over)


@pytest.mark.parametrize("change, pointer, words", [
    ({"test_id": 999}, "/test_id", "there is no test"),
    ({"test_id": None}, "/test_id", "must be given"),
    ({"min": None}, "/min", "must be given"),
    ({"min": 14}, "/max", "must be above min"),
    ({"min": 2.5}, "/min", "whole numbers"),
    ({"unit": "calls"}, "/unit", "concurrent_calls"),
    ({"unit": "calls_per_second", "max": 10001}, "/max", "10000"),
    ({"unit": "calls_per_second", "max": 1000, "trial_s": 1001}, "/trial_s", "1000000"),
    ({"width_percent": 0.5}, "/width_percent", "from 1 to 100"),
    ({"repeats": 0}, "/repeats", "from 1 to 100"),
    ({"max_trials": 201}, "/max_trials", "from 1 to 200"),
    ({"trial_s": 1.5}, "/trial_s", "whole number"),
    ({"trial_s": 86400}, "/trial_s", "longer than a run may last"),
    ({"action": "0.1"}, "/action", "no `call` action there"),
    ({"trails": 3}, "/trails", "no parameter"),
    ({"overrides": [1]}, "/overrides", "object"),
    ({"overrides": {"step.0.0.max_total_calls": 3}}, "/overrides/step.0.0.max_total_calls", "sets it itself"),
    ({"overrides": {"step.0.0.calls": 3}}, "/overrides/step.0.0.calls", ""),
])
def test_what_cannot_be_searched_is_refused(lab, change, pointer, words):
    answer = lab.controller.request("POST", "/capacity-searches", json={"test_id": lab.test, **QUICK, **change})
    assert answer.status_code == 422, answer.text
    assert [words in e["detail"] for e in answer.json()["errors"] if e["pointer"] == pointer] == [True], answer.text


def test_the_action_is_named_where_there_are_several(lab):
    for test, words in ((lab.two_calls, "several `call` actions"), (lab.no_call, "no `call` action")):
        answer = lab.controller.request("POST", "/capacity-searches", json={**QUICK, "test_id": test})
        assert answer.status_code == 422 and words in answer.json()["errors"][0]["detail"]
    number = begin(lab, test_id=lab.two_calls, action="1.0", max_trials=1, overrides={"step.0.0.call_duration": 1})
    assert until(lab, number, over)["action"] == "1.0"
    # a whole number in a form, too, however it is written
    answer = lab.controller.session.post(
        f"{lab.controller.url}/api/v2/capacity-searches", auth=lab.controller.keys["admin"], timeout=60,
        data={**QUICK, "test_id": lab.two_calls, "action": "1.0", "max_trials": 1,
              "overrides": '{"step.0.0.call_duration": 1e0}'})
    assert answer.status_code == 201, answer.text
    until(lab, answer.json()["capacity_search"]["id"], over)


@pytest.fixture(name="command")
def command_fixture(lab):
    """@return a function that runs `offhook capacity-search`"""
    env = {**os.environ, "OFFHOOK_URL": lab.controller.witness().url, "COLUMNS": "200",
           "OFFHOOK_KEY": ":".join(lab.controller.keys["admin"])}
    return lambda *words, **more: subprocess.run(
        [build_dir() / "offhook", "capacity-search", *map(str, words)], env=env, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S, **more)


def fields(**params):
    return [f"{name}={value}" for name, value in {**QUICK, **params}.items()]


def test_the_command_starts_and_watches_a_search(lab, command):
    made = command("create", f"test_id={lab.test}", *fields(), "--json")
    assert made.returncode == 0, made.stderr
    number = json.loads(made.stdout)["capacity_search"]["id"]
    watched = command("watch", number)
    search = read(lab, number)
    assert watched.returncode == 0, watched.stderr
    assert re.findall(r"^offhook: trial (\d+): (\S+) calls at a time: (\w+)", watched.stderr, re.M) == [
        (str(n), f"{t['load']:g}", t["outcome"]) for n, t in enumerate(search["trials"], 1)]
    assert f"result    {search['result']['text']} (95 % confidence, {len(search['trials'])} trials)" in watched.stdout
    assert "limit     the target\n          caller: every call placed is established\n" in watched.stdout
    assert all(t["session_id"] in watched.stdout for t in search["trials"])
    shown = command("show", number)
    assert (shown.returncode, shown.stdout) == (0, watched.stdout)
    assert json.loads(command("show", number, "--json").stdout)["capacity_search"] | {"report_url": ""} == \
        search | {"report_url": ""}   # it has the address that was asked
    row, = [line for line in command("list").stdout.splitlines() if line.split()[0] == str(number)]
    assert "calls of a phone" in row and "done" in row
    refused = command("stop", number)
    assert refused.returncode == 3 and "is over" in refused.stderr, refused.stderr
    assert command("delete", number, "--yes").returncode == 0
    gone = command("show", number)
    assert gone.returncode == 3 and gone.stdout == "" and "no such capacity search" in gone.stderr, gone.stderr


def test_the_command_tells_what_was_not_found(lab, command):
    fails = begin(lab, min=LIMIT + 2)
    below = command("watch", fails)
    assert below.returncode == 1 and "calls at a time: the lowest load, 8, fails (95 % confidence" in below.stdout, below.stdout
    number = begin(lab, trial_s=60)
    until(lab, number, lambda s: s["trials"])
    assert "in progress" in command("show", number).stdout
    assert command("stop", number).stdout == f"search {number} is being stopped\n"
    stopped = command("watch", number)
    assert stopped.returncode == 3 and "status    stopped" in stopped.stdout, stopped.stdout
    for words, why in ((("show",), "number of a search"), (("watch", "x"), "number of a search"), (("stop", 1, 2), "2 is too much"),
                       (("show", 1, "--retry-for", 1), "wrong option"), (("watch", 1, "--retry-for", "x"), "0 to 86400 seconds")):
        wrong = command(*words)
        assert wrong.returncode == 2 and why in wrong.stderr, (words, wrong.stderr)


def test_the_command_goes_on_when_the_controller_is_back(lab, command):
    number = begin(lab)
    with ThreadPoolExecutor(1) as beside:
        watched = beside.submit(command, "watch", number)
        until(lab, number, lambda s: len(s["trials"]) >= 2)
        lab.controller.kill()
        time.sleep(6)   # it asks once a second
        lab.controller.start()
        done = watched.result()
    assert done.returncode == 0 and "the controller does not answer" in done.stderr and "is back" in done.stderr, done.stderr
    trials = read(lab, number)["trials"]
    assert len(re.findall(r"^offhook: trial ", done.stderr, re.M)) == len(trials)
    number = begin(lab, trial_s=60)
    until(lab, number, lambda s: s["trials"])
    lab.controller.kill()
    away = command("watch", number, "--retry-for", 1)
    assert away.returncode == 3 and "trying again for 1 s" in away.stderr, away.stderr
    lab.controller.start()
    lab.api("POST", f"/capacity-searches/{number}/stop")
    until(lab, number, over)
