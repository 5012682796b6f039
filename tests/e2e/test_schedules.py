"""Runs that start at scheduled times."""
import datetime
import math
import random
import time
import zoneinfo

import pytest

from controller import Controller
from test_api_basics import problem
from test_api_project_runs import Lab, TIMES

UTC = datetime.timezone.utc
FORMAT = "%Y-%m-%d %H:%M:%S"


def text(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, UTC).strftime(FORMAT)


def from_now(seconds):
    """At least this many seconds from now, as times are whole seconds."""
    return text(math.ceil(time.time() + seconds) * 1000)


@pytest.fixture(scope="module")
def lab():
    """Without an agent: runs are queued until a test starts one."""
    with Controller(**{**TIMES, "claim_timeout_s": 600}) as c:
        lab = Lab(c)
        lab.standing, (lab.passes, lab.held, lab.fails) = lab.project("passed", "hold", "failed")
        yield lab


def make(lab, **more):
    lab.count += 1
    what = {} if "project_id" in more else {"test_id": lab.passes}
    far = (datetime.datetime.now(UTC).hour + 12) % 24   # will not come during the test
    when = {} if "run_at" in more else {"cron": f"0 {far} * * *"}
    body = {"name": f"schedule {lab.count}", **what, **when, **more}
    return lab.c.api("POST", "/schedules", body)["schedule"]


def shown(lab, schedule):
    return lab.c.api("GET", f"/schedules/{schedule['id']}")["schedule"]


def outcomes(lab, schedule):
    return [e["outcome"] for e in shown(lab, schedule)["history"]]


def due(lab, *ages):
    """Restart with times that were due so many seconds ago, one per schedule."""
    assert lab.c.stop() == 0
    with lab.c.open_database() as db:
        for schedule, age in ages:
            db.execute("UPDATE schedule SET next_at = ? WHERE id = ?",
                       (int((time.time() - age) * 1000), schedule["id"]))
    db.close()
    lab.c.start()


def run_of(lab, event):
    return lab.c.api("GET", f"/runs/{event['session_id']}")["run"]


# ---- which runs start ----

def test_once(lab):
    schedule = make(lab, run_at=from_now(4), report_mode="kiosk")
    assert schedule["next_at"] == schedule["run_at"] == schedule["next_times"][0]
    assert schedule["history"] == [] and len(schedule["next_times"]) == 1
    lab.waits_for(lambda: outcomes(lab, schedule) == ["started"])
    after = shown(lab, schedule)
    assert after["next_at"] is None and after["next_times"] == [] and after["enabled"] == 1
    event, = after["history"]
    assert event["due_at"] == schedule["run_at"] <= event["at"]
    run = run_of(lab, event)
    assert run["test_id"] == lab.passes and run["report_mode"] == "kiosk"
    with lab.worker():
        lab.waits_for(lambda: run_of(lab, event)["status"] == "passed")
    # a change that keeps its time does not re-arm it
    fields = ("name", "test_id", "run_at")
    problem(lab.c.request("PUT", f"/schedules/{schedule['id']}",
                          {**{k: after[k] for k in fields}, "timezone": "Asia/Tokyo"}), 422)
    kept = lab.c.api("PUT", f"/schedules/{schedule['id']}",
                     {**{k: after[k] for k in fields}, "name": "another name"})["schedule"]
    assert kept["next_at"] is None and len(kept["history"]) == 1


