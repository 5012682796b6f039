"""Every change leaves one entry: who, what, when, from where, and no secret."""
import json
import time

import pytest
import requests

from contract import contract
from contract_lab import Lab
from controller import Controller
from test_api_basics import problem
from test_contract import OPERATIONS, PROVOKED, address, caller, encoded, examples
from test_login import PASSWORD, set_password

# They store nothing: what they answer is created by other requests.
READS = {"postProjectsByIdImport"}
WRITES = [o for o in contract().operations
          if o.method != "GET" and o.spec["x-right"] != "agent" and o.id not in READS]


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        yield lab


def entries(c, answer):
    """The entries of a request."""
    return c.api("GET", f"/audit?request={answer.headers['X-Request-Id']}")["audit"]


def sent(lab, o):
    """Send the first example as test_contract.py does. @return the answer"""
    if (o.id, 201) in PROVOKED and o.path == "/agent/register":
        _, _, example = next(examples(o))
        return lab.c.request(o.method, o.path, {**example, "token": lab.token}, key=None)
    body = encoded(*next(examples(o)))
    with lab.place(o, body) as (given, body):
        return lab.c.request(o.method, address(o, **given), key=caller(lab, o), **body)


@pytest.mark.parametrize("operation", sorted(READS))
def test_what_stores_nothing_leaves_no_entry(lab, operation):
    answer = sent(lab, OPERATIONS[operation])
    assert answer.ok, answer.text
    assert entries(lab.c, answer) == []


@pytest.mark.parametrize("operation", [o.id for o in WRITES])
def test_every_write_route_leaves_one_entry(lab, operation):
    """From openapi.yaml: a new route cannot be forgotten."""
    o = OPERATIONS[operation]
    answer = sent(lab, o)
    assert answer.ok, answer.text
    found, = entries(lab.c, answer)
    assert (found["method"], found["outcome"], found["address"]) == (
        o.method, "changed", "127.0.0.1")
    assert found["path"] == answer.request.path_url.removeprefix("/api/v2").split("?")[0]
    right = o.spec["x-right"]
    assert found["actor_kind"] == ("nobody" if right == "none" else "key")
    if right != "none":
        public = lab.c.keys[right][0]
        key, = [k for k in lab.c.api("GET", "/api-keys?count=1000")["api_keys"]
                if k["public_key"] == public]
        assert (found["actor"], found["actor_id"]) == (key["name"], key["id"])


def test_a_refused_change_leaves_none(lab):
    answers = [lab.c.request("POST", "/projects", {"name": ""}),
               lab.c.request("POST", "/projects", {"name": "standing"}),
               lab.c.request("PUT", "/projects/999999", {"name": "x"}),
               lab.c.request("DELETE", "/projects/1"),
               lab.c.request("DELETE", "/projects/1", key="read"),
               lab.c.request("POST", "/projects", {"name": "x"}, key=None)]
    assert [a.status_code for a in answers] == [422, 409, 404, 409, 403, 401]
    assert [entries(lab.c, a) for a in answers] == [[]] * 6


def test_the_record_has_the_name_of_that_time(lab):
    made = lab.c.request("POST", "/projects", {"name": "first"})
    number = made.json()["project"]["id"]
    changed = lab.c.request("PUT", f"/projects/{number}", {"name": "second"})
    gone = lab.c.request("DELETE", f"/projects/{number}")
    run = lab.c.request("POST", "/tests/1/run")
    shown = [[(e["kind"], e["record_id"], e["record"]) for e in entries(lab.c, a)]
             for a in (made, changed, gone, run)]
    session = run.json()["data"]["session_id"]
    run_id = lab.c.api("GET", f"/runs/{session}")["run"]["id"]
    assert shown == [[("project", number, "first")], [("project", number, "second")],
                     [("project", number, "second")], [("run", run_id, "Single call")]]
    lab.c.api("POST", f"/runs/{session}/stop")


def test_filters_and_pages(lab):
    page = lab.c.api("GET", "/audit?count=1000")
    ids = [e["id"] for e in page["audit"]]
    assert ids == sorted(ids, reverse=True)
    tests = lab.c.api("GET", "/audit?kind=test&count=1000")
    assert tests["audit"] == [e for e in page["audit"] if e["kind"] == "test"] != []
    two = lab.c.api("GET", "/audit?kind=test&start=1&count=2")
    assert two["audit"] == tests["audit"][1:3] and two["total"] == tests["total"]
    at = page["audit"][3]["at"].replace(" ", "%20")
    assert all(e["at"] >= page["audit"][3]["at"]
               for e in lab.c.api("GET", f"/audit?since={at}&count=1000")["audit"])
    assert all(e["at"] < page["audit"][3]["at"]
               for e in lab.c.api("GET", f"/audit?until={at}&count=1000")["audit"])
    assert lab.c.api("GET", "/audit?actor=nobody%20has%20this%20name")["total"] == 0
    problem(lab.c.request("GET", "/audit?outcome=passed"), 422)
    problem(lab.c.request("GET", "/audit?since=yesterday"), 422)


