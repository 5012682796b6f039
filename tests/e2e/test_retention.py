"""Old data is deleted by age and size, kind by kind; kept runs stay."""
import html
import json
import os
import subprocess
import time
import uuid

import pytest

import stored_points
from controller import Controller
from test_api_runs import Rows, T0
from test_deletion import Database
from until import until

DAY_MS = 86400000
MESSAGE = json.dumps({"t": T0 * 1000000, "mono": 1, "dir": "sent", "transport": "udp",
                      "local": "192.0.2.1:5062", "peer": "192.0.2.2:5060",
                      "data": "OPTIONS sip:a SIP/2.0\r\nCall-ID: x\r\nCSeq: 1 OPTIONS\r\n\r\n"})

SEARCH = json.dumps({"unit": "concurrent_calls", "min": 4, "max": 64, "width_percent": 10, "repeats": 2,
                     "max_trials": 60, "trial_s": 10, "warm_up_s": 2, "cool_down_s": 2, "action": "0.0"})


def session(number):
    return str(uuid.UUID(int=number))


class Store:
    """A controller with runs that ended so many days ago; each has points, messages and a file."""

    def __init__(self, ages):
        self.c = Controller()
        self.c.start()
        self.c.api("POST", "/projects", {"name": "p"})
        self.c.api("POST", "/agent-pools", {"name": "pool"})
        self.c.api("POST", "/tests", {"name": "t", "project_id": 1, "agentpool_id": 1,
                                      "steps": [[{"type": "wait", "role": "caller", "wait_ms": 1}]]})
        self.c.stop()
        now = int(time.time() * 1000)
        rows = Rows(self.c)
        for number, age in enumerate(ages, 1):
            stopped = now - age * DAY_MS
            rows.run(number, stopped_at=stopped, started_at=stopped - 1000, created_at=stopped - 1000)
            for i in range(10):
                rows.points(number, "caller", "in", "rtp_mos", T0 + 10 * i, [[4.0, 4.1]])
            lease = str(uuid.uuid4())
            for _ in range(3):
                rows.db.execute("INSERT INTO sip_message (run_id, lease_id, role, t_us, message_json) "
                                "VALUES (?, ?, 'caller', 1, ?)", (number, lease, MESSAGE))
            file = str(uuid.uuid4())
            rows.db.execute("INSERT INTO artifact VALUES (?, 'caller', 'call.wav', 'audio/x-wav', 5000, "
                            "?, ?, 1)", (number, "0" * 64, file))
            self.folder(number).mkdir(parents=True)
            (self.folder(number) / file).write_bytes(b"x" * 5000)
        # one that is in progress, and one whose agents may still upload
        rows.run(98, phase="queued", status="running", stopped_at=None, started_at=None)
        rows.run(99, stopped_at=now)
        rows.db.commit()
        rows.db.close()

    def folder(self, number):
        return self.c.state_dir / "artifacts" / session(number)

    def start(self, **conf):
        self.before = self.passes()
        self.c.conf.update(conf)
        self.c.start()
        return self.c.api

    def restart(self, **conf):
        assert self.c.stop() == 0
        return self.start(**conf)

    def passes(self):
        return self.c.log().count("retention: nothing more is due")

    def passed(self):
        """True if a pass has ended since the start: after what was due it looked once more."""
        return self.passes() > self.before

    def entries(self):
        return [e for e in self.c.api("GET", "/audit")["audit"] if e["actor_kind"] == "retention"]

    def done(self):
        """True if what was marked is deleted."""
        db = Database(self.c)
        return db.number("SELECT count(*) FROM removal") == 0

    def blocks(self, number):
        return Database(self.c).number(f"SELECT count(*) FROM point_block WHERE run_id = {number}")

    def points(self, number):
        return len(stored_points.read(Database(self.c).db, number))


@pytest.fixture
def stored(request):
    store = Store(getattr(request, "param", [40, 30, 20, 10]))
    yield store
    store.c.close()


