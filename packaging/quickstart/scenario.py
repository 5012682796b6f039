#!/usr/bin/python3
"""The quickstart's scenario: a judged single call, through the REST API alone.

usage: scenario.py pool STATE BASE_URL           print a join token, if one is new
       scenario.py run STATE BASE_URL SIP_PORT   run the call; exit 0 if it passed

STATE is the quickstart's state directory: key.json (API key) and subscribers
("user password" lines) are read, quickstart.json is written. Everything is found
by its name, so that a second run reuses what the first one made.
"""
import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

POOL = "quickstart"
CALL_SECONDS = 12
RUN_SECONDS_MAX = 120
MEASURES = (("rtp_pkt_per_sec", "packets/s"), ("rtp_lost", "lost"),
            ("rtp_jitter", "jitter ms"), ("rtp_rtt", "RTT ms"), ("rtp_mos", "MOS"))


class Api:
    """REST API v2 with one key."""

    def __init__(self, base_url, public_key, secret):
        self.base_url = base_url
        pair = f"{public_key}:{secret}".encode()
        self._authorization = "Basic " + base64.b64encode(pair).decode()
        # Loopback only: no proxy of the environment may come between.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"{self.base_url}/api/v2{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": self._authorization,
                     "Content-Type": "application/json"})
        try:
            with self._opener.open(request, timeout=60) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                problem = json.loads(text)
                text = problem["detail"] + "".join(
                    f"\n  {e['pointer']}: {e['detail']}"
                    for e in problem.get("errors", []))
            except (ValueError, KeyError):
                pass
            sys.exit(f"quickstart: {method} {path} answered {error.code}: {text}")
        except OSError as error:
            sys.exit(f"quickstart: {self.base_url} does not answer: {error}")

    def find(self, resource, name):
        """The object of this name in a listing, or None."""
        start = 0
        while True:
            page = self.call("GET", f"/{resource}?start={start}&count=1000")
            rows = page[resource.replace("-", "_")]
            for row in rows:
                if row["name"] == name:
                    return row
            start += len(rows)
            if not rows or start >= page["total"]:
                return None

    def ensure(self, resource, body):
        """Create the object or bring the one of its name up to date."""
        member = resource.replace("-", "_").removesuffix("s")
        found = self.find(resource, body["name"])
        if found:
            return self.call("PUT", f"/{resource}/{found['id']}", body)[member]
        return self.call("POST", f"/{resource}", body)[member]


