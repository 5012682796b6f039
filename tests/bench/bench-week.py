#!/usr/bin/python3
"""A week of runs in PostgreSQL: how long reports and lists take, and whether partitions of `point` by time would help.

Fills a database by SQL: RUNS runs of the last seven days with 50 series of 10 points, one run in 100 with 200 points
a series; 10 calls and 20 SIP messages each. Then asks the controller for reports of runs chosen at random and for
pages of lists: median, 99th percentile, processor time of controller and server. At last the points are copied into a
table of 12 partitions, and the statements that read, insert and delete points are timed by EXPLAIN on both.

Usage: bench-week.py BUILD [RUNS [REQUESTS]]         16800 runs are 10^7 points
"""
import json
import os
import random
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import postgresql  # noqa: E402

# what is read is measured: the fill need not wait for the disk
postgresql.SETTINGS.update(shared_buffers="'1GB'", max_wal_size="'8GB'", wal_level="minimal", max_wal_senders="0",
                           maintenance_work_mem="'512MB'", checkpoint_timeout="'30min'")

DAYS, SERIES, TESTS, PARTITIONS = 7, 50, 1000, 12
REPORT_MS, LIST_MS = 200, 50
LISTS = ["/runs?count=100", "/runs?count=100&filtername=test_name&filterval=test%20500",
         "/runs?count=100&filtername=session_status&filterval=failed", "/tests/verdicts?state=failed&count=50",
         "/overview"]
POINTS_OF = "CASE WHEN r % 100 = 0 THEN 200 ELSE 10 END"
LEASE = "CAST(CAST(md5(CAST(r AS TEXT)) AS UUID) AS TEXT)"
START = f"extract(epoch FROM now())::BIGINT - {DAYS * 86400} + CAST(r AS BIGINT) * {DAYS * 86400} / %(runs)s"
FILL = [
    "ALTER TABLE point DROP CONSTRAINT point_pkey, DROP CONSTRAINT IF EXISTS point_series_id_fkey",
    "INSERT INTO agent_pool (id, name, join_token_hash, created_at, updated_at) VALUES (1, 'pool', '\\x00', 0, 0)",
    "INSERT INTO project (id, name, created_at, updated_at) SELECT p, 'project ' || p, 0, 0 FROM generate_series(1, 10) p",
    "INSERT INTO test (id, project_id, name, tags_json, scenario, agentpool_id, steps_json, created_at, updated_at) "
    "SELECT t, 1 + t / 101, 'test ' || t, '[\"nightly\"]', 'custom', 1, '[[{\"type\":\"call\",\"role\":\"caller\"}]]', 0, 0 "
    f"FROM generate_series(1, {TESTS}) t",
    "INSERT INTO run (id, session_id, test_id, test_name, testcase_name, project_id, project_name, agentpool_id, "
    "agentpool_name, phase, status, conditions_json, verdicts_json, record, interval_s, max_duration_s, created_at, "
    f"started_at, stopped_at) SELECT r, {LEASE}, 1 + r %% {TESTS}, 'test ' || 1 + r %% {TESTS}, 'custom', 1, 'project 1', "
    "1, 'pool', 'done', CASE WHEN r %% 10 = 3 THEN 'failed' ELSE 'passed' END, '[]', '[]', 'sip', 10, 3600, "
    f"1000 * ({START}), 1000 * ({START}), 1000 * ({START}) + 100000 FROM generate_series(1, %(runs)s) r",
    "INSERT INTO run_verdict SELECT test_id, id, session_id, status, NULL, created_at, started_at, stopped_at, "
    "4.2 + (id % 20) / 100.0, 180 + id % 60, 30 + id % 20 FROM run",
    "INSERT INTO series (id, run_id, role, dir, measure) SELECT (r - 1) * 50 + s, r, CASE WHEN s % 2 = 0 THEN 'caller' "
    "ELSE 'callee' END, 'in', (CAST($1 AS TEXT[]))[1 + (s - 1) / 2] FROM generate_series(1, %(runs)s) r, "
    "generate_series(1, 50) s",
    "INSERT INTO event (run_id, lease_id, role, t_us, event_json, kind) SELECT r, $LEASE, 'caller', 1000000 * ($START), "
    "'{\"t\":' || 1000000 * ($START) || ',\"mono\":9,\"kind\":\"call\",\"call\":\"caller-' || c || '\",\"account\":"
    "\"1001\",\"direction\":\"out\",\"peer\":\"sip:2@x\",\"call_id\":\"c' || c || '\",\"established\":true,\"pdd_ms\":"
    "120.5,\"setup_ms\":300,\"duration_ms\":10000,\"end\":\"local\",\"code\":200,\"reason\":\"OK\",\"streams\":[]}', 'call' "
    "FROM generate_series(1, %(runs)s) r, generate_series(1, 10) c",
    "INSERT INTO sip_message (run_id, lease_id, role, t_us, message_json) SELECT r, $LEASE, 'caller', 1000000 * ($START) "
    "+ m, '{\"t\":' || 1000000 * ($START) + m || ',\"mono\":1,\"dir\":\"sent\",\"transport\":\"udp\",\"local\":"
    "\"127.0.0.1:5060\",\"peer\":\"127.0.0.1:5062\",\"data\":\"OPTIONS sip:a@example.org SIP/2.0\\r\\nCall-ID: c' || m || "
    "'\\r\\nCSeq: 1 OPTIONS\\r\\n' || repeat('X-Header: some value\\r\\n', 10) || '\\r\\n\"}' "
    "FROM generate_series(1, %(runs)s) r, generate_series(1, 20) m",
    "INSERT INTO point SELECT (r - 1) * 50 + s, $START + 10 * k, $LEASE, 10, 1, 3, 2 + 0.1 * (s % 10), 2, 2.5, 2.75, "
    f"2.9, 0.3, NULL FROM generate_series(1, %(runs)s) r, generate_series(1, {SERIES}) s, "
    f"generate_series(0, {POINTS_OF} - 1) k",
    "ALTER TABLE point ADD PRIMARY KEY (series_id, t, lease_id)",
    "ALTER TABLE point ADD FOREIGN KEY (series_id) REFERENCES series(id) ON DELETE CASCADE NOT VALID",
]


