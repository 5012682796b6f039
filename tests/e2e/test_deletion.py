"""Runs are deleted in chunks: gone at once for everybody, their rows bit by bit, also after a crash."""
import uuid

import pytest

import stored_points
from controller import Controller
from test_api_basics import problem
from test_api_runs import Rows, T0
from until import until

SERIES, BLOCKS, MESSAGES = 40, 40 * 1000, 20000
TABLES = {"series": "run_id", "event": "run_id", "sip_message": "run_id", "lease": "run_id",
          "artifact": "run_id", "run_verdict": "run_id", "removal": "run_id"}


def fill(rows, run):
    """A run with many rows, as SQL makes them quickly."""
    lease = str(uuid.uuid4())
    rows.db.execute("INSERT INTO lease (id, run_id, role, spec_json, state, agent_id) VALUES "
                    "(?, ?, 'caller', '{}', 'finished', 1)", (lease, run))
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
    for i in range(SERIES):
        series = rows.db.execute(
            "INSERT INTO series (run_id, role, dir, measure) VALUES (?, 'caller', 'in', ?)",
            (run, f"m{i}" if i else "rtp_mos")).lastrowid
        stored_points.add_copies(rows.db, run, series, lease, [(T0, 1, 1, 1, 1, 1, 1, 1, 1, 0, None)], BLOCKS // SERIES)
    for table, text in (("event", "kind, event_json"), ("sip_message", "message_json")):
        values = ", ".join(["'{}'"] * len(text.split(",")))
        rows.db.execute(f"{numbers} INSERT INTO {table} (run_id, lease_id, role, t_us, {text}) "
                        f"SELECT ?, ?, 'caller', i, {values} FROM n", (MESSAGES, run, lease))
    rows.db.execute(numbers + "INSERT INTO upload SELECT ?, i FROM n", (MESSAGES, lease))
    rows.db.execute("INSERT INTO run_verdict (test_id, run_id, session_id, status, created_at, "
                    "stopped_at) SELECT test_id, id, session_id, status, created_at, stopped_at "
                    "FROM run WHERE id = ?", (run,))


@pytest.fixture
def c():
    with Controller() as c:
        c.api("POST", "/projects", {"name": "p"})
        c.api("POST", "/agent-pools", {"name": "pool"})
        c.api("POST", "/tests", {"name": "t", "project_id": 1, "agentpool_id": 1,
                                 "steps": [[{"type": "wait", "role": "caller", "wait_ms": 1}]]})
        c.stop()
        rows = Rows(c)
        for number in (1, 2):
            rows.run(number, kiosk_id=str(uuid.UUID(int=99)))
            fill(rows, number)
        rows.db.commit()
        rows.db.close()
        for number in (1, 2):
            folder = c.state_dir / "artifacts" / str(uuid.UUID(int=number))
            folder.mkdir(parents=True)
            (folder / str(uuid.uuid4())).write_text("recording")
        yield c.start()


class Database:
    def __init__(self, c):
        self.db = c.open_database()

    def number(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def blocks(self):
        return self.number("SELECT count(*) FROM point_block")

    def of(self, run):
        """How many rows each table has of a run."""
        found = {t: self.number(f"SELECT count(*) FROM {t} WHERE {c} = {run}") for t, c in TABLES.items()}
        found["run"] = self.number(f"SELECT count(*) FROM run WHERE id = {run}")
        return found


def gone(c):
    """Run 1 is shown nowhere, run 2 everywhere."""
    first, second = (str(uuid.UUID(int=n)) for n in (1, 2))
    for path in ("/runs/1", f"/runs/{first}", "/runs/1/status", f"/runs/{first}/status", "/runs/1/stats",
                 "/runs/1/artifacts", "/runs/1/report/junit", "/runs/1/callbacks"):
        problem(c.request("GET", path), 404)
    for method, path in (("DELETE", "/runs/1"), ("PUT", "/runs/1/kiosk"), ("POST", "/runs/1/stop")):
        problem(c.request(method, path), 404)
    for query in ("", "?filtername=test_id&filterval=1", "?orderby=started_at",
                  "?filtername=session_status&filterval=passed"):
        listed = c.api("GET", "/runs" + query)
        assert (listed["total"], [r["id"] for r in listed["runs"]]) == (1, [2])
    assert c.api("GET", "/tests/1/status/last")["run"]["session_id"] == second
    sessions = {p["session_id"] for p in c.api("GET", "/tests/1/stats/rtp_mos")["stats_data"]}
    assert sessions == {second}
    for address, status in ((first, 404), (second, 200)):
        page = c.session.get(f"{c.url}/kiosk/{address}/{uuid.UUID(int=99)}", timeout=60)
        assert page.status_code == status
    stored = c.session.get(f"{c.url}/metrics", auth=c.keys["admin"], timeout=60).text
    assert 'offhook_runs_stored{status="passed"} 1\n' in stored and 'status="deleted"' not in stored


def test_interrupted_by_a_crash(c):
    db = Database(c)
    kept = db.of(2)
    assert db.of(1)["sip_message"] == MESSAGES and db.blocks() == 2 * BLOCKS
    assert c.request("DELETE", "/runs/1").status_code == 204
    assert not (c.state_dir / "artifacts" / str(uuid.UUID(int=1))).exists()
    # some of its rows were deleted, and committed, before the others
    until(lambda: db.blocks() < 2 * BLOCKS, every=0.005)
    c.kill()
    left = db.of(1)
    assert db.blocks() > BLOCKS and left["removal"] == left["run"] == 1
    db.db.close()
    c.start()
    gone(c)
    db = Database(c)
    until(lambda: db.number("SELECT count(*) FROM removal") == 0)
    assert set(db.of(1).values()) == {0}
    assert db.of(2) == kept and db.blocks() == BLOCKS
    assert db.number("SELECT count(*) FROM upload") == MESSAGES
    gone(c)
    assert (c.state_dir / "artifacts" / str(uuid.UUID(int=2))).exists()


def test_audit(c):
    answer = c.request("DELETE", "/runs/2")
    entry, = c.api("GET", f"/audit?request={answer.headers['X-Request-Id']}")["audit"]
    assert (entry["kind"], entry["record_id"], entry["record"]) == ("run", 2, "test 2")
