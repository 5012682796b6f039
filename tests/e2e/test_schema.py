"""A database of an earlier schema is migrated. One that cannot be migrated is refused
and left unchanged."""
import contextlib
import hashlib
import hmac
import json
import sqlite3
import subprocess

import pytest

import stored_points
from controller import Controller
from fake_agent import FakeAgent
from receiver import Receiver
from state import STATES, State, differences, dump
from test_login import Browser
from until import until

# What a migration changes on purpose in existing rows: {table: {column, ...}}.
CHANGED = {}
NUMBERS = sorted(int(p.name) for p in STATES.iterdir())


def open_once(c, name="later"):
    """Migrate the state without starting anything, by creating a key."""
    done = subprocess.run([c.program, "--config", c.conf_file, "--create-key", name,
                           "--rights", "read"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def newest():
    """The schema of a fresh database. @return (number, lines)"""
    c = Controller()
    try:
        c.create_key()
        schema, rows = dump(c.state_dir / "offhook.db")
    finally:
        c.close()
    number, = [row["value"] for row in rows["setting"] if row["name"] == "schema_version"]
    return int(number), schema


@pytest.fixture(params=NUMBERS)
def earlier(request):
    """(controller that is not started, its state)"""
    state = State(request.param)
    c = Controller(callback_allow="127.0.0.1", callback_timeout_s=2, poll_s=5, renew_s=2,
                   lease_s=30)
    state.put(c)
    c._write_conf()
    yield c, state
    c.close()


def test_no_table_of_the_state_is_empty(earlier):
    c, state = earlier
    _, rows = dump(c.state_dir / "offhook.db")
    assert [table for table, found in rows.items() if not found] == []
    assert {row["status"] for row in rows["run"]} == {
        "running", "passed", "failed", "errored", "stopped"}
    assert state.live and {row["phase"] for row in rows["run"]} >= {"queued", "running", "done"}
    assert any(row["retry_of"] for row in rows["run"])
    assert any(row["verdicts_json"] for row in rows["run"])
    assert any(row["password_box"] for row in rows["credential"])


# Rows of the key that open_once() makes: itself, and the counter of the audit log, which names it.
ADDED = {"api_key": 1, "sqlite_sequence": 1}


def points_in_blocks(path):
    """Rows as table `point` had them, of the blocks that step 27 makes of them."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [{"series_id": p.series_id, "t": p.t, "lease_id": p.lease_id, "n": p.n, "min": p.min, "max": p.max,
                 "avg": p.avg, "median": p.median, "p75": p.p75, "p90": p.p90, "p95": p.p95, "stddev": p.stddev,
                 "sketch_json": p.sketch} for p in stored_points.read(db)]


def test_every_row_is_kept(earlier):
    c, state = earlier
    path = c.state_dir / "offhook.db"
    was_schema, was = dump(path)
    log = open_once(c)
    number, fresh_schema = newest()
    schema, rows = dump(path)
    assert schema == fresh_schema
    assert "point" not in rows
    rows["point"] = points_in_blocks(path)
    for table, old in was.items():
        if table == "setting":
            continue
        columns = set(old[0]) - CHANGED.get(table, set())
        new = [{k: v for k, v in row.items() if k in columns} for row in rows[table]]
        old = [{k: v for k, v in row.items() if k in columns} for row in old]
        assert [r for r in old if r not in new] == [], table
        assert len(new) == len(old) + ADDED.get(table, 0), table
    copies = list(c.state_dir.glob("offhook.db.v*"))
    if number == state.number:
        assert copies == []
        return
    copy, = copies
    assert copy.name.startswith(f"offhook.db.v{state.number}-") and copy.name.endswith("Z")
    assert str(copy) in log
    assert copy.stat().st_mode & 0o777 == 0o600
    assert dump(copy) == (was_schema, was)
    assert str(copy) not in open_once(c, "another")   # only once
    assert list(c.state_dir.glob("offhook.db.v*")) == [copy]


def test_earlier_runs_have_verdicts(earlier):
    """Step 11: one row a run that is over, with the means of its points."""
    c, _ = earlier
    _, was = dump(c.state_dir / "offhook.db")
    open_once(c)
    _, rows = dump(c.state_dir / "offhook.db")
    done = {r["id"]: r for r in was["run"] if r["phase"] == "done"}
    assert {v["run_id"] for v in rows["run_verdict"]} == set(done)
    for v in rows["run_verdict"]:
        run = done[v["run_id"]]
        assert v["test_id"] == (run["test_id"] or 0)
        for name in ("session_id", "status", "created_at", "started_at", "stopped_at"):
            assert v[name] == run[name]
        for name, measure, direction in (("mos", "rtp_mos", "in"), ("pdd_ms", "sip_pdd", None),
                                         ("register_ms", "sip_register_time", None)):
            ids = {s["id"] for s in was["series"] if s["run_id"] == run["id"]
                   and s["measure"] == measure and direction in (None, s["dir"])}
            points = [p for p in was["point"] if p["series_id"] in ids]
            if points:
                assert v[name] == pytest.approx(sum(p["n"] * p["avg"] for p in points)
                                                / sum(p["n"] for p in points))
            else:
                assert v[name] is None


def test_all_is_read_through_the_api(earlier):
    c, state = earlier
    c.start()
    for path in state.answers:
        assert list(differences(state.expected(path), c.api("GET", path))) == [], path
    for path, (status, text) in state.files.items():
        answer = c.session.get(c.url + path, auth=c.keys["admin"], timeout=60)
        assert answer.status_code == status, path
        if answer.headers["Content-Type"].startswith("application/json"):
            assert list(differences(json.loads(text), answer.json())) == [], path
        else:
            assert answer.text == text, path
    # runs that were active are known, too
    for run in state.live:
        assert c.api("GET", f"/runs/{run}")["run"]["session_id"] == run
    assert c.stop() == 0


def test_secrets_open(earlier):
    """Keys, users, an agent; decrypted secrets reach agents and receivers of callbacks."""
    c, state = earlier
    c.start()
    secrets = state.secrets
    with Browser(c) as b:
        assert b.login("user run", secrets["password"]).status_code == 200
    for run in state.live:   # it may have stopped together with another
        assert c.request("POST", f"/runs/{run}/stop").status_code in (202, 409)
    tests = [was["test"] for path, was in state.answers.items() if path.startswith("/tests/")]
    judged, = [t for t in tests if t["name"].startswith("judged")]
    run = c.api("POST", f"/tests/{judged['id']}/run")["data"]["session_id"]
    jobs = state.agent(c).jobs(2)
    assert {job["session_id"] for job in jobs.values()} == {run}
    assert [cred.get("password") for cred in
            jobs["callee"]["spec"]["steps"][0][0]["credentials"]] == [secrets["sip_password"], None]
    told = next(t for t in tests if t["has_callback_secret"])
    token = c.api("POST", f"/agent-pools/{told['agentpool_id']}/token")["agent_pool"]["join_token"]
    agent = FakeAgent(c, token, "new")
    with Receiver() as r:
        c.api("POST", f"/tests/{told['id']}/run", {"callback_url": r.url})
        for _ in range(1 + told["retries_on_failure"]):
            job, = agent.jobs(1).values()
            assert agent.start(job).ok and agent.finish(job, "failed", "no").ok
        until(lambda: r.got)
    request, = r.got
    assert request["headers"]["X-Offhook-Signature"] == "sha256=" + hmac.new(
        secrets["callback_secret"].encode(), request["body"], hashlib.sha256).hexdigest()
    assert c.stop() == 0


@pytest.mark.parametrize("change, shown", [
    ("UPDATE setting SET value='1' WHERE name='schema_version'", "version 1,"),
    ("UPDATE setting SET value='x' WHERE name='schema_version'", "version x,"),
    ("UPDATE setting SET value='99999' WHERE name='schema_version'", "made by a later program"),
    ("DELETE FROM setting WHERE name='schema_print'", "(unmarked, this"),
    ("UPDATE setting SET value='0' WHERE name='schema_print'", "of another build (0, this"),
    ("DELETE FROM setting", "version unknown"),
])
def test_another_schema_is_refused(change, shown):
    c = Controller()
    try:
        c.start()
        c.stop()
        path = c.state_dir / "offhook.db"
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE upload")
            db.execute(change)
            before = list(db.iterdump())
        db.close()
        found = subprocess.run([c.program, "--config", c.conf_file],
                               capture_output=True, text=True, timeout=30,
                               check=False)
        assert found.returncode == 1
        assert shown in found.stderr
        assert "move" in found.stderr
        with sqlite3.connect(path) as db:
            assert list(db.iterdump()) == before
        db.close()
    finally:
        c.close()


def test_a_file_that_is_not_ours_is_refused():
    c = Controller()
    try:
        with sqlite3.connect(c.state_dir / "offhook.db") as db:
            db.execute("CREATE TABLE x (y)")
        db.close()
        with pytest.raises(Exception) as e:
            c.start()
        assert isinstance(e.value, subprocess.CalledProcessError)
        assert "setting" in e.value.stderr
    finally:
        c.close()
