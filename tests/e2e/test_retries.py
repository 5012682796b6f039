"""Retries of failed runs, as clients see them that poll the first run."""
import concurrent.futures
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import threading
import time

import pytest

from controller import ON_POSTGRESQL, Controller
from receiver import Receiver
from test_api_basics import problem
from test_api_project_runs import Lab, TIMES

# A retry stays due: inserting its row fails.
HOLD = """CREATE TRIGGER hold BEFORE INSERT ON run WHEN NEW.retry_of IS NOT NULL
          BEGIN SELECT RAISE(ABORT, 'held by a test'); END"""
RUNNING = {"status": "running"}


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES, callback_allow="127.0.0.1", callback_retry_s=1) as c:
        yield Lab(c)


class Ends:
    """The results of the attempts in turn; the last one applies to all further ones."""

    def __init__(self, *ends):
        self.ends = list(ends)

    def __call__(self, spec):
        return self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]


def start(lab, test, **body):
    return lab.c.api("POST", f"/tests/{test}/run", body)["data"]["session_id"]


def polled(lab, session):
    return lab.c.api("GET", f"/runs/{session}/status")["run"]


def over(lab, session):
    lab.waits_for(lambda: polled(lab, session) != RUNNING)
    return polled(lab, session)


def attempt(lab, key):
    return lab.c.api("GET", f"/runs/{key}")["run"]


def attempts(lab, session):
    """The sessions of a run's attempts, from this one on."""
    found = []
    while session:
        found.append(session)
        session = attempt(lab, session)["retried_by"]
    return found


@contextlib.contextmanager
def watched(lab, *paths):
    """Poll as fast as possible meanwhile; begins when each path has been answered once.

    @return for each path the list of responses, in order and without repetition"""
    end, seen = threading.Event(), [[] for _ in paths]
    begun = threading.Barrier(len(paths) + 1)

    def ask(path):
        answer = lab.c.api("GET", path)
        return answer.get("run", answer.get("tests"))

    def watch(path, answers):
        answers.append(ask(path))
        begun.wait()
        last = False
        while not last:
            last = end.is_set()
            answer = ask(path)
            if answers[-1] != answer:
                answers.append(answer)

    with concurrent.futures.ThreadPoolExecutor() as threads:
        watching = [threads.submit(watch, *one) for one in zip(paths, seen)]
        try:
            begun.wait(60)
            yield seen
        finally:
            end.set()
            for one in watching:
                one.result()


@pytest.mark.parametrize("ends, result", [
    (["failed", "error", "passed"], "passed"), (["error", "failed"], "failed")])
def test_polling_follows_the_attempts(lab, ends, result):
    """Whatever is polled, the run is running until the last attempt has ended."""
    project, (test,) = lab.project("any")
    before = lab.c.api("GET", f"/projects/{project}/status/last")["tests"][0]["run"]
    assert before is None
    session = start(lab, test, retries_on_failure=2)
    with watched(lab, f"/runs/{session}/status", f"/tests/{test}/status/last",
                 f"/projects/{project}/status/last") as seen, lab.worker(Ends(*ends)):
        last = over(lab, session)
        time.sleep(0.2)
    assert (last["attempt"], last["status"], last["is_finished"]) == (3, result, 1)
    sessions = attempts(lab, session)
    assert len(sessions) == 3 and last["session_id"] == sessions[2] != session
    for answers in seen[:2]:
        assert answers == [RUNNING, last]
    for tests in seen[2]:
        run = tests[0]["run"]
        assert (run["status"] == "running") == (run["is_finished"] == 0)
        if run["is_finished"]:
            assert {k: last[k] for k in run} == run
        else:
            assert (run["is_failed"], run["has_passed"], run["stopped_at"]) == (0, 0, None)
    # each attempt has its own status, and each one leads to the last one
    assert [attempt(lab, s)["status"] for s in sessions] == [
        {"error": "errored"}.get(e, e) for e in (ends + ends[-1:])[:3]]
    assert [polled(lab, s) for s in sessions] == [last] * 3
    # deleting one keeps the chain of the others
    assert lab.c.request("DELETE", f"/runs/{sessions[1]}").status_code == 204
    assert attempts(lab, session) == [session, sessions[2]]
    assert polled(lab, session) == {**last, "retry_of": session}


def test_project_runs_follow_the_attempts(lab):
    project, tests = lab.project("any", "any", retries_on_failure=1)
    run = lab.c.api("POST", f"/projects/{project}/run")["project_run_uuid"]
    with watched(lab, f"/projects/runs/{run}/status") as (seen,), \
            lab.worker(Ends("failed", "passed")):
        found = lab.ended(run)
    assert found["run_status"] == "passed" and found["tests_failed"] == 0
    assert [(r["test_id"], r["attempt"], r["status"]) for r in found["runs"]] == [
        (tests[0], 1, "failed"), (tests[0], 2, "passed"), (tests[1], 1, "passed")]
    assert {r["run_status"] for r in seen[:-1]} == {"running"} and seen[-1] == found
    assert not any(r["tests_failed"] for r in seen)