def test_no_secret_is_stored():
    """Passwords in every place that takes one, also in that of the name; failed logins."""
    c = Controller()
    assert set_password(c, "ada", PASSWORD, "--rights", "admin").returncode == 0
    secrets = ["secret-of-sip", "secret new password", "secret as a name"]
    with c:
        c.api("POST", "/credential-pools", {"name": "p", "credentials": [
            {"username": "1", "password": secrets[0]}]})
        c.api("POST", "/users", {"name": "bob", "rights": "read", "password": secrets[1]})
        wrong = [requests.post(f"{c.url}/login", json={"name": n, "password": p}, timeout=60)
                 for n, p in (("ada", "wrong password"), (secrets[2], PASSWORD))]
        assert [a.status_code for a in wrong] == [403, 403]
        shown = [entries(c, a)[0] for a in wrong]
        assert [(e["outcome"], e["actor_kind"], e["path"], e["record"]) for e in shown] == [
            ("refused", "nobody", "/login", "ada"), ("refused", "nobody", "/login", None)]
        until = time.monotonic() + 60
        while (right := requests.post(f"{c.url}/login", timeout=60, json={
                "name": "ada", "password": PASSWORD})).status_code == 429:
            assert time.monotonic() < until
            time.sleep(0.2)
        found, = entries(c, right)
        assert (found["outcome"], found["actor_kind"], found["actor"]) == ("changed", "user", "ada")
        browser = requests.Session()
        browser.cookies.update(right.cookies)
        csrf = browser.get(f"{c.url}/session", timeout=60).json()["csrf"]
        over = browser.post(f"{c.url}/logout", headers={"X-CSRF-Token": csrf}, json={}, timeout=60)
        assert over.status_code == 200
        assert [e["actor"] for e in entries(c, over)] == ["ada"]
        everything = json.dumps(c.api("GET", "/audit?count=1000"))
        assert "bob" in everything
        assert [s for s in [*secrets, PASSWORD, "wrong password"] if s in everything] == []


def test_what_the_command_line_does_is_noted():
    c = Controller()
    c.create_key("admin", "admin")
    assert set_password(c, "ada", PASSWORD, "--rights", "read").returncode == 0
    with c:
        found = c.api("GET", "/audit?actor=command%20line")["audit"]
        key, = c.api("GET", "/api-keys")["api_keys"]
    assert [(e["path"], e["kind"], e["record"]) for e in found] == [
        ("--set-password", "web_user", "ada"), ("--create-key", "api_key", key["name"])]
    assert {(e["actor_kind"], e["actor_id"], e["address"], e["request_id"], e["outcome"])
            for e in found} == {("command", None, "", "", "changed")}
    assert c.keys["admin"][1] not in json.dumps(found) and PASSWORD not in json.dumps(found)


@pytest.mark.parametrize("what", ["test", "project"])
def test_starts_by_schedules_are_noted(lab, what):
    """The times at which nothing starts are in the history of the schedule alone."""
    number = lab.c.api("GET", "/tests/1")["test"]["id" if what == "test" else "project_id"]
    made = lab.c.api("POST", "/schedules", {
        "name": f"soon {what}", f"{what}_id": number,
        "run_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 5))})["schedule"]
    path = f"/audit?actor=soon%20{what}"
    until = time.monotonic() + 60
    while not (found := lab.c.api("GET", path)["audit"]):
        assert time.monotonic() < until
        time.sleep(0.1)
    entry, = found
    event, = lab.c.api("GET", f"/schedules/{made['id']}")["schedule"]["history"]
    assert (entry["actor_kind"], entry["actor_id"], entry["method"], entry["path"]) == (
        "schedule", made["id"], "POST", f"/{what}s/{number}/run")
    if what == "test":
        assert (entry["kind"], entry["record"]) == ("run", "Single call")
        lab.c.api("POST", f"/runs/{event['session_id']}/stop")
    else:
        lab.c.api("POST", f"/projects/runs/{event['project_run_uuid']}/stop")


def test_the_oldest_entries_go():
    c = Controller()
    c.create_key()
    db = c.open_database()
    db.execute("DELETE FROM audit")
    db.execute("INSERT INTO audit (id, at, actor_kind, address, request_id, method, path, outcome)"
               " VALUES (1, 0, 'nobody', '', '', 'POST', '/', 'changed')")
    db.execute("INSERT INTO audit (id, at, actor_kind, address, request_id, method, path, outcome)"
               " VALUES (100001, 0, 'nobody', '', '', 'POST', '/', 'changed')")
    db.commit()
    db.close()
    with c:
        assert c.api("GET", "/audit")["total"] == 2
        c.api("POST", "/projects", {"name": "one more"})
        assert [e["id"] for e in c.api("GET", "/audit")["audit"]] == [100002, 100001]
