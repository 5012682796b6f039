"""Runs of whole projects, and retries of failed runs."""
import re
import time
import uuid

import pytest

from controller import Controller
from test_api_basics import problem
from worker import Worker

# Agents of the tests renew no lease: it lasts longer than a test on a busy machine.
TIMES = {"poll_s": 1, "renew_s": 1, "lease_s": 60, "offer_s": 2,
         "claim_timeout_s": 30}
POLLED = {"run_status", "project_id", "total_tests", "tests_started",
          "tests_passed", "tests_failed", "created_at", "stopped_at", "runs"}


class Lab:
    """Each test registers one user; the user's name determines how the test ends."""

    def __init__(self, c):
        self.c = c
        pool = c.api("POST", "/agent-pools", {"name": "pool"})
        self.token = pool["agent_pool"]["join_token"]
        self.pool = pool["agent_pool"]["id"]
        self.target = self.make("targets", name="t", hosts=[
            {"host": "127.0.0.1"}])
        self.credentials = {}
        self.count = 0

    def make(self, kind, **body):
        answer = self.c.api("POST", f"/{kind}", body)
        return answer[kind.replace("-", "_")[:-1]]["id"]

    def project(self, *users, **more):
        """@return the project's id and the ids of its tests"""
        self.count += 1
        project = self.make("projects", name=f"project <{self.count}>")
        return project, [self.test(project, f"{self.count}-{i}", user, **more)
                         for i, user in enumerate(users)]

    def test(self, project, name, user, **more):
        if user not in self.credentials:
            self.credentials[user] = self.make(
                "credential-pools", name=user,
                credentials=[{"username": user, "password": "x"}])
        return self.make(
            "tests", name=f"test {name}", project_id=project,
            agentpool_id=self.pool, tags=[user, "all"], steps=[[
                {"type": "register", "role": "caller",
                 "target_pool": self.target,
                 "credential_pool": self.credentials[user]}]], **more)

    def errored(self):
        return sum(day["errored"] for day in self.c.api("GET", "/overview")["overview"]["trend"])

    def worker(self, verdict=None):
        return Worker(self.c, self.token,
                      verdict or (lambda spec: user_of(spec)),
                      f"agent-{uuid.uuid4()}")

    def status(self, run):
        return self.c.api("GET", f"/projects/runs/{run}/status")["run"]

    def ended(self, run, timeout=120):
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            found = self.status(run)
            assert set(found) == POLLED
            if found["run_status"] != "running":
                return found
            assert found["stopped_at"] is None
            time.sleep(0.05)
        raise AssertionError(f"still running: {found}")

    def waits_for(self, condition, timeout=120):
        until = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < until
            time.sleep(0.05)


def user_of(spec):
    return spec["steps"][0][0]["credentials"][0]["username"]


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES) as c:
        yield Lab(c)


def start(lab, project, **body):
    answer = lab.c.api("POST", f"/projects/{project}/run", body or None)
    run = answer["project_run_uuid"]
    assert answer == {
        "project_run_uuid": run, "status": 200, "status_url":
        f"{lab.c.url}/api/v2/projects/runs/{run}/status"}
    return run


def test_tests_run_one_after_another(lab):
    project, tests = lab.project("passed", "failed", "passed")
    active = []

    def verdict(spec):
        runs = lab.c.api("GET", "/runs?filtername=is_finished&filterval=0")
        active.append([r["test_id"] for r in runs["runs"]])
        return user_of(spec)

    run = start(lab, project)
    assert lab.status(run)["run_status"] == "running"
    assert lab.status(run)["total_tests"] == 3
    with lab.worker(verdict):
        found = lab.ended(run)
    assert active == [[t] for t in tests]
    assert {k: found[k] for k in POLLED - {"runs", "created_at",
                                           "stopped_at"}} == {
        "run_status": "failed", "project_id": project, "total_tests": 3,
        "tests_started": 3, "tests_passed": 2, "tests_failed": 1}
    for name in ("created_at", "stopped_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", found[name])
    assert [(r["test_id"], r["status"]) for r in found["runs"]] == list(
        zip(tests, ["passed", "failed", "passed"]))
    path = f"/projects/runs/{run}/status"
    parts = [lab.c.request("GET", f"{path}?start={i}&count=2") for i in (0, 2)]
    assert [p.json()["run"] for p in parts] == [
        {**found, "runs": found["runs"][:2]}, {**found, "runs": found["runs"][2:]}]
    assert parts[0].links["next"]["url"].endswith(f"{path}?start=2&count=2")
    assert "next" not in parts[1].links
    problem(lab.c.request("GET", f"{path}?count=-1"), 422)
    listed = lab.c.api("GET", "/runs?count=3&orderby=id&orderdir=desc")["runs"]
    for entry, run_row in zip(found["runs"], listed[::-1]):
        assert entry == {**run_row, "attempt": 1, "retry_of": None}


