"""Several controllers on one PostgreSQL database: each takes any request."""
import collections
import signal
import subprocess
import threading
import time

import pytest
import requests

import postgresql
from agent import Agent
from balancer import Balancer
from bench import Bench, Logged, evidence, stream
from controller import Controller
from fake_agent import FakeAgent, together
from program_clock import Clock
from receiver import Receiver
from test_api_project_runs import TIMES, Lab
from test_schedules import from_now, make, outcomes
from until import until

CONF = {**TIMES, "poll_s": 50, "lease_s": 60, "offer_s": 30, "claim_timeout_s": 600,
        "callback_allow": "127.0.0.1"}


PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def uri():
    server = postgresql.server()
    name = server.create()
    yield server.uri(name)
    server.drop(name)


@pytest.fixture
def database():
    """Of one test."""
    server = postgresql.server()
    name = server.create()
    yield server.uri(name)
    server.drop(name)


def beside(first, kind=Controller, **more):
    """Another controller, with the database, the master key and the files of the first."""
    conf = {**first.conf, "port": 0, "key_file": first.state_dir / "master.key",
            "artifact_store": first.state_dir, **more}
    other = kind(**conf)
    other.keys = first.keys
    return other


@pytest.fixture(scope="module")
def pair(uri):
    with Controller(database=uri, **CONF) as a, beside(a) as b:
        yield a, b


@pytest.fixture(scope="module")
def shared(pair):
    return Lab(pair[0])


@pytest.fixture
def lab(shared):
    """With a pool of its own."""
    shared.count += 1
    pool = shared.c.api("POST", "/agent-pools", {"name": f"pool {shared.count}"})["agent_pool"]
    shared.token, shared.pool = pool["join_token"], pool["id"]
    return shared


def session_of(c):
    """A connection for one thread."""
    return FakeAgent(c, auth=("1", "none")).session


def command(c, *args):
    c._write_conf()
    return subprocess.run([c.program, "--config", c.conf_file, *args], capture_output=True,
                          text=True, check=False, timeout=60)


# ---- what each of them reads and writes ----

def test_each_reads_at_once_what_the_other_wrote(pair):
    a, b = pair
    there = a.api("GET", "/projects?count=1")["total"]
    for number, (writer, reader) in enumerate([(a, b), (b, a)] * 10):
        before = [c.api("GET", "/projects?count=1")["total"] for c in pair]
        assert before == [there + number] * 2
        project = writer.api("POST", "/projects", {"name": f"p{number}"})["project"]
        assert reader.api("GET", f"/projects/{project['id']}")["project"] == project


def test_a_deleted_key_is_refused_by_all(pair):
    a, b = pair
    for writer, reader in ((a, b), (b, a)):
        key = writer.api("POST", "/api-keys", {"name": "k", "rights": "read"})["api_key"]
        auth = key["public_key"], key["secret"]
        reader.secrets.add(key["secret"])
        for _ in range(3):
            assert reader.request("GET", "/projects", key=auth).status_code == 200
        writer.api("DELETE", f"/api-keys/{key['id']}")
        assert reader.request("GET", "/projects", key=auth).status_code == 401


class Browser(requests.Session):
    """Its cookie is for the host, whichever controller answers."""

    def ask(self, c, path, **kwargs):
        return self.request("POST" if kwargs else "GET", c.url + path, timeout=60, **kwargs)


def test_users_and_sessions_are_of_all(pair):
    a, b = pair
    with Browser() as browser:
        assert [browser.ask(c, "/session").json()["setup"] for c in pair] == [True, True]
        user = a.api("POST", "/users", {"name": "ada", "rights": "admin", "password": PASSWORD})
        assert user["user"]["name"] == "ada"
        assert [browser.ask(c, "/session").json()["setup"] for c in pair] == [False, False]
        assert browser.ask(b, "/login", json={"name": "ada", "password": PASSWORD}).ok
        states = [browser.ask(c, "/session").json() for c in pair]
        assert states[0] == states[1] and states[0]["user"]["name"] == "ada"
        csrf = {"X-CSRF-Token": states[0]["csrf"]}
        made = browser.ask(a, "/api/v2/projects", json={"name": "of ada"}, headers=csrf)
        assert made.status_code == 201
        ended = browser.cookies.copy()
        assert browser.ask(a, "/logout", json={}, headers=csrf).ok
        browser.cookies.update(ended)
        assert browser.ask(b, "/session").json()["user"] is None


