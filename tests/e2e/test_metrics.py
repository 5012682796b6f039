"""GET /metrics: the Prometheus text format, and correct figures."""
import re
import sqlite3
import time

import pytest

from controller import Controller
from fake_agent import FakeAgent
from test_api_basics import problem
from test_api_project_runs import TIMES
from test_api_server import make_test

LABEL = r'[a-z]+="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r'([a-z_]+)(?:\{(' + LABEL + '(?:,' + LABEL + r')*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)')


@pytest.fixture(scope="module")
def server():
    with Controller(**TIMES) as c:
        yield c


def metrics(server, **kwargs):
    answer = server.session.get(f"{server.url}/metrics", timeout=60,
                                **{"auth": server.keys["admin"], **kwargs})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    types, samples = {}, {}
    assert answer.text.endswith("\n")
    for line in answer.text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types and kind in ("gauge", "counter", "histogram")
            types[name] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        name, labels, value = found.groups()
        # the value of a single label; of several labels the whole text
        group = labels and (labels.split("=", 1)[1][1:-1] if labels.count("=") == 1 else labels)
        assert re.sub("_(bucket|sum|count)$", "", name) in types or name in types, line
        assert (name, group) not in samples, line
        samples[name, group] = float(value)
    return samples


def test_who_may_read_it(server):
    problem(server.session.get(f"{server.url}/metrics", timeout=60), 401)


def test_runs_and_agents(server):
    pool, test = make_test(server)
    before = metrics(server)
    assert before["offhook_agents", "online"] == 0 and before["offhook_agents_capacity", None] == 0
    assert ("offhook_runs_active", "queued") not in before
    agent = FakeAgent(server, pool["join_token"], "a", capacity=1)
    runs = [server.api("POST", f"/tests/{test['id']}/run", {})["data"]["session_id"]
            for _ in range(3)]
    job = agent.jobs(1)["caller"]
    assert agent.start(job).ok
    now = metrics(server)
    assert now["offhook_agents", "online"] == 1 and now["offhook_agents_capacity", None] == 1
    assert now["offhook_agents_in_use", None] == 1
    assert sum(v for (name, _), v in now.items() if name == "offhook_runs_active") == 3
    for run in runs:
        server.api("POST", f"/runs/{run}/stop")
    agent.finish(job, "stopped")
    until = time.monotonic() + 30
    while metrics(server).get(("offhook_runs_stored", "stopped")) != 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert agent.post("/disconnect", {"reason": "over"}).ok
    now = metrics(server)
    assert now["offhook_agents", "offline"] == 1 and now["offhook_agents_capacity", None] == 0


def test_answers_are_counted(server):
    def answers(samples):
        return [samples["offhook_http_answers_total", f"{i}xx"] for i in range(1, 6)]
    # one connection: a response is counted before the next request is read. Those of other connections are counted
    # when no other request is open.
    until = time.monotonic() + 60
    while (before := metrics(server))["offhook_http_requests_open", None] > 1:
        assert time.monotonic() < until
    for _ in range(7):
        server.request("GET", "/projects")
    for _ in range(5):
        server.request("GET", "/nothing")
    after = metrics(server)
    assert [b - a for a, b in zip(answers(before), answers(after))] == [0, 8, 0, 5, 0]
    buckets = [v for (name, _), v in after.items() if name == "offhook_http_answer_seconds_bucket"]
    assert buckets == sorted(buckets) and len(buckets) == 9
    assert buckets[-1] == after["offhook_http_answer_seconds_count", None] == sum(answers(after))
    assert after["offhook_http_answer_seconds_sum", None] > 0
    assert after["offhook_http_requests_open", None] >= 1  # this request
    assert after["process_resident_memory_bytes", None] > 1e6
    assert after["process_cpu_seconds_total", None] >= before["process_cpu_seconds_total", None]


def test_each_agent(server):
    pool = server.api("POST", "/agent-pools", {"name": 'p "1" \\ ä'})["agent_pool"]
    agent = FakeAgent(server, pool["join_token"], 'host "7"', capacity=3)
    agent.poll(free=0, t=int(time.time() * 1e6))
    labels = 'pool="p \\"1\\" \\\\ ä",agent="host \\"7\\""'
    now = metrics(server)
    assert now["offhook_agent_up", labels] == 1
    assert (now["offhook_agent_capacity", labels], now["offhook_agent_in_use", labels]) == (3, 0)
    assert abs(now["offhook_agent_last_seen_seconds", labels] - time.time()) < 60
    assert abs(now["offhook_agent_clock_offset_seconds", labels]) < 60
    assert agent.post("/disconnect", {"reason": "over"}).ok
    assert metrics(server)["offhook_agent_up", labels] == 0
    assert now["offhook_artifacts_bytes", None] == 0


def test_the_agents_heard_of_last_are_shown():
    """A pool whose agents come and go: 1003 of them are gone, the one enrolled last is at work."""
    with Controller(**TIMES) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        first = FakeAgent(c, pool["join_token"], "first")
        assert first.post("/disconnect", {"reason": "over"}).ok
        with sqlite3.connect(c.state_dir / "offhook.db", timeout=60) as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(agent)")
                       if row[1] not in ("id", "name")]
            db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1002) "
                       f"INSERT INTO agent (name, {', '.join(columns)}) "
                       f"SELECT 'n' || i, {', '.join(columns)} FROM agent, n WHERE name = 'first'")
            db.execute("UPDATE agent SET last_seen = last_seen - 60000")
        agent = FakeAgent(c, pool["join_token"], "last", capacity=3)
        agent.poll(free=0)
        now = metrics(c)
        assert now["offhook_agent_up", 'pool="p",agent="last"'] == 1
        assert now["offhook_agent_capacity", 'pool="p",agent="last"'] == 3
        assert len([name for name, _ in now if name == "offhook_agent_up"]) == 1000
        assert now["offhook_agents_omitted", None] == 4
        assert now["offhook_agents", "offline"] == 1003