def test_all_passed(lab):
    project, _ = lab.project("passed")
    run = start(lab, project)
    with lab.worker():
        assert lab.ended(run)["run_status"] == "passed"


def test_filters(lab):
    project, tests = lab.project("passed", "failed", "error")

    def chosen(**body):
        answer = lab.c.api("POST", f"/projects/{project}/run", body)
        run = answer["project_run_uuid"]
        total = lab.status(run)["total_tests"]
        lab.c.api("POST", f"/projects/runs/{run}/stop")
        lab.ended(run)
        return total

    with lab.worker(lambda spec: "hold"):
        assert chosen() == 3
        assert chosen(test_ids=tests[:2]) == 2
        assert chosen(tags=["passed", "error"]) == 2
        assert chosen(tags='["all"]') == 3
        assert chosen(tags=["all"], test_ids=[tests[2]]) == 1
        form = lab.c.request("POST", f"/projects/{project}/run", data={
            "test_ids": f"[{tests[0]}]", "tags": '["all"]'})
        assert form.status_code == 200
        run = form.json()["project_run_uuid"]
        assert lab.status(run)["total_tests"] == 1
        lab.c.api("POST", f"/projects/runs/{run}/stop")
        lab.ended(run)


@pytest.mark.parametrize("body, pointer", [
    ({"test_ids": [999999]}, "/test_ids/0"), ({"test_ids": ["1"]}, "/test_ids/0"),
    ({"test_ids": []}, ""), ({"tags": ["none"]}, "/tags"),
    ({"tags": []}, "/tags"), ({"tags": [1]}, "/tags"),
    ({"tag": ["all"]}, "/tag"), ({"report.mode": "x"}, "/report.mode"),
    ({"test_ids": 3}, "/test_ids"), ({"id": 1}, "/id"), ([], None)])
def test_wrong_start(lab, body, pointer):
    project, _ = lab.project("passed")
    before = lab.c.api("GET", "/runs")["total"]
    answer = problem(lab.c.request("POST", f"/projects/{project}/run", body),
                     422)
    if pointer is not None:
        assert [e["pointer"] for e in answer["errors"]] == [pointer]
    assert lab.c.api("GET", "/runs")["total"] == before


def test_nothing_to_run_or_poll(lab):
    empty = lab.make("projects", name="empty")
    problem(lab.c.request("POST", f"/projects/{empty}/run"), 422)
    problem(lab.c.request("POST", "/projects/99999/run"), 404)
    problem(lab.c.request("POST", "/projects/x/run"), 404)
    for key in (uuid.UUID(int=1), "x", "1"):
        problem(lab.c.request("GET", f"/projects/runs/{key}/status"), 404)
        problem(lab.c.request("POST", f"/projects/runs/{key}/stop"), 404)


def test_deprecated_route(lab):
    project, tests = lab.project("passed", "passed")
    name = lab.c.api("GET", f"/projects/{project}")["project"]["name"]
    with lab.worker():
        for body in ({"id": project}, {"project.name": name,
                                       "test_ids": [tests[0]],
                                       "report.mode": "kiosk"}):
            answer = lab.c.request("POST", "/projects/run", body)
            assert answer.status_code == 200
            assert answer.headers["Deprecation"]
            assert f"/projects/{project}/run>" in answer.headers["Link"]
            data = answer.json()["data"]
            run = data["project_run_uuid"]
            assert set(data) == {"project_run_id", "project_run_uuid",
                                 "status_url", "report_url"}
            assert isinstance(data["project_run_id"], str)
            assert data["status_url"] == (
                f"{lab.c.url}/api/v2/projects/runs/{run}/status")
            found = lab.ended(run)
            assert found["run_status"] == "passed"
            public = "kiosk" in data["report_url"]
            assert public == ("report.mode" in body)
            auth = None if public else lab.c.keys["admin"]
            page = lab.c.session.get(data["report_url"], auth=auth)
            assert page.status_code == 200 and "project_run.js" in page.text
            shown = lab.c.session.get(data["report_url"] + "/data", auth=auth).json()
            assert (shown["project_name"], shown["run_status"]) == (name, "passed")
            links = [r["link"] for r in shown["runs"]]
            assert len(links) == len(found["runs"])
            for entry, link in zip(found["runs"], links):
                assert entry["session_id"] in link and public == link.startswith("/kiosk/")
            assert all(("session_id" in r) != public and "kiosk_id" not in r
                       for r in shown["runs"])
    for path in ("", "/data"):
        assert lab.c.session.get(data["report_url"][:-1] + "x" + path,
                                 auth=None).status_code == 404
    both = lab.c.api("POST", "/projects/run", {"id": project, "project.name": name})
    lab.c.api("POST", f"/projects/runs/{both['data']['project_run_uuid']}/stop")
    for body in ({}, {"id": project, "project.name": name + "x"}, {"id": 0},
                 {"id": "x"}, {"project.name": ""}):
        problem(lab.c.request("POST", "/projects/run", body), 422)
    for body in ({"id": 99999}, {"project.name": "-"}):
        said = problem(lab.c.request("POST", "/projects/run", body), 422)
        assert [e["pointer"] for e in said["errors"]] == [f"/{key}" for key in body]