def test_the_rate_of_a_key_is_of_all(database):
    """What one gave is soon missing at the other; what all gave in excess is made up for."""
    name = database.partition("@/")[2].partition("?")[0]
    burst, probes = 200, 30
    with Controller(database=database, rate_limit=1, rate_burst=burst) as a, \
            beside(a) as b:
        key = a.api("POST", "/api-keys", {"name": "other", "rights": "read"})["api_key"]
        other = key["public_key"], key["secret"]
        a.secrets.add(key["secret"])
        sessions = {c: session_of(c) for c in (a, b)}

        def ask(c, auth=a.keys["admin"]):
            return sessions[c].get(f"{c.url}/api/v2/projects?count=1", auth=auth, timeout=60)

        def remaining(c):
            return int(ask(c).headers["RateLimit-Remaining"])

        while ask(a).status_code == 200:
            pass
        # so few requests would leave most of a bucket of its own
        for _ in range(probes):
            if remaining(b) < burst - 2 * probes:
                break
            time.sleep(1)
        else:
            pytest.fail("the other controller did not learn of it")
        # as if a third one had given so much
        postgresql.server().sql("UPDATE key_rate SET full_at_us = full_at_us + 300000000", name)
        for c in (a, b):
            headers = until(lambda c=c: (answer := ask(c)).status_code == 429 and
                            int(answer.headers["Retry-After"]) > 60 and answer.headers)
            assert headers["RateLimit-Remaining"] == "0"
            assert int(headers["RateLimit-Reset"]) > burst
        assert [ask(c, other).status_code for c in (a, b)] == [200, 200]


def test_failed_logins_are_counted_by_all(database):
    name = database.partition("@/")[2].partition("?")[0]

    def rows():
        return postgresql.server().sql(
            "SELECT failures FROM login_failure ORDER BY failures", name).split()

    with Controller(database=database) as a, beside(a) as b, Browser() as browser:
        a.api("POST", "/users", {"name": "ada", "rights": "admin", "password": PASSWORD})

        def login(c, password):
            return browser.ask(c, "/login", json={"name": "ada", "password": password})

        for failures in range(1, 9):
            c = (a, b)[failures % 2]
            until(lambda c=c: login(c, "wrong battery").status_code == 403)
            assert rows() == [str(failures)] * 2   # of the name and of the address
        # 8 s from now on, at both: none of them saw more than 4 failures, which are free
        refused = [login(c, PASSWORD) for c in (a, b)]
        assert [answer.status_code for answer in refused] == [429, 429]
        assert all(int(answer.headers["Retry-After"]) > 1 for answer in refused)
        assert rows() == ["8", "8"]
        until(lambda: login(b, PASSWORD).ok)
        assert rows() == ["8"]
        log = a.api("GET", "/audit?count=100")["audit"]
        assert [e["outcome"] for e in log if e["path"] == "/login"] == \
            ["changed"] + ["refused"] * 8


def test_one_of_many_edits_wins(pair, lab):
    """If-Match holds between processes: of edits of one copy one is made, the others get
    412."""
    target = f"/targets/{lab.target}"
    for turn in range(8):
        shown = pair[turn % 2].request("GET", target)
        start = threading.Barrier(6)

        def edit(number):
            c = pair[number % 2]
            body = {**shown.json()["target"], "name": f"turn {turn} of {number}"}
            session = session_of(c)
            start.wait()
            answer = session.put(f"{c.url}/api/v2{target}", json=body, auth=c.keys["admin"],
                                 headers={"If-Match": shown.headers["ETag"]}, timeout=60)
            return number, answer.status_code

        done = together(*[lambda n=n: edit(n) for n in range(6)])
        made = [number for number, status in done if status == 200]
        assert len(made) == 1, done
        assert {status for _, status in done} == {200, 412}
        for c in pair:
            now = c.api("GET", target)["target"]
            assert now["name"] == f"turn {turn} of {made[0]}"