def test_nothing_without_a_setting(stored):
    api = stored.start(retention_check_s=1)
    until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 4)
    found = api("GET", "/retention")["retention"]
    assert found["artifacts"] == {"limit_days": 0, "limit_bytes": 0, "stored_bytes": 20000, "due_runs": 0,
                                  "due_bytes": 0, "due_ids": []}
    assert found["metrics"]["stored_bytes"] > 4 * 10 * 115 and found["sip"]["stored_bytes"] > 12 * len(MESSAGE)
    assert found["runs"]["stored_bytes"] == sum(
        found[k]["stored_bytes"] for k in ("metrics", "sip", "artifacts"))
    assert api("GET", "/runs")["total"] == 6 and stored.entries() == []


@pytest.mark.parametrize("stored", [[40, 10]], indirect=True)
def test_capacity_searches_go_with_the_last_of_their_runs(stored):
    """In progress, ended yesterday without a trial, with a run that stays: these are left alone."""
    now = int(time.time() * 1000)
    with stored.c.open_database() as db:
        for number, status, age, run in ((1, "done", 40, 1), (2, "done", 40, 2), (3, "running", 40, None),
                                         (4, "errored", 1, None), (5, "errored", 40, None)):
            db.execute("INSERT INTO capacity_search (id, uuid, test_id, test_name, project_name, agentpool_name, "
                       "params_json, status, created_at, stopped_at) VALUES (?, ?, 1, 't', 'p', 'a', ?, ?, ?, ?)",
                       (number, session(number), SEARCH, status, now - age * DAY_MS,
                        None if status == "running" else now - age * DAY_MS))
            if run:
                db.execute("INSERT INTO capacity_trial (search_id, position, load, session_id, started_at, outcome) "
                           "VALUES (?, 0, 4, ?, 1, 'held')", (number, session(run)))
        db.commit()
    api = stored.start(retention_check_s=1)
    until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 2)
    shown = lambda: [s["id"] for s in api("GET", "/capacity-searches")["capacity_searches"]]
    assert shown() == [1, 2, 3, 4, 5]
    stored.restart(retention_check_s=1, retention_runs_days=35)
    until(lambda: len(stored.entries()) == 2)
    assert shown() == [2, 3, 4]
    entry = stored.entries()[0]
    assert (entry["path"], entry["kind"], entry["record"]) == (
        "/capacity-searches", "capacity_search", "2 without runs")
    assert Database(stored.c).number("SELECT count(*) FROM capacity_trial") == 1


def test_dry_run_then_by_age_with_keep(stored):
    """The dry run says what the pass after it deletes."""
    # a pass that measures, and one day before the first is due
    api = stored.start(retention_check_s=1)
    until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 4)
    assert api("PUT", "/runs/2/keep") is None and api("GET", "/runs/2")["run"]["keep"] == 1
    limits = {"retention_runs_days": 35, "retention_metrics_days": 25, "retention_sip_days": 15,
              "retention_artifacts_days": 5}
    stored.restart(retention_check_s=86400, **limits)
    # the pass after the start deletes; what it says is what the dry run with keep would say
    until(stored.passed)
    assert stored.done()
    entry, = stored.entries()
    said = entry["record"]
    assert (entry["actor"], entry["method"], entry["kind"], entry["outcome"]) == (
        "retention", "DELETE", "run", "changed")
    assert "metrics" not in said  # run 1 is gone whole, run 2 is kept
    assert f"sip of 1 run, {3 * (len(MESSAGE) + 115)} bytes: 3" in said
    assert "artifacts of 2 runs, 10000 bytes: 3, 4" in said and "; 1 run, " in said and said.endswith(": 1")
    assert [r["id"] for r in api("GET", "/runs")["runs"]] == [6, 5, 4, 3, 2]
    assert [stored.folder(n).exists() for n in (1, 2, 3, 4)] == [False, True, False, False]
    kept, third = (api("GET", f"/runs/{n}")["run"] for n in (2, 3))
    times = ("metrics_removed_at", "sip_removed_at", "artifacts_removed_at")
    assert [kept[t] for t in times] == [None] * 3 and third["metrics_removed_at"] is None
    assert third["sip_removed_at"] and third["artifacts_removed_at"]
    assert api("GET", "/runs/3/artifacts")["artifacts"] == []
    assert stored.points(3) == stored.points(2) == 10
    # no longer kept: due, but nothing happens before the next pass
    assert api("DELETE", "/runs/2/keep") is None
    due = api("GET", "/retention")["retention"]
    assert {k: due[k]["due_ids"] for k in ("runs", "metrics", "sip", "artifacts")} == {
        "runs": [], "metrics": [2], "sip": [2], "artifacts": [2]}
    assert due["artifacts"]["due_bytes"] == 5000 and due["metrics"]["limit_days"] == 25
    assert stored.points(2) == 10 and stored.folder(2).exists()
    stored.restart()
    until(lambda: len(stored.entries()) == 2 and stored.done())
    assert "metrics of 1 run" in stored.entries()[0]["record"] and stored.points(2) == 0
    assert api("GET", "/retention")["retention"]["metrics"]["due_ids"] == []