def test_stop(lab):
    project, _ = lab.project("passed", "hold", "passed", retries_on_failure=2)
    run = start(lab, project)
    with lab.worker():
        lab.waits_for(lambda: lab.status(run)["tests_started"] == 2)
        lab.c.api("POST", f"/projects/runs/{run}/stop")
        problem(lab.c.request("POST", f"/projects/runs/{run}/stop"), 409)
        found = lab.ended(run)
    assert found["run_status"] == "stopped"
    assert (found["tests_started"], found["tests_passed"],
            found["tests_failed"]) == (2, 1, 0)
    assert [r["status"] for r in found["runs"]] == ["passed", "stopped"]


def test_a_test_that_cannot_start_is_an_errored_run(lab):
    errored_before = lab.errored()
    project, tests = lab.project("hold", "passed", "passed")
    run = start(lab, project)
    held = []

    def verdict(spec):
        held.append(spec)
        return "hold" if len(held) == 1 else "passed"

    with lab.worker(verdict):
        lab.waits_for(lambda: held)
        assert lab.c.request("DELETE", f"/tests/{tests[1]}").status_code == 204
        session = lab.status(run)["runs"][0]["session_id"]
        lab.c.api("POST", f"/runs/{session}/stop")
        found = lab.ended(run)
    assert found["run_status"] == "failed"
    assert [r["status"] for r in found["runs"]] == \
        ["stopped", "errored", "passed"]
    assert "deleted" in found["runs"][1]["result_description"]
    assert lab.errored() == errored_before + 1
    assert (found["tests_started"], found["tests_failed"]) == (3, 1)


def test_restart_goes_on(lab):
    """The controller is killed in the middle of a project run, while a second one is
    active."""
    project, _ = lab.project("passed", "passed")
    runs = [start(lab, project), start(lab, project)]
    lab.c.kill()
    lab.c.start()
    with lab.worker():
        for run in runs:
            found = lab.ended(run)
            assert found["run_status"] == "passed"
            assert len(found["runs"]) == 2


def attempts(lab, test):
    runs = lab.c.api("GET", "/runs?orderby=id&orderdir=asc&filtername=test_id"
                     f"&filterval={test}")["runs"]
    return [lab.c.api("GET", f"/runs/{r['id']}")["run"] for r in runs]


@pytest.mark.parametrize("outcome, ends, expected", [
    ("failed", 9, ["failed"] * 3), ("error", 9, ["errored"] * 3),
    ("failed", 1, ["failed", "passed"]), ("passed", 9, ["passed"])])
def test_a_failed_run_starts_again(lab, outcome, ends, expected):
    _, (test,) = lab.project("again", retries_on_failure=2)
    seen = []

    def verdict(spec):
        seen.append(spec)
        return outcome if len(seen) <= ends else "passed"

    with lab.worker(verdict):
        answer = lab.c.api("POST", f"/tests/{test}/run", {
            "step.0.0.regexpire": 77, "report.mode": "kiosk"})
        lab.waits_for(lambda: len(attempts(lab, test)) == len(expected) and
                      attempts(lab, test)[-1]["is_finished"])
    runs = attempts(lab, test)
    assert [r["status"] for r in runs] == expected
    assert [r["attempt"] for r in runs] == list(range(1, len(runs) + 1))
    assert [r["retry_of"] for r in runs] == \
        [None] + [r["session_id"] for r in runs[:-1]]
    assert [r["retried_by"] for r in runs] == \
        [r["session_id"] for r in runs[1:]] + [None]
    assert runs[0]["session_id"] == answer["data"]["session_id"]
    # with the parameters of the first start
    assert [s["attempt"] for s in seen] == [r["attempt"] for r in runs]
    for spec in seen:
        assert spec["steps"][0][0]["regexpire"] == 77
        assert spec["steps"][0][0]["credentials"][0]["password"] == "x"
    links = {r["report_url"] for r in runs}
    assert len(links) == len(runs) and all("/kiosk/" in u for u in links)


