"""A run from its start to its verdict, with agents that make no calls."""
import contextlib
import re
import threading
import time

import pytest

import postgresql
from controller import Controller
from fake_agent import (FakeAgent, evidence, good_call, point, registered,
                        together)

# Leases, offers and waiting runs outlive a machine that stands still; tests in which they end set shorter times.
TIMES = {"poll_s": 2, "renew_s": 1, "lease_s": 60, "offer_s": 60,
         "claim_timeout_s": 60, "upload_grace_s": 60, "interval_s": 10}
T0 = int(time.time()) // 10 * 10


class Bench:
    def __init__(self, controller):
        self.c = controller
        pool = self.create("agent-pools", name="pool")
        self.token = pool["join_token"]
        self.target = self.create("targets", name="t", hosts=[
            {"host": "127.0.0.1", "port": 5070}])["id"]
        self.users = {
            role: self.create("credential-pools", name=role, credentials=[
                {"username": user, "password": f"secret-{user}"}])["id"]
            for role, user in (("caller", "1001"), ("callee", "1002"))}
        project = self.create("projects", name="p")["id"]

        def action(kind, role, **more):
            if kind != "answer":
                more["target_pool"] = self.target
                more["credential_pool"] = self.users[role]
            return {"type": kind, "role": role, **more}

        self.test = self.create(
            "tests", name="single call", project_id=project,
            agentpool_id=pool["id"], steps=[
                [action("register", "callee"), action("answer", "callee")],
                [action("register", "caller"),
                 action("call", "caller",
                        dial_destination="{{callee.username}}")]],
            conditions=[{"role": "caller",
                         "condition_type": "caller-mos-conditions",
                         "conditions": [{"type": "ge", "value": "4"}]}])["id"]

    def create(self, kind, **body):
        answer = self.c.api("POST", f"/{kind}", body)
        return {**answer, **answer.get(kind.replace("-", "_")[:-1], {})}

    def run(self, **overrides):
        answer = self.c.api("POST", f"/tests/{self.test}/run", overrides)
        return answer["data"]["session_id"]

    def get(self, session):
        return self.c.api("GET", f"/runs/{session}")["run"]

    def ended(self, session, timeout=30):
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            run = self.c.api("GET", f"/runs/{session}/status")["run"]
            if run["status"] != "running":
                return run
            time.sleep(0.1)
        raise AssertionError(f"still running: {self.get(session)}")

    def agent(self, name="agent-1", **kwargs):
        return FakeAgent(self.c, self.token, name, **kwargs)


@contextlib.contextmanager
def bench_with(**times):
    with Controller(**{**TIMES, **times}) as c:
        yield Bench(c)


@pytest.fixture
def bench():
    with bench_with() as b:
        yield b


def started(bench, agent, **overrides):
    session = bench.run(**overrides)
    jobs = agent.jobs(2)
    for job in jobs.values():
        assert agent.start(job).status_code == 200
    return session, jobs["caller"], jobs["callee"]


def both_steps(agent, caller, callee):
    for step in (0, 1):
        answers = together(lambda: agent.barrier(caller, step),
                           lambda: agent.barrier(callee, step))
        assert [a.status_code for a in answers] == [200, 200]
        delays = [a.json()["go_in_ms"] for a in answers]
        assert all(0 <= delay <= 250 for delay in delays)


def report(agent, caller, callee):
    assert agent.upload(caller, "events", registered("1001")).ok
    assert agent.upload(callee, "events", registered("1002")).ok
    assert agent.upload(caller, "stats",
                        [point("caller", T0, 1.5)]).ok
    assert agent.upload(caller, "sip", [{
        "t": T0 * 1000000, "mono": 1, "dir": "sent", "transport": "udp",
        "local": "127.0.0.1:1", "peer": "127.0.0.1:5070",
        "data": "INVITE sip:1002@x SIP/2.0\r\n\r\n"}]).ok
    assert agent.upload(caller, "events", good_call(
        "caller", "1001", "1002", True) + [evidence()]).ok
    assert agent.upload(callee, "events", good_call(
        "callee", "1002", "1001", False) + [evidence()]).ok