def test_by_size_the_oldest_go(stored):
    api = stored.start(retention_check_s=1, retention_artifacts_bytes=10000)
    until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 4 and stored.entries()
         and stored.done())
    assert [stored.folder(n).exists() for n in (1, 2, 3, 4)] == [False, False, True, True]
    assert api("GET", "/retention")["retention"]["artifacts"]["stored_bytes"] == 10000
    assert api("GET", "/runs")["total"] == 6


def test_reports_say_what_is_gone(stored, build):
    api = stored.start(retention_check_s=86400, retention_metrics_days=15, retention_sip_days=15)
    until(lambda: stored.entries() and stored.done())
    c = stored.c
    at = api("GET", "/runs/1")["run"]["metrics_removed_at"]
    assert at and api("GET", "/runs/1/stats")["stats_dimensions"] == []
    assert api("GET", "/runs/1/stats/rtp_mos")["stats_data"] == []
    for kind in ("markdown", "html", "junit"):
        for number, gone in ((1, True), (4, False)):
            text = html.unescape(c.request("GET", f"/runs/{number}/report/{kind}").text)
            assert (f"metrics were deleted on {at}" in text) == gone, text
            assert ("SIP messages were deleted" in text) == gone

    def shown(number):
        done = subprocess.run([build / "offhook", "run", "show", str(number)], text=True, check=True,
                              capture_output=True, timeout=60, env={
                                  **os.environ, "OFFHOOK_URL": c.witness().url,
                                  "OFFHOOK_KEY": ":".join(c.keys["admin"])})
        return done.stdout

    assert f"metrics were deleted on {at} (UTC): retention" in shown(1)
    assert "deleted" not in shown(4)


def test_interrupted_by_a_crash(stored):
    """What was marked is deleted after a restart, even without the setting; it was never shown again."""
    rows = Rows(stored.c)
    series = rows.db.execute("SELECT id FROM series WHERE run_id = 1").fetchone()[0]
    stored_points.add_copies(rows.db, 1, series, "lease", [(T0, 1, 1, 1, 1, 1, 1, 1, 1, 0, None)], 100000)
    rows.db.commit()
    rows.db.close()
    api = stored.start(retention_check_s=86400, retention_metrics_days=35)
    until(lambda: stored.blocks(1) < 100010)
    stored.c.kill()
    assert stored.blocks(1) > 0
    stored.start(retention_metrics_days=0)
    assert api("GET", "/runs/1/stats/rtp_mos")["stats_data"] == []
    assert api("GET", "/runs/1")["run"]["metrics_removed_at"]
    until(stored.done)
    assert stored.points(1) == 0 and stored.points(2) == 10
    assert len(stored.entries()) == 1