def measures():
    text = (Path(__file__).resolve().parents[2] / "control/wire/measure.h").read_text()
    return re.findall(r"X\((\w+), \"", text)[:SERIES // 2]


def fill(server, name, runs):
    for statement in FILL:
        statement = statement.replace("$LEASE", LEASE).replace("$START", START).replace(
            "CAST($1 AS TEXT[])", "ARRAY[" + ", ".join(f"'{m}'" for m in measures()) + "]")
        statement = statement.replace("%(runs)s", str(runs)).replace("%%", "%")
        began = time.monotonic()
        server.sql(statement, name)
        if time.monotonic() - began > 5:
            print(f"  {time.monotonic() - began:.0f} s: {statement[:40]}", flush=True)
    server.sql("VACUUM ANALYZE", name)


def cpu_ns(pid):
    """Processor time of a process and its children that live."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if path.name == str(pid) or parent == str(pid):
                total += sum(int(task.read_text().split()[0]) for task in path.glob("task/*/schedstat"))
        except OSError:
            pass  # it has ended
    return total


def measure(c, server, name, addresses, limit_ms):
    times, size = [], 0
    before = cpu_ns(c.process.pid), cpu_ns(server.process.pid)
    for address in addresses:
        began = time.perf_counter()
        answer = c.session.get(c.url + address, auth=c.keys["admin"], timeout=60)
        times.append((time.perf_counter() - began) * 1000)
        assert answer.ok, answer.text
        size = max(size, len(answer.content))
    spent = [(cpu_ns(p) - b) / 1e6 / len(times) for p, b in zip((c.process.pid, server.process.pid), before)]
    times.sort()
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{name:58} median {statistics.median(times):6.1f} ms, p99 {p99:6.1f} ms of {limit_ms}; processor time "
          f"{spent[0]:.1f} + {spent[1]:.1f} ms; {size} B", flush=True)


def explain(server, name, statement, rollback=False):
    """@return (planning, execution) in ms, the least of 5"""
    options = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
    found = []
    for _ in range(5):
        text = server.sql(f"BEGIN; {options}{statement}; ROLLBACK" if rollback else options + statement, name)
        plan = json.loads(text)[0]
        found.append((plan["Planning Time"], plan["Execution Time"]))
    return min(found, key=sum)


def partitions(server, name, runs):
    low, high = map(int, server.sql("SELECT min(t), max(t) + 1 FROM point", name).split("|"))
    step = (high - low) // PARTITIONS + 1
    server.sql("CREATE TABLE parted (LIKE point) PARTITION BY RANGE (t)", name)
    for i in range(PARTITIONS):
        server.sql(f"CREATE TABLE parted_{i} PARTITION OF parted FOR VALUES FROM ({low + i * step}) TO "
                   f"({low + (i + 1) * step})", name)
    server.sql("INSERT INTO parted SELECT * FROM point", name)
    server.sql("ALTER TABLE parted ADD PRIMARY KEY (series_id, t, lease_id)", name)
    server.sql("ALTER TABLE parted ADD FOREIGN KEY (series_id) REFERENCES series(id)", name)
    server.sql("VACUUM ANALYZE", name)
    run = runs // 2 + 1
    cut = low + step
    statements = {
        "points of a run": ("SELECT s.id, s.role, s.dir, s.measure, p.t, sum(p.n), min(p.min), sum(p.avg * p.n) / sum(p.n), "
                            "max(p.max) FROM series s JOIN {0} p ON p.series_id = s.id WHERE s.run_id = " + str(run) +
                            " GROUP BY s.id, s.role, s.dir, s.measure, p.t ORDER BY s.measure, s.role DESC, s.dir, s.id, p.t"),
        "mean of a measure of a run": (
            "SELECT sum(p.n * p.avg) / sum(p.n) FROM series s JOIN {0} p ON p.series_id = s.id WHERE s.run_id = "
            f"{run} AND s.measure = 'rtp_mos'"),
        "insert 500 points": (
            f"INSERT INTO {{0}} SELECT 1 + (k % 50), {high - 600} + k, 'x', 10, 1, 3, 2, 2, 2, 2, 2, 0, NULL "
            "FROM generate_series(1, 500) k ON CONFLICT DO NOTHING"),
        "delete the points of a series": f"DELETE FROM {{0}} WHERE series_id = {run * 50} AND t <= {high}",
        "delete a twelfth by rows": f"DELETE FROM {{0}} WHERE t < {cut}",
    }
    for what, statement in statements.items():
        both = [explain(server, name, statement.format(table), True) for table in ("point", "parted")]
        print(f"{what}: " + "; ".join(f"{kind}: planning {p:.2f} ms, execution {e:.2f} ms"
                                      for kind, (p, e) in zip(("one table", "12 partitions"), both)), flush=True)
    began = time.monotonic()
    server.sql("BEGIN; DROP TABLE parted_0; COMMIT", name)
    print(f"drop a partition: {(time.monotonic() - began) * 1000:.0f} ms, with the start of psql", flush=True)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    os.environ.update(OFFHOOK_BUILD=os.path.abspath(sys.argv[1]), OFFHOOK_TEST_STORE="postgresql")
    from controller import Controller  # noqa: E402  it reads the environment
    runs, requests = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 16800), (3, 300)))
    server, c = postgresql.server(), Controller(log_level="info")
    try:
        c.create_key()  # makes the schema
        name = c.database
        fill(server, name, runs)
        points, size = server.sql("SELECT count(*), pg_size_pretty(pg_total_relation_size('point')) FROM point",
                                  name).split("|")
        c.start()
        print(f"{runs} runs, {points} points in {size}, load average {os.getloadavg()[0]:.1f}", flush=True)
        rows = server.sql("SELECT id, session_id FROM run", name).split()
        sessions = {int(row.split("|")[0]): row.split("|")[1] for row in rows}
        small = [f"/run/details/{sessions[r]}/data" for r in sessions if r % 100]
        large = [f"/run/details/{sessions[r]}/data" for r in sessions if r % 100 == 0]
        random.seed(1)
        measure(c, server, "report, 500 points", random.choices(small, k=requests), REPORT_MS)
        measure(c, server, "report, 10 000 points", random.choices(large, k=requests // 3), REPORT_MS)
        for address in LISTS:
            measure(c, server, address, ["/api/v2" + address] * requests, LIST_MS)
        partitions(server, name, runs)
    finally:
        c.close()


if __name__ == "__main__":
    main()