def test_cron_and_project(lab):
    """Also several that are due at once, and what follows them."""
    # a minute that will not come during the test, nor at the turn of a minute
    minute = (datetime.datetime.now(UTC).minute + 30) % 60
    one = make(lab, cron=f"{minute} * * * *")
    every = make(lab, project_id=lab.standing, tags=["passed", "failed"], test_ids=[
        lab.passes, lab.held, lab.fails])
    none = make(lab, project_id=lab.standing, tags=["nothing has it"])
    due(lab, (one, 1), (every, 2), (none, 3))
    for schedule in (one, every, none):
        lab.waits_for(lambda s=schedule: outcomes(lab, s))
    assert outcomes(lab, one) == outcomes(lab, every) == ["started"]
    refused, = shown(lab, none)["history"]
    assert refused["outcome"] == "refused" and "that the filters select" in refused["detail"]
    after = shown(lab, one)
    moment = datetime.datetime.strptime(after["next_at"], FORMAT).replace(tzinfo=UTC)
    assert (moment.minute, moment.second) == (minute, 0)
    assert 0 < (moment - datetime.datetime.now(UTC)).total_seconds() <= 3600
    run = shown(lab, every)["history"][0]["project_run_uuid"]
    with lab.worker():
        found = lab.ended(run)
    assert [r["test_id"] for r in found["runs"]] == [lab.passes, lab.fails]


def test_test_that_cannot_start(lab):
    """The time is used up, and the schedule gives the reason."""
    empty = lab.make("credential-pools", name="empty")
    test = lab.make("tests", name="cannot start", project_id=lab.standing, agentpool_id=lab.pool,
                    steps=[[{"type": "register", "role": "caller", "target_pool": lab.target,
                             "credential_pool": empty}]])
    schedule = make(lab, test_id=test, run_at=from_now(4))
    lab.waits_for(lambda: outcomes(lab, schedule) == ["refused"])
    assert "credential" in shown(lab, schedule)["history"][0]["detail"]


# ---- overlap ----

def hold(lab):
    """@return a schedule whose first run continues until it is stopped"""
    def start(**more):
        schedule = make(lab, test_id=lab.held, **more)
        due(lab, (schedule, 0))
        lab.waits_for(lambda: outcomes(lab, schedule) == ["started"])
        return schedule
    return start


def stop_first(lab, schedule):
    first = shown(lab, schedule)["history"][-1]
    assert first["outcome"] == "started"
    lab.c.api("POST", f"/runs/{first['session_id']}/stop")
    return first["session_id"]


def stop_all(lab):
    query = "/runs?filtername=is_finished&filterval=0&count=1000"
    for run in lab.c.api("GET", query)["runs"]:
        lab.c.request("POST", f"/runs/{run['id']}/stop")
    lab.waits_for(lambda: not lab.c.api("GET", query)["runs"], 60)


def test_overlap(lab):
    skip, wait, parallel = (hold(lab)(overlap=rule) for rule in ("skip", "wait", "parallel"))
    due(lab, (skip, 0), (wait, 0), (parallel, 0))
    for schedule in (skip, wait, parallel):
        lab.waits_for(lambda s=schedule: len(outcomes(lab, s)) == 2)
    assert outcomes(lab, skip) == ["skipped", "started"]
    assert outcomes(lab, wait) == ["waiting", "started"]
    assert outcomes(lab, parallel) == ["started", "started"]
    skipped = shown(lab, skip)["history"]
    assert skipped[1]["session_id"] in skipped[0]["detail"]
    assert shown(lab, wait)["waiting_for"] is not None
    # at most one waits
    due(lab, (wait, 0))
    lab.waits_for(lambda: outcomes(lab, wait) == ["skipped", "waiting", "started"])
    waited = shown(lab, wait)["waiting_for"]
    for schedule in (skip, wait, parallel):
        stop_first(lab, schedule)
    lab.waits_for(lambda: outcomes(lab, wait)[0] == "started")
    after = shown(lab, wait)
    assert after["waiting_for"] is None and after["history"][0]["due_at"] == waited
    assert outcomes(lab, skip) == ["skipped", "started"]
    stop_all(lab)