# ---- thinning ----

MEASURES = ("rtp_mos", "rtp_lost")


class Dense(Store):
    """Runs with points of a second."""

    def __init__(self, ages, seconds=600):
        super().__init__(ages)
        rows = Rows(self.c)
        rows.db.execute("DELETE FROM run WHERE id > ?", (len(ages),))  # the last run of the test has metrics
        for number in range(1, len(ages) + 1):
            rows.db.execute("UPDATE run SET interval_s = 1 WHERE id = ?", (number,))
            rows.db.execute("DELETE FROM point_block WHERE run_id = ?", (number,))
            for i in range(seconds):
                for measure in MEASURES:
                    rows.points(number, "caller", "in", measure, T0 // 10 * 10 + i,
                                [[1 + (i * 7 + k * k) % 31 / 10 for k in range(1 + i % 3)]])
        rows.db.execute("INSERT INTO run_verdict (test_id, run_id, session_id, status, created_at, stopped_at, mos, "
                        "mos_min) SELECT test_id, id, session_id, status, created_at, stopped_at, 2.5, 1 FROM run "
                        "WHERE phase = 'done'")
        rows.db.commit()
        rows.db.close()

    def of_tests(self):
        """What monitoring is told of the tests, of their last runs."""
        text = self.c.session.get(f"{self.c.url}/metrics", auth=self.c.keys["admin"], timeout=60).text
        return [line for line in text.splitlines() if line.startswith("offhook_test_")]

    def figures(self, number):
        """What sums, counts and extremes of each series are; sketches added up."""
        found = {}
        for p in stored_points.read(Database(self.c).db, number):
            f = found.setdefault(p.measure, {"n": 0, "min": p.min, "max": p.max, "sum": 0, "square": 0, "sketch": {}})
            f["n"] += p.n
            f["min"], f["max"] = min(f["min"], p.min), max(f["max"], p.max)
            f["sum"] += p.n * p.avg
            f["square"] += p.n * (p.stddev ** 2 + p.avg ** 2)
            for index, count in json.loads(p.sketch)["p"]:
                f["sketch"][index] = f["sketch"].get(index, 0) + count
        return found


def same(before, after):
    for measure in MEASURES:
        b, a = before[measure], after[measure]
        assert {k: a[k] for k in ("n", "min", "max", "sketch")} == {k: b[k] for k in ("n", "min", "max", "sketch")}
        assert a["sum"] == pytest.approx(b["sum"], rel=1e-12)
        assert a["square"] == pytest.approx(b["square"], rel=1e-12)