def test_a_public_link_is_revoked(lab):
    _, (test,) = lab.project("passed")
    data = lab.c.api("POST", f"/tests/{test}/run",
                     {"report.mode": "kiosk"})["data"]
    session, link = data["session_id"], data["report_url"] + "/data"
    assert lab.c.session.get(link, auth=None).status_code == 200
    path = f"/runs/{session}/kiosk"
    assert lab.c.request("DELETE", path).status_code == 204
    assert lab.c.session.get(link, auth=None).status_code == 404
    problem(lab.c.request("DELETE", path), 404)
    assert "kiosk" not in lab.c.api("GET", f"/runs/{session}"
                                    )["run"]["report_url"]
    lab.c.api("POST", f"/runs/{session}/stop")


def test_the_public_link_of_a_project_run_is_revoked(lab):
    project, _ = lab.project("passed", "passed")
    data = lab.c.api("POST", "/projects/run", {"id": project, "report.mode": "kiosk"})["data"]
    run_uuid, link = data["project_run_uuid"], data["report_url"]
    path = f"/projects/runs/{run_uuid}"
    until = time.monotonic() + 30
    runs = []
    while not runs and time.monotonic() < until:
        runs = lab.c.api("GET", f"{path}/status")["run"]["runs"]
    first = lab.c.api("GET", f"/runs/{runs[0]['session_id']}")["run"]["report_url"]
    public = lab.c.session
    assert public.get(link, auth=None).status_code == 200
    assert public.get(first + "/data", auth=None).status_code == 200
    assert lab.c.request("DELETE", f"{path}/kiosk").status_code == 204
    assert public.get(link, auth=None).status_code == 404
    assert public.get(link + "/data", auth=None).status_code == 404
    assert public.get(first + "/data", auth=None).status_code == 404
    problem(lab.c.request("DELETE", f"{path}/kiosk"), 404)
    # a run that starts later has no link either
    with lab.worker():
        found = lab.ended(run_uuid)
    assert len(found["runs"]) == 2
    for run in found["runs"]:
        url = lab.c.api("GET", f"/runs/{run['session_id']}")["run"]["report_url"]
        assert "kiosk" not in url


def test_attempts_of_a_project_run(lab):
    project, tests = lab.project("failed", "passed", retries_on_failure=1)
    run = start(lab, project)
    with lab.worker():
        found = lab.ended(run)
    assert [(r["test_id"], r["status"], r["attempt"]) for r in found["runs"]
            ] == [(tests[0], "failed", 1), (tests[0], "failed", 2),
                  (tests[1], "passed", 1)]
    assert (found["total_tests"], found["tests_started"],
            found["tests_passed"], found["tests_failed"]) == (2, 2, 1, 1)


def test_a_stopped_run_does_not_start_again(lab):
    _, (test,) = lab.project("hold", retries_on_failure=3)
    with lab.worker() as worker:
        session = lab.c.api("POST", f"/tests/{test}/run")["data"]["session_id"]
        lab.waits_for(lambda: worker.specs)
        lab.c.api("POST", f"/runs/{session}/stop")
        lab.waits_for(lambda: attempts(lab, test)[0]["is_finished"])
        time.sleep(1.5)  # one pass of the run engine
    assert [r["status"] for r in attempts(lab, test)] == ["stopped"]


def test_an_attempt_that_cannot_be_planned(lab):
    """The pool was deleted: the failure is final, and the project run ends."""
    project, (test,) = lab.project("lost", retries_on_failure=1)
    run = start(lab, project)

    def verdict(spec):
        assert lab.c.request("DELETE", f"/tests/{test}").ok
        assert lab.c.request(
            "DELETE", f"/credential-pools/{lab.credentials['lost']}").ok
        return "failed"

    with lab.worker(verdict):
        found = lab.ended(run)
    assert found["run_status"] == "failed"
    assert [r["status"] for r in found["runs"]] == ["failed"]
    assert "has no further attempt" in lab.c.log()
