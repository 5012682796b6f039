"""Limits of runs in progress and of stored bytes: a clear 429 or 409, and room again afterwards."""
import time
from concurrent.futures import ThreadPoolExecutor

from controller import Controller
from test_api_basics import problem
from test_retention import Store
from until import until


def make_test(c, name, project):
    return c.api("POST", "/tests", {"name": name, "project_id": project, "agentpool_id": 1, "steps": [[
        {"type": "register", "role": "caller", "target_pool": 1, "credential_pool": 1}]]})["test"]["id"]


def make_pools(c):
    c.api("POST", "/targets", {"name": "t", "hosts": [{"host": "127.0.0.1"}]})
    c.api("POST", "/credential-pools", {"name": "a", "credentials": [{"username": "u", "password": "x"}]})


def limited(**limits):
    c = Controller(claim_timeout_s=300, **limits)
    c.create_key()
    c.create_key("other", "run")
    c.start()
    for name in "pq":
        c.api("POST", "/projects", {"name": name})
    c.api("POST", "/agent-pools", {"name": "pool"})
    make_pools(c)
    for project in (1, 2):
        make_test(c, f"of {project}", project)
    return c


def start(c, test=1, key="admin"):
    return c.request("POST", f"/tests/{test}/run", {}, key=key)


def stopped(c, answer):
    session = answer.json()["data"]["session_id"]
    c.api("POST", f"/runs/{session}/stop")
    until = time.monotonic() + 60
    while c.api("GET", f"/runs/{session}/status")["run"]["status"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)


def test_runs_of_a_key():
    c = limited(key_runs_limit=2)
    try:
        first, second = start(c), start(c, 2)
        assert first.ok and second.ok
        refused = start(c)
        assert "has 2 of at most 2 runs in progress (key_runs_limit): wait" in problem(refused, 429)["detail"]
        assert int(refused.headers["Retry-After"]) > 0
        scenario = c.request("POST", "/tests/scenarios/registration", {
            "agentpool_id": 1, "target": "sip:127.0.0.1", "username": "1", "password": "x"})
        problem(scenario, 429)
        assert start(c, key="run").ok  # another key
        assert c.api("GET", "/runs")["total"] == 3  # nothing is left of what was refused
        stopped(c, first)
        assert start(c).ok
    finally:
        c.close()


def test_starts_at_the_same_time():
    c = limited(key_runs_limit=3)
    try:
        with ThreadPoolExecutor(8) as many:
            answers = list(many.map(lambda _: c.request("POST", "/tests/1/run", {}).status_code, range(16)))
        assert sorted(answers) == [200] * 3 + [429] * 13
    finally:
        c.close()


def test_runs_of_a_project():
    c = limited(project_runs_limit=1)
    try:
        first = start(c)
        assert first.ok
        for key in ("admin", "run"):
            said = problem(start(c, key=key), 409)["detail"]
            assert "project p has 1 of at most 1 runs in progress (project_runs_limit): wait" in said
        assert start(c, 2).ok
        stopped(c, first)
        assert start(c).ok
    finally:
        c.close()


def test_bytes_of_a_project():
    store = Store([30, 20])
    try:
        api = store.start(retention_check_s=1, project_bytes_limit=12000)
        until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 2)
        total = api("GET", "/retention")["retention"]["runs"]["stored_bytes"]
        make_pools(store.c)
        test = make_test(store.c, "limited", 1)
        said = problem(start(store.c, test), 409)["detail"]
        assert f"project p stores {total} of at most 12000 bytes (project_bytes_limit): delete" in said
        api("DELETE", "/runs/1")
        assert start(store.c, test).ok
    finally:
        store.c.close()