def test_further_attempts_count(lab):
    """The previous run has ended when its last retry has."""
    steps = lab.c.api("GET", f"/tests/{lab.held}")["test"]["steps"]
    test = lab.make("tests", name="again", project_id=lab.standing, agentpool_id=lab.pool,
                    steps=steps, retries_on_failure=1)
    ends = iter(["failed", "hold"])
    with lab.worker(lambda spec: next(ends)):
        schedule = make(lab, test_id=test, run_at=from_now(4))
        lab.waits_for(lambda: outcomes(lab, schedule) == ["started"])
        first = shown(lab, schedule)["history"][0]
        lab.waits_for(lambda: run_of(lab, first).get("retried_by"))
        lab.c.api("PUT", f"/schedules/{schedule['id']}", {
            "name": "again", "test_id": test, "run_at": from_now(4)})
        lab.waits_for(lambda: outcomes(lab, schedule) == ["skipped", "started"])
        second = run_of(lab, first)["retried_by"]
        assert second in shown(lab, schedule)["history"][0]["detail"]
        lab.c.api("POST", f"/runs/{second}/stop")
        lab.waits_for(lambda: lab.c.api("GET", f"/runs/{second}")["run"]["phase"] == "done")


# ---- downtime ----

def test_missed(lab):
    """Due ten minutes ago, with `* * * * *`: that time and each full minute since is counted."""
    skip = make(lab, cron="* * * * *")
    run = make(lab, cron="* * * * *", missed="run")
    off = make(lab, cron="* * * * *", enabled=0)
    assert off["next_at"] is None and off["next_times"] == []
    due(lab, (skip, 600), (run, 600), (off, 600))
    lab.waits_for(lambda: outcomes(lab, skip) and outcomes(lab, run))
    event = shown(lab, skip)["history"][-1]
    assert event["outcome"] == "missed" and event["session_id"] is None
    due_at, at = (datetime.datetime.fromisoformat(event[key]) for key in ("due_at", "at"))
    times = int(event["detail"].split(" times since ")[0])
    # counted up to 2 s before the event is stored
    assert times in {1 + (end.replace(second=0) - due_at.replace(second=0)).total_seconds() // 60
                     for end in (at, at - datetime.timedelta(seconds=2))}, event
    first = shown(lab, run)["history"][-1]
    assert first["outcome"] == "started"
    assert outcomes(lab, off) == []
    for schedule in (skip, run, off):
        assert lab.c.request("DELETE", f"/schedules/{schedule['id']}").status_code == 204


def test_killed_controller_starts_each_time_once(lab):
    schedules = [make(lab, run_at=from_now(4)) for _ in range(5)]
    lab.waits_for(lambda: any(outcomes(lab, s) for s in schedules))
    lab.c.kill()
    lab.c.start()
    for schedule in schedules:
        lab.waits_for(lambda s=schedule: outcomes(lab, s))
        assert outcomes(lab, schedule) == ["started"]
    runs = [shown(lab, s)["history"][0]["session_id"] for s in schedules]
    assert len(set(runs)) == 5


# ---- the resource ----

