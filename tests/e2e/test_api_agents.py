"""Changes of an agent by its operator: name, pool, draining."""
import os
import subprocess
import threading
import time

import pytest

from controller import Controller
from fake_agent import FakeAgent
from test_api_basics import problem
from test_api_project_runs import TIMES
from test_artifacts import scenario


class Lab:
    def __init__(self, c):
        self.c = c
        self.pools = [c.api("POST", "/agent-pools", {"name": n})["agent_pool"] for n in "ab"]
        self.agent = FakeAgent(c, self.pools[0]["join_token"], "one")
        self.path = f"/agents/{self.agent.auth[0]}"

    def read(self):
        return self.c.api("GET", self.path)["agent"]

    def put(self, **fields):
        now = self.read()
        body = {**{k: now[k] for k in ("name", "pool_id", "draining")}, **fields}
        return self.c.request("PUT", self.path, body)

    def end(self, job):
        assert self.agent.finish(job, "failed", "x").ok


@pytest.fixture
def lab():
    with Controller(**{**TIMES, "poll_s": 1, "offer_s": 60}) as c:
        yield Lab(c)


def test_named_and_moved(lab):
    lab.agent.poll()
    answer = lab.put(name="another", pool_id=lab.pools[1]["id"])
    assert answer.ok, answer.text
    now = lab.read()
    assert (now["name"], now["pool_name"], now["draining"]) == ("another", "b", 0)
    # it gets the jobs of its new pool, and none of the old one
    old, new = scenario(lab.c, lab.pools[0]), scenario(lab.c, lab.pools[1])
    job, = lab.agent.jobs(1).values()
    assert job["session_id"] == new != old
    lab.agent.start(job)
    lab.end(job)
    other = FakeAgent(lab.c, lab.pools[1]["join_token"], "other")
    problem(lab.put(name="other"), 409)
    for wrong in ({"name": ""}, {"name": "a\nb"}, {"pool_id": 99}, {"draining": 2}, {"capacity": 3}):
        problem(lab.put(**wrong), 422)
    assert other.auth != lab.agent.auth


def test_what_an_agent_does_is_no_edit(lab):
    """Polls and jobs change what is shown of an agent and its ETag, but nothing that
    If-Match compares."""
    first = lab.c.request("GET", lab.path)
    body = {k: first.json()["agent"][k] for k in ("name", "pool_id", "draining")}
    tag = first.headers["ETag"]
    assert lab.c.request("GET", lab.path, headers={"If-None-Match": tag}).status_code == 304
    scenario(lab.c, lab.pools[0])
    job, = lab.agent.jobs(1).values()
    lab.agent.start(job)
    busy = lab.c.request("GET", lab.path, headers={"If-None-Match": tag})
    assert busy.status_code == 200 and busy.json()["agent"]["in_use"] == 1
    assert busy.headers["ETag"] != tag
    lab.end(job)
    edited = lab.c.request("PUT", lab.path, {**body, "name": "two"}, headers={"If-Match": tag})
    assert edited.ok, edited.text
    problem(lab.c.request("PUT", lab.path, body, headers={"If-Match": tag}), 412)
    problem(lab.c.request("DELETE", lab.path, headers={"If-Match": tag}), 412)
    assert lab.c.request("DELETE", lab.path,
                         headers={"If-Match": edited.headers["ETag"]}).status_code == 204


def test_drained_and_back(lab):
    """A drained agent keeps its job. It gets new ones only when it is enabled again,
    and then at once."""
    scenario(lab.c, lab.pools[0])
    job, = lab.agent.jobs(1).values()
    lab.agent.start(job)
    assert lab.put(draining=1).ok
    assert (lab.read()["state"], lab.read()["draining"]) == ("draining", 1)
    second = scenario(lab.c, lab.pools[0])
    assert lab.agent.renew(job).json()["command"] == "continue"
    for _ in range(2):
        assert lab.agent.poll() == []
    assert lab.read()["state"] == "draining"
    lab.end(job)
    got = []
    waiting = threading.Thread(target=lambda: got.extend(lab.agent.jobs(1).values()))
    waiting.start()
    time.sleep(0.1)
    assert lab.put(draining=0).ok
    waiting.join()
    assert got[0]["session_id"] == second and lab.read()["state"] == "online"
    lab.agent.start(got[0])
    lab.end(got[0])


