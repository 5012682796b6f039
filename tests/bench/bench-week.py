#!/usr/bin/python3
"""A week of runs in PostgreSQL: how long reports and lists take.

Fills a database by SQL: RUNS runs of the last seven days with 50 series of 10 points, one run in 100 with 200 points
a series; 10 calls and 20 SIP messages each. The points are in blocks of a series, as uploads that were folded. Then asks
the controller for reports of runs chosen at random, for one measure of a run, and for pages of lists: median, 99th
percentile, processor time of controller and server.

Usage: bench-week.py BUILD [RUNS [REQUESTS]]         16800 runs are 10^7 points
"""
import os
import random
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import postgresql  # noqa: E402
import stored_points  # noqa: E402

# what is read is measured: the fill need not wait for the disk
postgresql.SETTINGS.update(shared_buffers="'1GB'", max_wal_size="'8GB'", wal_level="minimal", max_wal_senders="0",
                           maintenance_work_mem="'512MB'", checkpoint_timeout="'30min'")

DAYS, SERIES, TESTS = 7, 50, 1000
REPORT_MS, LIST_MS = 200, 50
LISTS = ["/runs?count=100", "/runs?count=100&filtername=test_name&filterval=test%20500",
         "/runs?count=100&filtername=session_status&filterval=failed", "/tests/verdicts?state=failed&count=50",
         "/overview"]
POINTS_OF = "CASE WHEN r % 100 = 0 THEN 200 ELSE 10 END"
LEASE = "CAST(CAST(md5(CAST(r AS TEXT)) AS UUID) AS TEXT)"
START = f"extract(epoch FROM now())::BIGINT - {DAYS * 86400} + CAST(r AS BIGINT) * {DAYS * 86400} / %(runs)s"
FILL = [
    "CREATE FUNCTION varint(v BIGINT) RETURNS BYTEA LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE found BYTEA := ''; BEGIN "
    "WHILE v >= 128 LOOP found := found || set_byte('\\x00', 0, CAST(v & 127 | 128 AS INTEGER)); v := v >> 7; END LOOP; "
    "RETURN found || set_byte('\\x00', 0, CAST(v AS INTEGER)); END $$",
    "ALTER TABLE point_block DROP CONSTRAINT point_block_pkey, DROP CONSTRAINT point_block_run_id_fkey",
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
    # They count in one row, whose versions a transaction has to walk through: twice the rows, four times as long.
    "ALTER TABLE run_verdict DISABLE TRIGGER USER",
    "INSERT INTO run_verdict SELECT test_id, id, session_id, status, NULL, created_at, started_at, stopped_at, "
    "4.2 + (id % 20) / 100.0, 180 + id % 60, 30 + id % 20 FROM run",
    "ALTER TABLE run_verdict ENABLE TRIGGER USER",
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
    # t of the first point, then 10 s more each (zigzag: 20); what follows t is the same in all points of a series
    "INSERT INTO point_block SELECT r, (r - 1) * 50 + s, $LEASE, 1, '\\x01' || varint((r - 1) * 50 + s) || varint(points) "
    "|| varint(length(all_points)) || all_points FROM generate_series(1, %(runs)s) r CROSS JOIN "
    f"generate_series(1, {SERIES}) s CROSS JOIN LATERAL (SELECT CAST({POINTS_OF} AS BIGINT) AS points, "
    "(ARRAY[$VALUES])[1 + s % 10] AS point) p CROSS JOIN LATERAL (SELECT varint(2 * ($START)) || point || decode(repeat("
    "'14' || encode(point, 'hex'), CAST(points - 1 AS INTEGER)), 'hex') AS all_points) b",
    "ALTER TABLE point_block ADD PRIMARY KEY (run_id, series_id, lease_id, seq)",
    "ALTER TABLE point_block ADD FOREIGN KEY (run_id) REFERENCES run(id) ON DELETE CASCADE NOT VALID",
]


def measures():
    text = (Path(__file__).resolve().parents[2] / "control/wire/measure.h").read_text()
    return re.findall(r"X\((\w+), \"", text)[:SERIES // 2]


def values():
    """What follows t in a point of each tenth series, as SQL."""
    found = []
    for k in range(10):
        text = stored_points.block(1, [(0, 10, 1, 3, 2 + 0.1 * k, 2, 2.5, 2.75, 2.9, 0.3, None)])
        found.append(f"CAST('\\x{text[5:].hex()}' AS BYTEA)")  # version, series, points, bytes, t
    return ", ".join(found)


def fill(server, name, runs):
    for statement in FILL:
        statement = statement.replace("$VALUES", values())
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
        size = server.sql("SELECT pg_size_pretty(pg_total_relation_size('point_block'))", name)
        points = SERIES * sum(200 if r % 100 == 0 else 10 for r in range(1, runs + 1))
        c.start()
        print(f"{runs} runs, {points} points in {size}, load average {os.getloadavg()[0]:.1f}", flush=True)
        rows = server.sql("SELECT id, session_id FROM run", name).split()
        sessions = {int(row.split("|")[0]): row.split("|")[1] for row in rows}
        small = [f"/run/details/{sessions[r]}/data" for r in sessions if r % 100]
        large = [f"/run/details/{sessions[r]}/data" for r in sessions if r % 100 == 0]
        random.seed(1)
        measure(c, server, "report, 500 points", random.choices(small, k=requests), REPORT_MS)
        measure(c, server, "report, 10 000 points", random.choices(large, k=requests // 3), REPORT_MS)
        one = [f"/api/v2/runs/{r}/stats/{measures()[0]}" for r in range(100, runs + 1, 100)] or ["/api/v2/runs/1"]
        measure(c, server, "one measure of 400 points", random.choices(one, k=requests), REPORT_MS)
        for address in LISTS:
            measure(c, server, address, ["/api/v2" + address] * requests, LIST_MS)
    finally:
        c.close()


if __name__ == "__main__":
    main()