def finish(agent, *jobs, **kwargs):
    for job in jobs:
        answer = agent.finish(job, **kwargs)
        assert answer.status_code == 200, answer.text


def test_happy_path(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    spec = caller["spec"]
    assert spec["peers"] == {"callee": ["1002"]}
    assert spec["steps"][0] == []
    register, call = spec["steps"][1]
    assert register["credentials"][0]["password"] == "secret-1001"
    assert register["target"]["hosts"][0]["port"] == 5070
    assert call["index"] == 1
    assert call["dial_destination"] == "{{callee.username}}"
    assert bench.c.api("GET", f"/runs/{session}/status") == {
        "run": {"status": "running"}, "status": 200}
    assert bench.get(session)["phase"] == "running"
    answer = agent.renew(caller).json()
    assert answer["command"] == "continue" and answer["lease_s"] == TIMES["lease_s"]
    both_steps(agent, caller, callee)
    report(agent, caller, callee)
    finish(agent, caller, callee)
    run = bench.ended(session)
    assert (run["status"], run["has_passed"], run["is_failed"],
            run["is_finished"], run["result_description"]) == (
                "passed", 1, 0, 1, "")
    stats = bench.c.api("GET", f"/runs/{session}/stats/rtp_jitter")
    assert float(stats["stats_data"][0]["avg"]) == 1.5
    # no password is stored
    database = next(bench.c.state_dir.glob("*.db*"), None)
    for path in (p for p in bench.c.state_dir.rglob("*") if p.is_file()):
        assert b"secret-100" not in path.read_bytes(), path
    assert database or "secret-100" not in postgresql.server().dump(bench.c.database)


def test_condition_that_fails_is_said(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent, **{
        "condition.caller.caller-mos-conditions":
            '{"conditions": [{"type": "gt", "value": "4.5"}]}'})
    both_steps(agent, caller, callee)
    report(agent, caller, callee)
    finish(agent, caller, callee)
    run = bench.ended(session)
    assert run["status"] == "failed" and run["is_failed"] == 1
    assert run["result_description"] == (
        "caller: MOS of stream 'in' of call caller-1 was 4.409286, expected "
        "more than 4.5")


def test_tester_at_fault_is_errored(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    both_steps(agent, caller, callee)
    report(agent, caller, callee)
    agent.upload(caller, "events", [evidence(ring_drops=3)])
    finish(agent, caller, callee)
    run = bench.ended(session)
    assert run["status"] == "errored"
    assert "ring_drops 3" in run["result_description"]


def test_a_queued_run_says_what_it_waits_for():
    """At once: in the response to the start, in GET /runs/ID and on the report page."""
    with bench_with(claim_timeout_s=300, poll_s=1) as bench:
        c = bench.c
        busy = ("the agents online in the pool pool are busy: 2 of 3 jobs are taken, "
                "the run needs 2")

        def start():
            """(session, what it waits for)"""
            data = c.api("POST", f"/tests/{bench.test}/run", {"report.mode": "kiosk"})["data"]
            session, said = data["session_id"], data["waiting_for"]

            def same(later):
                return later == said or said is None and "have room" in later  # as in has_room()
            assert same(shown(session))
            for page, key in ((data["report_url"], None),
                              (f"{c.url}/run/details/{session}", c.keys["admin"])):
                assert same(c.session.get(f"{page}/data", auth=key).json()["run"]["waiting_for"])
            return session, said

        def stop(session):
            c.api("POST", f"/runs/{session}/stop")

        def starts_and_stops():
            session, said = start()
            stop(session)
            return said

        def shown(session):
            return bench.get(session)["waiting_for"]

        def has_room(session):
            """On a busy machine the run is 2 s old by now, and the agents have not
            polled."""
            return "have room" in (shown(session) or "have room")

        assert starts_and_stops() == "no agent online in the pool pool: none has enrolled"
        small, large = bench.agent(capacity=1), None  # an enrolled agent counts as online
        assert starts_and_stops() == ("the agents online in the pool pool can take 1 jobs "
                                      "together, the run needs 2")
        large = bench.agent("agent-2", capacity=2)
        held, said = start()
        assert said is None  # the next poll places the run
        jobs = large.jobs(2)
        assert all(large.start(job).ok for job in jobs.values())
        assert shown(held) is None
        first, said = start()
        assert said == busy
        finish(large, *jobs.values())
        assert bench.ended(held) and has_room(first)
        second, said = start()
        assert said == busy  # the first run will get the free slots
        stop(first)
        assert has_room(second)
        until = time.monotonic() + 30
        while not (said := shown(second)):  # agents with capacity poll at once, unless they are gone
            assert time.monotonic() < until
            time.sleep(0.2)
        assert said.startswith("the agents online in the pool pool have room, but none has asked "
                               "for a job since 2")
        stop(second)
        for agent in (small, large):
            assert agent.poll(draining=True) == []
        assert starts_and_stops() == ("the agents online in the pool pool are draining and take "
                                      "no jobs")
        for agent in (small, large):
            agent.post("/disconnect", {"reason": "the test"})
        last, said = start()
        text, instant = said.split(" seen at ")
        assert text == "no agent online in the pool pool: the last one was"
        time.strptime(instant, "%Y-%m-%d %H:%M:%S UTC")
        stop(last)
        assert bench.ended(last) and shown(last) is None


def test_no_agent():
    with bench_with(claim_timeout_s=2) as bench:
        run = bench.ended(bench.run())
    assert run["status"] == "errored" and run["is_failed"] == 1
    assert run["result_description"].startswith(
        "no agent of pool pool was online for 2 s: start one")


@pytest.fixture
def patient():
    with bench_with(poll_s=8, claim_timeout_s=5, lease_s=6) as b:
        yield b


def wait_parked(c, count=1):
    """Wait until so many polls wait for a job."""
    until = time.monotonic() + 30
    while int(re.search(r"(?m)^offhook_http_requests_queued (\d+)", c.session.get(
            f"{c.url}/metrics", auth=c.keys["admin"]).text)[1]) < count:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def lapsing():
    """Offers are made again while a test runs."""
    with bench_with(offer_s=5) as b:
        yield b


def test_a_late_answer_starts_nothing(lapsing):
    """An offer lapsed and was made again to the same agent: the first one is over, before
    and after the second one has started."""
    bench, agent = lapsing, lapsing.agent()
    session = bench.run()
    first = agent.jobs(2)["caller"]
    agent.jobs(2)  # the same, once more
    second = agent.jobs(2)["caller"]
    assert second["lease_id"] == first["lease_id"] and second["epoch"] == first["epoch"] + 2
    assert agent.start(first).status_code == 410
    assert agent.start(second).ok and agent.start(second).ok  # it may be repeated
    assert agent.start(first).status_code == 410
    for wrong in ("1", 1.5, None):
        assert agent.start({**second, "epoch": wrong}).status_code == 422
    # an agent that does not know of epochs
    assert agent.post(f"/leases/{second['lease_id']}/start").ok
    bench.c.api("POST", f"/runs/{session}/stop")
    agent.finish(second, "stopped")


def test_a_repeated_start_renews_the_lease(bench):
    """The agent counts lease_s from the request that was answered."""
    agent = bench.agent()
    session = bench.run()
    job = agent.jobs(2)["caller"]

    def expires_at():
        with contextlib.closing(bench.c.open_database()) as db:
            return db.execute("SELECT expires_at FROM lease WHERE id = ?", (job["lease_id"],)).fetchone()[0]
    assert agent.start(job).ok
    first = expires_at()
    time.sleep(0.05)
    assert agent.start(job).ok
    assert expires_at() > first
    bench.c.api("POST", f"/runs/{session}/stop")
    agent.finish(job, "stopped")


def test_poll_of_an_agent_that_has_left(patient):
    """It is parked, and the controller does not see that its connection is gone: it gets no job,
    and does not make the agent online again."""
    c, agent, polled = patient.c, patient.agent(), []
    poll = threading.Thread(target=lambda: polled.append(agent.poll()))
    poll.start()
    wait_parked(c)
    assert FakeAgent(c, auth=agent.auth).post("/disconnect", {"reason": "the test"}).ok
    session = patient.run()
    poll.join(60)
    assert polled == [[]]
    assert patient.ended(session)["result_description"].startswith(
        "no agent of pool pool was online for 5 s: start one")
    assert [a["state"] for a in c.api("GET", "/agents")["agents"]] == ["offline"]
    session = patient.run()
    assert set(agent.jobs(2)) == {"caller", "callee"}  # it is back
    assert [a["state"] for a in c.api("GET", "/agents")["agents"]] == ["online"]
    c.api("POST", f"/runs/{session}/stop")


def states(c):
    return [a["state"] for a in c.api("GET", "/agents")["agents"]]


def test_a_sign_off_answers_the_poll_that_waits():
    """At once, not only when the time of the poll is over; polls of other agents wait on."""
    with bench_with(poll_s=50, lease_s=120) as bench:
        c = bench.c
        agents, polled = [bench.agent(f"agent-{n}") for n in range(2)], [[], []]
        polls = [threading.Thread(target=lambda n=n: polled[n].append(agents[n].poll()))
                 for n in range(2)]
        for poll in polls:
            poll.start()
        wait_parked(c, 2)
        assert FakeAgent(c, auth=agents[0].auth).post("/disconnect", {"reason": "the test"}).ok
        polls[0].join(30)  # of 50
        assert polled == [[[]], []]
        assert states(c) == ["offline", "online"]
        session = bench.run()  # the other one gets it
        polls[1].join(60)
        assert {job["role"] for job in polled[1][0]} == {"caller", "callee"}
        c.api("POST", f"/runs/{session}/stop")


def test_a_poll_that_a_sign_off_overtakes(bench):
    """It came on another connection, later: it neither gets jobs nor makes the agent online."""
    c, agent = bench.c, bench.agent()
    agent.poll(instance="first")
    assert agent.post("/disconnect", {"reason": "the test", "instance": "first"}).ok
    session = bench.run()
    assert agent.poll(instance="first") == []
    assert states(c) == ["offline"]
    jobs = agent.poll(instance="second")  # its next process
    assert {job["role"] for job in jobs} == {"caller", "callee"}
    assert states(c) == ["online"]
    c.api("POST", f"/runs/{session}/stop")
    assert agent.post("/poll", {"free": 1, "instance": "x" * 65}).status_code == 422


def test_an_agent_that_leaves(bench):
    """It is deleted, and its runs keep its name; with a job in progress it is not."""
    c, agent = bench.c, bench.agent()
    session, caller, callee = started(bench, agent)
    agent_api = f"{c.url}/api/v2/agent"
    for method, path in (("POST", "/disconnect"), ("PUT", f"/leases/{caller['lease_id']}"),
                         ("POST", f"/leases/{caller['lease_id']}/start")):
        form = agent.session.request(method, agent_api + path, auth=agent.auth, data={"leave": "true"})
        assert form.status_code == 415, path
    assert FakeAgent(c, auth=agent.auth).post("/disconnect", {"reason": "-", "leave": True}).ok
    assert states(c) == ["offline"]
    name, = [a["name"] for a in c.api("GET", "/agents")["agents"]]
    assert f"agent {name} disconnected" in bench.ended(session)["result_description"]
    session, caller, callee = started(bench, agent)
    both_steps(agent, caller, callee)
    report(agent, caller, callee)
    finish(agent, caller, callee)
    assert bench.ended(session)["status"] == "passed"
    assert agent.post("/disconnect", {"reason": "the test", "leave": True}).ok
    assert states(c) == []
    assert agent.post("/poll", {"free": 1}).status_code == 401
    junit = c.request("GET", f"/runs/{session}/report/junit").text
    assert all(f'<property name="agent.{role}" value="{name}"' in junit for role in ("caller", "callee"))
    # one that is given its id has nothing of it
    other = bench.agent()
    assert other.post(f"/leases/{caller['lease_id']}/start").status_code == 410


def test_poll_of_a_full_agent_brings_no_job():
    """The agent cancels it when a job ends, and polls again: a job in the answer would be lost until
    it is offered again."""
    with bench_with() as bench:
        c, answers = bench.c, []
        agent = bench.agent(capacity=2)
        _, caller, callee = started(bench, agent)
        session = bench.run()
        full = FakeAgent(c, auth=agent.auth)
        full.held = list(agent.held)
        poll = threading.Thread(target=lambda: answers.append(full.poll(free=0)))
        poll.start()
        wait_parked(c)
        finish(agent, caller, callee, outcome="failed", reason="403")
        poll.join(60)
        assert answers == [[]]
        assert set(agent.jobs(2)) == {"caller", "callee"}
        assert bench.get(session)["phase"] == "dispatching"


def test_agents_too_small():
    with bench_with(claim_timeout_s=2) as bench:
        agent = bench.agent(capacity=1)
        session = bench.run()
        for _ in range(3):
            assert agent.poll() == []
        assert "take 1 jobs together, the run needs 2" in bench.ended(
            session)["result_description"]


def test_run_is_spread_over_two_agents(bench):
    agents = [bench.agent(f"agent-{i}", capacity=1) for i in (1, 2)]
    for agent in agents:
        agent.poll()
    session = bench.run()
    jobs = together(*[lambda a=a: a.jobs(1) for a in agents])
    roles = [list(j)[0] for j in jobs]
    assert sorted(roles) == ["callee", "caller"]
    mine, other = jobs[0][roles[0]], jobs[1][roles[1]]
    assert agents[0].start(mine).ok and agents[1].start(other).ok
    # an agent sees only its own leases
    assert agents[0].renew(other).status_code == 404
    assert agents[0].finish(other).status_code == 404
    assert agents[0].upload(other, "events", []).status_code == 404
    for step in (0, 1):
        answers = together(lambda: agents[0].barrier(mine, step),
                           lambda: agents[1].barrier(other, step))
        assert all(a.status_code == 200 for a in answers)
    agents[0].finish(mine, "stopped", "drained")
    agents[1].finish(other)
    run = bench.ended(session)
    assert run["status"] == "errored" and "drained" in run[
        "result_description"]


def test_lost_lease():
    with bench_with(lease_s=3) as bench:
        agent = bench.agent("gone")
        session, caller, callee = started(bench, agent)
        run = bench.ended(session)
        assert run["status"] == "errored"
        assert "agent gone stopped answering in mid-run" in run[
            "result_description"]
        assert agent.renew(caller).status_code == 410
        assert agent.barrier(caller, 0).status_code == 410
        assert agent.start(caller).status_code == 410
        # what was measured is still accepted
        assert agent.upload(callee, "events", registered("1002")).ok
        finish(agent, caller, callee)
        assert bench.ended(session)["status"] == "errored"


def test_agent_restarted(bench):
    agent = bench.agent("again")
    session, caller, _ = started(bench, agent)
    # a list that is older than the start removes nothing
    agent.held = []
    assert agent.poll() == []
    assert agent.renew(caller).status_code == 200


def test_offer_not_confirmed_is_made_again(lapsing):
    bench = lapsing
    first = bench.agent("silent")
    session = bench.run()
    offered = first.jobs(2)
    second = bench.agent("second")
    jobs = second.jobs(2)
    assert jobs["caller"]["lease_id"] == offered["caller"]["lease_id"]
    assert first.start(offered["caller"]).status_code == 404
    for job in jobs.values():
        assert second.start(job).ok
        assert second.start(job).ok  # the response was lost
    assert bench.get(session)["phase"] == "running"


def test_failed_outcome(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    agent.finish(caller, "failed",
                 "account 1001 was refused by 127.0.0.1:5070: 403 Forbidden")
    assert agent.renew(callee).json()["command"] == "cancel"
    answer = agent.upload(callee, "events", registered("1002"))
    assert answer.json()["command"] == "cancel"
    finish(agent, callee, outcome="stopped")
    run = bench.ended(session)
    assert run["status"] == "failed"
    assert run["result_description"] == (
        "caller: account 1001 was refused by 127.0.0.1:5070: 403 Forbidden")


def test_error_outcome(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    agent.finish(caller, "error", "no free RTP port")
    finish(agent, callee, outcome="stopped")
    run = bench.ended(session)
    assert run["status"] == "errored"
    assert "no free RTP port" in run["result_description"]


def test_stop_by_a_user(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    bench.c.api("POST", f"/runs/{session}/stop")
    assert bench.c.request("POST", f"/runs/{session}/stop").status_code == 409
    assert agent.renew(caller).json()["command"] == "cancel"
    assert agent.barrier(caller, 0).status_code == 204
    finish(agent, caller, callee, outcome="stopped")
    run = bench.ended(session)
    assert (run["status"], run["is_failed"], run["has_passed"],
            run["is_finished"]) == ("stopped", 0, 0, 1)


def test_stop_before_any_agent(bench):
    session = bench.run()
    bench.c.api("POST", f"/runs/{session}/stop")
    assert bench.ended(session)["status"] == "stopped"
    assert bench.agent().poll() == []
    assert bench.c.request("POST", "/runs/99999/stop").status_code == 404


def test_controller_killed_in_mid_run():
    with bench_with(lease_s=10) as bench:
        agent = bench.agent()
        session, caller, callee = started(bench, agent)
        answers = together(lambda: agent.barrier(caller, 0),
                           lambda: agent.barrier(callee, 0))
        assert all(a.ok for a in answers)
        assert agent.upload(caller, "events", registered("1001"), seq=1).ok
        bench.c.kill()
        time.sleep(bench.c.conf["lease_s"] + 1)  # the lease could not be renewed
        bench.c.start()
        # the agent never learned whether its upload arrived
        answer = agent.upload(caller, "events", registered("1001"), seq=1)
        assert answer.json()["duplicates"] == 2
        agent.seq[caller["lease_id"]] = 1
        assert agent.renew(caller).status_code == 200
        assert agent.renew(callee).status_code == 200
        both = together(lambda: agent.barrier(caller, 1),
                        lambda: agent.barrier(callee, 1))
        assert [a.status_code for a in both] == [200, 200]
        report(agent, caller, callee)
        finish(agent, caller, callee)
        assert bench.ended(session)["status"] == "passed"


def test_uploads_count_once(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    points = [point("caller", T0, 1), point("caller", T0 + 10, 2)]
    answer = agent.upload(caller, "stats", points, seq=1).json()
    assert (answer["accepted"], answer["duplicates"], answer["next_seq"],
            answer["command"]) == (2, 0, 2, "continue")
    answer = agent.upload(caller, "stats", points, seq=1).json()
    assert (answer["accepted"], answer["duplicates"],
            answer["next_seq"]) == (0, 2, 2)
    assert agent.upload(caller, "events", [], seq=3).json()["next_seq"] == 2
    assert agent.upload(caller, "events", [], seq=2).json()["next_seq"] == 4
    data = bench.c.api("GET", f"/runs/{session}/stats/rtp_jitter")
    assert len(data["stats_data"]) == 2


def test_finish_waits_for_missing_uploads(bench):
    agent = bench.agent()
    session, caller, callee = started(bench, agent)
    for seq in (1, 3, 6):
        assert agent.upload(caller, "events", [], seq=seq).ok
    answer = agent.finish(caller, last_seq=8)
    assert answer.status_code == 409
    assert answer.json()["missing"] == [[2, 2], [4, 5], [7, 8]]
    assert agent.renew(caller).status_code == 200
    for seq in (2, 4, 5, 7, 8):
        assert agent.upload(caller, "events", [], seq=seq).ok
    finish(agent, caller, last_seq=8)
    finish(agent, caller, last_seq=8)  # the response was lost


@pytest.mark.parametrize("path, body", [
    ("stats", {"seq": 0, "series": []}),
    ("stats", {"series": []}),
    ("stats", {"seq": 1}),
    ("stats", {"seq": 1, "series": [{"role": "caller"}]}),
    ("stats", {"seq": 1, "series": [point("callee", T0, 1)]}),
    ("events", {"seq": 1, "events": [{"kind": "state"}]}),
    ("events", {"seq": 1, "events": [1]}),
    ("sip", {"seq": 1, "messages": [{"t": 1, "dir": "sideways",
                                     "data": ""}]}),
    ("finish", {"outcome": "fine", "reason": "", "last_seq": 0}),
    ("finish", {"outcome": "completed", "reason": "", "last_seq": -1}),
    ("barriers/0", {"ready": False}),
    ("barriers/1", {"ready": True}),
])
def test_wrong_bodies(shared, path, body):
    agent, caller = shared
    answer = agent.post(f"/leases/{caller['lease_id']}/{path}", body)
    assert answer.status_code == 422, answer.text


@pytest.fixture(scope="module")
def shared():
    with bench_with(lease_s=300) as bench:
        agent = bench.agent()
        _, caller, _ = started(bench, agent)
        yield agent, caller


def test_enrolment_refused(bench):
    agent = bench.agent("one")
    body = {"token": bench.token, "name": "one", "version": "1",
            "protocols": [1], "capacity": 1}
    for change, status in (({}, 409), ({"token": "x"}, 403),
                           ({"protocols": [2]}, 426),
                           ({"capacity": 0}, 422), ({"name": ""}, 422)):
        answer = agent.post("/register", {**body, **change}, auth=None)
        assert answer.status_code == status, answer.text
    assert agent.post("/poll", {"free": 1}, auth=("1", "x")
                      ).status_code == 401
    admin = bench.c.keys["admin"]
    assert agent.post("/poll", {"free": 1}, auth=admin).status_code == 401


@pytest.mark.parametrize("key, value, pointer, text", [
    ("step.1.1.max_total_call", 1, "/step.1.1.max_total_call",
     "no parameter"),
    ("step.2.0.regexpire", 60, "/step.2.0.regexpire", "no step 2"),
    ("step.1.2.regexpire", 60, "/step.1.2.regexpire", "no action 2"),
    ("step.1.0.regexpire", "soon", "/step.1.0.regexpire", "whole number"),
    ("step.1.0.regexpire", 0, "/step.1.0.regexpire", ""),
    ("step.0.0.dial_destination", "1", "/step.0.0.dial_destination",
     "register action has no parameter"),
    ("step.1.1.credential_pool", 4711, "/step.1.1.credential_pool",
     "no credential pool"),
    ("step.1.1.target_pool", 4711, "/step.1.1.target_pool", "no target"),
    ("step.1.1.sipclient_actions", '[["dance", "1"]]',
     "/step.1.1.sipclient_actions/0/0", "dance"),
    ("step.1.1.dial_destination", "{{nobody.username}}",
     "/step.1.1.dial_destination", "placeholder"),
    ("condition.caller.caller-mos-conditions", {"conditions": [
        {"type": "ge", "value": "6"}]},
     "/condition.caller.caller-mos-conditions/conditions/0/value", "1 to 5"),
    ("condition.caller.caller-transcription-conditions", {"conditions": [
        {"type": "has", "value": "hello"}]},
     "/condition.caller.caller-transcription-conditions/conditions/0", "transcribe nothing"),
    ("condition.caller.caller-spelling-conditions", {"conditions": []},
     "/condition.caller.caller-spelling-conditions", "unknown condition type"),
    ("condition.B.B-mos-conditions", {"conditions": [
        {"type": "ge", "value": "4"}]}, "/condition.B.B-mos-conditions", "no role 'B'"),
    ("report.mode", "loud", "/report.mode", "full, kiosk or print"),
    ("tset.name", "x", "/tset.name", "unknown key"),
])
def test_wrong_overrides(bench_shared, key, value, pointer, text):
    bench = bench_shared
    before = bench.c.api("GET", "/runs")["total"]
    answer = bench.c.request("POST", f"/tests/{bench.test}/run",
                             {key: value})
    assert answer.status_code == 422, answer.text
    errors = answer.json()["errors"]
    assert errors[0]["pointer"] == pointer, errors
    assert text in errors[0]["detail"]
    assert bench.c.api("GET", "/runs")["total"] == before


@pytest.fixture(scope="module")
def bench_shared():
    with bench_with() as b:
        yield b


def test_conditions_of_a_type_are_switched_off(bench_shared):
    """An empty array is accepted with every type of docs/reference/conditions.md."""
    bench = bench_shared
    for name in ("sipclient-state", "postdial-delay", "mos", "sip", "rtp-advanced", "loss",
                 "jitter", "rtt", "call-count", "confidence", "regression", "register-time", "dtmf", "cli",
                 "audio", "transcription"):
        key = f"condition.caller.caller-{name}-conditions"
        run = bench.c.api("POST", f"/tests/{bench.test}/run", {key: {"conditions": []}})["data"]
        bench.c.api("POST", f"/runs/{run['session_id']}/stop")
    test = bench.c.api("GET", f"/tests/{bench.test}")["test"]
    body = {k: test[k] for k in ("project_id", "agentpool_id", "steps")}
    body |= {"name": "transcribed", "conditions": [
        {"role": "caller", "condition_type": "caller-transcription-conditions",
         "conditions": []}]}
    made = bench.c.api("POST", "/tests", body)["test"]
    bench.c.api("DELETE", f"/tests/{made['id']}")
    body["conditions"][0]["conditions"] = [{"type": "has", "value": "hello"}]
    answer = bench.c.request("POST", "/tests", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/conditions/0/conditions/0"


def test_overrides_reach_the_job(bench):
    agent = bench.agent()
    _, caller, callee = started(bench, agent, **{
        "step.0.0.regexpire": "90", "step.1.1.max_total_calls": 3,
        "step.1.1.dial_destination": "1009",
        "step.1.1.sipclient_actions": '[["assert_established", ""], '
                                      '["wait", "500"]]',
        "step.1.1.credential_pool": bench.users["callee"],
        "step.1.1.custom_headers": '[["X-A", "1", "invites"]]'})
    call = caller["spec"]["steps"][1][1]
    assert (call["max_total_calls"], call["dial_destination"]) == (3, "1009")
    assert call["sipclient_actions"][1] == ["wait", "500"]
    assert call["custom_headers"] == [["X-A", "1", "invites"]]
    assert call["credentials"][0]["username"] == "1002"
    assert callee["spec"]["steps"][0][0]["regexpire"] == 90


def test_legacy_route_and_forms(bench_shared):
    bench = bench_shared
    answer = bench.c.request(
        "POST", "/tests/run", data={"test.name": "single call",
                                    "report.mode": "kiosk",
                                    "step.1.1.max_total_calls": "2"})
    assert answer.status_code == 200, answer.text
    assert "Deprecation" in answer.headers and "Link" in answer.headers
    body = answer.json()
    assert set(body) == {"data", "status"} and body["status"] == 200
    data = body["data"]
    assert set(data) == {"report_url", "session_id", "status_url", "waiting_for", "warnings"}
    session = data["session_id"]
    assert data["status_url"] == (
        f"{bench.c.url}/api/v2/runs/{session}/status")
    assert data["report_url"].startswith(f"{bench.c.url}/kiosk/{session}/")
    for body in ({}, {"test.id": bench.test, "test.name": "single call"},
                 {"test.id": "x"}):
        assert bench.c.request("POST", "/tests/run", body
                               ).status_code == 422
    assert bench.c.request("POST", "/tests/run", {"test.name": "none"}
                           ).status_code == 422
    assert bench.c.request("POST", "/tests/run", {"test.id": bench.test}
                           ).status_code == 200