def write_private(path, text):
    """Replace a file that holds secrets, readable by its owner only."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
        f.write(text)
    new.replace(path)


def make_test(api, subscribers, sip_port):
    """Project, target, pools and test; the ids of project and test."""
    users = sorted(subscribers)

    def pool(name, members):
        return api.ensure("credential-pools", {
            "name": name,
            "credentials": [{"username": u, "password": subscribers[u]}
                            for u in members]})["id"]

    project = api.ensure("projects", {
        "name": "quickstart", "description": "The example that ./quickstart makes"})["id"]
    target = api.ensure("targets", {
        "name": "quickstart kamailio", "domain": "127.0.0.1",
        "hosts": [{"host": "127.0.0.1", "port": sip_port, "transport": "udp",
                   "priority": 1, "weight": 1}]})["id"]
    callees = pool("quickstart callees", users[0::2])
    callers = pool("quickstart callers", users[1::2])
    agents = api.find("agent-pools", POOL)["id"]
    test = api.ensure("tests", {
        "name": "quickstart single call", "project_id": project,
        "description": "One call through kamailio, both sides measured",
        "scenario": "single-call", "agentpool_id": agents, "record": "sip",
        "tags": ["quickstart"],
        "steps": [
            [{"type": "register", "role": "callee", "credential_pool": callees,
              "target_pool": target, "regexpire": 300},
             {"type": "answer", "role": "callee"}],
            [{"type": "register", "role": "caller", "credential_pool": callers,
              "target_pool": target, "regexpire": 300},
             {"type": "call", "role": "caller", "max_total_calls": 1,
              "dial_destination": "{{callee.username}}",
              "call_duration": CALL_SECONDS}],
        ],
        "conditions": [
            {"role": "callee", "condition_type": "callee-sipclient-state-conditions",
             "conditions": [{"type": "has", "state": "REGISTER_OK"},
                            {"type": "has", "state": "CALL_ESTABLISHED"}],
             "options": []},
            {"role": "caller", "condition_type": "caller-sipclient-state-conditions",
             "conditions": [{"type": "has", "state": "REGISTER_OK"},
                            {"type": "has", "state": "CALL_ESTABLISHED"},
                            {"type": "has", "state": "CALL_RTPESTAB"}],
             "options": []},
            {"role": "caller", "condition_type": "caller-postdial-delay-conditions",
             "conditions": [{"type": "le", "value": "2000"}]},
            {"role": "caller", "condition_type": "caller-mos-conditions",
             "conditions": [{"type": "ge", "value": "4"}]},
            {"role": "callee", "condition_type": "callee-mos-conditions",
             "conditions": [{"type": "ge", "value": "4"}]},
        ]})["id"]
    return project, test


def wait_for_run(api, session):
    """Draw the progress until the run is over; the finished run object."""
    shown = None
    deadline = time.monotonic() + RUN_SECONDS_MAX
    tty = sys.stdout.isatty()
    while True:
        run = api.call("GET", f"/runs/{session}/status")["run"]
        if run["status"] != "running":
            break
        detail = api.call("GET", f"/runs/{session}")["run"]
        done = int(20 * float(detail.get("progress", 0)))
        line = f"[{'#' * done}{'.' * (20 - done)}] {detail.get('phase', 'running')}"
        if tty:
            print(f"\r{line:<60}", end="", flush=True)
        elif line != shown:
            print(line, flush=True)
        shown = line
        if time.monotonic() > deadline:
            sys.exit(f"\nquickstart: the run {session} did not end within "
                     f"{RUN_SECONDS_MAX} s")
        time.sleep(0.5)
    if tty:
        print("\r" + " " * 60 + "\r", end="")
    return run


def metrics_table(api, session):
    """Print one line a role and direction. The controller of the quickstart
    reports every second, one sample a point: sums and means over the points are
    those over the samples."""
    rows = {}
    for measure, _ in MEASURES:
        data = api.call("GET", f"/runs/{session}/stats/{measure}")["stats_data"]
        for point in data:
            values = rows.setdefault((point["role"], point["dir"]), {})
            values.setdefault(measure, []).append(float(point["avg"]))
    print("\n  role     dir " + "".join(f"{title:>11}" for _, title in MEASURES))
    for (role, direction), values in sorted(rows.items()):
        cells = []
        for measure, _ in MEASURES:
            samples = sorted(values.get(measure, []))
            if not samples:
                cells.append("-")      # unknown, which is not 0
            elif measure == "rtp_lost":
                cells.append(f"{sum(samples):.0f}")
            elif measure == "rtp_pkt_per_sec":
                cells.append(f"{samples[len(samples) // 2]:.1f}")
            else:
                cells.append(f"{sum(samples) / len(samples):.3f}")
        print(f"  {role:<8} {direction:<3} " + "".join(f"{c:>11}" for c in cells))
    print("\n  packets/s: median of the seconds; lost: sum; others: mean; -: not known")


def show_login(state, base_url):
    """Where to go on in a browser: the test, its runs, the target and the accounts."""
    login = state / "login"
    if login.exists():  # a state of an earlier version has none until the next start
        name, password = login.read_text().split()
        print(f"pages:  {base_url}/ - sign in as {name} with the password {password}")


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in ("pool", "run"):
        sys.exit(__doc__)
    state, base_url = Path(sys.argv[2]), sys.argv[3]
    key = json.loads((state / "key.json").read_text())
    api = Api(base_url, key["public_key"], key["secret"])
    if sys.argv[1] == "pool":
        if not api.find("agent-pools", POOL):
            made = api.call("POST", "/agent-pools", {
                "name": POOL, "description": "The agent of ./quickstart"})
            write_private(state / "join-token", made["agent_pool"]["join_token"] + "\n")
        return
    subscribers = dict(line.split() for line in
                       (state / "subscribers").read_text().splitlines())
    project, test = make_test(api, subscribers, int(sys.argv[4]))
    started = api.call("POST", f"/tests/{test}/run", {"report.mode": "kiosk"})["data"]
    session = started["session_id"]
    print(f"run {session}: one call of {CALL_SECONDS} s through kamailio", flush=True)
    run = wait_for_run(api, session)
    write_private(state / "quickstart.json", json.dumps({
        "base_url": base_url, "public_key": key["public_key"],
        "secret": key["secret"], "project_id": project, "test_id": test,
        "session_id": session, "report_url": started["report_url"]}, indent=2) + "\n")
    print(f"verdict: {run['status']}")
    if run["result_description"]:
        print(run["result_description"])
    metrics_table(api, session)
    print(f"\nreport: {started['report_url']}")
    show_login(state, base_url)
    sys.exit(0 if run["status"] == "passed" else 1)


main()
