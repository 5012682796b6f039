#!/usr/bin/python3
"""Compare the API with nginx serving a static file of the same size, in the same run.

Fills a database with runs, starts the controller and nginx, and lets wrk ask both in
turns: GET /runs/ID/status and GET /runs?count=100. Prints requests per second (median
of the rounds), the ratio to nginx in the same round, the 99th percentile of the
response time, and the processor time per request, which other load affects least.

Usage: bench-api.py BUILD [RUNS [ROUNDS [SECONDS [CONNECTIONS]]]]
Needs the Debian packages nginx-light and wrk.
"""
import base64
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from controller import Controller  # noqa: E402
from ports import PortBlock  # noqa: E402

NGINX_CONF = """
worker_processes 2;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    default_type application/json;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


def fill(database, count):
    """Insert finished runs of 100 tests in 10 projects."""
    db = sqlite3.connect(database)
    db.execute("PRAGMA synchronous = OFF")

    def rows():
        for i in range(count):
            test, failed = i % 100, i % 7 == 0
            started = 1700000000000 + i * 60000
            yield (str(uuid.UUID(int=(i << 64) + 0x4000800000000000)), test + 1,
                   f"test {test}", "single-call", test // 10 + 1, f"project {test // 10}",
                   1, "pool", '["nightly","trunk"]', "done", "failed" if failed else "passed",
                   "caller: call 1: PDD is 4200 ms, expected at most 3000" if failed else "",
                   "[]", "[]", "sip", 10, 3600, started, started, started + 45000)

    db.executemany(
        "INSERT INTO run (session_id, test_id, test_name, testcase_name, project_id,"
        " project_name, agentpool_id, agentpool_name, tags_json, phase, status,"
        " result_description, conditions_json, verdicts_json, record, interval_s,"
        " max_duration_s, created_at, started_at, stopped_at)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows())
    db.commit()
    db.close()


class Nginx:
    def __init__(self, folder, port):
        self.folder, self.url = Path(folder), f"http://127.0.0.1:{port}"
        self.folder.chmod(0o755)  # its workers run as another user
        (self.folder / "files").mkdir(mode=0o755)
        conf = self.folder / "nginx.conf"
        conf.write_text(NGINX_CONF.format(folder=folder, port=port))
        self.process = subprocess.Popen(
            ["nginx", "-e", str(self.folder / "error.log"), "-c", str(conf)],
            env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        time.sleep(1)

    def file(self, name, content):
        path = self.folder / "files" / name
        path.write_bytes(content)
        path.chmod(0o644)
        return f"{self.url}/{name}"

    def close(self):
        self.process.terminate()
        self.process.wait()


def cpu_seconds(pid):
    """User and system time of a process and its living children."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(status.parent.name) == pid or int(fields[1]) == pid:
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def milliseconds(text):
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def load(url, pid, options, headers=()):
    """@return (requests/s, p99 in ms, CPU us per request); every response must be a 2xx."""
    _, seconds, connections = options
    before = cpu_seconds(pid)
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency",
         *(a for h in headers for a in ("-H", h)), url],
        capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx.*|Socket errors.*", done)
    if bad:
        raise SystemExit(f"{url}: {bad.group(0)}")
    count = int(re.search(r"(\d+) requests in", done).group(1))
    return (float(re.search(r"Requests/sec:\s*([\d.]+)", done).group(1)),
            milliseconds(re.search(r"(?m)^\s*99%\s+(\S+)", done).group(1)),
            (cpu_seconds(pid) - before) / count * 1e6)


def compare(name, controller, nginx, path, options):
    rounds, _, connections = options
    content = controller.request("GET", path).content
    static = nginx.file(name, content)
    key = base64.b64encode(":".join(controller.keys["admin"]).encode()).decode()
    headers = [f"Authorization: Basic {key}"]
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(load(static, nginx.process.pid, options))
        ours.append(load(f"{controller.url}/api/v2{path}", controller.process.pid, options,
                         headers))
    ratios = [o[0] / t[0] for o, t in zip(ours, theirs)]
    print(f"GET {path}, {len(content)} bytes, {connections} connections:")
    for who, figures in (("controller", ours), ("nginx", theirs)):
        print(f"  {who:10} {statistics.median(f[0] for f in figures):8.0f} requests/s, "
              f"p99 {statistics.median(f[1] for f in figures):.2f} ms "
              f"(worst round {max(f[1] for f in figures):.2f} ms), "
              f"{statistics.median(f[2] for f in figures):.0f} us CPU a request")
    print(f"  ratio      {statistics.median(ratios):8.2f} "
          f"(rounds: {', '.join(f'{r:.2f}' for r in ratios)})", flush=True)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    missing = [p for p in ("wrk", "nginx")
               if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        print(f"skipped: {' and '.join(missing)} missing (Debian: wrk, nginx-light)")
        return
    os.environ["OFFHOOK_BUILD"] = sys.argv[1]
    runs, rounds, seconds, connections = (
        int(sys.argv[i]) if len(sys.argv) > i else default
        for i, default in ((2, 100000), (3, 5), (4, 4), (5, 16)))
    ports = PortBlock()
    controller = Controller(log_level="info")
    nginx = None
    try:
        controller.create_key()
        fill(controller.state_dir / "offhook.db", runs)
        controller.start()
        with tempfile.TemporaryDirectory(prefix="offhook-bench-") as folder:
            nginx = Nginx(folder, ports.http)
            options = (rounds, seconds, connections)
            print(f"{runs} runs stored, {rounds} rounds of {seconds} s, "
                  f"load average {os.getloadavg()[0]:.1f} before")
            compare("status", controller, nginx, f"/runs/{runs // 2}/status", options)
            compare("list", controller, nginx, "/runs?count=100", options)
            nginx.close()
            nginx = None
        status = controller.stop()
        if status:
            raise SystemExit(f"the controller ended with {status}:\n{controller.log()}")
    finally:
        if nginx:
            nginx.close()
        controller.close()
        ports.close()


if __name__ == "__main__":
    main()