def test_another_poll_does_not_place_on_it(lab):
    """Of two agents of a pool the drained one is left out, also when the other one
    polls."""
    two = FakeAgent(lab.c, lab.pools[0]["join_token"], "two", capacity=1)
    lab.agent.poll()
    two.poll()
    assert lab.put(draining=1).ok
    runs = {scenario(lab.c, lab.pools[0]) for _ in range(2)}
    job, = two.jobs(1).values()
    two.start(job)
    assert lab.agent.poll() == []
    two.finish(job, "failed", "x")
    last, = two.jobs(1).values()
    two.start(last)
    two.finish(last, "failed", "x")
    assert {job["session_id"], last["session_id"]} == runs


def test_metrics_and_command_line(lab, build):
    lab.agent.poll()
    done = subprocess.run(
        [build / "offhook", "agent", "update", lab.agent.auth[0], "draining=1"], text=True,
        capture_output=True, timeout=60, check=False, env={
            **os.environ, "OFFHOOK_URL": lab.c.witness().url, "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})
    assert done.returncode == 0 and "state: draining" in done.stdout, done.stdout + done.stderr
    text = lab.c.session.get(lab.c.url + "/metrics", auth=lab.c.keys["admin"], timeout=60).text
    assert 'offhook_agents{state="draining"} 1' in text


def test_several_pools(lab):
    """By its tokens or its operator; it takes the runs of all its pools in the order of their start, and no others."""
    c, (a, b) = lab.c, lab.pools
    third = c.api("POST", "/agent-pools", {"name": "c"})["agent_pool"]
    tokens = {"further_tokens": [p["join_token"] for p in (b, a, b)]}
    body = {"token": a["join_token"], "name": "wide", "version": "0", "protocols": [1], "capacity": 1}
    made = lab.agent.post("/register", {**body, **tokens}, auth=None).json()
    wide = FakeAgent(c, auth=(made["agent_id"], made["secret"]), capacity=1)
    path = f"/agents/{made['agent_id']}"
    shown = c.api("GET", path)["agent"]
    assert (shown["pool_name"], shown["further_pool_ids"], shown["further_pool_names"]) == ("a", [b["id"]], ["b"])
    counts = {p["name"]: p["agent_count"] for p in c.api("GET", "/agent-pools")["agent_pools"]}
    assert counts == {"a": 2, "b": 1, "c": 0}
    problem(lab.agent.post("/register", {**body, "name": "x", "further_tokens": ["no token"]}, auth=None), 403)
    problem(lab.agent.post("/register", {**body, "name": "x", "further_tokens": "text"}, auth=None), 422)
    assert len(c.api("GET", "/agents")["agents"]) == 2  # nobody else has enrolled

    def takes(*expected):
        for session in expected:
            job, = wide.jobs(1).values()
            assert job["session_id"] == session
            assert wide.start(job).ok and wide.finish(job, "failed", "x").ok

    lab.put(draining=1)
    runs = [scenario(c, p) for p in (third, b, a)]
    takes(*runs[1:])
    # its poll that waits is woken by a run of each of its pools
    got = []
    for pool in (b, a):
        poll = threading.Thread(target=lambda: got.append(wide.jobs(1)))
        poll.start()
        session = scenario(c, pool)
        poll.join()
        job, = got.pop().values()
        assert job["session_id"] == session and wide.start(job).ok and wide.finish(job, "failed", "x").ok
    problem(c.request("DELETE", f"/agent-pools/{b['id']}"), 409)
    edit = {"name": "wide", "pool_id": b["id"], "further_pool_ids": [third["id"], b["id"]]}
    shown = c.api("PUT", path, edit)["agent"]
    assert (shown["pool_name"], shown["further_pool_names"]) == ("b", ["c"])
    c.api("POST", f"/runs/{runs[0]}/stop")
    takes(scenario(c, third))
    for wrong in ([99], ["1"], 1, [b["id"]] * 33):
        problem(c.request("PUT", path, {**edit, "further_pool_ids": wrong}), 422)
    assert c.api("PUT", path, {"name": "wide", "pool_id": b["id"]})["agent"]["further_pool_ids"] == []
    scenario(c, third)
    assert wide.poll() == []
    assert c.request("DELETE", path).ok
