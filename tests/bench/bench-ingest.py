#!/usr/bin/python3
"""Rows a second into SQLite and PostgreSQL: through the store's ingest, next to a loop that only inserts the same
rows (bench-ingest.c), and through HTTP, where it is the controller's processor time that is told, too.

The server is one of its own in a temporary folder, and waits for the disk like one that is in use. The load average is
printed, as the figures depend on it.

Usage: bench-ingest.py BUILD [ROWS [BATCH... ]]
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import postgresql  # noqa: E402

postgresql.SETTINGS.update(fsync="on", full_page_writes="on", shared_buffers="'512MB'", max_wal_size="'4GB'",
                           checkpoint_timeout="'15min'")


def load():
    return "load average " + Path("/proc/loadavg").read_text().split()[0]


def store(program, kind, rows, batch):
    with tempfile.TemporaryDirectory(prefix="offhook-ingest-") as folder:
        if kind == "sqlite":
            places = [f"{folder}/store.db", f"{folder}/peer.db"]
        else:
            server = postgresql.server()
            name = server.create()
            places = [server.uri(name)] * 2
        subprocess.run([program, *places, str(rows), str(batch)], check=True)
        if kind == "postgresql":
            server.drop(name)


def through_http(kind, build, rows, batch):
    """Uploads of a fake agent, as an agent writes them; prints rows/s and us of processor time a row."""
    import controller
    import importlib
    os.environ["OFFHOOK_TEST_STORE"] = kind
    controller.ON_POSTGRESQL = kind == "postgresql"
    results = importlib.import_module("bench-results")
    lab = results.Lab(build, 1)
    try:
        role = lab.job["role"]
        points = [results.point(role, i) for i in range(rows)]
        for sketch in (True, False):
            if not sketch:
                points = [{**{k: v for k, v in p.items() if k != "sketch"}, "t": p["t"] + 10 * rows} for p in points]
            lab.uploads["stats"] = results.batches(points, batch)
            bodies = [results.compact({"seq": 0, "series": items}) for items in lab.uploads["stats"]]
            before, at = results.cpu_seconds(lab.c.process.pid), time.monotonic()
            for body in bodies:
                lab.seq += 1
                answer = lab.agent.session.post(
                    f"{lab.c.url}/api/v2/agent/leases/{lab.job['lease_id']}/stats", auth=lab.agent.auth,
                    headers={"Content-Type": "application/json"},
                    data=body.replace('"seq":0', f'"seq":{lab.seq}', 1))
                assert answer.ok, answer.text
            seconds = time.monotonic() - at
            cpu = results.cpu_seconds(lab.c.process.pid) - before
            print(f"HTTP, points{' with sketches' if sketch else ''}, {batch} a batch: {rows / seconds:.0f} rows/s, "
                  f"{cpu * 1e6 / rows:.1f} us of the controller a row", flush=True)
    finally:
        lab.c.close()


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    build = Path(sys.argv[1]).resolve()
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 50000
    batches = [int(text) for text in sys.argv[3:]] or [100, 500, 5000]
    for kind in ("sqlite", "postgresql"):
        print(f"-- {kind}, {load()}", flush=True)
        for batch in batches:
            store(build / "tests/bench/bench-ingest", kind, rows, batch)
        through_http(kind, str(build), rows, batches[len(batches) // 2])


if __name__ == "__main__":
    main()