def test_next_times(lab):
    """Compared with a search, minute by minute, with Python's time zones."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    for zone in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata",
                 "Australia/Lord_Howe", "Pacific/Chatham"):
        minutes = sorted(rng.sample(range(60), 2))
        hours = sorted(rng.sample(range(5, 23), 2))
        cron = f"{minutes[0]},{minutes[1]} {hours[0]}-{hours[1]}/2 * * *"
        before = 0
        while before != int(time.time()) // 60 * 60 + 60:   # the minute in which it was created
            before = int(time.time()) // 60 * 60 + 60
            schedule = make(lab, cron=cron, timezone=zone)
            lab.c.request("DELETE", f"/schedules/{schedule['id']}")
        expected = []
        for at in range(before, before + 10 * 86400, 60):
            local = datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone))
            if local.minute in minutes and local.hour in range(hours[0], hours[1] + 1, 2) \
                    and not local.fold:
                expected.append(text(at * 1000))
            if len(expected) == 5:
                break
        assert schedule["next_times"] == expected, (cron, zone)
        assert schedule["next_at"] == expected[0]


def test_wrong_values(lab):
    test = {"name": "x", "test_id": lab.passes}
    for body, *pointers in (
            ({"name": "x", "cron": "@daily"}, "/test_id"),
            ({**test, "cron": "@daily", "project_id": lab.standing}, "/test_id"),
            ({**test, "cron": "@daily", "tags": ["a"]}, "/tags"),
            ({**test, "cron": "@daily", "test_ids": [1]}, "/test_ids"),
            ({**test, "cron": "@daily", "test_id": 999}, "/test_id"),
            ({"name": "x", "project_id": 999, "cron": "@daily"}, "/project_id"),
            ({"name": "x", "project_id": 1, "cron": "@daily", "test_ids": ["1"]}, "/test_ids"),
            (test, "/cron"),
            ({**test, "cron": "@daily", "run_at": from_now(60)}, "/cron"),
            ({**test, "cron": "61 * * * *"}, "/cron"),
            ({**test, "cron": "0 0 30 2 *"}, "/cron"),
            ({**test, "cron": "x" * 201}, "/cron"),
            ({**test, "run_at": from_now(-60)}, "/run_at"),
            ({**test, "run_at": "tomorrow"}, "/run_at"),
            ({**test, "cron": "@daily", "timezone": "Europe/Atlantis"}, "/timezone"),
            ({**test, "cron": "@daily", "timezone": "../../etc/passwd"}, "/timezone"),
            ({**test, "cron": "@daily", "timezone": "zone.tab"}, "/timezone"),
            ({**test, "cron": "@daily", "overlap": "never"}, "/overlap"),
            ({**test, "cron": "@daily", "missed": "all"}, "/missed"),
            ({**test, "cron": "@daily", "enabled": 2}, "/enabled"),
            ({**test, "cron": "@daily", "next_at": from_now(1)}, "/next_at"),
            ({**test, "name": "", "cron": "@daily"}, "/name")):
        found = problem(lab.c.request("POST", "/schedules", body), 422)
        assert [e["pointer"] for e in found["errors"]] == pointers, (body, found)
    found = problem(lab.c.request("POST", "/schedules", {**test, "cron": "0 25 * * *"}), 422)
    assert found["errors"][0]["detail"] == "hour: 25 is not from 0 to 23"


def test_forms_and_references(lab):
    body = {"name": "by form", "project_id": str(lab.standing), "cron": "0 4 * * *",
            "tags": '["a", "b"]', "enabled": "false"}
    answer = lab.c.request("POST", "/schedules", data=body)
    assert answer.status_code == 201, answer.text
    schedule = answer.json()["schedule"]
    assert schedule["tags"] == '["a","b"]' and schedule["enabled"] == 0
    assert schedule["project_name"] and schedule["test_name"] is None
    problem(lab.c.request("DELETE", f"/projects/{lab.standing}"), 409)
    number = schedule["id"]
    answer = lab.c.request("PUT", f"/schedules/{number}", files={
        k: (None, v) for k, v in {**body, "enabled": "1"}.items()},
        headers={"If-Match": answer.headers["ETag"]})
    assert answer.status_code == 200 and answer.json()["schedule"]["next_at"]
    problem(lab.c.request("PUT", f"/schedules/{number}", data=body,
                          headers={"If-Match": '"x"'}), 412)
    problem(lab.c.request("POST", "/schedules", data=body), 409)
    assert lab.c.request("DELETE", f"/schedules/{number}").status_code == 204
    problem(lab.c.request("GET", f"/schedules/{number}"), 404)


def test_change_does_not_lose_a_time(lab):
    """A PUT in the same second in which the schedule is due."""
    schedule = make(lab, run_at=from_now(4))
    fields = {k: schedule[k] for k in ("test_id", "run_at")}
    for i in range(60):
        answer = lab.c.request("PUT", f"/schedules/{schedule['id']}",
                               {**fields, "name": f"changed {i}"})
        assert answer.status_code == 200, answer.text
        if answer.json()["schedule"]["history"]:
            break
        time.sleep(0.1)
    lab.waits_for(lambda: outcomes(lab, schedule))
    assert outcomes(lab, schedule) == ["started"]