def test_an_idempotency_key_starts_one_run(pair, lab):
    there = pair[0].api("GET", "/runs")["total"]
    _, (test,) = lab.project("passed")
    for turn in range(5):
        start = threading.Barrier(6)

        def ask(number):
            c = pair[number % 2]
            session = session_of(c)
            start.wait()
            for _ in range(600):
                answer = session.post(
                    f"{c.url}/api/v2/tests/{test}/run", json={}, auth=c.keys["admin"],
                    headers={"Idempotency-Key": f"turn-{turn}"}, timeout=60)
                if answer.status_code != 409:
                    break
                time.sleep(0.05)
            assert answer.status_code == 200, answer.text
            return answer.json()["data"]["session_id"]

        runs = together(*[lambda n=n: ask(n) for n in range(6)])
        assert len(set(runs)) == 1
    assert [c.api("GET", "/runs")["total"] for c in pair] == [there + 5] * 2


# ---- leases ----

def test_no_lease_is_given_twice(pair, lab):
    """Agents poll both controllers at the same time, from many threads."""
    a, b = pair
    _, (test,) = lab.project("passed")
    agents = [FakeAgent(c, lab.token, f"agent {n}", capacity=100)
              for n, c in enumerate([a, b] * 4)]
    runs = [a.api("POST", f"/tests/{test}/run", {})["data"]["session_id"] for _ in range(40)]
    given, lock = collections.Counter(), threading.Lock()
    start = threading.Barrier(len(agents))

    def take(agent):
        start.wait()
        while True:
            with lock:
                if sum(given.values()) >= len(runs):
                    return
            for job in agent.poll(free=3, one_run=True):
                with lock:
                    given[job["lease_id"]] += 1
                assert agent.start(job).ok
                assert agent.finish(job).ok

    threads = [threading.Thread(target=take, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    until(lambda: sum(given.values()) >= len(runs))
    for thread in threads:
        while thread.is_alive():  # one whose poll waits gets another run
            a.api("POST", f"/tests/{test}/run", {})
            thread.join(0.5)
    assert set(given.values()) == {1} and len(given) >= len(runs)
    for run in runs:
        until(lambda: b.api("GET", f"/runs/{run}")["run"]["is_finished"])


def test_a_poll_at_one_gets_the_run_of_the_other(pair, lab):
    _, (test,) = lab.project("passed")
    for polled, starts in (pair, pair[::-1]):
        agent = FakeAgent(polled, lab.token, f"agent at {polled.url}", capacity=1)
        got = []
        # it would wait longer than its client does
        waiting = threading.Thread(target=lambda: got.append(agent.poll(timeout=40)))
        waiting.start()
        until(lambda: any(x["name"] == agent_name(agent) and x["state"] == "online"
                          for x in starts.api("GET", "/agents")["agents"]))
        run = starts.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        waiting.join()
        (job,), = got  # the answer of the one poll
        assert job["session_id"] == run and agent.start(job).ok
        assert starts.api("GET", f"/runs/{run}")["run"]["status"] == "running"
        assert agent.finish(job).ok
        until(lambda: starts.api("GET", f"/runs/{run}")["run"]["is_finished"])
        assert agent.post("/disconnect").ok


def test_what_is_not_announced_is_found(pair, lab):
    """As when a controller is killed before it tells: a change that no NOTIFY follows."""
    a, b = pair
    _, (test,) = lab.project("passed")
    run = b.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
    of_run = "WHERE run_id = (SELECT id FROM run WHERE session_id = ?)"
    with postgresql.Connection(a.conf["database"]) as db:
        db.execute("UPDATE lease SET state = 'offered', epoch = epoch + 1, "
                   "expires_at = 9000000000000 " + of_run, [run])
    db.close()
    agent = FakeAgent(a, lab.token, f"agent at {a.url}", capacity=1)
    got = []
    waiting = threading.Thread(target=lambda: got.append(agent.poll(timeout=40)))
    waiting.start()
    until(lambda: any(x["pool_id"] == lab.pool and x["state"] == "online"
                      for x in b.api("GET", "/agents?count=1000")["agents"]))
    with postgresql.Connection(a.conf["database"]) as db:
        db.execute("UPDATE lease SET state = 'waiting', expires_at = NULL " + of_run, [run])
    db.close()
    waiting.join()
    (job,), = got
    assert job["session_id"] == run and agent.start(job).ok and agent.finish(job).ok


def agent_name(agent):
    return f"agent at {agent.controller.url}"


def started_at_both(controllers, lab):
    """Start a run of two roles. @return (agent, job, start's answer) of each, one at each controller"""
    a, _ = controllers
    project = lab.make("projects", name="barrier")
    credentials = lab.make("credential-pools", name="users", credentials=[
        {"username": "u", "password": "x"}])
    test = lab.make(
        "tests", name="two roles", project_id=project, agentpool_id=lab.pool, steps=[[
            {"type": "register", "role": role, "target_pool": lab.target,
             "credential_pool": credentials} for role in ("caller", "callee")]])
    agents = [FakeAgent(c, lab.token, f"agent {n}", capacity=1)
              for n, c in enumerate(controllers)]
    a.api("POST", f"/tests/{test}/run", {})
    jobs = [found for found in together(*[lambda x=x: x.jobs(1) for x in agents])]
    held = [(agent, job) for agent, found in zip(agents, jobs) for job in found.values()]
    assert len(held) == 2
    answers = [agent.start(job) for agent, job in held]
    assert all(x.ok for x in answers)
    return [(*h, x.json()) for h, x in zip(held, answers)]


def test_a_step_begins_at_both(pair, lab):
    """The roles of a run report to different controllers: the barrier holds them
    together."""
    held = started_at_both(pair, lab)
    answers = together(*[lambda h=h: h[0].barrier(h[1], 0) for h in held])
    assert [x.status_code for x in answers] == [200, 200]
    for agent, job, _ in held:
        assert agent.finish(job).ok


def test_they_go_by_the_clock_of_the_database(database, tmp_path, monkeypatch):
    """The clock of one is ten minutes ahead of the other's: times that they share are the same, no lease is lost."""
    with Controller(database=database, **CONF) as a:
        b, clock = beside(a), Clock(tmp_path)
        clock.set_forward(600)
        with monkeypatch.context() as patch:
            clock.preload(patch)
            b.start()
        try:
            held = started_at_both((a, b), Lab(a))
            times = [(x["server_time"], x["server_time_error_us"]) for *_, x in held]
            now = float(postgresql.server().sql("SELECT extract(epoch FROM clock_timestamp())")) * 1e6
            assert all(0 < error < 10e6 and abs(now - t) < 120e6 for t, error in times), (now, times)
            answers = together(*[lambda h=h: h[0].barrier(h[1], 0) for h in held])
            assert [x.status_code for x in answers] == [200, 200]
            assert all(0 <= x.json()["go_in_ms"] <= 250 for x in answers), [x.text for x in answers]
            run, = a.api("GET", "/runs")["runs"]
            # both have swept by now
            until(lambda: all(c.api("GET", f"/runs/{run['id']}")["run"]["phase"] == "running" for c in (a, b)))
            for agent, job, _ in held:
                assert agent.finish(job).ok
        finally:
            b.close()


# ---- what happens by itself ----

def test_each_schedule_starts_one_run(pair, lab):
    there = pair[0].api("GET", "/runs")["total"]
    _, (lab.passes,) = lab.project("passed")
    at = from_now(8)  # all are made before
    schedules = [make(lab, run_at=at, overlap="parallel") for _ in range(12)]
    until(lambda: all(outcomes(lab, s) for s in schedules))
    last = make(lab, run_at=from_now(4), overlap="parallel")  # both look each second
    until(lambda: outcomes(lab, last))
    assert [outcomes(lab, s) for s in schedules] == [["started"]] * 12
    assert pair[1].api("GET", "/runs")["total"] == there + 12 + 1


def test_each_callback_is_delivered_once(pair, lab):
    a, b = pair
    agent = FakeAgent(b, lab.token, "agent", capacity=20)
    with Receiver() as receiver:
        _, tests = lab.project(*["failed"] * 10, callback_on_failure=1,
                               callback_url=receiver.url)
        runs = [a.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
                for test in tests]
        jobs = []
        while len(jobs) < len(tests):
            jobs += agent.poll()
        for job in jobs:
            assert agent.start(job).ok
            assert agent.finish(job, "failed", "as it is told to").ok
        for run in runs:
            until(lambda: [c["state"] for c in b.api(
                "GET", f"/runs/{run}/callbacks")["callbacks"]] == ["delivered"])
            only, = b.api("GET", f"/runs/{run}/callbacks")["callbacks"]
            assert len(only["tries"]) == 1
        assert len(receiver.got) == len(tests)


# ---- what they share ----

def test_those_that_do_not_fit_are_refused(database, tmp_path):
    with Controller(database=database, **CONF) as a:
        other = beside(a, key_file="another.key")
        with pytest.raises(RuntimeError, match="the master key is another one than that of"):
            other.start()
        other.close()
        other = beside(a, artifact_store=tmp_path)
        with pytest.raises(RuntimeError, match="set artifact_store to the one that they share"):
            other.start()
        other.close()
        refused = command(a, "rotate-key")
        assert refused.returncode == 1 and "in use by another controller" in refused.stderr
        made = command(a, "--create-key", "made meanwhile")
        assert made.returncode == 0, made.stderr
        assert "made meanwhile" in [k["name"] for k in a.api("GET", "/api-keys")["api_keys"]]


def test_one_that_is_stopped_does_not_stop_the_other(pair):
    """SIGSTOP at any moment, also within a transaction: its lock is taken from it."""
    a, b = pair
    end = threading.Event()

    def write():
        number = 0
        session = session_of(a)
        while not end.is_set():
            number += 1
            session.post(f"{a.url}/api/v2/projects", json={"name": f"a{number}"},
                         auth=a.keys["admin"], timeout=60)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for number in range(3):
        until(lambda: a.api("GET", "/projects?count=1")["total"] > 10 * number)
        a.process.send_signal(signal.SIGSTOP)
        until(lambda: b.request("POST", "/projects", {"name": f"b{number}"}).ok)
        a.process.send_signal(signal.SIGCONT)
    end.set()
    for writer in writers:
        writer.join()
    names = [p["name"] for p in a.api("GET", "/projects?count=1000")["projects"]]
    assert {"b0", "b1", "b2"} <= set(names)


# ---- a run with calls ----

def test_a_run_outlives_controllers(database, tmp_path, ports):
    """One is killed in mid-call, the other one stopped later, as in an upgrade: nobody
    notices."""
    with Balancer() as balancer, \
            Bench(tmp_path, ports, agents=0, database=database) as bench:
        a = bench.controller
        b = beside(a, Logged).start()
        try:
            balancer.backends = [a.conf["port"], b.conf["port"]]
            pool = a.api("POST", "/agent-pools", {"name": "balanced"})["agent_pool"]
            bench.pool_id = pool["id"]
            agent = Agent(tmp_path, balancer.url, pool["join_token"], ports.rtp, name="agent")
            bench.agents.append(agent.start())
            until(lambda: any(x["state"] == "online" for x in a.api("GET", "/agents")["agents"]))
            test = bench.single_call(duration=12)
            bench.controller = b
            session = bench.start(test)
            bench.controller = a
            bench.wait_for_media(session)
            a.kill()
            bench.controller = b
            seen = len(bench.points(session, "rtp_pkt_per_sec", "callee", "in"))
            bench.wait_for_media(session, seen + 3)
            a.start()
            assert b.stop() == 0
            bench.controller = a
            run = bench.wait(session, timeout=90)
            report = bench.report(session)
            points = bench.points(session, "rtp_pkt_per_sec", "callee", "in")
            lost = bench.points(session, "rtp_lost", "callee", "in")
            agent.close()
            assert a.stop() == 0
        finally:
            b.close()
    assert run["status"] == "passed", run["result_description"]
    assert set(balancer.taken) == set(balancer.backends)
    received = stream(report, "callee", "in")
    assert received["packets"] == stream(report, "caller", "out")["packets"]
    assert abs(received["packets"] - 600) <= 1
    times = [p["time"] for p in points]
    assert len(times) == len(set(times)) >= 12
    assert sum(float(p["avg"]) for p in lost) == received["lost"] == 0
    assert evidence(report, "caller")["packets_sent"] == received["packets"]