def test_thinned_after_a_week(build):
    store = Dense([6, 8, 8])
    young, kept, old = 1, 2, 3
    c = store.c
    try:
        api = store.start(retention_check_s=1)
        until(lambda: api("GET", "/retention")["retention"]["measured_runs"] == 3)
        assert api("GET", "/retention")["retention"]["thinning"] == {
            "limit_days": 0, "interval_s": 10, "due_runs": 0, "due_bytes": 0, "due_ids": []}
        api("PUT", f"/runs/{kept}/keep")
        before = {n: store.figures(n) for n in (1, 2, 3)}
        shown = {n: api("GET", f"/runs/{n}")["run"] for n in (1, 2, 3)}
        assert shown[old]["interval_s"] == 1 and shown[old]["metrics_thinned_at"] is None
        of_tests = store.of_tests()
        assert any("offhook_test_mos{" in line for line in of_tests)
        store.restart(retention_check_s=86400, retention_thin_days=7)

        until(store.passed)
        assert Database(c).number("SELECT count(*) FROM thinning") == 0
        entry, = store.entries()
        assert entry["record"].startswith("metrics of 1 run, ") and entry["record"].endswith(
            " bytes, thinned to 10 s: 3")
        assert [store.points(n) for n in (1, 2, 3)] == [2 * 600, 2 * 600, 2 * 60]
        for number in (1, 2, 3):
            same(before[number], store.figures(number))
        after = {n: api("GET", f"/runs/{n}")["run"] for n in (1, 2, 3)}
        assert after[kept] == shown[kept] and after[young] == shown[young]
        at = after[old].pop("metrics_thinned_at")
        assert at and after[old].pop("interval_s") == 10
        assert after[old] == {k: v for k, v in shown[old].items() if k not in ("metrics_thinned_at", "interval_s")}
        assert store.of_tests() == of_tests
        stats = api("GET", f"/runs/{old}/stats/rtp_mos")["stats_data"]
        assert len(stats) == 60 and all(r["time"].endswith("0") for r in stats)
        # what it stores was measured again
        assert Database(c).number("SELECT metrics FROM run_size WHERE run_id = 3") == Database(c).number(
            "SELECT sum(115 + length(block)) FROM point_block WHERE run_id = 3")
        # no longer kept: the dry run has it, and nothing happens before the next pass
        api("DELETE", f"/runs/{kept}/keep")
        due = api("GET", "/retention")["retention"]["thinning"]
        assert (due["limit_days"], due["due_ids"]) == (7, [kept]) and due["due_bytes"] > 1200 * 115
        data = c.session.get(f"{c.url}/run/details/{session(old)}/data", auth=c.keys["admin"], timeout=60).json()
        assert (data["interval_s"], data["run"]["interval_s"], data["run"]["metrics_thinned_at"]) == (10, 10, at)
        assert {len(s["points"]) for s in data["series"]} == {60}
        for kind in ("markdown", "html", "junit"):
            for number in (young, kept, old):
                text = html.unescape(c.request("GET", f"/runs/{number}/report/{kind}").text)
                assert (f"metrics were merged to intervals of 10 s on {at}" in text) == (number == old), text
        done = subprocess.run([build / "offhook", "run", "show", str(old)], text=True, check=True,
                              capture_output=True, timeout=60, env={
                                  **os.environ, "OFFHOOK_URL": c.witness().url,
                                  "OFFHOOK_KEY": ":".join(c.keys["admin"])})
        assert f"metrics were merged to intervals of 10 s on {at} (UTC): retention" in done.stdout
    finally:
        c.close()


@pytest.mark.parametrize("stored", [[8, 8]], indirect=True)
def test_a_run_that_never_began_is_not_thinned(stored):
    """It has no interval. What is due of other runs is deleted."""
    rows = Rows(stored.c)
    rows.db.execute("UPDATE run SET interval_s = 0 WHERE id = 1")
    rows.db.execute("UPDATE run SET interval_s = 1 WHERE id = 2")
    rows.db.commit()
    rows.db.close()
    api = stored.start(retention_check_s=1, retention_thin_days=7, retention_artifacts_days=1)
    until(stored.passed)
    until(stored.done)
    shown = {n: api("GET", f"/runs/{n}")["run"] for n in (1, 2)}
    assert [shown[n]["metrics_thinned_at"] is None for n in (1, 2)] == [True, False]
    assert not any(api("GET", f"/runs/{n}/artifacts")["artifacts"] for n in (1, 2))
    assert "error: deletion" not in stored.c.log()


def test_thinning_goes_on_after_a_kill():
    """Killed again and again in the middle, it ends with the same figures."""
    store = Dense([8], seconds=5000)
    try:
        before = store.figures(1)
        store.start(retention_check_s=86400, retention_thin_days=7)
        until(lambda: store.points(1) < 10000)
        kills = 0
        while (left := store.points(1)) > 1000:
            store.c.kill()
            kills += 1
            same(before, store.figures(1))
            store.start(retention_thin_days=0)
            until(lambda left=left: store.points(1) < left)
        until(lambda: Database(store.c).number("SELECT count(*) FROM thinning") == 0)
        assert store.points(1) == 1000 and len(store.entries()) == 1
        same(before, store.figures(1))
        print(f"killed {kills} times")
    finally:
        store.c.close()