@pytest.mark.parametrize("given, expected", [
    ({"retries_on_failure": 0}, 1), ({"retries_on_failure": "1"}, 2),
    ({"retries_on_failure": 3}, 4), ({"retries_on_failure": None}, 3), ({}, 3)])
def test_retries_are_overridden_at_the_start(lab, given, expected):
    _, (test,) = lab.project("any", retries_on_failure=2)
    with lab.worker(Ends("failed")):
        session = start(lab, test, **given)
        assert over(lab, session)["attempt"] == expected
    assert len(attempts(lab, session)) == expected


def test_retries_of_forms_and_of_the_deprecated_route(lab):
    _, (test,) = lab.project("any")
    with lab.worker(Ends("failed")):
        for path, body in ((f"/tests/{test}/run", {}), ("/tests/run", {"test.id": test})):
            answer = lab.c.request("POST", path, data={**body, "retries_on_failure": "1"})
            assert answer.status_code == 200
            assert over(lab, answer.json()["data"]["session_id"])["attempt"] == 2


@pytest.mark.parametrize("value", [-1, 11, "11", "x", 1.5, True, [1], {}])
def test_wrong_retries(lab, value):
    _, (test,) = lab.project("any")
    answer = problem(lab.c.request("POST", f"/tests/{test}/run", {"retries_on_failure": value}), 422)
    assert [(e["pointer"], e["detail"]) for e in answer["errors"]] == [
        ("/retries_on_failure", "must be a whole number from 0 to 10")]


def test_stop_ends_the_chain(lab):
    """By the session of the first attempt, the only one that a client knows."""
    _, (test,) = lab.project("any")
    with lab.worker(Ends("failed", "hold")) as worker:
        session = start(lab, test, retries_on_failure=5)
        lab.waits_for(lambda: len(worker.specs) == 2)
        lab.c.api("POST", f"/runs/{session}/stop")
        last = over(lab, session)
        assert (last["status"], last["attempt"]) == ("stopped", 2)
        problem(lab.c.request("POST", f"/runs/{session}/stop"), 409)
        time.sleep(1.5)  # one pass of the run engine
    assert len(attempts(lab, session)) == 2
    assert [attempt(lab, s)["status"] for s in attempts(lab, session)] == ["failed", "stopped"]


def test_callback_agrees_with_what_is_polled(lab):
    _, (test,) = lab.project("any")
    with Receiver() as r, lab.worker(Ends("failed")):
        session = start(lab, test, retries_on_failure=2, callback_url=r.url)
        lab.waits_for(lambda: r.got)
        told = json.loads(r.got[0]["body"])
        last = polled(lab, session)
        assert {k: told[k] for k in last} == last and last["attempt"] == 3


def test_reports_name_the_last_attempt(lab):
    _, (test,) = lab.project("any")

    def report(path, key):
        return lab.c.session.get(f"{path}/data", auth=key).json()["run"]

    with lab.worker(Ends("failed", "hold")) as worker:
        data = lab.c.api("POST", f"/tests/{test}/run", {
            "retries_on_failure": 1, "report.mode": "kiosk"})["data"]
        session = data["session_id"]
        lab.waits_for(lambda: len(worker.specs) == 2)
        second = attempt(lab, attempts(lab, session)[1])
        links = {"admin": f"/run/details/{second['session_id']}",
                 "public": second["report_url"].removeprefix(lab.c.url)}
        pages = {"admin": (f"{lab.c.url}/run/details/{session}", lab.c.keys["admin"]),
                 "public": (data["report_url"], None)}
        for who, page in pages.items():
            shown = report(*page)
            assert (shown["status"], shown["attempt"]) == ("failed", 1)
            assert shown["last_attempt"] == {"status": "running", "attempt": 2, "link": links[who]}
            assert report(lab.c.url + links[who], page[1])["last_attempt"] is None
        lab.c.api("POST", f"/runs/{session}/stop")
        over(lab, session)
    assert report(*pages["public"])["last_attempt"]["status"] == "stopped"
    # a link that was revoked is not shown
    assert lab.c.request("DELETE", f"/runs/{second['session_id']}/kiosk").status_code == 204
    assert report(*pages["public"])["last_attempt"]["link"] is None


@pytest.mark.parametrize("ends, status, result", [
    (["failed", "passed"], 0, "passed"), (["error", "failed"], 1, "failed")])
def test_the_command_waits_for_the_last_attempt(build, lab, tmp_path, ends, status, result):
    with lab.worker(Ends(*ends)):
        lab.waits_for(lambda: any(a["state"] == "online"
                                  for a in lab.c.api("GET", "/agents")["agents"]))
        done = subprocess.run(
            [build / "offhook", "scenario", "run", "registration", f"agentpool_id={lab.pool}",
             f"target_pool={lab.target}", "username=any", "password=x", "retries_on_failure=1",
             'conditions=[{"role": "caller", "condition_type": "caller-sipclient-state-conditions",'
             ' "conditions": []}]', "--wait"],
            text=True, capture_output=True, timeout=90, cwd=tmp_path, check=False,
            env={**os.environ, "OFFHOOK_URL": lab.c.witness().url,
                 "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})
    assert done.returncode == status, done.stdout + done.stderr
    assert f"\n{result.upper()}: registration, attempt 2" in done.stdout
    assert re.search(r"^offhook: attempt 1 (failed|errored): .+", done.stderr, re.M), done.stderr


# ---- between two attempts ----

def database(c, statement):
    with contextlib.closing(sqlite3.connect(c.state_dir / "offhook.db")) as db:
        db.execute(statement)
        db.commit()


@pytest.fixture
def held():
    """A controller that cannot start a retry until released()."""
    if ON_POSTGRESQL:
        pytest.skip("the trigger is SQLite's")
    with Controller(**TIMES, callback_allow="127.0.0.1", callback_retry_s=1) as c:
        lab = Lab(c)
        c.stop()
        database(c, HOLD)
        c.start()
        yield lab


def due(lab, **body):
    """The session and the test of a run whose first attempt failed."""
    project, (test,) = lab.project("any")
    with lab.worker(Ends("failed")):
        session = start(lab, test, retries_on_failure=1, **body)
        lab.waits_for(lambda: attempt(lab, session)["phase"] == "done")
    assert attempt(lab, session)["status"] == "failed"  # the status of this attempt only
    return session, test, project


def assert_goes_on(lab, session, test, project):
    assert polled(lab, session) == RUNNING
    assert lab.c.api("GET", f"/tests/{test}/status/last")["run"] == RUNNING
    run = lab.c.api("GET", f"/projects/{project}/status/last")["tests"][0]["run"]
    assert (run["status"], run["is_failed"], run["is_finished"]) == ("running", 0, 0)


def test_nobody_sees_the_failure_between_attempts(held):
    """Not even after a power failure; then it continues where it was."""
    with Receiver() as r:
        session, *where = due(held, callback_url=r.url)
        assert_goes_on(held, session, *where)
        page = held.c.session.get(f"{held.c.url}/run/details/{session}/data",
                                  auth=held.c.keys["admin"]).json()["run"]
        assert page["last_attempt"] == {"status": "running", "attempt": 2, "link": None}
        # a run that will be retried has not ended
        problem(held.c.request("DELETE", f"/runs/{session}"), 409)
        held.c.kill()
        passes = held.c.log().count("held by a test")
        held.c.start()
        assert_goes_on(held, session, *where)
        # one pass of the run engine, without effect
        held.waits_for(lambda: held.c.log().count("held by a test") > passes)
        assert_goes_on(held, session, *where)
        held.c.kill()
        database(held.c, "DROP TRIGGER hold")
        held.c.start()
        with watched(held, f"/runs/{session}/status", f"/tests/{where[0]}/status/last") as seen, \
                held.worker(Ends("passed")):
            last = over(held, session)
        assert (last["status"], last["attempt"], last["retry_of"]) == ("passed", 2, session)
        assert seen == [[RUNNING, last]] * 2
        assert r.got == []


def test_an_attempt_that_is_due_is_called_off(held):
    """Stop between two attempts: the failure is final, and is reported."""
    with Receiver() as r:
        session, test, _ = due(held, callback_url=r.url)
        assert r.got == []
        held.c.api("POST", f"/runs/{session}/stop")
        last = polled(held, session)
        assert (last["status"], last["attempt"]) == ("failed", 1)
        assert held.c.api("GET", f"/tests/{test}/status/last")["run"] == last
        problem(held.c.request("POST", f"/runs/{session}/stop"), 409)
        held.waits_for(lambda: r.got)
        assert json.loads(r.got[0]["body"])["session_id"] == session
        assert held.c.request("DELETE", f"/runs/{session}").status_code == 204


def test_a_stopped_project_run_calls_off_what_is_due(held):
    project, _ = held.project("any", retries_on_failure=1)
    with held.worker(Ends("failed")):
        run = held.c.api("POST", f"/projects/{project}/run")["project_run_uuid"]
        held.waits_for(lambda: [r["is_finished"] for r in held.status(run)["runs"]] == [1])
    assert held.status(run)["run_status"] == "running"
    session = held.status(run)["runs"][0]["session_id"]
    assert polled(held, session) == RUNNING
    held.c.api("POST", f"/projects/runs/{run}/stop")
    assert polled(held, session)["status"] == "failed"
    assert held.ended(run)["run_status"] == "stopped"
